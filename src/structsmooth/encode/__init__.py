"""Tables with text, categories, dates and gaps, as features for everything else."""

from structsmooth.encode.encoder import TableEncoder
from structsmooth.encode.table import Table, as_table, is_table

__all__ = ["Table", "TableEncoder", "as_table", "is_table"]
