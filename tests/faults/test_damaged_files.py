"""Damaged files of every kind: refused in one sentence, or read as they were.

Seeded; ``make faults`` runs the full number and prints the counts.
"""

import io
import json
import warnings
import zipfile
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from archives import rewrite
from faultcounts import FULL, REFUSALS, how_many
from structsmooth import StructuralSmoother, fit_out_of_core
from structsmooth.io.readers import read_dataset
from structsmooth.outofcore import fit as outofcore_fit
from structsmooth.report.view import load_view

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 90)
X = RNG.normal(size=(90, 3)) + Y[:, np.newaxis]
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
TABLE["d"] = np.array(["u", "v", "w"])[Y]
TABLE["y"] = np.array(["x", "y", "z"])[Y]


def write_data(folder):
    """Write the same data as files of every kind."""
    np.savez(folder / "d.npz", X=X, y=Y)
    np.savez_compressed(folder / "c.npz", X=X, y=Y)
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)
    TABLE.to_csv(folder / "t.csv", index=False)
    TABLE.to_csv(folder / "t.csv.gz", index=False)
    TABLE.to_parquet(folder / "t.parquet")


def damage(content, rng):
    """Return content with bytes changed, cut, repeated, inserted or zeroed."""
    content = bytearray(content)
    at = int(rng.integers(len(content)))
    length = int(rng.integers(1, 1 + min(64, len(content) - at)))
    kind = int(rng.integers(6))
    if kind == 0:
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del content[at:]
    elif kind == 2:
        del content[at : at + length]
    elif kind == 3:
        content[at:at] = content[at : at + length]
    elif kind == 4:
        content[at : at + length] = bytes(length)
    else:
        content[at : at + length] = rng.bytes(length)
    return bytes(content)


KINDS = {
    "d.npz": {},
    "c.npz": {},
    "x.npy": {"labels": "y.npy"},
    "t.csv": {"label": "y"},
    "t.csv.gz": {"label": "y"},
    "t.parquet": {"label": "y"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_damaged_data(tmp_path, name, capsys):
    write_data(tmp_path)
    options = dict(KINDS[name])
    if "labels" in options:
        options["labels"] = tmp_path / options["labels"]
    content = (tmp_path / name).read_bytes()
    rng, counts = np.random.default_rng(1), Counter()
    for _ in range(how_many(2000, 60)):
        (tmp_path / name).write_bytes(damage(content, rng))
        try:
            dataset = read_dataset(tmp_path / name, **options)
            assert len(dataset.X) >= 1
            counts["read"] += 1
        except REFUSALS as error:
            counts["refused" if "\n" not in str(error) else "several lines"] += 1
    report(capsys, name, counts)
    assert counts["refused"] or name == "t.csv"
    assert not counts["several lines"]


def fitted(**settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"random_state": 0, "alpha": 0.1, **settings}
        return StructuralSmoother(**settings).fit(X, Y)


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_damaged_smoothers(tmp_path, capsys, regions):
    smoother = fitted(regions=regions)
    smoother.save(tmp_path / "s")
    content = (tmp_path / "s").read_bytes()
    rng, counts = np.random.default_rng(2), Counter()
    for _ in range(how_many(2000, 60)):
        (tmp_path / "s").write_bytes(damage(content, rng))
        try:
            loaded = StructuralSmoother.load(tmp_path / "s")
        except REFUSALS as error:
            counts["refused" if "\n" not in str(error) else "several lines"] += 1
            continue
        # Some bytes of a zip file, such as dates, are not read.
        assert np.array_equal(loaded.sample_strengths_, smoother.sample_strengths_)
        counts["same"] += 1
    report(capsys, f"smoother.zip ({regions})", counts)
    assert not counts["several lines"]
    assert counts["refused"]


CHANGES = (
    lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else a.ravel()[:0],
    lambda a: -a if a.dtype.kind in "if" else a,
    lambda a: a * 1000 if a.dtype.kind in "iuf" else a,
    lambda a: a + 1 if a.dtype.kind in "iuf" else a,
    lambda a: RNG.permutation(a.ravel()).reshape(a.shape),
    lambda a: np.repeat(a, 2, axis=0) if a.ndim else np.array([a, a]),
    lambda a: a.astype(str),
    lambda a: a.astype(complex) if a.dtype.kind in "iuf" else a,
    lambda a: np.zeros_like(a),
    lambda a: a[..., np.newaxis],
    lambda a: a.astype(np.float32) if a.dtype.kind == "f" else a,
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "settings",
    [{}, {"clusterer": "gmm"}, {"regions": "point"}, {"ignore_suspects": True}],
)
def test_changed_arrays_with_valid_checksums(tmp_path, capsys, settings):
    smoother = fitted(**settings)
    smoother.save(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    with np.load(tmp_path / "whole") as bundle:
        arrays = {n: bundle[n] for n in bundle.files if n != "smoother.json"}
    rng, counts = np.random.default_rng(3), Counter()
    pairs = [(name, change) for name in arrays for change in CHANGES]
    chosen = rng.permutation(len(pairs))[: how_many(len(pairs), 60)]
    for number in chosen:
        name, change = pairs[number]
        (tmp_path / "s").write_bytes(content)
        rewrite(tmp_path / "s", **{name: change(arrays[name])})
        try:
            loaded = StructuralSmoother.load(tmp_path / "s")
        except REFUSALS:
            counts["refused"] += 1
            continue
        # Whatever is taken keeps all promises.
        strengths = loaded.sample_strengths_
        assert ((strengths >= 0.0) & (strengths < 2.0 / 3.0)).all(), name
        assert abs(strengths.mean() - loaded.alpha_) < 1e-9, name
        soft = loaded.soft_labels(X + 0.25, loaded.classes_[Y])
        assert np.isfinite(soft).all(), name
        np.testing.assert_allclose(soft.sum(axis=1), 1.0, err_msg=name)
        counts["taken"] += 1
    report(capsys, f"arrays of {settings or 'clusters'}", counts)
    assert counts["refused"] > counts["taken"]


@pytest.mark.parametrize(
    "name", ["summary.json", "labels.npy", "smoother.zip", "view.npz"]
)
def test_damaged_results(tmp_path, name, capsys):
    from typer.testing import CliRunner

    from structsmooth.cli import app

    np.savez(tmp_path / "d.npz", X=X, y=Y)
    out = tmp_path / "out"
    runner = CliRunner()
    got = runner.invoke(app, ["fit", str(tmp_path / "d.npz"), "-o", str(out), "-q"])
    assert got.exit_code == 0
    rng, counts = np.random.default_rng(4), Counter()
    whole = (out / name).read_bytes()
    for _ in range(how_many(2000, 6)):
        (out / name).write_bytes(damage(whole, rng))
        words = ["labels", str(out), "-o", str(tmp_path / "l.csv"), "-q"]
        if FULL and name == "view.npz":  # which nothing but a report reads
            words = ["report", str(out), "-o", str(tmp_path / "r.html"), "-q"]
        got = runner.invoke(app, words)
        assert got.exception is None or isinstance(got.exception, SystemExit)
        assert got.exit_code in (0, 3), got.stderr
        counts[f"exit {got.exit_code}"] += 1
    report(capsys, f"results with another {name}", counts)


class StopError(Exception):
    pass


@pytest.mark.filterwarnings("ignore")
def test_damaged_spill_files(tmp_path, monkeypatch, capsys):
    """Whatever is damaged is made again, and the result is the same."""
    write_data(tmp_path)
    settings = StructuralSmoother(0.1, n_clusters=3, random_state=0)

    def fit():
        out = tmp_path / "o"
        return fit_out_of_core(
            tmp_path / "t.csv", out, label="y", max_memory="4GB", smoother=settings
        )

    def stop(*_, **__):
        raise StopError

    expected = np.array(fit().sample_strengths_)
    with monkeypatch.context() as patch:
        patch.setattr(outofcore_fit, "write_result", stop)
        with pytest.raises(StopError):
            fit()
    spill = tmp_path / "o.spill"
    whole = {path.name: path.read_bytes() for path in spill.iterdir()}
    names = sorted(whole.keys() - {"lock"})
    assert len(names) > 8
    rng, counts = np.random.default_rng(6), Counter()
    for number in range(how_many(2000, 24)):
        spill.mkdir(exist_ok=True)
        for name, content in whole.items():
            (spill / name).write_bytes(content)
        name = names[number % len(names)]
        (spill / name).write_bytes(damage(whole[name], rng))
        assert np.array_equal(fit().sample_strengths_, expected), name
        assert not spill.exists()
        counts["same result"] += 1
    report(capsys, f"spill files of {len(names)} kinds", counts)


def test_bombs_take_no_memory(tmp_path, capsys):
    """Archives of zeros, headers that claim much, and nested JSON."""
    smoother = fitted()
    smoother.save(tmp_path / "s")
    counts = Counter()
    with zipfile.ZipFile(tmp_path / "s") as bundle:
        parts = {name: bundle.read(name) for name in bundle.namelist()}
    zeros = io.BytesIO()
    np.save(zeros, np.zeros(1_500_000))
    nested = ("[" * 10**5).encode()
    for name in list(parts)[: how_many(len(parts), 3)]:
        for content in (zeros.getvalue(), nested, json.dumps([0] * 10**6).encode()):
            with zipfile.ZipFile(tmp_path / "b", "w", zipfile.ZIP_DEFLATED) as bundle:
                for other, part in parts.items():
                    bundle.writestr(other, content if other == name else part)
            with pytest.raises(REFUSALS):
                StructuralSmoother.load(tmp_path / "b")
            counts["refused"] += 1
    report(capsys, "bombs", counts)


def test_damaged_views(tmp_path, capsys):
    from structsmooth.report.rows import make_view
    from structsmooth.report.view import save_view

    smoother = fitted()
    save_view(make_view(smoother, X, Y), tmp_path / "v")
    content = (tmp_path / "v").read_bytes()
    rng, counts = np.random.default_rng(5), Counter()
    for _ in range(how_many(2000, 60)):
        (tmp_path / "v").write_bytes(damage(content, rng))
        try:
            load_view(tmp_path / "v", 3, len(smoother.strengths_))
            counts["read"] += 1
        except REFUSALS:
            counts["refused"] += 1
    report(capsys, "view.npz", counts)
    assert counts["refused"]


def report(capsys, what, counts):
    """Print how many files came to which end, past pytest."""
    if FULL:
        with capsys.disabled():
            ends = ", ".join(f"{count} {end}" for end, count in sorted(counts.items()))
            print(f"\n{what}: {sum(counts.values())} files, {ends}")
