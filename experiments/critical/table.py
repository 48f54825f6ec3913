"""Table 4: correlations over the clusters, and a figure of one of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import figures, tables
from experiments.correlations import correlation, shown
from experiments.published import TABLE_4
from experiments.records import read

# With fewer test rows, the test error of a cluster is mostly noise.
FEWEST_TEST_ROWS = 20


def columns_of(record: dict, radius: float) -> dict[str, np.ndarray]:
    """Return the quantities of the table, for the clusters with enough test rows."""
    clusters = record["clusters"]
    enough = np.array(clusters["n_test"]) >= FEWEST_TEST_ROWS
    quantities = {
        "CSR": clusters["critical"][str(radius)],
        "ED": np.array(clusters["test_error"], dtype=float)
        - np.array(clusters["train_error"], dtype=float),
        "BER": clusters["bayes_error"],
    }
    for number, strengths in enumerate(clusters["strengths"].values(), 1):
        quantities[f"SLS{number}"] = strengths
    return {
        name: np.array(values, dtype=float)[enough]
        for name, values in quantities.items()
    }


def table(results: Path) -> str:
    """Return the correlation matrices, as Markdown."""
    settings, runs = read(results)
    radius = settings["shown_radius"]
    parts = [
        f"Scale: {settings['scale']}. Correlations over clusters with at least "
        f"{FEWEST_TEST_ROWS} test rows, with 95 % intervals (Fisher): CSR, the share "
        f"of critical training samples in boxes of ± {radius:g}/255; ED, test error "
        "minus "
        "training error; BER, the lower bound; SLS1 to SLS3, the strengths for alpha "
        "0.1, 0.2, 0.3, which are functions of the bound and add no information. "
        "One network without regularization, seed 0. The search takes "
        f"{settings['n_steps']} steps of {settings['step']:g} of the radius along the "
        f"gradient's sign, with noise of {settings['noise']:g} of the radius. The "
        "paper prints neither radius nor steps.\n"
    ]
    for run in runs:
        parts += _of_study(run, radius, settings["radii"])
    return "\n".join(parts)


def _of_study(run: dict, radius: float, radii: list[float]) -> list[str]:
    name, found = run["config"]["study"], run["metrics"]
    columns = columns_of(run, radius)
    names = list(columns)
    lines = [
        [
            a,
            *(
                "1" if a == b else shown(correlation(columns[a], columns[b]))
                for b in names
            ),
        ]
        for a in names
    ]
    counts = ", ".join(
        f"{100 * found[f'critical_{r}']:.0f} % at {r:g}/255" for r in sorted(radii)
    )
    pairs = [
        [
            f"{a} and {b}",
            shown(correlation(columns[a], columns[b])),
            *(
                shown(correlation(at[a], at[b]))
                for at in (columns_of(run, r) for r in sorted(radii))
            ),
            f"{TABLE_4[name][a, b]:.2f}",
        ]
        for a, b in (("CSR", "ED"), ("CSR", "BER"), ("ED", "BER"), ("CSR", "SLS1"))
    ]
    header = ["", "here", *(f"radius {r:g}/255" for r in sorted(radii)), "paper"]
    return [
        f"## {name}\n",
        f"{len(columns['BER'])} clusters; training error "
        f"{100 * found['train_error']:.1f} %, test error "
        f"{100 * found['test_error']:.1f} %; critical: {counts}.\n",
        tables.markdown(["", *names], lines),
        tables.markdown(header, pairs),
    ]


def figure(results: Path) -> list[Path]:
    """Draw the share of critical samples against the Bayes error."""
    settings, runs = read(results)
    plot, axes = figures.row(len(runs))
    for axis, run in zip(axes, runs, strict=True):
        columns = columns_of(run, settings["shown_radius"])
        axis.scatter(columns["BER"], columns["CSR"], color="#0072b2", s=14)
        value = correlation(columns["BER"], columns["CSR"])
        axis.set_title(f"{run['config']['study']}: r = {shown(value)}")
        axis.set_xlabel("Bayes error of the cluster, lower bound")
    axes[0].set_ylabel("share of critical samples")
    return [figures.save(plot, results.with_suffix(".png"))]
