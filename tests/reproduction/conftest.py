"""Toy data in place of the real data files."""

import pytest
from toys import toy_files


@pytest.fixture
def toy_data(tmp_path, monkeypatch):
    """Small files in place of the real ones, and a separate folder for the rest."""
    pytest.importorskip("torch")
    from experiments import datasets
    from experiments.study import regions

    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setattr(datasets, "FILES", toy_files(folder))
    monkeypatch.setenv("STRUCTSMOOTH_DATA", str(folder))
    monkeypatch.setattr(regions, "CHECKPOINTS", tmp_path / "checkpoints")
    return folder
