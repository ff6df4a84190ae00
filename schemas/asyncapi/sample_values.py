"""Values from a seed that a JSON Schema accepts, or an Avro schema.

jsonschema-rs brings a JSON Schema into a form in which what holds together is merged: conditions, unions and
exclusions are alternatives there, each with its own bounds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, Final

import jsonschema_rs
from jsonschema_rs import canonical as views

from schemas.asyncapi.sample_texts import CannotDrawError, draw_match, draw_text, draw_words

_DEEP: Final = 5
"""From this depth on, what need not be there is left out."""
_DEEPEST: Final = 24
_TRIES: Final = 20
_WIDE: Final = 1_000


class ValueMaker:
    """Draws values of a schema that ``json_schemas.bundle`` made.

    Raises CannotDrawError where it accepts nothing, or nothing that was found. What comes of patterns that
    look around, and of a few rare keywords, may be refused by a validator: ask it.
    """

    def __init__(self, schema: dict[str, Any] | bool) -> None:
        try:
            self._root = jsonschema_rs.canonicalize(schema, validate_formats=True, offline=True)
        except ValueError as error:
            raise CannotDrawError(str(error)) from None

    def draw(self, draws: Random) -> Any:
        return _Drawing(draws).draw(self._root, 0)


class _Drawing:
    def __init__(self, draws: Random) -> None:
        self._draws = draws

    def draw(self, schema: jsonschema_rs.CanonicalSchema, depth: int) -> Any:
        if depth > _DEEPEST:
            raise CannotDrawError("the schema demands values in each other without an end")
        view = schema.view()
        way = _WAYS.get(type(view))
        if way is None:
            raise CannotDrawError(f"a schema of the kind {schema.kind} accepts nothing that can be drawn")
        return way(self, view, schema, depth)

    def draw_words(self) -> str:
        return draw_words(self._draws, 1, None)

    def draw_choice(self, values: list[Any]) -> Any:
        return self._draws.choice(values)

    def draw_type(self, types: list[str]) -> Any:
        kind = next((each for each in ("string", "integer", "number", "boolean") if each in types), types[0])
        if kind == "string":
            return draw_words(self._draws, 1, None)
        if kind == "boolean":
            return self._draws.random() < 0.5
        plain: dict[str, Any] = {"null": None, "object": {}, "array": []}
        return plain[kind] if kind in plain else self._draws.randint(0, _WIDE)

    def draw_string(self, view: views.StringView) -> str:
        barred = set(view.excluded)
        return draw_text(
            self._draws,
            view.min_length or 0,
            view.max_length,
            patterns=view.patterns,
            formats=view.formats,
            rejects=barred.__contains__,
        )

    def draw_real(self, view: views.NumberView) -> Any:
        if view.multiple_of or view.not_multiple_of:
            low = view.minimum if view.minimum is None else Decimal(str(view.minimum))
            high = view.maximum if view.maximum is None else Decimal(str(view.maximum))
            return self._draw_number(
                low, high, view.multiple_of or [Decimal("0.5")], view.not_multiple_of, whole=False
            )
        low, high = _window(view.minimum, view.maximum)
        for _ in range(_TRIES):
            value = float(low) + (float(high) - float(low)) * self._draws.random()
            rounded = round(value, 2)
            drawn = rounded if float(low) < rounded < float(high) else value
            if (
                math.isfinite(drawn)
                and (float(low) < drawn < float(high))
                and not (view.excludes_integers and drawn.is_integer())
            ):
                return drawn
        if not view.exclusive_minimum and not view.excludes_integers:
            return _plain(low)
        raise CannotDrawError("no number was found within the bounds")

    def draw_integer(self, view: views.IntegerView) -> int:
        number = self._draw_number(
            view.minimum, view.maximum, view.multiple_of or [1], view.not_multiple_of, whole=True
        )
        return int(number)

    def _draw_number(self, least: Any, most: Any, steps: list[Any], barred: list[Any], *, whole: bool) -> Any:
        """A multiple of all steps and of none that are barred, within the bounds."""
        step = Fraction(1)
        for each in map(_fraction, steps):
            step = Fraction(
                math.lcm(step.numerator * each.denominator, each.numerator * step.denominator),
                step.denominator * each.denominator,
            )
        low, high = _window(least, most)
        first, last = math.ceil(Fraction(low) / step), math.floor(Fraction(high) / step)
        for _ in range(_TRIES if last >= first else 0):
            value = self._draws.randint(first, last) * step
            if not any((value / _fraction(each)).denominator == 1 for each in barred):
                return int(value) if whole or value.denominator == 1 else float(value)
        raise CannotDrawError("no number was found within the bounds")

    def draw_array(self, view: views.ArrayView, depth: int) -> list[Any]:
        least = view.min_items or 0
        room = least + 3 if view.max_items is None else view.max_items
        count = least if depth >= _DEEP else self._draws.randint(least, max(least, min(room, least + 3)))
        made: list[Any] = []
        for contained in view.contains:
            for _ in range(contained.min_contains if contained.min_contains is not None else 1):
                self._append(made, self._both(self._item(view, len(made)), contained.schema), view, depth)
        while len(made) < count:
            try:
                self._append(made, self._item(view, len(made)), view, depth)
            except CannotDrawError:
                if len(made) < least:
                    raise
                break
        return made

    @staticmethod
    def _item(view: views.ArrayView, at: int) -> jsonschema_rs.CanonicalSchema | None:
        return view.prefix_items[at] if at < len(view.prefix_items) else view.items

    @staticmethod
    def _both(
        one: jsonschema_rs.CanonicalSchema | None, other: jsonschema_rs.CanonicalSchema
    ) -> jsonschema_rs.CanonicalSchema:
        return other if one is None else one.intersect(other)

    def _append(self, made: list[Any], schema: Any, view: views.ArrayView, depth: int) -> None:
        """Draw an item, unlike the others where they have to be."""
        unlike = view.distinctness == views.Distinctness.ALL_DISTINCT
        known: set[str] = {_compare(each) for each in made} if unlike else set()
        for _ in range(_TRIES):
            item = draw_words(self._draws, 1, None) if schema is None else self.draw(schema, depth + 1)
            if _compare(item) not in known:
                made.append(item)
                return
        raise CannotDrawError("there are too few items that differ")

    def draw_object(self, view: views.ObjectView, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        most = math.inf if view.max_properties is None else view.max_properties
        names = [*view.properties, *(name for name in view.required if name not in view.properties)]
        missing = sum(1 for name in view.required)
        for name in names:
            needed = name in view.required
            if not needed and (depth >= _DEEP or len(made) + missing >= most or self._draws.random() < 0.4):
                continue
            missing -= needed
            try:
                made[name] = self._draw_property(view, name, depth)
            except CannotDrawError:
                if needed:
                    raise
        for _ in range(_TRIES * (view.min_properties or 0)):
            if len(made) >= (view.min_properties or 0):
                break
            name = self._draw_name(view)
            made.setdefault(name, self._draw_property(view, name, depth))
        return made

    def _draw_property(self, view: views.ObjectView, name: str, depth: int) -> Any:
        schema = view.properties.get(name)
        if schema is None:
            matching = [each for pattern, each in view.pattern_properties.items() if _found(pattern, name)]
            schema = matching[0] if matching else view.additional_properties
            for each in matching[1:]:
                schema = schema.intersect(each) if schema else each
        return draw_words(self._draws, 1, None) if schema is None else self.draw(schema, depth + 1)

    def _draw_name(self, view: views.ObjectView) -> str:
        """A name beyond those that are declared."""
        if view.property_names is not None:
            name = self.draw(view.property_names, _DEEP)
            if isinstance(name, str):
                return name
        if view.pattern_properties:
            return draw_match(self._draws, self._draws.choice(list(view.pattern_properties)))
        return f"{draw_words(self._draws, 1, 10)}{self._draws.randint(1, 99)}".replace(" ", "_")

    def draw_branch(self, branches: list[jsonschema_rs.CanonicalSchema], depth: int) -> Any:
        """Draw from an alternative: one that says something before those that only name types."""
        order = self._draws.sample(branches, len(branches))
        order.sort(key=lambda each: isinstance(each.view(), views.MultiTypeView))
        if depth >= _DEEP:
            order.sort(key=lambda each: isinstance(each.view(), views.ReferenceView | views.AllOfView))
        for branch in order:
            try:
                return self.draw(branch, depth + 1)
            except CannotDrawError:
                continue
        raise CannotDrawError("no alternative could be drawn")

    def draw_target(self, schema: jsonschema_rs.CanonicalSchema, uri: str, depth: int) -> Any:
        target = schema.definition(uri)
        if target is None:
            raise CannotDrawError(f"{uri} leads nowhere")
        return self.draw(target, depth + 1)

    def draw_all(self, branches: list[jsonschema_rs.CanonicalSchema], depth: int) -> Any:
        """Draw from what holds together, references put in."""
        merged: jsonschema_rs.CanonicalSchema | None = None
        for branch in branches:
            view = branch.view()
            target = branch.definition(view.uri) if isinstance(view, views.ReferenceView) else branch
            merged = target if merged is None or target is None else merged.intersect(target)
        if merged is None:
            raise CannotDrawError("a reference leads nowhere")
        if isinstance(merged.view(), views.AllOfView):
            return self.draw(branches[0], depth + 1)
        return self.draw(merged, depth + 1)


_WAYS: Final[Mapping[type, Callable[[_Drawing, Any, jsonschema_rs.CanonicalSchema, int], Any]]] = {
    views.TrueView: lambda drawing, _view, _schema, _depth: drawing.draw_words(),
    views.ConstView: lambda _drawing, view, _schema, _depth: _plain(view.value),
    views.EnumView: lambda drawing, view, _schema, _depth: _plain(drawing.draw_choice(view.values)),
    views.MultiTypeView: lambda drawing, view, _schema, _depth: drawing.draw_type(view.types),
    views.StringView: lambda drawing, view, _schema, _depth: drawing.draw_string(view),
    views.IntegerView: lambda drawing, view, _schema, _depth: drawing.draw_integer(view),
    views.NumberView: lambda drawing, view, _schema, _depth: drawing.draw_real(view),
    views.ArrayView: lambda drawing, view, _schema, depth: drawing.draw_array(view, depth),
    views.ObjectView: lambda drawing, view, _schema, depth: drawing.draw_object(view, depth),
    views.AnyOfView: lambda drawing, view, _schema, depth: drawing.draw_branch(view.branches, depth),
    views.OneOfView: lambda drawing, view, _schema, depth: drawing.draw_branch(view.branches, depth),
    views.AllOfView: lambda drawing, view, _schema, depth: drawing.draw_all(view.branches, depth),
    views.TypedGroupView: lambda drawing, view, _schema, depth: drawing.draw(view.body, depth + 1),
    views.ReferenceView: lambda drawing, view, schema, depth: drawing.draw_target(schema, view.uri, depth),
    views.NotView: lambda drawing, _view, _schema, _depth: drawing.draw_choice(["x", 1, True, None, {}, []]),
}
"""How a value is drawn of each kind of schema."""


def _found(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _window(least: Any, most: Any) -> tuple[Any, Any]:
    """Bounds that are near each other where one is open."""
    if least is None and most is None:
        return 0, _WIDE
    low = most - _WIDE if least is None else least
    return low, (least + _WIDE if most is None else most)


def _fraction(number: Any) -> Fraction:
    return Fraction(str(number))


def _compare(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
