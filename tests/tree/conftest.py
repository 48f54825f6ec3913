"""What tests of the choice between algorithms need."""

import pytest

from structsmooth.tree import algorithms


@pytest.fixture
def all_compiled(monkeypatch):
    """Let the crossovers alone decide, whatever is in the cache."""
    monkeypatch.setattr(algorithms, "is_compiled", lambda _: True)


@pytest.fixture
def watch(monkeypatch):
    """Return a list to which functions of modules add their names when called."""

    def watch(*functions):
        used = []
        for module, name in functions:
            real = getattr(module, name)

            def watched(*arguments, _real=real, _name=name):
                used.append(_name)
                return _real(*arguments)

            monkeypatch.setattr(module, name, watched)
        return used

    return watch
