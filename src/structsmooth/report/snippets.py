"""Lines to paste: the fit again, training with what was found, and the comparison."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from structsmooth.report.model import Snippet
from structsmooth.smoother import StructuralSmoother
from structsmooth.strengths.epsilon import epsilon_from_alpha

# What to smooth with.
NONE, UNIFORM, STRUCTURAL = "none", "uniform", "structural"
# Options of `structsmooth fit` that take no value, and those of its options that mean
# the same to `structsmooth compare`.
FLAGS = {"--header", "--no-header", "--shrink", "--ignore-suspects", "--json"}
FLAGS |= {"--quiet", "-q"}
SHARED = {"--label", "--labels", "--drop", "--header", "--no-header", "--reducer"}
SHARED |= {"--clusters", "--seed"}


def make_snippets(
    smoother: StructuralSmoother,
    answer: str,
    command: Sequence[str] = (),
    directory: str = "",
) -> tuple[Snippet, ...]:
    """Return what to paste.

    Parameters
    ----------
    smoother : StructuralSmoother
        The fitted smoother.
    answer : str
        What to smooth with: "none", "uniform" or "structural".
    command, directory : sequence of str, and str
        The command line of the fit, and where the result is, if that is known.
    """
    words = list(command)
    words = words[words.index("fit") + 1 :] if "fit" in words else []
    training: tuple[Snippet, ...] = ()
    if answer == UNIFORM:
        training = _train_uniformly(smoother)
    elif answer == STRUCTURAL:
        training = _train(smoother, directory)
    return (_fit_again(smoother, words), *training, _compare(words))


def _fit_again(smoother: StructuralSmoother, words: list[str]) -> Snippet:
    title = "Make this fit again"
    if words:
        return _shell(title, "fit", *words)
    if not isinstance(smoother.random_state, int):
        title += " (exactly the same only with a random_state)"
    return _python(
        title,
        "from structsmooth import StructuralSmoother",
        "",
        f"smoother = StructuralSmoother({_settings(smoother)}).fit(X, y)",
    )


def _compare(words: list[str]) -> Snippet:
    title = "Measure on held-out rows whether smoothing helps"
    shared = shared_words(words)
    if shared:
        return _shell(title, "compare", *shared)
    return _python(
        title,
        "from structsmooth.compare import compare",
        "",
        "classifier = None  # your own, or by default a logistic regression",
        "print(compare(X, y, classifier, smoother=smoother))",
    )


def shared_words(words: list[str]) -> list[str]:
    """Return what the commands ``fit`` and ``compare`` share, the data file first."""
    files, options = [], []
    rest = iter(words)
    for word in rest:
        name, is_joined, _ = word.partition("=")
        if not word.startswith("-"):
            files.append(word)
        elif name in FLAGS or is_joined:
            options += [word] * (name in SHARED)
        else:
            value = next(rest, "")
            options += [word, value] * (name in SHARED)
    is_file = len(files) == 1 and PurePath(files[0]).suffix
    return files + options if is_file else []


def _train(smoother: StructuralSmoother, directory: str) -> tuple[Snippet, ...]:
    """Return the lines that train with the strengths, or with soft labels."""
    before = []
    if smoother.spread == "even":
        name, found = "strengths", "smoother.sample_strengths_"
    else:
        name, found = "soft_labels", "smoother.soft_labels(X, y)"
    if directory:
        before = ["import numpy as np"]
        found = f"np.load({str(PurePath(directory) / f'{name}.npy')!r})"
    if name == "strengths":
        network = [
            "from torch.utils.data import DataLoader",
            "from structsmooth.torch import SmoothedDataset, structural_cross_entropy",
            "",
            f"strengths = {found}",
            "# dataset: pairs of inputs and class numbers, in the order of X",
            "smoothed = SmoothedDataset(dataset, strengths)",
            "for inputs, target, strength in DataLoader(smoothed, 64, shuffle=True):",
            "    loss = structural_cross_entropy(model(inputs), target, strength)",
        ]
    else:
        network = [
            "import torch",
            "from torch.utils.data import DataLoader, TensorDataset",
            "",
            f"soft_labels = torch.tensor({found}, dtype=torch.float32)",
            "dataset = TensorDataset(inputs, soft_labels)  # inputs: X as a tensor",
            "for inputs, target in DataLoader(dataset, 64, shuffle=True):",
            "    loss = torch.nn.functional.cross_entropy(model(inputs), target)",
        ]
    features, imports, encoding = _features(smoother)
    again = f"StructuralSmoother({_settings(smoother)})"
    return (
        _python("Train a network with PyTorch", *before, *network),
        _python(
            "Train LightGBM",
            *before,
            "from lightgbm import LGBMClassifier",
            *imports,
            "from structsmooth.boosting import fit_smoothed",
            "",
            *encoding,
            f"{name} = {found}",
            f"model = fit_smoothed(LGBMClassifier(), {features}, y, {name}={name})",
        ),
        _wrap(smoother, again),
    )


def _train_uniformly(smoother: StructuralSmoother) -> tuple[Snippet, ...]:
    """Return the lines that train with uniform strengths of the same mean."""
    epsilon = epsilon_from_alpha(smoother.alpha_, len(smoother.classes_))
    features, imports, encoding = _features(smoother)
    return (
        _python(
            "Train a network with PyTorch",
            "import torch",
            "",
            f"loss = torch.nn.CrossEntropyLoss(label_smoothing={epsilon:.3g})",
        ),
        _python(
            "Train LightGBM",
            "from lightgbm import LGBMClassifier",
            *imports,
            "from structsmooth.boosting import fit_smoothed",
            "",
            *encoding,
            f"model = fit_smoothed(LGBMClassifier(), {features}, y, "
            f"strengths={smoother.alpha_:.3g})",
        ),
        _wrap(smoother, f"StructuralSmoother(alpha={smoother.alpha_:.3g}, beta=0)"),
    )


def _wrap(smoother: StructuralSmoother, settings: str) -> Snippet:
    """Return the lines that train a classifier of scikit-learn."""
    classifier, names = "LogisticRegression(max_iter=1000)", ""
    imports = ["from sklearn.linear_model import LogisticRegression"]
    if _is_of_table(smoother):
        classifier = f"make_pipeline(TableEncoder(), {classifier})"
        names = ", TableEncoder"
        imports += ["from sklearn.pipeline import make_pipeline"]
    return _python(
        "Train a classifier of scikit-learn",
        *imports,
        f"from structsmooth import SmoothedClassifier, StructuralSmoother{names}",
        "",
        f"smoother = {settings}",
        f"classifier = {classifier}",
        "model = SmoothedClassifier(classifier, smoother).fit(X, y)",
    )


def _features(smoother: StructuralSmoother) -> tuple[str, list[str], list[str]]:
    """Return what to train on, what that imports, and how it is made."""
    if not _is_of_table(smoother):
        return "X", [], []
    imports = ["from structsmooth import TableEncoder"]
    return "features", imports, ["features = TableEncoder().fit_transform(X)"]


def _is_of_table(smoother: StructuralSmoother) -> bool:
    return smoother.structure_.encoding is not None


def _settings(smoother: StructuralSmoother) -> str:
    """Return the parameters that are not the usual ones, as Python writes them."""
    usual = inspect.signature(type(smoother)).parameters
    return ", ".join(
        f"{name}={value!r}"
        for name, value in smoother.get_params(deep=False).items()
        if value is not usual[name].default
        and repr(value) != repr(usual[name].default)
        and name != "verbose"
    )


def _shell(title: str, *words: str) -> Snippet:
    return Snippet(title, "shell", shlex.join(["structsmooth", *words]))


def _python(title: str, *lines: str) -> Snippet:
    return Snippet(title, "python", "\n".join(lines))
