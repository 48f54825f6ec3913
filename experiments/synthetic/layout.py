"""The paper's synthetic task: two classes of six 2-D Gaussians, and noise.

The paper's parameters are in a supplement that is not public; ours are in
``configs/synthetic.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions and widths of the components.

    Attributes
    ----------
    means : ndarray of shape (2, 6, 2)
        By class and component.
    covariances : ndarray of shape (2, 6, 2, 2)
        By class and component.
    n_noise : int
        Number of uninformative features.
    noise_deviation : float
        Their standard deviation; their mean is 0.
    """

    means: np.ndarray
    covariances: np.ndarray
    n_noise: int
    noise_deviation: float

    @classmethod
    def from_config(cls, config: dict) -> Layout:
        """Return the layout of a config, which lists the components of each class.

        A component is x, y, the two standard deviations along its axes, and the angle
        of the first axis in degrees. All deviations are multiplied by ``spread`` if it
        is given, which makes the classes overlap more.
        """
        table = np.array([config["class_0"], config["class_1"]], dtype=float)
        angle = np.deg2rad(table[..., 4])
        turn = np.stack(
            [
                np.stack([np.cos(angle), -np.sin(angle)], axis=-1),
                np.stack([np.sin(angle), np.cos(angle)], axis=-1),
            ],
            axis=-2,
        )
        variances = (config.get("spread", 1.0) * table[..., 2:4]) ** 2
        covariances = np.einsum("cijk,cik,cilk->cijl", turn, variances, turn)
        return cls(
            table[..., :2], covariances, config["n_noise"], config["noise_deviation"]
        )

    def draw(self, n: int, seed) -> tuple[np.ndarray, np.ndarray]:
        """Return n rows, the two useful features first, and their classes."""
        draw = np.random.default_rng(seed)
        y = draw.permutation(np.arange(n) % 2)
        component = draw.integers(0, self.means.shape[1], n)
        roots = np.linalg.cholesky(self.covariances)
        useful = self.means[y, component] + np.einsum(
            "nij,nj->ni", roots[y, component], draw.normal(size=(n, 2))
        )
        noise = draw.normal(scale=self.noise_deviation, size=(n, self.n_noise))
        return np.hstack([useful, noise]).astype(np.float32), y

    def posterior(self, X: np.ndarray) -> np.ndarray:
        """Return the true probability of class 1, from the two useful features."""
        inverse = np.linalg.inv(self.covariances)
        scale = np.sqrt(np.linalg.det(self.covariances))
        density = np.zeros((2, len(X)))
        for label in range(2):
            for mean, form, size in zip(
                self.means[label], inverse[label], scale[label], strict=True
            ):
                away = X[:, :2] - mean
                density[label] += (
                    np.exp(-0.5 * np.einsum("ni,ij,nj->n", away, form, away)) / size
                )
        return density[1] / density.sum(axis=0)
