"""Small pictures of samples, for data that are images."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structsmooth.errors import InvalidInputError

# Pictures are made no larger than this, in pixels.
LARGEST_SIDE = 48
_CHANNELS = (1, 3, 4)


def image_layout(shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Return height, width and channels of images of this shape, None if they are not.

    Parameters
    ----------
    shape : tuple of int
        Of one image: (h, w), (h, w, c) or (c, h, w) with 1, 3 or 4 channels.
    """
    if len(shape) == 2 and min(shape) >= 2:
        return (*shape, 1)
    if len(shape) == 3 and shape[2] in _CHANNELS and min(shape[:2]) >= 2:
        return shape
    if len(shape) == 3 and shape[0] in _CHANNELS and min(shape[1:]) >= 2:
        return shape[1], shape[2], shape[0]
    return None


def check_images(images: Any, n_rows: int) -> Any:
    """Refuse images that do not belong to the rows, or are none."""
    shape = getattr(images, "shape", None)
    if shape is None:
        images = np.asarray(images)
        shape = images.shape
    if len(shape) not in (3, 4) or image_layout(tuple(shape[1:])) is None:
        raise InvalidInputError(
            "images must have shape (n, height, width), with 1, 3 or 4 channels last "
            f"or before the height if it has four dimensions, got shape {tuple(shape)}"
        )
    if shape[0] != n_rows:
        raise InvalidInputError(
            f"images and X must have the same length: X has {n_rows} rows, there are "
            f"{shape[0]} images"
        )
    return images


def make_pictures(images: NDArray[Any]) -> NDArray[np.uint8]:
    """Return images as small pictures of shape (n, h, w, 1 or 3).

    What is not 8 bits from the start, nor lies between 0 and 1, is stretched so that
    all of these images together use the full range.
    """
    layout = image_layout(tuple(images.shape[1:]))
    if layout is None:
        raise InvalidInputError(f"images of shape {images.shape[1:]} cannot be shown")
    height, width, channels = layout
    if images.ndim == 4 and images.shape[1:] != layout:
        images = images.transpose(0, 2, 3, 1)  # the channels came first
    values = _full_range(images).reshape(len(images), height, width, channels)
    if channels == 4:  # what shines through is white
        opacity = values[..., 3:] / 255.0
        values = values[..., :3] * opacity + 255.0 * (1.0 - opacity)
    return np.rint(_shrink(values)).clip(0, 255).astype(np.uint8)


def _full_range(images: NDArray[Any]) -> NDArray[np.float64]:
    values = np.nan_to_num(images.astype(np.float64))
    if images.dtype == np.uint8:
        return values
    low, high = (float(values.min()), float(values.max())) if values.size else (0, 1)
    if images.dtype.kind in "fb" and low >= 0.0 and high <= 1.0:
        low, high = 0.0, 1.0
    elif low >= 0.0:
        # A sample of dark pictures is not to look bright; 16 and 255 are usual tops.
        low, high = 0.0, 255.0 if 100.0 < high <= 255.0 else high
    span = high - low
    return (values - low) * (255.0 / span) if span > 0.0 else np.zeros_like(values)


def _shrink(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average blocks of pixels until no side is larger than allowed."""
    step = -(-max(values.shape[1:3]) // LARGEST_SIDE)
    if step <= 1:
        return values
    height, width = (side - side % step for side in values.shape[1:3])
    if min(height, width) == 0:  # a long strip: take every so many pixels
        return values[:, ::step, ::step]
    blocks = values[:, :height, :width].reshape(
        len(values), height // step, step, width // step, step, -1
    )
    return np.asarray(blocks.mean(axis=(2, 4)))


def png_uri(picture: NDArray[np.uint8]) -> str:
    """Return a picture of shape (h, w, 1 or 3) as a data URI of a PNG file."""
    height, width, channels = picture.shape
    kind = 0 if channels == 1 else 2
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    # Each line begins with its filter: none.
    lines = np.concatenate(
        [np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1
    )
    content = zlib.compress(lines.tobytes(), 9)
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + _checksum(name + body)
        for name, body in ((b"IHDR", header), (b"IDAT", content), (b"IEND", b""))
    )
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _checksum(content: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(content))
