"""How much the fault tests do: some of everything, or with ``make faults`` all."""

import os
import signal

from structsmooth.errors import FileFormatError, InvalidInputError

FULL = os.environ.get("STRUCTSMOOTH_FAULTS") == "full"
REFUSALS = (FileFormatError, InvalidInputError)
STEPS = ("rename", "replace", "link", "fsync", "mkdir", "unlink", "rmdir")


def how_many(full, short):
    """Return a number of cases: the full one, or a short one for every day."""
    return full if FULL else short


def start(work, step=0):
    """Run work in a process that is killed before a step of writing; return its id."""
    child = os.fork()
    if child:
        return child
    count = 0
    for name in STEPS if step else ():
        original = getattr(os, name)

        def counted(*args, original=original, **options):
            nonlocal count
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **options)

        setattr(os, name, counted)
    try:
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


def killed_at(step, work):
    """Whether work in another process came to a step, where it is killed."""
    status = os.waitpid(start(work, step), 0)[1]
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)
