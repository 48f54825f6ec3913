"""The summary of a report: how hard the data are, and what smoothing will do."""

from __future__ import annotations

from collections.abc import Sequence

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.shrinkage import Shrinkage
from structsmooth.report.checks import MANY_DIMENSIONS, signal_around_points
from structsmooth.report.model import PASS, Check, ClusterRow, Verdict
from structsmooth.report.snippets import NONE, STRUCTURAL, UNIFORM
from structsmooth.report.view import View
from structsmooth.report.words import percent, percents, plural, points, short, strength
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.epsilon import epsilon_from_alpha

# The ratio of the estimated Bayes error to the error of always predicting the largest
# class, below which each level applies.
APART, MIXED = "apart", "mixed"
LEVELS = (
    (0.04, APART, "The classes hardly overlap"),
    (0.15, "little", "The classes overlap a little"),
    (0.40, "clear", "The classes overlap clearly"),
    (0.80, "strong", "The classes overlap strongly"),
    (float("inf"), MIXED, "These features hardly tell the classes apart"),
)
UNSURE = ("unsure", "Too few rows to say how much the classes overlap")
# A smaller saving than this is called little.
SMALL_SAVING = 0.02
# Checks whose advice is on how to smooth, which helps nobody who should not.
ON_SMOOTHING = ("noise", "one-class-clusters", "box")


def make_verdict(
    smoother: StructuralSmoother,
    shrinkage: Shrinkage,
    checks: tuple[Check, ...],
    clusters: tuple[ClusterRow, ...],
    names: Sequence[str],
    view: View | None = None,
) -> Verdict:
    """Summarize the fit; ``shrinkage`` is that of the clusters."""
    whole = smoother.bayes_error_bounds_
    largest = float(whole.class_counts.max() / whole.n_samples)
    _, level, phrase = LEVELS[_place(whole.lower, 1.0 - largest)]
    ends = [_place(end, 1.0 - largest) for end in whole.lower_interval]
    if ends[1] - ends[0] > 1:
        level, phrase = UNSURE
    saved = 0.0
    if smoother.uniform_bias_ > 0.0:
        saved = 1.0 - smoother.bias_ / smoother.uniform_bias_
    has_structure = shrinkage.spread > 0.0 or signal_around_points(smoother) > 0.0
    error = percents(whole.lower, whole.upper)
    epsilon = epsilon_from_alpha(smoother.alpha_, len(smoother.classes_))
    uniform = f"label_smoothing={epsilon:.3g}"
    answer = _answer(smoother.alpha_, level, has_structure, saved)
    advice = [_how_to_train(answer, level, uniform)]
    advice += _classes_to_look_at(whole, names)
    if view is not None and len(view.ambiguous):
        advice.append(
            "Look through the most ambiguous samples in this report: each is a hard "
            "case or has a wrong label."
        )
    advice += [
        check.advice
        for check in checks
        if check.status != PASS
        and check.advice
        and not (answer == NONE and check.key in ON_SMOOTHING)
    ]
    return Verdict(
        level=level,
        answer=answer,
        headline=f"{phrase}: estimated Bayes error {error}.",
        lower=whole.lower,
        upper=whole.upper,
        interval=whole.interval,
        confidence=whole.confidence,
        largest_class_share=largest,
        has_structure=has_structure,
        p_value=shrinkage.p_value,
        bias=smoother.bias_,
        uniform_bias=smoother.uniform_bias_,
        saved=saved,
        difficulty="The estimated Bayes error, the share that even the best classifier "
        f"gets wrong, is {error} ({percent(whole.confidence, 0)} interval "
        f"{percents(*whole.interval)}). Always predicting the largest class gets "
        f"{percent(1.0 - largest)} wrong.",
        hardest=_hardest(clusters[0], whole.lower),
        reach=_reach(whole, smoother.structure_.regions.centers.shape[1]),
        smoothing=_smoothing(smoother, uniform, has_structure, saved),
        advice=tuple(dict.fromkeys(advice)),
    )


def _place(lower: float, chance_error: float) -> int:
    """Return which of the levels an error belongs to."""
    ratio = lower / chance_error if chance_error > 0.0 else 0.0
    return sum(ratio >= limit for limit, _, _ in LEVELS)


def _answer(alpha: float, level: str, has_structure: bool, saved: float) -> str:
    """Decide what to smooth with.

    With nothing, if alpha is 0; if the classes hardly overlap, because then the labels
    are almost certain; or if the features hardly tell the classes apart and no cluster
    differs, because then something else is wrong. With structural strengths, if
    clusters differ by more than noise and these strengths have clearly less bias than
    uniform ones. Otherwise with uniform strengths.
    """
    if alpha == 0.0 or level == APART or (level == MIXED and not has_structure):
        return NONE
    return STRUCTURAL if has_structure and saved >= SMALL_SAVING else UNIFORM


def _hardest(first: ClusterRow, mean: float) -> str:
    """Return what is known of the first cluster, if it is harder than the mean."""
    if not first.differs or first.lower <= mean:
        return ""
    said = (
        f"The cluster that is hardest for certain is cluster {first.cluster}, with "
        f"{percent(first.weight)} of the rows and an estimated Bayes error of "
        f"{percents(first.lower, first.upper)}"
    )
    if first.distinctions:
        said += ". What distinguishes it: " + "; ".join(map(str, first.distinctions))
    return said + "."


def _reach(whole: BayesErrorBounds, n_dimensions: int) -> str:
    if whole.lower < 0.0005:
        return (
            "By this estimate these features separate the classes, and no accuracy is "
            "out of reach. It is an estimate from the rows of the fit; there may still "
            "be errors on new rows."
        )
    said = (
        "If the estimate is right, an accuracy above about "
        f"{percent(1.0 - whole.lower)} is out of reach for a classifier that sees only "
        "these features. It is an estimate, not a limit: it comes from the labels of "
        "near neighbors, "
    )
    if n_dimensions <= MANY_DIMENSIONS:
        return said + (
            "and the intervals cover its sampling error, not its bias. Good "
            "classifiers can do somewhat better."
        )
    return said + (
        f"which are not near in {plural(n_dimensions, 'dimension')}. So the estimate "
        "comes out too high, and good classifiers do better than the “lower” bound: on "
        "26 071 rows of HIGGS the bound is 31\u00a0%, and boosted trees have an error "
        "of 28\u00a0%. Use the estimate to compare regions of these data."
    )


def _smoothing(
    smoother: StructuralSmoother, uniform: str, has_structure: bool, saved: float
) -> str:
    values = smoother.sample_strengths_
    alpha = strength(smoother.alpha_)
    if smoother.alpha_ == 0.0:
        return "Alpha is 0: labels are not smoothed at all."
    if values.max() - values.min() <= 1e-9:
        return f"All strengths are {alpha}: this is uniform smoothing, {uniform}."
    less = f"{percent(saved)} less" if saved > 0.0005 else "no difference"
    said = (
        f"Strengths range from {strength(values.min())} to {strength(values.max())}, "
        f"with mean {alpha}; uniform smoothing of the same mean is {uniform}. By the "
        f"estimates, these strengths move the Bayes error by {points(smoother.bias_)} "
        f"and uniform ones by {points(smoother.uniform_bias_)}: {less}. "
    )
    if not has_structure:
        return said + (
            "But the differences between clusters may be noise: uniform smoothing "
            "would do as well."
        )
    if saved < SMALL_SAVING:
        return said + (
            "That is little: expect structural and uniform smoothing to do about the "
            "same."
        )
    return said + (
        "Only held-out rows can tell whether a classifier trained with these strengths "
        "does better."
    )


def _how_to_train(answer: str, level: str, uniform: str) -> str:
    if answer == STRUCTURAL:
        return (
            "Train on the soft labels or strengths, and compare with uniform smoothing "
            f"({uniform}) and with none on held-out rows; “structsmooth compare” does "
            "this over paired splits and says when there is no difference."
        )
    if answer == UNIFORM:
        return (
            f"Start from your framework's {uniform}, or from none: these data give "
            "little reason to expect more from structural smoothing. “structsmooth "
            "compare” measures it on held-out rows."
        )
    if level == APART:
        return (
            "Do not smooth: the classes hardly overlap, so the labels are almost "
            "certain, and smoothed labels would only make a classifier less confident "
            "than it should be. Train as usual."
        )
    if level == MIXED:
        return (
            "Do not smooth yet: neighbors agree hardly more often than labels drawn at "
            "random would, in all clusters alike. First check that the labels belong "
            "to the rows, or use other features."
        )
    return "Do not smooth: alpha is 0, so the labels stay as they are. Train as usual."


def _classes_to_look_at(whole: BayesErrorBounds, names: Sequence[str]) -> list[str]:
    counts = whole.crossing_counts
    if not len(counts) or len(names) <= 2:
        return []
    first, second = whole.crossing_pairs[counts.argmax()].tolist()
    share = percent(float(counts.max() / counts.sum()), 0)
    return [
        f"The pair of classes that overlaps most is {short(names[first])} and "
        f"{short(names[second])} ({share} of the edges between classes): look first "
        "for features that tell these two apart."
    ]
