"""The filter language of topics: which records a subscription or a query is about.

XPath-like identifiers, literals, comparison, arithmetic, ``BETWEEN``, ``IN``,
``LIKE`` (a search for a regular expression), ``IS NULL``, ``NOT`` before
``AND`` before ``OR``. What values of different types are to each other is in
``values``; a compiled filter never raises, whatever the record.
"""

from emulator.topics.engine.filters.filter import Filter, compile_filter
from emulator.topics.engine.filters.indexing import Equality, index_keys
from emulator.topics.engine.filters.parsing import FilterError
from emulator.topics.engine.filters.paths import Path, read_path, reader

__all__ = ["Equality", "Filter", "FilterError", "Path", "compile_filter", "index_keys", "read_path", "reader"]
