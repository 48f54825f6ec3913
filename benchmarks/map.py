"""A map of the trees' speed, over rows, features, intrinsic dimension and separation.

``python -m benchmarks.map`` measures what is not in ``results/map.json`` yet, cell by
cell, ours and quitefastmst in turns on one thread, and writes the table and the figure.
Each cell is a region of eight blobs of different rank and scale. Other libraries are
measured in some of the cells.
"""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import peers
from benchmarks.clock import machine, machine_lines
from structsmooth.tree.boruvka import boruvka
from structsmooth.tree.prim import prim
from structsmooth.tree.prim_gram import prim_gram
from structsmooth.tree.prim_rounded import prim_rounded

mpl.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "results"
ROWS = (1_000, 2_000, 5_000, 10_000, 40_000, 200_000)
FEATURES = (2, 3, 5, 10, 28, 64)
RANKS = (6, 3, 64)  # at most; a blob has no more dimensions than features
SEPARATIONS = (1.0, 4.0)
# The largest cells would take the peer hours.
MOST_WORK = 40_000**2 * 28
# Where the others are measured too, once: rows, and features up to.
OTHERS = {
    "mlpack": (2_000, 64),
    "scikit_learn_prim": (2_000, 64),
    "fast_hdbscan": (2_000, 28),
}


def blobs(n, d, rank, separation, seed=0, n_groups=8):
    """Return blobs of half the rank to all of it, and of different scale."""
    draw = np.random.default_rng(seed)
    X = np.empty((n, d), dtype=np.float32)
    group = draw.integers(0, n_groups, n)
    for number in range(n_groups):
        rows = np.flatnonzero(group == number)
        own_rank = int(draw.integers(max(1, rank // 2), rank + 1))
        axes = draw.normal(size=(own_rank, d)) / np.sqrt(own_rank)
        latent = draw.normal(size=(len(rows), own_rank))
        noise = 0.02 * draw.normal(size=(len(rows), d))
        center = separation * draw.normal(size=d)
        X[rows] = center + np.exp(0.7 * draw.normal()) * (latent @ axes + noise)
    return X


def target(n, d):
    """Return what the ratio to the best peer should at least be, None if not said."""
    if n <= 10_000:
        return 6.0 if d >= 10 else 3.0 if d == 5 else None
    if n == 40_000:
        return 10.0 if d >= 28 else 7.0 if d == 10 else 2.0 if d == 5 else None
    return {2: 1.2, 3: 1.2, 5: 1.5}.get(d)


def cells():
    """Yield rows, features, intrinsic dimension and separation, kind by kind."""
    seen = set()
    for rank, separation in itertools.product(RANKS, SEPARATIONS):
        for n, d in itertools.product(ROWS, FEATURES):
            cell = n, d, min(rank, d), separation
            if cell not in seen and (d <= 5 or n * n * d <= MOST_WORK):
                seen.add(cell)
                yield cell


def measure(n, d, rank, separation, names=("ours", "quitefastmst")):
    """Return the least CPU seconds of each, after comparing the lengths."""
    X = blobs(n, d, rank, separation)
    spent, lengths = {}, {"ours": peers.ours(X)}
    contenders = [getattr(peers, name) for name in names]
    for contender in contenders:
        contender(X[:500])  # imports and compiles
    _take_turns(contenders, X, spent, lengths)
    for name, length in lengths.items():
        np.testing.assert_allclose(length, lengths["ours"], rtol=1e-5, err_msg=name)
    return spent


def _take_turns(contenders, X, spent, lengths):
    for turn in range(25):
        # The shorter it takes, the more turns: a shared machine slows some of them.
        longest = 5.0 if turn == 1 else 1.0 if turn < 5 else 0.05
        for contender in contenders:
            name = contender.__name__
            if turn > 0 and spent[name] > longest:
                continue
            start = time.process_time()
            lengths[name] = contender(X)
            lap = time.process_time() - start
            spent[name] = min(lap, spent.get(name, lap))


def main():
    """Measure what is missing, write after every cell, then the page and the figure."""
    path = RESULTS / "map.json"
    measured = json.loads(path.read_text()) if path.is_file() else {"cells": {}}
    measured["machine"] = machine()
    for build, d in itertools.product(
        (prim, prim_gram, prim_rounded, boruvka), (3, 60)
    ):
        build(blobs(800, d, d, 1.0))  # compiles its kernels
    found = measured["cells"]
    for cell in cells():
        name = _name_of(cell)
        if name not in found:
            found[name] = measure(*cell)
            print(name, f"{found[name]['quitefastmst'] / found[name]['ours']:.2f}")
            _keep(measured, path)
    # At last, because the threads of some of them go on waiting busily.
    for n, d, rank, separation in cells():
        cell = n, d, rank, separation
        names = [
            name
            for name, (rows, features) in OTHERS.items()
            if n == rows and d <= features and rank == min(6, d)
        ]
        if not set(names) <= set(found[_name_of(cell)]):
            found[_name_of(cell)] |= measure(*cell, names)
            _keep(measured, path)


def _name_of(cell):
    return ",".join(f"{value:g}" for value in cell)


def _keep(measured, path):
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(measured, indent=1) + "\n")
    beside.replace(path)
    write(measured)


def write(measured):
    """Write ``map.md`` and ``map.png``."""
    ratio, found = {}, measured["cells"]
    for name, spent in found.items():
        n, d, rank, separation = (float(value) for value in name.split(","))
        key = (int(n), int(d), int(rank), separation)
        ratio[key] = spent["quitefastmst"] / spent["ours"]
    kinds = list(itertools.product(("3", "6", "all"), SEPARATIONS))
    sizes = [
        size
        for size in itertools.product(ROWS, FEATURES)
        if any(key[:2] == size for key in ratio)
    ]
    weakest = min(ratio.values())
    lines = [
        "# A map of the trees' speed",
        "",
        "Made by `python -m benchmarks.map`: the time of quitefastmst, in ours,",
        "CPU time on one thread, in turns. Eight blobs of different rank (at most the",
        "intrinsic dimension) and scale, their centers a separation apart. The weakest",
        "cell is bold, what misses its target has a star, and sizes that are not",
        "recorded yet are left out.",
        "",
        "| rows | features | target | "
        + " | ".join(f"{rank} dimensions, {apart:g} apart" for rank, apart in kinds)
        + " |",
        "|---" * (3 + len(kinds)) + "|",
    ]
    for n, d in sizes:
        row = []
        for rank, apart in kinds:
            value = ratio.get((n, d, d if rank == "all" else min(int(rank), d), apart))
            if value is None or (rank != "all" and int(rank) >= d):
                row.append("")
                continue
            text = f"{value:.1f}" + ("\\*" if value < (target(n, d) or 0.0) else "")
            row.append(f"**{text}**" if value == weakest else text)
        goal = "" if target(n, d) is None else f"{target(n, d):g}"
        lines.append(f"| {n} | {d} | {goal} | " + " | ".join(row) + " |")
    lines += ["", "![The least ratio of each size](map.png)", "", *_others(found)]
    lines += machine_lines(measured)
    (RESULTS / "map.md").write_text("\n".join(lines) + "\n")
    _draw(ratio, RESULTS / "map.png")


def _others(found):
    lines = ["## Other libraries", "", "Times as long as ours, 2 000 rows."]
    lines += ["", "| features | separation | " + " | ".join(OTHERS) + " |"]
    lines += ["|---" * (2 + len(OTHERS)) + "|"]
    for n, d, rank, separation in cells():
        spent = found.get(_name_of((n, d, rank, separation)), {})
        if set(OTHERS) & set(spent):
            row = [
                f"{spent[other] / spent['ours']:.1f}" if other in spent else ""
                for other in OTHERS
            ]
            lines.append(f"| {d} | {separation:g} | " + " | ".join(row) + " |")
    return lines


def _draw(ratio, path):
    """Draw the least ratio of each number of rows and features."""
    least = np.full((len(FEATURES), len(ROWS)), np.nan)
    for (n, d, _, _), value in ratio.items():
        at = FEATURES.index(d), ROWS.index(n)
        least[at] = np.fmin(least[at], value)
    figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    norm = mpl.colors.LogNorm(0.8, 40)
    image = axis.imshow(least, origin="lower", cmap="viridis", norm=norm)
    for (y, x), value in np.ndenumerate(least):
        if np.isfinite(value):
            color = "black" if value > 8 else "white"
            axis.text(x, y, f"{value:.1f}", ha="center", va="center", color=color)
    axis.set_xticks(range(len(ROWS)), [f"{n:,}".replace(",", " ") for n in ROWS])
    axis.set_yticks(range(len(FEATURES)), list(map(str, FEATURES)))
    axis.set_xlabel("rows")
    axis.set_ylabel("features")
    figure.colorbar(image, label="quitefastmst's time, relative to ours")
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
