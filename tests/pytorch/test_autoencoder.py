"""The autoencoder as a scikit-learn transformer."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from structsmooth import StructuralSmoother
from structsmooth.errors import InvalidInputError

pytest.importorskip("torch")

import torch

from structsmooth.torch import Autoencoder
from structsmooth.torch.networks import (
    Standardization,
    convolutional_network,
    initialize,
)


def small(n_components=4, **options):
    settings = {
        "hidden_sizes": (8,),
        "channels": (4, 8),
        "max_epochs": 3,
        "batch_size": 32,
        "random_state": 0,
    }
    return Autoencoder(n_components, **settings | options)


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, size=(50, 7, 6, 3), dtype=np.uint8)


@parametrize_with_checks([small(random_state=None)])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def test_learns_to_restore_what_has_fewer_dimensions(rng):
    hidden = rng.normal(size=(600, 3))
    X = 5.0 + hidden @ rng.normal(size=(3, 12)) * np.linspace(0.1, 100.0, 12)
    coder = Autoencoder(
        3, hidden_sizes=(32,), max_epochs=60, learning_rate=0.01, random_state=0
    )
    codes = coder.fit_transform(X)
    assert codes.shape == (600, 3)
    error = ((coder.inverse_transform(codes) - X) / X.std(axis=0)).var()
    assert error < 0.05  # two components would miss a good part of a third


def test_learns_to_restore_images():
    X = load_digits().images
    coder = Autoencoder(
        32, channels=(16, 32), max_epochs=8, learning_rate=0.003, random_state=0
    ).fit(X)
    assert coder.image_shape_ == (8, 8, 1)
    restored = coder.inverse_transform(coder.transform(X))
    assert restored.shape == X.shape
    assert ((restored - X) ** 2).mean() < 0.35 * X.var()
    assert coder.loss_curve_[-1] < 0.5 * coder.loss_curve_[0]


def test_standardizes_by_feature_or_channel(rng, images):
    X = rng.normal(size=(40, 3)) * [1.0, 50.0, 0.0] + [0.0, 7.0, 3.0]
    by_feature = Standardization.fit(X, None)
    np.testing.assert_allclose(by_feature.mean, X.mean(axis=0))
    np.testing.assert_allclose(by_feature.scale[:2], X[:, :2].std(axis=0))
    assert by_feature.scale[2] == 1.0
    inputs = by_feature.to_input(X)
    np.testing.assert_allclose(inputs.mean(0), 0.0, atol=1e-14)
    np.testing.assert_allclose(by_feature.from_output(inputs), X)

    rows = images.reshape(50, -1)
    by_channel = Standardization.fit(rows, (7, 6, 3))
    np.testing.assert_allclose(by_channel.mean, images.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(by_channel.scale, images.std(axis=(0, 1, 2)))
    inputs = by_channel.to_input(rows)
    assert inputs.shape == (50, 3, 7, 6)
    pixel = (images[9, 2, 5, 1] - by_channel.mean[1]) / by_channel.scale[1]
    assert float(inputs[9, 1, 2, 5]) == pytest.approx(pixel)
    np.testing.assert_allclose(by_channel.from_output(inputs), rows)


def test_standardizes_many_rows_part_by_part(rng, monkeypatch):
    X = rng.normal(size=(100, 3)) + 1e4
    monkeypatch.setattr("structsmooth.torch.networks._AT_ONCE", 20)
    found = Standardization.fit(X, None)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(found.scale, X.std(axis=0), rtol=1e-10)


@pytest.mark.parametrize("shape", [(8, 8, 3), (7, 5, 1), (1, 9, 2), (32, 32, 3)])
def test_a_decoder_returns_images_of_the_size_encoded(shape):
    network = convolutional_network(shape, 10, (4, 8, 16))
    inputs = torch.zeros(2, shape[2], shape[0], shape[1])
    assert network.encoder(inputs).shape == (2, 10)
    assert network(inputs).shape == inputs.shape


def test_the_same_seed_gives_the_same_bits_with_any_setting_of_threads(images):
    threads = torch.get_num_threads()
    for X in (images, images.reshape(50, -1)):
        first = small().fit_transform(X)
        assert not np.array_equal(first, small(random_state=1).fit_transform(X))
        try:
            torch.set_num_threads(5 - threads)
            assert np.array_equal(first, small().fit_transform(X))
        finally:
            torch.set_num_threads(threads)


def test_the_global_generator_and_threads_are_left_alone(images):
    threads = torch.get_num_threads()
    before = torch.get_rng_state()
    try:
        torch.set_num_threads(3)
        settings = torch.__config__.parallel_info()
        coder = small(n_jobs=2, max_epochs=1).fit(images[:9])
        assert torch.__config__.parallel_info() == settings
        with threadpool_limits(1):  # as in a smoother
            coder.fit(images[:9]).transform(images[:9])
        assert torch.__config__.parallel_info() == settings
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(before, torch.get_rng_state())


def test_images_in_all_forms_are_the_same_images(images):
    expected = small().fit_transform(images)
    flat = small(image_shape=(7, 6, 3)).fit(images.reshape(50, -1))
    assert np.array_equal(flat.transform(images.reshape(50, -1)), expected)
    assert np.array_equal(flat.transform(images), expected)
    assert flat.inverse_transform(expected).shape == (50, 126)
    as_floats = small().fit_transform(images.astype(np.float32))
    np.testing.assert_allclose(as_floats, expected, atol=1e-5)
    gray = small().fit(images[..., 0])
    assert gray.image_shape_ == (7, 6, 1)
    assert gray.inverse_transform(gray.transform(images[..., 0])).shape == (50, 7, 6)


def test_images_can_be_encoded_densely(images):
    coder = small(architecture="dense").fit(images)
    assert coder.image_shape_ is None
    codes = coder.transform(images)
    assert coder.inverse_transform(codes).shape == images.shape
    flat = small().fit(images.reshape(50, -1))
    assert np.array_equal(flat.transform(images.reshape(50, -1)), codes)


@pytest.mark.parametrize("validation_fraction", [0.2, 0.0])
def test_stops_when_it_gets_no_better_and_keeps_the_best(rng, validation_fraction):
    X = rng.normal(size=(60, 5))
    coder = small(
        max_epochs=200,
        patience=3,
        learning_rate=0.05,
        validation_fraction=validation_fraction,
    ).fit(X)
    curve = coder.validation_loss_curve_ or coder.loss_curve_
    assert len(curve) == coder.n_epochs_ < 200
    assert coder.best_epoch_ == np.argmin(curve) + 1 == coder.n_epochs_ - 3
    shorter = small(
        max_epochs=coder.best_epoch_,
        patience=3,
        learning_rate=0.05,
        validation_fraction=validation_fraction,
    ).fit(X)
    assert np.array_equal(shorter.transform(X), coder.transform(X))


def test_validation_rows_are_not_trained_on(rng):
    X = rng.normal(size=(40, 5))
    coder = small(validation_fraction=0.25).fit(X)
    restored = coder.inverse_transform(coder.transform(X))
    errors = (((restored - X) / coder.standardization_.scale) ** 2).mean(axis=1)
    # Exactly ten rows make up the validation error; find them by their seed.
    generator = torch.Generator()
    seed = np.random.RandomState(0).randint(2**31 - 1)
    initialize(coder._build(5, None), generator.manual_seed(int(seed)))
    held_out = torch.randperm(40, generator=generator)[:10].numpy()
    assert errors[held_out].mean() == pytest.approx(
        min(coder.validation_loss_curve_), rel=1e-5
    )
    # Their order does not change the network.
    turned = X.copy()
    turned[held_out] = X[held_out[::-1]]
    codes = small(validation_fraction=0.25).fit(turned).transform(X)
    np.testing.assert_allclose(codes, coder.transform(X), rtol=1e-4, atol=1e-5)


def test_a_samples_components_do_not_depend_on_its_batch(rng):
    X = rng.normal(size=(2000, 30))
    coder = small(16, hidden_sizes=(64,), max_epochs=1).fit(X)
    alone = np.concatenate([coder.transform(X[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, coder.transform(X)[:20], rtol=1e-10, atol=1e-12)


def test_as_a_smoothers_reducer():
    X, y = load_digits(return_X_y=True)
    coder = small(16, image_shape=(8, 8), random_state=None)
    settings = {"n_clusters": 6, "random_state": 0}
    smoother = StructuralSmoother(reducer=coder, **settings).fit(X, y)
    # label_smoothing=0.1 of ten classes
    assert smoother.sample_strengths_.mean() == pytest.approx(0.09)
    assert smoother.predict_strength(X[:9]).shape == (9,)
    assert not hasattr(coder, "network_")
    again = StructuralSmoother(reducer=coder, n_jobs=2, **settings).fit(X, y)
    assert np.array_equal(again.sample_strengths_, smoother.sample_strengths_)


def test_in_a_pipeline_with_names():
    X, y = load_digits(return_X_y=True, as_frame=True)
    coder = small(16, hidden_sizes=(64,), max_epochs=5)
    model = make_pipeline(coder, LogisticRegression(max_iter=1000)).fit(X, y)
    assert model.score(X, y) > 0.6  # guessing gives 0.1
    frame = clone(coder).set_output(transform="pandas").fit_transform(X)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns[3] == "autoencoder3"


def test_survives_a_pickle(images):
    coder = small().fit(images)
    again = pickle.loads(pickle.dumps(coder))  # noqa: S301
    assert np.array_equal(again.transform(images), coder.transform(images))


@pytest.mark.parametrize("n_rows", [1, 2])
def test_very_few_rows(n_rows):
    X = np.arange(3.0 * n_rows).reshape(n_rows, 3)
    codes = small().fit_transform(X)
    assert codes.shape == (n_rows, 4)
    assert np.isfinite(codes).all()


def test_progress_goes_to_standard_error(images, capsys):
    small(verbose=1).fit(images)
    captured = capsys.readouterr()
    assert "autoencoder" in captured.err
    assert captured.out == ""
    small().fit(images)
    assert capsys.readouterr().err == ""


def test_data_that_cannot_be_learned_says_so(rng):
    with pytest.raises(InvalidInputError, match="training diverged in epoch 1"):
        small(learning_rate=1e30).fit(rng.normal(size=(40, 3)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number"),
        ({"architecture": "deep"}, "architecture must be one of"),
        ({"architecture": "conv"}, "architecture 'conv' needs images"),
        ({"hidden_sizes": (8, 0)}, "hidden_sizes must be a whole number"),
        ({"channels": (8, 1.5)}, "channels must be a whole number"),
        ({"max_epochs": 0}, "max_epochs must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"patience": 0}, "patience must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"validation_fraction": 1.0}, "validation_fraction must be below 1"),
        ({"image_shape": (3, 5)}, r"image_shape \(3, 5\) does not fit .*\(12,\)"),
        ({"image_shape": (12,)}, "must be .height, width."),
        ({"image_shape": (2, -6, -1)}, "image_shape must be a whole number"),
        ({"device": "abacus"}, "device 'abacus' is not available here"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(rng, options, message):
    with pytest.raises(InvalidInputError, match=message):
        small(**options).fit(rng.normal(size=(20, 12)))


def test_samples_of_another_shape_are_refused(images):
    coder = small().fit(images)
    with pytest.raises(InvalidInputError, match=r"shape \(7, 6, 3\).* got \(3, 7, 6\)"):
        coder.transform(images.transpose(0, 3, 1, 2))
    with pytest.raises(ValueError, match="expecting 126 features"):
        coder.transform(images.reshape(50, -1)[:, 1:])
    with pytest.raises(InvalidInputError, match="X must have 4 components, got 3"):
        coder.inverse_transform(np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="NaN in row 1"):
        coder.transform(
            np.where(np.arange(100) < 99, 1.0, np.nan)[-2:, None].repeat(126, 1)
        )
