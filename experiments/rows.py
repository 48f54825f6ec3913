"""Rows of tables: a method with its settings, as recorded in files of results."""

from __future__ import annotations


def row_of(method: str, alpha: float, beta=None, n_clusters=None) -> dict:
    """Return the key of a row of a table."""
    return {"method": method, "alpha": alpha, "beta": beta, "n_clusters": n_clusters}


def reference(method: str, alpha: float) -> dict:
    """Return the row to compare with: uniform with the same alpha, or none."""
    return row_of(method, alpha if method == "uniform" else 0.0)


class Runs:
    """Finished runs by row and seed."""

    def __init__(self, runs: list[dict]) -> None:
        self.by_row: dict[tuple, dict[int, dict]] = {}
        for run in runs:
            self.by_row.setdefault(_key(run["config"]), {})[run["seed"]] = run

    def __contains__(self, row: dict) -> bool:
        return _key(row) in self.by_row

    def run(self, row: dict, seed: int) -> dict:
        """Return one run."""
        return self.by_row[_key(row)][seed]

    def seeds(self, *rows: dict) -> list[int]:
        """Return the seeds for which all these rows are finished."""
        found = (set(self.by_row.get(_key(row), ())) for row in rows)
        return sorted(set.intersection(*found))


def _key(row: dict) -> tuple:
    return tuple(row[name] for name in ("method", "alpha", "beta", "n_clusters"))
