"""Table 1 next to the paper's, and results with other numbers of clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.published import TABLE_1
from experiments.records import read
from experiments.rows import Runs, reference
from experiments.synthetic.runner import rows_of
from structsmooth.errors import FileFormatError


def table(results: Path) -> str:
    """Return the table of the finished seeds, as Markdown."""
    settings, runs = read(results)
    if not runs:
        raise FileFormatError(f"there are no finished runs in {results} yet")
    seeds = sorted({run["seed"] for run in runs})
    found = Runs(runs)

    def values(row: dict, metric: str) -> np.ndarray:
        return np.array([found.run(row, seed)["metrics"][metric] for seed in seeds])

    rows = rows_of(settings)
    usual = [row for row in rows if row["n_clusters"] in (None, settings["n_clusters"])]
    largest = max(settings["betas"])
    by_number = [
        row for row in rows if row["beta"] == largest and row["method"] == "structural"
    ]
    by_number.sort(key=lambda row: (row["alpha"], row["n_clusters"]))
    return "\n".join(
        [
            f"Full scale: {len(seeds)} of {settings['n_seeds']} seeds, each with its "
            f"own data, {settings['epochs']} epochs, batches of "
            f"{settings['batch_size']} rows. Reversed strengths keep the mean here, "
            "unlike in the paper. The paper's deviations are over five training runs, "
            "probably on the same data.\n",
            "## Test error, %\n",
            _errors(settings, usual, values),
            tables.NOTE + "\n",
            f"## Other numbers of clusters, beta {largest:g}\n",
            _numbers(by_number, values),
            "## Lowest test error of each curve, %\n",
            _lowest(settings, rows, runs),
            f"The lowest of the errors, measured every {settings['curve_every']} "
            "epochs, run by run: a choice on test rows, made for all methods alike. "
            "Its epoch is the mean over the seeds.\n",
            f"## Test error during training, %, beta {largest:g}\n",
            _along(settings, runs, largest),
            "These epochs help to read Figure 3; none was chosen for stopping.\n",
            "## Cross-entropy and AURC\n",
            _others(usual, values),
        ]
    )


def _head(row: dict) -> list[str]:
    alpha = "" if row["method"] == "none" else tables.number(row["alpha"])
    return [row["method"], alpha, tables.number(row["beta"])]


def _errors(settings, rows, values) -> str:
    lines = []
    none = 100.0 * values(reference("none", 0.0), "error")
    for row in rows:
        errors = 100.0 * values(row, "error")
        published = TABLE_1.get((row["method"], row["alpha"]), [])
        betas = settings["betas"]
        number = 0 if row["beta"] is None else betas.index(row["beta"])
        cells = [*_head(row), tables.mean_and_spread(errors), f"{errors.min():.2f}"]
        cells.append("" if row["method"] == "none" else tables.difference(errors, none))
        uniform = reference("uniform", row["alpha"])
        cells.append("")
        if row["beta"] is not None:
            cells[-1] = tables.difference(errors, 100.0 * values(uniform, "error"))
        paper = published[number] if number < len(published) else None
        cells.append("" if paper is None else f"{paper[0]:.2f} ± {paper[1]:.2f}")
        lines.append(cells)
    header = ["method", "alpha", "beta", "error", "lowest", "against none"]
    return tables.markdown([*header, "against uniform", "paper"], lines)


def _numbers(rows, values) -> str:
    lines = []
    none = 100.0 * values(reference("none", 0.0), "error")
    for row in rows:
        errors = 100.0 * values(row, "error")
        uniform = 100.0 * values(reference("uniform", row["alpha"]), "error")
        lines.append(
            [
                tables.number(row["alpha"]),
                tables.number(row["n_clusters"]),
                tables.mean_and_spread(errors),
                tables.difference(errors, none),
                tables.difference(errors, uniform),
            ]
        )
    header = ["alpha", "clusters", "error, %", "against none", "against uniform"]
    return tables.markdown(header, lines)


def _lowest(settings, rows, runs) -> str:
    """Return the lowest error of each curve, and when it was reached."""
    found = Runs(runs)

    def curves(row: dict) -> np.ndarray:
        seeds = found.seeds(row)
        return 100.0 * np.array([found.run(row, seed)["curve"] for seed in seeds])

    none, lines = curves(reference("none", 0.0)).min(axis=1), []
    for row in rows:
        ours = curves(row)
        lowest, epochs = ours.min(axis=1), 1.0 + ours.argmin(axis=1)
        cells = [*_head(row), tables.number(row["n_clusters"])]
        cells.append(tables.mean_and_spread(lowest))
        cells.append(f"{settings['curve_every'] * epochs.mean():.0f}")
        cells.append("" if row["method"] == "none" else tables.difference(lowest, none))
        cells.append("")
        if row["beta"] is not None:
            uniform = curves(reference("uniform", row["alpha"]))
            cells[-1] = tables.difference(lowest, uniform.min(axis=1))
        lines.append(cells)
    header = ["method", "alpha", "beta", "clusters", "lowest", "epoch"]
    return tables.markdown([*header, "against none", "against uniform"], lines)


def _along(settings, runs, beta) -> str:
    """Return the mean error after a fifth, two fifths and all of the epochs."""
    every, n_points = settings["curve_every"], len(runs[0]["curve"])
    points = sorted({max(1, round(share * n_points)) for share in (0.2, 0.4, 1.0)})
    curves: dict[tuple, list] = {}
    for run in runs:
        row = run["config"]
        is_shown = row["beta"] in (None, beta)
        if is_shown and row["n_clusters"] in (None, settings["n_clusters"]):
            curves.setdefault((row["alpha"], row["method"]), []).append(run["curve"])
    lines = []
    for (alpha, method), found in sorted(curves.items(), key=lambda item: item[0][0]):
        means = 100.0 * np.mean(found, axis=0)
        cells = [method, tables.number(alpha) if alpha else ""]
        lines.append([*cells, *(f"{means[point - 1]:.2f}" for point in points)])
    header = ["method", "alpha", *(f"epoch {every * point}" for point in points)]
    return tables.markdown(header, lines)


def _others(rows, values) -> str:
    lines = []
    for row in rows:
        cells = _head(row)
        uniform = reference("uniform", row["alpha"])
        for metric, factor, digits in (("nll", 1.0, 4), ("aurc", 100.0, 2)):
            found = factor * values(row, metric)
            cells.append(tables.mean_and_spread(found, digits))
            cells.append("")
            if row["beta"] is not None:
                rival = factor * values(uniform, metric)
                cells[-1] = tables.difference(found, rival, digits)
        lines.append(cells)
    header = ["method", "alpha", "beta", "cross-entropy", "against uniform"]
    return tables.markdown([*header, "AURC x 100", "against uniform"], lines)
