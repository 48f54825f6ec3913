"""Table 1: no smoothing, uniform, structural and reversed on the synthetic task.

The 34 networks of a seed train at once (`experiments.wide`); they start alike and see
the same batches, so their differences are paired. A finished seed is 34 lines in the
file of results. A checkpoint every few minutes lets a killed run go on.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from experiments import wide
from experiments.synthetic import Layout
from structsmooth import StructuralSmoother, reversed_strengths, solve_strengths
from structsmooth.compare.statistics import paired_difference
from structsmooth.errors import FileFormatError
from structsmooth.metrics import evaluate
from structsmooth.store import versions


def rows_of(config: dict) -> list[tuple[str, float, float | None]]:
    """Return method, alpha and beta of each row of the table."""
    alphas, betas = config["alphas"], config["betas"]
    both = [(alpha, beta) for alpha in alphas for beta in betas]
    return [
        ("none", 0.0, None),
        *(("uniform", alpha, None) for alpha in alphas),
        *(("structural", alpha, beta) for alpha, beta in both),
        *(("reversed", alpha, beta) for alpha, beta in both),
    ]


def data_of(config: dict, seed: int):
    """Return training rows and labels, and test rows and labels, of a seed."""
    layout = Layout.from_config(config["layout"])
    return (
        *layout.draw(config["n_train"], [seed, 0]),
        *layout.draw(config["n_test"], [seed, 1]),
    )


def fit_smoother(config: dict, X, y, seed: int) -> StructuralSmoother:
    """Return the smoother of a seed: PCA, a Gaussian mixture, spanning trees."""
    return StructuralSmoother(
        clusterer="gmm",
        n_clusters=config["n_clusters"],
        n_components=config["n_components"],
        random_state=seed,
    ).fit(X, y)


def strengths_of(row, smoother: StructuralSmoother) -> np.ndarray:
    """Return the strength of each training row under one row of the table."""
    method, alpha, beta = row
    weights = smoother.cluster_weights_
    if beta is None:
        return np.full(len(smoother.cluster_labels_), alpha)
    values = solve_strengths(
        smoother.bayes_error_lower_, weights, alpha, beta, n_classes=2
    )
    if method == "reversed":  # with the mean kept, so that it is no weaker
        values = reversed_strengths(values, weights, n_classes=2)
    return values[smoother.cluster_labels_]


class Curve:
    """Test errors of all networks along the training."""

    def __init__(self, X, y, n_networks: int, report) -> None:
        self.X, self.y, self.n_networks, self.report = X, y, n_networks, report
        self.errors: list[np.ndarray] = []

    def __call__(self, epoch, networks) -> None:
        """Measure."""
        p = wide.predict(networks, self.X, self.n_networks)
        self.errors.append(((p > 0.5) != self.y).mean(axis=1))
        self.report(epoch)

    def observed(self) -> np.ndarray:
        """Return what belongs into a checkpoint."""
        return np.array(self.errors).reshape(len(self.errors), self.n_networks)

    def resume(self, observed: np.ndarray) -> None:
        """Take it back from there."""
        self.errors = list(observed)


CHECKPOINTS = Path(__file__).parent / ".checkpoints"


def run(config: dict, results: Path, n_threads: int = 2) -> None:
    """Train what is left of the table."""
    done = {record["seed"] for record in read(results)}
    for seed in range(config["n_seeds"]):
        if seed not in done:
            _run_seed(config, seed, results, CHECKPOINTS, n_threads)


def _run_seed(config, seed, results, checkpoints, n_threads) -> None:
    started = time.perf_counter()
    X, y, X_test, y_test = data_of(config, seed)
    smoother = fit_smoother(config, X, y, seed)
    rows = rows_of(config)
    strengths = np.array([strengths_of(row, smoother) for row in rows])
    soft = np.where(y == 1, 1.0 - strengths, strengths).astype(np.float32)

    def report(epoch):
        spent = time.perf_counter() - started
        print(f"seed {seed}: epoch {epoch}, {spent:.0f} s", flush=True)

    curve = Curve(X_test, y_test, len(rows), report)
    networks = wide.Networks.start(len(rows), X.shape[1], config["n_hidden"], seed)
    checkpoints.mkdir(parents=True, exist_ok=True)
    checkpoint = checkpoints / f"{results.stem}-{seed}.npz"
    wide.train(
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
    predicted = wide.predict(networks, X_test, len(rows))
    lines = []
    for number, (method, alpha, beta) in enumerate(rows):
        record = {
            "seed": seed,
            "method": method,
            "alpha": alpha,
            "beta": beta,
            "mean_strength": float(strengths[number].mean()),
            "test": evaluate(y_test, predicted[number].astype(np.float64)),
            "curve": [float(errors[number]) for errors in curve.errors],
            "seconds": round((time.perf_counter() - started) / len(rows), 1),
            "versions": versions(),
        }
        lines.append(json.dumps(record) + "\n")
    with results.open("a", encoding="utf-8") as stream:
        stream.write("".join(lines))
    checkpoint.unlink(missing_ok=True)


def read(results: Path) -> list[dict]:
    """Return the finished runs; a seed that is not complete does not count."""
    if not results.is_file():
        return []
    records = []
    for line in results.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def table(config: dict, results: Path) -> str:
    """Return the table of the seeds that are finished, as Markdown."""
    records = read(results)
    if not records:
        raise FileFormatError(f"there are no results in {results}")
    seeds = sorted({record["seed"] for record in records})
    error = {
        (r["method"], r["alpha"], r["beta"], r["seed"]): 100.0 * r["test"]["error"]
        for r in records
    }

    def errors(method, alpha, beta):
        return np.array([error[method, alpha, beta, seed] for seed in seeds])

    lines = [
        "| method | alpha | beta | test error, % | lowest | against none | "
        "against uniform |",
        "|---|---|---|---|---|---|---|",
    ]
    for method, alpha, beta in rows_of(config):
        found = errors(method, alpha, beta)
        cells = [method, f"{alpha:g}" if alpha else "", f"{beta:g}" if beta else ""]
        cells += [f"{found.mean():.2f}±{_spread(found):.2f}", f"{found.min():.2f}"]
        cells.append(_against(found, errors("none", 0.0, None), method == "none"))
        rival = errors("uniform", alpha, None) if beta else found
        cells.append(_against(found, rival, beta is None))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(
        [
            f"{len(seeds)} of {config['n_seeds']} seeds, each with data of its own.",
            "",
            *lines,
            "",
            "Mean over the seeds ± standard deviation. Differences are paired, with "
            "95 % intervals (Student's t), one by one.",
            "",
        ]
    )


def _spread(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def _against(values: np.ndarray, reference: np.ndarray, is_same: bool) -> str:
    if is_same:
        return ""
    d = paired_difference(
        "error", "", "", values, reference, confidence=0.95, n_intervals=1, test_ratio=0
    )
    return f"{d.mean:+.2f} ({d.low:+.2f} to {d.high:+.2f})"
