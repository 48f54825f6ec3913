"""Train a network, search its critical samples, and measure each cluster."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch

from experiments import configs
from experiments.critical.search import Search, find_critical
from experiments.records import Records
from experiments.study import regions
from experiments.study.runner import inputs_of, train_network
from experiments.study.splits import split_of
from experiments.study.table import Finished
from experiments.study.training import predict
from structsmooth.errors import FileFormatError


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Run the missing studies."""
    studies = {name: configs.study(name, config) for name in config["studies"]}
    records = Records(results, config | {"study_settings": studies})
    torch.set_num_threads(n_jobs)
    for name, study in studies.items():
        if not records.has({"study": name}, 0):
            path = results.with_name(f"{configs.stem(name, config['scale'])}.jsonl")
            betas = Finished(path).best
            wanted = len(study["alphas"]) * len(study["n_clusters"])
            if len(betas) < wanted:
                raise FileFormatError(
                    f"{path.stem} has not chosen its betas yet; expected a finished "
                    "study, run it first"
                )
            records.add([_examine(config, name, study, betas)])
            print(f"{results.stem}: {name} done", flush=True)


def _examine(config: dict, name: str, study: dict, betas: dict) -> dict:
    started = time.perf_counter()
    split = split_of(study)
    number = study["n_clusters"][0]
    found = regions.find(study, split, number)
    network = train_network(study, split, np.zeros(len(split.y)), seed=0)
    inputs = inputs_of(study, split)
    wrong = {
        part: predict(network, inputs, X).argmax(axis=1) != y
        for part, X, y in (
            ("train", split.X, split.y),
            ("test", split.X_test, split.y_test),
        )
    }
    n_regions = len(found.bayes_error)

    def by_cluster(values, clusters):
        counts = np.bincount(clusters, minlength=n_regions)
        sums = np.bincount(clusters, values, minlength=n_regions)
        return np.divide(sums, counts, out=np.full(n_regions, np.nan), where=counts > 0)

    ratios, critical = {}, np.zeros(len(split.y), dtype=bool)
    for radius in sorted(config["radii"]):
        left = ~critical  # samples critical in a small box are critical in a larger one
        critical[left] = find_critical(
            network,
            split.X[left],
            Search(
                radius=radius,
                step=radius * config["step"],
                noise=radius * config["noise"],
                n_steps=config["n_steps"],
            ),
            center=inputs.center,
            scale=inputs.scale,
            seed=0,
        )
        ratios[str(radius)] = by_cluster(critical, found.clusters)
    train_error = by_cluster(wrong["train"], found.clusters)
    test_error = by_cluster(wrong["test"], found.test_clusters)
    clusters = {
        "critical": {radius: _listed(ratio) for radius, ratio in ratios.items()},
        "train_error": _listed(train_error),
        "test_error": _listed(test_error),
        "n_train": np.bincount(found.clusters, minlength=n_regions).tolist(),
        "n_test": np.bincount(found.test_clusters, minlength=n_regions).tolist(),
        "bayes_error": _listed(found.bayes_error),
        "strengths": {
            str(alpha): _listed(found.strengths(alpha, betas[alpha, number]))
            for alpha in study["alphas"]
        },
    }
    return {
        "config": {"study": name},
        "seed": 0,
        "metrics": {
            "train_error": float(wrong["train"].mean()),
            "test_error": float(wrong["test"].mean()),
            **{
                f"critical_{radius}": float(ratio[found.clusters].mean())
                for radius, ratio in ratios.items()
            },
        },
        "betas": {str(alpha): betas[alpha, number] for alpha in study["alphas"]},
        "clusters": clusters,
        "seconds": round(time.perf_counter() - started, 1),
    }


def _listed(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 6) for value in values]
