"""The summary of a report: how hard the data are, and what smoothing will do."""

from __future__ import annotations

from structsmooth.bayes_error.bounds import BayesErrorBounds
from structsmooth.bayes_error.shrinkage import Shrinkage
from structsmooth.report.checks import MANY_DIMENSIONS, signal_around_points
from structsmooth.report.model import PASS, Check, Verdict
from structsmooth.report.view import View
from structsmooth.report.words import percent, percents, plural, points, short, strength
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.epsilon import epsilon_from_alpha

# The ratio of the estimated Bayes error to the error of always predicting the largest
# class, below which each level applies.
LEVELS = (
    (0.04, "apart", "The classes hardly overlap"),
    (0.15, "little", "The classes overlap a little"),
    (0.40, "clear", "The classes overlap clearly"),
    (0.80, "strong", "The classes overlap strongly"),
    (float("inf"), "mixed", "These features hardly tell the classes apart"),
)
UNSURE = ("unsure", "Too few rows to say how much the classes overlap")
# A smaller saving than this is called little.
SMALL_SAVING = 0.02


def make_verdict(
    smoother: StructuralSmoother,
    shrinkage: Shrinkage,
    checks: tuple[Check, ...],
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
    advice = _advice(smoother, uniform, has_structure and saved >= SMALL_SAVING)
    if view is not None and len(view.ambiguous):
        advice.append(
            "Look through the most ambiguous samples in this report: each is a hard "
            "case or has a wrong label."
        )
    advice += [c.advice for c in checks if c.status != PASS and c.advice]
    return Verdict(
        level=level,
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
        reach=_reach(whole, smoother.structure_.regions.centers.shape[1]),
        smoothing=_smoothing(smoother, uniform, has_structure, saved),
        advice=tuple(dict.fromkeys(advice)),
    )


def _place(lower: float, chance_error: float) -> int:
    """Return which of the levels an error belongs to."""
    ratio = lower / chance_error if chance_error > 0.0 else 0.0
    return sum(ratio >= limit for limit, _, _ in LEVELS)


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
        f"which are not near in {plural(n_dimensions, 'dimension')}. There the "
        "estimate comes out too high, and good classifiers do better than the “lower” "
        "bound: on 26 071 rows of HIGGS the bound is 31\u00a0%, and boosted trees have "
        "an error of 28\u00a0%. Use it to compare regions of these data."
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
        "Only held-out rows can tell whether a classifier trained on them does better."
    )


def _advice(
    smoother: StructuralSmoother, uniform: str, is_worthwhile: bool
) -> list[str]:
    """Return what to train with, and which classes to look at."""
    advice = []
    if is_worthwhile:
        advice.append(
            "Train on the soft labels or strengths, and compare with uniform smoothing "
            f"({uniform}) and with none on held-out rows; “structsmooth compare” does "
            "this over paired splits and says when there is no difference."
        )
    elif smoother.alpha_ > 0.0:
        advice.append(
            f"Start from your framework's {uniform}, or from none: these data give "
            "little reason to expect more from structural smoothing. “structsmooth "
            "compare” measures it on held-out rows."
        )
    counts = smoother.bayes_error_bounds_.crossing_counts
    if len(counts) and len(smoother.classes_) > 2:
        pair = smoother.bayes_error_bounds_.crossing_pairs[counts.argmax()]
        first, second = (short(str(name)) for name in smoother.classes_[pair].tolist())
        share = percent(float(counts.max() / counts.sum()), 0)
        advice.append(
            f"The pair that overlaps most is {first} and {second} ({share} of the "
            "edges between classes): look there first for features that would tell "
            "classes apart."
        )
    return advice
