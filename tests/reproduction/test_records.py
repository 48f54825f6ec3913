"""Files of results: whole lines, no run twice, no mixing of settings."""

import json

import pytest
from experiments.records import Records, read

from structsmooth.errors import FileFormatError


def run_of(number, seed=0):
    return {"config": {"n": number}, "seed": seed, "metrics": {}, "seconds": 1.0}


def test_a_file_begins_with_its_settings_and_has_a_line_for_each_run(tmp_path):
    path = tmp_path / "deep" / "r.jsonl"
    records = Records(path, {"epochs": 3})
    records.add([run_of(1), run_of(2)])
    records.add([run_of(1, seed=1)])
    settings, runs = read(path)
    assert settings == {"epochs": 3}
    assert [(r["config"]["n"], r["seed"]) for r in runs] == [(1, 0), (2, 0), (1, 1)]
    assert {"python", "numpy", "structsmooth"} <= runs[0]["versions"].keys()


def test_an_opened_file_knows_what_is_done(tmp_path):
    path = tmp_path / "r.jsonl"
    Records(path, {}).add([run_of(1)])
    again = Records(path, {})
    assert again.has({"n": 1}, 0)
    assert not again.has({"n": 1}, 1)
    assert not again.has({"n": 2}, 0)


def test_what_a_kill_left_of_a_line_is_cut_off(tmp_path):
    path = tmp_path / "r.jsonl"
    Records(path, {}).add([run_of(1)])
    whole = path.read_text()
    path.write_text(whole + json.dumps(run_of(2))[:20])
    records = Records(path, {})
    assert not records.has({"n": 2}, 0)
    records.add([run_of(3)])
    assert [r["config"]["n"] for r in read(path)[1]] == [1, 3]


def test_a_file_made_with_other_settings_is_refused_by_name(tmp_path):
    path = tmp_path / "r.jsonl"
    Records(path, {"epochs": 3, "rows": 10})
    with pytest.raises(FileFormatError, match=r"other settings \(epochs, width\)"):
        Records(path, {"epochs": 4, "rows": 10, "width": 1})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there are no results"),
        ("\n", "line 1 .* is not JSON"),
        ("", "does not begin with its settings"),
        ('{"seed": 0}\n', "does not begin with its settings"),
        ('{"settings": {}}\nnonsense\n', "line 2 .* is not JSON"),
    ],
)
def test_what_is_not_a_file_of_results_is_said_so(tmp_path, content, said):
    path = tmp_path / "r.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(FileFormatError, match=said):
        read(path)


def test_a_kill_before_the_first_line_was_whole_costs_nothing(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"settings": {"epo')
    Records(path, {"epochs": 3}).add([run_of(1)])
    assert read(path)[0] == {"epochs": 3}
