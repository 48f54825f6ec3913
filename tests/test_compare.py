"""The comparison: paired, resumable, and able to say no."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from structsmooth import StructuralSmoother
from structsmooth.compare import compare
from structsmooth.compare.result import METHODS
from structsmooth.compare.statistics import Difference, paired_difference
from structsmooth.compare.verdict import conclude, describe_pair
from structsmooth.errors import FileFormatError, InvalidInputError

FAST = {"alpha": 0.1, "beta": "auto", "n_seeds": 2}


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


class Spy:
    """A trainer that notes what it is given and predicts the labels' frequencies."""

    def __init__(self):
        self.calls = []

    def __call__(self, X, y, strengths, n_classes, random_state):
        self.calls.append((X.copy(), y.copy(), strengths.copy(), random_state))
        frequencies = np.bincount(y, minlength=n_classes) / len(y)
        return lambda rows: np.tile(frequencies, (len(rows), 1))

    def __repr__(self):
        return "Spy()"


# ---------------------------------------------------------------- the statistics


def difference_of(values, reference, **options):
    options = {"confidence": 0.95, "n_intervals": 1, "test_ratio": 0.0} | options
    return paired_difference(
        "nll", "a", "b", np.array(values), np.array(reference), **options
    )


def test_an_interval_worked_out_by_hand():
    # Differences -1, -2, -3: mean -2, standard deviation 1, and 2 degrees of freedom,
    # whose 97.5 % point is 4.302653 in every table of Student's t.
    found = difference_of([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    half = 4.302652729696142 / np.sqrt(3.0)
    assert (found.mean, found.n_lower, found.n_higher) == (-2.0, 3, 0)
    assert [found.low, found.high] == pytest.approx([-2.0 - half, -2.0 + half])
    assert found.relative == -0.5


def test_shared_training_rows_widen_the_interval():
    # Nadeau and Bengio: 1/3 becomes 1/3 + 1/2.
    found = difference_of([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], test_ratio=0.5)
    half = 4.302652729696142 * np.sqrt(1.0 / 3.0 + 0.5)
    assert [found.low, found.high] == pytest.approx([-2.0 - half, -2.0 + half])


def test_five_intervals_at_once_need_the_995_point():
    found = difference_of([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], n_intervals=5)
    half = 9.924843200918294 / np.sqrt(3.0)
    assert [found.low, found.high] == pytest.approx([-2.0 - half, -2.0 + half])


def test_equal_values_make_no_difference():
    found = difference_of([1.0, 2.0], [1.0, 2.0])
    assert (found.low, found.high) == (0.0, 0.0)
    assert not found.is_lower
    assert not found.is_higher


# ------------------------------------------------------------------- the verdict


def decided(metric, sign, reference="none", relative=0.38):
    """Return a difference that is certainly lower (-1), higher (1) or neither (0)."""
    return Difference(
        metric=metric,
        method="structural",
        reference=reference,
        mean=sign * 0.1,
        low=sign * 0.1 - 0.05 if sign else -0.05,
        high=sign * 0.1 + 0.05 if sign else 0.05,
        relative=sign * relative,
        n_lower=9 if sign < 0 else 1,
        n_higher=9 if sign > 0 else 1,
        n_seeds=10,
    )


def test_a_finding_in_words():
    sentence = describe_pair([decided("error", 0), decided("aurc", -1)])
    assert sentence == (
        "structural against none: no clear difference on error; AURC lower by 38 %, "
        "9 of 10 seeds"
    )


@pytest.mark.parametrize(
    ("none", "uniform", "shuffled", "expected"),
    [
        (0, 0, 0, "does not help here"),
        (1, 0, 0, "hurts here, on NLL"),
        (-1, 0, 0, "Uniform smoothing of the same mean does as well"),
        (-1, -1, 0, "shuffled strengths do as well"),
        (-1, -1, -1, "Where it smooths matters, on NLL"),
        (-1, 1, 0, "Uniform is better on NLL"),
    ],
)
def test_the_verdict(none, uniform, shuffled, expected):
    verdict = conclude(
        [decided("nll", none)],
        [decided("nll", uniform)],
        [decided("nll", shuffled)],
        [decided("nll", 0)],
    )
    assert expected in verdict


def test_a_gain_here_and_a_loss_there_is_a_trade():
    mixed = [decided("nll", -1), decided("ece", 1)]
    verdict = conclude(mixed, mixed, mixed, mixed)
    assert "a trade here: better on NLL, worse on ECE" in verdict


def test_uniform_smoothing_may_help_where_structural_does_not():
    nothing = [decided("nll", 0)]
    verdict = conclude(nothing, nothing, nothing, [decided("nll", -1)])
    assert "does not help" in verdict
    assert "Uniform smoothing does, on NLL" in verdict


@pytest.mark.parametrize("seed", range(6))
def test_it_says_that_nothing_helps_when_labels_are_chance(seed):
    draw = np.random.default_rng(seed)
    X, y = draw.normal(size=(400, 5)), draw.integers(0, 2, 400)
    result = compare(X, y, **FAST | {"n_seeds": 5}, random_state=seed)
    assert "helps here" not in result.verdict
    assert not any(d.is_lower for d in result.differences("structural", "shuffled"))


@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
def test_it_says_that_smoothing_does_not_help_clean_classes():
    X, y = make_blobs(300, centers=[[-9, 0], [9, 0]], random_state=0)
    result = compare(X, y, **FAST | {"n_seeds": 5})
    assert "does not help" in result.verdict or "hurts" in result.verdict
    assert result.values("structural", "error").max() == 0.0


# ------------------------------------------------------------------- the protocol


def test_all_smoothing_methods_have_the_same_mean_strength(iris):
    spy = Spy()
    compare(*iris, spy, **FAST)
    assert len(spy.calls) == 2 * len(METHODS)
    for number, (_, _, strengths, _) in enumerate(spy.calls):
        expected = 0.0 if number % len(METHODS) == 0 else 0.1
        assert strengths.mean() == pytest.approx(expected, abs=1e-12)


def test_the_methods_of_a_seed_share_rows_and_random_state(iris):
    spy = Spy()
    compare(*iris, spy, **FAST)
    for start in (0, len(METHODS)):
        X, y, _, state = spy.calls[start]
        for other in spy.calls[start + 1 : start + len(METHODS)]:
            assert np.array_equal(X, other[0])
            assert np.array_equal(y, other[1])
            assert state == other[3]
    assert spy.calls[0][3] != spy.calls[-1][3]


def test_shuffled_and_reversed_hold_the_strengths_in_the_wrong_places():
    spy = Spy()
    X, y = make_blobs(400, centers=[[0, 0], [1, 0], [20, 0], [30, 0]], random_state=0)
    compare(X, y % 2, spy, smoother=StructuralSmoother(n_clusters=3), **FAST)
    _, uniform, structural, wrong, _ = (call[2] for call in spy.calls[:5])
    assert np.ptp(uniform) == 0.0
    assert np.ptp(structural) > 0.0
    assert np.corrcoef(structural, wrong)[0, 1] < 0.0


def test_only_validation_rows_choose():
    # Rows below 1000 are for training and validation, the others are the test set. On
    # validation rows the model is right at alpha 0.05, on test rows at 0.2.
    ids = np.arange(200.0)[:, np.newaxis]
    y = np.arange(200) % 2

    def train(_X, _y, strengths, **_):
        def predict(rows):
            own = rows[:, 0].astype(int) % 2
            right_at = np.where(rows[:, 0] < 1000, 0.05, 0.2)
            is_right = np.isclose(strengths.mean(), right_at)
            p = np.where(is_right, 0.9, 0.5)
            table = np.empty((len(rows), 2))
            table[np.arange(len(rows)), own] = p
            table[np.arange(len(rows)), 1 - own] = 1.0 - p
            return table

        return predict

    result = compare(
        ids,
        y,
        train,
        alpha=(0.05, 0.2),
        beta=0.0,
        n_seeds=2,
        test=(ids + 1000.0, y),
        smoother=StructuralSmoother(n_clusters=2),
    )
    assert result.chosen_alphas() == {0.05: 2}
    # ln 2 on the test rows, although the other choice would have had less.
    assert result.values("uniform", "nll") == pytest.approx(np.log(2.0))


def test_rows_of_a_group_stay_on_one_side(rng):
    groups = np.repeat(np.arange(30), 10)
    X = np.column_stack([groups, rng.normal(size=300)]).astype(float)
    seen = []

    def train(rows, _y, _strengths, n_classes, **_):
        trained = set(rows[:, 0])

        def predict(others):
            seen.append(trained & set(others[:, 0]))
            return np.full((len(others), n_classes), 1.0 / n_classes)

        return predict

    compare(X, np.tile([0, 1], 150), train, groups=groups, **FAST)
    assert seen == [set()] * len(seen)
    assert len(seen) == 2 * 2 * len(METHODS)


def test_the_same_seed_gives_the_same_bits(iris):
    first, second = (compare(*iris, **FAST).to_dict() for _ in range(2))
    assert first == second
    other = compare(*iris, **FAST, random_state=1).to_dict()
    assert other["methods"] != first["methods"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        RandomForestClassifier(10),
        HistGradientBoostingClassifier(max_iter=5),
        MLPClassifier((8,), max_iter=10),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_any_classifier_with_weights_takes_part(iris, classifier):
    result = compare(*iris, classifier, **FAST)
    for method in METHODS:
        assert result.values(method, "error").shape == (2,)
    assert "none" in result.to_markdown()


def test_a_boosting_classifier_takes_part(iris):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1)
    result = compare(*iris, model, **FAST)
    assert result.values("structural", "error").max() < 0.2


# ----------------------------------------------------------------------- resuming


def test_an_interrupted_comparison_goes_on_with_the_same_bits(tmp_path, iris):
    class Dying(Spy):
        left = 7

        def __call__(self, *arguments, **options):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            return super().__call__(*arguments, **options)

    path = tmp_path / "deep" / "runs.jsonl"
    dying = Dying()
    with pytest.raises(KeyboardInterrupt):
        compare(*iris, dying, **FAST, results=path)
    with path.open("a") as stream:
        stream.write('{"seed": 1, "method": "str')  # killed while writing
    dying.left, dying.calls = 100, []
    resumed = compare(*iris, dying, **FAST, results=path)
    assert len(dying.calls) == 2 * len(METHODS) - 7
    assert resumed.to_dict() == compare(*iris, dying, **FAST).to_dict()

    dying.calls = []
    again = compare(*iris, dying, **FAST, results=path)
    assert dying.calls == []
    assert again.to_dict() == resumed.to_dict()
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + 2 * len(METHODS)
    assert all(json.loads(line) for line in lines)


def test_more_seeds_can_be_added_to_a_file(tmp_path, iris):
    path, spy = tmp_path / "runs.jsonl", Spy()
    compare(*iris, spy, **FAST, results=path)
    result = compare(*iris, spy, **FAST | {"n_seeds": 3}, results=path)
    assert len(spy.calls) == 3 * len(METHODS)
    assert len(result.values("none", "nll")) == 3


@pytest.mark.parametrize("change", ["data", "settings"])
def test_a_file_of_another_comparison_is_refused(tmp_path, iris, change):
    path, (X, y) = tmp_path / "runs.jsonl", iris
    compare(X, y, Spy(), **FAST, results=path)
    before = path.read_bytes()
    options = dict(FAST)
    if change == "data":
        X = X + 1.0
    else:
        options["alpha"] = 0.2
    with pytest.raises(FileFormatError, match="other data or settings"):
        compare(X, y, Spy(), **options, results=path)
    assert path.read_bytes() == before


def test_a_file_of_something_else_is_refused(tmp_path, iris):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")
    with pytest.raises(FileFormatError, match="not a file of results"):
        compare(*iris, Spy(), **FAST, results=path)


# ------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classifier": LogisticRegression}, r"write LogisticRegression\(\)"),
        ({"classifier": LinearSVC()}, "must have predict_proba, and LinearSVC"),
        ({"classifier": 3}, "classifier must be a classifier or a function"),
        ({"n_seeds": 1}, "n_seeds"),
        ({"alpha": 0.9}, "alpha"),
        ({"alpha": ()}, "alpha must have at least one value"),
        ({"beta": -1.0}, "beta"),
        ({"test_size": 1.5}, "test_size must lie between 0 and 1, got 1.5"),
        ({"validation_size": "half"}, "validation_size must be a number"),
        ({"criterion": "accuracy"}, "criterion must be"),
        ({"groups": [1, 2, 3]}, "groups must have one value for each of the 150 rows"),
        ({"groups": np.arange(150) % 2}, "groups must have at least 3 values"),
        ({"test": 3}, "test must be a pair of features and labels, got int"),
        ({"test": (np.zeros((2, 3)), [0, 1])}, "test must have 4 features"),
        ({"test": (np.zeros((2, 4)), [0, 7])}, "test has the label 7"),
        ({"smoother": "kmeans"}, "smoother must be a StructuralSmoother"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_arguments_get_one_sentence(iris, options, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        compare(*iris, **FAST | options)
    assert "\n" not in str(caught.value)


def test_a_class_too_rare_to_split_is_named(iris):
    X, y = iris
    y = y.copy()
    y[0] = 9
    with pytest.raises(InvalidInputError, match="enough rows of each class"):
        compare(X, y, **FAST)


def test_a_trainer_that_returns_nonsense_is_told_so(iris):
    with pytest.raises(InvalidInputError, match="it returned NoneType"):
        compare(*iris, lambda *_, **__: None, **FAST)
