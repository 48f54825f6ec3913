"""Critical samples and human disagreement, at toy sizes with known answers."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import critical, humans  # noqa: E402
from experiments.correlations import correlation  # noqa: E402
from experiments.critical.search import Search, find_critical  # noqa: E402
from experiments.critical.table import columns_of  # noqa: E402
from experiments.records import read  # noqa: E402
from experiments.study import run as run_study  # noqa: E402
from toys import toy  # noqa: E402


class Brightness(torch.nn.Module):
    """Class 1 where the mean of the raw pixels is above a threshold."""

    def forward(self, images):
        margin = images.mean(dim=(1, 2, 3)) - 100.0
        return torch.stack([torch.zeros_like(margin), margin], dim=1)


def critical_at(levels, radius, **changes):
    images = np.array(levels, dtype=np.uint8)[:, None, None, None]
    images = np.broadcast_to(images, (len(levels), 4, 4, 3)).copy()
    search = Search(radius=radius, step=radius / 4, noise=radius / 5, n_steps=20)
    settings = vars(search) | changes
    return find_critical(
        Brightness(),
        images,
        Search(**settings),
        center=np.zeros(3),
        scale=np.ones(3),
        seed=0,
    ).tolist()


def test_a_sample_is_critical_if_the_boundary_crosses_its_box():
    # The boundary is at 100: a box of 4 around 97 or 103 crosses it, one around 95 not.
    levels = [90, 95, 97, 103, 105, 110]
    assert critical_at(levels, 4.0) == [False, False, True, True, False, False]
    assert critical_at(levels, 11.0) == [True] * 6


def test_the_search_stays_in_the_box_whatever_its_steps():
    assert critical_at([95, 105], 4.0, step=50.0, noise=50.0) == [False, False]


def test_too_few_steps_find_less():
    assert critical_at([97, 103], 4.0, step=0.1, noise=0.0) == [False, False]
    assert critical_at([97, 103], 4.0, step=0.2, noise=0.0) == [True, True]


def test_pixels_do_not_leave_their_range():
    class White(torch.nn.Module):
        def forward(self, images):
            margin = images.mean(dim=(1, 2, 3)) - 256.0
            return torch.stack([torch.zeros_like(margin), margin], dim=1)

    found = find_critical(
        White(),
        np.full((1, 2, 2, 3), 255, dtype=np.uint8),
        Search(radius=8.0, step=2.0, noise=0.0, n_steps=10),
        center=np.zeros(3),
        scale=np.ones(3),
        seed=0,
    )
    assert not found.any()


def test_the_network_sees_standardized_images_channels_first():
    seen = []

    class Spy(torch.nn.Module):
        def forward(self, images):
            seen.append(images.detach())
            return torch.zeros(len(images), 2) + 0.0 * images.sum()

    images = np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3)
    find_critical(
        Spy(),
        images,
        Search(1.0, 0.0, 0.0, 1),
        center=np.array([1.0, 2.0, 3.0]),
        scale=np.array([2.0, 4.0, 8.0]),
        seed=0,
    )
    expected = (images.astype(float) - [1.0, 2.0, 3.0]) / [2.0, 4.0, 8.0]
    np.testing.assert_allclose(seen[0].numpy(), expected.transpose(0, 3, 1, 2))


def test_a_correlation_has_the_interval_of_fisher():
    x = np.arange(20.0)
    y = x + 8.0 * np.cos(x)
    value, low, high = correlation(x, y)
    dx, dy = x - x.mean(), y - y.mean()
    r = (dx * dy).sum() / np.sqrt((dx**2).sum() * (dy**2).sum())
    z, half = np.arctanh(r), 1.959964 / np.sqrt(20 - 3)
    assert (value, low, high) == pytest.approx(
        (r, np.tanh(z - half), np.tanh(z + half)), abs=1e-6
    )
    assert np.isnan(correlation(x, np.ones(20))).all()


def test_table_4_reads_what_its_runner_wrote(toy_data, tmp_path):
    changes = toy("svhn")
    run_study(changes, tmp_path / "svhn.jsonl", n_jobs=1)
    config = {"scale": "cpu", "studies": ["svhn"], "changes": changes}
    config |= {"radii": [1.0, 20.0], "shown_radius": 20.0}
    config |= {"step": 0.25, "noise": 0.2, "n_steps": 3}
    results = tmp_path / "critical.jsonl"
    critical.run(config, results, 1)
    first = results.read_text()
    critical.run(config, results, 1)
    assert results.read_text() == first
    (run,) = read(results)[1]
    small, large = (run["clusters"]["critical"][r] for r in ("1.0", "20.0"))
    assert all(a <= b for a, b in zip(small, large, strict=True))
    n_train = np.array(run["clusters"]["n_train"])
    assert n_train.sum() == 240
    whole = (n_train * np.array(large)).sum() / 240
    assert run["metrics"]["critical_20.0"] == pytest.approx(whole, abs=1e-6)
    columns = columns_of(run, 20.0)
    assert list(columns) == ["CSR", "ED", "BER", "SLS1"]
    text = critical.table(results)
    assert "## svhn" in text
    assert "| CSR and BER |" in text
    assert critical.figure(results)[0].is_file()


def test_human_disagreement_is_set_beside_the_bounds(toy_data, tmp_path):
    config = {"scale": "cpu", "study": "cifar10", "changes": toy("cifar10")}
    config |= {
        "features": list(humans.SMOOTHERS),
        "n_clusters": [5, "points"],
        "n_seeds": 2,
    }
    results = tmp_path / "humans.jsonl"
    humans.run(config, results)
    _, runs = read(results)
    assert len(runs) == 4 * 2 * 2
    found = next(r for r in runs if r["config"]["features"] == "autoencoder")
    r = np.corrcoef(found["bayes_error"], found["disagreement"])[0, 1]
    assert found["metrics"]["correlation"] == pytest.approx(r)
    assert found["metrics"]["low"] <= r <= found["metrics"]["high"]
    assert f"{r:.2f}" in humans.table(results)
    assert humans.figure(results)[0].is_file()
