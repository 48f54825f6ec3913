"""What a smoother can do besides smoothing: be saved, reported and shown."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted


class SmootherBase(BaseEstimator):
    """A scikit-learn estimator with a file format, a report and a notebook display.

    What these need stands above the smoother, so it is imported when it is asked for.
    """

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted smoother to a file, or as ``smoother.zip`` to a directory.

        The file holds arrays and text, no pickle, so loading it never executes code. A
        smoother with a reducer or clusterer object of your own cannot be saved.
        """
        from structsmooth.io.store import save_smoother

        check_is_fitted(self, "structure_")
        save_smoother(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a fitted smoother from the file or directory that `save` has written."""
        from structsmooth.io.store import load_smoother

        return load_smoother(cls, path)

    def report(
        self,
        path: str | PathLike[str],
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        images: Any = None,
        name: str = "data",
        class_names: Sequence[str] | None = None,
    ) -> None:
        """Write one offline HTML file that says what was found, and JSON beside it.

        The path must end in .html. The map, the most ambiguous samples and what
        distinguishes the clusters need the rows fitted and their labels, X and y; large
        data are sampled. ``images``, of shape (n, h, w), (n, h, w, c) or (n, c, h, w),
        show samples. ``name`` is what to call the data, and ``class_names`` are what to
        call the classes, in the order of ``classes_``.
        """
        from structsmooth.report import report_of

        check_is_fitted(self, "structure_")
        report_of(self, path, X, y, images=images, name=name, class_names=class_names)

    def _html_repr(self) -> str:
        if not hasattr(self, "sample_strengths_"):
            return str(estimator_html_repr(self))
        from structsmooth.report.notebook import html_of

        return html_of(self)

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._html_repr()
        return bundle

    def _forget(self) -> None:
        """Drop an earlier fit, so that a failing one leaves no mixture behind."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        tags.input_tags.sparse = True
        return tags
