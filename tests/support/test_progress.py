"""Progress bars: on standard error only, silent unless enabled, usable from threads."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from structsmooth.support.progress import Progress


def test_every_stage_is_named_and_counted(capfd):
    with Progress(True) as progress:
        with progress.stage("trees", 20) as stage, ThreadPoolExecutor(4) as pool:
            for _ in range(12):
                pool.submit(stage.advance)
        with progress.stage("write"):
            pass
    shown = capfd.readouterr()
    assert "trees" in shown.err
    assert "20/20" in shown.err  # a block that succeeds completes its stage
    assert "write" in shown.err
    assert "1/1" in shown.err
    assert shown.out == ""
    assert "\x1b" not in shown.err  # this is not a terminal


def test_an_error_leaves_the_stage_where_it_was(capfd):
    def fail():
        with Progress(True) as progress, progress.stage("trees", 3) as stage:
            stage.advance()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert "1/3" in capfd.readouterr().err


def test_nothing_is_shown_or_imported_unless_enabled():
    script = (
        "import sys\n"
        "import structsmooth\n"
        "from structsmooth.support.progress import Progress\n"
        "with Progress(False) as progress, progress.stage('a', 2) as stage:\n"
        "    stage.advance()\n"
        "assert 'rich' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_a_stage_says_that_it_compiles_and_what_it_said_before(capfd):
    from structsmooth.support.jit import kernel
    from structsmooth.support.progress import COMPILING

    def stage_with(work):
        with Progress(True) as progress, progress.stage("trees") as stage:
            stage.say("three left")
            work()
            words = stage._bar.tasks[0].fields["words"]
        return words, capfd.readouterr().err.count(COMPILING)

    # Without a file there is no cache.
    compiled = kernel(eval("lambda a, b: a + b"))  # noqa: S307
    # Two types, so two compilations, but one line where bars do not move.
    assert stage_with(lambda: (compiled(1, 2), compiled(1.0, 2.0))) == ("three left", 1)
    assert stage_with(lambda: compiled(3, 4)) == ("three left", 0)
