"""The findings and the verdict of a comparison, in words."""

from __future__ import annotations

from collections.abc import Sequence

from structsmooth.compare.statistics import Difference

# The metrics that the verdict is based on, as people write them.
NAMES = {"error": "error", "nll": "NLL", "brier": "Brier", "ece": "ECE", "aurc": "AURC"}


def describe_pair(differences: Sequence[Difference]) -> str:
    """Return one sentence on a method against a reference, over some metrics."""
    first = differences[0]
    undecided = [NAMES[d.metric] for d in differences if not d.is_decided]
    parts = [f"no clear difference on {_listed(undecided)}"] if undecided else []
    parts += [_describe(d) for d in differences if d.is_decided]
    return f"{first.method} against {first.reference}: {'; '.join(parts)}"


def conclude(
    against_none: Sequence[Difference],
    against_uniform: Sequence[Difference],
    against_shuffled: Sequence[Difference],
    uniform_against_none: Sequence[Difference],
) -> str:
    """Return the verdict: whether smoothing helps, and whether its place matters."""
    sentences = []
    better, worse = _decided(against_none)
    if better and worse:
        sentences.append(
            f"Structural smoothing is a trade here: better on {_listed(better)}, worse "
            f"on {_listed(worse)}."
        )
    elif better:
        sentences.append(
            f"Structural smoothing helps here, on {_listed(better)}, with no clear "
            "harm."
        )
    elif worse:
        sentences.append(f"Structural smoothing hurts here, on {_listed(worse)}.")
    else:
        sentences.append(
            "Structural smoothing is not shown to help here: "
            f"{against_none[0].n_seeds} seeds show no clear difference from training "
            "without smoothing."
        )
    uniform_better, uniform_worse = _decided(uniform_against_none)
    if uniform_better and not better:
        but = f", worse on {_listed(uniform_worse)}" if uniform_worse else ""
        sentences.append(
            f"Uniform smoothing is better than none on {_listed(uniform_better)}{but}."
        )

    better, worse = _decided(against_uniform)
    control_better, _ = _decided(against_shuffled)
    confirmed = [name for name in better if name in control_better]
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
    if not better and not worse:
        sentences.append(
            "It is not shown to differ from uniform smoothing of the same mean."
        )
    return " ".join(sentences)


def _decided(differences: Sequence[Difference]) -> tuple[list[str], list[str]]:
    better = [NAMES[d.metric] for d in differences if d.is_lower]
    worse = [NAMES[d.metric] for d in differences if d.is_higher]
    return better, worse


def _describe(d: Difference) -> str:
    word, count = ("lower", d.n_lower) if d.mean < 0.0 else ("higher", d.n_higher)
    if d.relative is None or abs(d.relative) > 10.0:  # the reference is almost 0
        by = f"{abs(d.mean):.3g}"
    elif abs(d.relative) < 0.005:
        by = "less than 1 %"
    else:
        by = f"{100.0 * abs(d.relative):.0f} %"
    return f"{NAMES[d.metric]} {word} by {by}, {count} of {d.n_seeds} seeds"


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
