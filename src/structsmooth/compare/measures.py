"""What is recorded of one model: its metrics as it is, and after cures of its outputs.

A temperature, and the norm of MaxLogit-pNorm, are fitted on the validation rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.metrics import (
    area_under_generalized_risk_coverage,
    area_under_risk_coverage,
    evaluate,
    excess_area_under_risk_coverage,
    risk_at_coverage,
)
from structsmooth.metrics.bands import risks_at
from structsmooth.metrics.posthoc import (
    fit_norm,
    fit_temperature,
    max_logit_p_norm,
    scale,
)
from structsmooth.metrics.selective import ranked_errors

# The coverages at which risks are recorded.
COVERAGES = np.arange(1, 41) / 40

Predicted = tuple[NDArray[np.int64], NDArray[np.float64]]  # labels, probabilities


def measure(validation: Predicted, test: Predicted) -> dict[str, Any]:
    """Return all metrics of a model on validation and test rows."""
    found: dict[str, Any] = {
        "validation": evaluate(*validation),
        "test": evaluate(*test),
        "risks": risks_at(COVERAGES, *ranked_errors(*test)).tolist(),
    }
    y, probabilities = validation
    temperature = fit_temperature(probabilities, y)
    found["temperature"] = {
        "value": temperature,
        "validation": evaluate(y, scale(probabilities, temperature)),
        "test": evaluate(test[0], scale(test[1], temperature)),
    }
    p = fit_norm(probabilities, y)
    found["pnorm"] = {
        "value": p,
        "validation": _selective(validation, p),
        "test": _selective(test, p),
    }
    return found


def _selective(rows: Predicted, p: int | None) -> dict[str, float]:
    """Return the metrics that depend on the confidence, by MaxLogit-pNorm."""
    given = *rows, max_logit_p_norm(rows[1], p)
    return {
        "aurc": area_under_risk_coverage(*given),
        "e_aurc": excess_area_under_risk_coverage(*given),
        "augrc": area_under_generalized_risk_coverage(*given),
        "risk_at_80": risk_at_coverage(*rows, 0.8, given[2]),
    }
