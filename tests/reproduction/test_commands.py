"""The commands of ``python -m experiments``."""

import pytest

pytest.importorskip("torch")

from experiments import __main__ as command
from experiments import claims, configs
from toys import toy

from structsmooth.errors import FileFormatError

REAL_LOAD = configs.load


@pytest.fixture
def toys(toy_data, tmp_path, monkeypatch):
    """Toy settings in place of the configs, and a separate folder for results."""
    real = configs.load

    def load(name, scale="cpu"):
        words = {"title": "A title", "kind": real(name, scale)["kind"], "note": "So."}
        return toy(name) | words | {"scale": scale}

    monkeypatch.setattr(configs, "load", load)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_run_table_and_figure_write_their_files(toys, capsys):
    command.main(["run", "timit", "--jobs", "1"])
    page = (toys / "timit.md").read_text()
    made = "Made by `python -m experiments run timit` with structsmooth"
    assert page.startswith(f"# A title\n\n{made} ")
    assert page.endswith("\nSo.\n")
    (toys / "timit.md").unlink()
    command.main(["table", "timit"])
    assert (toys / "timit.md").read_text() == page
    command.main(["figure", "timit"])
    assert (toys / "timit.png").is_file()
    assert "wrote" in capsys.readouterr().out


def test_full_results_have_names_of_their_own(toys):
    command.main(["run", "timit", "--jobs", "1", "--scale", "full"])
    assert (toys / "timit-full.jsonl").is_file()
    assert "Scale: full" in (toys / "timit-full.md").read_text()
    assert "--scale full`" in (toys / "timit-full.md").read_text()


def test_what_is_missing_is_one_sentence(toys, toy_data, capsys):
    (toy_data / "phoneme_timit5.npz").unlink()
    for arguments, said in (
        (["run", "timit"], "experiments: timit: phoneme_timit5.npz is missing; "),
        (["table", "higgs"], "experiments: higgs: there are no results in "),
    ):
        with pytest.raises(SystemExit):
            command.main(arguments)
        assert capsys.readouterr().err.startswith(said)


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["run", "nothing"])
    assert "invalid choice: 'nothing'" in capsys.readouterr().err


def test_a_name_is_wanted_of_all_but_the_claims(toys, tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        command.main(["run"])
    assert "run needs a NAME" in capsys.readouterr().err
    page = tmp_path / "README.md"
    page.write_text(
        "".join(
            f"<!-- {n}: begin -->\n<!-- {n}: end -->\n" for n in ("summary", "claims")
        )
    )
    monkeypatch.setattr(command, "PAGE", page)
    command.main(["claims"])
    text = page.read_text().split("<!-- claims: begin -->")[1]
    assert text.count("| not run yet |") == len(claims.CLAIMS)


def test_all_goes_through_every_name_whatever_fails(toys, monkeypatch, capsys):
    seen = []

    def do(_, name, *rest):
        seen.append(name)
        if name == "higgs":
            raise FileFormatError("it broke")

    monkeypatch.setattr(command, "_do", do)
    monkeypatch.setattr(configs, "load", REAL_LOAD)
    with pytest.raises(SystemExit):
        command.main(["table", "all"])
    assert sorted(seen) == configs.names()
    # Experiments that build on studies come after them.
    assert {*seen[-2:]} == {"critical", "figure4"}
    assert capsys.readouterr().err == "experiments: higgs: it broke\n"


def test_data_sets_and_experiments_are_not_mixed_up(capsys):
    with pytest.raises(SystemExit):
        command.main(["run", "letter"])
    assert "run knows" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["data", "timit"])
    assert "data knows australian" in capsys.readouterr().err


def test_data_sets_are_made_by_name(monkeypatch, capsys):
    from experiments import made
    from experiments.datasets import MADE_SETS

    monkeypatch.setattr(made, "make", lambda names: [f"{name}.npz" for name in names])
    command.main(["data", "letter"])
    assert capsys.readouterr().out == "wrote letter.npz\n"
    command.main(["data", "all"])
    assert capsys.readouterr().out.count("wrote ") == len(MADE_SETS)
