"""Takes out of messages what is personal, before any of it is kept.

Personal is what the contract marks, what a JSON Pointer names (``*`` for any step) and what a regular
expression finds; where a contract has marks, also what it does not describe, and what makes a message
invalid. Each value becomes one of its kind and length (``pseudonyms``), the same for as long as the
``Redactor`` is there. A body that cannot be read as the contract says is left out.
"""

from __future__ import annotations

import base64
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace as replace_fields

from emulator.rng import new_bytes
from extensions.tape.json_rewriting import JsonRewriter, Spot
from extensions.tape.marked_spots import MarkedSpot, Pointer, Replacements
from extensions.tape.pseudonyms import Pseudonyms
from rdss_sandbox.shapes.tape import TapedMessage
from schemas.contract import Contract, Part, Verdict
from schemas.personal import BodyForm, MarkedSchemas

_KEY_BYTES: Final = 32
_SEQUENCES: Final = 1_000
"""Of how many sequences parts may still come."""
_AROUND: Final = MarkedSchemas({}).place(
    [
        {
            "properties": {
                "x-sandbox-rejected": {"properties": {"code": {}, "at": {}, "machine": {}}},
                "bytes": {},
                "sha256": {},
            }
        }
    ]
)
"""What is around a message that was refused, but for its reason, which quotes values, and its address."""
_decode: Final = msgspec.json.Decoder().decode
_WRITERS: Final[tuple[Callable[[Any], bytes], ...]] = (
    msgspec.json.Encoder().encode,
    lambda value: json.dumps(value).encode(),
)


class BadRedactionError(ValueError):
    """A JSON Pointer or a regular expression is none, or nothing is asked for."""


class Redactor:
    """One for each tape. ``values`` counts what was replaced, ``left_out`` the bodies that were not kept.

    Raises ``BadRedactionError``.
    """

    def __init__(
        self, contract: Contract, pointers: Iterable[str] = (), patterns: Iterable[str] = ()
    ) -> None:
        self._contract = contract
        self._pointers = tuple(map(read_pointer, pointers))
        self._marked = contract.personal.marked
        expressions = tuple(map(_read_pattern, patterns))
        if not (self._marked or self._pointers or expressions):
            raise BadRedactionError(
                f"the contract {contract.name} marks nothing as personal: mark it in its schemas with "
                "x-sandbox: {personal: true}, or name it with a JSON Pointer or a regular expression"
            )
        key = new_bytes(_KEY_BYTES)
        self._replacements = Replacements(Pseudonyms(key), expressions, strict=self._marked)
        self._roots: dict[int, tuple[BodyForm, MarkedSpot, MarkedSpot]] = {}
        self._sequences: OrderedDict[str, dict[int, JsonRewriter]] = OrderedDict()
        self.left_out = 0

    @property
    def values(self) -> int:
        return self._replacements.count

    def redact(self, entry: TapedMessage) -> TapedMessage:
        """The message without what is personal; its body is None if that cannot be read.

        What was replaced in the body is replaced in the key and the header too.
        """
        self._replacements.begin()
        body = entry.body and self._redact_body(entry.body, entry.key)
        if entry.body and body is None:
            self.left_out += 1
        beside = self._replacements.replace_beside
        header = {
            name: beside(value) if isinstance(value, str) else value for name, value in entry.header.items()
        }
        return replace_fields(entry, body=body, key=beside(entry.key), header=header)

    def _redact_body(self, raw: bytes, key: str) -> bytes | None:
        form = self._contract.personal.form(raw, key)
        if form is None:
            return None
        verdict = self._contract.judge(raw)
        try:
            new = self._rewrite(raw, key, form, verdict)
            if verdict.valid and not self._contract.judge(new).valid:
                # What other fields depend on: of which kind it is, and values of a list.
                with self._replacements.keeping(self._contract.peek(raw, key).message_type):
                    new = self._rewrite(raw, key, form, verdict)
        except Exception:  # noqa: BLE001 -- whatever a body led a decoder to, it is not kept
            return None
        # Avro writes a number, and so a time, in as many bytes as that needs.
        return new if len(new) == len(raw) or form.decode is not None else None

    def _rewrite(self, raw: bytes, key: str, form: BodyForm, verdict: Verdict) -> bytes:
        body, headers = self._find_spots(form, verdict)
        whole = raw if self._contract.headers is None else self._contract.headers.read(raw).data
        undecorated = self._contract.undecorate(raw).data if self._contract.envelope is None else raw
        if whole is raw and undecorated is raw:
            if form.decode is not None and form.encode is not None:
                return self._rewrite_decoded(raw, form, body)
            value = _decode(raw)
            part = self._contract.peek(raw, key).part
            if part is not None and self._contract.envelope is not None:
                return self._rewrite_part(raw, part, body, self._contract.envelope.body)
            return _rewrite_quickly(raw, value, body) or _rewrite_text(raw, body)
        inside = _Inside(
            {
                "message": body,
                "x-sandbox-headers": headers,
                "text": _TextSpot(lambda text: self._rewrite_inside(text.encode(), form, body).decode()),
                "base64": _TextSpot(
                    lambda text: base64.b64encode(
                        self._rewrite_inside(base64.b64decode(text), form, body)
                    ).decode("ascii")
                ),
            },
            MarkedSpot(self._replacements, _AROUND),
        )
        return _rewrite_text(raw, inside)

    def _rewrite_inside(self, raw: bytes, form: BodyForm, body: MarkedSpot) -> bytes:
        """What is inside another text is no JSON. Raises ValueError for what is nothing else either."""
        if form.decode is None:
            raise ValueError("it is no JSON")
        return self._rewrite_decoded(raw, form, body)

    @staticmethod
    def _rewrite_decoded(raw: bytes, form: BodyForm, body: MarkedSpot) -> bytes:
        assert form.decode is not None
        assert form.encode is not None
        return form.encode(body.replace_value(form.decode(raw)))

    def _rewrite_part(self, raw: bytes, part: Part, root: MarkedSpot, name: str) -> bytes:
        """Go on where the part before ended. Raises ValueError where that has not come."""
        known = self._sequences.setdefault(part.sequence, {})
        self._sequences.move_to_end(part.sequence)
        if len(self._sequences) > _SEQUENCES:
            self._sequences.popitem(last=False)
        if part.position == 1:
            rewriter = JsonRewriter(root.below(name))
        elif part.position - 1 in known:
            rewriter = known[part.position - 1].copy()
        else:
            raise ValueError(f"part {part.position} came before part {part.position - 1}")
        new = _rewrite_text(raw, _Inside({name: _TextSpot(rewriter.rewrite)}, root))
        known[part.position] = rewriter
        return new

    def _find_spots(self, form: BodyForm, verdict: Verdict) -> tuple[MarkedSpot, MarkedSpot]:
        """The spots of a body and of the headers beside it."""
        if self._marked and not verdict.valid:
            wrong = [each.path for each in verdict.violations]
            inside = [read_pointer(path) for path in wrong if path[:1] in ("", "/")]
            beside = [read_pointer(path.partition("#")[2]) for path in wrong if path[:1] == "$"]
            return self._make_spots(form, (*self._pointers, *inside), tuple(beside))
        known = self._roots.get(id(form.body))
        if known is None:
            known = self._roots[id(form.body)] = (form, *self._make_spots(form, self._pointers, ()))
        return known[1:]

    def _make_spots(
        self, form: BodyForm, inside: tuple[Pointer, ...], beside: tuple[Pointer, ...]
    ) -> tuple[MarkedSpot, MarkedSpot]:
        return (
            MarkedSpot(self._replacements, form.body, inside),
            MarkedSpot(self._replacements, form.headers, beside),
        )


class _TextSpot(NamedTuple):
    """The place of a text in which there is another one."""

    replace_text: Callable[[str], str]

    def below(self, _name: str) -> Spot:
        raise ValueError("a text was expected")

    def item(self, _at: int) -> Spot:
        raise ValueError("a text was expected")

    def replace_name(self, name: str) -> str:
        return name

    def replace_literal(self, literal: str) -> str:
        return literal


class _Inside(NamedTuple):
    """An object around others that are known by their names."""

    named: Mapping[str, Spot]
    other: MarkedSpot

    def below(self, name: str) -> Spot:
        return self.named.get(name) or self.other.below(name)

    def item(self, at: int) -> Spot:
        return self.other.item(at)

    def replace_name(self, name: str) -> str:
        return name

    def replace_text(self, text: str) -> str:
        return self.other.replace_text(text)

    def replace_literal(self, literal: str) -> str:
        return self.other.replace_literal(literal)


def _rewrite_quickly(raw: bytes, value: Any, spot: MarkedSpot) -> bytes | None:
    """Rewrite a JSON text as one of the usual writers of JSON wrote it; None for any other."""
    for write in _WRITERS:
        if write(value) == raw:
            new = write(spot.replace_value(value))
            return new if len(new) == len(raw) else None
    return None


def _rewrite_text(raw: bytes, spot: Spot) -> bytes:
    return JsonRewriter(spot).rewrite(raw.decode()).encode()


def read_pointer(text: str) -> Pointer:
    """The steps of a JSON Pointer (RFC 6901). Raises ``BadRedactionError``."""
    if text and not text.startswith("/"):
        raise BadRedactionError(f"{text} is no JSON Pointer: one begins with /, as /customer/name")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])


def _read_pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise BadRedactionError(f"{text} is no regular expression: {error}") from None
