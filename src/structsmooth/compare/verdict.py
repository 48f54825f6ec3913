"""What a comparison says, in words."""

from __future__ import annotations

from collections.abc import Sequence

from structsmooth.compare.statistics import Difference

NAMES = {
    "error": "error",
    "nll": "NLL",
    "brier": "Brier",
    "ece": "ECE",
    "ece_mass": "ECE (equal mass)",
    "ece_classwise": "ECE (class-wise)",
    "aurc": "AURC",
    "e_aurc": "E-AURC",
    "risk_at_80": "risk at 80 % coverage",
}


def describe_pair(differences: Sequence[Difference]) -> str:
    """Return one sentence on a method against a reference, over some metrics."""
    first = differences[0]
    undecided = [NAMES[d.metric] for d in differences if not _is_decided(d)]
    parts = []
    if undecided:
        parts.append(f"no clear difference on {_listed(undecided)}")
    parts += [_describe(d) for d in differences if _is_decided(d)]
    return f"{first.method} against {first.reference}: {'; '.join(parts)}"


def conclude(
    against_none: Sequence[Difference],
    against_uniform: Sequence[Difference],
    against_shuffled: Sequence[Difference],
    uniform_against_none: Sequence[Difference],
) -> str:
    """Return the verdict: whether to smooth here, and whether where matters."""
    better, worse = _decided(against_none)
    if better and worse:
        verdict = (
            f"Structural smoothing is a trade here: better on {_listed(better)}, worse "
            f"on {_listed(worse)}."
        )
    elif better:
        verdict = (
            f"Structural smoothing helps here, on {_listed(better)}, with no clear "
            "harm."
        )
    elif worse:
        verdict = f"Structural smoothing hurts here, on {_listed(worse)}."
    else:
        verdict = (
            "Structural smoothing is not shown to help here: "
            f"{against_none[0].n_seeds} seeds show no clear difference from training "
            "without smoothing."
        )
    if not better:
        uniform_better, uniform_worse = _decided(uniform_against_none)
        if uniform_better:
            verdict += (
                f" Uniform smoothing is better than none on {_listed(uniform_better)}"
            )
            verdict += f", worse on {_listed(uniform_worse)}." if uniform_worse else "."
    return f"{verdict} {_does_structure_matter(against_uniform, against_shuffled)}"


def _does_structure_matter(
    against_uniform: Sequence[Difference], against_shuffled: Sequence[Difference]
) -> str:
    """Say whether it is the structure that counts, or smoothing of any kind."""
    better, worse = _decided(against_uniform)
    control_better, _ = _decided(against_shuffled)
    confirmed = [name for name in better if name in control_better]
    sentences = []
    if confirmed:
        sentences.append(
            f"Where it smooths matters, on {_listed(confirmed)}: uniform and shuffled "
            "strengths of the same mean do worse."
        )
    elif better:
        sentences.append(
            f"It is better than uniform smoothing on {_listed(better)}, but not shown "
            "to be better there than shuffled strengths."
        )
    if worse:
        sentences.append(
            f"Uniform smoothing of the same mean is better on {_listed(worse)}."
        )
    if not sentences:
        sentences.append(
            "It is not shown to differ from uniform smoothing of the same mean."
        )
    return " ".join(sentences)


def _is_decided(difference: Difference) -> bool:
    return difference.is_lower or difference.is_higher


def _decided(differences: Sequence[Difference]) -> tuple[list[str], list[str]]:
    better = [NAMES[d.metric] for d in differences if d.is_lower]
    worse = [NAMES[d.metric] for d in differences if d.is_higher]
    return better, worse


def _describe(d: Difference) -> str:
    word, count = ("lower", d.n_lower) if d.mean < 0.0 else ("higher", d.n_higher)
    if d.relative is None or abs(d.relative) > 10.0:  # a share of next to nothing
        by = f"{abs(d.mean):.3g}"
    elif abs(d.relative) < 0.005:
        by = "less than 1 %"
    else:
        by = f"{100.0 * abs(d.relative):.0f} %"
    return f"{NAMES[d.metric]} {word} by {by}, {count} of {d.n_seeds} seeds"


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
