"""``python -m sandbox.processing``: what docs/processing.md shows of the table of transitions."""

from sandbox.processing.transitions import diagram, listing

if __name__ == "__main__":
    print(f"```mermaid\n{diagram()}\n```\n\n{listing()}")  # noqa: T201 -- the output of a command
