"""Tables of estimates and truth by number of dimensions, as Markdown."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.known import tasks
from experiments.records import read

HOW = (
    "Percentages, mean over {n_seeds} draws of the rows. The truth is the mean of 1 - "
    "max eta over 200 000 rows (for twonorm and ringnorm, an exact integral). One "
    "tree: lower to upper bound of `bayes_error_bounds(X, y)`. Fit: the same for "
    "`StructuralSmoother().fit(X, y).bayes_error_bounds_`, with a tree for each "
    "cluster, and the mean ends of its 95 % interval. Held: in how many draws that "
    "interval contains the truth. Mixtures have three round Gaussians per class, at "
    "random positions; flat tasks have classes far apart, and labels drawn at random.\n"
)
CLUSTERS = (
    "Estimates of the clusters of the default fit (`bayes_error_`) compared with their "
    "true Bayes errors, the mean of 1 - max eta over their rows: the correlation; the "
    "mean absolute error in percent, weighted by size; and the root mean square error "
    "of the deviations from the weighted mean, which strengths follow, with "
    "`shrink=False` (the default) and `shrink=True`. The spread is the root mean "
    "square of the true deviations, which is the error of uniform strengths. Uniform: "
    "in how many draws shrinkage makes all clusters equal. Mean over {n_seeds} draws; "
    "there is no correlation where the true errors of clusters do not differ.\n"
)
NOISE = (
    "A share of the labels is drawn uniformly from all K classes. So the Bayes error R "
    "grows linearly, to R + share ((K-1)/K - R). Bounds of the default fit in "
    "percent, mean over {n_seeds} draws; scaled means `reducer='scaled-pca'`. The "
    "slope is that of the least-squares line; the brackets contain the slope divided "
    "by what it should be, (K-1)/K - R, for R from 0 to the lowest known error. The "
    "upper bound estimates 1 - E[sum eta^2], which does not grow linearly: from u "
    "without noise to (K-1)/K - (1 - share)^2 ((K-1)/K - u). The last column compares "
    "with that.\n"
)
# Classes of spread of the true Bayes errors of clusters, with their upper limits.
GROUPS = (
    ("true spread below 0.5 %", 0.005),
    ("0.5 to 5 %", 0.05),
    ("5 to 10 %", 0.1),
    ("above 10 %", 1.0),
)


def table(results: Path) -> str:
    """Return all tables."""
    settings, runs = read(results)
    found = Runs(runs)
    dimensions = sorted({task["features"] for task in tasks.known(settings)})
    parts = ["## The whole data set\n", HOW.format(**settings)]
    for d in dimensions:
        parts += [f"### {d} dimensions\n", _whole(settings, found, d)]
    parts += ["## Clusters, and shrinkage\n", CLUSTERS.format(**settings)]
    for d in dimensions:
        parts += [f"### Clusters in {d} dimensions\n", _clusters(settings, found, d)]
    parts += ["### Shrinkage, all together\n", _shrinkage(settings, found)]
    parts += ["## Real data with labels drawn at random\n", NOISE.format(**settings)]
    parts += [_bounds_with_noise(settings, found), _slopes(settings, found)]
    return "\n".join(parts)


class Runs:
    """The measurements, by row."""

    def __init__(self, runs: list[dict]) -> None:
        self.runs = runs

    def of(self, row: dict) -> list[dict]:
        """Return the metrics of all draws for a row."""
        return [run["metrics"] for run in self.runs if run["config"] == row]

    def values(self, row: dict, name: str) -> np.ndarray:
        """Return one metric as an array, with None as nan."""
        return np.array([found[name] for found in self.of(row)], dtype=float)


def rows_of(settings: dict, dimensions: int | None = None) -> list[dict]:
    """Return the rows of tasks with a known posterior, in some dimensions or all."""
    return [
        task | {"rows": n_rows}
        for task in tasks.known(settings)
        if dimensions in (None, task["features"])
        for n_rows in settings["rows"]
    ]


def _first_cells(row: dict) -> list[str]:
    return [row["task"], f"{row['classes']}", f"{row['rows']}"]


def _range(values: np.ndarray) -> str:
    low, high = 100.0 * values.mean(axis=0)
    return f"{low:.1f} to {high:.1f}"


def _held(found: list[dict]) -> str:
    return f"{sum(each['holds'] for each in found)} of {len(found)}"


def _whole(settings: dict, found: Runs, dimensions: int) -> str:
    lines = []
    for row in rows_of(settings, dimensions):
        truth = 100.0 * found.values(row, "truth").mean()
        ranges = [
            _range(found.values(row, name)) for name in ("tree", "fit", "interval")
        ]
        lines.append(
            [*_first_cells(row), f"{truth:.1f}", *ranges, _held(found.of(row))]
        )
    header = ["task", "classes", "rows", "truth", "one tree", "fit", "interval", "held"]
    return tables.markdown(header, lines)


def _clusters(settings: dict, found: Runs, dimensions: int) -> str:
    lines = []
    for row in rows_of(settings, dimensions):
        there = found.of(row)
        together = found.values(row, "correlation")
        known = together[~np.isnan(together)]
        percents = [
            f"{100.0 * found.values(row, name).mean():.1f}"
            for name in ("mean_error", "spread", "deviation", "deviation_shrunk")
        ]
        uniform = sum(each["is_uniform"] for each in there)
        truth = 100.0 * found.values(row, "truth").mean()
        lines.append(
            [
                *_first_cells(row),
                f"{truth:.1f}",
                f"{found.values(row, 'n_clusters').mean():.0f}",
                f"{known.mean():.2f}" if 2 * len(known) > len(together) else "",
                *percents,
                f"{uniform} of {len(there)}",
            ]
        )
    header = ["task", "classes", "rows", "truth", "clusters", "correlation"]
    header += ["mean error", "spread", "deviations off by", "shrunk", "uniform"]
    return tables.markdown(header, lines)


def _shrinkage(settings: dict, found: Runs) -> str:
    """Return how shrinkage changes the error, by the spread of the clusters."""
    errors: dict[str, list[tuple[float, float]]] = {name: [] for name, _ in GROUPS}
    for row in rows_of(settings):
        spread = found.values(row, "spread").mean()
        name = next(name for name, at_most in GROUPS if spread < at_most)
        plain, shrunk = (
            found.values(row, kind).mean() for kind in ("deviation", "deviation_shrunk")
        )
        errors[name].append((plain, shrunk))
    lines = []
    for name, pairs in errors.items():
        if pairs:
            plain, shrunk = np.array(pairs).T
            ratios = shrunk / plain
            cells = [f"{100.0 * plain.mean():.1f}", f"{100.0 * shrunk.mean():.1f}"]
            cells += [f"{ratios.min():.2f} to {ratios.max():.2f}"]
            worse = np.count_nonzero(ratios > 1.0)
            lines.append([name, f"{len(pairs)}", *cells, f"{worse}"])
    header = ["clusters", "rows of the tables above", "deviations off by", "shrunk"]
    header += ["shrunk / not shrunk", "rows where shrunk is worse"]
    return tables.markdown(header, lines)


def _there(settings: dict, found: Runs) -> list[str]:
    """Return the real data sets that were available."""
    return [
        name
        for name in settings["real"]
        if all(found.of({"task": name, "noise": s}) for s in settings["noise"])
    ]


def _bounds_with_noise(settings: dict, found: Runs) -> str:
    lines = []
    for name in _there(settings, found):
        cells = [
            _range(found.values({"task": name, "noise": share}, "fit"))
            for share in settings["noise"]
        ]
        lines.append([name, *cells])
    header = ["data", *(f"{100 * share:g} % drawn" for share in settings["noise"])]
    return tables.markdown(header, lines)


def slopes(settings: dict, found: Runs, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes of lower and upper bound, and the expected slopes."""
    shares = settings["noise"]
    rows = [{"task": name, "noise": share} for share in shares]
    means = np.array([found.values(row, "fit").mean(axis=0) for row in rows])
    n_classes = found.of(rows[0])[0]["n_classes"]
    most = settings["known_errors"][name.removesuffix(tasks.SCALED)]
    limit = (n_classes - 1) / n_classes
    return np.polyfit(shares, means, 1)[0], np.array([limit, limit - most])


def _slopes(settings: dict, found: Runs) -> str:
    lines = []
    largest = max(settings["noise"])
    for name in _there(settings, found):
        measured, expected = slopes(settings, found, name)
        ratios = [
            f"{value / expected[0]:.2f} to {value / expected[1]:.2f}"
            for value in measured
        ]
        first = found.of({"task": name, "noise": 0.0})[0]
        clean, noisy = (
            found.values({"task": name, "noise": share}, "fit")[:, 1].mean()
            for share in (0.0, largest)
        )
        law = expected[0] - (1.0 - largest) ** 2 * (expected[0] - clean)
        lines.append(
            [
                name,
                f"{first['n_classes']}",
                f"{first['n_rows']}",
                f"{expected[1]:.2f} to {expected[0]:.2f}",
                *(
                    f"{value:.2f} (x {ratio})"
                    for value, ratio in zip(measured, ratios, strict=True)
                ),
                f"{100 * noisy:.1f}, expected {100 * law:.1f}",
            ]
        )
    header = ["data", "classes", "rows", "slope of the truth"]
    header += ["slope of the lower bound", "slope of the upper bound"]
    header += [f"upper bound, {100 * largest:g} % drawn"]
    return tables.markdown(header, lines)
