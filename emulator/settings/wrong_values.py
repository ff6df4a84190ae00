"""What is wrong with a value that a shape of msgspec refuses: its path, and a sentence for people."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

Step = str | int

_WHERE: Final = re.compile(r"(.*?)(?: - at `(?:key in )?\$(.*)`)?", re.DOTALL)
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`")
_MISSING: Final = re.compile(r"Object missing required field `(.*)`")
_EXPECTED: Final = re.compile(r"[Ee]xpected `(\w+)(?: \| (\w+))?`, got `.*`")
_BOUND: Final = re.compile(r"Expected `\w+` ([<>])= ([-\d.]+)")
_NOT_AMONG: Final = re.compile(r"Invalid enum value .*")
_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
}
_MOST_SHOWN: Final = 200
_OBJECTS: Final = (msgspec.inspect.StructType, msgspec.inspect.DataclassType)


def explain_value(
    error: msgspec.ValidationError, given: Any, shape: Any, *, whole: str = "it", objects: str = "a table"
) -> tuple[tuple[Step, ...], str]:
    """Where ``given`` is not of this shape, and the sentence that says why.

    ``whole`` is the name of ``given`` itself, and ``objects`` what an object is called where it was written.
    """
    found = _WHERE.fullmatch(str(error))
    assert found is not None
    what, at = found[1], found[2] or ""
    path: list[Step] = [name or int(number) for name, number in _STEP.findall(at.partition("[...]")[0])]
    if unknown := _UNKNOWN.fullmatch(what):
        return (*path, unknown[1]), describe_unknown_key(unknown[1], _keys(shape, path))
    name = ".".join(str(step) for step in path)
    if missing := _MISSING.fullmatch(what):
        return tuple(path), f"{f'{name} has ' if name else 'there is '}no {missing[1]}; give one"
    demand = _demand(what, shape, path, objects)
    if "[...]" in at:
        # msgspec does not say under which key.
        return tuple(path), f"a value in {name or whole}: {demand}"
    value = given
    for step in path:
        value = value[step]
    shown = "empty" if value is None else repr(value)
    shown = shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}..."
    return tuple(path), f"{name or whole} is {shown}: {demand}"


def describe_unknown_key(name: str, keys: tuple[str, ...]) -> str:
    """Describe an unknown key, with the known one that is like it."""
    from difflib import get_close_matches

    close = get_close_matches(name, keys, 1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return f"there is no key {name!r}{meant}; there are: {', '.join(keys)}"


def _demand(what: str, shape: Any, path: list[Step], objects: str) -> str:
    """What the value must be, for what msgspec says of it."""
    if _NOT_AMONG.fullmatch(what) and (choices := _choices(shape, path)):
        return f"it is one of {', '.join(map(str, choices))}"
    kinds = {**_KINDS, "object": objects}
    if (kind := _EXPECTED.fullmatch(what)) and kind[1] in kinds:
        return "it is " + " or ".join(kinds[each] for each in kind.groups() if each in kinds)
    if bound := _BOUND.fullmatch(what):
        return f"it is {bound[2]} at {'least' if bound[1] == '>' else 'most'}"
    return what[:1].lower() + what[1:]


def _keys(shape: Any, path: list[Step]) -> tuple[str, ...]:
    """The names that an object at this path of the shape can have."""
    kind = _kind(shape, path)
    return tuple(each.encode_name for each in kind.fields) if isinstance(kind, _OBJECTS) else ()


def _choices(shape: Any, path: list[Step]) -> tuple[object, ...]:
    """The values that there are at this path of the shape."""
    kind = _kind(shape, path)
    if isinstance(kind, msgspec.inspect.UnionType):
        return tuple(each for one in kind.types for each in _values(one))
    return _values(kind)


def _values(kind: Any) -> tuple[object, ...]:
    if isinstance(kind, msgspec.inspect.EnumType):
        return tuple(each.value for each in kind.cls)
    return tuple(kind.values) if isinstance(kind, msgspec.inspect.LiteralType) else ()


def _kind(shape: Any, path: list[Step]) -> Any:
    kind: Any = msgspec.inspect.type_info(shape)
    for step in [*path, None]:
        if isinstance(kind, msgspec.inspect.UnionType):
            within = (*_OBJECTS, msgspec.inspect.VarTupleType)
            kind = next((each for each in kind.types if isinstance(each, within)), kind)
        if isinstance(kind, _OBJECTS) and step is not None:
            kind = next(each.type for each in kind.fields if each.encode_name == step)
        elif isinstance(kind, msgspec.inspect.VarTupleType):
            kind = kind.item_type
        if isinstance(kind, msgspec.inspect.Metadata):
            kind = kind.type
    return kind
