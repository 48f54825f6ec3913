"""Reading every kind of file, and errors that say where the fault is."""

import gzip

import numpy as np
import pandas as pd
import pytest

from structsmooth import fit_out_of_core
from structsmooth.errors import (
    FileFormatError,
    FileOptionError,
    LeftOutColumnsWarning,
)
from structsmooth.io.readers import read_dataset

TABLE = "a,kind,b\n1,cat,0.5\n2,dog,-1e3\n3,cat,7\n"
X = np.array([[1.0, 0.5], [2.0, -1000.0], [3.0, 7.0]])


@pytest.fixture
def write(tmp_path):
    def write_text(name, text):
        path = tmp_path / name
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return path

    return write_text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", TABLE),
        ("t.csv.gz", TABLE),
        ("t.tsv", TABLE.replace(",", "\t")),
        ("semicolon.csv", TABLE.replace(",", ";")),
        ("windows.csv", TABLE.replace("\n", "\r\n")),
        ("bom.csv", "\ufeff" + TABLE),
        ("blank.csv", TABLE.replace("\n2", "\n\n2") + "\n"),
        ("quoted.csv", TABLE.replace("cat", '"cat"')),
    ],
)
def test_tables_of_text(write, name, text):
    data = read_dataset(write(name, text), label="kind")
    assert np.array_equal(data.X.values, X)
    assert data.y.tolist() == ["cat", "dog", "cat"]
    assert data.X.names == ("a", "b")


def test_a_table_without_header_counts_its_columns(write):
    path = write("t.csv", "1.0,10,5\n0.0,20,6\n1.0,30,7\n")
    data = read_dataset(path, label="0")
    assert data.y.tolist() == [1, 0, 1]
    assert data.y.dtype == np.int64
    assert data.X.values.tolist() == [[10, 5], [20, 6], [30, 7]]
    assert data.X.names == ("1", "2")


def test_columns_can_be_left_out(write):
    data = read_dataset(write("t.csv", TABLE), label="b", drop=["kind"])
    assert data.X.values.tolist() == [[1], [2], [3]]


def test_columns_to_leave_out_can_be_separated_by_commas(write):
    path = write("t.csv", 'a,b,"c, d",e,y\n1,2,3,4,0\n5,6,7,8,1\n')
    for drop in (["a,b"], ["a, b"], ["a", "b"]):
        assert read_dataset(path, label="y", drop=drop).X.names == ("c, d", "e")
    data = read_dataset(path, label="y", drop=["c, d", "a,e"])
    assert data.X.names == ("b",)
    with pytest.raises(FileOptionError, match="no column 'x'; it has a, b, c, d, e, y"):
        read_dataset(path, label="y", drop=["a,x"])


def test_a_table_without_label_says_so_before_anything_else(write, tmp_path):
    message = "without labels: name the column with --label; it has a, kind, b"
    for text in (TABLE, TABLE + "4,,NA\n"):
        with pytest.raises(FileOptionError, match=message):
            read_dataset(write("t.csv", text), drop=["other"])
    frame = pd.DataFrame({"a": [1, 2], "kind": ["c", None], "b": ["x", "y"]})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FileOptionError, match=message):
        read_dataset(tmp_path / "t.parquet")
    with pytest.raises(FileOptionError, match=message):
        fit_out_of_core(tmp_path / "t.parquet", tmp_path / "o")
    assert not list(tmp_path.glob("o*"))


def test_labels_of_several_chunks_stay_with_their_rows(write, monkeypatch):
    monkeypatch.setattr("structsmooth.io.tables.CSV_ROWS", 7)
    rows = [f"{i},{i % 3}" for i in range(50)]
    data = read_dataset(write("t.csv", "x,y\n" + "\n".join(rows)), label="y")
    assert np.array_equal(data.X.values[:, 0], np.arange(50))
    assert np.array_equal(data.y, np.arange(50) % 3)


@pytest.mark.parametrize("names", [("X", "y"), ("x_train", "y_train")])
def test_npz(tmp_path, names):
    np.savez(tmp_path / "d.npz", **{names[0]: X, names[1]: [0, 1, 0], "other": 1})
    data = read_dataset(tmp_path / "d.npz")
    assert np.array_equal(data.X, X)
    assert data.y.tolist() == [0, 1, 0]


def test_npz_with_labels_of_another_name(tmp_path):
    np.savez(tmp_path / "d.npz", X=X, y=[0, 1, 0], fine=[5, 6, 5])
    assert read_dataset(tmp_path / "d.npz", label="fine").y.tolist() == [5, 6, 5]


def test_images_become_rows(tmp_path):
    images = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    np.savez(tmp_path / "d.npz", x_train=images, y_train=[0, 1])
    data = read_dataset(tmp_path / "d.npz")
    assert data.X.shape == (2, 12)
    assert data.X.dtype == np.float32
    assert data.X[1].tolist() == list(range(12, 24))


def test_npy_with_labels_in_another_file(tmp_path, write):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", [1, 2, 1])
    text = write("y.txt", "up\ndown\nup\n")
    marked = write("bom.txt", "\ufeffno\nyes\nno\n")  # with a byte-order mark
    for labels, expected in (
        (tmp_path / "y.npy", [1, 2, 1]),
        (text, ["up", "down", "up"]),
        (marked, ["no", "yes", "no"]),
    ):
        data = read_dataset(tmp_path / "X.npy", labels=labels)
        assert data.y.tolist() == expected


def test_parquet(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3], "kind": ["c", "d", "c"], "b": X[:, 1]})
    frame.to_parquet(tmp_path / "t.parquet")
    data = read_dataset(tmp_path / "t.parquet", label="kind")
    assert np.array_equal(data.X.values, X)
    assert data.y.tolist() == ["c", "d", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TABLE + "4,dog\n", "line 5: expected 3 cells as in the first line, got 2"),
        (TABLE + "4,dog,1,1\n", "line 5: expected 3 cells as in the first line, got 4"),
        (TABLE + "4,,1\n", "label of row 4 is missing"),
        (TABLE + "4,NA,1\n", r"label of row 4 is missing \(NA\)"),
        (
            TABLE + "inf,dog,-inf\n",
            "has 2 columns that cannot be used: 'a' is infinite.*, 'b' is infinite.*"
            "--drop a,b",
        ),
        (TABLE.replace("kind", "a"), "two columns named 'a'"),
        (TABLE.replace("kind", "class"), "no column 'kind'; it has a, class, b"),
        ("kind\ncat\n", "no column left for the features"),
        ("", "is empty"),
    ],
)
def test_a_wrong_table_says_where(write, text, message):
    with pytest.raises(FileFormatError, match=message):
        read_dataset(write("t.csv", text), label="kind")


def test_binary_rubbish_in_every_kind_of_file(tmp_path):
    for name in ("t.csv", "t.csv.gz", "t.npz", "t.npy", "t.parquet"):
        (tmp_path / name).write_bytes(b"\x93\xff\x00rubbish" * 9)
        with pytest.raises(FileFormatError, match=name):
            read_dataset(tmp_path / name, label="y")


@pytest.mark.parametrize("kept", [0, 30, 0.5, 0.95])
@pytest.mark.parametrize("name", ["d.npz", "d.npy", "d.csv.gz"])
def test_a_truncated_file_is_called_damaged(tmp_path, write, name, kept):
    path = tmp_path / name
    rows = np.arange(3000.0).reshape(300, 10)
    if name == "d.npz":
        np.savez(path, X=rows, y=np.arange(300))
    elif name == "d.npy":
        np.save(path, rows)
    else:
        write(name, "\n".join(",".join(map(str, row)) for row in rows))
    content = path.read_bytes()
    length = kept if isinstance(kept, int) else int(kept * len(content))
    path.write_bytes(content[:length])
    with pytest.raises(FileFormatError, match=r"damaged|empty"):
        read_dataset(path, label="3" if "csv" in name else None)


def test_objects_are_never_unpickled(tmp_path):
    objects = np.array([{"a": 1}, None], dtype=object)
    np.savez(tmp_path / "d.npz", X=objects, y=[0, 1])
    np.save(tmp_path / "d.npy", objects)
    for name in ("d.npz", "d.npy"):
        with pytest.raises(FileFormatError, match="Python objects, which are never"):
            read_dataset(tmp_path / name)


def test_what_is_missing_is_named(tmp_path, write):
    np.savez(tmp_path / "d.npz", features=X)
    np.save(tmp_path / "d.npy", X)
    np.save(tmp_path / "flat.npy", np.arange(3.0))
    table = write("t.csv", TABLE.replace("cat", "1").replace("dog", "2"))
    for path, message in (
        (tmp_path / "none.csv", "there is no file"),
        (tmp_path, "is a directory, expected a file"),
        (write("t.xlsx", "x"), "unknown kind, expected npz, npy, csv"),
        (tmp_path / "d.npz", "arrays X and y .*found features"),
        (tmp_path / "d.npy", "without labels: give --labels FILE"),
        (tmp_path / "flat.npy", "table of features, got an array of shape"),
        (table, "without labels: name the column with --label"),
    ):
        with pytest.raises(FileFormatError, match=message):
            read_dataset(path)
    with pytest.raises(FileFormatError, match="there is no file"):
        read_dataset(tmp_path / "d.npy", labels=tmp_path / "none.npy")
    with pytest.raises(FileFormatError, match="no columns to drop"):
        read_dataset(tmp_path / "d.npy", labels=table, drop=["a"])


def test_a_parquet_table_names_all_columns_that_cannot_be_used(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.0, 2.0], "tags": [["x"], ["y"]], "raw": [b"1", b"2"], "y": [0, 1]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FileFormatError, match=r"'tags' holds.*'raw' holds.*tags,raw"):
        read_dataset(tmp_path / "t.parquet", label="y")
    data = read_dataset(tmp_path / "t.parquet", label="y", drop=["tags,raw"])
    assert data.X.names == ("a",)


def test_the_index_of_a_shuffled_frame_is_not_a_feature(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    frame.iloc[[1, 2, 0]].to_parquet(tmp_path / "t.parquet")
    with pytest.warns(LeftOutColumnsWarning, match="'__index_level_0__'"):
        assert read_dataset(tmp_path / "t.parquet", label="y").X.names == ("a",)
    frame.set_index("a").to_parquet(tmp_path / "n.parquet")
    with (
        pytest.warns(LeftOutColumnsWarning, match="'a'"),
        pytest.raises(FileFormatError, match="no column left"),
    ):
        read_dataset(tmp_path / "n.parquet", label="y")


def test_missing_labels_of_a_parquet_table_are_refused(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "color": ["red", None]})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FileFormatError, match="column 'color': labels are missing"):
        read_dataset(tmp_path / "t.parquet", label="color")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "0", "1"], [1, 0, 1]),
        (["1.0", "0.000e+00", "1.0"], [1, 0, 1]),
        (["007", "7", "7"], ["007", "7", "7"]),
        (["1e5", "100000", "1e5"], ["1e5", "100000", "1e5"]),
        (
            ["9007199254740993", "9007199254740992", "9007199254740992"],
            [9007199254740993, 9007199254740992, 9007199254740992],
        ),
        (["99999999999999999999", "5", "5"], ["99999999999999999999", "5", "5"]),
        (["1.5", "2", "2"], [1.5, 2.0, 2.0]),  # not classes: refused later
    ],
)
def test_different_labels_stay_different(write, cells, expected):
    rows = "\n".join(f"{i},{cell}" for i, cell in enumerate(cells))
    data = read_dataset(write("t.csv", "x,y\n" + rows), label="y")
    assert data.y.tolist() == expected


def test_missing_labels_are_refused_however_they_are_written(write):
    for cell in ("", "nan", "NaN"):
        path = write("t.csv", f"x,y\n1,a\n2,{cell}\n")
        with pytest.raises(FileFormatError, match="label of row 2 is missing"):
            read_dataset(path, label="y")


def test_a_table_of_text_labels_can_be_said_to_have_no_header(write):
    path = write("t.csv", "5.1,setosa\n4.9,other\n")
    assert read_dataset(path, label="1", header=False).y.tolist() == ["setosa", "other"]


def test_awkward_but_valid_tables(write):
    quoted = write("q.csv", '"size; cm; a; b",y\n1,0\n2,1\n')
    assert read_dataset(quoted, label="y").X.names == ("size; cm; a; b",)
    newline = write("n.csv", '"a\nb",y\n1,0\n2,1\n')
    assert read_dataset(newline, label="y").X.values.tolist() == [[1.0], [2.0]]
    blank = write("b.csv", "\n\nx,y\n1,0\n2,1\n")
    assert read_dataset(blank, label="y").y.tolist() == [0, 1]
    with pytest.raises(FileFormatError, match="not a csv file"):
        read_dataset(write("u.csv", 'x,y\n1,0\n2,"1\n'), label="y")


def test_a_column_without_a_name_gets_the_one_that_pandas_gives_it(write):
    path = write("t.csv", ",x,y\n0,5,a\n1,6,b\n")
    assert read_dataset(path, label="y").X.names == ("Unnamed: 0", "x")
    assert tuple(pd.read_csv(path).columns[:2]) == ("Unnamed: 0", "x")
    data = read_dataset(path, label="y", drop=["Unnamed: 0"])
    assert data.X.values.tolist() == [[5.0], [6.0]]


def test_features_are_found_by_name(write):
    path = write("t.csv", "b,y,extra,a\n1,0,9,2\n3,1,9,4\n")
    data = read_dataset(path, label="y", features=["a", "b"])
    assert data.X.values.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    with pytest.raises(FileFormatError, match="no column 'c'"):
        read_dataset(path, label="y", features=["a", "c"])
