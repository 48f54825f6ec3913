"""``python -m experiments run NAME`` and ``python -m experiments table NAME``.

A name is that of a file in ``experiments/configs``. ``run`` writes one line for each
finished training run to ``experiments/results/NAME.jsonl``, goes on where it was
interrupted, and ends with the table in ``NAME.md``. ``table`` only writes the table.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

from experiments.datasets import MissingDataError, load

HERE = Path(__file__).parent
CONFIGS, RESULTS = HERE / "configs", HERE / "results"


def main() -> None:
    """Parse the command and do it."""
    names = sorted(path.stem for path in CONFIGS.glob("*.toml"))
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description=__doc__.splitlines()[0]
    )
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("name", choices=[*names, "all"])
    arguments = parser.parse_args()
    for name in names if arguments.name == "all" else [arguments.name]:
        try:
            run(name)
        except MissingDataError as error:
            sys.exit(f"experiments: {error}")


def run(name: str) -> None:
    """Run what is left of a comparison, and write its table."""
    from experiments.models import build
    from structsmooth import StructuralSmoother
    from structsmooth.compare import compare
    from structsmooth.files import written_beside

    config = tomllib.loads((CONFIGS / f"{name}.toml").read_text(encoding="utf-8"))
    data = load(config["data"])
    result = compare(
        data.X,
        data.y,
        build(config["model"], config.get("model_options", {})),
        smoother=StructuralSmoother(**config.get("smoother", {})),
        test=data.test,
        groups=data.groups,
        results=RESULTS / f"{name}.jsonl",
        verbose=1,
        **config.get("compare", {}),
    )
    title = f"# {config['title']}\n\nMade by `python -m experiments run {name}`.\n\n"
    facts = result.description
    settings = ", ".join(f"{k} {v}" for k, v in facts["settings"].items())
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    tail = f"\nSettings: {settings}.\n\nVersions: {versions}.\n"
    with written_beside(RESULTS / f"{name}.md") as path:
        path.write_text(title + result.to_markdown() + tail, encoding="utf-8")
    print(result.to_markdown())


if __name__ == "__main__":
    main()
