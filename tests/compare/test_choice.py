"""What a comparison recommends: chosen on validation rows, ready to be pasted."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from structsmooth import StructuralSmoother
from structsmooth.compare import Comparison, compare
from structsmooth.compare.arms import OPTIONS, arms_of
from structsmooth.errors import InvalidInputError, InvalidParameterError

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)
METHODS = ("none", "uniform", "structural", "reversed", "shuffled", "default")


def comparison(
    validation, *, n_train=100, n_validation=25, test=None, guarded=None, **given
):
    """Return a result whose methods have these NLLs on validation rows, by seed.

    AURCs are 0.2, if ``guarded`` does not say otherwise.
    """
    chosen = []
    for method in METHODS:
        values = validation.get(method, [9.0, 9.0, 9.0])
        for seed, value in enumerate(values):
            found = dict.fromkeys(("error", "nll", "brier", "ece"), value)
            found["aurc"] = (guarded or {}).get(method, [0.2] * 3)[seed]
            tested = dict.fromkeys(found, (test or {}).get(method, 1.0))
            run = {"seed": seed, "method": method, "alpha": 0.05, "beta": 0.5}
            run |= {"given": given.get(method, [0.05, 0.5])}
            run |= {"n_train": n_train, "n_validation": n_validation, "n_test": 30}
            run |= {"validation": found, "test": tested}
            chosen.append(run | ({"arm": "x"} if method == "default" else {}))
    settings = {"criterion": "nll", "test_size": 0.25}
    description = {"settings": settings, "classes": ["a", "b"]}
    return Comparison(description, chosen)


def test_the_best_is_chosen_if_it_is_better_by_more_than_an_error():
    # Differences -0.3, -0.4, -0.5: mean -0.4, standard deviation 0.1, and the error
    # with 25 validation for 100 training rows is 0.1 sqrt(1/3 + 1/4) = 0.076.
    result = comparison({"none": [1.0, 1.0, 1.0], "structural": [0.7, 0.6, 0.5]})
    assert result.choice.method == "structural"
    assert "Structural has the lowest NLL on validation rows" in result.choice.reason
    assert (result.best.alpha, result.best.beta) == (0.05, 0.5)


@pytest.mark.parametrize(("shift", "expected"), [(0.07, "none"), (0.08, "uniform")])
def test_one_corrected_standard_error_is_the_limit(shift, expected):
    # The differences have the standard deviation 0.1 around the shift; the error is
    # 0.1 sqrt(1/3 + 1/4) = 0.0764.
    uniform = np.array([0.9, 1.0, 1.1]) - shift
    result = comparison({"none": [1.0, 1.0, 1.0], "uniform": uniform})
    assert result.choice.method == expected


@pytest.mark.parametrize(("harm", "expected"), [(0.07, "default"), (0.08, "uniform")])
def test_a_better_likelihood_must_not_cost_a_higher_aurc(harm, expected):
    # As above, 0.0764 is the limit; uniform smoothing is second best, and harmless.
    validation = {"none": [1.0, 1.0, 1.0], "uniform": [0.6, 0.7, 0.8]}
    validation["default"] = [0.1, 0.2, 0.3]
    guarded = {"default": np.array([0.1, 0.2, 0.3]) + harm}
    result = comparison(validation, guarded=guarded)
    assert result.choice.method == expected
    said = "Left out for a higher AURC: default."
    assert (said in result.choice.reason) == (expected == "uniform")
    assert ("that do no harm" in result.choice.reason) == (expected == "uniform")


def test_of_those_within_an_error_the_first_by_preference():
    validation = {"uniform": [0.5, 0.6, 0.7], "structural": [0.51, 0.6, 0.69]}
    assert comparison(validation).choice.method == "structural"
    validation["default"] = [0.52, 0.6, 0.69]
    result = comparison(validation)
    assert result.choice.method == "default"
    assert "is within one standard error of it" in result.choice.reason
    assert result.best.get_params() == StructuralSmoother().get_params()


def test_controls_are_never_recommended():
    result = comparison({"none": [1.0, 1.0, 1.1], "shuffled": [0.1, 0.1, 0.1]})
    assert result.choice.method == "none"


def test_test_rows_choose_nothing():
    validation = {"none": [1.0, 1.1, 1.2], "structural": [0.7, 0.6, 0.5]}
    for test in ({"none": 0.0}, {"structural": 0.0}):
        assert comparison(validation, test=test).choice.method == "structural"


def test_not_to_smooth_is_none():
    result = comparison({"none": [1.0, 1.1, 1.2]})
    assert result.best is None
    assert result.choice.headline == "Do not smooth."
    assert result.choice.options is None
    assert result.to_dict()["decision"]["smooth"] is False


def test_uniform_smoothing_is_beta_0_and_says_its_label_smoothing():
    result = comparison({"uniform": [0.1, 0.2, 0.3]}, uniform=[0.05, None])
    assert (result.best.alpha, result.best.beta) == (0.05, 0.0)
    assert "label_smoothing=0.1)" in result.choice.headline  # 0.05 * 2 for two classes
    assert result.choice.options == ["--alpha", "0.05", "--beta", "0"]


def test_words_are_recommended_as_words():
    result = comparison({"structural": [0.1, 0.2, 0.3]}, structural=["auto", "auto"])
    assert result.choice.options == ["--alpha", "auto", "--beta", "auto"]
    assert "alpha='auto', beta='auto'" in result.choice.python


def test_two_seeds_decide_nothing():
    result = comparison(
        {"none": [1.0, 1.0], "default": [0.1, 0.1]}
        | {method: [9.0, 9.0] for method in METHODS[1:5]}
    )
    assert result.best is None
    assert "too few seeds" in result.choice.reason
    assert "too few to judge" in result.verdict


# -------------------------------------------------------------------------- arms


def test_arms_change_options_of_the_smoother_and_nothing_else():
    given = StructuralSmoother(0.03, n_clusters=7, reducer="none")
    arms = {arm.name: arm for arm in arms_of(["points", "shrink+overlap"], given)}
    assert list(arms) == ["default", "points", "shrink+overlap"]
    assert arms["default"].smoother is given
    points = given.get_params() | {"regions": "point"}
    assert arms["points"].smoother.get_params() == points
    both = given.get_params() | {"shrink": True, "spread": "overlap"}
    assert arms["shrink+overlap"].smoother.get_params() == both
    assert [arm.name for arm in arms_of("all", given)] == ["default", *OPTIONS]


@pytest.mark.parametrize(
    ("arms", "error", "message"),
    [
        (["oracle"], InvalidParameterError, "points, overlap, shrink, out-of-fold"),
        ([3], InvalidParameterError, "got 3"),
        ({"mine": "auto"}, InvalidInputError, "got str for 'mine'"),
        ({"none": StructuralSmoother()}, InvalidInputError, "names other than none"),
        ({"default": StructuralSmoother()}, InvalidInputError, "names other than"),
    ],
)
def test_wrong_arms_get_one_sentence(arms, error, message):
    with pytest.raises(error, match=message):
        arms_of(arms, StructuralSmoother())


class Watching:
    """A trainer that remembers what it was given, and predicts frequencies."""

    def __init__(self):
        self.given = []

    def __call__(self, X, y, strengths, n_classes, random_state, soft_labels=None):
        self.given.append((X, y, strengths, random_state, soft_labels))
        p = np.bincount(y, minlength=n_classes) / len(y)
        return lambda rows: np.tile(p, (len(rows), 1))

    def __repr__(self):
        return "Watching()"


FAST = {"alpha": 0.1, "beta": "auto", "n_seeds": 3}


@pytest.mark.parametrize("name", ["points", "overlap", "shrink", "points+overlap"])
def test_an_arm_trains_with_what_its_smoother_finds(overlapping, name):
    X, y = overlapping
    base = StructuralSmoother(n_clusters=4)
    train = Watching()
    compare(X, y, train, smoother=base, arms=[name], **FAST)
    own = arms_of([name], base)[-1].smoother
    rows, labels, strengths, seed, soft = train.given[6]  # the last of the first seed
    own.set_params(random_state=seed).fit(rows, labels)
    np.testing.assert_array_equal(strengths, own.sample_strengths_)
    if own.spread == "overlap":
        np.testing.assert_array_equal(soft, own.smooth_fitted(labels))
    else:
        assert soft is None


def test_the_arm_default_is_the_smoother_as_it_is(overlapping):
    X, y = overlapping
    train = Watching()
    compare(X, y, train, smoother=StructuralSmoother(0.03, 0.2, n_clusters=4), **FAST)
    rows, labels, strengths, seed, _ = train.given[5]
    own = StructuralSmoother(0.03, 0.2, n_clusters=4, random_state=seed)
    np.testing.assert_array_equal(strengths, own.fit(rows, labels).sample_strengths_)


def test_out_of_fold_outputs_come_from_models_that_did_not_see_the_row():
    # Each row can be recognized; the first models say how often they saw it.
    X, y = np.arange(200.0)[:, np.newaxis], np.arange(200) % 2
    seen = []

    def train(rows, _y, strengths, **_):
        known = set(rows[:, 0])
        is_first = not strengths.any() and len(rows) < 120  # 4 of 5 folds

        def predict(others):
            if is_first:
                seen.append(len(known & set(others[:, 0])))
            p = 0.1 + 0.8 * others[:, 0] / 200.0
            return np.column_stack([p, 1.0 - p])

        return predict

    compare(X, y, train, arms=["out-of-fold"], **FAST)
    assert seen == [0] * (5 * 3)


def test_a_split_is_measured_once(overlapping, monkeypatch):
    fits = []
    fit = StructuralSmoother.fit

    def counting(self, *arguments):
        fits.append(self)
        return fit(self, *arguments)

    monkeypatch.setattr(StructuralSmoother, "fit", counting)
    options = FAST | {"alpha": (0.05, 0.1, "auto")}
    compare(*overlapping, Watching(), arms=["points", "overlap", "shrink"], **options)
    assert len(fits) == 3  # one for each seed


def test_arms_can_be_added_to_a_file(overlapping, tmp_path):
    path, train = tmp_path / "runs.jsonl", Watching()
    first = compare(*overlapping, train, **FAST, results=path)
    n_before = len(train.given)
    second = compare(*overlapping, train, arms=["points"], **FAST, results=path)
    assert len(train.given) == n_before + 3
    assert second.methods == (*first.methods, "points")
    assert Comparison.load(path).methods == second.methods
    # Another smoother of the same name is another arm.
    mine = {"points": StructuralSmoother(n_clusters=2)}
    compare(*overlapping, train, arms=mine, **FAST, results=path)
    assert len(train.given) == n_before + 6


def test_a_chosen_smoother_is_ready_to_be_fitted_after_loading_too(tmp_path, rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    path = tmp_path / "runs.jsonl"
    smoother = StructuralSmoother(0.2, n_clusters=3)
    learner = DecisionTreeClassifier()
    options = FAST | {"alpha": 0.02, "results": path}
    result = compare(X, y, learner, smoother=smoother, **options)
    assert result.choice.method == "default"
    for found in (result, Comparison.load(path)):
        assert found.best.get_params() == smoother.get_params()
        assert found.best.fit(X, y).alpha_ == 0.2


def test_a_smoother_that_a_file_cannot_hold_is_said_to_be_missing(tmp_path, rng):
    from sklearn.cluster import KMeans

    X, path = rng.normal(size=(200, 2)), tmp_path / "runs.jsonl"
    smoother = StructuralSmoother(clusterer=KMeans(3, n_init=1))
    compare(X, np.arange(200) % 2, Watching(), smoother=smoother, **FAST, results=path)
    with pytest.raises(ValueError, match="does not hold the smoother's clusterer"):
        _ = Comparison.load(path).smoother


# ---------------------------------------------------------------- after training


def test_cures_are_fitted_on_validation_rows(rng):
    # Too sharp by a factor of 3 on validation rows, and honest on test rows.
    p1 = rng.uniform(0.05, 0.95, 4000)
    y = (rng.random(4000) < p1).astype(int)
    X = np.column_stack([np.log(p1 / (1 - p1)), np.zeros(4000)])

    def train(*_, **__):
        def predict(rows):
            factor = np.where(rows[:, 1] > 0.5, 1.0, 3.0)
            p = 1.0 / (1.0 + np.exp(-factor * rows[:, 0]))
            return np.column_stack([1 - p, p])

        return predict

    test = (X + [0.0, 1.0], y)
    few = StructuralSmoother(n_clusters=2)
    result = compare(X, y, train, test=test, smoother=few, **FAST)
    found = [run["temperature"]["value"] for run in result.chosen]
    assert found == pytest.approx([3.0] * len(found), rel=0.2)
    scaled = result.values("none", "nll", after="temperature", rows="validation")
    assert (scaled < result.values("none", "nll", rows="validation")).all()
    scaled = result.values("none", "nll", after="temperature")
    assert (scaled > result.values("none", "nll")).all()
    assert {run["pnorm"]["value"] for run in result.chosen} == {None}  # two classes
    assert "scaled" in result.to_markdown()
