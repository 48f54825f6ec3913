"""Whenever a fit is killed, its output is the old result or the new one."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from faultcounts import killed_at
from structsmooth.io import directories
from structsmooth.io.atomic import OutputError, written_beside
from structsmooth.io.directories import locked, swapped_in

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
OLD = {"summary.json": '{"format": "structsmooth.result"}', "labels.npy": "old"}
OLD |= {"report.html": "old", "strengths.npy": "old"}
NEW = {"summary.json": '{"format": "structsmooth.result", "n": 2}', "view.npz": "new"}
NEW |= {"labels.npy": "new", "strengths.npy": "new"}
OTHERS = {"notes.txt": "mine"}


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def content(folder):
    if not folder.exists():
        return None
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def replace(target):
    with locked(target), swapped_in(target) as folder:
        write(folder, NEW)


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("before", [OLD, None])
def test_a_kill_at_any_step_leaves_the_old_or_the_new(
    tmp_path, monkeypatch, before, can_exchange
):
    if not can_exchange:
        monkeypatch.setattr(directories.ctypes, "CDLL", lambda *_, **__: None)
    elif sys.platform != "linux":
        pytest.skip("needs Linux")
    step, seen = 0, []
    while True:
        step += 1
        target = tmp_path / str(step) / "out"
        if before is not None:
            write(target, {**before, **OTHERS})
            (target / "folder").mkdir()
            (target / "folder" / "mine.txt").write_text("mine")
        else:
            target.parent.mkdir()
        was_killed = killed_at(step, lambda target=target: replace(target))
        found = content(target)
        old = None if before is None else {**before, **OTHERS}
        new = NEW if before is None else {**NEW, **OTHERS}
        # Without an exchange there is a moment without a result, which is repaired.
        between = [None] if before is not None and not can_exchange else []
        assert found in [old, new, *between]
        seen.append(found == new)
        replace(target)
        assert content(target) == new
        names = sorted(path.name for path in target.parent.iterdir())
        assert names == ["out"]
        if before is not None:
            assert (target / "folder" / "mine.txt").read_text() == "mine"
        if not was_killed:
            break
    assert step > 10
    assert seen == sorted(seen)  # first the old, then the new


def test_a_second_fit_is_told_who_holds_the_output(tmp_path):
    target = tmp_path / "out"
    with (
        locked(target),
        pytest.raises(OutputError, match=rf"writes to .*out \(process {os.getpid()}\)"),
        locked(target),
    ):
        pass
    with locked(target):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_killed_holder_does_not_hold_on(tmp_path):
    target = tmp_path / "out"

    def die():
        with locked(target):
            os.kill(os.getpid(), signal.SIGKILL)

    assert killed_at(0, die)
    replace(target)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_error_leaves_the_old_and_nothing_beside(tmp_path):
    target = tmp_path / "a" / "b"

    def fail():
        with swapped_in(target) as folder:
            write(folder, NEW)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []
    write(target, OLD)
    with pytest.raises(KeyError):
        fail()
    assert content(target) == OLD
    assert list(target.parent.iterdir()) == [target]


def test_the_working_directory_stays_where_it_is(tmp_path, monkeypatch):
    write(tmp_path / "here", {**OLD, **OTHERS})
    monkeypatch.chdir(tmp_path / "here")
    with swapped_in(Path()) as folder:
        write(folder, NEW)
    assert content(Path()) == {**NEW, **OTHERS}
    assert json.loads(Path("summary.json").read_text())["n"] == 2


def test_a_link_to_a_result_stays_a_link(tmp_path):
    write(tmp_path / "real", OLD)
    (tmp_path / "link").symlink_to("real")
    replace(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "real") == NEW


def test_a_name_that_begins_alike_is_another_output(tmp_path):
    write(tmp_path / "out", OLD)
    write(tmp_path / ".out.a.01234567.new", NEW)
    replace(tmp_path / "out")
    assert content(tmp_path / ".out.a.01234567.new") == NEW


def test_a_killed_writer_leaves_a_part_that_the_next_one_removes(tmp_path):
    path = tmp_path / "labels.csv"

    def die():
        with written_beside(path) as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)

    assert killed_at(0, die)
    assert len(list(tmp_path.iterdir())) == 1
    with written_beside(path) as temporary:
        assert list(tmp_path.iterdir()) == [temporary]
        with written_beside(path) as other:  # at work: its file is left alone
            other.write_text("b")
        temporary.write_text("a")
    assert content(tmp_path) == {"labels.csv": "a"}
