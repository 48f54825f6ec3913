"""Tests that hold for the arguments of all three libraries."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from structsmooth import boosting
from structsmooth.errors import InvalidInputError, MissingPackageError

FUNCTIONS = {
    "lightgbm": boosting.lightgbm_arguments,
    "xgboost": boosting.xgboost_arguments,
    "catboost": boosting.catboost_arguments,
}


@pytest.fixture(params=FUNCTIONS)
def arguments_of(request):
    pytest.importorskip(request.param)
    return FUNCTIONS[request.param]


def test_no_library_is_imported_before_it_is_needed():
    code = (
        "import sys, structsmooth.boosting as b; "
        "b.lightgbm_arguments([0, 1, 2], 0.1, 3); b.xgboost_arguments([0, 1], 0.1, 2); "
        "print(*({'lightgbm', 'xgboost', 'catboost'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("library", FUNCTIONS)
def test_a_missing_library_is_named_with_the_remedy(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(
        sys.modules, "structsmooth.boosting.catboost_loss", raising=False
    )
    with pytest.raises(
        MissingPackageError, match=f"needs {library}: pip install {library}$"
    ):
        FUNCTIONS[library]([0, 1, 2], 0.1, n_classes=3).estimator()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"strengths": None}, "strengths and soft_labels must be given, got neither"),
        ({"soft_labels": [[1, 0, 0]] * 2}, "soft_labels must be given, got both"),
        ({"y": None}, "y must hold labels if strengths are given"),
        ({"y": [0, 3]}, "y must hold class numbers 0 to 2 .* got 3"),
        ({"y": ["a", "b"]}, "y must hold class numbers 0 to 2, got dtype"),
        ({"y": [], "strengths": []}, "y must have at least one label"),
        (
            {"strengths": [0.1]},
            "must be one number, or one for each of 2 rows",
        ),
        ({"strengths": 1.5}, "strengths must lie between 0 and 1, got 1.5"),
        ({"strengths": [0, 2 / 3]}, "for 3 classes, where the label is lost, got 0 to"),
        ({"n_classes": 1}, "n_classes must be a whole number of at least 2, got 1"),
        ({"sample_weight": [1.0]}, r"sample_weight.shape == \(1,\), expected \(2,\)"),
        ({"sample_weight": [1.0, -1.0]}, "Negative values .* `sample_weight`"),
        ({"sample_weight": [0.0, 0.0]}, "zero"),
    ],
)
def test_wrong_input_is_named(arguments_of, wrong, message):
    given = {"y": [0, 1], "strengths": 0.1, "n_classes": 3, **wrong}
    with pytest.raises(ValueError, match=message):
        arguments_of(**given)


@pytest.mark.parametrize(
    ("soft_labels", "message"),
    [
        ([[1, 0], [0, 1]], r"must have the shape \(n, 3\), .* got \(2, 2\)"),
        ([1.0, 0.0], r"must have the shape \(n, 3\), .* got \(2,\)"),
        ([[1, 0, 0]], "one row for each of the 2 labels in y, got 1"),
        ([[1, 0, 0], [0.5, 0.5, 0.5]], "got 0.5 to 0.5 with a sum of 1.5 in row 1"),
        ([[1.5, -0.5, 0], [1, 0, 0]], "got -0.5 to 1.5 with a sum of 1 in row 0"),
        ([[1, 0, 0], [np.nan, 0, 1]], "sum to 1, got nan to nan .* in row 1"),
        ([[np.inf, 0, 0], [1, 0, 0]], "sum to 1, got 0 to inf .* in row 0"),
    ],
)
def test_soft_labels_that_are_no_probabilities_are_named(
    arguments_of, soft_labels, message
):
    with pytest.raises(InvalidInputError, match=message):
        arguments_of([0, 1], n_classes=3, soft_labels=soft_labels)


def test_weights_of_one_are_no_weights(arguments_of):
    arguments = arguments_of([0, 1], 0.1, 3, sample_weight=[1, 1])
    assert set(arguments.dataset) == {"label"}
    assert "sample_weight" not in arguments.fit_options


def test_two_classes_are_labeled_with_the_mass_on_the_second(arguments_of):
    arguments = arguments_of([0, 1, 1], [0.1, 0.2, 0.0], 2, sample_weight=[1, 2, 3])
    np.testing.assert_allclose(arguments.dataset["label"], [0.1, 0.8, 1.0])
    np.testing.assert_allclose(arguments.fit_options["y"], [0.1, 0.8, 1.0])
    np.testing.assert_array_equal(arguments.dataset["weight"], [1, 2, 3])
    np.testing.assert_array_equal(arguments.fit_options["sample_weight"], [1, 2, 3])
    np.testing.assert_array_equal(arguments.hard_labels([1, 0]), [1, 0])
    assert arguments.initial_scores is None


def test_without_weights_none_are_handed_on(arguments_of):
    for n_classes in (2, 3):
        arguments = arguments_of([0, 1], 0.1, n_classes)
        assert set(arguments.dataset) == {"label"}
        assert "sample_weight" not in arguments.fit_options


def test_probabilities_of_two_classes_are_logistic(arguments_of):
    arguments = arguments_of([0, 1], 0.1, 2)
    # log-odds of log(4) are 4 to 1; huge log-odds must not overflow
    np.testing.assert_allclose(
        arguments.probabilities([np.log(4), -1e4]), [[0.2, 0.8], [1.0, 0.0]]
    )


@pytest.mark.parametrize(
    ("n_classes", "shape"), [(2, (4, 2)), (3, (4,)), (3, (4, 2)), (3, (4, 3, 1))]
)
def test_scores_of_another_shape_are_refused(arguments_of, n_classes, shape):
    arguments = arguments_of([0, 1], 0.1, n_classes)
    with pytest.raises(InvalidInputError, match="raw_scores must have shape"):
        arguments.probabilities(np.zeros(shape))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_parameters_that_would_undo_the_smoothing_are_refused(arguments_of, n_classes):
    arguments = arguments_of([0, 1, 1], 0.1, n_classes)
    for name in arguments.estimator_params:
        with pytest.raises(InvalidInputError, match=f"{name} is set by the arguments"):
            arguments.estimator(**{name: "binary"})
    with pytest.raises(InvalidInputError, match="application is set by the arguments"):
        arguments.estimator(application="binary")
    for name in ("class_weight", "scale_pos_weight", "auto_class_weights"):
        with pytest.raises(InvalidInputError, match=f"{name} has no meaning"):
            arguments.estimator(**{name: 2.0})


@pytest.mark.parametrize("n_classes", [2, 3])
def test_arguments_can_be_pickled(arguments_of, n_classes):
    arguments = arguments_of([0, 1, 1], [0.1, 0.2, 0.3], n_classes)
    copy = pickle.loads(pickle.dumps(arguments))  # noqa: S301
    np.testing.assert_array_equal(copy.dataset["label"], arguments.dataset["label"])
    assert set(copy.params) == set(arguments.params)
