"""The comparison is paired and resumable, and can find no effect."""

import json
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from structsmooth import SmoothedClassifier, StructuralSmoother, smooth_labels
from structsmooth.boosting import fit_smoothed
from structsmooth.classifier.expand import fit_expanded
from structsmooth.compare import Comparison, compare
from structsmooth.compare.result import METHODS
from structsmooth.compare.seeds import SeedWork, Task
from structsmooth.compare.statistics import (
    Difference,
    conclude,
    describe_pair,
    paired_difference,
)
from structsmooth.compare.trainers import (
    TrainingSet,
    describe,
    make_learner,
    trainer_of,
)
from structsmooth.errors import FileFormatError, InvalidInputError

# Splits of small data have ties and small clusters, which are not tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)
# All methods, and the smoother as it is.
BOOSTING = ("lightgbm", "xgboost", "catboost")
ALL = (*METHODS, "default")
FAST = {"alpha": 0.1, "beta": "auto", "n_seeds": 3}


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


class Spy:
    """A trainer that records its arguments and predicts the labels' frequencies."""

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


def test_the_same_difference_on_all_of_few_seeds_decides_nothing():
    found = difference_of([0.10, 0.20], [0.12, 0.22])
    assert not found.is_lower


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
        (0, 0, 0, "is not shown to help here: 10 seeds"),
        (0, 0, 0, "not shown to differ from uniform smoothing"),
        (1, 0, 0, "hurts here, on NLL"),
        (-1, 0, 0, "helps here, on NLL, with no clear harm"),
        (-1, -1, 0, "not shown to be better there than shuffled strengths"),
        (-1, -1, -1, "Where it smooths matters, on NLL"),
        (-1, 1, 0, "Uniform smoothing of the same mean is better on NLL"),
    ],
)
def test_the_verdict(none, uniform, shuffled, expected):
    sentences = conclude(
        [decided("nll", none)],
        [decided("nll", uniform)],
        [decided("nll", shuffled)],
        [decided("nll", 0)],
    )
    assert expected in " ".join(sentences)


def test_a_gain_here_and_a_loss_there_is_a_trade():
    mixed = [decided("nll", -1), decided("ece", 1)]
    verdict = " ".join(conclude(mixed, mixed, mixed, mixed))
    assert "a trade here: better on NLL, worse on ECE" in verdict


def test_uniform_smoothing_may_help_where_structural_does_not():
    nothing = [decided("nll", 0)]
    verdict = " ".join(conclude(nothing, nothing, nothing, [decided("nll", -1)]))
    assert "is not shown to help" in verdict
    assert "Uniform smoothing is better than none on NLL." in verdict


def noisy_stump(X, y, strengths, random_state, **_):
    """Train on a new random half of the rows in each run, and ignore the strengths."""
    draw = np.random.default_rng([random_state, *np.float64(strengths).view(np.int64)])
    half = draw.choice(len(y), len(y) // 2, replace=False)
    return DecisionTreeClassifier(max_depth=3, min_samples_leaf=10).fit(
        X[half], y[half]
    )


@pytest.mark.statistical
def test_it_hardly_ever_claims_that_strengths_help_a_learner_that_ignores_them():
    # The runs of a seed differ by chance alone. With five metrics at 95 % together and
    # two sides, 2.5 % of the comparisons may claim that smoothing helps.
    claims = []
    for number in range(40):
        X, y = make_blobs(200, centers=[[0, 0], [1, 1]], random_state=number)
        result = compare(
            X, y, noisy_stump, alpha=(0.05, 0.1), n_seeds=5, random_state=number
        )
        claims.append("helps here" in result.verdict)
    assert sum(claims) <= 3


@pytest.mark.filterwarnings("ignore::structsmooth.errors.StructsmoothWarning")
def test_it_says_that_smoothing_hurts_classes_without_overlap():
    # Two clean classes on either side, and a few rows between them that overlap.
    centers = [[-0.5, 0], [-10, 0], [-20, 0], [0.5, 0], [10, 0], [20, 0]]
    sizes = [15, 200, 200, 15, 200, 200]
    X, y = make_blobs(sizes, centers=centers, random_state=0)
    result = compare(X, y // 3, LogisticRegression(), **FAST | {"n_seeds": 5})
    assert "hurts" in result.verdict
    assert any(d.is_higher for d in result.differences("structural", "none"))


def test_it_says_that_there_is_nothing_to_compare_in_one_cluster(iris):
    X, y = iris
    result = compare(X, y, **FAST, smoother=StructuralSmoother(n_clusters=1))
    assert "structural smoothing is uniform smoothing here" in result.verdict


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "name",
    [
        "logistic",
        "forest",
        "gradient-boosting",
        "mlp",
        *BOOSTING,
    ],
)
def test_smoothing_by_next_to_nothing_is_no_smoothing(name, rng):
    # Otherwise the way strengths reach a learner would look like their effect.
    means = np.array([[0, 0], [0.5, 0], [8, 0], [0, 8], [8, 8]], dtype=float)
    y = rng.integers(0, 5, 300)
    X = np.hstack([means[y] + rng.normal(size=(300, 2)), rng.normal(size=(300, 3))])
    if name in BOOSTING:
        pytest.importorskip(name)
    learner = make_learner(name)
    if name == "catboost":
        learner.set_params(iterations=10)
    elif name in ("lightgbm", "xgboost", "forest"):
        learner.set_params(n_estimators=10)
    elif name == "mlp":
        learner.set_params(mlpclassifier__max_iter=5)
    train = trainer_of(learner)
    nothing = train(TrainingSet(X, y, np.zeros(300), 5, 0))(X)
    tiny = rng.choice([0.0, 1e-9], 300)
    next_to_nothing = train(TrainingSet(X, y, tiny, 5, 0))(X)
    gaps = np.abs(next_to_nothing - nothing)
    if name == "forest":  # equally good splits may change places
        assert gaps.mean() < 0.01
    else:
        assert gaps.max() < 1e-4


def test_trees_on_soft_labels_are_the_classifier_at_strength_0(iris):
    X, y = iris
    for model in (
        RandomForestClassifier(10, max_features=2),
        ExtraTreesClassifier(10, min_samples_leaf=3),
        DecisionTreeClassifier(max_depth=3),
    ):
        found = trainer_of(model)(TrainingSet(X, y, np.zeros(len(y)), 3, 7))(X)
        expected = clone(model).set_params(random_state=7).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_only_the_last_step_of_a_pipeline_sees_copied_rows(rng):
    # Five copies of some rows and one of others would change the mean.
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 5, 100)
    strengths = np.where(X[:, 0] > 0, 0.3, 0.0)
    scaler = StandardScaler()
    model = make_pipeline(scaler, LogisticRegression())
    fit_expanded(model, X, y, smooth_labels(y, strengths, 5), np.arange(5), {})
    np.testing.assert_allclose(scaler.mean_, X.mean(axis=0), atol=1e-12)


# ------------------------------------------------------------------- the protocol


def test_all_smoothing_methods_have_the_same_mean_strength():
    spy = Spy()
    sizes, centers = [150, 50, 100, 20, 80], [[0, 0], [1, 0], [20, 0], [22, 0], [40, 0]]
    X, y = make_blobs(sizes, centers=centers, random_state=0)
    smoother = StructuralSmoother(n_clusters=5, min_cluster_size=1)
    compare(X, y % 2, spy, smoother=smoother, **FAST)
    assert len(spy.calls) == 3 * len(ALL)
    for number, (_, _, strengths, _) in enumerate(spy.calls):
        if ALL[number % len(ALL)] == "default":  # has a mean of its own
            continue
        expected = 0.0 if number % len(ALL) == 0 else 0.1
        assert strengths.mean() == pytest.approx(expected, abs=1e-12)
    kinds = {call[2].tobytes() for call in spy.calls[: len(METHODS)]}
    assert len(kinds) == len(METHODS)


def test_the_methods_of_a_seed_share_rows_and_random_state(iris):
    spy = Spy()
    compare(*iris, spy, **FAST)
    for start in (0, len(ALL)):
        X, y, _, state = spy.calls[start]
        for other in spy.calls[start + 1 : start + len(ALL)]:
            assert np.array_equal(X, other[0])
            assert np.array_equal(y, other[1])
            assert state == other[3]
    assert spy.calls[0][3] != spy.calls[-1][3]


def test_shuffled_and_reversed_hold_the_strengths_in_the_wrong_places():
    spy = Spy()
    X, y = make_blobs(400, centers=[[0, 0], [1, 0], [20, 0], [30, 0]], random_state=0)
    compare(X, y % 2, spy, smoother=StructuralSmoother(n_clusters=3), **FAST)
    _, uniform, structural, wrong, dealt = (call[2] for call in spy.calls[:5])
    assert np.ptp(uniform) == 0.0
    assert np.ptp(structural) > 0.0
    assert np.corrcoef(structural, wrong)[0, 1] < 0.0
    assert not np.array_equal(structural, dealt)


def test_every_method_chooses_its_beta_on_validation_rows():
    # The model is best at the smallest spread of strengths, whatever the method.
    X, y = make_blobs(400, centers=[[0, 0], [1, 0], [20, 0], [30, 0]], random_state=0)

    def train(_X, _y, strengths, **_):
        p = 0.5 + 0.4 * np.exp(-50.0 * np.ptp(strengths))
        return lambda rows: np.column_stack(
            [np.full(len(rows), p), np.full(len(rows), 1.0 - p)]
        )

    result = compare(
        X, 0 * y + (np.arange(400) % 10 == 0), train, beta=(0.9, 0.1, 0.5), n_seeds=3
    )
    betas = {r["method"]: r["beta"] for r in result.chosen if r["method"] != "default"}
    assert betas == {
        "none": None,
        "uniform": None,
        "structural": 0.1,
        "reversed": 0.1,
        "shuffled": 0.1,
    }


def test_intervals_of_a_comparison_allow_for_shared_rows_and_five_metrics(iris):
    result = compare(*iris, **FAST)
    # 150 rows: 38 test, and of the 112 others 23 validate and 89 train.
    d = result.difference("uniform", "none", "nll")
    difference = result.values("uniform", "nll") - result.values("none", "nll")
    half = 9.924843200918294 * difference.std(ddof=1) * np.sqrt(1 / 3 + 38 / 89)
    assert d.high - d.mean == pytest.approx(half)
    fixed = compare(*iris, **FAST, test=iris)
    d = fixed.difference("uniform", "none", "nll")
    difference = fixed.values("uniform", "nll") - fixed.values("none", "nll")
    half = 9.924843200918294 * difference.std(ddof=1) * np.sqrt(1 / 3)
    assert d.high - d.mean == pytest.approx(half)
    assert "given test set" in fixed.verdict


def test_the_random_state_of_a_classifier_is_that_of_the_seed(iris):
    class Watched(DecisionTreeClassifier):
        seen: ClassVar[list] = []

        def fit(self, *arguments, **options):
            self.seen.append(self.random_state)
            return super().fit(*arguments, **options)

    compare(*iris, make_pipeline(StandardScaler(), Watched()), **FAST)
    assert len(Watched.seen) == 3 * len(ALL)
    assert len(set(Watched.seen)) == 3


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
        n_seeds=3,
        test=(ids + 1000.0, y),
        smoother=StructuralSmoother(n_clusters=2),
    )
    assert result.chosen_alphas() == {0.05: 3}
    # ln 2 on the test rows, although the other choice would have had a lower NLL.
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
    assert len(seen) == 2 * 3 * len(ALL)


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
        assert result.values(method, "error").shape == (3,)
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
    assert len(dying.calls) == 3 * len(ALL) - 7
    assert resumed.to_dict() == compare(*iris, dying, **FAST).to_dict()

    dying.calls = []
    again = compare(*iris, dying, **FAST, results=path)
    assert dying.calls == []
    assert again.to_dict() == resumed.to_dict()
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + 3 * len(ALL)
    assert all(json.loads(line) for line in lines)


def test_more_seeds_can_be_added_to_a_file(tmp_path, iris):
    path, spy = tmp_path / "runs.jsonl", Spy()
    compare(*iris, spy, **FAST, results=path)
    result = compare(*iris, spy, **FAST | {"n_seeds": 4}, results=path)
    assert len(spy.calls) == 4 * len(ALL)
    assert len(result.values("none", "nll")) == 4


def test_a_file_is_a_comparison_without_any_training(tmp_path, iris):
    path = tmp_path / "runs.jsonl"
    result = compare(*iris, **FAST, results=path)
    assert Comparison.load(path).to_dict() == result.to_dict()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))  # the last seed is not finished
    assert len(Comparison.load(path).values("none", "nll")) == 2
    with pytest.raises(FileFormatError, match="no results"):
        Comparison.load(tmp_path / "absent.jsonl")


def test_a_file_with_other_line_ends_loses_nothing(tmp_path, iris):
    path, spy = tmp_path / "runs.jsonl", Spy()
    result = compare(*iris, spy, **FAST, results=path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") + b'{"seed": 1')
    spy.calls = []
    assert compare(*iris, spy, **FAST, results=path).to_dict() == result.to_dict()
    assert spy.calls == []


def test_a_description_cut_short_is_begun_again(tmp_path, iris):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"run": "12')
    compare(*iris, Spy(), **FAST, results=path)
    assert len(path.read_bytes().splitlines()) == 1 + 3 * len(ALL)


def test_models_that_differ_are_told_apart(tmp_path, iris):
    path = tmp_path / "runs.jsonl"
    one, other = (
        make_pipeline(StandardScaler(), c)
        for c in (LogisticRegression(), LogisticRegression(C=0.1))
    )
    compare(*iris, one, **FAST, results=path)
    with pytest.raises(FileFormatError, match="other data or settings"):
        compare(*iris, other, **FAST, results=path)
    assert describe(BaggingClassifier(GaussianNB())) != describe(BaggingClassifier())
    assert describe(partial(noisy_stump, a=1)) != describe(partial(noisy_stump, a=2))
    assert describe(partial(noisy_stump)).startswith("partial(")
    assert describe(LogisticRegression(verbose=1)) == describe(LogisticRegression())


@pytest.mark.parametrize("nameless", [lambda: None, object.__new__(type("A", (), {}))])
def test_what_cannot_be_recognized_again_gets_no_file(tmp_path, iris, nameless):
    function = nameless if callable(nameless) else partial(noisy_stump, x=nameless)
    with pytest.raises(InvalidInputError, match="recognized in another process"):
        compare(*iris, function, **FAST, results=tmp_path / "runs.jsonl")
    assert not (tmp_path / "runs.jsonl").exists()


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


@pytest.mark.parametrize("text", ["dear diary\n", "dear diary", '{"run": 3}\n'])
def test_a_file_of_something_else_is_refused(tmp_path, iris, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match="not a file of results"):
        compare(*iris, Spy(), **FAST, results=path)
    assert path.read_text() == text


# ------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classifier": LinearSVC()}, "must have predict_proba, and LinearSVC"),
        ({"classifier": 3}, "classifier must be a classifier or a function"),
        ({"classifier": SmoothedClassifier()}, "must not smooth by itself"),
        ({"classifier": LinearRegression()}, "trains one, got LinearRegression"),
        (
            {"classifier": LogisticRegression(class_weight="balanced")},
            "must not have class_weight='balanced'",
        ),
        ({"n_seeds": 2}, "n_seeds"),
        ({"smoother": StructuralSmoother(n_clusters=1000)}, "n_clusters"),
        ({"alpha": 0.9}, "alpha"),
        ({"alpha": ()}, "alpha must have at least one value"),
        ({"beta": -1.0}, "beta"),
        ({"test_size": 1.5}, "test_size must be a number between 0 and 1, got 1.5"),
        ({"validation_size": "half"}, "validation_size must be a number"),
        ({"criterion": "accuracy"}, "criterion must be"),
        ({"groups": [1, 2, 3]}, "groups must have one value for each of the 150 rows"),
        ({"groups": np.arange(150) % 2}, "at least 3 distinct values.* with 2 values"),
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


def test_columns_of_a_test_set_are_found_by_name(iris):
    X, y = iris
    table = pd.DataFrame(X, columns=list("abcd"))
    turned = (table[list("dcba")], y)
    expected = compare(table, y, **FAST, test=(table, y)).to_dict()
    assert compare(table, y, **FAST, test=turned).to_dict() == expected


def test_predictions_of_the_wrong_shape_are_refused(iris):
    def train(*_, **__):
        return lambda rows: np.full((len(rows), 4), 0.25)

    with pytest.raises(InvalidInputError, match="must predict 3 probabilities"):
        compare(*iris, train, **FAST)


def test_a_class_too_rare_to_split_is_named(iris):
    X, y = iris
    y = y.copy()
    y[0] = 9
    with pytest.raises(ValueError, match="least populated class"):
        compare(X, y, **FAST)


def test_a_trainer_that_returns_nonsense_is_told_so(iris):
    with pytest.raises(InvalidInputError, match="it returned NoneType"):
        compare(*iris, lambda *_, **__: None, **FAST)


@pytest.mark.parametrize(
    "options", [{}, {"shrink": True}, {"regions": "point"}, {"clusterer": "gmm"}]
)
@pytest.mark.parametrize("alpha", ["auto", "cautious"])
def test_what_is_given_as_a_word_comes_to_what_the_smoother_makes_of_it(
    overlapping, options, alpha
):
    X, y = overlapping
    smoother = StructuralSmoother(n_clusters=4, **options)
    task = Task(
        X=X,
        y=y,
        groups=None,
        test=None,
        n_classes=2,
        smoother=smoother,
        train=lambda *_: None,
        alphas=(alpha,),
        betas=("auto",),
        test_size=0.25,
        validation_size=0.2,
        criterion="nll",
        random_state=5,
    )
    work = SeedWork(task, seed=0)
    fitted = clone(smoother).set_params(
        alpha=alpha, beta="auto", random_state=work._fit_seed
    )
    fitted.fit(X[work.rows], y[work.rows])
    assert work.alphas() == [fitted.alpha_]
    assert work.betas() == [fitted.beta_]
    rows = work.training_set("structural", fitted.alpha_, fitted.beta_)
    np.testing.assert_array_equal(rows.strengths, fitted.sample_strengths_)


# ------------------------------------------------------------- mass by overlap


@pytest.fixture
def three_classes(rng):
    """Classes 0 and 1 overlap on the left, more or less; class 2 stands apart."""
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 3))
    X[:, 0] += np.array([0.0, 0.8, 8.0])[y]
    return X, y


def by_overlap(y):
    """Return strengths, and soft labels whose mass is spread unevenly."""
    strengths = np.where(np.arange(len(y)) % 2, 0.3, 0.1)
    shares = [[0.0, 0.9, 0.1], [0.8, 0.0, 0.2], [0.5, 0.5, 0.0]]
    return strengths, smooth_labels(y, strengths, 3, spread=shares)


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_structural_smoothing_and_its_controls_are_spread_by_overlap(
    three_classes, regions
):
    given = []

    def train(_X, y, strengths, n_classes, soft_labels=None, **_):
        given.append((y, strengths, soft_labels))
        return lambda rows: np.full((len(rows), n_classes), 1.0 / n_classes)

    smoother = StructuralSmoother(n_clusters=4, regions=regions, spread="overlap")
    compare(*three_classes, train, smoother=smoother, **FAST)
    assert [soft is None for _, _, soft in given[:5]] == [True, True] + [False] * 3
    shares = []
    smoothed = np.min([strengths for _, strengths, _ in given[2:5]], axis=0) > 0.0
    for y, strengths, soft in given[2:5]:
        own = np.arange(len(y)), y
        np.testing.assert_allclose(1.0 - soft[own], strengths, atol=1e-12)
        others = soft.copy()
        others[own] = 0.0
        shares.append(others[smoothed] / strengths[smoothed, np.newaxis])
    np.testing.assert_allclose(shares[1], shares[0], atol=1e-12)
    np.testing.assert_allclose(shares[2], shares[0], atol=1e-12)
    assert shares[0].max() > 0.9  # more than the even half


def test_spread_counts_where_strengths_do_not_differ(three_classes):
    smoother = StructuralSmoother(n_clusters=1, spread="overlap")
    result = compare(*three_classes, smoother=smoother, **FAST)
    assert "nothing to compare" not in result.verdict
    assert result.difference("structural", "uniform", "nll").mean != 0.0


def test_a_function_without_soft_labels_cannot_spread_by_overlap(three_classes):
    smoother = StructuralSmoother(spread="overlap")
    for function in (Spy(), noisy_stump):  # **options would swallow them
        with pytest.raises(InvalidInputError, match="parameter soft_labels") as caught:
            compare(*three_classes, function, smoother=smoother, **FAST)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", BOOSTING)
def test_boosting_trains_on_the_soft_labels(three_classes, name):
    pytest.importorskip(name)
    X, y = three_classes
    strengths, soft = by_overlap(y)
    learner = make_learner(name)
    few = {"catboost": {"iterations": 5, "random_seed": 3}}
    learner.set_params(**few.get(name, {"n_estimators": 5, "random_state": 3}))
    expected = fit_smoothed(learner, X, y, soft_labels=soft).predict_proba(X)
    for classifier in (learner, make_pipeline("passthrough", learner)):
        train = trainer_of(classifier)
        found = train(TrainingSet(X, y, strengths, 3, 3, soft))(X)
        np.testing.assert_array_equal(found, expected)
        even = train(TrainingSet(X, y, strengths, 3, 3))(X)
        assert np.abs(even - found).max() > 1e-3


def test_trees_train_on_the_soft_labels(three_classes):
    X, y = three_classes
    strengths, soft = by_overlap(y)
    train = trainer_of(DecisionTreeClassifier())
    found = train(TrainingSet(X, y, strengths, 3, 0, soft))(X)
    np.testing.assert_allclose(found, soft, atol=1e-12)  # every row has its own leaf


def test_copied_rows_are_weighted_by_the_soft_labels(three_classes):
    X, y = three_classes
    strengths, soft = by_overlap(y)
    rows, labels = np.nonzero(soft)
    expected = GaussianNB().fit(X[rows], labels, soft[rows, labels]).predict_proba(X)
    found = trainer_of(GaussianNB())(TrainingSet(X, y, strengths, 3, 0, soft))(X)
    np.testing.assert_allclose(found, expected)
