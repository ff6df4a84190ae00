r"""Text from outside, for a terminal: what a terminal would obey is shown as an escape, ``\u001b``.

A message, a name or a header may hold anything: sequences that write to the clipboard or clear the screen
(ECMA-48), controls of 8 bits, marks that turn the direction of writing (UAX #9). The escapes are those of
JSON (RFC 8259 section 7), so that JSON stays the same JSON.
"""

from __future__ import annotations


def visible(text: str) -> str:
    """The text on one line, with every character that cannot be printed as its escape."""
    return text if text.isprintable() else "".join(map(_show, text))


def visible_lines(text: str) -> str:
    """The same of a text of several lines: line feeds and tabs stay."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(each if each in "\n\t" else _show(each) for each in text)


def _show(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
