"""Small pictures of samples, for data that are images."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import InvalidInputError, missing_package

# Pictures are made no larger than this, in pixels.
LARGEST_SIDE = 48
_CHANNELS = (1, 3, 4)


def image_layout(shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Return height, width and channels of an image, None if the shape is not of one.

    Images have shape (h, w), (h, w, c) or (c, h, w), with 1, 3 or 4 channels.
    """
    if len(shape) == 2 and min(shape) >= 2:
        return (*shape, 1)
    if len(shape) == 3 and shape[2] in _CHANNELS and min(shape[:2]) >= 2:
        return shape
    if len(shape) == 3 and shape[0] in _CHANNELS and min(shape[1:]) >= 2:
        return shape[1], shape[2], shape[0]
    return None


def check_images(images: Any, n_rows: int) -> Any:
    """Refuse what does not have the shape of images, or not one image for each row."""
    if not hasattr(images, "shape"):
        images = np.asarray(images)
    shape = tuple(images.shape)
    if len(shape) not in (3, 4) or image_layout(shape[1:]) is None:
        raise InvalidInputError(
            "images must have shape (n, height, width), or four dimensions with 1, 3 "
            f"or 4 channels before the height or last, got shape {shape}"
        )
    if shape[0] != n_rows:
        raise InvalidInputError(
            f"images and X must have the same length: X has {n_rows} rows, there are "
            f"{shape[0]} images"
        )
    return images


def make_pictures(images: NDArray[Any]) -> NDArray[np.uint8]:
    """Return checked images as small pictures of shape (n, h, w, 1 or 3).

    Values that are neither bytes nor between 0 and 1 are scaled so that all of these
    images together use the full range.
    """
    if images.ndim == 3:
        images = images[..., np.newaxis]
    elif image_layout(images.shape[1:]) != images.shape[1:]:
        images = images.transpose(0, 2, 3, 1)  # the channels came first
    values = _full_range(images)
    if values.shape[3] == 4:  # transparent pixels become white
        opacity = values[..., 3:] / 255.0
        values = values[..., :3] * opacity + 255.0 * (1.0 - opacity)
    return np.rint(_shrink(values)).clip(0, 255).astype(np.uint8)


def _full_range(images: NDArray[Any]) -> NDArray[np.float64]:
    values = np.nan_to_num(images.astype(np.float64))
    if images.dtype == np.uint8:
        return values
    low, high = float(values.min()), float(values.max())
    if images.dtype.kind in "fb" and low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    elif low >= 0.0:
        # A few dark pictures must not look bright; the usual maxima are 16 and 255.
        low, high = 0.0, 255.0 if 100.0 < high <= 255.0 else high
    span = high - low
    return (values - low) * (255.0 / span) if span > 0.0 else np.zeros_like(values)


def _shrink(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average blocks of pixels until no side is larger than allowed.

    NumPy does this, not Pillow, because a fit without the extra "report" stores
    pictures too.
    """
    step = -(-max(values.shape[1:3]) // LARGEST_SIDE)
    for _ in range(2):  # over the height, then over the width
        starts = np.arange(0, values.shape[1], step)
        sizes = np.diff(starts, append=values.shape[1])  # the last block may be smaller
        means = np.add.reduceat(values, starts, axis=1) / sizes[:, None, None]
        values = means.swapaxes(1, 2)
    return values


def png_uri(picture: NDArray[np.uint8]) -> str:
    """Return a picture of shape (h, w, 1 or 3) as a data URI of a PNG file."""
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_package("Pillow", "a report with pictures") from error
    stream = io.BytesIO()
    image = Image.fromarray(picture[..., 0] if picture.shape[2] == 1 else picture)
    image.save(stream, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()
