"""Settings of the experiments: small files that override a common base."""

from __future__ import annotations

import tomllib
from pathlib import Path

HERE = Path(__file__).parent
SCALES = ("cpu", "full")
# Keys that describe an experiment but are not settings of its runs.
WORDS = ("title", "kind", "note")


def names() -> list[str]:
    """Return the names of all experiments."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def stem(name: str, scale: str) -> str:
    """Return the file name of results, without its suffix."""
    return name if scale == "cpu" else f"{name}-{scale}"


def load(name: str, scale: str = "cpu") -> dict:
    """Return the settings of an experiment at a scale.

    A file may name one or several ``base`` files whose settings it overrides. In all of
    them, the tables ``cpu`` and ``full`` hold settings of one scale only.
    """
    layers = _layers(HERE / f"{name}.toml")
    of_scales = [{s: layer.pop(s, {}) for s in SCALES} for layer in layers]
    config: dict = {}
    for layer in (*layers, *(of_scale[scale] for of_scale in of_scales)):
        config = merge(config, layer)
    return config | {"scale": scale}


def study(name: str, config: dict) -> dict:
    """Return the settings of a study on which another experiment builds.

    The ``changes`` and the scale of that experiment apply.
    """
    found = merge(load(name, config["scale"]), config.get("changes", {}))
    return {k: v for k, v in found.items() if k not in WORDS}


def merge(below: dict, above: dict) -> dict:
    """Return the settings ``below``, overridden by ``above`` table by table."""
    merged = dict(below)
    for name, value in above.items():
        is_table = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = merge(merged[name], value) if is_table else value
    return merged


def _layers(path: Path) -> list[dict]:
    """Return the settings of a file, after those of its bases."""
    settings = _read(path)
    bases = settings.pop("base", [])
    bases = [bases] if isinstance(bases, str) else bases
    folder = HERE / "base"
    below = [layer for base in bases for layer in _layers(folder / f"{base}.toml")]
    return [*below, settings]


def _read(path: Path) -> dict:
    return tomllib.loads(path.read_text(encoding="utf-8"))
