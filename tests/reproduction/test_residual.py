"""The compact residual network, its recipe, and what it costs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import configs, models  # noqa: E402
from experiments.study import networks, training  # noqa: E402
from experiments.study.residual import ResidualNetwork  # noqa: E402
from experiments.study.table import row_passes  # noqa: E402
from toys import pictures  # noqa: E402


def test_whitened_patches_have_unit_variance_and_no_correlation():
    draw = torch.Generator().manual_seed(0)
    mix = torch.tensor([[1.0, 0.8, 0.0], [0.0, 0.6, 0.5], [0.0, 0.0, 1.0]])
    images = torch.einsum(
        "nchw,cd->ndhw", torch.randn(50, 3, 9, 9, generator=draw), mix
    )
    network = ResidualNetwork(4, widths=[4])
    network.look_at(images)
    with torch.no_grad():
        white = network.whitening(images)
    values = white.permute(1, 0, 2, 3).reshape(24, -1)
    torch.testing.assert_close(torch.cov(values[:12]), torch.eye(12), atol=5e-3, rtol=0)
    torch.testing.assert_close(values[12:], -values[:12])


def test_filters_that_whiten_are_not_trained():
    X, y = pictures(np.random.default_rng(0), 64, 4)
    inputs = training.Inputs.fit(X, torch.device("cpu"))
    recipe = training.Recipe(epochs=2, schedule="one-cycle", weight_decay=0.1)
    network = training.train(
        lambda: ResidualNetwork(4, widths=[4, 8]), X, y, np.zeros(64), recipe, inputs, 0
    )
    fresh = ResidualNetwork(4, widths=[4, 8])
    fresh.look_at(inputs(X))
    torch.testing.assert_close(network.whitening.weight, fresh.whitening.weight)


@pytest.mark.parametrize("batch_norm", [True, False])
def test_residual_branches_contribute_nothing_at_the_start(batch_norm):
    network = ResidualNetwork(10, widths=[4, 8], batch_norm=batch_norm)
    images = torch.randn(5, 3, 32, 32)
    before = network(images)
    for stage in network.stages:
        torch.nn.init.normal_(stage.last.weight)
    torch.testing.assert_close(network(images), before)
    norms = [m for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert len(norms) == (6 if batch_norm else 0)
    # The branches learn nevertheless: something in them has a gradient.
    network(images).square().sum().backward()
    for stage in network.stages:
        gate = stage.last_norm.weight if batch_norm else stage.scale
        assert gate.grad.abs().sum() > 0


def test_multiplications_are_counted_layer_by_layer():
    # Whitening: 31 x 31 places, 24 filters of 12 weights. Stage 1: 24 to 4 channels of
    # 9 weights at 31 x 31, then twice 4 to 4 at 15 x 15. Head: 4 to 10.
    expected = 31 * 31 * 24 * 12 + 31 * 31 * 24 * 4 * 9 + 2 * 15 * 15 * 4 * 4 * 9 + 40
    network = ResidualNetwork(10, widths=[4])
    assert networks.multiplications(network, (3, 32, 32)) == expected
    # Each channel on its own: one filter of 9 weights at 8 x 8 places for 6 channels.
    apart = torch.nn.Conv2d(6, 6, 3, padding=1, groups=6)
    assert networks.multiplications(apart, (6, 8, 8)) == 8 * 8 * 6 * 9


def test_rows_trained_on_count_three_times():
    run = {"n_rows": [100, 20, 30], "curve": {"epoch": [1, 2]}}
    # Two epochs of 100 rows; 30 test rows after each epoch and at the end; 20 others.
    assert row_passes(run, epochs=2) == 3 * 200 + 3 * 30 + 20


def test_one_cycle_rises_for_a_quarter_and_falls_to_zero():
    recipe = training.Recipe(epochs=4, schedule="one-cycle", learning_rate=0.8)
    # 7 steps of 8: the highest rate at share 1/4, which is step 2 of 8 less one.
    rates = [recipe.rate(step, 7 / 4) for step in range(7)]
    np.testing.assert_allclose(
        rates, 0.8 * np.array([1 / 2, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    )
    with pytest.raises(ValueError, match="schedule must be drop or one-cycle"):
        training.Recipe(epochs=1, schedule="cosine").rate(0, 1)


def test_weight_decay_leaves_biases_and_scales_alone():
    network = ResidualNetwork(4, widths=[4], batch_norm=False)
    optimizer = training.Recipe(epochs=1, weight_decay=0.5).optimizer_for(network)
    decays = {
        id(p): group["weight_decay"]
        for group in optimizer.param_groups
        for p in group["params"]
    }
    assert decays[id(network.head.weight)] == decays[id(network.stages[0].last.weight)]
    assert decays[id(network.head.weight)] == 0.5
    assert decays[id(network.head.bias)] == decays[id(network.stages[0].scale)] == 0.0
    assert id(network.whitening.weight) not in decays


def test_images_are_shifted_and_mirrored_whole():
    draw = np.random.default_rng(0)
    images = np.arange(200 * 4 * 4 * 2).reshape(200, 4, 4, 2)
    mirrored = training.Recipe(epochs=1, flip=True).varied(images, draw)
    kinds = [
        "same"
        if (new == old).all()
        else "mirrored"
        if (new == old[:, ::-1]).all()
        else 0
        for new, old in zip(mirrored, images, strict=True)
    ]
    assert 70 < kinds.count("same") < 130
    assert kinds.count("same") + kinds.count("mirrored") == 200
    shifted = training.Recipe(epochs=1, crop=1).varied(images, draw)
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="reflect")
    found = {
        next(
            (down, right)
            for down in range(3)
            for right in range(3)
            if (new == old[down : down + 4, right : right + 4]).all()
        )
        for new, old in zip(shifted, padded, strict=True)
    }
    assert len(found) == 9  # every shift occurs


def test_a_model_is_trained_on_strengths_or_soft_labels():
    X, y = pictures(np.random.default_rng(1), 120, 2)
    trainer = models.build(
        "residual", {"network": {"widths": [4, 8]}, "recipe": {"epochs": 3}}
    )
    strengths = np.full(120, 0.3)
    first = trainer(X, y, strengths, 2, random_state=0)(X)
    soft = np.full((120, 2), 0.3)
    soft[np.arange(120), y] = 0.7
    again = trainer(X, y, None, 2, random_state=0, soft_labels=soft)(X)
    assert first.shape == (120, 2)
    np.testing.assert_allclose(first, again, atol=1e-5)
    other = trainer(X, y, np.zeros(120), 2, random_state=0)(X)
    assert np.abs(first - other).max() > 0.01
    assert "'widths': [4, 8]" in repr(trainer)
    assert (
        f"'learning_rate': {configs.load('compact-cifar10')['recipe']['learning_rate']}"
        in repr(trainer)
    )
