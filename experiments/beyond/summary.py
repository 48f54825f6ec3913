"""All experiments on one page: which way to find strengths beats uniform ones.

Methods are chosen by some of the experiments and confirmed by the others, which have
other data.
"""

from __future__ import annotations

from pathlib import Path

from experiments import configs, tables
from experiments.beyond.methods import METHODS, UNIFORM
from experiments.beyond.runner import run as run_one
from experiments.beyond.table import (
    ALONE,
    CAUTIOUS,
    METRICS,
    TITLES,
    USUAL,
    Finished,
)
from experiments.records import Records, read
from structsmooth.errors import FileFormatError


def run(config: dict, results: Path, n_jobs: int = 1) -> None:
    """Train the missing runs of the experiments; the summary has none of its own."""
    Records(results, config)
    for name in (*config["choosing"], *config["confirming"]):
        settings = configs.load(name, config["scale"])
        settings = {k: v for k, v in settings.items() if k not in configs.WORDS}
        run_one(settings, results.with_name(f"{name}.jsonl"), n_jobs)


def table(results: Path) -> str:
    """Return differences from uniform smoothing of the same mean, as Markdown."""
    config, _ = read(results)
    found, missing = {}, []
    for name in (*config["choosing"], *config["confirming"]):
        try:
            found[name] = Finished(results.with_name(f"{name}.jsonl"))
        except FileFormatError:
            missing.append(name)
    parts = [_introduction(config, found, missing)]
    for alpha in config["alphas"]:
        there = {n: f for n, f in found.items() if f.has(alpha)}
        parts += [f"## alpha {alpha}\n", _uniform(there, alpha)]
        for metric, factor, digits in METRICS:
            parts += [
                f"### {TITLES[metric]}: difference from uniform\n",
                _differences(there, alpha, metric, factor, digits),
            ]
    judged = {n: f for n, f in found.items() if f.has(CAUTIOUS)}
    if judged:
        parts += [
            '## alpha "cautious" against 0.1\n',
            "The estimated Bayes error, but at most 0.1: where the estimate is higher, "
            "nothing changes. Differences from the same method with 0.1.\n",
            _cautious(judged),
        ]
    return "\n".join(parts)


def _introduction(config: dict, found: dict, missing: list[str]) -> str:
    def listed(names):
        links = [f"[{_short(n)}]({n}.md)" for n in names if n in found]
        return ", ".join(links) or "none yet"

    seeds = ", ".join(f"{_short(n)} {len(f.seeds)}" for n, f in found.items())
    text = (
        f"Meant for choosing: {listed(config['choosing'])}. Meant for confirming: "
        f"{listed(config['confirming'])}. Seeds: {seeds}. An asterisk means that the "
        "95 % interval of the paired difference excludes 0. Intervals are not adjusted "
        "for their number, so one cell in twenty has an asterisk by chance. Lower is "
        "better. The last columns count asterisks below and above 0.\n"
    )
    if missing:
        text += f"\nNot run: {', '.join(_short(n) for n in missing)}.\n"
    return text


def _short(name: str) -> str:
    return name.removeprefix("beyond-").replace("-", " ")


def _uniform(found: dict[str, Finished], alpha) -> str:
    """Return the metrics of uniform smoothing and of training without smoothing."""
    lines = []
    for method in (*ALONE, UNIFORM):
        for metric, factor, digits in METRICS:
            means = (
                factor * finished.values(method, alpha, metric).mean()
                for finished in found.values()
            )
            cells = [f"{mean:.{digits}f}" for mean in means]
            lines.append([method, TITLES[metric], *cells])
    return tables.markdown(["", "", *map(_short, found)], lines)


def _cautious(found: dict[str, Finished]) -> str:
    """Return the differences between the cautious mean and 0.1, by method."""
    estimates = [
        f"{finished.mean_strengths(UNIFORM, 'auto').mean():.3f}"
        for finished in found.values()
    ]
    lines = [["estimated Bayes error", "", *estimates, "", ""]]
    for method in (UNIFORM, "cluster", "cluster, half beta"):
        for metric, factor, digits in METRICS:
            cells, signs = [], []
            for finished in found.values():
                if method not in finished.methods:
                    cells.append("")
                    continue
                values, usual = (
                    factor * finished.values(method, alpha, metric)
                    for alpha in (CAUTIOUS, USUAL)
                )
                signs.append(tables.sign(values, usual, test_ratio=finished.test_ratio))
                mark = "*" if signs[-1] else ""
                cells.append(f"{(values - usual).mean():+.{digits}f}{mark}")
            counts = [f"{signs.count(1)}", f"{signs.count(-1)}"]
            lines.append([method, TITLES[metric], *cells, *counts])
    return tables.markdown(["", "", *map(_short, found), "lower", "higher"], lines)


def _differences(
    found: dict[str, Finished], alpha, metric: str, factor: float, digits: int
) -> str:
    lines = []
    for method in (*ALONE, *METHODS):
        cells, signs = [], []
        for finished in found.values():
            if method not in (*ALONE, *finished.methods):
                cells.append("")
                continue
            values = factor * finished.values(method, alpha, metric)
            rival = factor * finished.values(UNIFORM, alpha, metric)
            signs.append(tables.sign(values, rival, test_ratio=finished.test_ratio))
            mark = "*" if signs[-1] else ""
            cells.append(f"{(values - rival).mean():+.{digits}f}{mark}")
        if signs:
            lines.append([method, *cells, f"{signs.count(1)}", f"{signs.count(-1)}"])
    return tables.markdown(["", *map(_short, found), "lower", "higher"], lines)
