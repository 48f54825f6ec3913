"""The tables of the study of wrong labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import tables
from experiments.records import read

OURS = ("features", "features and trees", "features and logistic", "features and k-NN")
PEERS = ("cleanlab, trees", "cleanlab, logistic", "cleanlab, k-NN")
ALL = (*OURS, "trees alone", *PEERS)
ABOUT_MODELS = (
    "trees, logistic and k-NN are out-of-fold probabilities of three models, of five "
    "folds."
)


def table(results: Path) -> str:
    """Return the tables of results, as Markdown."""
    settings, runs = read(results)
    n_draws = [
        sum(run["config"] == config for run in runs)
        for config in {str(run["config"]): run["config"] for run in runs}.values()
    ]
    changed = [
        _Row(config, found) for config, found in _grouped(runs) if config["wrong"]
    ]
    nothing = [
        _Row(config, found) for config, found in _grouped(runs) if not config["wrong"]
    ]
    new = [row for row in changed if row.name not in settings["developed_on"]]
    few, many = min(n_draws), max(n_draws)
    draws = f"{few} to {many} draws" if few < many else f"{many} draw{'s' * (many > 1)}"
    everyone = [who for who in ALL if who in runs[0]["metrics"]]
    header = ["data", "change", "%", *everyone]
    about = "Features alone." if len(everyone) == 1 else ABOUT_MODELS
    text = [
        f"At most {settings['most_rows']} rows of each set, {draws}. The method was "
        f"developed on {', '.join(settings['developed_on'])}; the other sets are new "
        f"to it. {about}\n",
        "## Ranking: average precision\n",
        tables.markdown(
            header,
            [
                [*row.words, *(f"{row.mean(a, 'ap'):.3f}" for a in everyone)]
                for row in changed
            ],
        ),
    ]
    if len(everyone) > 1:
        text += [*_summary(changed, "all sets")]
        text += [*_summary(new, "sets that are new to the method")]
    text += [
        "\n## At the default threshold: precision / recall, %\n",
        tables.markdown(
            header,
            [
                [*row.words, *(row.precision_and_recall(a) for a in everyone)]
                for row in changed
            ],
        ),
        "\n## Right labels that are listed, % of all right labels\n",
        tables.markdown(
            header,
            [
                [*row.words, *(f"{100 * row.listed_right(a):.1f}" for a in everyone)]
                for row in [*nothing, *changed]
            ],
        ),
        *_counts([*nothing, *changed], len(everyone) > 1),
        "\n## CPU seconds, median of all runs, with the training of the model\n",
        tables.markdown(
            everyone,
            [
                [
                    f"{np.median([r['metrics'][a]['seconds'] for r in runs]):.1f}"
                    for a in everyone
                ]
            ],
        ),
    ]
    return "\n".join(text)


def _counts(rows: list[_Row], has_bounds: bool) -> list[str]:
    """Return how many labels are said to be wrong, and what that does to the bound."""
    header = ["data", "change", "%", "wrong", "sum of scores"]
    title = "\n## Number of wrong labels by the sum of the scores"
    cells = [
        [
            *row.words,
            f"{row.mean('n_wrong'):.0f}",
            f"{row.mean('features', 'n_expected'):.0f}",
        ]
        for row in rows
    ]
    if has_bounds:
        title += ", and lower bound on the Bayes error, %"
        header += ["bound: right labels", "changed labels", "suspects ignored"]
        for row, found in zip(rows, cells, strict=True):
            found += [
                f"{100 * row.mean(f'lower_{which}'):.1f}"
                for which in ("right", "noisy", "ignored")
            ]
    return [f"{title}\n", tables.markdown(header, cells)]


class _Row:
    """All draws of one change of the labels of one set."""

    def __init__(self, config: dict, found: list[dict]) -> None:
        self.name, self.found = config["data"], found
        self.config = config
        self.words = [config["data"], config["kind"], f"{100 * config['wrong']:g}"]
        if not config["wrong"]:
            self.words[1] = "none"

    def mean(self, *keys: str) -> float:
        values = []
        for metrics in self.found:
            value = metrics
            for key in keys:
                value = value[key]
            values.append(value)
        return float(np.mean(values))

    def sum(self, *keys: str) -> float:
        return self.mean(*keys) * len(self.found)

    def precision(self, who: str) -> float | None:
        listed = self.sum(who, "n_listed")
        return self.sum(who, "n_found") / listed if listed else None

    def precision_and_recall(self, who: str) -> str:
        precision, wrong = self.precision(who), self.sum("n_wrong")
        recall = self.sum(who, "n_found") / wrong if wrong else 0.0
        first = "none" if precision is None else f"{100 * precision:.0f}"
        return f"{first} / {100 * recall:.0f}"

    def listed_right(self, who: str) -> float:
        n_right = self.sum("n_rows") - self.sum("n_wrong")
        return (self.sum(who, "n_listed") - self.sum(who, "n_found")) / n_right


def _grouped(runs: list[dict]) -> list[tuple[dict, list[dict]]]:
    groups: dict[str, tuple[dict, list[dict]]] = {}
    for run in runs:
        config = run["config"]
        key = f"{config['data']} {config['wrong']} {config['kind']}"
        groups.setdefault(key, (config, []))[1].append(run["metrics"])
    return list(groups.values())


def _summary(rows: list[_Row], which: str) -> list[str]:
    """Return in how many cases which ranking is at least as good as the peer's best."""
    if not rows:
        return []
    best = [max(row.mean(peer, "ap") for peer in PEERS) for row in rows]
    ours = [row.mean("features", "ap") for row in rows]
    joined = [max(row.mean(who, "ap") for who in OURS[1:]) for row in rows]
    n_ours = sum(o >= b for o, b in zip(ours, best, strict=True))
    n_joined = sum(j >= b for j, b in zip(joined, best, strict=True))
    lines = [
        f"- {which}, {len(rows)} cases: features alone are at least as good as the "
        f"best of the three with cleanlab in {n_ours}, mean {np.mean(ours):.3f} "
        f"against {np.mean(best):.3f}; features with the best of the three models in "
        f"{n_joined}, mean {np.mean(joined):.3f}.",
    ]
    for model in ("trees", "logistic", "k-NN"):
        with_us = [row.mean(f"features and {model}", "ap") for row in rows]
        peer = [row.mean(f"cleanlab, {model}", "ap") for row in rows]
        n_ahead = sum(a >= b for a, b in zip(with_us, peer, strict=True))
        lines.append(
            f"  With {model}: features and {model} at least as good as cleanlab in "
            f"{n_ahead}, mean {np.mean(with_us):.3f} against {np.mean(peer):.3f}."
        )
    return ["\n".join(lines)]
