"""Saving and loading without pickle, and what happens to damaged files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from archives import rewrite
from structsmooth import StructuralSmoother, decide
from structsmooth.errors import FileFormatError, InvalidInputError
from structsmooth.io.atomic import OutputError, written_beside


@pytest.fixture
def fitted(overlapping):
    return StructuralSmoother(alpha=0.2, n_clusters=3, random_state=0).fit(*overlapping)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"clusterer": "gmm", "n_clusters": 3},
        {"reducer": "scaled-pca"},
        {"reducer": None, "ties": "average"},
        {"n_components": 1, "alpha": "auto"},
    ],
)
def test_a_loaded_smoother_is_the_saved_one(overlapping, tmp_path, settings):
    X, y = overlapping
    saved = StructuralSmoother(random_state=np.int64(3), **settings).fit(X, y)
    saved.save(tmp_path / "s.zip")
    loaded = StructuralSmoother.load(tmp_path / "s.zip")
    assert loaded.get_params() == saved.get_params()
    names = sorted(name for name in vars(saved) if name.endswith("_"))
    assert names == sorted(name for name in vars(loaded) if name.endswith("_"))
    for name in ("strengths_", "sample_strengths_", "cluster_labels_", "classes_"):
        assert np.array_equal(getattr(loaded, name), getattr(saved, name)), name
    assert np.array_equal(
        loaded.predict_strength(X + 0.5), saved.predict_strength(X + 0.5)
    )
    for a, b in zip(loaded.cluster_bounds_, saved.cluster_bounds_, strict=True):
        assert (a.lower, a.upper, a.interval) == (b.lower, b.upper, b.interval)
        assert np.array_equal(a.crossing, b.crossing)
    assert loaded.bayes_error_bounds_.interval == saved.bayes_error_bounds_.interval


def test_names_of_classes_and_features_survive(overlapping, tmp_path):
    X = pd.DataFrame(overlapping[0], columns=["größe", "b"])
    y = np.array(["<script>", "naïve"], dtype=object)[overlapping[1]]
    StructuralSmoother(random_state=0).fit(X, y).save(tmp_path / "s")
    loaded = StructuralSmoother.load(tmp_path / "s")
    assert loaded.classes_.tolist() == ["<script>", "naïve"]
    assert loaded.feature_names_in_.tolist() == ["größe", "b"]
    assert loaded.soft_labels(X, y).shape == (400, 2)


def test_a_directory_gets_a_file_of_its_own(fitted, tmp_path):
    fitted.save(tmp_path)
    assert (tmp_path / "smoother.zip").is_file()
    assert StructuralSmoother.load(tmp_path).alpha_ == 0.2


def test_the_same_smoother_is_the_same_file(fitted, tmp_path):
    fitted.save(tmp_path / "a")
    fitted.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"format_version": 99}, "newer structsmooth .*upgrade"),
        ({"format": "other"}, "not a file that structsmooth has saved"),
    ],
)
def test_a_file_of_a_newer_version_or_another_program(
    fitted, tmp_path, description, message
):
    fitted.save(tmp_path / "s")
    rewrite(tmp_path / "s", description)
    with pytest.raises(FileFormatError, match=message):
        StructuralSmoother.load(tmp_path / "s")


@pytest.mark.parametrize("kept", [0, 10, 0.3, 0.7, 0.99])
def test_a_truncated_file_says_so(fitted, tmp_path, kept):
    fitted.save(tmp_path / "s")
    content = (tmp_path / "s").read_bytes()
    length = kept if isinstance(kept, int) else int(kept * len(content))
    (tmp_path / "s").write_bytes(content[:length])
    with pytest.raises(FileFormatError, match="damaged"):
        StructuralSmoother.load(tmp_path / "s")


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bytes_never_load_as_something_else(fitted, tmp_path, seed):
    fitted.save(tmp_path / "s")
    generator = np.random.default_rng(seed)
    content = bytearray((tmp_path / "s").read_bytes())
    at = int(generator.integers(len(content)))
    content[at] ^= 0xFF
    (tmp_path / "s").write_bytes(bytes(content))
    try:
        loaded = StructuralSmoother.load(tmp_path / "s")
    except FileFormatError:
        return
    # Some bytes of a zip file, such as dates, are not read.
    assert np.array_equal(loaded.sample_strengths_, fitted.sample_strengths_)


def test_pickled_objects_are_never_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "s")
    rewrite(tmp_path / "s", classes=np.array([print], dtype=object))
    with pytest.raises(FileFormatError, match="Python objects, which are never"):
        StructuralSmoother.load(tmp_path / "s")


def test_a_text_file_is_not_a_smoother(tmp_path):
    (tmp_path / "s").write_text("hello")
    with pytest.raises(FileFormatError, match="not a file that structsmooth has saved"):
        StructuralSmoother.load(tmp_path / "s")


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileFormatError, match="there is no file"):
        StructuralSmoother.load(tmp_path / "nothing")


def test_objects_of_the_user_cannot_be_saved_and_nothing_is_written(
    overlapping, tmp_path
):
    s = StructuralSmoother(clusterer=KMeans(3, n_init=1)).fit(*overlapping)
    with pytest.raises(
        InvalidInputError, match=r"a clusterer object \(KMeans\) cannot be"
    ):
        s.save(tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")

    def fail_halfway():
        with written_beside(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_unwritable_place_is_named(fitted, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write .*file.*: not a directory"):
        fitted.save(tmp_path / "file" / "s")
    with pytest.raises(OutputError, match="no such file or directory"):
        fitted.save(tmp_path / "missing" / "s")


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("assigner_centers", np.zeros((4, 2000), dtype=np.int8)),
        ("assigner_centers", np.full((3, 2), np.nan)),
        ("region_centers", np.zeros((3, 5))),
        ("region_labels", np.full(400, -1)),
        ("region_labels", np.full(400, 3)),
        ("region_of_cluster", np.zeros(9, dtype=np.int64)),
        ("strengths", np.full(3, 5.0)),
        ("strengths", np.full(2, 0.1)),
        ("bayes_error", np.array(["a", "b", "c"])),
        ("reduction_exponent", np.array("x")),
        ("reduction_exponent", np.array(0.5)),
        ("alpha", np.array("x")),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(fitted, tmp_path, name, array):
    fitted.save(tmp_path / "s")
    rewrite(tmp_path / "s", **{name: array})
    with pytest.raises(FileFormatError, match="damaged"):
        StructuralSmoother.load(tmp_path / "s")


def test_a_file_cannot_put_anything_else_into_the_smoother(fitted, tmp_path):
    fitted.save(tmp_path / "s")
    rewrite(tmp_path / "s", {"fitted": {"predict_strength": "boo"}})
    loaded = StructuralSmoother.load(tmp_path / "s")
    assert "predict_strength" not in vars(loaded)


SAVED = Path(__file__).parents[1] / "saved"


@pytest.mark.parametrize(
    "name", ["clusters", "mixture", "points", "shrunk", "suspects"]
)
def test_files_of_the_first_version_still_load(name):
    loaded = StructuralSmoother.load(SAVED / f"{name}-0.1.0.zip")
    expected = np.load(SAVED / "expected-0.1.0.npz")
    X, new = expected["X"], expected["new"]
    if name == "shrunk":
        X, new = (pd.DataFrame(a, columns=loaded.feature_names_in_) for a in (X, new))
    assert loaded.alpha_ == expected[f"{name}_alpha"]
    np.testing.assert_array_equal(
        loaded.sample_strengths_, expected[f"{name}_strengths"]
    )
    np.testing.assert_allclose(
        loaded.predict_strength(new), expected[f"{name}_new"], atol=1e-12
    )
    y = loaded.classes_[expected["y"]]
    assert loaded.soft_labels(X, y).shape == (240, 3)


def test_what_was_measured_is_decided_upon_again_without_another_fit(overlapping):
    X, y = overlapping
    once = StructuralSmoother(0.1, n_clusters=4, random_state=0).fit(X, y)
    for settings in ({"alpha": 0.2}, {"alpha": "auto", "beta": 0.3}, {"shrink": True}):
        other = StructuralSmoother(n_clusters=4, random_state=0, **settings)
        expected = other.fit(X, y).sample_strengths_
        again = StructuralSmoother(**settings).fit_structure(once.structure_)
        np.testing.assert_array_equal(again.sample_strengths_, expected)
        decision = decide(once.structure_, other.alpha, other.beta, shrink=other.shrink)
        np.testing.assert_array_equal(decision.strengths, again.strengths_)


def test_strengths_of_samples_need_their_neighborhoods(overlapping):
    once = StructuralSmoother(random_state=0).fit(*overlapping)
    with pytest.raises(InvalidInputError, match="regions='point' needs the neighbor"):
        StructuralSmoother(regions="point").fit_structure(once.structure_)


def test_a_name_that_ends_in_a_slash_is_a_directory(fitted, tmp_path):
    fitted.save(f"{tmp_path}/new/")
    assert (tmp_path / "new" / "smoother.zip").is_file()
