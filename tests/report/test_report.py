"""The report: the page, its JSON file, the command and the method."""

import base64
import csv
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from structsmooth import StructuralSmoother
from structsmooth.cli import app
from structsmooth.encode.table import Table
from structsmooth.errors import InvalidInputError
from structsmooth.io.results import write_cluster_table
from structsmooth.report import build_report, make_view, write_report
from structsmooth.report.html import page_data, render_html, safe_json
from structsmooth.report.rows import Rows, view_of_rows

run_app = CliRunner().invoke
EVIL = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>"]


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts and of the rest."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.text = [], [], ""
        self._inside = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = tag
            if tag == "script":
                self.scripts.append("")

    def handle_endtag(self, tag):
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside is None:
            self.text += data


@pytest.fixture
def evil(overlapping):
    X, y = overlapping
    names = np.array(EVIL)[y]
    smoother = StructuralSmoother(random_state=0).fit(X, names)
    return build_report(smoother, make_view(smoother, X, names), name="<b>data</b>")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    smoother = StructuralSmoother(random_state=0).fit(X, y)
    return smoother, X, y


def test_names_of_classes_and_data_stay_text(evil):
    page = Page(render_html(evil))
    assert len(page.scripts) == 2
    tags = [tag for tag, _ in page.elements]
    assert "img" not in tags
    assert "b" not in tags
    assert "<b>data</b>" in page.text
    for name in EVIL:
        assert name in page.text
    data = json.loads(page.scripts[0])
    assert data["classes"] == sorted(EVIL)


def test_no_script_but_our_own_may_run(evil):
    page = Page(render_html(evil))
    digest = hashlib.sha256(page.scripts[1].encode()).digest()
    expected = f"script-src 'sha256-{base64.b64encode(digest).decode()}'"
    policy = next(a["content"] for _, a in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")
    assert expected in policy
    assert "innerHTML" not in page.scripts[1]
    handlers = [name for _, a in page.elements for name in a if name.startswith("on")]
    assert handlers == []


def test_nothing_is_fetched(digits):
    smoother, X, y = digits
    text = render_html(build_report(smoother, make_view(smoother, X, y)))
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a place
    for _, attributes in Page(text).elements:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))


def test_json_for_a_script_cannot_end_it():
    text = safe_json({"a": "</script><!--&\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--&\u2028"}


def test_everything_has_a_label(evil):
    page = Page(render_html(evil))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(name, ids[0]) in ids
        if tag == "canvas":
            assert attributes["aria-label"]
        if tag == "a":
            assert attributes["href"][1:] in ids
    headings = [tag for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert headings.count("h1") == 1


def test_the_table_has_a_row_for_each_cluster_hard_for_certain_first(evil):
    page = Page(render_html(evil))
    rows = [a for tag, a in page.elements if tag == "tr" and "data-cluster" in a]
    assert len(rows) == len(evil.clusters)
    ends = [(row["data-little"] == "0", float(row["data-low"])) for row in rows]
    assert ends == sorted(ends, reverse=True)


def test_the_json_has_the_same_content(digits, tmp_path):
    smoother, X, y = digits
    smoother.report(
        tmp_path / "r.html", X, y, images=X.reshape(-1, 8, 8), name="the digits"
    )
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert found["format"] == "structsmooth.report"
    assert found["name"] == "the digits"
    assert (found["n_samples"], found["n_features"]) == X.shape
    assert found["verdict"]["headline"] in page.text
    for check in found["checks"]:
        assert check["finding"] in page.text
        assert check["status"] in ("pass", "warn", "fail")
    by_number = {row["cluster"]: row for row in found["clusters"]}
    for cluster, bounds in enumerate(smoother.cluster_bounds_):
        row = by_number[cluster]
        assert row["lower"] == bounds.lower
        assert row["interval"] == list(bounds.interval)
        assert row["strength"] == smoother.strengths_[cluster]
        assert dict(map(tuple, row["members"])) == {
            k: n for k, n in enumerate(bounds.class_counts.tolist()) if n
        }
    assert sum(count for _, _, count in found["pairs"]) == sum(
        bounds.crossing_counts.sum() for bounds in smoother.cluster_bounds_
    )
    assert found["map"]["classes"] == y.tolist()
    assert found["settings"]["random_state"] == 0
    assert set(found["versions"]) >= {"python", "numpy", "structsmooth"}
    pictures = [s["picture"] for s in found["samples"]]
    assert all(uri.startswith("data:image/png;base64,") for uri in pictures)


def test_the_same_fit_gives_the_same_bytes(digits, tmp_path):
    smoother, X, y = digits
    for name in ("a", "b"):
        smoother.report(tmp_path / f"{name}.html", X, y)
    for kind in ("html", "json"):
        first, second = (tmp_path / f"{name}.{kind}" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


def test_a_report_without_rows_says_what_it_lacks(digits, tmp_path):
    smoother, _, _ = digits
    smoother.report(tmp_path / "r.html")
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "The map, the most ambiguous samples and what" in page.text
    assert not [a for _, a in page.elements if a.get("id") in ("map", "samples")]
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert found["map"] is None
    assert "duplicates" not in [check["key"] for check in found["checks"]]


class Noise:
    """Incompressible images, made on access."""

    shape = (40_000, 48, 48, 3)

    def __getitem__(self, rows):
        generator = np.random.default_rng(0)
        return generator.integers(0, 256, (len(rows), 48, 48, 3)).astype(np.uint8)


def test_the_largest_report_stays_under_three_megabytes(rng, tmp_path):
    y = np.arange(40_000) % 300
    centers = rng.normal(size=(300, 3))
    X = (centers[y] + rng.normal(size=(40_000, 3))).astype(np.float32)
    names = np.array([f"{k} is a class with quite a long name" for k in range(300)])
    smoother = StructuralSmoother(
        random_state=0, n_clusters=700, min_cluster_size=1
    ).fit(X, names[y])
    rows = np.arange(20_000)
    levels = tuple(f"“{k}” is a level of forty characters" for k in rows)
    values = np.column_stack([rng.permutation(20_000) * 1.0 for _ in range(30)])
    columns = tuple(f"<{j}> is a column with a long name" for j in range(30))
    table = Table(columns, ("category",) * 30, (levels,) * 30, values)
    view = view_of_rows(
        smoother,
        Rows(rows, X[rows], smoother.encode(names[y])[rows], table),
        n_rows=40_000,
        images=Noise(),
    )
    report = build_report(smoother, view)
    write_report(report, tmp_path / "r.html")
    size = (tmp_path / "r.html").stat().st_size
    assert 2_000_000 < size < 3_000_000
    # The first rows have all their values, later ones the first six, the last none.
    n_values = [len(sample["values"]) // 3 for sample in page_data(report)["samples"]]
    assert n_values == sorted(n_values, reverse=True)
    assert set(n_values) == {30, 6, 0}


def test_of_a_thousand_classes_and_clusters_the_page_shows_the_most_important(
    digits, monkeypatch
):
    smoother, X, y = digits
    report = build_report(smoother, make_view(smoother, X, y))
    monkeypatch.setattr("structsmooth.report.html.HEAT_CLASSES", 3)
    monkeypatch.setattr("structsmooth.report.html.MOST_CLUSTERS", 4)
    data = page_data(report)
    crossing = [row.crossing for row in report.classes]
    assert sorted(data["heat"]["order"]) == sorted(np.argsort(crossing)[-3:].tolist())
    assert data["heat"]["left"] == 7
    kept = set(data["heat"]["order"])
    assert all({i, j} <= kept for i, j, _ in data["heat"]["pairs"])
    assert [c["id"] for c in data["clusters"]] == [
        row.cluster for row in report.clusters[:4]
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("r.txt",), r"r\.txt must end in \.html"),
        (("r.html", np.zeros((4, 64))), "X and y must be given together"),
        (("r.html", None, None, np.zeros((4, 8, 8))), "images with them"),
        (("r.html", np.zeros((4, 64)), [0, 1]), "same length"),
        (("r.html", np.zeros((2, 64)), [0, 11]), "which fit did not see"),
        (("r.html", np.zeros((2, 64)), [0, 1], np.zeros((3, 8, 8))), "3 images"),
    ],
)
def test_wrong_arguments_get_one_sentence_and_no_file(
    digits, tmp_path, arguments, sentence
):
    name, X, y, images = (*arguments, None, None, None)[:4]
    with pytest.raises(InvalidInputError, match=sentence):
        digits[0].report(tmp_path / name, X, y, images=images)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("names", [["a", "b"], "0123456789"])
def test_class_names_that_are_too_few_or_no_list_are_refused(digits, tmp_path, names):
    with pytest.raises(InvalidInputError, match="a name for each of the 10 classes"):
        digits[0].report(tmp_path / "r.html", class_names=names)
    assert list(tmp_path.iterdir()) == []


def test_pointwise_sparse_and_odd_data_have_reports_too(overlapping, tmp_path):
    import scipy.sparse as sp

    X, y = overlapping
    point = StructuralSmoother(regions="point", shrink=True, random_state=0).fit(X, y)
    point.report(tmp_path / "point.html", X, y)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = StructuralSmoother(random_state=0).fit(frame, y)
    named.report(tmp_path / "frame.html", frame, pd.Series(y))
    wide = sp.random(300, 5000, density=0.01, format="csr", random_state=0)
    labels = np.arange(300) % 3
    sparse = StructuralSmoother(reducer="none", n_clusters=1).fit(wide, labels)
    sparse.report(tmp_path / "sparse.html", wide, labels)
    line = StructuralSmoother(random_state=0).fit(X[:, :1], y)
    line.report(tmp_path / "line.html", X[:, :1], y)
    few = StructuralSmoother(alpha=0.0).fit(X[[0, 1, 398, 399]], [0, 0, 1, 1])
    few.report(tmp_path / "few.html", X[[0, 1, 398, 399]], [0, 0, 1, 1])
    assert len(list(tmp_path.glob("*.html"))) == 5


@pytest.mark.parametrize(
    ("missing", "package"), [("jinja2", "jinja2"), ("PIL", "Pillow")]
)
def test_without_the_extra_one_sentence_says_what_to_install(
    tmp_path, missing, package
):
    code = (
        f"import sys; sys.modules['{missing}'] = None\n"
        "import numpy as np\n"
        "from structsmooth import StructuralSmoother\n"
        "from structsmooth.report import make_view\n"
        "X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2\n"
        "s, images = StructuralSmoother().fit(X, y), np.zeros((60, 96, 96))\n"
        "assert len(make_view(s, X, y, images).pictures)\n"
        "try:\n    s.report('r.html', X, y, images=images)\n"
        "except ImportError as error:\n    print(error)"
    )
    got = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert got.stdout.endswith(f"needs {package}: pip install {package}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def result(tmp_path):
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "d.npz", X=X.reshape(-1, 8, 8), y=y)
    out = tmp_path / "out"
    arguments = ["fit", str(tmp_path / "d.npz"), "-o", str(out), "--quiet"]
    assert run_app(app, arguments).exit_code == 0
    return out


def test_the_command_writes_the_page_into_the_result(result):
    got = run_app(app, ["report", str(result)])
    assert got.exit_code == 0
    assert "estimated Bayes error" in got.stdout
    page = Page((result / "report.html").read_text(encoding="utf-8"))
    assert "d.npz" in page.text
    found = json.loads((result / "report.json").read_text(encoding="utf-8"))
    assert found["map"]["n_rows"] == 1797
    assert all(sample["picture"] for sample in found["samples"])


def test_the_command_and_the_method_agree(result, digits, tmp_path):
    assert run_app(app, ["report", str(result), "-q"]).stdout == ""
    smoother, X, y = digits
    smoother.report(tmp_path / "m.html", X, y, images=X.reshape(-1, 8, 8), name="d.npz")
    command = json.loads((result / "report.json").read_text(encoding="utf-8"))
    method = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert command["verdict"] == method["verdict"]
    assert command["clusters"] == method["clusters"]
    assert command["samples"] == method["samples"]
    np.testing.assert_allclose(command["map"]["x"], method["map"]["x"], atol=1e-4)


def test_the_command_writes_elsewhere_and_answers_machines(result, tmp_path):
    target = tmp_path / "elsewhere.html"
    got = run_app(app, ["report", str(result), "-o", str(target), "--json"])
    answer = json.loads(got.stdout)
    assert answer["file"] == str(target)
    assert answer["json"] == str(tmp_path / "elsewhere.json")
    assert target.exists()
    assert not (result / "report.html").exists()


def test_a_result_without_view_has_a_report_that_says_why_there_is_no_map(result):
    def sentence():
        got = run_app(app, ["report", str(result)])
        assert got.exit_code == 0
        assert got.stderr.count("\n") == 1
        assert "Fit again to see them" in (result / "report.html").read_text("utf-8")
        return got.stderr

    with np.load(result / "view.npz") as bundle:
        older = {name: bundle[name] for name in ("rows", "classes", "n_rows")}
    np.savez(result / "view.npz", **older)
    assert "the view.npz of this result is of an earlier version" in sentence()
    (result / "view.npz").unlink()
    assert "the view.npz of this result is gone" in sentence()
    summary = json.loads((result / "summary.json").read_text("utf-8"))
    summary["files"].remove("view.npz")
    (result / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    assert "because this result has no view.npz. Fit again" in sentence()


def test_classes_are_called_by_the_names_that_a_result_has(result):
    names = [f"number {k}" for k in range(10)]
    summary = json.loads((result / "summary.json").read_text("utf-8"))
    for given in (names, names[:9]):
        summary["class_names"] = given
        (result / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        got = run_app(app, ["report", str(result)])
        assert got.exit_code == (0 if given == names else 3)
    assert "its files do not fit together" in got.stderr
    found = json.loads((result / "report.json").read_text("utf-8"))
    assert [row["name"] for row in found["classes"]] == names
    assert [row["label"] for row in found["classes"]] == [str(k) for k in range(10)]
    assert "“number " in found["clusters"][0]["classes"]
    advice = " ".join(found["verdict"]["advice"])
    assert re.search(r"overlaps most is number \d and number \d ", advice)


def test_the_table_of_clusters_says_what_distinguishes_them(tmp_path, rng):
    y = np.repeat([0, 1], 200)
    age = np.arange(400.0) / 8 + 500 * y
    frame = pd.DataFrame({"age": age, "noise": rng.normal(size=400)})
    smoother = StructuralSmoother(n_clusters=2, random_state=0).fit(frame, y)
    view = make_view(smoother, frame, y)
    write_cluster_table(tmp_path, smoother, view, ["no", "yes"])
    with (tmp_path / "clusters.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    said = [row["distinguished_by"] for row in rows]
    assert all(text.endswith(" (100% here, 0% elsewhere)") for text in said)
    assert {text[:9] for text in said} == {"age up to", "age at le"}
    assert {row["classes"][:3].strip() for row in rows} == {"no", "yes"}
    write_cluster_table(tmp_path, smoother)
    text = (tmp_path / "clusters.csv").read_text("utf-8")
    assert text.splitlines()[0].endswith(",says_little,distinguished_by")


def test_a_new_fit_takes_the_report_of_the_old_one_away(result, tmp_path):
    assert run_app(app, ["report", str(result), "-q"]).exit_code == 0
    arguments = ["fit", str(tmp_path / "d.npz"), "-o", str(result), "--quiet"]
    assert run_app(app, arguments).exit_code == 0
    assert not (result / "report.html").exists()
    assert not (result / "report.json").exists()


@pytest.mark.parametrize(
    ("name", "code", "sentence"),
    [("r.pdf", 2, "must end in .html"), ("no/r.html", 4, "cannot write")],
)
def test_a_page_that_cannot_be_written_is_one_sentence(
    result, tmp_path, name, code, sentence
):
    got = run_app(app, ["report", str(result), "-o", str(tmp_path / name)])
    assert got.exit_code == code
    assert sentence in got.stderr
    assert got.stderr.count("\n") == 1


def test_what_is_no_result_is_one_sentence(tmp_path):
    got = run_app(app, ["report", str(tmp_path)])
    assert got.exit_code == 3
    assert "is not a result of 'structsmooth fit'" in got.stderr


def test_images_of_embeddings_come_from_a_file(tmp_path, rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    np.savez(tmp_path / "d.npz", X=X, y=y)
    np.save(tmp_path / "i.npy", np.full((60, 4, 4), 7, dtype=np.uint8))
    np.save(tmp_path / "few.npy", np.zeros((59, 4, 4)))
    fit = ["fit", str(tmp_path / "d.npz"), "-q", "-o"]
    images = ["--images", str(tmp_path / "i.npy")]
    assert run_app(app, [*fit, str(tmp_path / "o"), *images]).exit_code == 0
    assert (np.load(tmp_path / "o" / "view.npz")["pictures"] == 7).all()
    images = ["--images", str(tmp_path / "few.npy")]
    got = run_app(app, [*fit, str(tmp_path / "p"), *images])
    assert got.exit_code == 3
    assert "there are 59 images" in got.stderr
    assert not (tmp_path / "p").exists()
