"""Langevin adversarial sample search (Arpit et al. 2017).

A sample is critical if a box around it contains a point that the network assigns to
another class. The search follows the gradient against the predicted class, with noise,
and stays inside the box. It may miss such points, so it gives a lower bound on the
share of critical samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

# Number of images that are searched at a time.
ROWS = 500


@dataclass(frozen=True)
class Search:
    """Settings of the search, in units of 1/255 of the pixel range.

    Attributes
    ----------
    radius : float
        Half the side of the box.
    step, noise : float
        Step length along the sign of the gradient, and standard deviation of the
        noise added in each step.
    n_steps : int
        Largest number of steps.
    """

    radius: float
    step: float
    noise: float
    n_steps: int


def find_critical(
    network: nn.Module,
    images: np.ndarray,
    search: Search,
    *,
    center: np.ndarray,
    scale: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Return whether each image is critical.

    Parameters
    ----------
    network : Module
        Maps standardized images, channels first, to scores.
    images : ndarray of shape (n, height, width, channels)
        Pixels from 0 to 255.
    search : Search
        Settings of the search.
    center, scale : ndarray of shape (channels,)
        Mean and scale by which the network's inputs are standardized.
    seed : int
        Seed of the noise.
    """
    network.eval()
    generator = torch.Generator().manual_seed(seed)
    device = next((weight.device for weight in network.parameters()), None)
    shift, factor = (
        torch.tensor(values, dtype=torch.float32, device=device)
        for values in (center, scale)
    )

    def scores(pixels: torch.Tensor) -> torch.Tensor:
        return network(((pixels - shift) / factor).permute(0, 3, 1, 2))

    found = np.zeros(len(images), dtype=bool)
    for start in range(0, len(images), ROWS):
        pixels = torch.from_numpy(images[start : start + ROWS].astype(np.float32))
        part = _search(scores, pixels.to(device), search, generator)
        found[start : start + ROWS] = part.cpu().numpy()
    return found


def _search(scores, pixels, search: Search, generator) -> torch.Tensor:
    with torch.no_grad():
        predicted = scores(pixels).argmax(dim=1)
    critical = torch.zeros_like(predicted, dtype=torch.bool)
    low = (pixels - search.radius).clamp(0.0, 255.0)
    high = (pixels + search.radius).clamp(0.0, 255.0)
    places = pixels.clone()
    for _ in range(search.n_steps):
        rows = (~critical).nonzero().squeeze(1)  # stop searching once found
        if len(rows) == 0:
            break
        here = places[rows].requires_grad_()
        confidence = scores(here).log_softmax(dim=1)
        own = confidence.gather(1, predicted[rows, None])
        (gradient,) = torch.autograd.grad(own.sum(), here)
        noise = torch.randn(here.shape, generator=generator).to(here.device)
        moved = here.detach() - search.step * gradient.sign() + search.noise * noise
        moved = moved.clamp(low[rows], high[rows])
        places[rows] = moved
        with torch.no_grad():
            critical[rows] = scores(moved).argmax(dim=1) != predicted[rows]
    return critical
