"""The claims of the paper, with the numbers that it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.claims import studies, synthetic
from experiments.claims.rule import higher_than, lower_than
from experiments.claims.synthetic import Synthetic
from experiments.published import TABLE_1, TABLE_2

IMAGES = ("svhn", "cifar10", "cifar100")


@dataclass(frozen=True)
class Claim:
    """What the paper says, its numbers, and how to find ours and the verdict."""

    text: str
    paper: str
    find: Callable[[Path], tuple[str, str]]


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


def _of_images(words: str, names: tuple[str, ...]) -> Iterator[Claim]:
    """Yield the claims of Tables 2a and 2b about some studies."""
    for metric, place, says in (
        ("error", 0, "errs less than {} (Table 2a; points)"),
        ("nll", 2, "has a lower cross-entropy than {} (Table 2b)"),
    ):
        for rival, said in (("uniform", "uniform"), ("none", "no smoothing")):
            yield Claim(
                f"Images, {words}: structural {says.format(said)}",
                _printed_lower(names, place, rival),
                studies.compared(names, metric, rival),
            )


UNKNOWN = "in a supplement that is not public"
CLAIMS = (
    Claim(
        "The lower bound tracks the true Bayes error of 32 clusters (Figure 2). "
        "Reproduced here means r above 0.9 and a mean error below 0.03 for every seed",
        "a picture without numbers",
        synthetic.bounds,
    ),
    Claim(
        "Synthetic: structural errs less than uniform, for all alpha and beta (Table "
        "1; points)",
        _printed("structural", "uniform"),
        lambda results: lower_than(Synthetic(results).pairs("structural", "uniform")),
    ),
    Claim(
        "Synthetic: structural errs less than no smoothing, for all alpha and beta",
        _printed("structural", "none"),
        lambda results: lower_than(Synthetic(results).pairs("structural", "none")),
    ),
    Claim(
        "Synthetic: reversed strengths err more than uniform and than none (here they "
        "keep the mean, in the paper they do not)",
        _printed("reversed", "uniform", "none"),
        lambda results: higher_than(
            Synthetic(results).pairs("reversed", "uniform", "none")
        ),
    ),
    Claim(
        "Synthetic: the error of reversed strengths rises after a while (Figure 3)",
        "seen in the figure",
        synthetic.rises,
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
        studies.compared(("higgs",), "error"),
    ),
    Claim(
        "HIGGS: structural has a lower cross-entropy than uniform",
        "seen in Figure 4",
        studies.compared(("higgs",), "nll"),
    ),
    *_of_images("with batch normalization", IMAGES),
    *_of_images(
        "without batch normalization, CIFAR-10 only",
        ("cifar10-plain",),
    ),
    Claim(
        "Batch normalization makes the effect on the error smaller (CIFAR-10, mean of "
        "three alphas)",
        "-0.55 points without, -0.16 with",
        studies.batch_norm,
    ),
    Claim(
        "Cross-entropy is lower with structural than with uniform smoothing throughout "
        "training, alpha 0.2 (Figure 4). Judged by the mean curves, without "
        "intervals: a study supports the claim if the curve is lower at every measured "
        "epoch, and contradicts it if at less than half of them",
        "seen in the figure",
        studies.curves,
    ),
    Claim(
        "TIMIT: structural errs less than uniform, whatever the number of clusters "
        "(points)",
        UNKNOWN,
        studies.compared(("timit",), "error"),
    ),
    Claim(
        "Clusters with more critical samples overfit more (Table 4: CSR and ED)",
        "0.61, 0.76, 0.80",
        studies.critical("CSR", "ED"),
    ),
    Claim(
        "Clusters with a higher Bayes error have more critical samples (CSR and BER)",
        "0.77, 0.71, 0.85",
        studies.critical("CSR", "BER"),
    ),
    Claim(
        "Strengths are larger where more samples are critical (CSR and SLS1); follows "
        "from the previous claim, because strengths are a function of the bound",
        "0.68, 0.69, 0.70",
        studies.critical("CSR", "SLS1"),
    ),
    Claim(
        "Not in the paper: people disagree where the estimated Bayes error is high "
        "(CIFAR-10, 64 clusters)",
        "",
        studies.humans,
    ),
)
