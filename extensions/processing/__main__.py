"""``python -m extensions.processing`` prints the table for docs/processing.md."""

from extensions.processing.transitions import markdown_table

if __name__ == "__main__":
    print(markdown_table())  # noqa: T201 -- the output of a command
