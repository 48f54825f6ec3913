"""Table 1: no smoothing, uniform, structural and reversed on the synthetic task.

All networks of a seed train at once; they start with the same weights and see the same
batches, so their differences are paired. The lines of a finished seed are written
together. A checkpoint every few minutes lets a killed run continue.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from experiments.records import Records, digest_of
from experiments.rows import row_of
from experiments.synthetic.data import draw, fit_smoother
from experiments.synthetic.networks import Networks, predict, train
from structsmooth import reversed_strengths, solve_strengths
from structsmooth.metrics import evaluate


def rows_of(config: dict) -> list[dict]:
    """Return method, alpha, beta and number of clusters of each network.

    The 34 rows of Table 1 come first, then those with other numbers of clusters.
    """
    alphas, betas, usual = config["alphas"], config["betas"], config["n_clusters"]
    both = [(alpha, beta) for alpha in alphas for beta in betas]
    others = [
        (alpha, n_clusters)
        for n_clusters in config["other_n_clusters"]
        for alpha in alphas
    ]
    return [
        row_of("none", 0.0),
        *(row_of("uniform", alpha) for alpha in alphas),
        *(row_of("structural", alpha, beta, usual) for alpha, beta in both),
        *(row_of("reversed", alpha, beta, usual) for alpha, beta in both),
        *(row_of("structural", alpha, max(betas), number) for alpha, number in others),
    ]


def strengths_of(row: dict, n: int, smoothers: dict) -> np.ndarray:
    """Return the strength of each training row for one row of the table."""
    alpha, beta = row["alpha"], row["beta"]
    if beta is None:
        return np.full(n, alpha)
    smoother = smoothers[row["n_clusters"]]
    weights = smoother.cluster_weights_
    values = solve_strengths(
        smoother.bayes_error_lower_, weights, alpha, beta, n_classes=2
    )
    if row["method"] == "reversed":  # keep the mean, so that smoothing is no weaker
        values = reversed_strengths(values, weights, n_classes=2)
    if row["method"] == "swapped":  # as in the paper
        values = reversed_strengths(values, weights, n_classes=2, keep_mean=False)
    return values[smoother.cluster_labels_]


class Curve:
    """Test errors of all networks during training."""

    def __init__(self, X, y, n_networks: int, report) -> None:
        self.X, self.y, self.n_networks, self.report = X, y, n_networks, report
        self.errors: list[np.ndarray] = []

    def __call__(self, epoch, networks) -> None:
        """Measure."""
        p = predict(networks, self.X)
        self.errors.append(((p > 0.5) != self.y).mean(axis=1))
        self.report(epoch)

    def observed(self) -> np.ndarray:
        """Return the state for a checkpoint."""
        return np.array(self.errors).reshape(len(self.errors), self.n_networks)

    def resume(self, observed: np.ndarray) -> None:
        """Restore the state from a checkpoint."""
        self.errors = list(observed)


CHECKPOINTS = Path(__file__).parents[1] / ".checkpoints"


def run(config: dict, results: Path, n_jobs: int = 2) -> None:
    """Train the missing rows of the table."""
    # Both scales are the same, so the scale is not a setting.
    settings = {k: v for k, v in config.items() if k != "scale"}
    records = Records(results, settings)
    rows = rows_of(config)
    for seed in range(config["n_seeds"]):
        if not all(records.has(row, seed) for row in rows):
            # The name depends on the settings, so that no other run resumes from it.
            name = f"{results.stem}-{digest_of(settings)}-{seed}.npz"
            checkpoint = CHECKPOINTS / name
            runs = train_rows(config, rows, seed, checkpoint, n_jobs)
            records.add(run for run in runs if not records.has(run["config"], seed))
            checkpoint.unlink(missing_ok=True)


def train_rows(config, rows, seed, checkpoint, n_threads) -> list[dict]:
    """Return the records of all networks of a seed, trained at once."""
    started = time.perf_counter()
    X, y = draw(config, seed, "train")
    X_test, y_test = draw(config, seed, "test")
    smoothers = {
        n_clusters: fit_smoother(config, n_clusters, X, y, seed)
        for n_clusters in (config["n_clusters"], *config["other_n_clusters"])
    }
    strengths = np.array([strengths_of(row, len(X), smoothers) for row in rows])
    soft = np.where(y == 1, 1.0 - strengths, strengths).astype(np.float32)

    def report(epoch):
        spent = time.perf_counter() - started
        print(f"seed {seed}: epoch {epoch}, {spent:.0f} s", flush=True)

    curve = Curve(X_test, y_test, len(rows), report)
    networks = Networks.start(len(rows), X.shape[1], config["n_hidden"], seed)
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    train(
        networks,
        X,
        soft,
        epochs=config["epochs"],
        batch_size=config["batch_size"],
        learning_rate=config["learning_rate"],
        seed=seed,
        every=config["curve_every"],
        observe=curve,
        checkpoint=checkpoint,
        n_threads=n_threads,
    )
    predicted = predict(networks, X_test)
    seconds = round((time.perf_counter() - started) / len(rows), 1)
    return [
        {
            "config": row,
            "seed": seed,
            "metrics": evaluate(y_test, predicted[number].astype(np.float64)),
            "mean_strength": float(strengths[number].mean()),
            "curve": [round(float(errors[number]), 5) for errors in curve.errors],
            "seconds": seconds,
        }
        for number, row in enumerate(rows)
    ]
