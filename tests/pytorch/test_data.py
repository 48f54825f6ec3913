"""A strength stays with its sample."""

import pickle

import numpy as np
import pytest

from structsmooth.errors import InvalidInputError

pytest.importorskip("torch")

import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    Subset,
    TensorDataset,
    random_split,
)

from structsmooth.torch import SmoothedDataset

N = 20
# Sample i has the feature i, the label i % 3 and the strength i / 100.
STRENGTHS = np.arange(N) / 100


def plain():
    return TensorDataset(torch.arange(float(N)), torch.arange(N) % 3)


class Mappings(Dataset):
    def __len__(self):
        return N

    def __getitem__(self, index):
        return {"x": float(index), "y": index % 3}


class Lists(Dataset):
    def __len__(self):
        return N

    def __getitem__(self, index):
        return [float(index), index % 3, f"name {index}"]


class InBatches(Mappings):
    def __init__(self):
        self.n_fetches = 0

    def __getitems__(self, indices):
        self.n_fetches += 1
        return [self[index] for index in indices]


def check_all(loader, n_expected):
    n_seen = 0
    for x, y, strength in loader:
        assert strength.dtype == torch.float32
        torch.testing.assert_close(strength, x / 100)
        assert torch.equal(y, x.long() % 3)
        n_seen += len(x)
    assert n_seen == n_expected


@pytest.mark.parametrize("n_workers", [0, 2])
def test_through_shuffling_and_workers(n_workers):
    smoothed = SmoothedDataset(plain(), STRENGTHS)
    loader = DataLoader(
        smoothed,
        batch_size=6,
        shuffle=True,
        num_workers=n_workers,
        generator=torch.Generator().manual_seed(0),
    )
    check_all(loader, N)


def test_through_subsets_and_splits():
    smoothed = SmoothedDataset(plain(), STRENGTHS)
    check_all(DataLoader(Subset(smoothed, [17, 3, 3, 8]), batch_size=2), 4)
    parts = random_split(smoothed, [15, 5], torch.Generator().manual_seed(0))
    for part in parts:
        check_all(DataLoader(part, batch_size=4), len(part))


def test_strengths_of_a_part_go_with_that_part():
    rows = [17, 3, 8]
    part = SmoothedDataset(Subset(plain(), rows), STRENGTHS[rows])
    check_all(DataLoader(part, batch_size=2, shuffle=True), 3)


def test_mappings_get_a_key_and_longer_items_keep_what_they_have():
    item = SmoothedDataset(Mappings(), STRENGTHS)[7]
    assert (item["x"], item["y"]) == (7.0, 1)
    assert float(item["strength"]) == pytest.approx(0.07)
    item = SmoothedDataset(Lists(), STRENGTHS)[7]
    assert item[:3] == [7.0, 1, "name 7"]
    assert float(item[3]) == pytest.approx(0.07)
    batch = next(iter(DataLoader(SmoothedDataset(Lists(), STRENGTHS), batch_size=2)))
    assert list(batch[2]) == ["name 0", "name 1"]


def test_batches_are_fetched_at_once_if_the_data_set_can():
    inner = InBatches()
    smoothed = SmoothedDataset(inner, STRENGTHS)
    seen = [batch["strength"] for batch in DataLoader(smoothed, batch_size=5)]
    torch.testing.assert_close(torch.cat(seen), torch.tensor(STRENGTHS).float())
    assert inner.n_fetches == 4
    part = Subset(smoothed, [4, 2])
    fetched = part.__getitems__([1, 0])
    assert [item["x"] for item in fetched] == [2.0, 4.0]
    assert [round(float(item["strength"]), 4) for item in fetched] == [0.02, 0.04]
    assert not hasattr(SmoothedDataset(plain(), STRENGTHS), "__getitems__")


def test_survives_a_pickle_and_is_not_changed_from_outside():
    given = torch.tensor(STRENGTHS, dtype=torch.float32)
    smoothed = SmoothedDataset(plain(), given)
    given[:] = 0.5
    again = pickle.loads(pickle.dumps(smoothed))  # noqa: S301
    assert len(again) == N
    assert float(again[-1][2]) == pytest.approx(0.19)
    assert again[np.int64(3)][2] == again[torch.tensor(3)][2]


def test_one_strength_serves_all_samples():
    smoothed = SmoothedDataset(plain(), 0.25)
    assert {float(item[2]) for item in smoothed} == {0.25}


@pytest.mark.parametrize(
    ("strengths", "message"),
    [
        (STRENGTHS[:-1], r"each of the 20 items .* got shape \(19,\)"),
        (np.zeros((N, 3)), r"each of the 20 items .* got shape \(20, 3\)"),
        (STRENGTHS + 0.9, "strengths must be at least 0 and below 1, got 0.9 to 1.09"),
        (1.0, "strengths must be at least 0 and below 1, got 1"),
        ("auto", "strengths must be numbers, got str"),
    ],
)
def test_what_does_not_fit_is_refused(strengths, message):
    with pytest.raises(InvalidInputError, match=message):
        SmoothedDataset(plain(), strengths)


def test_items_that_cannot_carry_a_strength_are_refused():
    with pytest.raises(InvalidInputError, match=r"such as \(x, y\), got Tensor"):
        SmoothedDataset(torch.zeros(3, 2), np.zeros(3))[0]
    nested = SmoothedDataset(SmoothedDataset(Mappings(), 0.1), 0.2)
    with pytest.raises(InvalidInputError, match="the key 'strength' already"):
        nested[0]


def test_weights_follow_the_strengths():
    X, y = torch.arange(8.0).reshape(4, 2), torch.tensor([0, 1, 0, 1])
    weights = [1.0, 0.0, 0.5, 0.25]
    smoothed = SmoothedDataset(TensorDataset(X, y), 0.1, sample_weight=weights)
    *_, strength, weight = next(iter(DataLoader(smoothed, batch_size=4)))
    assert strength.tolist() == pytest.approx([0.1] * 4)
    assert weight.tolist() == weights
    named = [{"x": row, "y": label} for row, label in zip(X, y, strict=True)]
    item = SmoothedDataset(named, 0.1, sample_weight=weights)[2]
    assert item["sample_weight"] == 0.5
    for wrong, message in (
        (weights[:3], "one value for each of the 4 items"),
        ([1.0, -1.0, 1.0, 1.0], "must not be negative"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            SmoothedDataset(named, 0.1, sample_weight=wrong)
