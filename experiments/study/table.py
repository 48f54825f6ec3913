"""Tables 2a and 2b, and what else there is to say of a study."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.records import read
from experiments.study.rows import choose, row_of

METRICS = (("error", 100.0, 2), ("nll", 1.0, 4), ("ece", 100.0, 2), ("aurc", 100.0, 2))
TITLES = {
    "error": "error, %",
    "nll": "cross-entropy",
    "ece": "ECE, %",
    "aurc": "AURC x 100",
}


class Finished:
    """The runs of a study, by row and seed."""

    def __init__(self, results: Path) -> None:
        self.config, self.runs = read(results)
        self.best = choose(self.config, self.runs)
        self.by_row: dict[tuple, dict[int, dict]] = {}
        for run in self.runs:
            self.by_row.setdefault(_key(run["config"]), {})[run["seed"]] = run

    def rows(self) -> list[dict]:
        """Return the rows of the table, as far as there are runs."""
        config = self.config
        rows = [row_of("none", 0.0)]
        for alpha in config["alphas"]:
            rows.append(row_of("uniform", alpha))
            for n_clusters in config["n_clusters"]:
                beta = self.best.get((alpha, n_clusters))
                rows.append(row_of("structural", alpha, beta, n_clusters))
        return [row for row in rows if _key(row) in self.by_row]

    def run(self, row: dict, seed: int) -> dict:
        """Return one run."""
        return self.by_row[_key(row)][seed]

    def values(self, row: dict, metric: str, seeds: list[int]) -> np.ndarray:
        """Return one metric of one row."""
        return np.array([self.run(row, seed)["metrics"][metric] for seed in seeds])

    def seeds(self, *rows: dict) -> list[int]:
        """Return the seeds that all these rows have been trained with."""
        return sorted(set.intersection(*(set(self.by_row[_key(r)]) for r in rows)))


def _key(row: dict) -> tuple:
    return tuple(row[name] for name in ("method", "alpha", "beta", "n_clusters"))


def table(config: dict, results: Path) -> str:  # noqa: ARG001 (the file has it)
    """Return the table of a study, as Markdown."""
    finished = Finished(results)
    rows = finished.rows()
    parts = [_introduction(finished, rows)]
    for metric, factor, digits in METRICS:
        parts.append(f"## {TITLES[metric]}\n")
        parts.append(_table_of(finished, rows, metric, factor, digits))
    parts.append(f"{tables.NOTE} Lower is better in all of them.\n")
    seconds = sum(run["seconds"] for run in finished.runs)
    versions = ", ".join(f"{k} {v}" for k, v in finished.runs[-1]["versions"].items())
    parts.append(
        f"{len(finished.runs)} runs, {seconds / 60.0:.0f} minutes on one core. "
        f"Versions: {versions}.\n"
    )
    return "\n".join(parts)


def _introduction(finished: Finished, rows: list[dict]) -> str:
    config = finished.config
    wanted, there = config["n_seeds"], [len(finished.seeds(row)) for row in rows]
    counts = (
        f"{min(there)}" if min(there) == max(there) else f"{min(there)} to {max(there)}"
    )
    n_first = config["selection_seeds"]
    on = "seed" if n_first == 1 else f"{n_first} seeds"
    return (
        f"Scale: {config['scale']}. {counts} of {wanted} seeds. Beta was chosen from "
        f"{', '.join(map(str, config['betas']))} by the error on "
        f"{config['validation_rows']} validation rows, over the first {on}; the paper "
        "chose it on the test set.\n"
    )


def _table_of(finished, rows, metric, factor, digits) -> str:
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
            (uniform, row["method"] == "structural"),
        ):
            cells.append("")
            if is_asked:
                shared = finished.seeds(row, reference)
                pair = [
                    factor * finished.values(r, metric, shared)
                    for r in (row, reference)
                ]
                cells[-1] = tables.difference(*pair, digits)
        lines.append(cells)
    header = ["method", "alpha", "beta", "clusters", TITLES[metric], "lowest"]
    return tables.markdown([*header, "against none", "against uniform"], lines)
