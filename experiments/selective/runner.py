"""Units of the study: one data set, one learner, one seed, all arms.

Sets for choosing come first, all of a seed before the next seed. Sets for confirming
wait until the choice is written down.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from experiments import datasets
from experiments.beyond.parts import Parts
from experiments.records import Records
from experiments.selective import learners
from experiments.selective.afterwards import COLUMNS, scores_of
from experiments.selective.arms import ARMS, NONE, Measured, arms_of
from experiments.selective.choice import place_of_choice, write_choice
from experiments.selective.rows import flat, folds_of, parts_of
from structsmooth.errors import FileFormatError

Unit = tuple[str, str, int]  # data, learner, seed


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Train the missing units; write the choice between the two parts."""
    if config["scale"] != "cpu":
        raise FileFormatError(
            f"{results.stem} exists at the scale cpu only, got {config['scale']}"
        )
    records = Records(results, config)
    if not place_of_choice(results).is_file():
        train_units(config, records, config["choosing"], n_jobs)
        write_choice(results)
    train_units(config, records, config["confirming"], n_jobs)
    train_units(config, records, config["choosing"], n_jobs)  # if the choice came early


def train_units(config: dict, records: Records, names: list[str], n_jobs: int) -> None:
    """Train what is missing of these sets, all of a seed before the next seed."""
    for name in names:
        if name not in ("digits", "synthetic"):
            datasets.load(name)  # what is missing should be named at once
    units = product(range(config["n_seeds"]), names, config["learners"])
    left = [
        (name, learner, seed)
        for seed, name, learner in units
        if not records.has(_key(name, learner), seed)
    ]
    if not left:
        return
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(train_unit, config, unit) for unit in left]
        for number, done in enumerate(as_completed(waiting), 1):
            record = done.result()
            records.add([record])
            data, learner = record["config"].values()
            print(
                f"{number} of {len(left)}: {data}, {learner}, seed {record['seed']}, "
                f"{record['seconds']} s",
                flush=True,
            )


def _key(name: str, learner: str) -> dict:
    return {"data": name, "learner": learner}


def train_unit(config: dict, unit: Unit) -> dict:
    """Train all arms of a unit, and return its record."""
    warnings.filterwarnings("ignore", message=".*tied.*")
    started, process = time.perf_counter(), time.process_time()
    name, learner, seed = unit
    parts = parts_of(config, name, seed)
    X, y = parts.train
    n_classes = int(max(part[1].max() for part in (parts.train, parts.test))) + 1
    options = config["learners"][learner]
    outputs = _out_of_fold(learner, options, parts, n_classes, config["n_folds"], seed)
    smoother = config["smoothers"].get(name, {})
    measured = Measured(parts.features, y, n_classes, outputs, smoother, seed)
    names = config.get("arms", arms_of(learner))
    arms = {name: ARMS[name] for name in names}
    labels, losses, number_of = [], [], {}
    known: dict[tuple, int] = {}
    for arm_name, arm in arms.items():
        soft = arm.labels(measured)
        # Arms may coincide, such as one with a cap that is not reached.
        same = arm.loss, np.round(soft, 12).tobytes()
        if same not in known:
            known[same] = len(labels)
            labels.append(soft)
            losses.append(arm.loss)
        number_of[arm_name] = known[same]
    predict = learners.train(learner, options, X, np.stack(labels), losses, seed)
    held, test = predict(parts.validation[0]), predict(parts.test[0])
    scores = [
        scores_of((parts.validation[1], validated), (parts.test[1], tested))
        for validated, tested in zip(held, test, strict=True)
    ]
    strengths = [float(1.0 - soft[np.arange(len(y)), y].mean()) for soft in labels]
    trained = predict(X)[number_of[NONE]]
    return {
        "config": _key(name, learner),
        "seed": seed,
        "metrics": {
            variant: [score[variant] for score in scores] for variant in COLUMNS
        },
        "arms": number_of,
        "mean_strengths": [round(strength, 6) for strength in strengths],
        "bayes_error": round(measured.bayes_error, 6),
        "overconfidence": round(measured.overconfidence, 6),
        "training_error": float((trained.argmax(axis=1) != y).mean()),
        "clusters": _by_cluster(measured, parts, test[number_of[NONE]]),
        "n_rows": parts.n_rows,
        "n_classes": n_classes,
        "seconds": round(time.perf_counter() - started, 1),
        "processor_seconds": round(time.process_time() - process, 1),
    }


def _out_of_fold(learner, options, parts: Parts, n_classes, n_folds, seed):
    """Return probabilities of each training row by a model that did not see it."""
    X, y = parts.train
    weights = folds_of(parts, n_folds, seed)
    hard = np.broadcast_to(np.eye(n_classes)[y], (n_folds, len(y), n_classes))
    losses = ["cross_entropy"] * n_folds
    predict = learners.train(learner, options, X, hard, losses, seed, weights)
    return (predict(X) * (weights == 0)[:, :, np.newaxis]).sum(axis=0)


def _by_cluster(measured: Measured, parts: Parts, probabilities) -> dict[str, list]:
    """Return what training without smoothing does on the test rows of each cluster."""
    smoother = measured.smoother
    clusters = smoother.predict_cluster(flat(parts.test[0]))
    n = np.bincount(clusters, minlength=len(smoother.cluster_weights_))
    wrong = probabilities.argmax(axis=1) != parts.test[1]
    confidence = probabilities.max(axis=1)

    def means(values):
        sums = np.bincount(clusters, values, minlength=len(n))
        return [round(float(v), 5) for v in sums / np.maximum(n, 1)]

    return {
        "bayes_error": [round(float(v), 5) for v in smoother.bayes_error_lower_],
        "upper": [round(float(v), 5) for v in smoother.bayes_error_upper_],
        "training_rows": np.bincount(smoother.cluster_labels_).tolist(),
        "test_rows": n.tolist(),
        "confidence": means(confidence),
        "error": means(wrong),
    }
