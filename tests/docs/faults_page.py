"""Keeps ``docs/faults.md`` true to the registry: ``python -m tests.docs.faults_page docs/faults.md``."""

from __future__ import annotations

from typing import Any, Final

from emulator.faults.fault import Attribute, FaultType
from emulator.faults.faulted_message import list_fields
from emulator.faults.registry import TYPES
from schemas.bound import CONTRACT
from tests.docs.page_parts import renew_file, renew_part
from tests.docs.pages import ROOT

_EXAMPLE: Final = ROOT / "emulator" / "faults" / "types" / "stale_read.py"


def renew(page: str) -> str:
    """Render the parts of the page between its marks again. Raises ValueError when a mark is missing."""
    fields = ", ".join(f"`{name}`" for name in list_fields(CONTRACT))
    example = f"\n```python\n{_EXAMPLE.read_text(encoding='utf-8')}```\n"
    types = "\n" + "\n".join(_section(type_) for type_ in TYPES.values())
    for mark, text in (("fields", fields), ("types: made from the registry", types), ("example", example)):
        page = renew_part(page, mark, text)
    return page


def _section(type_: FaultType) -> str:
    directions = ", ".join(f"`{direction}`" for direction in type_.directions)
    kinds = ", ".join(f"`{kind}`" for kind in type_.kinds) or "every kind"
    lines = [
        f"## {type_.name}",
        "",
        type_.description,
        "",
        f"Direction: {directions}. Channels: {kinds}.",
        "",
    ]
    if type_.attributes:
        lines += ["| attribute | type | from, to | default | meaning |", "|---|---|---|---|---|"]
        lines += [_row(attribute) for attribute in type_.attributes]
        lines.append("")
    return "\n".join(lines)


def _row(attribute: Attribute) -> str:
    kind = " \\| ".join(attribute.choices) if attribute.choices else attribute.type
    unit = f", {attribute.unit}" if attribute.unit else ""
    default, bounds = _default(attribute.default), attribute.bounds
    return f"| `{attribute.name}` | {kind}{unit} | {bounds} | {default} | {attribute.description} |"


def _default(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if text else "none"


if __name__ == "__main__":
    renew_file(renew)
