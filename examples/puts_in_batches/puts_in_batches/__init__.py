"""A rule of a house that puts many records a second: several go in one call."""

from rdss_sandbox.extension import Extension

EXTENSION = Extension(
    name="puts_in_batches",
    rules=("puts_in_batches.rule:RULE",),
    clauses=("puts_in_batches.clause:CLAUSE",),
)
