"""A saved smoother with valid checksums and nonsense inside is refused."""

import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from archives import rewrite
from structsmooth import StructuralSmoother
from structsmooth.errors import FileFormatError

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 150)
X = RNG.normal(size=(150, 3)) + Y[:, np.newaxis]
TABLE = pd.DataFrame({"a": X[:, 0], "b": np.array(["u", "v", "w"])[Y], "c": X[:, 1]})
TABLE.loc[::6, "c"] = np.nan
CLEAN = X + 6.0 * Y[:, np.newaxis]
CLEAN[:2] = CLEAN[np.flatnonzero(Y[0] != Y)[:2]] + 0.01  # as if labeled wrong
WEIGHTS = RNG.integers(0, 3, 150)
FITS = {
    "clusters": (X, {"n_clusters": 3}, None),
    "nested": (np.repeat(X, 40, axis=0), {"n_clusters": 8}, None),
    "mixture": (X, {"n_clusters": 3, "clusterer": "gmm"}, None),
    "points": (X, {"n_clusters": 3, "regions": "point", "shrink": True}, None),
    "suspects": (CLEAN, {"n_clusters": 3, "ignore_suspects": True}, None),
    "components": (X, {"n_components": 2, "reducer": "scaled-pca"}, None),
    "table": (TABLE, {"n_clusters": 3}, None),
    "weights": (X, {"n_clusters": 3, "regions": "point"}, WEIGHTS),
    "suspects of weights": (X, {"ignore_suspects": True}, WEIGHTS),
    "fractions": (X, {"n_clusters": 3, "shrink": True}, WEIGHTS + 0.25),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The files of all fits, and the smoothers that were saved."""
    folder = tmp_path_factory.mktemp("saved")
    fitted = {}
    for name, (features, settings, weights) in FITS.items():
        smoother = StructuralSmoother(alpha=0.2, random_state=0, **settings)
        with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
            warnings.simplefilter("ignore")  # repeated rows are tied
            if name == "nested":
                patch.setattr("structsmooth.cluster.clusterers.MANY_CLUSTERS", 7)
            repeated = np.repeat(Y, len(features) // len(Y))
            smoother.fit(features, repeated, weights).save(folder / name)
        fitted[name] = folder / name, smoother
    return fitted


@pytest.mark.parametrize("name", FITS)
def test_what_is_promised_of_every_smoother_holds_for_these(saved, name):
    path, smoother = saved[name]
    loaded = StructuralSmoother.load(path)
    np.testing.assert_array_equal(loaded.sample_strengths_, smoother.sample_strengths_)


def changed(function, *at):
    def change(array):
        array = array.copy()
        array[at] = function(array[at])
        return array

    return change


def set_to(value):
    return lambda array: np.full_like(array, value)


NONSENSE = [
    ("clusters", "strengths", changed(lambda _: np.nan, 0)),
    ("clusters", "strengths", changed(lambda _: -0.1, 0)),
    ("clusters", "strengths", set_to(0.7)),  # (K-1)/K is 2/3
    ("clusters", "strengths", changed(lambda value: value + 1e-6, 0)),  # the mean
    ("clusters", "bayes_error", changed(lambda _: 0.9, 0)),
    ("clusters", "bayes_error", changed(lambda _: np.nan, 0)),
    ("clusters", "alpha", set_to(-0.2)),
    ("clusters", "alpha", set_to(0.9)),
    ("clusters", "beta", set_to(np.inf)),
    ("clusters", "bias", set_to(np.nan)),
    ("clusters", "uniform_bias", set_to(0.5)),
    ("clusters", "classes", set_to(1)),
    ("clusters", "classes", lambda array: array[::-1]),
    ("clusters", "classes", lambda _: np.array([0.0, 1.0, np.nan])),
    ("clusters", "n_features", set_to(0)),
    ("clusters", "region_labels", set_to(0)),
    ("clusters", "region_labels", changed(lambda region: (region + 1) % 3, 0)),
    ("clusters", "region_labels", lambda array: array[:-1]),  # rows may have weights
    ("weights", "region_labels", lambda array: array[:-1]),
    ("fractions", "region_labels", lambda array: array[:-1]),
    ("clusters", "region_n_merged", set_to(-1)),
    ("clusters", "bounds_n_samples", changed(lambda n: -n, 0)),
    ("clusters", "bounds_n_samples", changed(lambda n: n + 1, 0)),
    ("clusters", "bounds_class_counts", lambda array: array - 100),
    ("clusters", "bounds_lower", changed(lambda _: -0.1, 0)),
    ("clusters", "bounds_lower", changed(lambda _: 0.66, 0)),
    ("clusters", "bounds_upper", changed(lambda _: 2.0, 0)),
    ("clusters", "bounds_interval", lambda array: array[:, ::-1]),
    ("clusters", "bounds_interval", changed(lambda _: np.nan, 0, 0)),
    ("clusters", "bounds_confidence", changed(lambda _: 1.5, 0)),
    ("clusters", "bounds_n_effective", changed(lambda _: -1.0, 0)),
    ("clusters", "bounds_crossing_fraction", changed(lambda _: 1.1, 0)),
    ("clusters", "bounds_tied_fraction", changed(lambda _: -0.1, 0)),
    ("clusters", "bounds_pairs", changed(lambda _: 3, 0, 1)),
    ("clusters", "bounds_pairs", changed(lambda _: -1, 0, 1)),
    ("clusters", "bounds_counts", changed(lambda _: -1, 0)),
    ("clusters", "bounds_n_pairs", changed(lambda n: n + 1, 0)),
    ("clusters", "bounds_n_pairs", changed(lambda _: -1, 0)),
    ("nested", "assigner_large", changed(lambda _: np.nan, 0, 0)),
    ("nested", "assigner_large", lambda array: array[:-1]),
    ("nested", "assigner_first", changed(lambda _: 1, 0)),
    ("nested", "assigner_first", changed(lambda _: 9, -1)),
    ("nested", "assigner_first", changed(lambda _: -1, 1)),
    ("nested", "assigner_first", changed(lambda _: 0, 1)),
    ("nested", "assigner_first", lambda array: array[1:]),
    ("nested", "assigner_centers", changed(lambda _: np.inf, 0, 0)),
    ("mixture", "assigner_weights", lambda array: -array),
    ("mixture", "assigner_weights", lambda array: array * 2),
    ("mixture", "assigner_precisions_cholesky", lambda array: -array),
    ("points", "points_disagreement", changed(lambda _: 1.5, 0)),
    ("points", "points_fractions", changed(lambda _: -0.5, 0)),
    ("points", "points_limits", changed(lambda _: 0.9, 0)),
    ("points", "points_center", set_to(0.0)),
    ("points", "points_clusters", changed(lambda c: (c + 1) % 3, 0)),
    ("points", "points_labels", changed(lambda _: 3, 0)),
    ("points", "points_n_neighbors", set_to(0)),
    ("points", "points_measured_reliability", set_to(1.5)),
    ("points", "points_features", changed(lambda _: np.inf, 0, 0)),
    ("suspects", "suspects_likely", changed(lambda _: -1, 0)),
    ("suspects", "suspects_rows", set_to(150)),
    ("suspects", "suspects_agreement", changed(lambda _: 1.5, 0)),
    ("suspects", "suspects_own", changed(lambda _: -0.5, 0)),
    ("suspects", "suspects_scores", changed(lambda _: 1.5, 0)),
    ("components", "reduction_scale", lambda array: -array),
    ("components", "reduction_scale", set_to(0.0)),
    ("components", "reduction_components", lambda array: 2.0 * array),
    ("components", "reduction_exponent", set_to(2000)),
    ("table", "encoding_scale", changed(lambda _: -1.0, 0)),
    ("table", "encoding_n_missing", changed(lambda _: -1.0, 0)),
    ("table", "encoding_kind", changed(lambda _: "x", 0)),
    ("table", "feature_names", changed(lambda _: "x", 0)),
    ("weights", "given_clusters", changed(lambda _: 3, 0)),
    ("weights", "given_known", changed(lambda _: 1000, 0)),
    ("weights", "given_near", changed(lambda _: -2, 0)),
]


@pytest.mark.parametrize(("name", "array", "change"), NONSENSE)
def test_nonsense_with_valid_checksums_is_refused(saved, tmp_path, name, array, change):
    path = tmp_path / "s"
    path.write_bytes(saved[name][0].read_bytes())
    with np.load(path) as bundle:
        before = bundle[array]
    after = np.asarray(change(before))
    assert after.size
    assert not np.array_equal(before, after)
    rewrite(path, **{array: after})
    with pytest.raises(FileFormatError, match="is damaged or not a file"):
        StructuralSmoother.load(path)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("alpha", -1.0), ("regions", "x"), ("reducer", [1]), ("shrink", "no")],
)
def test_nonsense_among_the_parameters_is_refused(saved, tmp_path, parameter, value):
    path, smoother = tmp_path / "s", saved["clusters"][1]
    path.write_bytes(saved["clusters"][0].read_bytes())
    rewrite(path, {"parameters": smoother.get_params() | {parameter: value}})
    with pytest.raises(FileFormatError, match="is damaged or not a file"):
        StructuralSmoother.load(path)


def bomb(path, source, name, n_bytes, compression=zipfile.ZIP_DEFLATED):
    """Copy an archive with one array in it replaced by many zeros."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (n_bytes // 8,)}
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            if entry.filename != f"{name}.npy":
                new.writestr(entry, old.read(entry))
        entry = zipfile.ZipInfo(f"{name}.npy")
        entry.compress_type = compression
        with new.open(entry, "w", force_zip64=True) as stream:
            np.lib.format.write_array_header_1_0(stream, header)
            for _ in range(n_bytes // 2**20):
                stream.write(bytes(2**20))


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_small_file_cannot_claim_much_memory(
    saved, tmp_path, monkeypatch, compression
):
    import structsmooth.io.archive as archive

    bomb(tmp_path / "s", saved["clusters"][0], "strengths", 2**25, compression)
    taken = []
    read = archive._read_array
    monkeypatch.setattr(
        archive, "_read_array", lambda s, e: taken.append(e.file_size) or read(s, e)
    )
    with pytest.raises(FileFormatError, match="is damaged or not a file"):
        StructuralSmoother.load(tmp_path / "s")
    assert max(taken, default=0) < 10**6


def test_arrays_that_nobody_asked_for_are_not_read(saved, tmp_path, monkeypatch):
    import structsmooth.io.archive as archive

    path, smoother = saved["clusters"]
    bomb(tmp_path / "s", path, "boom", 2**25)
    taken = []
    read = archive._read_array
    monkeypatch.setattr(
        archive, "_read_array", lambda s, e: taken.append(e.filename) or read(s, e)
    )
    loaded = StructuralSmoother.load(tmp_path / "s")
    assert taken
    assert "boom.npy" not in taken
    np.testing.assert_array_equal(loaded.strengths_, smoother.strengths_)


def test_a_header_cannot_claim_more_than_there_is(saved, tmp_path):
    path = tmp_path / "s"
    path.write_bytes(saved["clusters"][0].read_bytes())
    with np.load(path) as bundle:
        strengths = bundle["strengths"]
    rewrite(path, strengths=strengths)
    with zipfile.ZipFile(path) as bundle:
        parts = {name: bundle.read(name) for name in bundle.namelist()}
    content = parts["strengths.npy"]
    parts["strengths.npy"] = content.replace(b"(3,), }        ", b"(30000000000,),}")
    assert parts["strengths.npy"] != content
    with zipfile.ZipFile(path, "w") as bundle:
        for name, part in parts.items():
            bundle.writestr(name, part)
    with pytest.raises(FileFormatError, match="is damaged"):
        StructuralSmoother.load(path)
