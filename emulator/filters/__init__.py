"""The filter language, which selects records for a subscription or a query.

XPath-like identifiers, literals, comparison, arithmetic, ``BETWEEN``, ``IN``,
``LIKE`` (a search for a regular expression), ``IS NULL``, ``NOT`` before
``AND`` before ``OR``. ``values`` defines comparisons between values of different
types. A compiled filter never raises, for any record.
"""

from emulator.filters.compiling import Filter, compile_filter
from emulator.filters.filter_parsing import FilterSyntaxError
from emulator.filters.indexing import Equality
from emulator.filters.record_paths import Path, read_path, reader

__all__ = ["Equality", "Filter", "FilterSyntaxError", "Path", "compile_filter", "read_path", "reader"]
