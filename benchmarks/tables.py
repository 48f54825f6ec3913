"""The fit of a table with text and gaps, beside the fit of the same table encoded."""

from __future__ import annotations

import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from benchmarks.clock import seconds
from benchmarks.people import people
from structsmooth import StructuralSmoother, TableEncoder
from structsmooth.io.readers import read_dataset

REPEATS = 5


def cases():
    """Give the name of each table, the table and its labels."""
    yield "census-like, 50 000 x 14, 8 of text", *people(50_000)
    found = find_spec("plotnine")  # importing it would take seconds
    if found is not None and found.origin is not None:
        diamonds = pd.read_csv(Path(found.origin).parent / "data" / "diamonds.csv")
        name = "diamonds (plotnine), 53 940 x 9, 2 of text"
        yield name, diamonds.drop(columns="cut"), diamonds["cut"]


def measure(frame, y):
    """Return the times of both fits, measured in turns, and of reading a csv file."""
    encoded = TableEncoder().fit_transform(frame)

    def fit(X):
        StructuralSmoother(random_state=0, n_jobs=1).fit(X, y)

    times = {"as it is": float("inf"), "encoded before": float("inf")}
    fit(frame)  # compile
    for _ in range(REPEATS):
        for name, X in (("as it is", frame), ("encoded before", encoded)):
            times[name] = min(times[name], seconds(lambda X=X: fit(X), 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        frame.assign(label=y).to_csv(path, index=False)
        times["reading it from csv"] = seconds(
            lambda: read_dataset(path, label="label"), 3
        )
    return {"features": encoded.shape[1], **times}


def run():
    """Return all timings, and print them."""
    warnings.simplefilter("ignore")
    results = {}
    for name, frame, y in cases():
        results[name] = measure(frame, y)
        print(name, results[name], flush=True)
    return {"tables": results}


def lines(measured):
    """Return the section of the page."""
    rows = [
        "",
        "## Tables with text and gaps",
        "",
        "A default fit of a DataFrame as it is, and of its features encoded before.",
        "",
        "| table | features | as it is | encoded before | ratio | reading from csv |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in measured["tables"].items():
        whole, encoded = found["as it is"], found["encoded before"]
        rows.append(
            f"| {name} | {found['features']} | {whole:.2f} | {encoded:.2f} | "
            f"{whole / encoded:.2f} | {found['reading it from csv']:.2f} |"
        )
    return rows
