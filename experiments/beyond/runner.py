"""One model trained with many ways to find strengths, paired over seeds.

A seed decides the rows, the model's initial weights and its batches; all methods share
them. Each method is trained with every alpha; the table chooses among these by
validation rows.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from experiments.beyond.methods import METHODS, Strengths, methods_of
from experiments.beyond.parts import Parts, out_of_fold, parts_of
from experiments.models import build
from experiments.records import Records
from structsmooth.compare.trainers import TrainingSet, trainer_of
from structsmooth.metrics import evaluate
from structsmooth.metrics.posthoc import fit_temperature, scale

NONE = {"method": "none", "alpha": 0.0}
TEMPERATURE = {"method": "temperature", "alpha": 0.0}


def rows_of(config: dict) -> list[dict]:
    """Return method and alpha of each training run."""
    return [
        NONE,
        *(
            {"method": method, "alpha": alpha}
            for method in methods_of(config)
            for alpha in config["alphas"]
        ),
    ]


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Train the missing runs."""
    records = Records(results, config)
    train = trainer_of(build(config["model"], config.get("model_options", {})))
    for seed in range(config["n_seeds"]):
        left = [row for row in rows_of(config) if not records.has(row, seed)]
        if not left:
            continue
        parts = parts_of(config, seed)
        strengths = _strengths_of(config, left, train, parts, seed, n_jobs)
        for row in left:
            rows = strengths.rows(row["method"])
            found = np.zeros(len(parts.features))
            if row != NONE:
                found = strengths(row["method"], row["alpha"])
            records.add(_measure(train, parts, rows, row, seed, found[rows]))
        print(f"{results.stem}: seed {seed} done", flush=True)


def _strengths_of(config, left, train, parts: Parts, seed: int, n_jobs) -> Strengths:
    """Return the strengths; first models are trained only if they are needed."""
    X, y = parts.features, parts.train[1]
    outputs = None
    names = {row["method"] for row in left}
    if any(name in names and method.out_of_fold for name, method in METHODS.items()):
        outputs = out_of_fold(train, parts, config["n_folds"], int(y.max()) + 1, seed)
    options = config.get("smoother", {}) | {"n_jobs": n_jobs}
    return Strengths(X, y, outputs, options, seed)


def _measure(train, parts: Parts, rows, row: dict, seed: int, strengths) -> list[dict]:
    started = time.perf_counter()
    X, y = parts.train[0][rows], parts.train[1][rows]
    n_classes = int(parts.train[1].max()) + 1
    predict = train(TrainingSet(X, y, strengths, n_classes, seed))
    held, test = predict(parts.validation[0]), predict(parts.test[0])
    mass = strengths
    if strengths.ndim == 2:  # soft labels: the mass on the other classes
        mass = 1.0 - strengths[np.arange(len(y)), y]

    def record(config, at_validation, at_test, **more):
        return {
            "config": config,
            "seed": seed,
            "validation": evaluate(parts.validation[1], at_validation),
            "metrics": evaluate(parts.test[1], at_test),
            "mean_strength": float(mass.mean()),
            "deviation": float(mass.std()),
            "n_rows": parts.n_rows,
            "seconds": round(time.perf_counter() - started, 2),
            **more,
        }

    records = [record(row, held, test)]
    if row == NONE:
        temperature = fit_temperature(held, parts.validation[1])
        scaled = [scale(part, temperature) for part in (held, test)]
        records.append(record(TEMPERATURE, *scaled, temperature=temperature))
    return records
