"""Reports of several kinds of data, and a browser to open them in.

These are not part of `make test`: `make test-browser` installs Chromium and runs them.
"""

import os
import shutil
import warnings

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from sklearn.datasets import load_digits

from censuslike import census
from structsmooth import StructuralSmoother

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
    }
    addresses = {}
    for name, make in makers.items():
        X, y, settings = make()
        regions = "point" if name == "point" else "cluster"
        smoother = StructuralSmoother(random_state=0, regions=regions, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            smoother.fit(X, y)
        images = X.reshape(-1, 8, 8) if name == "image" else None
        smoother.report(folder / f"{name}.html", X, y, images=images, name=f"<i>{name}")
        addresses[name] = (folder / f"{name}.html").as_uri()
    return addresses


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
