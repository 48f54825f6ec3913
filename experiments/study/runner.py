"""None, uniform and structural smoothing of one network on one data set.

Structural strengths come from clusters of the rows, or of an autoencoder's codes, and
as a second method from clusters of the outputs of a first model, taken out of fold.
Seeds decide initial weights and batches; the rows are the same for all seeds. Beta is
chosen by the error on validation rows: for the first seeds the network is trained with
all betas, for the others with the best. Test rows are not used for any choice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from experiments.records import Records
from experiments.study import networks, regions, training
from experiments.study.rows import (
    OUT_OF_FOLD,
    choices,
    final_runs,
    methods_of,
    selection_runs,
)
from experiments.study.splits import Split, split_of


def run(config: dict, results: Path, n_jobs: int = 2) -> None:
    """Train the missing runs of a study, several in parallel on one thread each."""
    records = Records(results, config)
    if not _left(selection_runs(config), records):
        best = choices(config, records.runs)
        if not _left(final_runs(config, best), records):
            return  # a finished study does not even need its data
    split = split_of(config)
    found = {
        (method, number): regions.find(
            config, split, number, out_of_fold=method == OUT_OF_FOLD
        )
        for method in methods_of(config)
        for number in config["n_clusters"]
    }
    _train_all(config, selection_runs(config), split, found, records, n_jobs)
    best = choices(config, records.runs)
    _train_all(config, final_runs(config, best), split, found, records, n_jobs)


def _left(runs, records: Records) -> list[tuple[dict, int]]:
    return [(row, seed) for row, seed in runs if not records.has(row, seed)]


def _train_all(config, runs, split, found, records, n_jobs) -> None:
    left = _left(runs, records)
    # Made one by one: for millions of rows, the strengths of all runs are too large.
    tasks = (
        (config, row, seed, strengths_of(row, len(split.y), found))
        for row, seed in left
    )
    started = time.perf_counter()
    for number, record in enumerate(_side_by_side(tasks, n_jobs), 1):
        records.add([record])
        print(
            f"{records.path.stem}: {number} of {len(left)} runs, "
            f"{time.perf_counter() - started:.0f} s, {record['config']}, seed "
            f"{record['seed']}: error {record['metrics']['error']:.4f}",
            flush=True,
        )


def _side_by_side(tasks: Iterator[tuple], n_jobs: int) -> Iterator[dict]:
    """Yield the records of runs as they finish; few runs wait in the queue."""
    if n_jobs == 1:
        yield from (train_one(*task) for task in tasks)
        return
    # Spawned, not forked: a fork of a process that has used threads may hang.
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        working = {pool.submit(train_one, *task) for task in islice(tasks, n_jobs)}
        while working:
            done, working = wait(working, return_when=FIRST_COMPLETED)
            working |= {
                pool.submit(train_one, *task) for task in islice(tasks, len(done))
            }
            yield from (finished.result() for finished in done)


def strengths_of(row: dict, n_rows: int, found: dict) -> np.ndarray:
    """Return the strength of each training row."""
    if row["beta"] is None:
        return np.full(n_rows, row["alpha"])
    place = found[row["method"], row["n_clusters"]]
    return place.strengths(row["alpha"], row["beta"])[place.clusters]


def train_one(config: dict, row: dict, seed: int, strengths: np.ndarray) -> dict:
    """Return the record of one run."""
    torch.set_num_threads(1)
    started, worked = time.perf_counter(), time.process_time()
    split = _split_once(repr(sorted(config.items())), config)
    inputs, n_epochs = inputs_of(config, split), config["recipe"]["epochs"]
    curve: dict[str, list[float]] = {"epoch": [], "error": [], "nll": []}

    def after_epoch(epoch, network):
        if epoch % config["curve_every"] == 0 or epoch == n_epochs:
            found = training.score(network, inputs, split.X_test, split.y_test)
            curve["epoch"].append(epoch)
            for name in ("error", "nll"):
                curve[name].append(round(found[name], 5))

    network = train_network(config, split, strengths, seed, after_epoch)
    parts = {
        "validation": (split.X_validation, split.y_validation),
        "metrics": (split.X_test, split.y_test),
    }
    scores = {
        name: training.score(network, inputs, *part) for name, part in parts.items()
    }
    return {
        "config": row,
        "seed": seed,
        **scores,
        "mean_strength": float(strengths.mean()),
        "n_rows": [len(split.y), len(split.y_validation), len(split.y_test)],
        "curve": curve,
        "multiplications": cost_of(config, split),
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - worked, 2),
    }


def inputs_of(config: dict, split: Split) -> training.Inputs:
    """Return the object that makes batches of rows."""
    device = training.device_of(config.get("scale", "cpu"))
    return training.Inputs.fit(split.X, device)


def train_network(config, split, strengths, seed, after_epoch=None):
    """Return the trained network of a study."""
    return training.train(
        lambda: networks.build(config["network"], split.X.shape[1], split.n_classes),
        split.X,
        split.y,
        strengths,
        training.Recipe(**config["recipe"]),
        inputs_of(config, split),
        seed,
        after_epoch,
    )


def cost_of(config: dict, split: Split) -> int:
    """Return how many multiplications the network takes for one row."""
    network = networks.build(config["network"], split.X.shape[1], split.n_classes)
    shape = split.X.shape[1:]
    return networks.multiplications(
        network, (shape[2], *shape[:2]) if len(shape) == 3 else shape
    )


_kept: dict[str, Split] = {}


def _split_once(name: str, config: dict) -> Split:
    """Return the split, which each process reads once."""
    if name not in _kept:
        _kept.clear()
        _kept[name] = split_of(config)
    return _kept[name]
