"""How many neighbors a pointwise estimate needs, where the posterior is known.

Measured with the two useful features alone, and with additional noise features of unit
variance.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from experiments import tables
from experiments.records import Records, read
from experiments.synthetic.layout import Layout
from structsmooth import StructuralSmoother


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing estimates."""
    # Both scales are the same, so the scale is not a setting.
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    for seed in range(config["n_seeds"]):
        for row in rows_of(config):
            if not records.has(row, seed):
                records.add([_estimate(config, row, seed, n_jobs)])


def rows_of(config: dict) -> list[dict]:
    """Return the settings of all estimates; those by clusters have no neighbors."""
    return [
        {"n_rows": n_rows, "n_noise": n_noise, "n_neighbors": k}
        for n_rows in config["rows"]
        for n_noise in config["noise_features"]
        for k in (None, *config["neighbors"])
    ]


def _estimate(config: dict, row: dict, seed: int, n_jobs: int) -> dict:
    started = time.perf_counter()
    layout = Layout.from_config(config["layout"])
    X, y = layout.draw(row["n_rows"], [seed, 0])
    posterior = layout.posterior(X)
    true = np.minimum(posterior, 1.0 - posterior)
    noise = X[:, 2 : 2 + row["n_noise"]] / config["layout"]["noise_deviation"]
    options = {"regions": "point", "n_neighbors": row["n_neighbors"]}
    if row["n_neighbors"] is None:
        options = {"regions": "cluster"}
    smoother = StructuralSmoother(
        reducer="none", random_state=seed, n_jobs=n_jobs, **options
    ).fit(np.hstack([X[:, :2], noise]), y)
    found = smoother.decision_.bayes_error_of_samples(smoother.structure_)
    return {
        "config": row,
        "seed": seed,
        "metrics": {
            "root_mean_square": float(np.sqrt(np.mean((found - true) ** 2))),
            "correlation": float(np.corrcoef(found, true)[0, 1]),
        },
        "seconds": round(time.perf_counter() - started, 2),
    }


def table(results: Path) -> str:
    """Return the errors of the estimates, as Markdown."""
    settings, runs = read(results)
    parts = [
        "Root mean square error of the estimated Bayes error of each row; mean over "
        f"{settings['n_seeds']} seeds. The clusters are those of the defaults.\n"
    ]
    for n_noise in settings["noise_features"]:
        lines = []
        for n_rows in settings["rows"]:
            cells = [f"{n_rows}"]
            for k in (None, *settings["neighbors"]):
                row = {"n_rows": n_rows, "n_noise": n_noise, "n_neighbors": k}
                values = [
                    run["metrics"]["root_mean_square"]
                    for run in runs
                    if run["config"] == row
                ]
                cells.append(f"{np.mean(values):.3f}")
            lines.append(cells)
        header = ["rows", "clusters", *(f"k = {k}" for k in settings["neighbors"])]
        parts += [
            f"## {2 + n_noise} features, {n_noise} of them noise\n",
            tables.markdown(header, lines),
        ]
    return "\n".join(parts)
