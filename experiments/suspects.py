"""Overlap or mistake: how many wrong labels are found, and how many right ones.

A share of the labels is changed to another class at random. Thresholds were chosen on
the digits and the synthetic task; TIMIT and HIGGS confirm them.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from experiments import datasets, tables
from experiments.records import Records, read
from experiments.synthetic.layout import Layout
from structsmooth import StructuralSmoother

OPTIONS = {"higgs": {"reducer": "scaled-pca"}, "synthetic": {"reducer": "none"}}


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing searches for wrong labels."""
    # Both scales are the same, so the scale is not a setting.
    records = Records(results, {k: v for k, v in config.items() if k != "scale"})
    for name in config["data"]:
        for share in config["wrong"]:
            row = {"data": name, "wrong": share}
            for seed in range(config["n_seeds"]):
                if not records.has(row, seed):
                    started = time.perf_counter()
                    metrics = _measure(config, name, share, seed, n_jobs)
                    seconds = round(time.perf_counter() - started, 2)
                    found = {"metrics": metrics, "seconds": seconds}
                    records.add([{"config": row, "seed": seed, **found}])


def rows_of(config: dict, name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels; the synthetic task without its noise."""
    if name == "synthetic":
        layout = Layout.from_config(config["layout"])
        X, y = layout.draw(config["n_synthetic"], [seed, 0])
        return X[:, :2], y
    data = datasets.load(name)
    return data.X, data.y


def with_mistakes(y: np.ndarray, share: float, seed: int):
    """Return labels with a share of them changed, and which ones are changed."""
    draw = np.random.default_rng([seed, 11])
    n_classes = int(y.max()) + 1
    wrong = draw.uniform(size=len(y)) < share
    moved = (y + draw.integers(1, n_classes, size=len(y))) % n_classes
    return np.where(wrong, moved, y), wrong


def _measure(config: dict, name: str, share: float, seed: int, n_jobs: int) -> dict:
    X, y = rows_of(config, name, seed)
    noisy, wrong = with_mistakes(y, share, seed)

    def fitted(labels, ignore):
        return StructuralSmoother(
            random_state=seed,
            n_jobs=n_jobs,
            ignore_suspects=ignore,
            **OPTIONS.get(name, {}),
        ).fit(X, labels)

    right, plain, ignored = fitted(y, False), fitted(noisy, False), fitted(noisy, True)
    suspects = ignored.suspects_
    return {
        "n_rows": len(y),
        "n_wrong": int(wrong.sum()),
        "n_suspects": len(suspects),
        "n_found": int(wrong[suspects.rows].sum()),
        "n_corrected": int((suspects.likely == y[suspects.rows]).sum()),
        "lower_right": right.bayes_error_bounds_.lower,
        "lower_noisy": plain.bayes_error_bounds_.lower,
        "lower_ignored": ignored.bayes_error_bounds_.lower,
    }


def table(results: Path) -> str:
    """Return the table of results, as Markdown."""
    settings, runs = read(results)
    lines = []
    for name in settings["data"]:
        for share in settings["wrong"]:
            row = {"data": name, "wrong": share}
            there = [run["metrics"] for run in runs if run["config"] == row]
            sums = {key: sum(m[key] for m in there) for key in there[0]}
            lower = [
                f"{100 * sums[f'lower_{kind}'] / len(there):.1f}"
                for kind in ("right", "noisy", "ignored")
            ]
            lines.append(
                [
                    name,
                    f"{100 * share:g}",
                    f"{100 * sums['n_suspects'] / sums['n_rows']:.2f}",
                    _share(sums["n_found"], sums["n_suspects"]),
                    _share(sums["n_found"], sums["n_wrong"]),
                    *lower,
                ]
            )
    header = ["data", "labels changed, %", "suspects, % of the rows"]
    header += ["changed among suspects, %", "found among changed, %"]
    header += ["lower bound, right labels", "changed labels", "suspects ignored"]
    return (
        f"{settings['n_seeds']} draws. The bounds on the Bayes error are in %. Where "
        "no label was changed, suspects are rows in the tails of an overlap, or "
        f"mistakes in the original labels.\n\n{tables.markdown(header, lines)}"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}" if whole else ""
