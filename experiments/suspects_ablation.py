"""What the score of a suspect is made of: with less evidence, and with more.

The rule by which it is judged is the note of its config.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import average_precision_score

from experiments import tables
from experiments.records import read
from experiments.suspects import changed, rows_of, run_cases
from structsmooth import euclidean_mst
from structsmooth.bayes_error.evidence import NTH, PARTS, gather_evidence
from structsmooth.bayes_error.label_noise import (
    fit_label_noise,
    n_listed,
    wrong_probability,
)
from structsmooth.bayes_error.suspects import FALSE_DISCOVERIES

ROWS_OF_A_CLUSTER = 100
AS_IT_IS = "as it is"
N_OF_NEIGHBORS, N_NORMAL = len(PARTS) + len(NTH), 2
ALL = (
    AS_IT_IS,
    "no shapes",
    "no heavy tails",
    "and tree edges",
    "and clusters",
    "and both",
)


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Compute the missing rankings."""
    run_cases(config, results, _measure, n_jobs, ["synthetic"], with_unchanged=False)


def _measure(
    config: dict, name: str, kind: str, share: float, seed: int, n_jobs: int
) -> dict:
    X, y = rows_of(config, name, seed)
    noisy, wrong = changed(X, y, share, seed, kind)
    n_classes = int(y.max()) + 1
    gathered = gather_evidence(X, noisy, n_classes, None, "auto", n_jobs)
    usual = gathered.of(np.arange(len(y)))
    edges = edge_evidence(euclidean_mst(X, n_jobs=n_jobs).edges, noisy, n_classes)
    groups = KMeans(max(2, len(y) // ROWS_OF_A_CLUSTER), n_init=1, random_state=0)
    clusters = cluster_evidence(groups.fit_predict(X), noisy, n_classes)
    metrics: dict = {"n_rows": len(y), "n_wrong": int(wrong.sum())}
    for which, evidence in (
        (AS_IT_IS, usual),
        ("no shapes", usual[:, :, :N_OF_NEIGHBORS]),
        ("no heavy tails", usual[:, :, : N_OF_NEIGHBORS + N_NORMAL]),
        ("and tree edges", np.concatenate([usual, edges], axis=2)),
        ("and clusters", np.concatenate([usual, clusters], axis=2)),
        ("and both", np.concatenate([usual, edges, clusters], axis=2)),
    ):
        log_odds, _ = fit_label_noise(evidence, noisy).judge(evidence, noisy)
        order = np.argsort(-log_odds, kind="stable")
        n_rows = n_listed(wrong_probability(log_odds[order]), FALSE_DISCOVERIES)
        listed = order[:n_rows]
        metrics[which] = {
            "ap": float(average_precision_score(wrong, log_odds)),
            "n_listed": len(listed),
            "n_found": int(wrong[listed].sum()),
        }
    return metrics


def edge_evidence(edges: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes of the rows at the other ends of a row's edges, as logarithms.

    The votes are counted as those of neighbors, with one pseudo vote by class sizes.
    """
    votes = np.zeros((len(y), n_classes))
    for here, there in (edges.T, edges.T[::-1]):
        np.add.at(votes, (here, y[there]), 1.0)
    return _logarithms(votes, y, n_classes)


def cluster_evidence(groups: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes of all other rows of a row's cluster, as logarithms."""
    counts = np.zeros((int(groups.max()) + 1, n_classes))
    np.add.at(counts, (groups, y), 1.0)
    votes = counts[groups]
    votes[np.arange(len(y)), y] -= 1.0
    return _logarithms(votes, y, n_classes)


def _logarithms(votes: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    others = np.tile(np.bincount(y, minlength=n_classes).astype(float), (len(y), 1))
    others[np.arange(len(y)), y] -= 1.0
    prior = (others + 0.5) / (len(y) - 1.0 + 0.5 * n_classes)
    shares = (votes + prior) / (votes.sum(axis=1, keepdims=True) + 1.0)
    return np.log(shares)[:, :, np.newaxis]


def table(results: Path) -> str:
    """Return the tables of results, as Markdown."""
    settings, runs = read(results)
    cases: dict[str, list[dict]] = {}
    for run_ in runs:
        config = run_["config"]
        key = f"{config['data']}|{config['kind']}|{100 * config['wrong']:g}"
        cases.setdefault(key, []).append(run_["metrics"])
    means = {
        which: np.array([_mean(found, which) for found in cases.values()])
        for which in ALL
    }
    rows = [
        [*key.split("|"), *(f"{means[which][number]:.3f}" for which in ALL)]
        for number, key in enumerate(cases)
    ]
    lists = [
        [*key.split("|"), *(_listed(found, which) for which in ALL)]
        for key, found in cases.items()
    ]
    header = ["data", "change", "%", *ALL]
    text = [
        f"At most {settings['most_rows']} rows of each set, {len(runs)} runs of "
        f"{len(cases)} cases; features alone. As it is: votes and distances of "
        "neighbors, and each class as a normal and as a t distribution.\n\n"
        "## Average precision\n",
        tables.markdown(header, rows),
    ]
    for which in ALL[1:]:
        changes = means[which] - means[AS_IT_IS]
        text.append(
            f"- {which}: mean {means[which].mean():.4f}, {changes.mean():+.4f}; "
            f"from {changes.min():+.3f} to {changes.max():+.3f}."
        )
    text += ["\n## At the default threshold: precision / recall, %\n"]
    return "\n".join([*text, tables.markdown(header, lists)])


def _mean(found: list[dict], which: str) -> float:
    return float(np.mean([metrics[which]["ap"] for metrics in found]))


def _listed(found: list[dict], which: str) -> str:
    n_found, n_listed = (
        sum(f[which][name] for f in found) for name in ("n_found", "n_listed")
    )
    precision = f"{100 * n_found / n_listed:.0f}" if n_listed else "none"
    return f"{precision} / {100 * n_found / sum(f['n_wrong'] for f in found):.0f}"
