"""A directory that takes the place of an earlier one with one rename, and its lock."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structsmooth.io.atomic import OutputError, wrapped_errors
from structsmooth.io.paths import OURS, SUMMARY, UNFINISHED

NEW, OLD = ".new", ".old"  # ends of the names of directories beside the target
EXCHANGE = 2  # RENAME_EXCHANGE of Linux


@contextlib.contextmanager
def locked(target: Path) -> Iterator[None]:
    """Keep other fits away from an output for as long as the block takes."""
    try:
        import fcntl
    except ImportError:  # on Windows there is no lock
        yield
        return
    place = target.resolve()
    path = place.parent / f".{place.name}.lock"
    if place.exists() and not os.access(place.parent, os.W_OK | os.X_OK):
        path = place / ".lock"
    with wrapped_errors(target), _parents(place):
        while True:
            stream = path.open("a+", encoding="utf-8")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                stream.seek(0)
                holder = stream.read().strip()
                stream.close()
                raise OutputError(
                    f"another fit writes to {target} ({holder}): wait for it, or "
                    "choose another output"
                ) from None
            if path.exists() and os.path.samestat(
                os.fstat(stream.fileno()), path.stat()
            ):
                break
            stream.close()  # the one before has just removed it
        try:
            stream.truncate(0)
            stream.write(f"process {os.getpid()}")
            stream.flush()
            _tidy(place)
            yield
        finally:
            path.unlink(missing_ok=True)
            stream.close()


@contextlib.contextmanager
def swapped_in(target: Path) -> Iterator[Path]:
    """Give an empty directory that replaces ``target`` when the block succeeds.

    Its files are on the disk before it takes the place with one rename, so that
    whenever this is killed, there is the old directory or the new one. Files in the old
    one that are no part of a result are kept. A target that is the working directory or
    a mount point, or whose parent cannot be written to, must stay where it is: then the
    files are moved into it, one after the other.
    """
    place = target.resolve()
    stays = _must_stay(place)
    with wrapped_errors(target), _parents(place):
        mark = os.urandom(4).hex()
        folder = place.parent / f".{place.name}.{mark}{NEW}"
        if stays:
            folder = place / f"{UNFINISHED}{mark}"
        folder.mkdir()
        try:
            yield folder
            for path in (*folder.iterdir(), folder):
                _sync(path)
            if place.is_dir() and not stays:
                shutil.copymode(place, folder)
                _link_others(place, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if stays:
            _move_into(folder, place)
            return
        old = _exchange(folder, place)
        _sync(place.parent)
        if old is not None:
            _dissolve(old, place)


@contextlib.contextmanager
def _parents(place: Path) -> Iterator[None]:
    """Make the directories above a place; those that are empty afterwards go."""
    made = [path for path in place.parents if not path.exists()]
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for path in made:
            with contextlib.suppress(OSError):
                path.rmdir()


def _must_stay(place: Path) -> bool:
    if not place.exists():
        return False
    here = Path.cwd().resolve()
    return (
        place == here
        or place in here.parents
        or os.path.ismount(place)
        or not os.access(place.parent, os.W_OK | os.X_OK)
    )


def _sync(path: Path) -> None:
    with contextlib.suppress(PermissionError):  # Windows cannot open directories
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _link_others(place: Path, folder: Path) -> None:
    """Let files of somebody else be in the new directory too."""
    for path in place.iterdir():
        if path.name not in OURS and path.is_file():
            with contextlib.suppress(OSError):  # then it is moved afterwards
                os.link(path, folder / path.name, follow_symlinks=False)


def _exchange(folder: Path, place: Path) -> Path | None:
    """Give the folder the name of the place; return where the old one is now."""
    if not place.is_dir():
        os.rename(folder, place)
        return None
    rename: Any = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if os.name == "posix" and rename is not None:
        here = -100  # AT_FDCWD: relative to the working directory
        names = os.fsencode(folder), os.fsencode(place)
        if rename(here, names[0], here, names[1], EXCHANGE) == 0:
            return folder
    # Where two names cannot be exchanged at once, `_tidy` repairs what a kill leaves.
    old = folder.with_suffix(OLD)
    os.rename(place, old)
    os.rename(folder, place)
    return old


def _move_into(folder: Path, place: Path) -> None:
    """Move files out of a folder, the summary last: with it a result is complete."""
    moved = set()
    (place / SUMMARY).unlink(missing_ok=True)
    for path in sorted(folder.iterdir(), key=lambda path: path.name == SUMMARY):
        os.replace(path, place / path.name)
        moved.add(path.name)
    for name in OURS - moved:
        (place / name).unlink(missing_ok=True)
    for left in place.glob(UNFINISHED + "*"):
        shutil.rmtree(left, ignore_errors=True)


def _dissolve(old: Path, place: Path) -> None:
    """Remove an old directory; what is not ours and not in the new one moves there."""
    for path in old.iterdir():
        now = place / path.name
        if path.name in OURS or (now.exists() and path.samefile(now)):
            path.unlink()
        elif path.name.startswith(UNFINISHED):
            shutil.rmtree(path, ignore_errors=True)
        elif not now.exists():
            os.rename(path, now)
    with contextlib.suppress(OSError):  # not empty
        old.rmdir()


def _tidy(place: Path) -> None:
    """Remove or put back what a kill has left beside a directory."""
    name = re.escape(place.name)
    left = re.compile(rf"\.{name}\.[0-9a-f]{{8}}({re.escape(NEW)}|{re.escape(OLD)})")
    found = [p for p in place.parent.iterdir() if left.fullmatch(p.name)]
    for path in sorted(found, key=lambda path: path.suffix == NEW):
        if place.exists():
            _dissolve(path, place)
        elif path.suffix == OLD:
            os.rename(path, place)
        else:
            shutil.rmtree(path, ignore_errors=True)
