"""``python -m experiments run|table|figure NAME [--scale cpu|full] [--jobs N]``.

``python -m experiments claims`` compares the claims of the paper with what was
measured, in ``experiments/README.md``. ``python -m experiments data NAME`` makes a data
set from a public package.

A name is that of a file in ``experiments/configs``. ``run`` writes one line for each
finished training run to ``experiments/results/NAME.jsonl``, continues where it was
interrupted, and ends with the table in ``NAME.md``. ``table`` only writes the table,
and ``figure`` only draws the figures. Results of the full scale are in
``NAME-full.jsonl``.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from experiments import configs
from experiments.datasets import MADE_SETS, MissingDataError
from experiments.records import made_with
from structsmooth.errors import FileFormatError
from structsmooth.io.atomic import written_beside

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent / "README.md"
# For each kind, the module with run, table and figure, imported when needed.
KINDS = {
    "choice": "experiments.choice",
    "comparison": "experiments.comparisons",
    "counting": "experiments.counting",
    "synthetic": "experiments.synthetic",
    "clusters": "experiments.synthetic.clusters",
    "neighbors": "experiments.synthetic.neighbors",
    "sensitivity": "experiments.synthetic.sensitivity",
    "estimators": "experiments.estimators",
    "truths": "experiments.known",
    "summary": "experiments.beyond.summary",
    "suspects": "experiments.suspects",
    "human_suspects": "experiments.human_suspects",
    "suspects_ablation": "experiments.suspects_ablation",
    "suspects_training": "experiments.suspects_training",
    "study": "experiments.study",
    "panels": "experiments.panels",
    "critical": "experiments.critical",
    "humans": "experiments.humans",
    "beyond": "experiments.beyond",
    "selective": "experiments.selective",
    "trainings": "experiments.selective.trainings",
    "images": "experiments.selective.images",
}
BUILT_ON_STUDIES = ("critical", "panels")


def main(arguments: list[str] | None = None) -> None:
    """Parse the command and run it."""
    names = configs.names()
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Run an experiment of the paper, write its table, draw its figure.",
    )
    parser.add_argument("command", choices=("run", "table", "figure", "claims", "data"))
    parser.add_argument(
        "name",
        choices=[*names, *MADE_SETS, "all"],
        nargs="?",
        metavar="NAME",
        help=f"{', '.join(names)}, or all of them; of data {', '.join(MADE_SETS)}",
    )
    parser.add_argument("--scale", choices=configs.SCALES, default="cpu")
    parser.add_argument("--jobs", type=int, default=2, help="runs or threads at a time")
    chosen = parser.parse_args(arguments)
    if chosen.name is None and chosen.command != "claims":
        parser.error(f"{chosen.command} needs a NAME")
    if chosen.name is not None and chosen.name != "all":
        expected = [*MADE_SETS] if chosen.command == "data" else names
        if chosen.name not in expected:
            parser.error(
                f"{chosen.command} knows {', '.join(expected)}, got {chosen.name}"
            )
    if chosen.command == "data":
        _make_data([*MADE_SETS] if chosen.name == "all" else [chosen.name])
        return
    if chosen.command == "claims":
        claims = import_module("experiments.claims")
        print(claims.write(PAGE, RESULTS))
        return
    chosen_names = [chosen.name]
    if chosen.name == "all":  # experiments that build on studies come last
        late = [n for n in names if configs.load(n)["kind"] in BUILT_ON_STUDIES]
        chosen_names = [*(n for n in names if n not in late), *late]
    failed = False
    for name in chosen_names:
        try:
            _do(chosen.command, name, chosen.scale, chosen.jobs)
        except (MissingDataError, FileFormatError) as error:
            print(f"experiments: {name}: {error}", file=sys.stderr)
            failed = True
    if failed:
        sys.exit(1)


def _make_data(names: list[str]) -> None:
    made = import_module("experiments.made")
    try:
        for path in made.make(names):
            print(f"wrote {path}")
    except MissingDataError as error:
        sys.exit(f"experiments: {error}")


def _do(command: str, name: str, scale: str, n_jobs: int) -> None:
    config = configs.load(name, scale)
    kind = import_module(KINDS[config["kind"]])
    results = RESULTS / f"{configs.stem(name, scale)}.jsonl"
    settings = {k: v for k, v in config.items() if k not in configs.WORDS}
    if command == "run":
        kind.run(settings, results, n_jobs)
    if command in ("run", "table"):
        _write_table(kind, config, results, name)
    if command == "figure":
        if not hasattr(kind, "figure"):
            print(f"{name} has no figure, only a table")
            return
        for path in kind.figure(results):
            print(f"wrote {path}")


def _write_table(kind: ModuleType, config: dict, results: Path, name: str) -> None:
    table = kind.table(results)
    note = f"\n{config['note']}\n" if "note" in config else ""
    how = f"python -m experiments run {name}"
    made = _about_versions(made_with(results))
    if config["scale"] != "cpu":
        how += f" --scale {config['scale']}"
    with written_beside(results.with_suffix(".md")) as path:
        path.write_text(
            f"# {config['title']}\n\nMade by `{how}`{made}\n\n{table}{note}",
            encoding="utf-8",
        )
    print(table)


def _about_versions(versions: list[str]) -> str:
    """Return the end of a sentence, with a note if the estimate has changed since."""
    if not versions:
        return "."
    text = f" with structsmooth {' and '.join(versions)}."
    if any(version.startswith("0.1.") for version in versions):
        text += (
            "\nSince 0.2.0 the Bayes error is estimated differently, and strengths "
            "follow it\n([what changed](../../docs/method.md#corrections-of-our-own)); "
            "these runs were not\nrepeated."
        )
    return text


if __name__ == "__main__":
    main()
