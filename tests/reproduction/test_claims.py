"""Claims: one rule for all verdicts, and numbers from the recorded files."""

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments import claims, tables
from experiments.claims import rule
from experiments.published import TABLE_1, TABLE_2
from experiments.records import Records
from experiments.study.rows import row_of

from structsmooth.errors import FileFormatError


@pytest.mark.parametrize(
    ("signs", "verdict"),
    [
        ([1, 1, 0], "reproduced"),
        ([1, 0], "reproduced"),
        ([1, 0, 0], "not decidable at this scale"),
        ([1, 1, 1, -1], "not decidable at this scale"),
        ([0, 0], "not decidable at this scale"),
        ([1, -1, -1], "not reproduced"),
        ([0, 0, 0, -1], "not reproduced"),
    ],
)
def test_the_verdict_follows_the_rule(signs, verdict):
    assert rule.verdict_of(signs) == verdict


def test_a_difference_is_clear_if_its_interval_excludes_zero():
    # Differences -3, -1, -2: mean -2, standard error 1/sqrt(3), t of 2 degrees 4.303;
    # so the interval is -2 ± 2.48, which contains zero.
    reference = np.array([10.0, 10.0, 10.0])
    assert tables.sign(np.array([7.0, 9.0, 8.0]), reference) == 0
    assert tables.difference(np.array([7.0, 9.0, 8.0]), reference) == (
        "-2.00 (-4.48 to +0.48)"
    )
    # Differences -3, -2, -2.5: standard error 0.5/sqrt(3), the interval -2.5 ± 1.24.
    assert tables.sign(np.array([7.0, 8.0, 7.5]), reference) == 1
    assert tables.sign(reference, np.array([7.0, 8.0, 7.5])) == -1
    assert tables.sign(np.array([7.0]), np.array([9.0])) == 0


@pytest.fixture
def results(tmp_path):
    """Invented results of the synthetic task: structural 1 point below uniform, etc."""
    folder = tmp_path / "results"
    settings = {"alphas": [0.1, 0.2], "betas": [0.1, 0.5], "n_clusters": 32}
    settings |= {"other_n_clusters": [16], "n_seeds": 3, "epochs": 10}
    settings |= {"curve_every": 2}
    records = Records(folder / "synthetic.jsonl", settings)
    gap = {"none": 0.0, "uniform": 2.0, "structural": 1.0, "reversed": 5.0}
    rows = [row_of("none", 0.0), *(row_of("uniform", alpha) for alpha in (0.1, 0.2))]
    rows += [
        row_of(method, alpha, beta, 32)
        for method in ("structural", "reversed")
        for alpha in (0.1, 0.2)
        for beta in (0.1, 0.5)
    ]
    rows += [row_of("structural", alpha, 0.5, 16) for alpha in (0.1, 0.2)]
    noise = np.array([[0.0, 1e-5, -1e-5], [1e-5, -1e-5, 0.0]])
    for seed in range(3):
        for number, row in enumerate(rows):
            error = 0.2 + 0.01 * gap[row["method"]] + 0.001 * seed
            error += noise[number % 2, seed] * (1 + number)
            run = {"config": row, "seed": seed, "metrics": {"error": error}}
            records.add([run | {"curve": [error - 0.01 + 1e-5 * seed], "seconds": 1.0}])
    return folder


def cells_of(text):
    lines = text.splitlines()
    assert len(lines) == 2 + len(claims.CLAIMS)
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    return {int(line[0]): line[1:] for line in cells}


def test_claims_say_what_is_in_the_files(results):
    found = cells_of(claims.table(results))
    assert found[1][2:] == ["", "not run yet"]
    here, verdict = found[2][2:]
    assert here == (
        "-1.00 to -1.00 over 4 settings; clearly lower in 4, clearly higher in 0"
    )
    assert verdict == "reproduced"
    here, verdict = found[3][2:]
    assert here == (
        "+1.00 to +1.00 over 4 settings; clearly lower in 0, clearly higher in 4"
    )
    assert verdict == "not reproduced"
    here, verdict = found[4][2:]
    assert here.startswith("+3.00 to +5.00 over 8 settings; clearly lower in 0")
    assert verdict == "reproduced"
    here, verdict = found[5][2:]
    assert here == (
        "from epoch 2 to 10: reversed +1.0 to +1.0, structural +1.0 to +1.0, "
        "uniform +1.0 to +1.0 points"
    )
    assert verdict == "reproduced"
    assert found[6][3] == "reproduced"
    assert all(line[3] == "not run yet" for number, line in found.items() if number > 6)


def test_there_is_no_verdict_before_all_seeds_are_there(results):
    path = results / "synthetic.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"seed": 2' not in line))
    found = cells_of(claims.table(results))
    for number in (2, 3, 4, 5, 6):
        assert found[number][2:] == ["2 of 3 seeds", "unfinished"]


def test_intervals_of_a_claim_hold_for_all_its_settings():
    # Differences -3, -2, -2.5: a half-width of 1.24 for one interval; for ten, where t
    # of 2 degrees at 99.5 % two-sided is 14.09, of 4.07, so that it contains zero.
    pair = np.array([7.0, 8.0, 7.5]), np.array([10.0, 10.0, 10.0])
    assert tables.sign(*pair) == 1
    assert tables.sign(*pair, n_intervals=10) == 0
    assert rule.lower_than([pair])[1] == "reproduced"
    assert rule.lower_than([pair] * 10)[1] == "not decidable at this scale"


def test_the_paper_is_quoted_from_its_tables(results):
    lines = claims.table(results).splitlines()
    # By hand: alpha 0.3, beta 0.3 is 24.55 against 25.67; alpha 0.1, beta 0.3 24.62
    # against 24.63.
    assert "-1.12 to -0.01; means lower in 15 of 15" in lines[3]
    assert TABLE_1["structural", 0.3][2] == (24.55, 0.03)
    assert TABLE_2["svhn"]["structural", 0.2] == (4.01, 0.11, 0.3427)
    assert TABLE_2["cifar100-plain"]["none", 0.0] == (57.39, 2.06, 8.5204)


def test_the_page_keeps_what_is_around_the_claims(results, tmp_path):
    page = tmp_path / "README.md"
    page.write_text(f"before\n{claims.BEGIN}\nold\n{claims.END}\nafter\n")
    claims.write(page, results)
    claims.write(page, results)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert text.count("| claim |") == 1
    page.write_text("nothing")
    with pytest.raises(FileFormatError, match="has no markers for the claims"):
        claims.write(page, results)
