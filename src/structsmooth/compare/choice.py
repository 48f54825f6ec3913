"""What to use, chosen on validation rows only.

By the rule of `structsmooth.metrics.preference`, with no smoothing first; then the
smoother as it is, which leaves nothing to tune, its options, and structural smoothing
with a chosen alpha and beta; uniform smoothing last, because where the criterion does
not tell them apart it does more harm to selective prediction. A method is left out if
its AURC is clearly higher than that of no smoothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from structsmooth.compare.arms import DEFAULT, OUT_OF_FOLD, arms_of
from structsmooth.compare.statistics import NAMES
from structsmooth.errors import InvalidParameterError
from structsmooth.metrics.preference import preferred
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.epsilon import epsilon_from_alpha

if TYPE_CHECKING:
    from structsmooth.compare.result import Comparison

CONTROLS = ("reversed", "shuffled")
LAST = ("structural", "uniform")
FEWEST_SEEDS = 3
# Options of the command line by the parameters that they set.
WORDS = {"regions": "--regions", "spread": "--spread"}


@dataclass(frozen=True, eq=False)
class Choice:
    """What to use.

    Attributes
    ----------
    method : str
        "none", "uniform", "structural", or the name of an arm.
    smoother : StructuralSmoother or None
        Ready to be fitted; None if it is best not to smooth.
    out_of_fold : bool
        Whether to fit it to out-of-fold outputs of a first model, not to the features.
    headline, reason : str
        The decision in a sentence, and why.
    suspects : {"keep", "weigh", "drop"}
        What all models were trained with, see `compare`.
    """

    method: str
    smoother: StructuralSmoother | None
    out_of_fold: bool
    headline: str
    reason: str
    suspects: str = "keep"

    @property
    def python(self) -> str:
        """The lines to paste into a program."""
        how = f"sample_weight({self.suspects!r})  # of all rows, to train with"
        if self.smoother is None and self.suspects != "keep":
            call = f"weights = find_suspects(X, y).{how}"
            return "\n".join(["from structsmooth import find_suspects", "", call])
        if self.smoother is None:
            return "# train on the labels as they are"
        lines = ["from structsmooth import StructuralSmoother", ""]
        features = "X"
        if self.out_of_fold:
            lines.insert(0, "from sklearn.model_selection import cross_val_predict")
            features = "outputs"
            lines += [
                'outputs = cross_val_predict(classifier, X, y, cv=5, method="predict_'
                'log_proba")'
            ]
        text = ", ".join(f"{k}={v!r}" for k, v in _changed(self.smoother).items())
        lines += [
            f"smoother = StructuralSmoother({text})",
            f"soft_labels = smoother.fit_smooth({features}, y)",
        ]
        if self.suspects != "keep" and self.out_of_fold:
            lines[0] += "\nfrom structsmooth import find_suspects"
            lines.append(f"weights = find_suspects(X, y).{how}")
        elif self.suspects != "keep":
            lines.append(f"weights = smoother.suspects_.{how}")
        return "\n".join(lines)

    @property
    def options(self) -> list[str] | None:
        """What to add to ``structsmooth fit``; None if it cannot be done there."""
        if self.smoother is None or self.out_of_fold:
            return None
        parameters = self.smoother.get_params(deep=False)
        found = ["--alpha", _text(parameters["alpha"])]
        found += ["--beta", _text(parameters["beta"])]
        usual = StructuralSmoother().get_params(deep=False)
        for name, option in WORDS.items():
            if parameters[name] != usual[name]:
                found += [option, parameters[name]]
        found += ["--shrink"] * bool(parameters["shrink"])
        return found + ["--ignore-suspects"] * bool(parameters["ignore_suspects"])

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as text and numbers, for JSON."""
        found: dict[str, Any] = {"smooth": self.smoother is not None}
        if self.smoother is not None:
            found |= {"alpha": self.smoother.alpha, "beta": self.smoother.beta}
        return {
            "method": self.method,
            **found,
            "out_of_fold": self.out_of_fold,
            "suspects": self.suspects,
            "headline": self.headline,
            "reason": self.reason,
            "python": self.python,
            "options": self.options,
        }


def choose_method(result: Comparison) -> Choice:
    """Return what to use, by the validation rows of a comparison."""
    criterion, name = result.criterion, NAMES[result.criterion]
    arms = [m for m in result.methods if m not in ("none", *CONTROLS, *LAST)]
    order = ["none", *arms, *LAST]
    values = {m: result.values(m, criterion, rows="validation") for m in order}
    if result.n_seeds < FEWEST_SEEDS:
        reason = f"There are too few seeds for a decision, {FEWEST_SEEDS} are needed."
        return Choice("none", None, False, "Do not smooth yet.", reason)
    ratio = np.mean([run["n_validation"] / run["n_train"] for run in result.chosen])
    aurc = np.array([result.values(m, "aurc", rows="validation") for m in order])
    preference = preferred(np.array(list(values.values())), float(ratio), aurc)
    best, method = order[preference.best], order[preference.index]
    means = {m: f"{m} {_number(criterion, values[m].mean())}" for m in order}
    listed = ", ".join(means.values())
    lowest, chosen = ("no smoothing" if m == "none" else m for m in (best, method))
    harmful = [order[i] for i in np.flatnonzero(preference.does_harm)]
    why = f"{lowest} has the lowest {name} on validation rows"
    if harmful:
        why += " of all methods that do no harm"
    if method != best:
        why += f", but {chosen} is within one standard error of it, and simpler"
    smoother, out_of_fold = _smoother_of(result, method)
    return Choice(
        method,
        smoother,
        out_of_fold,
        _headline(result, method, smoother),
        f"{why[0].upper()}{why[1:]} (means over {result.n_seeds} seeds: {listed})."
        + (f" Left out for a higher AURC: {', '.join(harmful)}." if harmful else "")
        + _about_temperature(result, method),
        result.description["settings"].get("suspects", "keep"),
    )


def _smoother_of(
    result: Comparison, method: str
) -> tuple[StructuralSmoother | None, bool]:
    if method == "none":
        return None, False
    if method not in LAST:
        for arm in result.arms or arms_of((), result.smoother):
            if arm.name == method:
                return clone(arm.smoother), arm.out_of_fold
        try:  # from a file, which has names only
            arm = arms_of([method], result.smoother)[-1]
        except InvalidParameterError:
            raise InvalidParameterError(
                f"a file of results does not hold the smoother of the arm {method!r}, "
                "which is best; run compare again with the same file and arms"
            ) from None
        return arm.smoother, arm.out_of_fold
    runs = [run for run in result.chosen if run["method"] == method]
    given = [tuple(run.get("given", (run["alpha"], run["beta"]))) for run in runs]
    alpha, beta = Counter(given).most_common(1)[0][0]
    smoother: StructuralSmoother = clone(result.smoother)
    smoother.set_params(alpha=alpha, beta=beta)
    if method == "uniform":
        smoother.set_params(beta=0.0, regions="cluster", spread="even", shrink=False)
    return smoother, False


def _headline(
    result: Comparison, method: str, smoother: StructuralSmoother | None
) -> str:
    if smoother is None:
        return "Do not smooth."
    if method == DEFAULT:
        return "Smooth, with the smoother as it is."
    if method == "uniform":
        n_classes = len(result.description["classes"])
        if isinstance(smoother.alpha, str):
            return f"Smooth uniformly, with alpha={smoother.alpha!r}."
        epsilon = epsilon_from_alpha(smoother.alpha, n_classes)
        return (
            f"Smooth uniformly, with alpha={smoother.alpha:g} (label_smoothing="
            f"{epsilon:.3g})."
        )
    if method == "structural":
        alpha, beta = _text(smoother.alpha), _text(smoother.beta)
        return f"Smooth, with alpha={alpha} and beta={beta}."
    if OUT_OF_FOLD in method.split("+"):
        return f"Smooth by the outputs of a first model ({method})."
    return f"Smooth, with the option {method}."


def _about_temperature(result: Comparison, method: str) -> str:
    """Return how temperature scaling without smoothing compares, on test rows."""
    criterion = result.criterion
    if not result.has_cures or criterion not in ("nll", "brier", "ece"):
        return ""
    scaled = result.values("none", criterion, after="temperature").mean()
    as_it_is = result.values(method, criterion).mean()
    name = NAMES[criterion]
    other = "" if method == "none" else f" (the choice: {_number(criterion, as_it_is)})"
    return (
        f" Without smoothing, temperature scaling gives {name} "
        f"{_number(criterion, scaled)} on test rows{other}."
    )


def _changed(smoother: StructuralSmoother) -> dict[str, Any]:
    """Return the parameters that are not the defaults; alpha and beta always."""
    usual = StructuralSmoother().get_params(deep=False)
    given = smoother.get_params(deep=False)
    first = {name: given[name] for name in ("alpha", "beta")}
    others = {k: v for k, v in given.items() if v is not usual[k] and v != usual[k]}
    return first | others


def _number(criterion: str, value: float) -> str:
    if criterion in ("error", "ece", "aurc"):
        return f"{100.0 * value:.2f} %"
    return f"{value:.4f}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
