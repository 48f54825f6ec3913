"""`structsmooth.compare` on real data, with a model and settings from a config."""

from __future__ import annotations

from pathlib import Path

from experiments.datasets import load
from experiments.models import build
from structsmooth import StructuralSmoother
from structsmooth.compare import Comparison, compare
from structsmooth.errors import FileFormatError


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Train the missing runs of a comparison."""
    if config["scale"] != "cpu":
        raise FileFormatError(
            f"{results.stem} exists at the scale cpu only, got {config['scale']}"
        )
    data = load(config["data"])
    compare(
        data.X,
        data.y,
        build(config["model"], config.get("model_options", {})),
        smoother=StructuralSmoother(n_jobs=n_jobs, **config.get("smoother", {})),
        test=data.test,
        groups=data.groups,
        results=results,
        verbose=1,
        **config.get("compare", {}),
    )


def table(results: Path) -> str:
    """Return the tables of a file of results, as Markdown."""
    result = Comparison.load(results)
    facts = result.description
    settings = "".join(f"- {k}: {v}\n" for k, v in facts["settings"].items())
    versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
    tail = f"\nSettings:\n\n{settings}\nVersions: {versions}.\n"
    return result.to_markdown() + tail
