"""The errors and warnings a user can meet, each one clear sentence."""

from __future__ import annotations


class InvalidInputError(ValueError):
    """Data or a parameter that cannot be used."""


class InvalidParameterError(InvalidInputError):
    """A parameter, or an option of the command line, whose value cannot be used."""


class FileFormatError(ValueError):
    """A file that cannot be read: damaged, of another kind, or too new."""


class FileOptionError(InvalidParameterError, FileFormatError):
    """An option that does not suit its file, such as a column that it lacks."""


class MissingPackageError(ImportError):
    """An optional package that is needed here and not installed."""


def missing_package(name: str, purpose: str, install: str = "") -> MissingPackageError:
    """Return the error that names a command to install a package.

    It names no extra, so that it works beside a checkout as well as beside a wheel.
    """
    message = f"{purpose} needs {name}: pip install {install or name}"
    return MissingPackageError(message, name=name)


class StructsmoothWarning(UserWarning):
    """Base of all warnings of this library, so that one filter catches them."""


class StructsmoothDeprecationWarning(StructsmoothWarning, FutureWarning):
    """A name that still works, and that a later version will not have."""


class MergedClustersWarning(StructsmoothWarning):
    """Clusters too small to say anything were joined to a neighbor."""


class TiedDistancesWarning(StructsmoothWarning):
    """Equal distances, and so the order of the rows, decide much of a tree."""


class FeatureScaleWarning(StructsmoothWarning):
    """One feature has so large a unit that it alone decides the distances."""


class LeftOutColumnsWarning(StructsmoothWarning):
    """Columns of a table that tell nothing about a row, such as names, are not used."""


class TextNumbersWarning(StructsmoothWarning):
    """A column counts as text because of a few words, or signs, among its numbers."""


class NewLevelsWarning(StructsmoothWarning):
    """New rows have values in a column of categories that no row of the fit had."""


class SampledClustersWarning(StructsmoothWarning):
    """Clusters too large for one worker are judged by a sample of their rows."""
