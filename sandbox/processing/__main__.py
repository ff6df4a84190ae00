"""``python -m sandbox.processing`` prints the diagram and the table for docs/processing.md."""

from sandbox.processing.transitions import markdown_table, mermaid_diagram

if __name__ == "__main__":
    print(f"```mermaid\n{mermaid_diagram()}\n```\n\n{markdown_table()}")  # noqa: T201 -- the output of a command
