"""The claims of the paper, what was measured here, and a verdict by one rule.

A claim about methods is a list of paired differences, one for each setting, each with
its 95 % interval over seeds. It is *reproduced* if at least half of them are clearly as
claimed (the interval excludes zero) and none is clearly the other way round; *not
reproduced* if more are clearly against it than for it; and otherwise *not decidable at
this scale*. A claim about a correlation is reproduced if the interval is above zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments import tables
from experiments.correlations import correlation, shown
from experiments.critical.table import columns_of
from experiments.published import TABLE_1, TABLE_2
from experiments.records import read
from experiments.study.rows import row_of
from experiments.study.table import Finished
from structsmooth.errors import FileFormatError
from structsmooth.files import written_beside

BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"
IMAGES = ("svhn", "cifar10", "cifar100", "cifar10-plain")


@dataclass(frozen=True)
class Claim:
    """What the paper says, its numbers, ours, and what follows."""

    claim: str
    paper: str
    here: str
    verdict: str


def verdict_of(signs: Iterable[int]) -> str:
    """Return the verdict on differences: 1 clearly as claimed, -1 clearly not, 0."""
    found = list(signs)
    n_for, n_against = found.count(1), found.count(-1)
    if n_against == 0 and 2 * n_for >= len(found) and n_for:
        return "reproduced"
    if n_against > n_for:
        return "not reproduced"
    return "not decidable at this scale"


def compared(pairs: list[tuple[np.ndarray, np.ndarray]], digits: int, unit: str = ""):
    """Return signs and words for values that should be lower than their references."""
    signs = [tables.sign(*pair) for pair in pairs]
    means = [float((values - reference).mean()) for values, reference in pairs]
    words = (
        f"{min(means):+.{digits}f} to {max(means):+.{digits}f}{unit} over {len(pairs)} "
        f"settings; clearly lower in {signs.count(1)}, clearly higher in "
        f"{signs.count(-1)}"
    )
    if len(pairs) == 1:
        words = tables.difference(*pairs[0], digits) + unit
    return signs, words


def _printed(method: str, rivals: tuple[str, ...]) -> str:
    """Return the differences of means that the paper's Table 1 shows."""
    gaps = [
        mean - TABLE_1[rival, alpha if rival == "uniform" else 0.0][0][0]
        for (name, alpha), cells in TABLE_1.items()
        for mean, _ in cells
        for rival in rivals
        if name == method
    ]
    n_lower = sum(gap < 0.0 for gap in gaps)
    return (
        f"{min(gaps):+.2f} to {max(gaps):+.2f} points, lower in {n_lower} of "
        f"{len(gaps)} means"
    )


def _printed_lower(place: int, rival: str) -> str:
    """Return how often structural means are lower in the paper's Tables 2a and 2b."""
    lower = [
        cells[place] < study[rival, alpha if rival == "uniform" else 0.0][place]
        for study in TABLE_2.values()
        for (name, alpha), cells in study.items()
        if name == "structural"
    ]
    return f"lower in {sum(lower)} of {len(lower)} means"


class Synthetic:
    """Errors of the synthetic task, by row."""

    def __init__(self, results: Path) -> None:
        self.settings, self.runs = read(results / "synthetic.jsonl")
        self.seeds = sorted({run["seed"] for run in self.runs})

    def values(
        self, method, alpha, beta=None, n_clusters=None, take=None
    ) -> np.ndarray:
        """Return the errors in percent over the seeds, or what ``take`` gives."""
        row = row_of(method, alpha, beta, n_clusters)
        runs = {r["seed"]: r for r in self.runs if r["config"] == row}
        take = take or (lambda run: 100.0 * run["metrics"]["error"])
        return np.array([take(runs[seed]) for seed in self.seeds])

    def pairs(self, method: str, reference: str):
        """Return errors of a method beside those of a reference, for each setting."""
        usual = self.settings["n_clusters"]
        for alpha in self.settings["alphas"]:
            for beta in self.settings["betas"]:
                strength = alpha if reference == "uniform" else 0.0
                yield (
                    self.values(method, alpha, beta, usual),
                    self.values(reference, strength),
                )


def _bounds(results: Path) -> Claim:
    _, runs = read(results / "synthetic-clusters.jsonl")
    at = [run["metrics"] for run in runs if run["config"]["n_clusters"] == 32]
    r = np.array([found["correlation"] for found in at])
    gap = np.array([found["mean_error"] for found in at])
    good = r.min() > 0.9 and gap.max() < 0.03
    return Claim(
        "The lower bound tracks the true Bayes error, cluster by cluster (Figure 2)",
        "r = 0.97, mean error 0.023",
        f"r = {tables.mean_and_spread(r, 3)}, mean error "
        f"{tables.mean_and_spread(gap, 3)}",
        "reproduced" if good else "not reproduced",
    )


def _structural_and_uniform(results: Path) -> Claim:
    signs, words = compared(list(Synthetic(results).pairs("structural", "uniform")), 2)
    return Claim(
        "Synthetic: structural errs less than uniform for all alpha and beta (Table 1)",
        _printed("structural", ("uniform",)),
        words,
        verdict_of(signs),
    )


def _structural_and_none(results: Path) -> Claim:
    signs, words = compared(list(Synthetic(results).pairs("structural", "none")), 2)
    return Claim(
        "Synthetic: structural errs less than no smoothing, for all alpha and beta",
        _printed("structural", ("none",)),
        words,
        verdict_of(signs),
    )


def _reversed(results: Path) -> Claim:
    task = Synthetic(results)
    pairs = [
        (reference, values)
        for rival in ("uniform", "none")
        for values, reference in task.pairs("reversed", rival)
    ]
    signs = [tables.sign(*pair) for pair in pairs]
    means = [float((values - reference).mean()) for reference, values in pairs]
    return Claim(
        "Synthetic: reversed strengths err more than uniform and than none",
        _printed("reversed", ("uniform", "none")),
        f"{min(means):+.2f} to {max(means):+.2f} points; clearly higher in "
        f"{signs.count(1)} of {len(signs)}, clearly lower in {signs.count(-1)}",
        verdict_of(signs),
    )


def _reversed_rises(results: Path) -> Claim:
    task = Synthetic(results)
    beta, usual = max(task.settings["betas"]), task.settings["n_clusters"]
    pairs = [
        tuple(
            task.values("reversed", alpha, beta, usual, take)
            for take in (
                lambda run: 100.0 * min(run["curve"]),
                lambda run: 100.0 * run["curve"][-1],
            )
        )
        for alpha in task.settings["alphas"]
    ]
    signs = [tables.sign(*pair) for pair in pairs]
    rises = [float((last - lowest).mean()) for lowest, last in pairs]
    return Claim(
        "Synthetic: the error of reversed strengths rises after a while (Figure 3)",
        "seen in the figure",
        f"from its lowest point to the end by {min(rises):.1f} to {max(rises):.1f} "
        "points; that of all other methods rises too, by less",
        verdict_of(signs),
    )


def _cluster_numbers(results: Path) -> Claim:
    task = Synthetic(results)
    beta = max(task.settings["betas"])
    numbers = [task.settings["n_clusters"], *task.settings["other_n_clusters"]]
    pairs = [
        (task.values("structural", alpha, beta, number), task.values("uniform", alpha))
        for alpha in task.settings["alphas"]
        for number in numbers
    ]
    signs, words = compared(pairs, 2)
    return Claim(
        "Synthetic: structural errs less than uniform with 16, 32 and 64 clusters",
        "said of a supplement that is not public",
        f"beta {beta:g}: {words}",
        verdict_of(signs),
    )


def _study_pairs(names, metric, factor, results: Path, reference: str):
    for name in names:
        finished = Finished(results / f"{name}.jsonl")
        for row in finished.rows():
            if row["method"] == "structural":
                rival = row_of(
                    reference, row["alpha"] if reference == "uniform" else 0.0
                )
                seeds = finished.seeds(row, rival)
                yield tuple(
                    factor * finished.values(one, metric, seeds) for one in (row, rival)
                )


def _study(
    claim: str, paper: str, names, metric: str, reference: str = "uniform"
) -> Callable[[Path], Claim]:
    factor, digits = (100.0, 2) if metric == "error" else (1.0, 4)

    def found(results: Path) -> Claim:
        pairs = list(_study_pairs(names, metric, factor, results, reference))
        signs, words = compared(pairs, digits)
        return Claim(claim, paper, words, verdict_of(signs))

    return found


def _batch_norm(results: Path) -> Claim:
    sizes = {
        name: np.mean(
            [
                (values - reference).mean()
                for values, reference in _study_pairs(
                    [name], "error", 100.0, results, "uniform"
                )
            ]
        )
        for name in ("cifar10", "cifar10-plain")
    }
    return Claim(
        "Batch normalization makes the effect smaller (CIFAR-10, mean of three alphas)",
        "-0.55 points without, -0.16 with",
        f"{sizes['cifar10-plain']:+.2f} points without, {sizes['cifar10']:+.2f} with",
        "not decidable at this scale",
    )


def _curves(results: Path) -> Claim:
    from experiments.panels import epochs_below

    words, signs = [], []
    for name in ("higgs", "svhn", "cifar10", "cifar100"):
        n_epochs, below = epochs_below(Finished(results / f"{name}.jsonl"), 0.2)
        words.append(f"{name} {below} of {n_epochs}")
        signs.append(1 if below == n_epochs else -1 if 2 * below < n_epochs else 0)
    return Claim(
        "Cross-entropy is lower with structural than with uniform smoothing all along "
        "the training, alpha 0.2 (Figure 4)",
        "seen in the figure",
        f"epochs with the lower mean: {', '.join(words)}",
        verdict_of(signs),
    )


def _critical(first: str, second: str, claim: str, paper: str):
    def found(results: Path) -> Claim:
        settings, runs = read(results / "critical.jsonl")
        words, signs = [], []
        for run in runs:
            columns = columns_of(run, settings["shown_radius"])
            value = correlation(columns[first], columns[second])
            words.append(f"{run['config']['study']} {shown(value)}")
            signs.append(1 if value[1] > 0 else -1 if value[2] < 0 else 0)
        return Claim(claim, paper, ", ".join(words), verdict_of(signs))

    return found


def _humans(results: Path) -> Claim:
    _, runs = read(results / "humans.jsonl")
    words, signs = [], []
    for features in dict.fromkeys(run["config"]["features"] for run in runs):
        at = next(
            run["metrics"]
            for run in runs
            if run["config"] == {"features": features, "n_clusters": 64}
        )
        value = at["correlation"], at["low"], at["high"]
        words.append(f"{features} {shown(value)}")
        signs.append(1 if at["low"] > 0 else -1 if at["high"] < 0 else 0)
    return Claim(
        "Not in the paper: people disagree where the estimated Bayes error is high "
        "(CIFAR-10, 64 clusters)",
        "",
        ", ".join(words),
        "holds" if verdict_of(signs) == "reproduced" else "does not hold",
    )


CLAIMS: tuple[Callable[[Path], Claim], ...] = (
    _bounds,
    _structural_and_uniform,
    _structural_and_none,
    _reversed,
    _reversed_rises,
    _cluster_numbers,
    _study(
        "HIGGS: structural errs less than uniform",
        "23.0 to 22.8 %",
        ("higgs",),
        "error",
    ),
    _study(
        "HIGGS: structural has the lower cross-entropy",
        "seen in Figure 4",
        ("higgs",),
        "nll",
    ),
    _study(
        "Images: structural errs less than uniform (Table 2a)",
        _printed_lower(0, "uniform"),
        IMAGES,
        "error",
    ),
    _study(
        "Images: structural errs less than no smoothing (Table 2a)",
        _printed_lower(0, "none"),
        IMAGES,
        "error",
        "none",
    ),
    _study(
        "Images: structural has a lower cross-entropy than uniform (Table 2b)",
        _printed_lower(2, "uniform"),
        IMAGES,
        "nll",
    ),
    _batch_norm,
    _curves,
    _study(
        "TIMIT: structural errs less than uniform, whatever the number of clusters",
        "said of a supplement that is not public",
        ("timit",),
        "error",
    ),
    _critical(
        "CSR",
        "ED",
        "Clusters with more critical samples overfit more (Table 4: CSR and ED)",
        "0.61, 0.76, 0.80",
    ),
    _critical(
        "CSR",
        "BER",
        "Clusters with a higher Bayes error have more critical samples (CSR and BER)",
        "0.77, 0.71, 0.85",
    ),
    _critical(
        "CSR",
        "SLS1",
        "Strengths are larger where more samples are critical (CSR and SLS1)",
        "0.68, 0.69, 0.70",
    ),
    _humans,
)


def table(results: Path) -> str:
    """Return the claims as Markdown; what has not been run says so."""
    lines = []
    for number, find in enumerate(CLAIMS, 1):
        try:
            claim = find(results)
        except FileFormatError:
            lines.append([f"{number}", "", "", "there are no results yet", ""])
            continue
        lines.append([f"{number}", claim.claim, claim.paper, claim.here, claim.verdict])
    return tables.markdown(["", "claim", "paper", "here", "verdict"], lines)


def write(page: Path, results: Path) -> str:
    """Put the claims into a page, between their marks, and return them."""
    text = page.read_text(encoding="utf-8")
    if not (BEGIN in text and END in text):
        raise FileFormatError(f"{page} has no marks for the claims; expected {BEGIN}")
    found = table(results)
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    with written_beside(page) as part:
        part.write_text(f"{before}{BEGIN}\n{found}{END}{after}", encoding="utf-8")
    return found
