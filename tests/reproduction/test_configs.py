"""Configs: small files, merged."""

from experiments import configs


def test_what_is_above_replaces_what_is_below_table_by_table():
    below = {"a": 1, "t": {"x": 1, "y": 2}, "l": [1, 2]}
    above = {"a": 2, "t": {"y": 3, "z": 4}, "l": [3]}
    merged = configs.merge(below, above)
    assert merged == {"a": 2, "t": {"x": 1, "y": 3, "z": 4}, "l": [3]}
    assert below == {"a": 1, "t": {"x": 1, "y": 2}, "l": [1, 2]}


def test_every_config_loads_at_both_scales_and_names_a_kind():
    from experiments.__main__ import KINDS

    for name in configs.names():
        for scale in configs.SCALES:
            config = configs.load(name, scale)
            assert config["kind"] in KINDS
            assert config["scale"] == scale
            assert not {"base", *configs.SCALES} & config.keys()


def test_the_full_scale_is_what_the_paper_printed():
    clusters = {"svhn": [80], "cifar10": [64], "cifar100": [48]}
    for name, number in clusters.items():
        config = configs.load(name, "full")
        assert config["n_clusters"] == number
        assert config["alphas"] == [0.1, 0.2, 0.3]
        assert config["betas"] == [0.2, 0.4, 0.6, 0.8, 1.0]
        assert config["n_seeds"] == 5
        assert config["autoencoder"]["n_components"] == 256
        recipe = config["recipe"]
        assert (recipe["epochs"], recipe["optimizer"]) == (100, "sgd")
        rates = recipe["learning_rate"], recipe["last_learning_rate"], recipe["drop_at"]
        assert rates == (0.1, 0.02, 0.7)
        assert "width" not in config["network"]
    plain = configs.load("cifar10-plain", "full")
    assert plain["network"]["batch_norm"] is False
    recipe = plain["recipe"]
    assert recipe["optimizer"] == "adam"
    assert (recipe["learning_rate"], recipe["last_learning_rate"]) == (0.001, 0.0001)
    higgs = configs.load("higgs", "full")
    assert (higgs["fit_rows"], higgs["n_clusters"]) == (1_000_000, [128])
    assert (higgs["recipe"]["epochs"], len(higgs["network"]["hidden"])) == (200, 6)


def test_table_1_is_at_full_scale():
    config = configs.load("synthetic")
    assert (config["n_train"], config["n_test"], config["n_hidden"]) == (
        12_000,
        12_000,
        256,
    )
    assert (config["epochs"], config["learning_rate"]) == (2500, 0.01)
    assert config["layout"]["n_noise"] == 126
    assert len(config["layout"]["class_0"]) == len(config["layout"]["class_1"]) == 6
