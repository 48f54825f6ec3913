"""The features, clusters and bounds from which a study derives its strengths.

A smoother is fitted to the training rows, or to a sample of them with the other rows
assigned to its clusters. Only the closed form depends on alpha and beta, so one fit is
enough for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from experiments.records import digest_of
from structsmooth import StructuralSmoother, solve_strengths
from structsmooth.io.atomic import written_beside

CHECKPOINTS = Path(__file__).parents[1] / ".checkpoints"
FEATURES_DEPEND_ON = (
    "data",
    "scale",
    "rows",
    "split_seed",
    "validation_rows",
    "autoencoder",
)
# Number of rows that are assigned to clusters at a time.
ROWS = 200_000


@dataclass(frozen=True, eq=False)
class Regions:
    """The clusters of a study.

    Attributes
    ----------
    smoother : StructuralSmoother
        The fitted smoother.
    clusters : ndarray of shape (n,)
        Cluster of each training row.
    test_clusters : ndarray of shape (m,)
        Cluster of each test row.
    """

    smoother: StructuralSmoother
    clusters: np.ndarray
    test_clusters: np.ndarray

    @property
    def bayes_error(self) -> np.ndarray:
        """Lower bound of each cluster."""
        return self.smoother.bayes_error_lower_

    @property
    def weights(self) -> np.ndarray:
        """Share of all training rows in each cluster, including assigned ones."""
        sizes = np.bincount(self.clusters, minlength=len(self.bayes_error))
        return sizes / sizes.sum()

    def strengths(self, alpha: float, beta: float) -> np.ndarray:
        """Return the strength of each cluster, with the exact mean over all rows."""
        n_classes = len(self.smoother.classes_)
        return solve_strengths(
            self.bayes_error, self.weights, alpha, beta, n_classes=n_classes
        )


def find(config: dict, split, n_clusters: int, *, out_of_fold: bool = False) -> Regions:
    """Return the regions of a study, for one number of clusters.

    Those of out-of-fold outputs have no test rows.
    """
    if out_of_fold:
        features = outputs_of(config, split)
        test_features = features[:0]
    else:
        features, test_features = features_of(config, split)
    sample = np.arange(len(features))
    if config.get("fit_rows", len(features)) < len(features):
        draw = np.random.default_rng(config["split_seed"])
        sample = np.sort(draw.choice(sample, config["fit_rows"], replace=False))
    smoother = StructuralSmoother(
        n_clusters=n_clusters,
        random_state=config["split_seed"],
        **config.get("smoother", {}),
    ).fit(np.asarray(features[sample]), split.y[sample])
    return Regions(
        smoother, assign(smoother, features), assign(smoother, test_features)
    )


def assign(smoother: StructuralSmoother, features: np.ndarray) -> np.ndarray:
    """Return the cluster of each row, piece by piece."""
    pieces = [
        smoother.structure_.regions.assign(
            smoother.structure_.reduction.transform(
                np.asarray(features[start : start + ROWS])
            )
        )
        for start in range(0, len(features), ROWS)
    ]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)


def features_of(config: dict, split) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of training and test rows in which distances are measured.

    Those of an autoencoder are cached, because it takes longer to train than the rest.
    """
    if "autoencoder" not in config:
        return split.X, split.X_test
    facts = {name: config.get(name) for name in FEATURES_DEPEND_ON}
    codes = codes_of(facts, {"train": split.X, "test": split.X_test})
    return codes["train"], codes["test"]


def outputs_of(config: dict, split) -> np.ndarray:
    """Return log-probabilities of each training row by a model that did not see it.

    The models have the network and the recipe of the study, and no smoothing.
    """
    names = (*FEATURES_DEPEND_ON, "network", "recipe", "out_of_fold")
    facts = {name: config.get(name) for name in names}
    n_folds, seed = config["out_of_fold"]["folds"], config["split_seed"]

    def make() -> dict[str, np.ndarray]:
        from experiments.study import networks, training

        device = training.device_of(config.get("scale", "cpu"))
        found = np.empty((len(split.y), split.n_classes))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        for known, unknown in folds.split(split.y, split.y):
            inputs = training.Inputs.fit(split.X[known], device)
            network = training.train(
                lambda: networks.build(
                    config["network"], split.X.shape[1], split.n_classes
                ),
                split.X[known],
                split.y[known],
                np.zeros(len(known)),
                training.Recipe(**config["recipe"]),
                inputs,
                seed,
            )
            found[unknown] = training.predict(network, inputs, split.X[unknown])
        return {"train": np.log(np.clip(found, 1e-7, None)).astype(np.float32)}

    return kept(f"outputs-{config['data']}", facts, make)["train"]


def codes_of(facts: dict, parts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return an autoencoder's codes of each part, fitted to the one named "train".

    The facts are everything on which the codes depend.
    """

    def make() -> dict[str, np.ndarray]:
        from structsmooth.torch import Autoencoder

        seed = facts.get("split_seed", 0)
        coder = Autoencoder(random_state=seed, **facts["autoencoder"])
        coder.fit(parts["train"])
        return {name: coder.transform(X) for name, X in parts.items()}

    return kept(f"codes-{facts['data']}", facts, make)


def kept(
    name: str, facts: dict, make: Callable[[], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return the cached arrays for the same facts, or make and cache them."""
    path = CHECKPOINTS / f"{name}-{digest_of(facts)}.npz"
    if not path.is_file():
        arrays = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_beside(path) as part, part.open("wb") as stream:
            np.savez(stream, **arrays)
    with np.load(path, allow_pickle=False) as opened:
        return {name: opened[name] for name in opened.files}
