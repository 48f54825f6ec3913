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

    def __init__(self, dataset: Dataset[Any], strengths: Any) -> None:
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

    def __len__(self) -> int:
        return len(self.strengths)

    def __getitem__(self, index: Any) -> Any:
        """Return an item with its strength at the end, or under ``"strength"``."""
        return _add(self.dataset[index], self.strengths[index])

    @property
    def __getitems__(self) -> Callable[[Sequence[int]], list[Any]]:
        """A method that fetches a batch, if the data set has such a method."""
        fetch = getattr(self.dataset, "__getitems__", None)
        if not callable(fetch):
            raise AttributeError(f"{type(self.dataset).__name__} has no __getitems__")

        def fetch_with_strengths(indices: Sequence[int]) -> list[Any]:
            strengths = self.strengths[torch.as_tensor(indices)]
            return [
                _add(item, strength)
                for item, strength in zip(fetch(indices), strengths, strict=True)
            ]

        return fetch_with_strengths


def _add(item: Any, strength: Tensor) -> Any:
    if isinstance(item, Mapping):
        if "strength" in item:
            raise InvalidInputError(
                "items of dataset must not have the key 'strength' already"
            )
        return {**item, "strength": strength}
    if isinstance(item, list):
        return [*item, strength]
    if isinstance(item, tuple):
        return (*item, strength)
    raise InvalidInputError(
        "items of dataset must be tuples, lists or mappings, such as (x, y), got "
        f"{type(item).__name__}"
    )
