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

from experiments import comparisons, table1
from experiments.datasets import MissingDataError
from structsmooth.errors import FileFormatError
from structsmooth.files import written_beside

HERE = Path(__file__).parent
CONFIGS, RESULTS = HERE / "configs", HERE / "results"
KINDS = {"comparison": comparisons, "synthetic": table1}


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
        config = tomllib.loads((CONFIGS / f"{name}.toml").read_text(encoding="utf-8"))
        try:
            if arguments.command == "run":
                KINDS[config["kind"]].run(config, RESULTS / f"{name}.jsonl")
            table = KINDS[config["kind"]].table(config, RESULTS / f"{name}.jsonl")
        except (MissingDataError, FileFormatError) as error:
            sys.exit(f"experiments: {error}")
        with written_beside(RESULTS / f"{name}.md") as path:
            path.write_text(
                f"# {config['title']}\n\nMade by `python -m experiments run {name}`."
                f"\n\n{table}",
                encoding="utf-8",
            )
        print(table)


if __name__ == "__main__":
    main()
