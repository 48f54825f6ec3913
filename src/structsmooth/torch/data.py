"""A data set that returns each sample with its strength."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from structsmooth.errors import InvalidInputError
from structsmooth.torch.checks import as_tensor, check_strengths


class SmoothedDataset(Dataset[Any]):
    """A data set whose items carry their smoothing strength.

    A strength belongs to a position in the data set, so it stays with its sample
    through shuffling, ``Subset``, ``random_split`` and worker processes. Items that are
    mappings get the key ``"strength"``.

    Parameters
    ----------
    dataset : Dataset
        A data set with a length, whose items are tuples or lists such as ``(x, y)``,
        or mappings.
    strengths : float or array-like of shape (n,)
        Strength of each item in order, such as a smoother's ``sample_strengths_``.
        If the smoother was fitted on only a part of the data, wrap that part:
        ``SmoothedDataset(Subset(dataset, rows), strengths)``.
    sample_weight : array-like of shape (n,), optional
        Weight of each item, such as `Suspects.sample_weight` returns. It follows the
        strength in tuples, and is ``"sample_weight"`` in mappings.

    Examples
    --------
    >>> import torch
    >>> from torch.utils.data import DataLoader, TensorDataset
    >>> from structsmooth.torch import SmoothedDataset
    >>> data = TensorDataset(torch.eye(3), torch.tensor([0, 1, 1]))
    >>> smoothed = SmoothedDataset(data, [0.0, 0.2, 0.4])
    >>> for x, y, strength in DataLoader(smoothed, batch_size=3):
    ...     print(y, strength)
    tensor([0, 1, 1]) tensor([0.0000, 0.2000, 0.4000])
    """

    def __init__(
        self, dataset: Dataset[Any], strengths: Any, sample_weight: Any = None
    ) -> None:
        n_items = len(dataset)  # type: ignore[arg-type]
        values = as_tensor(strengths, "strengths")
        if values.ndim == 0:
            values = values.expand(n_items)
        if values.shape != (n_items,):
            raise InvalidInputError(
                f"strengths must have one value for each of the {n_items} items of the "
                f"data set, got shape {tuple(values.shape)}"
            )
        check_strengths(values, "strengths")
        self.dataset = dataset
        self.strengths = values.detach().to("cpu", torch.float32, copy=True)
        self.sample_weight = _check_weights(sample_weight, n_items)

    def __len__(self) -> int:
        return len(self.strengths)

    def __getitem__(self, index: Any) -> Any:
        """Return an item with its strength at the end, or under ``"strength"``."""
        return _add(self.dataset[index], self._extras(index))

    def _extras(self, index: Any) -> dict[str, Tensor]:
        """Return what items get in addition, by name."""
        extras = {"strength": self.strengths[index]}
        if self.sample_weight is not None:
            extras["sample_weight"] = self.sample_weight[index]
        return extras

    @property
    def __getitems__(self) -> Callable[[Sequence[int]], list[Any]]:
        """A method that fetches a batch, if the data set has such a method."""
        fetch = getattr(self.dataset, "__getitems__", None)
        if not callable(fetch):
            raise AttributeError(f"{type(self.dataset).__name__} has no __getitems__")

        def fetch_with_strengths(indices: Sequence[int]) -> list[Any]:
            return [
                _add(item, self._extras(index))
                for item, index in zip(fetch(indices), indices, strict=True)
            ]

        return fetch_with_strengths


def _check_weights(sample_weight: Any, n_items: int) -> Tensor | None:
    if sample_weight is None:
        return None
    weights = as_tensor(sample_weight, "sample_weight")
    if weights.shape != (n_items,):
        raise InvalidInputError(
            f"sample_weight must have one value for each of the {n_items} items of the "
            f"data set, got shape {tuple(weights.shape)}"
        )
    if not bool((weights >= 0).all()):  # NaN is not
        raise InvalidInputError("sample_weight must not be negative or NaN")
    return weights.detach().to("cpu", torch.float32, copy=True)


def _add(item: Any, extras: dict[str, Tensor]) -> Any:
    if isinstance(item, Mapping):
        for name in extras:
            if name in item:
                raise InvalidInputError(
                    f"items of dataset must not have the key '{name}' already"
                )
        return {**item, **extras}
    if isinstance(item, list):
        return [*item, *extras.values()]
    if isinstance(item, tuple):
        return (*item, *extras.values())
    raise InvalidInputError(
        "items of dataset must be tuples, lists or mappings, such as (x, y), got "
        f"{type(item).__name__}"
    )
