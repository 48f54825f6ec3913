"""The runs of a study, and the choice of beta."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.rows import row_of

# Strengths from clusters of out-of-fold outputs of a first model.
OUT_OF_FOLD = "out of fold"
Choice = dict[tuple[float, int], float]


def methods_of(config: dict) -> list[str]:
    """Return the methods that have a beta."""
    return ["structural", *([OUT_OF_FOLD] if "out_of_fold" in config else [])]


def selection_runs(config: dict) -> Iterator[tuple[dict, int]]:
    """Yield the runs of the first seeds, with every beta."""
    for seed in range(config["selection_seeds"]):
        yield row_of("none", 0.0), seed
        for alpha in config["alphas"]:
            yield row_of("uniform", alpha), seed
            for method in methods_of(config):
                for n_clusters in config["n_clusters"]:
                    for beta in config["betas"]:
                        yield row_of(method, alpha, beta, n_clusters), seed


def final_runs(config: dict, best: dict[str, Choice]) -> Iterator[tuple[dict, int]]:
    """Yield the runs of all other seeds, with the chosen betas."""
    for seed in range(config["selection_seeds"], config["n_seeds"]):
        yield row_of("none", 0.0), seed
        for alpha in config["alphas"]:
            yield row_of("uniform", alpha), seed
            for method in methods_of(config):
                for n_clusters in config["n_clusters"]:
                    beta = best[method][alpha, n_clusters]
                    yield row_of(method, alpha, beta, n_clusters), seed


def choose(config: dict, runs: list[dict], method: str = "structural") -> Choice:
    """Return the beta of lowest validation error, by alpha and number of clusters.

    Of several with the same error the smallest is chosen, which is closest to uniform
    smoothing. Nothing is chosen where a run is missing.
    """
    wanted = len(config["betas"]) * config["selection_seeds"]
    errors: dict[tuple[float, int], dict[float, list[float]]] = {}
    for run_ in runs:
        row = run_["config"]
        if row["method"] == method and run_["seed"] < config["selection_seeds"]:
            by_beta = errors.setdefault((row["alpha"], row["n_clusters"]), {})
            by_beta.setdefault(row["beta"], []).append(run_["validation"]["error"])
    return {
        place: min(sorted(by_beta), key=lambda beta: np.mean(by_beta[beta]))
        for place, by_beta in errors.items()
        if sum(map(len, by_beta.values())) == wanted
    }


def choices(config: dict, runs: list[dict]) -> dict[str, Choice]:
    """Return the chosen betas of each method."""
    return {method: choose(config, runs, method) for method in methods_of(config)}
