"""The claims of the paper, with the numbers that it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.claims import studies, synthetic
from experiments.published import LOWEST_1, LOWEST_2, TABLE_1, TABLE_2, TABLE_4


@dataclass(frozen=True)
class Claim:
    """What the paper says, its numbers, and how to find ours and the verdict.

    Claims without numbers or words of the paper are our own. The main ones have a short
    form.
    """

    text: str
    paper: str
    find: Callable[[Path], tuple[str, str]]
    short: str = ""


def _printed(method: str, *rivals: str) -> str:
    """Return the differences of means that the paper's Table 1 shows."""
    gaps = [
        mean - TABLE_1[rival, alpha if rival == "uniform" else 0.0][0][0]
        for (name, alpha), cells in TABLE_1.items()
        for mean, _ in cells
        for rival in rivals
        if name == method
    ]
    n_lower = sum(gap < 0.0 for gap in gaps)
    ends = f"{min(gaps):+.2f} to {max(gaps):+.2f}"
    return f"{ends}; means lower in {n_lower} of {len(gaps)}"


def _printed_lowest_1(rival: str) -> str:
    """Return how often structural lowest errors are lower in Table 1."""
    lower = [
        lowest < LOWEST_1[rival, alpha if rival == "uniform" else 0.0][0]
        for (name, alpha), cells in LOWEST_1.items()
        if name == "structural"
        for lowest in cells
    ]
    return f"lower in {sum(lower)} of {len(lower)}"


def _printed_lower(names: tuple[str, ...], place: int, rival: str) -> str:
    """Return how often structural means are lower in the paper's Tables 2a and 2b."""
    lower = [
        cells[place]
        < TABLE_2[study][rival, alpha if rival == "uniform" else 0.0][place]
        for study in names
        for (name, alpha), cells in TABLE_2[study].items()
        if name == "structural"
    ]
    return f"means lower in {sum(lower)} of {len(lower)}"


def _printed_lowest_2() -> str:
    """Return how often structural lowest errors are lower in Table 2a."""
    lower = [
        found < study["uniform", alpha]
        for study in LOWEST_2.values()
        for (name, alpha), found in study.items()
        if name == "structural"
    ]
    return f"lower in {sum(lower)} of {len(lower)}"


def _printed_correlations(first: str, second: str) -> str:
    """Return the correlations of Table 4."""
    return ", ".join(f"{TABLE_4[name][first, second]:.2f}" for name in studies.SETS)


SHORT = {
    "error": "images, test error, structural - uniform, with batch normalization",
    "nll": "images, cross-entropy, structural - uniform, with batch normalization",
}


def _of_images() -> Iterator[Claim]:
    """Yield the claims of Tables 2a and 2b."""
    for words, end, batch_norm in (
        ("with batch normalization", "", True),
        ("without batch normalization", "-plain", False),
    ):
        names = tuple(f"{name}{end}" for name in studies.SETS)
        for metric, place, says in (
            ("error", 0, "errs less than {} (Table 2a; points)"),
            ("nll", 2, "has a lower cross-entropy than {} (Table 2b)"),
        ):
            for rival, said in (("uniform", "uniform"), ("none", "no smoothing")):
                yield Claim(
                    f"Images, {words}: structural {says.format(said)}",
                    _printed_lower(names, place, rival),
                    studies.on_images(metric, rival, batch_norm=batch_norm),
                    SHORT[metric] if batch_norm and rival == "uniform" else "",
                )


UNKNOWN = "in a supplement that is not public"
BY_COUNT = "Judged by counting: all or none must be lower"
CLAIMS = (
    Claim(
        "The lower bound tracks the true Bayes error of 32 clusters (Figure 2). "
        "Reproduced here means r above 0.9 and a mean error below 0.03 for every seed",
        "a picture without numbers",
        synthetic.bounds,
        "estimated and true Bayes error of clusters",
    ),
    Claim(
        "Synthetic: structural errs less than uniform, for all alpha and beta (Table "
        "1; points)",
        _printed("structural", "uniform"),
        synthetic.compared("structural", "uniform"),
        "synthetic task, test error, structural - uniform, points",
    ),
    Claim(
        "Synthetic: structural errs less than no smoothing, for all alpha and beta",
        _printed("structural", "none"),
        synthetic.compared("structural", "none"),
        "synthetic task, structural - no smoothing",
    ),
    Claim(
        "Structural and uniform, if each curve is read at its lowest point (not in the "
        "paper; chosen on test rows, for all methods alike)",
        "",
        synthetic.compared("structural", "uniform", at_best=True),
    ),
    Claim(
        "The same for structural and no smoothing",
        "",
        synthetic.compared("structural", "none", at_best=True),
    ),
    Claim(
        "Structural and uniform in the cell of the sensitivity analysis that is most "
        "like the paper's task, by its error without smoothing alone",
        "",
        synthetic.in_likest_cell("uniform"),
        "synthetic task with the noise and overlap most like the paper's, structural - "
        "uniform",
    ),
    Claim(
        "In the same cell, structural and no smoothing",
        "",
        synthetic.in_likest_cell("none"),
        "the same, structural - no smoothing",
    ),
    Claim(
        "Synthetic: structural has a lower lowest error over the seeds than uniform "
        f"(Table 1). {BY_COUNT}",
        _printed_lowest_1("uniform"),
        synthetic.lowest_errors("uniform"),
    ),
    Claim(
        "The same, lower than that of no smoothing",
        _printed_lowest_1("none"),
        synthetic.lowest_errors("none"),
    ),
    Claim(
        "Synthetic: reversed strengths err more than uniform and than none. Here they "
        "are mirrored at their mean, so that it stays the same",
        _printed("reversed", "uniform", "none"),
        synthetic.reversed_errs_more,
        "synthetic task, reversed - uniform and no smoothing",
    ),
    Claim(
        "The same for strengths that are swapped by rank, as in the paper, which also "
        "changes their mean",
        _printed("reversed", "uniform", "none"),
        synthetic.swapped_errs_more,
    ),
    Claim(
        "Synthetic: the error of reversed strengths rises after a while (Figure 3), "
        "which the paper says of reversed strengths only",
        "seen in the figure",
        synthetic.rises,
    ),
    Claim(
        "Synthetic: structural converges faster than uniform (Figure 3). Here: the "
        "epochs until the error falls to a level that both reach, which is the higher "
        "of their lowest errors",
        "seen in the figure",
        synthetic.converges,
    ),
    Claim(
        "Synthetic: structural errs less than uniform with 16, 32 and 64 clusters "
        "(here with the largest beta)",
        UNKNOWN,
        synthetic.cluster_numbers,
    ),
    Claim(
        "HIGGS: structural errs less than uniform (points)",
        "23.0 to 22.8 %",
        studies.compared("higgs", "error"),
        "HIGGS, test error, structural - uniform",
    ),
    Claim(
        "HIGGS: structural has a lower cross-entropy than uniform",
        "seen in Figure 4",
        studies.compared("higgs", "nll"),
    ),
    *_of_images(),
    Claim(
        "Images: structural has the lower lowest error over the seeds, compared with "
        f"uniform (Table 2a). {BY_COUNT}",
        _printed_lowest_2(),
        studies.lowest_on_images,
    ),
    Claim(
        "Batch normalization makes the effect on the error smaller (mean of three "
        "alphas)",
        "CIFAR-10: -0.55 points without, -0.16 with",
        studies.batch_norm,
    ),
    Claim(
        "Cross-entropy is lower with structural than with uniform smoothing throughout "
        "training, alpha 0.2 (Figure 4). Here: the mean over all measured epochs",
        "seen in the figure",
        studies.curves,
    ),
    Claim(
        "TIMIT: structural errs less than uniform, whatever the number of clusters "
        "(points)",
        UNKNOWN,
        studies.compared("timit", "error"),
        "TIMIT, test error, structural - uniform",
    ),
    Claim(
        "Clusters with more critical samples overfit more (Table 4: CSR and ED)",
        _printed_correlations("CSR", "ED"),
        studies.critical("CSR", "ED"),
    ),
    Claim(
        "Clusters with a higher Bayes error overfit more (ED and BER)",
        _printed_correlations("ED", "BER"),
        studies.critical("ED", "BER"),
    ),
    Claim(
        "Clusters with a higher Bayes error have more critical samples (CSR and BER)",
        _printed_correlations("CSR", "BER"),
        studies.critical("CSR", "BER"),
        "correlation of the Bayes error and the share of critical samples",
    ),
    Claim(
        "Strengths are larger where more samples are critical (CSR and SLS1); follows "
        "from the previous claim, because strengths are a function of the bound",
        _printed_correlations("CSR", "SLS1"),
        studies.critical("CSR", "SLS1"),
    ),
    Claim(
        "Not in the paper: people disagree where the estimated Bayes error is high "
        "(CIFAR-10, 64 clusters)",
        "",
        studies.humans,
    ),
)
