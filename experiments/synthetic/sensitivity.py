"""The synthetic task with other settings that the paper does not print.

All cells are reported; `experiments.claims.cells` says which is like the paper's task.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import configs, tables
from experiments.claims.cells import (
    LARGEST_EXCESS,
    NONE,
    PRINTED_ERROR,
    cells_of,
    errors_of,
    excess_of,
    likest_cell,
    named,
    pairs_of,
    runs_of,
)
from experiments.claims.rule import UnfinishedError, pooled_difference
from experiments.records import Records, digest_of, read
from experiments.rows import Runs, row_of
from experiments.synthetic.data import draw
from experiments.synthetic.layout import Layout
from experiments.synthetic.runner import CHECKPOINTS, train_rows
from structsmooth.errors import FileFormatError


def rows_of(config: dict) -> list[dict]:
    """Return method, alpha, beta and number of clusters of each network of a cell."""
    alphas, usual = config["alphas"], config["n_clusters"]
    return [
        row_of("none", 0.0),
        *(row_of("uniform", alpha) for alpha in alphas),
        *(
            row_of(method, alpha, beta, usual)
            for method in config["methods"]
            for alpha in alphas
            for beta in config["betas"]
        ),
    ]


def run(config: dict, results: Path, n_jobs: int = 2) -> None:
    """Train the missing cells, seed by seed."""
    settings = {k: v for k, v in config.items() if k != "scale"}
    records = Records(results, settings)
    rows = rows_of(config)
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    for seed in range(config["n_seeds"]):
        for cell in cells_of(config):
            if all(records.has(row | cell, seed) for row in rows):
                continue
            changed = config_of(config, cell)
            checkpoint = CHECKPOINTS / f"{results.stem}-{digest_of(changed)}-{seed}.npz"
            found = train_rows(changed, rows, seed, checkpoint, n_jobs)
            X, _ = draw(changed, seed, "test")
            posterior = Layout.from_config(changed["layout"]).posterior(X)
            bayes_error = float(np.minimum(posterior, 1.0 - posterior).mean())
            records.add(
                record | {"config": record["config"] | cell, "bayes_error": bayes_error}
                for record in found
            )
            checkpoint.unlink(missing_ok=True)


def config_of(config: dict, cell: dict) -> dict:
    """Return the settings of the synthetic task in a cell."""
    layout = {name: cell[name] for name in ("noise_deviation", "spread")}
    changes = {"batch_size": cell["batch_size"], "other_n_clusters": []}
    return configs.merge(config, changes | {"layout": layout})


def table(results: Path) -> str:
    """Return the cells with training without smoothing, then with it, as Markdown."""
    settings, runs = read(results)
    cells = [cell for cell in cells_of(settings) if runs_of(runs, cell)]
    if not cells:
        raise FileFormatError(f"there are no finished runs in {results} yet")
    lines, differences = [], {at_best: [] for at_best in (False, True)}
    for cell in cells:
        found = runs_of(runs, cell)
        by_row = Runs(found)
        head = [tables.number(value) for value in cell.values()]
        seeds = by_row.seeds(NONE)
        error, excess = excess_of(found)
        lines.append(
            [
                *head,
                f"{len(seeds)} of {settings['n_seeds']}",
                f"{error - excess:.2f}",
                tables.mean_and_spread(errors_of(by_row, NONE, seeds)),
                f"{excess:+.2f}",
                tables.mean_and_spread(errors_of(by_row, NONE, seeds, at_best=True)),
                "yes" if excess <= LARGEST_EXCESS else "no",
            ]
        )
        for at_best, said in differences.items():
            said.append([*head, *_differences(settings, found, at_best)])
    start = ["batch", "noise", "spread"]
    header = [*start, "seeds", "Bayes error, %", "error, %", "above Bayes"]
    parts = [
        f"{settings['epochs']} epochs. The paper's error without smoothing is "
        f"{PRINTED_ERROR:.2f} %, and its whole table spans 1.6 points. A "
        "cell is like the paper's task if training without smoothing ends at most "
        f"{LARGEST_EXCESS:g} points above the Bayes error; of these, the one with an "
        "error nearest to the paper's is compared with it. This was decided before any "
        f"cell was run.{_likest(settings, runs)}\n",
        "## Without smoothing\n",
        tables.markdown([*header, "lowest, %", "like the paper's"], lines),
    ]
    compared = [
        f"{method} - {rival}"
        for method in settings["methods"]
        for rival in ("uniform", "none")
    ]
    for at_best, said in differences.items():
        place = "at the lowest point of each curve" if at_best else "at the end"
        parts += [
            f"## Differences in test error {place}, points\n",
            tables.markdown([*start, *compared], said),
        ]
    parts.append(
        "Means over all alphas and betas and over the seeds, with 95 % intervals over "
        "seeds. The lowest point of a curve is chosen on test rows, for all methods "
        "alike.\n"
    )
    return "\n".join(parts)


def _likest(settings: dict, runs: list[dict]) -> str:
    try:
        return f" It is the one with {named(likest_cell(settings, runs))}."
    except UnfinishedError:
        return ""


def _differences(settings: dict, runs: list[dict], at_best: bool) -> list[str]:
    cells = []
    for method in settings["methods"]:
        for rival in ("uniform", "none"):
            pairs = pairs_of(settings, runs, method, rival, at_best=at_best)
            mean, low, high = pooled_difference([pairs])
            cells.append(f"{mean:+.2f} ({low:+.2f} to {high:+.2f})")
    return cells
