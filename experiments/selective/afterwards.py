"""What is mended after training: temperature scaling and MaxLogit-pNorm."""

from __future__ import annotations

import numpy as np

from structsmooth.metrics import (
    area_under_generalized_risk_coverage,
    area_under_risk_coverage,
    evaluate,
    excess_area_under_risk_coverage,
)
from structsmooth.metrics.posthoc import fit_temperature, max_logit_p_norm, scale

METRICS = ("error", "nll", "brier", "ece", "aurc", "e_aurc", "augrc")
SELECTIVE = {
    "aurc": area_under_risk_coverage,
    "e_aurc": excess_area_under_risk_coverage,
    "augrc": area_under_generalized_risk_coverage,
}
# What is recorded of an arm; p is 0 if the probability itself is the confidence.
COLUMNS = {
    "plain": METRICS,
    "temperature": METRICS,
    "p-norm": tuple(SELECTIVE),
    "validation": ("error", "nll", "aurc"),
    "fitted": ("temperature", "p"),
}
NORMS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def fit_p_norm(probabilities: np.ndarray, y: np.ndarray) -> float | None:
    """Return the p of the lowest AURC, or None if the probability itself is as good.

    With two classes centered logits have no other information than their ratio, which
    is always the same, so the probability is kept.
    """
    if probabilities.shape[1] == 2:
        return None

    def loss(p: float | None) -> float:
        return area_under_risk_coverage(
            y, probabilities, max_logit_p_norm(probabilities, p)
        )

    return min((None, *NORMS), key=loss)


def scores_of(validation, test) -> dict[str, list[float]]:
    """Return the metrics of an arm as it is, scaled, and with another confidence.

    Both arguments are labels and probabilities; what is fitted is fitted to the first.
    The numbers are in the order of ``COLUMNS``.
    """
    y, probabilities = test
    temperature = fit_temperature(validation[1], validation[0])
    p = fit_p_norm(validation[1], validation[0])
    confidence = max_logit_p_norm(probabilities, p)
    found = {
        "plain": evaluate(y, probabilities),
        "temperature": evaluate(y, scale(probabilities, temperature)),
        "p-norm": {k: f(y, probabilities, confidence) for k, f in SELECTIVE.items()},
        "validation": evaluate(*validation),
        "fitted": {"temperature": temperature, "p": p or 0.0},
    }
    return {
        variant: [float(f"{found[variant][name]:.5g}") for name in names]
        for variant, names in COLUMNS.items()
    }
