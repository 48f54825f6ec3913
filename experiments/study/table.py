"""Tables 2a and 2b, and further tables of a study."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.published import TABLE_2
from experiments.records import read
from experiments.rows import Runs, row_of
from experiments.study.rows import choices
from structsmooth.errors import FileFormatError

METRICS = (("error", 100.0, 2), ("nll", 1.0, 4), ("ece", 100.0, 2), ("aurc", 100.0, 2))
OPTIONAL = (
    "rows",
    "fit_rows",
    "test_rows",
    "smoother",
    "autoencoder",
    "out_of_fold",
)
TITLES = {
    "error": "error, %",
    "nll": "cross-entropy",
    "ece": "ECE, %",
    "aurc": "AURC x 100",
}


class Finished(Runs):
    """The runs of a study, with the chosen betas."""

    def __init__(self, results: Path) -> None:
        self.config, self.runs = read(results)
        super().__init__(self.runs)
        self.choices = choices(self.config, self.runs)
        self.best = self.choices["structural"]

    def rows(self) -> list[dict]:
        """Return the rows of the table that have runs."""
        config = self.config
        rows = [row_of("none", 0.0)]
        for alpha in config["alphas"]:
            rows.append(row_of("uniform", alpha))
            for method, best in self.choices.items():
                for n_clusters in config["n_clusters"]:
                    beta = best.get((alpha, n_clusters))
                    rows.append(row_of(method, alpha, beta, n_clusters))
        return [row for row in rows if row in self]

    def values(self, row: dict, metric: str, seeds: list[int]) -> np.ndarray:
        """Return one metric of one row."""
        return np.array([self.run(row, seed)["metrics"][metric] for seed in seeds])


def table(results: Path) -> str:
    """Return the table of a study, as Markdown."""
    finished = Finished(results)
    rows = finished.rows()
    if not rows:
        raise FileFormatError(f"there are no finished runs in {results} yet")
    parts = [_introduction(finished, rows)]
    for place, (metric, factor, digits) in enumerate(METRICS):
        parts.append(f"## {TITLES[metric]}\n")
        printed = _printed(finished.config, place)
        parts.append(_table_of(finished, rows, metric, factor, digits, printed))
    parts.append(
        f"{tables.NOTE} Lower is better for all metrics. All seeds share the same "
        "rows, so the intervals cover initial weights and the order of batches, but "
        "not other training or test rows.\n"
    )
    seconds = sum(run["seconds"] for run in finished.runs)
    versions = ", ".join(f"{k} {v}" for k, v in finished.runs[-1]["versions"].items())
    parts.append(
        f"{len(finished.runs)} runs of one process each, {seconds / 60.0:.0f} minutes "
        f"in total.{_speed(finished)} Versions: {versions}.\n"
    )
    return "\n".join(parts)


def _introduction(finished: Finished, rows: list[dict]) -> str:
    config = finished.config
    wanted, there = config["n_seeds"], [len(finished.seeds(row)) for row in rows]
    low, high = min(there), max(there)
    counts = f"{low}" if low == high else f"{low} to {high}"
    n_first = config["selection_seeds"]
    first = "seed" if n_first == 1 else f"{n_first} seeds"
    validation = f"{config['validation_rows']} validation rows"
    if config["data"] == "timit":
        validation = f"about {validation} (whole speakers)"
    settings = {name: config[name] for name in ("network", "recipe")}
    settings |= {name: config[name] for name in OPTIONAL if name in config}
    lines = "".join(f"- {name}: {_said(value)}\n" for name, value in settings.items())
    betas = ", ".join(map(str, config["betas"]))
    chosen = (
        f"\nBeta was chosen from {betas} by the error on {validation}, over "
        f"the first {first}, which the results include; the paper chose it on the test "
        "set.\n"
    )
    return (
        f"Scale: {config['scale']}. {counts} of {wanted} seeds.\n\n{lines}"
        f"{chosen if config['alphas'] else ''}"
    )


def _speed(finished: Finished) -> str:
    """Return how fast the networks trained, in words, if it was recorded."""
    runs = [run for run in finished.runs if run.get("cpu_seconds")]
    if not runs:
        return ""
    passes = sum(row_passes(run, finished.config["recipe"]["epochs"]) for run in runs)
    seconds = sum(run["cpu_seconds"] for run in runs)
    each = runs[0]["multiplications"]
    return (
        f" One row takes {each / 1e6:.1f} million multiplications, counted three times "
        f"in training; {each * passes / seconds / 1e9:.0f} thousand million per second "
        "of CPU time, reading and measuring included."
    )


def row_passes(run: dict, epochs: int) -> int:
    """Return how many rows a run put through the network; those trained on count 3."""
    n_train, n_validation, n_test = run["n_rows"]
    n_measured = len(run["curve"]["epoch"]) + 1
    return 3 * epochs * n_train + n_measured * n_test + n_validation


def _said(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_said(part)}" for name, part in value.items())
    return f"{value}"


def _printed(config: dict, place: int) -> dict[tuple[str, float], str]:
    """Return the paper's errors or cross-entropies for this study, if it has any."""
    plain = "" if config["network"].get("batch_norm", True) else "-plain"
    study = TABLE_2.get(f"{config['data'].removesuffix('-full')}{plain}", {})
    if place == 0:
        return {key: f"{mean:.2f} ± {std:.2f}" for key, (mean, std, _) in study.items()}
    if place == 1:
        return {key: f"{entropy:.4f}" for key, (_, _, entropy) in study.items()}
    return {}


def _table_of(finished, rows, metric, factor, digits, printed) -> str:
    none, lines = rows[0], []
    for row in rows:
        seeds = finished.seeds(row)
        values = factor * finished.values(row, metric, seeds)
        cells = [
            row["method"],
            "" if row["method"] == "none" else tables.number(row["alpha"]),
            tables.number(row["beta"]),
            tables.number(row["n_clusters"]),
            tables.mean_and_spread(values, digits),
            f"{values.min():.{digits}f}",
        ]
        uniform = row_of("uniform", row["alpha"])
        for reference, is_asked in (
            (none, row is not none),
            (uniform, row["beta"] is not None),
        ):
            cells.append("")
            shared = finished.seeds(row, reference) if is_asked else []
            if shared:
                pair = [
                    factor * finished.values(r, metric, shared)
                    for r in (row, reference)
                ]
                cells[-1] = tables.difference(*pair, digits)
        if printed:
            cells.append(printed.get((row["method"], row["alpha"]), ""))
        lines.append(cells)
    header = ["method", "alpha", "beta", "clusters", TITLES[metric], "lowest"]
    header += ["against none", "against uniform", *(["paper"] if printed else [])]
    return tables.markdown(header, lines)
