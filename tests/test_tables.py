"""A table is fitted alike from Python, from every kind of file, and out of core."""

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from benchmarks.people import people
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from typer.testing import CliRunner

from structsmooth import (
    SmoothedClassifier,
    StructuralSmoother,
    TableEncoder,
    compare,
    fit_out_of_core,
)
from structsmooth.cli import app
from structsmooth.errors import InvalidInputError
from structsmooth.io.readers import read_dataset

pytestmark = pytest.mark.filterwarnings(
    "ignore::structsmooth.errors.StructsmoothWarning"
)


@pytest.fixture(scope="module")
def table():
    return people(3000)


@pytest.fixture(scope="module")
def fitted(table):
    return StructuralSmoother(random_state=0).fit(*table)


@pytest.fixture
def files(table, tmp_path):
    """The table as files of several kinds."""
    frame = table[0].assign(income=table[1])
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(np.array_split(np.arange(3000), 3)):
        frame.iloc[part].to_parquet(tmp_path / "parts" / f"{number}.parquet")
    with gzip.open(tmp_path / "t.csv.gz", "wt") as stream:
        frame.to_csv(stream, index=False)
    return tmp_path


def run(*words):
    """What a command prints."""
    got = CliRunner().invoke(app, [str(word) for word in words])
    assert got.exit_code == 0, got.output
    return got.stdout


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "parts"])
def test_every_kind_of_file_gives_the_strengths_of_the_data_frame(files, fitted, name):
    run("fit", files / name, "--label", "income", "-o", files / "o", "-q")
    strengths = np.load(files / "o" / "strengths.npy")
    assert np.array_equal(strengths, fitted.sample_strengths_)
    summary = json.loads((files / "o" / "summary.json").read_text())
    columns = summary["encoding"]["columns"]
    assert [c["name"] for c in columns if c["left_out"]] == ["street"]
    assert summary["encoding"]["summary"] == fitted.structure_.encoding.summary()


def test_other_libraries_give_the_same_strengths(table, fitted):
    frame, y = table
    as_read = frame.astype({"work": "category", "country": "category"})
    as_read["asked"] = pd.to_datetime(frame.asked)
    for X in (pl.from_pandas(frame), as_read, pl.from_pandas(as_read)):
        other = StructuralSmoother(random_state=0).fit(X, y)
        assert np.array_equal(other.sample_strengths_, fitted.sample_strengths_)


def test_text_that_comes_late_is_read_again_as_text(files, table, monkeypatch):
    monkeypatch.setattr("structsmooth.io.tables.CSV_ROWS", 100)
    frame, y = table
    frame = frame.assign(code=np.arange(3000) % 5, late="2020-01-01")
    frame["code"] = frame.code.astype(str).where(frame.index < 2900, "x")
    frame["late"] = frame.late.where(frame.index < 2800, "unknown")
    expected = StructuralSmoother(random_state=0).fit(frame, y)
    assert expected.structure_.encoding.columns[14].levels == (*"01234", "x")
    frame.assign(income=y).to_csv(files / "late.csv", index=False)
    run("fit", files / "late.csv", "--label", "income", "-o", files / "o", "-q")
    strengths = np.load(files / "o" / "strengths.npy")
    assert np.array_equal(strengths, expected.sample_strengths_)
    settings = {"label": "income", "smoother": StructuralSmoother(random_state=0)}
    pieces = fit_out_of_core(files / "late.csv", files / "p", **settings)
    assert np.array_equal(pieces.sample_strengths_, expected.sample_strengths_)


def test_a_saved_smoother_encodes_new_rows_as_before(table, fitted, tmp_path):
    fitted.save(tmp_path / "s.zip")
    loaded = StructuralSmoother.load(tmp_path / "s.zip")
    assert loaded.structure_.encoding.columns == fitted.structure_.encoding.columns
    assert loaded.feature_names_in_.tolist() == list(table[0])
    new, _ = people(500, seed=1)
    expected = fitted.predict_strength(new)
    assert np.array_equal(loaded.predict_strength(new), expected)
    assert np.array_equal(loaded.predict_strength(new[new.columns[::-1]]), expected)
    assert np.array_equal(loaded.predict_strength(pl.from_pandas(new)), expected)


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_rows_of_the_fit_get_what_they_had(table, regions):
    frame, y = table
    smoother = StructuralSmoother(regions=regions, random_state=0)
    soft = smoother.fit_smooth(frame, y)
    assert np.array_equal(smoother.soft_labels(frame[::-1], y[::-1])[::-1], soft)


def test_weights_count_like_repeated_rows(table):
    frame, y = table
    numbers = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), numbers)
    # Repeated streets would be frequent ones.
    frame = frame.drop(columns="street")
    weighted = StructuralSmoother(random_state=0).fit(frame, y, numbers)
    repeated = StructuralSmoother(random_state=0).fit(frame.iloc[rows], y[rows])
    assert np.allclose(
        weighted.sample_strengths_[rows], repeated.sample_strengths_, atol=1e-9
    )


def own_encoder():
    return make_column_transformer(
        (
            make_pipeline(SimpleImputer(), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            ["work", "school"],
        ),
    )


@pytest.mark.parametrize("regions", ["cluster", "point"])
def test_a_transformer_gets_the_data_frame_as_it_is(table, regions):
    frame, y = table
    smoother = StructuralSmoother(
        reducer=own_encoder(), regions=regions, random_state=0
    ).fit(frame, y)
    assert smoother.structure_.encoding is None
    array = own_encoder().fit_transform(frame)
    expected = clone(smoother).set_params(reducer="none").fit(array, y)
    assert np.array_equal(smoother.sample_strengths_, expected.sample_strengths_)
    assert np.array_equal(smoother.predict_strength(frame), smoother.sample_strengths_)
    with pytest.raises(ValueError, match="Feature names"):
        smoother.predict_strength(frame.drop(columns="age"))


def test_columns_that_cannot_be_used_are_all_named_in_python_too(table):
    frame, y = table
    frame = frame.assign(tags=[["a"]] * len(y), limit=np.inf)
    with pytest.raises(InvalidInputError, match=r"2 columns.*'tags' holds.*'limit' is"):
        StructuralSmoother().fit(frame, y)


def test_text_in_an_array_is_refused_with_a_remedy(table):
    frame, y = table
    with pytest.raises(InvalidInputError, match=r"got text.*DataFrame"):
        StructuralSmoother().fit(frame.to_numpy(), y)


def test_classifiers_train_on_tables(table):
    frame, y = table
    for model in (
        SmoothedClassifier(),
        SmoothedClassifier(
            make_pipeline(TableEncoder(), HistGradientBoostingClassifier(max_iter=20))
        ),
    ):
        for X in (frame, pl.from_pandas(frame)):
            assert model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > 0.8


def test_labels_of_new_rows_in_a_file(files, fitted):
    new, y = people(200, seed=2)
    new.assign(note="not seen before", income=y).to_csv(files / "n.csv", index=False)
    run("fit", files / "t.csv", "--label", "income", "-o", files / "o", "-q")
    options = ("--data", files / "n.csv", "--label", "income", "-o", files / "l.npy")
    run("labels", files / "o", *options)
    assert np.array_equal(np.load(files / "l.npy"), fitted.soft_labels(new, y))
    new.drop(columns=["age", "job"]).assign(income=y).to_csv(files / "n.csv")
    got = CliRunner().invoke(app, ["labels", str(files / "o"), *map(str, options)])
    assert got.exit_code == 3
    assert "has no column 'age'" in got.output


def test_suspects_of_a_table_are_those_of_its_fit(files, table):
    found = json.loads(run("suspects", files / "t.csv", "--label", "income", "--json"))
    smoother = StructuralSmoother(ignore_suspects=True, random_state=0).fit(*table)
    rows = [suspect["row"] for suspect in found["suspects"]]
    assert rows == smoother.suspects_.rows.tolist()


def test_one_line_of_the_output_says_what_was_done(files):
    printed = run("fit", files / "t.csv", "--label", "income", "-o", files / "o")
    (line,) = (line for line in printed.splitlines() if line.startswith("14 columns:"))
    assert line.endswith(
        "1 date standardized, 8 categories one-hot encoded, 42 rare levels taken "
        "together, missing values in work, job, hours, left out street."
    )


def test_class_names_are_shown_for_the_sorted_labels(files):
    options = ("--label", "income", "-o", files / "o", "--class-names", "poor, rich")
    assert "poor and rich (100% of" in run("fit", files / "t.csv", *options)
    words = [str(word) for word in ("fit", files / "t.csv", *options[:-1], "poor")]
    got = CliRunner().invoke(app, words)
    assert got.exit_code == 2
    assert "a name for each of the 2 classes" in got.output


def test_out_of_core_in_python_names_all_columns_at_fault(files, table):
    frame = table[0].assign(income=table[1], a=np.inf, b=-np.inf)
    frame.to_csv(files / "bad.csv", index=False)
    with pytest.raises(ValueError, match=r"'a' is infinite.*'b' is inf.*--drop a,b"):
        fit_out_of_core(files / "bad.csv", files / "o", label="income")
    assert not list(files.glob("o*"))


@pytest.mark.parametrize("name", ["t.csv", "parts"])
def test_a_result_out_of_core_has_all_that_a_report_needs(files, name):
    settings = {"label": "income", "smoother": StructuralSmoother(random_state=0)}
    fit_out_of_core(files / name, files / "pieces", **settings)
    run("fit", files / "t.csv", "--label", "income", "-o", files / "memory", "-q")
    for file in ("view.npz", "clusters.csv", "soft_labels.npy"):
        content = (files / "pieces" / file).read_bytes()
        assert content == (files / "memory" / file).read_bytes(), file
    found = json.loads(run("report", files / "pieces", "--json"))
    report = json.loads((files / "pieces" / "report.json").read_text())
    assert found["headline"] == report["verdict"]["headline"]
    assert report["left_out"] == []
    assert report["map"]["n_rows"] == 3000
    assert report["samples"]


def test_a_result_out_of_core_shows_pictures_and_class_names(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, size=(600, 5, 5), dtype=np.uint8)
    y = rng.integers(0, 2, 600)
    np.save(tmp_path / "X.npy", images)
    np.save(tmp_path / "other.npy", images[::-1])
    for pictures in (None, tmp_path / "other.npy"):
        fit_out_of_core(
            tmp_path / "X.npy",
            tmp_path / "o",
            labels=y,
            smoother=StructuralSmoother(random_state=0),
            images=pictures,
            class_names=["cats", "dogs"],
        )
        run("report", tmp_path / "o", "-q")
        report = json.loads((tmp_path / "o" / "report.json").read_text())
        assert [row["name"] for row in report["classes"]] == ["cats", "dogs"]
        assert report["samples"][0]["picture"].startswith("data:image/png")
    for wrong in ({"class_names": ["cats"]}, {"images": np.zeros((5, 5))}):
        with pytest.raises(InvalidInputError, match="must"):
            fit_out_of_core(tmp_path / "X.npy", tmp_path / "p", labels=y, **wrong)
    assert not list(tmp_path.glob("p*"))


def test_labels_may_be_a_column_of_any_library(table, fitted):
    frame, y = table
    for labels in (pl.Series(y), pl.Series(y, dtype=pl.Categorical), pa.array(y)):
        smoother = StructuralSmoother(random_state=0).fit(pl.from_pandas(frame), labels)
        assert smoother.classes_.tolist() == ["<=50K", ">50K"]
        assert np.array_equal(smoother.sample_strengths_, fitted.sample_strengths_)


def test_names_of_columns_may_be_odd_but_not_equal(table):
    frame, y = table
    odd = frame.set_axis([0, "work", *range(2, 14)], axis=1)
    smoother = StructuralSmoother(random_state=0).fit(odd, y)
    assert not hasattr(smoother, "feature_names_in_")
    assert np.array_equal(smoother.predict_strength(odd), smoother.sample_strengths_)
    with pytest.raises(InvalidInputError, match="two columns named 'a'"):
        StructuralSmoother().fit(
            frame[["age", "hours"]].set_axis(["a", "a"], axis=1), y
        )


def test_rows_of_other_kinds_get_one_sentence(table):
    frame, y = table
    with pytest.raises(InvalidInputError, match="LazyFrame, expected a DataFrame"):
        StructuralSmoother().fit(pl.from_pandas(frame).lazy(), y)
    with pytest.raises(InvalidInputError, match="must be two-dimensional"):
        StructuralSmoother().fit(frame["age"], y)
    with pytest.raises(InvalidInputError, match="DataFrame, which is in memory"):
        fit_out_of_core(frame, "o", labels=y)


def test_notes_on_new_rows_are_shown(files):
    run("fit", files / "t.csv", "--label", "income", "-o", files / "o", "-q")
    new, y = people(50, seed=2)
    new.assign(sex="alien", income=y).to_csv(files / "n.csv", index=False)
    options = ("--data", files / "n.csv", "--label", "income", "-o", files / "l.npy")
    found = json.loads(run("labels", files / "o", *options, "--json"))
    assert "'sex' of X has values that fit did not see: 'alien'" in found["notes"][0]


def test_long_and_strange_levels_survive_a_file(tmp_path):
    levels = ["x" * 40_000, "nul\0", "line\nbreak", "plain"]
    frame = pd.DataFrame({"a": levels * 50, "b": np.arange(200) % 7})
    y = np.arange(200) % 2
    smoother = StructuralSmoother(random_state=0).fit(frame, y)
    smoother.save(tmp_path / "s.zip")
    loaded = StructuralSmoother.load(tmp_path / "s.zip")
    assert loaded.structure_.encoding.columns[0].levels == tuple(sorted(levels))
    assert (tmp_path / "s.zip").stat().st_size < 50_000


def test_a_tsv_is_separated_by_tabs_whatever_its_names(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a, b, c\ty\n1\t0\n2\t1\n")
    assert read_dataset(path, label="y").X.names == ("a, b, c",)


def test_compare_takes_tables_from_python_and_from_files(files, table):
    frame, y = table
    new, labels = people(300, seed=3)
    new.assign(income=labels).to_csv(files / "new.csv", index=False)
    options = ("--seeds", 3, "--alpha", "0.05", "--beta", "0.5", "--test")
    words = ("compare", files / "t.csv", "--label", "income", *options)
    printed = json.loads(run(*words, files / "new.csv", "--json"))
    found = compare(
        frame, y, test=(new, labels), alpha=0.05, beta=0.5, n_seeds=3, random_state=0
    )
    means = {
        method: found.values(method, "nll").mean() for method in ("none", "structural")
    }
    assert all(0.2 < mean < 0.6 for mean in means.values())
    assert printed["verdict"] == found.verdict


@pytest.mark.filterwarnings("error::structsmooth.errors.StructsmoothWarning")
@pytest.mark.parametrize(
    "command", [("fit", "-o", "o"), ("suspects",), ("compare", "--seeds", "3")]
)
def test_what_is_noted_while_reading_is_a_note_of_the_result(
    table, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    shuffled = table[0].assign(income=table[1])[:600].sample(frac=1.0, random_state=0)
    shuffled.to_parquet("t.parquet")
    name, *options = command
    words = (name, "t.parquet", "--label", "income", *options)
    assert run(*words, "-q") == ""
    notes = json.loads(run(*words, "--json"))["notes"]
    assert "__index_level_0__" in notes[0]
    assert any("street" in note for note in notes)
