"""One model, many ways to find strengths, paired over seeds.

A seed decides the rows (a new split, or new data for the synthetic task), the model's
first weights and its batches; all methods share them. Each method is trained with every
alpha; validation rows choose among these, in the table.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from experiments import datasets
from experiments.beyond.methods import Strengths, methods_of
from experiments.beyond.temperature import fit_temperature, scale
from experiments.models import build
from experiments.records import Records
from experiments.study.splits import hold_out
from experiments.synthetic.data import draw
from structsmooth.compare.trainers import trainer_of
from structsmooth.metrics import evaluate


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows to train on, to choose by, and to report."""

    train: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


def parts_of(config: dict, seed: int) -> Parts:
    """Return the rows of a seed."""
    if config["data"] == "synthetic":
        X, y = draw(config, seed, "train")
        groups, test = None, draw(config, seed, "test")
    else:
        if config["data"] == "digits":
            X, y = load_digits(return_X_y=True)
            data = datasets.Data(X.astype(np.float32), y.astype(np.int64))
        else:
            data = datasets.load(config["data"])
        X, y, groups, test = data.X, data.y, data.groups, data.test
    rows = np.arange(len(y))
    if test is None:
        rows, chosen = hold_out(rows, y, None, config["test_share"], seed)
        test = X[chosen], y[chosen]
    kept, held = hold_out(rows, y, groups, config["validation_share"], seed)
    return Parts((X[kept], y[kept]), (X[held], y[held]), test)


def rows_of(config: dict) -> list[dict]:
    """Return method and alpha of each training."""
    rows = [{"method": "none", "alpha": 0.0}]
    rows += [
        {"method": method, "alpha": alpha}
        for method in methods_of(config)[1:]
        for alpha in config["alphas"]
    ]
    return rows


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Train what is left."""
    records = Records(results, config)
    train = trainer_of(build(config["model"], config.get("model_options", {})))
    for seed in range(config["n_seeds"]):
        left = [row for row in rows_of(config) if not records.has(row, seed)]
        if not left:
            continue
        parts = parts_of(config, seed)
        options = config.get("smoother", {}) | {"n_jobs": n_jobs}
        strengths = Strengths(*parts.train, options, seed)
        for row in left:
            found = strengths(row["method"], row["alpha"])
            records.add(_measure(train, parts, row, seed, found))
        print(f"{results.stem}: seed {seed} done", flush=True)


def _measure(train, parts: Parts, row: dict, seed: int, strengths) -> list[dict]:
    started = time.perf_counter()
    X, y = parts.train
    predict = train(X, y, strengths, int(y.max()) + 1, seed)
    held, test = predict(parts.validation[0]), predict(parts.test[0])
    mass = strengths
    if strengths.ndim == 2:  # soft labels: what is not on the own class
        mass = 1.0 - strengths[np.arange(len(y)), y]

    def record(config, at_validation, at_test, **more):
        return {
            "config": config,
            "seed": seed,
            "validation": evaluate(parts.validation[1], at_validation),
            "metrics": evaluate(parts.test[1], at_test),
            "mean_strength": float(mass.mean()),
            "deviation": float(mass.std()),
            "n_rows": [len(y), len(parts.validation[1]), len(parts.test[1])],
            "seconds": round(time.perf_counter() - started, 2),
            **more,
        }

    records = [record(row, held, test)]
    if row["method"] == "none":
        temperature = fit_temperature(held, parts.validation[1])
        scaled = [scale(part, temperature) for part in (held, test)]
        name = {"method": "temperature", "alpha": 0.0}
        records.append(record(name, *scaled, temperature=temperature))
    return records
