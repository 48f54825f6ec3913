"""Claims: one rule for all verdicts, and numbers from the recorded files."""

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments import claims, tables
from experiments.claims import rule, synthetic
from experiments.published import TABLE_1, TABLE_2
from experiments.records import Records
from experiments.study.rows import row_of

from structsmooth.errors import FileFormatError


@pytest.mark.parametrize(
    ("pooled", "signs", "verdict"),
    [
        (1, [1, 1, 0], "reproduced"),
        (1, [0, 0], "reproduced"),
        (-1, [-1, -1, 0], "not reproduced"),
        (-1, [0, 0], "not reproduced"),
        (0, [1, 0], "not decidable at this scale"),
        (0, [0, -1], "not decidable at this scale"),
        (1, [1, 1, 1, -1], "mixed"),
        (-1, [1, -1, -1, -1], "mixed"),
        (0, [1, -1], "mixed"),
    ],
)
def test_the_verdict_is_the_same_for_and_against(pooled, signs, verdict):
    assert rule.verdict_of(pooled, signs) == verdict
    opposite = {"reproduced": "not reproduced", "not reproduced": "reproduced"}
    mirrored = rule.verdict_of(-pooled, [-sign for sign in signs])
    assert mirrored == opposite.get(verdict, verdict)


def test_settings_of_a_seed_are_averaged_before_seeds_are_compared():
    # Two settings whose differences are (-1, -3, -2) and (-3, -1, -2): each varies, but
    # their means by seed are -2, -2 and -2, up to the 0.1 added to the last one.
    zero = np.zeros(3)
    pairs = [(np.array([-1, -3, -2.0]), zero), (np.array([-3, -1, -1.8]), zero)]
    mean, low, high = rule.pooled_difference([pairs])
    # By seed -2, -2, -1.9: mean -1.9667, standard error 0.05774/sqrt(3) = 0.03333, t of
    # 2 degrees 4.3027.
    assert mean == pytest.approx(-1.9667, abs=1e-4)
    assert (low, high) == pytest.approx((-2.1101, -1.8232), abs=1e-4)
    # Copies of a setting add nothing.
    assert rule.pooled_difference([pairs[:1] * 9]) == pytest.approx(
        rule.pooled_difference([pairs[:1]])
    )


def test_studies_are_pooled_with_equal_weights():
    zero = np.zeros(3)
    first, second = np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 7.0])
    mean, low, high = rule.pooled_difference([[(first, zero)], [(second, zero)]])
    # Means 2 and 6, each with the variance 1/3: a standard error of sqrt(2/3)/2 =
    # 0.40825; equal variances, so 4 degrees of freedom, where t is 2.7764.
    assert mean == pytest.approx(4.0)
    assert (low, high) == pytest.approx((4 - 1.13347, 4 + 1.13347), abs=1e-4)
    # A study of one seed has no interval.
    alone = [(first[:1], zero[:1])]
    assert rule.pooled_difference([alone, alone]) == (1.0, -np.inf, np.inf)


def test_correlations_are_pooled_in_fishers_transformation():
    # artanh 0.6 = 0.6931, artanh 0 = 0; half-widths 0.5493 (tanh 0.5) and 0.6931, so
    # that of the mean is sqrt(0.5493^2 + 0.6931^2)/2 = 0.4422.
    low, high = np.tanh(0.6931 - 0.5493), np.tanh(0.6931 + 0.5493)
    words, verdict = rule.correlated({"a": (0.6, low, high), "b": (0.0, -0.6, 0.6)})
    ends = np.tanh(0.3466 - 0.4422), np.tanh(0.3466 + 0.4422)
    assert words.startswith(f"0.33 ({ends[0]:.2f} to {ends[1]:.2f}) together; a 0.60")
    assert verdict == "not decidable at this scale"
    assert rule.correlated({"a": (0.6, 0.1, 0.9)})[1] == "reproduced"
    assert rule.correlated({"a": (-0.6, -0.9, -0.1)})[1] == "not reproduced"


def test_lowest_values_must_all_be_lower_or_all_be_higher():
    low, high = np.array([1.0, 9.0]), np.array([2.0, 3.0])
    assert rule.lowest([(low, high), (low, high)]) == (
        "lower in 2 of 2, higher in 0",
        "reproduced",
    )
    assert rule.lowest([(high, low)])[1] == "not reproduced"
    assert rule.lowest([(high, low), (low, high)])[1] == "not decidable at this scale"


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
            # Lowest at epoch 2, where structural is below the lowest error of uniform.
            curve = [error - 0.01 + 1e-5 * seed, error]
            if row["method"] == "uniform":
                curve = [error, error - 0.01 + 1e-5 * seed]
            records.add([run | {"curve": curve, "seconds": 1.0}])
    return folder


def cells_of(text):
    lines = text.splitlines()
    assert len(lines) == 2 + len(claims.CLAIMS)
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    return {int(line[0]): line[1:] for line in cells}


def number_of(words):
    """The number of the only claim that begins with these words."""
    numbers = [n for n, c in enumerate(claims.CLAIMS, 1) if c.text.startswith(words)]
    assert len(numbers) == 1
    return numbers[0]


def test_claims_say_what_is_in_the_files(results):
    found = cells_of(claims.table(claims.found(results)))
    assert found[1][2:] == ["", "not run yet"]
    here, verdict = found[2][2:]
    assert here.startswith("-1.00 (-1.00 to -1.00) together; -1.00 to -1.00 over 4 ")
    assert here.endswith("settings, clearly lower in 4, clearly higher in 0")
    assert verdict == "reproduced"
    here, verdict = found[3][2:]
    assert here.startswith("+1.00 (")
    assert here.endswith("settings, clearly lower in 0, clearly higher in 4")
    assert verdict == "not reproduced"
    lowest = number_of("Synthetic: structural has a lower lowest error over the seeds")
    assert found[lowest][2:] == ["lower in 4 of 4, higher in 0", "reproduced"]
    assert found[lowest + 1][2:] == ["lower in 0 of 4, higher in 4", "not reproduced"]
    here, verdict = found[number_of("Synthetic: reversed strengths err more")][2:]
    assert here.startswith("+4.00 (")
    assert "+3.00 to +5.00 over 8 settings, clearly lower in 0" in here
    assert verdict == "reproduced"
    swapped = number_of("The same for strengths that are swapped by rank")
    assert found[swapped][2:] == ["", "not run yet"]
    later = number_of("HIGGS: structural errs less than uniform")
    assert found[later - 1][3] == "reproduced"
    assert all(line[3] == "not run yet" for n, line in found.items() if n >= later)


def test_a_rise_of_all_methods_is_no_rise_of_the_reversed_only(results):
    here, verdict = cells_of(claims.table(claims.found(results)))[
        number_of("Synthetic: the error of reversed strengths rises")
    ][2:]
    assert here.startswith("from epoch 2 to 10: reversed +1.00 (")
    # Uniform falls here, from its first epoch to its end.
    assert verdict == "in part: structural rise too"


def test_convergence_is_judged_at_a_level_that_both_reach(results):
    found = cells_of(claims.table(claims.found(results)))
    here, verdict = found[number_of("Synthetic: structural converges faster")][2:]
    # Structural reaches its lowest error, 1 point below, at epoch 2; uniform's lowest
    # is that of structural's end, which structural reaches at epoch 2 and uniform at 4.
    assert here.startswith("-2 (")
    assert verdict == "not decidable at this scale"  # the same on all seeds


def test_there_is_no_verdict_before_all_seeds_are_there(results):
    path = results / "synthetic.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"seed": 2' not in line))
    found = cells_of(claims.table(claims.found(results)))
    for number in (2, 3, 4, 5, 8, 9, 10):  # 6 and 7 are of other files
        assert found[number][2:] == ["2 of 3 seeds", "unfinished"]


def test_intervals_of_a_claim_hold_for_all_its_settings():
    # Differences -3, -2, -2.5: a half-width of 1.24 for one interval; for ten, where t
    # of 2 degrees at 99.5 % two-sided is 14.09, of 4.07, so that it contains zero.
    pair = np.array([7.0, 8.0, 7.5]), np.array([10.0, 10.0, 10.0])
    assert tables.sign(*pair) == 1
    assert tables.sign(*pair, n_intervals=10) == 0
    assert rule.lower_than([pair])[1] == "reproduced"
    # The pooled interval of ten copies is that of one, and none is clearly opposite.
    words, verdict = rule.lower_than([pair] * 10)
    assert words.endswith("over 10 settings, clearly lower in 0, clearly higher in 0")
    assert verdict == "reproduced"
    assert rule.higher_than([pair] * 10)[1] == "not reproduced"


def write_study(path, gap, seeds=2):
    """Invented results of a study: structural differs from uniform by some points."""
    settings = {"alphas": [0.2], "betas": [1.0], "n_clusters": [4], "n_seeds": 2}
    records = Records(path, settings | {"selection_seeds": 1})
    errors = {"none": 20.0, "uniform": 20.0, "structural": 20.0 + gap}
    for seed in range(seeds):
        for method, error in errors.items():
            beta = (1.0, 4) if method == "structural" else ()
            row = row_of(method, 0.0 if method == "none" else 0.2, *beta)
            noise = 0.02 * seed if method == "structural" else 0.0
            metrics = {"error": (error + noise) / 100, "nll": error}
            run = {"config": row, "seed": seed, "metrics": metrics, "seconds": 1.0}
            records.add([run | {"validation": metrics}])


def test_the_compact_network_decides_as_soon_as_all_its_studies_are_there(tmp_path):
    for name in ("svhn", "cifar10", "cifar100", "cifar10-plain"):
        write_study(tmp_path / f"{name}.jsonl", gap=1.0)
    names = [f"compact-{name}" for name in ("svhn", "cifar10", "cifar100")]
    names += [f"{name}-plain" for name in names]
    for name in names[:-1]:
        write_study(tmp_path / f"{name}.jsonl", gap=-1.0)
    number = number_of(
        "Images, with batch normalization: structural errs less than uni"
    )
    gain = number_of("Batch normalization makes the effect")

    def here_and_verdict(number):
        return cells_of(claims.table(claims.found(tmp_path)))[number][2:]

    for seeds in (0, 1):  # not there, or not finished
        if seeds:
            write_study(tmp_path / f"{names[-1]}.jsonl", gap=-3.0, seeds=seeds)
        here, verdict = here_and_verdict(number)
        assert here.startswith("small MobileNet-v2: +1.0")
        assert verdict == "not reproduced"
        here, _ = here_and_verdict(gain)
        assert here.startswith("small MobileNet-v2, CIFAR-10 only: +1.0")
    (tmp_path / f"{names[-1]}.jsonl").unlink()
    write_study(tmp_path / f"{names[-1]}.jsonl", gap=-4.0)
    here, verdict = here_and_verdict(number)
    assert here.startswith("compact network: -0.99")  # -1 and -0.98, on the two seeds
    assert verdict == "reproduced"
    # Without: -1, -1 and -4; with: -1 in all three.
    assert here_and_verdict(gain)[0].startswith(
        "compact network: -1.99 points without, -0.99 with; difference -1.00 ("
    )


def test_the_paper_is_quoted_from_its_tables(results):
    lines = claims.table(claims.found(results)).splitlines()
    # By hand: alpha 0.3, beta 0.3 is 24.55 against 25.67; alpha 0.1, beta 0.3 24.62
    # against 24.63.
    assert "-1.12 to -0.01; means lower in 15 of 15" in lines[3]
    # By hand, from the columns of lowest errors: 24.56 is not below 24.50, nor are
    # 24.78, 24.70 and 24.65 below 24.65.
    lowest = number_of("Synthetic: structural has a lower lowest error over the seeds")
    assert "| lower in 14 of 15 |" in lines[1 + lowest]
    assert "| lower in 12 of 15 |" in lines[2 + lowest]
    # CIFAR-10, alpha 0.1, and CIFAR-100, alpha 0.2, both without batch normalization.
    images = number_of("Images: structural has the lower lowest error")
    assert "| lower in 16 of 18 |" in lines[1 + images]
    assert TABLE_1["structural", 0.3][2] == (24.55, 0.03)
    assert TABLE_2["svhn"]["structural", 0.2] == (4.01, 0.11, 0.3427)
    assert TABLE_2["cifar100-plain"]["none", 0.0] == (57.39, 2.06, 8.5204)


def test_the_page_keeps_what_is_around_the_claims(results, tmp_path):
    page = tmp_path / "README.md"
    page.write_text(
        "before\n<!-- summary: begin -->\nold\n<!-- summary: end -->\nbetween\n"
        "<!-- claims: begin -->\nold\n<!-- claims: end -->\nafter\n"
    )
    claims.write(page, results)
    claims.write(page, results)
    text = page.read_text()
    assert text.startswith("before\n")
    assert "\nbetween\n" in text
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert text.count("| claim |") == 1
    page.write_text("<!-- summary: begin --><!-- summary: end -->")
    with pytest.raises(FileFormatError, match="expected <!-- claims: begin -->"):
        claims.write(page, results)


def sensitivity_records(folder, left_out=0):
    """Three invented cells: an error and a Bayes error each, all differences known."""
    settings = {"alphas": [0.1], "betas": [0.5], "methods": ["structural"]}
    settings |= {"n_clusters": 32, "n_seeds": 3, "epochs": 10}
    settings |= {"batch_sizes": [1, 2, 3], "noises": [0.1], "spreads": [1.0]}
    records = Records(folder / "synthetic-sensitivity.jsonl", settings)
    cells = {1: (0.2482, 0.198), 2: (0.26, 0.24), 3: (0.22, 0.21)}
    runs = []
    for batch_size, (error, bayes_error) in cells.items():
        cell = {"batch_size": batch_size, "noise_deviation": 0.1, "spread": 1.0}
        for row, change in (
            (row_of("none", 0.0), 0.0),
            (row_of("uniform", 0.1), 0.02),
            (row_of("structural", 0.1, 0.5, 32), -0.01 * batch_size),
        ):
            for seed in range(3):
                run = {"config": row | cell, "seed": seed, "bayes_error": bayes_error}
                value = error + change + 1e-6 * seed * len(row["method"])
                run |= {"metrics": {"error": value}, "curve": [value]}
                runs.append(run | {"seconds": 1.0})
    records.add(runs[: len(runs) - left_out])
    return folder


def test_the_error_without_smoothing_decides_which_cell_is_like_the_papers(tmp_path):
    # The paper's 24.82 % is met by the first cell, but 5 points above Bayes; of the
    # others, 26 % is nearer to it than 22 %.
    results = sensitivity_records(tmp_path)
    here, verdict = synthetic.in_likest_cell("none")(results)
    assert here.startswith("-2.00 (")
    assert here.endswith("(batches of 2, noise 0.1, spread 1)")
    assert verdict == "reproduced"
    assert synthetic.in_likest_cell("uniform")(results)[0].startswith("-4.00 (")


def test_no_cell_is_chosen_before_all_are_there(tmp_path):
    with pytest.raises(rule.UnfinishedError, match="2 of 3 cells"):
        synthetic.in_likest_cell("none")(sensitivity_records(tmp_path, left_out=1))


def test_the_summary_counts_the_claims_of_the_paper_only(results):
    judged = claims.found(results)
    ours = [one for one in judged if not one.claim.paper]
    assert {one.claim.text.split()[0] for one in ours} == {
        "Structural",
        "The",
        "In",
        "Not",
    }
    text = claims.summary(judged)
    assert text.startswith(f"The verdicts on the paper's {len(judged) - 5} claims: ")
    # By hand: structural is below uniform (2, its lowest errors, numbers of clusters)
    # and reversed above; structural is above none (3, its lowest errors).
    assert ", 4 reproduced, 2 not reproduced, " in text
    row = next(
        line for line in text.splitlines() if "structural - uniform, points" in line
    )
    assert row.endswith("| -1.00 (-1.00 to -1.00) | reproduced |")
