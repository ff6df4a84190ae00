"""``python -m sandbox.processing`` prints the table for docs/processing.md."""

from sandbox.processing.transitions import markdown_table

if __name__ == "__main__":
    print(markdown_table())  # noqa: T201 -- the output of a command
