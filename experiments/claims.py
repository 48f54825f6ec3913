"""The claims of the paper, what was measured here, and a verdict by one rule.

A claim about methods is a list of paired differences, one for each setting, with 95 %
intervals over seeds that hold for all settings of the claim at once (Bonferroni). It is
*reproduced* if at least half of them are clearly as claimed (the interval excludes
zero) and none is clearly the other way round; *not reproduced* if more are clearly
against it than for it; and otherwise *not decidable at this scale*. Correlations go by
their intervals in the same way. Where a claim needs another rule, its text says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments import tables
from experiments.correlations import correlation, shown
from experiments.critical.table import columns_of
from experiments.panels import epochs_below
from experiments.published import TABLE_1, TABLE_2
from experiments.records import read
from experiments.study.rows import row_of
from experiments.study.table import Finished
from structsmooth.errors import FileFormatError
from structsmooth.files import written_beside

BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"
IMAGES = ("svhn", "cifar10", "cifar100")
Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Claim:
    """What the paper says, its numbers, and how to find ours and the verdict."""

    text: str
    paper: str
    find: Callable[[Path], tuple[str, str]]


class UnfinishedError(Exception):
    """Runs that a verdict needs are not there yet."""


def verdict_of(signs: Iterable[int]) -> str:
    """Return the verdict on findings: 1 clearly as claimed, -1 clearly not, 0."""
    found = list(signs)
    n_for, n_against = found.count(1), found.count(-1)
    if n_against == 0 and 2 * n_for >= len(found) and n_for:
        return "reproduced"
    if n_against > n_for:
        return "not reproduced"
    return "not decidable at this scale"


def lower_than(pairs: list[Pair], digits: int = 2) -> tuple[str, str]:
    """Return words and verdict for values that should be below their references."""
    signs = [tables.sign(*pair, n_intervals=len(pairs)) for pair in pairs]
    means = [float((values - reference).mean()) for values, reference in pairs]
    if len(pairs) == 1:
        return tables.difference(*pairs[0], digits), verdict_of(signs)
    ends = f"{min(means):+.{digits}f} to {max(means):+.{digits}f}"
    return (
        f"{ends} over {len(pairs)} settings; clearly lower in {signs.count(1)}, "
        f"clearly higher in {signs.count(-1)}",
        verdict_of(signs),
    )


def correlated(values: dict[str, tuple[float, float, float]]) -> tuple[str, str]:
    """Return words and verdict for correlations that should be above zero."""
    signs = [
        1 if low > 0 else -1 if high < 0 else 0 for _, low, high in values.values()
    ]
    words = ", ".join(f"{name} {shown(value)}" for name, value in values.items())
    return words, verdict_of(signs)


class Synthetic:
    """Errors of the synthetic task, by row."""

    def __init__(self, results: Path) -> None:
        self.settings, runs = read(results / "synthetic.jsonl")
        self.by_row: dict[str, dict[int, dict]] = {}
        for run in runs:
            self.by_row.setdefault(str(run["config"]), {})[run["seed"]] = run
        self.seeds = sorted({run["seed"] for run in runs})
        if len(self.seeds) < self.settings["n_seeds"]:
            raise UnfinishedError(
                f"{len(self.seeds)} of {self.settings['n_seeds']} seeds"
            )

    def values(self, row: dict, epoch: int | None = None) -> np.ndarray:
        """Return the errors in percent over the seeds, at the end or at an epoch."""
        runs = [self.by_row[str(row)][seed] for seed in self.seeds]
        if epoch is None:
            return np.array([100.0 * run["metrics"]["error"] for run in runs])
        place = epoch // self.settings["curve_every"] - 1
        return np.array([100.0 * run["curve"][place] for run in runs])

    def pairs(self, method: str, *rivals: str) -> list[Pair]:
        """Return errors of a method beside those of others, for each setting."""
        usual = self.settings["n_clusters"]
        return [
            (
                self.values(row_of(method, alpha, beta, usual)),
                self.values(row_of(rival, alpha if rival == "uniform" else 0.0)),
            )
            for rival in rivals
            for alpha in self.settings["alphas"]
            for beta in self.settings["betas"]
        ]


def _bounds(results: Path) -> tuple[str, str]:
    _, runs = read(results / "synthetic-clusters.jsonl")
    at = [run["metrics"] for run in runs if run["config"]["n_clusters"] == 32]
    r = np.array([found["correlation"] for found in at])
    gap = np.array([found["mean_error"] for found in at])
    is_good = r.min() > 0.9 and gap.max() < 0.03
    words = f"r = {tables.mean_and_spread(r, 3)}, mean error "
    return (
        words + tables.mean_and_spread(gap, 3),
        "reproduced" if is_good else "not reproduced",
    )


def _turned(pairs: list[Pair]) -> tuple[str, str]:
    """Return words and verdict for values that should be above their references."""
    signs = [-tables.sign(*pair, n_intervals=len(pairs)) for pair in pairs]
    return lower_than(pairs)[0], verdict_of(signs)


def _rises(results: Path) -> tuple[str, str]:
    task = Synthetic(results)
    beta, usual = max(task.settings["betas"]), task.settings["n_clusters"]
    early = task.settings["epochs"] // 5
    rows = {"reversed": [], "structural": [], "uniform": []}
    for alpha in task.settings["alphas"]:
        rows["uniform"].append(row_of("uniform", alpha))
        for method in ("reversed", "structural"):
            rows[method].append(row_of(method, alpha, beta, usual))
    pairs = {
        method: [(task.values(row), task.values(row, early)) for row in found]
        for method, found in rows.items()
    }
    ends = {
        method: [float((last - first).mean()) for last, first in found]
        for method, found in pairs.items()
    }
    words = ", ".join(
        f"{method} {min(found):+.1f} to {max(found):+.1f}"
        for method, found in ends.items()
    )
    return (
        f"from epoch {early} to {task.settings['epochs']}: {words} points",
        _turned(pairs["reversed"])[1],
    )


def _cluster_numbers(results: Path) -> tuple[str, str]:
    task = Synthetic(results)
    beta = max(task.settings["betas"])
    numbers = [task.settings["n_clusters"], *task.settings["other_n_clusters"]]
    pairs = [
        (
            task.values(row_of("structural", alpha, beta, number)),
            task.values(row_of("uniform", alpha)),
        )
        for alpha in task.settings["alphas"]
        for number in numbers
    ]
    return lower_than(pairs)


def study_pairs(results: Path, names, metric: str, rival: str) -> Iterator[Pair]:
    """Yield a metric of structural smoothing beside a rival's, for each setting."""
    factor = 100.0 if metric == "error" else 1.0
    for name in names:
        finished = Finished(results / f"{name}.jsonl")
        n_seeds, config = finished.config["n_seeds"], finished.config
        rows = [row for row in finished.rows() if row["method"] == "structural"]
        if len(rows) < len(config["alphas"]) * len(config["n_clusters"]):
            raise UnfinishedError(f"{name}: beta is not chosen yet")
        for row in rows:
            other = row_of(rival, row["alpha"] if rival == "uniform" else 0.0)
            seeds = finished.seeds(row, other)
            if len(seeds) < n_seeds:
                raise UnfinishedError(f"{name}: {len(seeds)} of {n_seeds} seeds")
            yield tuple(
                factor * finished.values(r, metric, seeds) for r in (row, other)
            )


def _study(names, metric: str, rival: str = "uniform"):
    digits = 2 if metric == "error" else 4

    def find(results: Path) -> tuple[str, str]:
        return lower_than(list(study_pairs(results, names, metric, rival)), digits)

    return find


def _batch_norm(results: Path) -> tuple[str, str]:
    gaps = {
        name: [a - b for a, b in study_pairs(results, [name], "error", "uniform")]
        for name in ("cifar10-plain", "cifar10")
    }
    pairs = list(zip(gaps["cifar10-plain"], gaps["cifar10"], strict=True))
    means = {name: float(np.mean(found)) for name, found in gaps.items()}
    words = (
        f"{means['cifar10-plain']:+.2f} points without, {means['cifar10']:+.2f} with"
    )
    return words, lower_than(pairs)[1]


def _curves(results: Path) -> tuple[str, str]:
    words, signs = [], []
    for name in ("higgs", "svhn", "cifar10", "cifar100"):
        list(study_pairs(results, [name], "nll", "uniform"))  # complete?
        n_epochs, below = epochs_below(Finished(results / f"{name}.jsonl"), 0.2)
        words.append(f"{name} {below} of {n_epochs}")
        signs.append(1 if below == n_epochs else -1 if 2 * below < n_epochs else 0)
    return f"measured epochs with the lower mean: {', '.join(words)}", verdict_of(signs)


def _critical(first: str, second: str):
    def find(results: Path) -> tuple[str, str]:
        settings, runs = read(results / "critical.jsonl")
        if len(runs) < len(settings["studies"]):
            raise UnfinishedError(
                f"{len(runs)} of {len(settings['studies'])} data sets"
            )
        found = {}
        for run in runs:
            columns = columns_of(run, settings["shown_radius"])
            value = correlation(columns[first], columns[second])
            found[run["config"]["study"]] = value
        return correlated(found)

    return find


def _humans(results: Path) -> tuple[str, str]:
    settings, runs = read(results / "humans.jsonl")
    largest = max(settings["n_clusters"])
    found = {
        run["config"]["features"]: tuple(
            run["metrics"][name] for name in ("correlation", "low", "high")
        )
        for run in runs
        if run["config"]["n_clusters"] == largest and run["seed"] == 0
    }
    words, verdict = correlated(found)
    return words, "holds" if verdict == "reproduced" else "does not hold"


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


def _printed_lower(studies: tuple[str, ...], place: int, rival: str) -> str:
    """Return how often structural means are lower in the paper's Tables 2a and 2b."""
    lower = [
        cells[place]
        < TABLE_2[study][rival, alpha if rival == "uniform" else 0.0][place]
        for study in studies
        for (name, alpha), cells in TABLE_2[study].items()
        if name == "structural"
    ]
    return f"means lower in {sum(lower)} of {len(lower)}"


def _of_images(words: str, studies: tuple[str, ...]) -> Iterator[Claim]:
    """Yield the claims of Tables 2a and 2b about some studies."""
    for metric, place, says in (
        ("error", 0, "errs less than {} (Table 2a; points)"),
        ("nll", 2, "has a lower cross-entropy than {} (Table 2b)"),
    ):
        for rival, name in (("uniform", "uniform"), ("none", "no smoothing")):
            yield Claim(
                f"Images, {words}: structural {says.format(name)}",
                _printed_lower(studies, place, rival),
                _study(studies, metric, rival),
            )


UNKNOWN = "said of a supplement that is not public"
CLAIMS = (
    Claim(
        "The lower bound tracks the true Bayes error of 32 clusters (Figure 2). "
        "Reproduced here means r above 0.9 and a mean error below 0.03 for every seed",
        "r = 0.97, mean error 0.023",
        _bounds,
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
        "Synthetic: reversed strengths err more than uniform and than none (here with "
        "the mean kept, in the paper not)",
        _printed("reversed", "uniform", "none"),
        lambda results: _turned(
            Synthetic(results).pairs("reversed", "uniform", "none")
        ),
    ),
    Claim(
        "Synthetic: the error of reversed strengths rises after a while (Figure 3)",
        "seen in the figure",
        _rises,
    ),
    Claim(
        "Synthetic: structural errs less than uniform with 16, 32 and 64 clusters "
        "(here with the largest beta)",
        UNKNOWN,
        _cluster_numbers,
    ),
    Claim(
        "HIGGS: structural errs less than uniform (points)",
        "23.0 to 22.8 %",
        _study(("higgs",), "error"),
    ),
    Claim(
        "HIGGS: structural has a lower cross-entropy than uniform",
        "seen in Figure 4",
        _study(("higgs",), "nll"),
    ),
    *_of_images("with batch normalization", IMAGES),
    *_of_images("without it, CIFAR-10 only", ("cifar10-plain",)),
    Claim(
        "Batch normalization makes the effect on the error smaller (CIFAR-10, mean of "
        "three alphas)",
        "-0.55 points without, -0.16 with",
        _batch_norm,
    ),
    Claim(
        "Cross-entropy is lower with structural than with uniform smoothing all along "
        "the training, alpha 0.2 (Figure 4). Judged by the mean curves, without "
        "intervals: for it where it is lower at every measured epoch, against it where "
        "at less than half",
        "seen in the figure",
        _curves,
    ),
    Claim(
        "TIMIT: structural errs less than uniform, whatever the number of clusters "
        "(points)",
        UNKNOWN,
        _study(("timit",), "error"),
    ),
    Claim(
        "Clusters with more critical samples overfit more (Table 4: CSR and ED)",
        "0.61, 0.76, 0.80",
        _critical("CSR", "ED"),
    ),
    Claim(
        "Clusters with a higher Bayes error have more critical samples (CSR and BER)",
        "0.77, 0.71, 0.85",
        _critical("CSR", "BER"),
    ),
    Claim(
        "Strengths are larger where more samples are critical (CSR and SLS1); follows "
        "from the last, for strengths are a function of the bound",
        "0.68, 0.69, 0.70",
        _critical("CSR", "SLS1"),
    ),
    Claim(
        "Not in the paper: people disagree where the estimated Bayes error is high "
        "(CIFAR-10, 64 clusters)",
        "",
        _humans,
    ),
)


def table(results: Path) -> str:
    """Return the claims as Markdown; what has not been run says so."""
    lines = []
    for number, claim in enumerate(CLAIMS, 1):
        try:
            here, verdict = claim.find(results)
        except FileFormatError:
            here, verdict = "", "not run yet"
        except UnfinishedError as unfinished:
            here, verdict = f"{unfinished}", "unfinished"
        lines.append([f"{number}", claim.text, claim.paper, here, verdict])
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
