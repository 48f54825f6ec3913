"""Risk-coverage curves: what is drawn, and what the bands hold."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from structsmooth.errors import InvalidInputError
from structsmooth.metrics import area_under_risk_coverage, risk_at_coverage
from structsmooth.metrics.bands import risk_band
from structsmooth.plot import plot_risk_coverage

mpl.use("Agg")
TWO = ["no", "yes"]


@pytest.fixture(autouse=True)
def _no_figure_stays():
    yield
    plt.close("all")


def draw_model(generator, n=1000):
    """Confidences from 1/2 to 1 that are the probability of being right."""
    confidences = generator.uniform(0.5, 1.0, n)
    return (generator.random(n) < confidences).astype(int), confidences


def band_of(ax, number):
    """Return coverage, low and high end of a band."""
    (path,) = ax.collections[number].get_paths()
    corners = path.vertices
    x = np.unique(corners[:, 0])
    ends = [corners[corners[:, 0] == at, 1] for at in x]
    return x, np.array([e.min() for e in ends]), np.array([e.max() for e in ends])


def test_the_curve_is_the_risk_at_each_coverage(rng):
    y, p1 = draw_model(rng)
    _, ax = plt.subplots()
    assert plot_risk_coverage((y, p1), ax=ax) is ax
    (line,) = ax.lines
    coverage, risk = line.get_data()
    np.testing.assert_allclose(coverage, np.arange(4, 201) / 200)  # from 20 samples
    expected = [risk_at_coverage(y, p1, c) for c in coverage]
    np.testing.assert_allclose(risk, expected, rtol=1e-12)
    (text,) = ax.get_legend().get_texts()
    assert text.get_text() == f"AURC {100 * area_under_risk_coverage(y, p1):.2f} %"
    x, low, high = band_of(ax, 0)
    np.testing.assert_allclose(x, coverage)
    assert (low <= risk).all()
    assert (high >= risk).all()


def test_models_have_names_colors_and_lines_of_their_own(rng):
    models = {f"model ${k}": draw_model(rng) for k in range(3)}
    ax = plot_risk_coverage(models)
    ax.figure.canvas.draw()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.split(",")[0] for text in texts] == [rf"model \${k}" for k in range(3)]
    styles = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len({color for color, _ in styles}) == len({line for _, line in styles}) == 3
    assert len(ax.collections) == 3


def test_over_runs_it_is_the_mean_with_students_interval():
    # At full coverage 1, 2 and 4 errors of 10: the mean is 7/30, the deviation
    # sqrt(7/3)/10, and Student's quantile for 2 degrees of freedom 4.3027.
    runs = []
    for n_errors in (1, 2, 4):
        y = (np.arange(10) >= n_errors).astype(int)
        runs.append((np.array(TWO)[y], np.linspace(0.6, 0.9, 10)))
    ax = plot_risk_coverage({"seeds": runs}, labels=TWO)
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(7 / 30)
    half = 4.302653 * np.sqrt(7 / 3) / 10 / np.sqrt(3)
    _, low, high = band_of(ax, 0)
    assert high[-1] == pytest.approx(7 / 30 + half, rel=1e-6)
    assert low[-1] == pytest.approx(max(7 / 30 - half, 0.0), abs=1e-9)
    narrower = risk_band(runs, np.ones(1), level=0.5, labels=TWO)
    # The quartile of Student's distribution with 2 degrees of freedom is sqrt(2/3).
    half = np.sqrt(2 / 3) * np.sqrt(7 / 3) / 10 / np.sqrt(3)
    assert narrower.high[0] == pytest.approx(7 / 30 + half)
    assert narrower.low[0] == pytest.approx(7 / 30 - half)


def test_at_full_coverage_resampling_is_binomial():
    # With 300 of 1000 wrong, resampled error rates have mean 0.3 and deviation
    # sqrt(0.3 * 0.7 / 1000) = 0.0145, of which a 95 % interval has 1.96 to each side.
    y = (np.arange(1000) >= 300).astype(int)
    band = risk_band([(y, np.full(1000, 0.8))], np.ones(1))
    half = 1.96 * np.sqrt(0.3 * 0.7 / 1000)
    assert band.risk[0] == pytest.approx(0.3)
    assert band.high[0] - 0.3 == pytest.approx(half, rel=0.15)
    assert 0.3 - band.low[0] == pytest.approx(half, rel=0.15)


@pytest.mark.statistical
def test_bands_of_one_run_hold_the_true_risk_at_least_as_often_as_they_say():
    # The c most confident samples have confidences from 1 - c/2 to 1, so that a share
    # of c/4 of them is wrong.
    coverage = np.array([0.05, 0.2, 0.5, 1.0])
    generator, n_sets = np.random.default_rng(1), 100
    held = np.zeros(4)
    for _ in range(n_sets):
        band = risk_band([draw_model(generator, 400)], coverage)
        held += (band.low <= coverage / 4) & (coverage / 4 <= band.high)
    assert (held / n_sets > 0.88).all()
    assert held[-1] < n_sets  # they are not so wide that they say nothing


def test_without_an_error_the_band_still_has_a_width():
    # Wilson's upper end for 0 of 40 is z^2 / (40 + z^2), with z = 1.959964.
    band = risk_band([(np.ones(40, int), np.linspace(0.6, 0.9, 40))], np.ones(1))
    squared = 1.959964**2
    assert band.risk[0] == band.low[0] == 0.0
    assert band.high[0] == pytest.approx(squared / (40 + squared), rel=1e-6)


def test_the_same_figure_every_time(rng):
    data = draw_model(rng)
    first, second = (plot_risk_coverage(data) for _ in range(2))
    np.testing.assert_array_equal(band_of(first, 0), band_of(second, 0))


def test_another_confidence_and_few_samples():
    y, p1 = [0, 1, 1], [0.9, 0.8, 0.7]
    ax = plot_risk_coverage((y, p1, [0, 1, 2]))
    coverage, risk = ax.lines[0].get_data()
    assert coverage[0] == 0.05
    assert risk[0] == 0.0
    assert risk[-1] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ({}, "at least one model, got none"),
        ({"a": []}, "at least one run, got none"),
        (np.zeros((2, 2)), r"a pair \(y, probabilities\), .* got ndarray"),
        ([[0, 1], [0.2, 0.8]], "must be a pair .* got list"),
        (([0, 1],), "must be a pair .* got tuple"),
        ({"a": ([0, 2], [0.2, 0.8])}, "class numbers 0 to 1"),
        ({"a": ([[0, 1], [1, 1]], [0.2, 0.8])}, "several labels for a row"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_opens_no_figure(predictions, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_risk_coverage(predictions)
    with pytest.raises(InvalidInputError, match="level must be a number between"):
        plot_risk_coverage(([0, 1], [0.2, 0.8]), level=95)
    assert not plt.get_fignums()
