"""The loss as a module."""

import copy
import io

import numpy as np
import pytest

from structsmooth.errors import InvalidInputError

pytest.importorskip("torch")

import torch
import torch.nn.functional as F  # noqa: N812

from structsmooth.torch import (
    StructuralCrossEntropyLoss,
    structural_cross_entropy,
)

STRENGTHS = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
TARGET = torch.tensor([2, 0, 1])


@pytest.fixture
def logits():
    draw = torch.Generator().manual_seed(0)
    return torch.randn(3, 4, generator=draw).requires_grad_()


def smoothed(logits, strengths, **options):
    strengths = torch.tensor(strengths)
    return structural_cross_entropy(logits, TARGET, strengths, **options)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(
    "index",
    [
        torch.tensor([4, 0, 3]),
        np.array([4, 0, 3]),
        [4, 0, 3],
        torch.IntTensor([4, 0, 3]),
    ],
)
def test_strengths_are_looked_up_by_index(logits, index, reduction):
    criterion = StructuralCrossEntropyLoss(STRENGTHS, reduction=reduction)
    expected = smoothed(logits, [0.4, 0.0, 0.3], reduction=reduction)
    torch.testing.assert_close(criterion(logits, TARGET, index=index), expected)


def test_strengths_can_be_given_directly(logits):
    expected = smoothed(logits, [0.5, 0.1, 0.0])
    for criterion in (
        StructuralCrossEntropyLoss(),
        StructuralCrossEntropyLoss(STRENGTHS),
        StructuralCrossEntropyLoss(0.3),
    ):
        got = criterion(logits, TARGET, torch.tensor([0.5, 0.1, 0.0]))
        torch.testing.assert_close(got, expected)


def test_one_strength_for_all_needs_nothing_more(logits):
    expected = F.cross_entropy(logits, TARGET, label_smoothing=0.4)
    for strength in (0.3, torch.tensor(0.3), np.float64(0.3)):
        criterion = StructuralCrossEntropyLoss(strength)
        torch.testing.assert_close(criterion(logits, TARGET), expected)


@pytest.mark.parametrize("strengths", [None, 0.3, STRENGTHS])
def test_validation_is_not_smoothed(logits, strengths):
    criterion = StructuralCrossEntropyLoss(strengths).eval()
    expected = F.cross_entropy(logits, TARGET)
    assert torch.equal(criterion(logits, TARGET), expected)
    # The strengths of training samples are not even looked up.
    assert torch.equal(criterion(logits, TARGET, index=[99, 98, 97]), expected)
    assert torch.equal(criterion(logits, TARGET, 0.5), expected)


def test_validation_is_smoothed_if_asked_for(logits):
    criterion = StructuralCrossEntropyLoss(STRENGTHS, smooth_in_eval=True).eval()
    expected = smoothed(logits, [0.1, 0.1, 0.2])
    got = criterion(logits, TARGET, index=[1, 1, 2])
    torch.testing.assert_close(got, expected)
    with pytest.raises(InvalidInputError, match="pass index"):
        criterion(logits, TARGET)


@pytest.mark.parametrize(
    ("strengths", "given", "message"),
    [
        (None, {}, "made without strengths, and none were given"),
        (None, {"index": [0, 1, 2]}, "made without strengths"),
        (STRENGTHS, {}, "strengths for 5 samples .* pass index, or strength"),
        (STRENGTHS, {"index": [0, 1, 2], "strength": 0.1}, "both given"),
        (0.3, {"index": [0, 1, 2]}, "made with one strength for all"),
        (STRENGTHS, {"index": [0, 1, 5]}, "from 0 to 4, .* got 0 to 5"),
        (STRENGTHS, {"index": [0, 1, -1]}, "from 0 to 4, .* got -1 to 1"),
        (STRENGTHS, {"index": [0, 1]}, r"of shape \(3,\), got shape \(2,\)"),
        (0.75, {}, "strength must be .* for 4 classes, where the label is lost"),
        (None, {"strength": [0.1, 0.2, 0.8]}, "for 4 classes, .* got 0.1 to 0.8"),
    ],
)
def test_training_is_never_silently_unsmoothed(logits, strengths, given, message):
    criterion = StructuralCrossEntropyLoss(strengths)
    with pytest.raises(InvalidInputError, match=message):
        criterion(logits, TARGET, **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strengths": [0.1, 1.2]}, "must be at least 0 and below 1, got 0.1 to 1.2"),
        ({"strengths": -0.1}, "must be at least 0 and below 1, got -0.1"),
        (
            {"strengths": np.zeros((2, 2))},
            r"one number for each sample, got shape \(2, 2\)",
        ),
        ({"strengths": []}, r"one number for each sample, got shape \(0,\)"),
        ({"strengths": "auto"}, "strengths must be numbers, got str"),
        ({"reduction": "average"}, "reduction must be one of"),
        ({"ignore_index": 1.5}, "ignore_index must be a whole number"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        StructuralCrossEntropyLoss(**options)


def test_weights_and_ignored_samples(logits):
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    target = torch.tensor([2, 3, 1])
    criterion = StructuralCrossEntropyLoss(0.2, weight=weight, ignore_index=3)
    expected = structural_cross_entropy(
        logits[[0, 2]], target[[0, 2]], 0.2, weight=weight
    )
    torch.testing.assert_close(criterion(logits, target), expected)


def test_state_comes_back(logits):
    criterion = StructuralCrossEntropyLoss(STRENGTHS, weight=torch.arange(1.0, 5.0))
    assert set(criterion.state_dict()) == {"strengths", "weight"}
    assert not list(criterion.parameters())
    stream = io.BytesIO()
    torch.save(criterion.state_dict(), stream)
    stream.seek(0)
    other = StructuralCrossEntropyLoss(np.zeros(5), weight=torch.ones(4))
    other.load_state_dict(torch.load(stream, weights_only=True))
    expected = criterion(logits, TARGET, index=[4, 0, 3])
    assert torch.equal(other(logits, TARGET, index=[4, 0, 3]), expected)
    assert torch.equal(
        copy.deepcopy(criterion)(logits, TARGET, index=[4, 0, 3]), expected
    )


def test_strengths_move_with_the_module_and_are_its_own():
    given = torch.tensor([0.1, 0.2])
    criterion = StructuralCrossEntropyLoss(given)
    given[0] = 0.9
    assert criterion.strengths.tolist() == pytest.approx([0.1, 0.2])
    assert criterion.to("meta").strengths.device.type == "meta"
    assert StructuralCrossEntropyLoss(STRENGTHS).strengths.dtype == torch.float32
    exact = StructuralCrossEntropyLoss(torch.from_numpy(STRENGTHS))
    assert exact.strengths.dtype == torch.float64


def test_the_module_compiles_without_a_break(logits):
    criterion = StructuralCrossEntropyLoss(STRENGTHS)
    torch.compiler.reset()
    compiled = torch.compile(criterion, fullgraph=True, backend="aot_eager")
    index = torch.tensor([4, 0, 3])
    expected = criterion(logits, TARGET, index=index)
    torch.testing.assert_close(compiled(logits, TARGET, index=index), expected)
