"""The loss compared with PyTorch's: time and memory of forward and backward."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own name for it)

from structsmooth.torch import structural_cross_entropy

SHAPES = ((256, 10), (256, 100), (256, 1000), (64, 50257))
EPSILON = 0.1
# The table's columns; all ratios are relative to PyTorch's own label smoothing.
REFERENCE = "label_smoothing"


def contenders(n_rows, n_classes):
    """Return {name: loss of logits}; probability targets are built beforehand."""
    draw = torch.Generator().manual_seed(0)
    target = torch.randint(n_classes, (n_rows,), generator=draw)
    strengths = 0.2 * torch.rand(n_rows, generator=draw)
    soft = torch.full((n_rows, n_classes), EPSILON / n_classes)
    soft[torch.arange(n_rows), target] += 1.0 - EPSILON
    return {
        "structsmooth": lambda x: structural_cross_entropy(x, target, strengths),
        REFERENCE: lambda x: F.cross_entropy(x, target, label_smoothing=EPSILON),
        "probability targets": lambda x: F.cross_entropy(x, soft),
        "no smoothing": lambda x: F.cross_entropy(x, target),
    }


def times(n_rows, n_classes, threads, rounds=120):
    """Return {name: {"median", "least"}} in seconds for forward and backward.

    The contenders take turns, in a new random order each time, so that other load on
    the machine, and the state of memory and caches, affects all of them equally.
    """
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    logits = torch.randn(n_rows, n_classes, requires_grad=True)
    losses = contenders(n_rows, n_classes)
    calls = max(1, 200_000 // logits.numel())
    laps = {name: [] for name in losses}
    order = random.Random(0)  # noqa: S311 (no secret)
    for turn in range(rounds + 3):
        for name in order.sample(list(losses), len(losses)):
            loss = losses[name]
            start = clock()
            for _ in range(calls):
                logits.grad = None
                loss(logits).backward()
            if turn >= 3:  # the first turns warm up caches
                laps[name].append((clock() - start) / calls)
    return {
        name: {"median": statistics.median(spent), "least": min(spent)}
        for name, spent in laps.items()
    }


MEMORY = """
import sys
import torch
from benchmarks.losses import contenders
torch.set_num_threads(1)

def resident(what):
    with open("/proc/self/status") as stream:
        line = next(line for line in stream if line.startswith(what))
    return int(line.split()[1]) / 1024

name, n_rows, n_classes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
small = torch.randn(8, 100, requires_grad=True)
contenders(8, 100)[name](small).backward()  # load what is loaded once
logits = torch.randn(n_rows, n_classes, requires_grad=True)
loss = contenders(n_rows, n_classes)[name]
with open("/proc/self/clear_refs", "w") as stream:
    stream.write("5")  # forget the peak so far
before = resident("VmRSS")
loss(logits).backward()
print(resident("VmHWM") - before)
"""


def memory(n_rows, n_classes):
    """Return {name: MB} of peak resident memory above logits and targets.

    Each is measured in its own process, as counted by the kernel. The gradient of the
    logits, which all of them must return, is included.
    """
    found = {}
    for name in contenders(2, 2):
        command = [sys.executable, "-c", MEMORY, name, str(n_rows), str(n_classes)]
        output = subprocess.run(command, capture_output=True, text=True, check=True)
        found[name] = float(output.stdout)
    return found


def run():
    """Return all measurements, and print them."""
    before = torch.get_num_threads()
    results = {"times": {}, "memory": {}}
    try:
        for threads in (1, 2):
            for shape in SHAPES:
                key = f"{shape}, {threads} thread{'s' * (threads > 1)}"
                rounds = 120 if shape[0] * shape[1] < 10**6 else 25
                measured = results["times"][key] = times(*shape, threads, rounds)
                print(f"{key:26}" + _ratios(measured), flush=True)
    finally:
        torch.set_num_threads(before)
    for shape in ((256, 50257),):
        results["memory"][str(shape)] = memory(*shape)
        print("MB above the input", shape, results["memory"][str(shape)], flush=True)
    return {"torch": torch.__version__, "losses": results}


def _ratios(measured):
    reference = measured[REFERENCE]
    return "  ".join(
        f"{name} {spent['median'] / reference['median']:.2f} "
        f"({spent['least'] / reference['least']:.2f})"
        for name, spent in measured.items()
    )


def lines(measured):
    """Return the results as lines of Markdown, for the report."""
    found = measured["losses"]
    names = list(next(iter(found["times"].values())))
    rows = [
        "",
        "## Loss, forward and backward",
        "",
        "Microseconds (median), and in parentheses the ratio of medians and of minima "
        f"to `F.cross_entropy` with `{REFERENCE}`, float32 on the CPU. structsmooth "
        "has a strength for each sample; probability targets are built beforehand.",
        "",
        "| | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for case, times_of in found["times"].items():
        reference = times_of[REFERENCE]
        cells = [
            f"{1e6 * spent['median']:.0f} "
            f"({spent['median'] / reference['median']:.2f}, "
            f"{spent['least'] / reference['least']:.2f})"
            for spent in times_of.values()
        ]
        rows.append(f"| {case} | " + " | ".join(cells) + " |")
    for shape, used in found["memory"].items():
        cells = [f"{megabytes:.0f} MB" for megabytes in used.values()]
        rows.append(f"| {shape}, peak memory | " + " | ".join(cells) + " |")
    rows += [
        "",
        "Peak memory is resident memory above logits and targets, including the "
        "gradient of the logits, each measured in its own process.",
    ]
    return rows


if __name__ == "__main__":
    print("\n".join(lines(run())))
