"""The loss, compared with PyTorch's own wherever PyTorch has one."""

import math
import os
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsmooth import alpha_from_epsilon, smooth_labels
from structsmooth.errors import InvalidInputError

pytest.importorskip("torch")

import torch
import torch.nn.functional as F  # noqa: N812

from structsmooth.torch import cross_entropy, row_kernel, structural_cross_entropy

REDUCTIONS = ["none", "mean", "sum"]
# Shapes as in F.cross_entropy, with classes second; a chunk of a row has 1024 numbers.
SHAPES = [(6, 5), (4, 2), (3, 1024), (3, 1025), (2, 2500), (3, 5, 4), (2, 7, 3, 2)]


def case(shape, seed=0, dtype=torch.float32):
    draw = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(shape, generator=draw, dtype=dtype)
    positions = shape[:1] + shape[2:]
    target = torch.randint(shape[1], positions, generator=draw)
    strengths = torch.rand(positions, generator=draw, dtype=dtype)
    strengths *= 0.999 * (shape[1] - 1) / shape[1]
    return logits.requires_grad_(), target, strengths


def soft_target(target, strengths, n_classes):
    """The smoothed label of each position, classes second, computed with NumPy."""
    soft = smooth_labels(target.flatten(), strengths.double().flatten(), n_classes)
    return torch.from_numpy(soft).reshape(*target.shape, n_classes).movedim(-1, 1)


def value_and_gradient(loss, logits):
    draw = torch.Generator().manual_seed(1)
    upstream = torch.randn(loss.shape, generator=draw, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(loss, logits, upstream.to(loss.dtype))
    return loss.detach(), gradient


def assert_same(loss, expected, logits, exact_logits=None, **tolerance):
    """Compare values and gradients; the expected ones may be in float64."""
    got = value_and_gradient(loss, logits)
    other = logits if exact_logits is None else exact_logits
    wanted = value_and_gradient(expected, other)
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b.to(a.dtype), **tolerance)


def test_by_hand():
    # p = (3/4, 1/4), class 0 with strength 0.2: -0.8 log 3/4 - 0.2 log 1/4
    logits = torch.tensor([[math.log(3.0), 0.0]], dtype=torch.float64)
    expected = 0.8 * math.log(4 / 3) + 0.2 * math.log(4)
    got = structural_cross_entropy(logits, torch.tensor([0]), 0.2)
    assert float(got) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_strength_for_all_is_label_smoothing(shape, dtype, reduction):
    logits, target, _ = case(shape, dtype=dtype)
    loss = structural_cross_entropy(
        logits, target, alpha_from_epsilon(0.1, shape[1]), reduction=reduction
    )
    expected = F.cross_entropy(logits, target, label_smoothing=0.1, reduction=reduction)
    assert loss.dtype == dtype
    assert_same(loss, expected, logits)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_strengths_by_sample_are_probability_targets(shape, dtype, reduction):
    logits, target, strengths = case(shape, dtype=dtype)
    exact = logits.detach().double().requires_grad_()
    expected = F.cross_entropy(
        exact, soft_target(target, strengths, shape[1]), reduction=reduction
    )
    loss = structural_cross_entropy(logits, target, strengths, reduction=reduction)
    assert loss.grad_fn.name() == "FusedCrossEntropyBackward"
    assert_same(loss, expected, logits, exact)
    with torch.no_grad():
        unfused = structural_cross_entropy(
            logits, target, strengths, reduction=reduction
        )
    torch.testing.assert_close(unfused, expected.to(dtype))


@given(
    st.integers(1, 12),
    st.integers(2, 40),
    st.floats(0.01, 300.0),
    st.floats(-1e4, 1e4),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**31),
)
def test_any_batch(n_rows, n_classes, spread, offset, dtype, seed):
    draw = np.random.default_rng(seed)
    logits = torch.from_numpy(
        (spread * draw.normal(size=(n_rows, n_classes)) + offset).astype(dtype)
    ).requires_grad_()
    target = torch.from_numpy(draw.integers(0, n_classes, n_rows))
    largest = 0.999 * (n_classes - 1) / n_classes
    strengths = torch.from_numpy(draw.uniform(0, largest, n_rows).astype(dtype))
    exact = logits.detach().double().requires_grad_()
    expected = F.cross_entropy(exact, soft_target(target, strengths, n_classes))
    loss = structural_cross_entropy(logits, target, strengths)
    assert_same(loss, expected, logits, exact, rtol=2e-6, atol=2e-6)


def test_pytorchs_operations_do_what_the_kernel_does(monkeypatch):
    logits, target, strengths = case((5, 33))
    weight = torch.linspace(0.5, 2.0, 33)
    target[1] = -100
    for reduction in REDUCTIONS:
        options = {"weight": weight, "reduction": reduction}
        monkeypatch.setattr(cross_entropy, "LITTLE_WORK", 2**19)
        kernel = structural_cross_entropy(logits, target, strengths, **options)
        monkeypatch.setattr(cross_entropy, "LITTLE_WORK", 0)
        monkeypatch.setattr(cross_entropy, "FEW_THREADS", 0)
        operations = structural_cross_entropy(logits, target, strengths, **options)
        assert_same(operations, kernel, logits)


def test_one_strength_a_sample_serves_all_its_positions():
    logits, target, _ = case((2, 7, 3, 2))
    by_sample = torch.tensor([0.1, 0.4])
    by_position = by_sample[:, None, None].expand(2, 3, 2)
    torch.testing.assert_close(
        structural_cross_entropy(logits, target, by_sample),
        structural_cross_entropy(logits, target, by_position),
    )


@pytest.mark.parametrize(
    "strength",
    [
        0.25,
        torch.tensor(0.25),
        np.float32(0.25),
        np.full(6, 0.25),
        [0.25] * 6,
        torch.full((6,), 0.25, dtype=torch.float64),
        torch.full((6,), 0.25, dtype=torch.float16),
        torch.full((12,), 0.25)[::2],
    ],
    ids=str,
)
def test_strengths_of_any_kind(strength):
    logits, target, _ = case((6, 5))
    expected = F.cross_entropy(logits, target, label_smoothing=0.25 * 5 / 4)
    assert_same(structural_cross_entropy(logits, target, strength), expected, logits)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_single_sample_needs_no_batch(reduction):
    logits, target, _ = case((1, 5))
    single, label = logits[0], target[0]
    loss = structural_cross_entropy(single, label, 0.4, reduction=reduction)
    expected = F.cross_entropy(single, label, label_smoothing=0.5, reduction=reduction)
    assert loss.shape == expected.shape == ()
    assert_same(loss, expected, logits)


@pytest.mark.parametrize("target_type", [torch.int32, torch.int16, torch.uint8])
def test_class_indices_of_any_integer_type(target_type):
    logits, target, strengths = case((6, 5))
    torch.testing.assert_close(
        structural_cross_entropy(logits, target.to(target_type), strengths),
        structural_cross_entropy(logits, target, strengths),
    )


def test_logits_in_any_memory_order():
    logits, target, strengths = case((6, 5))
    turned = logits.detach().t().contiguous().t().requires_grad_()
    expected = structural_cross_entropy(logits, target, strengths)
    loss = structural_cross_entropy(turned, target, strengths)
    assert_same(loss, expected, turned, logits)


# Derivatives


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 2)])
def test_first_and_second_derivatives_are_right(shape, reduction, weighted):
    logits, target, strengths = case(shape, dtype=torch.float64)
    options = {"reduction": reduction}
    if weighted:
        options["weight"] = torch.linspace(0.5, 2.0, shape[1])
        target[1] = -100

    def loss(x):
        return structural_cross_entropy(x, target, strengths, **options)

    assert torch.autograd.gradcheck(loss, logits)
    assert torch.autograd.gradgradcheck(loss, logits)


def test_strengths_and_weights_can_be_differentiated_too():
    logits, target, strengths = case((4, 5), dtype=torch.float64)
    weight = torch.linspace(1.0, 2.0, 5, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda x, s, w: structural_cross_entropy(x, target, s, weight=w),
        (logits, strengths.requires_grad_(), weight.requires_grad_()),
    )


def test_further_backward_passes_find_the_same_gradient():
    logits, target, strengths = case((6, 5))
    loss = structural_cross_entropy(logits, target, strengths)
    (first,) = torch.autograd.grad(loss, logits, retain_graph=True)
    kept = first.clone()
    (again,) = torch.autograd.grad(loss, logits, retain_graph=True)
    (threefold,) = torch.autograd.grad(3 * loss, logits, retain_graph=True)
    (differentiable,) = torch.autograd.grad(loss, logits, create_graph=True)
    assert torch.equal(first, kept)
    assert torch.equal(again, kept)
    torch.testing.assert_close(threefold, 3 * first)
    torch.testing.assert_close(differentiable, first)


def test_logits_may_change_after_the_loss():
    logits, target, strengths = case((6, 5))
    outputs = logits * 1.0
    expected = torch.autograd.grad(
        structural_cross_entropy(outputs, target, strengths), logits
    )
    outputs = logits * 1.0
    loss = structural_cross_entropy(outputs, target, strengths)
    outputs.zero_()  # as F.cross_entropy allows it
    assert torch.equal(torch.autograd.grad(loss, logits)[0], expected[0])


def test_no_second_buffer_in_the_shape_of_the_logits_is_allocated():
    logits, target, strengths = case((8, 20_000))
    with torch.profiler.profile(profile_memory=True) as profile:
        structural_cross_entropy(logits, target, strengths).backward()
    gained = [event.self_cpu_memory_usage for event in profile.events()]
    assert sum(size for size in gained if size > 0) < 1.1 * logits.nbytes


# Transformations


def test_transforms_of_torch_func():
    logits, target, strengths = case((6, 5), dtype=torch.float64)
    plain = logits.detach()
    expected = structural_cross_entropy(logits, target, strengths)
    (gradient,) = torch.autograd.grad(expected, logits)

    def loss(x, t=target, s=strengths):
        return structural_cross_entropy(x, t, s)

    torch.testing.assert_close(torch.func.grad(loss)(plain), gradient)
    by_sample = torch.func.vmap(torch.func.grad(loss))(plain, target, strengths)
    torch.testing.assert_close(by_sample / 6, gradient)
    direction = torch.ones_like(plain)
    value, slope = torch.func.jvp(loss, (plain,), (direction,))
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(slope, (gradient * direction).sum())
    exact = torch.autograd.functional.hessian(loss, plain)
    torch.testing.assert_close(torch.func.hessian(loss)(plain), exact)


def check_compiled(backend):
    logits, target, strengths = case((6, 5))
    weight = torch.linspace(1.0, 2.0, 5)
    target[2] = -100
    torch.compiler.reset()
    compiled = torch.compile(structural_cross_entropy, fullgraph=True, backend=backend)
    loss = compiled(logits, target, strengths, weight=weight)
    expected = structural_cross_entropy(logits, target, strengths, weight=weight)
    assert_same(loss, expected, logits)


def test_compiles_without_a_break():
    check_compiled("aot_eager")


@pytest.mark.skipif(
    os.environ.get("STRUCTSMOOTH_THEORY") != "full" or not shutil.which("g++"),
    reason="takes half a minute and a compiler",
)
def test_compiles_to_machine_code():
    check_compiled("inductor")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(6, 5), (3, 5, 4)])
def test_half_precision_is_computed_in_float32(shape, dtype):
    logits, target, strengths = case(shape)
    half = logits.detach().to(dtype).requires_grad_()
    exact = half.detach().double().requires_grad_()
    expected = F.cross_entropy(exact, soft_target(target, strengths, shape[1]))
    loss = structural_cross_entropy(half, target, strengths)
    assert loss.dtype == torch.float32
    loss.backward()
    expected.backward()
    torch.testing.assert_close(loss, expected.float())
    assert half.grad.dtype == dtype
    torch.testing.assert_close(half.grad, exact.grad.to(dtype))


def test_autocast_is_as_pytorchs():
    _, target, _ = case((6, 5))
    features = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    gradients = []
    for smooth in (
        lambda logits: F.cross_entropy(logits, target, label_smoothing=0.25),
        lambda logits: structural_cross_entropy(logits, target, 0.2),
    ):
        weights = torch.ones(4, 5).mul_(torch.arange(5)).requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = features @ weights
            loss = smooth(logits)
        assert (logits.dtype, loss.dtype) == (torch.bfloat16, torch.float32)
        loss.backward()
        gradients.append(weights.grad)
    torch.testing.assert_close(*gradients)


def test_values_on_another_device_are_not_looked_at(monkeypatch):
    # The "meta" device stands in for a GPU, which would force a synchronization.
    monkeypatch.setattr(torch, "aminmax", lambda _: pytest.fail("looked at values"))
    monkeypatch.setattr(torch.Tensor, "item", lambda _: pytest.fail("waited"))
    logits = torch.empty(4, 5, device="meta", requires_grad=True)
    target = torch.empty(4, dtype=torch.int64, device="meta")
    loss = structural_cross_entropy(logits, target, torch.empty(4, device="meta"))
    loss.backward()
    assert logits.grad.shape == (4, 5)


# Class weights and ignored samples


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(6, 5), (3, 5, 4)])
def test_a_class_weight_multiplies_the_whole_loss_of_a_sample(shape, reduction):
    logits, target, strengths = case(shape)
    weight = torch.tensor([0.5, 1.0, 2.0, 0.0, 3.0])
    each = F.cross_entropy(
        logits.double(), soft_target(target, strengths, 5), reduction="none"
    )
    weights = weight.double()[target]
    expected = {
        "none": each * weights,
        "sum": (each * weights).sum(),
        "mean": (each * weights).sum() / weights.sum(),
    }[reduction]
    loss = structural_cross_entropy(
        logits, target, strengths, weight=weight, reduction=reduction
    )
    assert_same(loss, expected, logits)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_without_smoothing_it_is_plain_cross_entropy(reduction):
    logits, target, _ = case((300, 50))
    target[3] = -100
    options = {"weight": torch.linspace(0.1, 3.0, 50), "reduction": reduction}
    expected = F.cross_entropy(logits, target, **options)
    zeros = structural_cross_entropy(logits, target, torch.zeros(300), **options)
    assert_same(zeros, expected, logits)
    assert torch.equal(
        structural_cross_entropy(logits, target, 0.0, **options), expected
    )


def test_equal_class_weights_change_nothing():
    # F.cross_entropy with label_smoothing fails this where classes are ignored or
    # weights differ (pytorch#104776): a weight must not change the target.
    logits, target, strengths = case((6, 5))
    expected = structural_cross_entropy(logits, target, strengths)
    weight = torch.full((5,), 7.0)
    loss = structural_cross_entropy(logits, target, strengths, weight=weight)
    assert_same(loss, expected, logits)


@pytest.mark.parametrize("weight", [None, torch.tensor([0.5, 1.0, 2.0, 0.1, 3.0])])
@pytest.mark.parametrize("ignore_index", [-100, -1, 7, 2])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_ignored_samples_are_as_if_not_there(ignore_index, weight, reduction):
    logits, target, strengths = case((8, 5), seed=3)
    target[target == 2] = 3
    target[[1, 4, 5]] = ignore_index
    kept = target != ignore_index
    loss = structural_cross_entropy(
        logits,
        target,
        strengths,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
    )
    expected = structural_cross_entropy(
        logits[kept],
        target[kept],
        strengths[kept],
        weight=weight,
        reduction=reduction,
    )
    assert_same(loss, expected, logits)


def test_an_ignored_samples_own_loss_is_zero_whatever_its_logits():
    logits, target, strengths = case((3, 5))
    with torch.no_grad():
        logits[1] = math.nan
    target[1] = -100
    for tracked in (True, False):
        with torch.set_grad_enabled(tracked):
            loss = structural_cross_entropy(logits, target, strengths, reduction="none")
            mean = structural_cross_entropy(logits, target, strengths)
        assert loss[1] == 0.0
        torch.testing.assert_close(mean, loss[[0, 2]].mean())


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("n_rows", [0, 3])
def test_with_nothing_to_learn_from_it_is_as_pytorchs(n_rows, reduction):
    logits = torch.ones(n_rows, 4, requires_grad=True)
    target = torch.full((n_rows,), -100)  # none, or all ignored
    loss = structural_cross_entropy(logits, target, 0.1, reduction=reduction)
    expected = F.cross_entropy(logits, target, reduction=reduction)
    assert_same(loss, expected, logits, equal_nan=True)


# Numbers at the edge


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_masked_classes_are_harmless_where_nothing_is_smoothed(
    dtype, reduction, tracked
):
    logits, target, _ = case((4, 5), dtype=dtype)
    target[:] = torch.tensor([0, 1, 0, 1])
    strengths = torch.tensor([0.0, 0.3, 0.0, 0.0], dtype=dtype)
    with torch.no_grad():
        logits[0, 4] = -math.inf
        logits[2, 3:] = -math.inf
    kept = torch.tensor([0, 2, 3])
    with torch.set_grad_enabled(tracked):
        loss = structural_cross_entropy(
            logits[kept], target[kept], strengths[kept], reduction=reduction
        )
        expected = F.cross_entropy(logits[kept], target[kept], reduction=reduction)
    torch.testing.assert_close(loss, expected)
    if tracked:
        (gradient,) = torch.autograd.grad(loss.sum(), logits, retain_graph=True)
        assert (gradient[logits == -math.inf] == 0.0).all()
        assert_same(loss, expected, logits)


@pytest.mark.parametrize("tracked", [True, False])
def test_smoothing_onto_a_masked_class_costs_infinitely_much(tracked):
    logits, target, _ = case((2, 5))
    with torch.no_grad():
        logits[0, (target[0] + 1) % 5] = -math.inf
    with torch.set_grad_enabled(tracked):
        loss = structural_cross_entropy(logits, target, 0.2, reduction="none")
    expected = F.cross_entropy(logits, target, label_smoothing=0.25, reduction="none")
    assert torch.isposinf(expected[0])
    torch.testing.assert_close(loss, expected)


# The NaN that a processor produces, as from 0/0, has a negative sign.
@pytest.mark.parametrize("value", [math.nan, -math.nan, math.inf])
@pytest.mark.parametrize("strength", [0.2, [0.0, 0.0]])
def test_what_is_not_a_number_stays_so(value, strength):
    logits, target, _ = case((2, 5))
    with torch.no_grad():
        logits[0, 3] = value
    loss = structural_cross_entropy(logits, target, strength, reduction="none")
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert loss.isnan().tolist() == [True, False]
    assert gradient.isnan().any(1).tolist() == [True, False]


def test_sums_over_many_classes_keep_their_digits():
    logits, target, strengths = case((2, 1_000_000))
    exact = F.cross_entropy(
        logits.double(), soft_target(target, strengths, 1_000_000), reduction="none"
    )
    loss = structural_cross_entropy(logits, target, strengths, reduction="none")
    torch.testing.assert_close(loss.double(), exact, rtol=2e-7, atol=0.0)
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert gradient.double().sum(1).abs().max() < 3e-7


def test_the_kernels_exponential_is_right_to_the_last_digit_but_one():
    x = -np.geomspace(1e-9, 87.0, 100_000, dtype=np.float32)
    x = np.append(x, np.float32([0.0, -87.5, -1e30, -np.inf]))
    got = np.empty_like(x)
    row_kernel._exponentials(x, np.float32(0.0), got)
    expected = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(got[:-3], expected[:-3], rtol=1.2e-7)
    assert got[-4] == 1.0
    assert (got[-3:] == 0.0).all()


# Class probabilities


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(6, 5), (3, 5, 4)])
def test_one_hot_probabilities_are_class_indices(shape, reduction):
    logits, target, strengths = case(shape)
    weight = torch.tensor([0.5, 1.0, 2.0, 0.1, 3.0])
    one_hot = F.one_hot(target, 5).movedim(-1, 1).float()
    options = {"weight": weight, "reduction": reduction}
    loss = structural_cross_entropy(logits, one_hot, strengths, **options)
    expected = structural_cross_entropy(logits, target, strengths, **options)
    assert_same(loss, expected, logits)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_probabilities_are_smoothed_as_by_pytorch(reduction):
    logits, _, _ = case((6, 5))
    soft = torch.softmax(torch.randn(6, 5, generator=torch.Generator()), 1)
    loss = structural_cross_entropy(
        logits, soft, alpha_from_epsilon(0.1, 5), reduction=reduction
    )
    expected = F.cross_entropy(logits, soft, label_smoothing=0.1, reduction=reduction)
    assert_same(loss, expected, logits)
    single = structural_cross_entropy(logits[0], soft[0], 0.08)
    torch.testing.assert_close(
        single, F.cross_entropy(logits[0], soft[0], label_smoothing=0.1)
    )


def test_mixup_by_two_losses_is_mixup_of_targets():
    logits, first, strengths = case((6, 5))
    _, second, other_strengths = case((6, 5), seed=1)
    share = 0.3
    mixed = share * soft_target(first, strengths, 5)
    mixed += (1 - share) * soft_target(second, other_strengths, 5)
    expected = F.cross_entropy(logits.double(), mixed)
    loss = share * structural_cross_entropy(logits, first, strengths)
    loss += (1 - share) * structural_cross_entropy(logits, second, other_strengths)
    assert_same(loss, expected, logits)
    # With one strength for both, mixed targets of floating type do the same.
    soft = share * F.one_hot(first, 5) + (1 - share) * F.one_hot(second, 5)
    loss = structural_cross_entropy(logits, soft, strengths)
    expected = share * structural_cross_entropy(logits, first, strengths)
    expected += (1 - share) * structural_cross_entropy(logits, second, strengths)
    assert_same(loss, expected, logits)


# What is refused

LOGITS = torch.zeros(4, 3, requires_grad=True)
TARGET = torch.tensor([0, 1, 2, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"strength": 1.5},
            r"strength must be at least 0 and below \(K-1\)/K = 0.666667 for 3 "
            "classes, where the label is lost, got 1.5",
        ),
        ({"strength": -0.1}, "strength must be at least 0 .* got -0.1"),
        ({"strength": math.nan}, "strength must be at least 0 .* got nan"),
        ({"strength": 2 / 3}, "below .* for 3 classes, .* got 0.666667"),
        ({"strength": [0.1, 0.2, 0.3, 0.7]}, "for 3 classes, .* got 0.1 to 0.7"),
        ({"strength": [0.1, 0.2, 0.3, math.nan]}, "for 3 classes"),
        ({"strength": torch.tensor(2 / 3)}, "for 3 classes, .* got 0.666667"),
        ({"strength": 1, "target": torch.ones(4, 3) / 3}, "for 3 classes, .* got 1"),
        ({"strength": torch.tensor(1)}, "for 3 classes, .* got 1"),
        ({"strength": [0.1, 0.2]}, r"of shape \(4,\), got shape \(2,\)"),
        ({"strength": torch.zeros(4, 3)}, r"of shape \(4,\), got shape \(4, 3\)"),
        ({"strength": "much"}, "strength must be numbers, got str"),
        ({"strength": True}, "strength must be numbers, got bool"),
        ({"strength": torch.tensor([True] * 4)}, "real numbers, got torch.bool"),
        ({"strength": [[0.1], [0.1, 0.2]]}, "strength must be numbers, got list"),
        ({"strength": None}, "strength must be numbers, got NoneType"),
        ({"target": torch.tensor([0, 1, 3, 0])}, "indices 0 to 2 or .*-100, got 3"),
        ({"target": torch.tensor([0, -1, 2, 0])}, "indices 0 to 2 or .*-100, got -1"),
        ({"target": torch.tensor([0, 1, 2])}, r"shape \(4,\) .*got \(3,\)"),
        ({"target": torch.zeros(4)}, r"shape \(4, 3\) .*probabilities.*got \(4,\)"),
        ({"target": torch.zeros(4, dtype=torch.bool)}, "class indices or class prob"),
        ({"target": [0, 1, 2, 0]}, "must be tensors, got Tensor and list"),
        ({"target": torch.zeros(4, 3), "ignore_index": 0}, "ignore_index=0 applies to"),
        ({"logits": torch.zeros(4, 1)}, "at least two classes"),
        ({"logits": torch.zeros(4, 3, dtype=torch.int64)}, "floating-point numbers"),
        (
            {"logits": torch.tensor(1.0)},
            "logits must be floating-point numbers of shape",
        ),
        ({"reduction": "max"}, "reduction must be one of"),
        ({"weight": torch.ones(4)}, "each of the 3 classes, got .4"),
        ({"weight": [1.0, 1.0, 1.0]}, "each of the 3 classes, got list"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    inputs = {"logits": LOGITS, "target": TARGET, "strength": 0.1} | change
    with pytest.raises(InvalidInputError, match=message):
        structural_cross_entropy(**inputs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
@pytest.mark.parametrize("n_classes", [2, 3, 7, 10, 1000])
def test_strengths_end_below_where_the_label_is_lost(n_classes, dtype):
    logits, target = torch.zeros(1, n_classes), torch.tensor([0])
    # What a smoother may give is 2^-20 below the limit, and stays usable in any type.
    limit = (n_classes - 1) / n_classes
    usable = torch.tensor([limit * (1 - 2**-20)], dtype=dtype)
    expected = torch.tensor(math.log(n_classes), dtype=torch.float32)
    torch.testing.assert_close(
        structural_cross_entropy(logits, target, usable), expected
    )
    if dtype != torch.float16:
        with pytest.raises(InvalidInputError, match="where the label is lost"):
            structural_cross_entropy(logits, target, torch.tensor([limit], dtype=dtype))
    with pytest.raises(InvalidInputError, match="where the label is lost"):
        structural_cross_entropy(
            logits, target, torch.tensor([limit * 1.01], dtype=dtype)
        )
