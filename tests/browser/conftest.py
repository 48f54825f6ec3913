"""Reports of several kinds of data, and a browser to open them in.

These are not part of `make test`: `make test-browser` installs Chromium and runs them.
"""

import os
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from sklearn.datasets import load_digits

from censuslike import census
from structsmooth import StructuralSmoother
from structsmooth.encode.encoder import TableEncoder
from structsmooth.encode.table import as_table
from structsmooth.report import build_report, write_report
from structsmooth.report.rows import Rows, view_of_rows

EVIL = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>"]
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1200,900",
)


def binary_data():
    """Six Gaussians per class in two dimensions, with class names that contain HTML."""
    generator = np.random.default_rng(3)
    means = generator.uniform(0, 12, (2, 6, 2))
    y = generator.integers(0, 2, 3000)
    X = means[y, generator.integers(0, 6, 3000)] + generator.normal(size=(3000, 2))
    return X, np.array(EVIL)[y], {"n_clusters": 24}


def hundred_data():
    generator = np.random.default_rng(4)
    y = np.arange(8000) % 100
    X = 1.1 * generator.normal(size=(100, 20))[y] + generator.normal(size=(8000, 20))
    return X, np.array([f"class {k}" for k in range(100)])[y], {}


def tiny_data():
    X = [[0.0], [1.0], [1.5], [4.0], [4.2], [5.0]]
    return np.array(X), np.array(["a", "a", "b", "b", "b", "a"]), {}


def image_data():
    X, y = load_digits(return_X_y=True)
    return X, y, {}


def census_data():
    return *census(), {"n_clusters": 46, "reducer": "none"}


def suspect_data():
    """Digits, some of them with a wrong label."""
    X, y = load_digits(return_X_y=True)
    y = y.copy()
    y[::90] = (y[::90] + 3) % 10
    return X, y, {"ignore_suspects": True}


def many_data():
    """Three hundred classes with long names."""
    generator = np.random.default_rng(7)
    y = np.arange(12_000) % 300
    X = 2.5 * generator.normal(size=(300, 8))[y] + generator.normal(size=(12_000, 8))
    names = np.array([f"{k}: a class with a name of some length" for k in range(300)])
    return X, names[y], {}


def people():
    """A table of text, numbers, dates and gaps, and a label that depends on it."""
    generator = np.random.default_rng(8)
    n_rows = 4_000
    age = generator.integers(17, 90, n_rows).astype(float)
    school = generator.integers(0, 5, n_rows)
    work = np.where(age < 25, 0, generator.integers(0, 4, n_rows))
    hours = np.where(work == 0, 20, 40) + generator.normal(0, 8, n_rows).round()
    score = 0.05 * (age - 40) + 0.9 * (school - 2) + 0.05 * (hours - 38) + (work == 3)
    y = generator.random(n_rows) < 1 / (1 + np.exp(-2 * score))
    mistakes = np.argsort(np.abs(score))[-800::10]  # far from where classes overlap
    y[mistakes] = ~y[mistakes]
    gain = np.where(
        generator.random(n_rows) < 0.08, generator.lognormal(8, 1, n_rows), 0
    )
    frame = pd.DataFrame(
        {
            "age": age,
            "education": np.array(["none", "school", "college", "BSc", "PhD"])[school],
            "<b>occupation": np.array(["student", "clerk", "craft", "manager"])[work],
            "hours per week": hours,
            "capital gain": gain.round(),
            "hired": pd.Timestamp("2024-06-01")
            - pd.to_timedelta((age - 16) * 200 * generator.random(n_rows), unit="D"),
            "remote": generator.random(n_rows) < 0.3,
            "married": np.where(age > 30, "yes", "no"),
            "children": generator.poisson(1.2, n_rows),
        }
    )
    frame["hired"] = frame["hired"].dt.floor("D")
    frame.loc[work == 0, "hired"] = None
    frame.loc[generator.random(n_rows) < 0.05, "education"] = None
    return frame, np.where(y, "more", "less")


def write_table_report(path, name):
    """Write the report of a table, whose rows are read and fitted separately."""
    frame, y = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = TableEncoder().fit_transform(frame)
        smoother = StructuralSmoother(random_state=0, ignore_suspects=True).fit(X, y)
    table, coded = as_table(frame), smoother.encode(y)
    rows, suspects = np.arange(len(y)), smoother.suspects_.rows
    view = view_of_rows(
        smoother,
        Rows(rows, X, coded, table),
        Rows(suspects, X[suspects], coded[suspects], table[suspects]),
        n_rows=len(y),
    )
    typed = ["structsmooth", "fit", "people.csv", "--label", "income", "-o", "out"]
    report = build_report(smoother, view, name=name, command=typed, directory="out")
    write_report(report, path)


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """The addresses of the reports, by name."""
    folder = tmp_path_factory.mktemp("reports")
    makers = {
        "binary": binary_data,
        "hundred": hundred_data,
        "image": image_data,
        "tiny": tiny_data,
        "point": binary_data,
        "census": census_data,
        "suspects": suspect_data,
        "many": many_data,
    }
    for name, make in makers.items():
        X, y, settings = make()
        regions = "point" if name == "point" else "cluster"
        smoother = StructuralSmoother(random_state=0, regions=regions, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            smoother.fit(X, y)
        images = X.reshape(-1, 8, 8) if name in ("image", "suspects") else None
        smoother.report(folder / f"{name}.html", X, y, images=images, name=f"<i>{name}")
    write_table_report(folder / "table.html", "<i>table")
    return {page.stem: page.as_uri() for page in folder.glob("*.html")}


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """One browser for all tests."""
    options = webdriver.ChromeOptions()
    options.binary_location = os.environ.get("CHROMIUM", shutil.which("chromium"))
    profile = tmp_path_factory.mktemp("profile")
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(os.environ.get("CHROMEDRIVER", shutil.which("chromedriver")))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def visit(chromium, reports):
    """Open a report in a window of some width, and check the console for messages."""

    def open_report(name, width=1200, dark=False, mobile=False):
        chromium.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {
                "width": width,
                "height": 900,
                "deviceScaleFactor": 1,
                "mobile": mobile,
            },
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        chromium.get(reports[name])
        # An observer draws it two frames later.
        chromium.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(done));"
        )
        return chromium

    yield open_report
    messages = [entry["message"] for entry in chromium.get_log("browser")]
    assert messages == []
