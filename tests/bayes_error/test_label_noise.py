"""A model of labels of which some are wrong."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from structsmooth.bayes_error.label_noise import (
    LabelNoise,
    fit_cautiously,
    fit_label_noise,
    overlap_much,
    small_and_tiny,
    wrong_probability,
)


def test_odds_by_the_rule_of_bayes():
    # Probabilities of the true class 0.9 and 0.1; of class 0, 20 % are changed, and of
    # class 1, 5 %.
    evidence = np.log([[[0.9], [0.1]]])
    model = LabelNoise(np.ones(1), np.ones(2), np.array([[0.8, 0.2], [0.05, 0.95]]))
    for label, right, wrong in ((0, 0.9 * 0.8, 0.1 * 0.05), (1, 0.1 * 0.95, 0.9 * 0.2)):
        odds, other = model.judge(evidence, np.array([label]))
        assert odds[0] == pytest.approx(np.log(wrong / right))
        assert other[0] == 1 - label


def test_a_share_of_the_wrong_labels():
    model = LabelNoise(np.ones(1), np.ones(2), np.array([[0.8, 0.2], [0.05, 0.95]]))
    fewer = model.with_fewer_changes(0.5)
    np.testing.assert_allclose(fewer.changes, [[0.9, 0.1], [0.025, 0.975]])


def test_probabilities_in_two_parts_add_up():
    logs = np.log([[0.7, 0.3 - 1e-5, 1e-5], [1.0, 1e-300, 1e-12]])
    parts = small_and_tiny(logs)
    assert parts.shape == (2, 3, 2)
    differences = logs - logs.max(axis=1, keepdims=True)
    np.testing.assert_allclose(parts.sum(axis=2), np.maximum(differences, -20.0))
    assert parts[..., 0].min() == -4.0


def draw(rng, n, rates):
    """Evidence of three classes, and labels of which some are changed."""
    logits = 3.0 * rng.normal(size=(n, 3))
    true = (rng.uniform(size=(n, 1)) > softmax(logits, axis=1).cumsum(axis=1)).sum(
        axis=1
    )
    wrong = rng.uniform(size=n) < np.asarray(rates)[true]
    labels = np.where(wrong, (true + rng.integers(1, 3, size=n)) % 3, true)
    useless = rng.normal(size=(n, 3))
    return np.stack([0.5 * logits, useless], axis=2), labels, wrong


def likelihood(model, evidence, labels):
    true = small_and_tiny(evidence @ model.weights) @ model.tails
    true -= logsumexp(true, axis=1, keepdims=True)
    return logsumexp(true + np.log(model.changes[:, labels].T), axis=1).mean()


def test_weights_and_rates_are_found_again(rng):
    evidence, labels, wrong = draw(rng, 30_000, [0.1, 0.1, 0.1])
    model = fit_label_noise(evidence, labels)
    # The evidence is half of what it should be, so it counts twice.
    assert model.weights[0] * model.tails.mean() == pytest.approx(2.0, abs=0.25)
    assert model.weights[1] < 0.05
    assert 1.0 - np.diag(model.changes) == pytest.approx([0.1] * 3, abs=0.02)
    np.testing.assert_allclose(model.changes.sum(axis=1), 1.0)
    log_odds, _ = model.judge(evidence, labels)
    scores = 1.0 / (1.0 + np.exp(-log_odds))
    assert scores.mean() == pytest.approx(wrong.mean(), abs=0.01)


def test_a_class_with_more_mistakes_is_noticed(rng):
    evidence, labels, _ = draw(rng, 20_000, [0.3, 0.0, 0.0])
    rates = 1.0 - np.diag(fit_label_noise(evidence, labels).changes)
    # Half of what is said by the class's own rows, half by all.
    assert rates.argmax() == 0
    assert rates[0] > 0.15 > 0.1 > rates[1:].max()


def test_overlap_without_mistakes_is_no_mistake(rng):
    evidence, labels, _ = draw(rng, 20_000, [0.0, 0.0, 0.0])
    model = fit_label_noise(0.5 * evidence, labels)
    assert (1.0 - np.diag(model.changes)).max() < 0.01


def test_no_other_rates_are_more_likely(rng):
    evidence, labels, _ = draw(rng, 5_000, [0.1, 0.1, 0.1])
    model = fit_label_noise(evidence, labels)
    best = likelihood(model, evidence, labels)
    for rate in (0.02, 0.2):
        others = np.where(np.eye(3, dtype=bool), 1.0 - rate, rate / 2)
        other = LabelNoise(model.weights, model.tails, others)
        assert likelihood(other, evidence, labels) < best


def test_evidence_never_counts_against_itself(rng):
    evidence, labels, _ = draw(rng, 2_000, [0.05] * 3)
    model = fit_label_noise(-evidence, labels)
    assert model.weights.min() >= 0.0
    assert model.tails.min() >= 0.0


def caution(model, evidence, labels):
    return fit_cautiously(model, evidence, labels, overlap_much(model, evidence))


def poor(rng, n, rate):
    """Evidence of three classes that is loud and often wrong, except in a few rows.

    One row in eight is certain, with log odds of 12. Half have log odds of 3 for a
    class that is the true one in 90 of 100 rows, which is about right. The others have
    log odds of 6, and the class is the true one in 70 of 100 rows only, so that labels
    disagree there as if 30 % were wrong. No weights can say so.
    """
    true = rng.integers(0, 3, n)
    kind = np.digitize(rng.uniform(size=n), [0.125, 0.625])
    loud, correct = np.array([12.0, 3.0, 6.0])[kind], np.array([1.0, 0.9, 0.7])[kind]
    other = (true + rng.integers(1, 3, n)) % 3
    said = np.where(rng.uniform(size=n) < correct, true, other)
    wrong = rng.uniform(size=n) < rate
    labels = np.where(wrong, (true + rng.integers(1, 3, n)) % 3, true)
    return (loud[:, None] * np.eye(3)[said])[:, :, None], labels, wrong


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.2])
def test_the_surest_rows_tell_how_many_labels_are_wrong(rng, rate):
    evidence, labels, wrong = poor(rng, 4000, rate)
    model = fit_label_noise(evidence, labels)
    cautious = caution(model, evidence, labels)
    expected = [
        wrong_probability(one.judge(evidence, labels)[0]).sum()
        for one in (model, cautious)
    ]
    # About 500 rows are sure; a quarter of their wrong labels is one standard error.
    assert expected[0] > wrong.sum() + 400
    assert expected[1] == pytest.approx(wrong.sum(), rel=0.5, abs=40)


def test_where_the_surest_rows_agree_there_is_nothing_to_limit(rng):
    for rates in ([0.0, 0.0, 0.0], [0.1, 0.1, 0.1], [0.0, 0.0, 0.3]):
        evidence, labels, _ = draw(rng, 4000, rates)
        model = fit_label_noise(evidence, labels)
        assert caution(model, evidence, labels) is None


def test_where_classes_overlap_much_the_odds_are_halved(rng):
    # Half of the evidence is missing, and 5 % of the labels are wrong.
    evidence, labels, _ = draw(rng, 4000, [0.05] * 3)
    evidence = 0.5 * evidence + 1.5 * rng.normal(size=evidence.shape)
    model = fit_label_noise(evidence, labels)
    assert overlap_much(model, evidence)
    cautious = caution(model, evidence, labels)
    # Its tails are hardly limited here, so nothing else differs.
    change = cautious.judge(evidence, labels)[0] - model.judge(evidence, labels)[0]
    assert change == pytest.approx(np.log(0.5), abs=0.1)


def test_a_run_of_right_labels_alone_limits_nothing():
    # 50 of 1000 labels are wrong, none of them among the 106 surest rows. At one place
    # that has a probability of 0.4 %, but with so many places it happens by chance.
    true = np.arange(1000) % 3
    evidence = np.linspace(19.0, 10.0, 1000)[:, None] * np.eye(3)[true]
    labels = true.copy()
    wrong = 106 + np.arange(50) * 894 // 50
    labels[wrong] = (true[wrong] + 1 + np.arange(50) % 2) % 3
    changes = np.where(np.eye(3, dtype=bool), 0.95, 0.025)
    model = LabelNoise(np.ones(1), np.ones(2), changes)
    assert caution(model, evidence[:, :, None], labels) is None


def test_few_rows_are_no_evidence_against_the_model(rng):
    evidence, labels, _ = poor(rng, 40, 0.05)
    model = fit_label_noise(evidence, labels)
    assert caution(model, evidence, labels) is None


def test_the_mean_rate_can_be_limited(rng):
    evidence, labels, _ = draw(rng, 2000, [0.1, 0.1, 0.3])
    model = fit_label_noise(evidence, labels, most=0.02)
    rates = 1.0 - np.diag(model.changes)
    assert rates.mean() == pytest.approx(0.02)
    assert rates[2] > rates[0]
    np.testing.assert_allclose(model.changes.sum(axis=1), 1.0)
