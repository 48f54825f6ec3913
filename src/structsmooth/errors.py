"""The errors and warnings a user can meet, each one clear sentence."""

from __future__ import annotations


class InvalidInputError(ValueError):
    """Data or a parameter that cannot be used."""


class FileFormatError(ValueError):
    """A file that cannot be read: damaged, of another kind, or too new."""


class StructsmoothWarning(UserWarning):
    """Base of all warnings of this library, so that one filter catches them."""


class MergedClustersWarning(StructsmoothWarning):
    """Clusters too small to say anything were joined to a neighbor."""


class TiedDistancesWarning(StructsmoothWarning):
    """Equal distances, and so the order of the rows, decide much of a tree."""


class FeatureScaleWarning(StructsmoothWarning):
    """One feature has so large a unit that it alone decides the distances."""


class SampledClustersWarning(StructsmoothWarning):
    """Clusters too large for one worker are judged by a sample of their rows."""
