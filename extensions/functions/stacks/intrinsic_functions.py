"""Intrinsic functions of templates, conditions, and what a resource refers to."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from extensions.functions.stacks.stack import BadStackError, Stack, StackResource
from extensions.functions.stacks.stack_template import Template

_NO_VALUE: Final = object()
_VARIABLE: Final = re.compile(r"\$\{(!?)([^}]*)\}")
_FUNCTION: Final = re.compile(r"Ref|Condition|Fn::\w+")


class Resolver:
    """Gives values for what a template says of a stack. ``imports`` finds an export of another stack.

    A resource that is not made yet is ``unknown``, where that is given.
    """

    def __init__(
        self,
        template: Template,
        stack: Stack,
        parameters: Mapping[str, Any],
        imports: Callable[[str], str | None],
        *,
        unknown: str = "",
    ) -> None:
        self._template = template
        self._stack = stack
        self._imports = imports
        self._unknown = unknown
        self._conditions: dict[str, bool] = {}
        self._values: dict[str, Any] = {
            **parameters,
            "AWS::AccountId": stack.account,
            "AWS::Region": stack.region,
            "AWS::StackName": stack.name,
            "AWS::StackId": stack.id,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NotificationARNs": [],
            "AWS::NoValue": _NO_VALUE,
        }
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Condition": self.holds,
            "Fn::GetAtt": self._attribute,
            "Fn::Sub": self._substitute,
            "Fn::Join": lambda given: str(given[0]).join(map(_text, self.resolve(given[1]))),
            "Fn::Select": lambda given: self.resolve(given[1])[int(self.resolve(given[0]))],
            "Fn::Split": lambda given: self.resolve(given[1]).split(given[0]),
            "Fn::FindInMap": self._find_in_map,
            "Fn::Base64": lambda given: b64encode(_text(self.resolve(given)).encode()).decode(),
            "Fn::ImportValue": self._import,
            "Fn::GetAZs": lambda given: [f"{self.resolve(given) or stack.region}{each}" for each in "abc"],
            "Fn::If": lambda given: self.resolve(given[1 if self.holds(given[0]) else 2]),
            "Fn::Equals": lambda given: _text(self.resolve(given[0])) == _text(self.resolve(given[1])),
            "Fn::Not": lambda given: not self.resolve(given[0]),
            "Fn::And": lambda given: all(map(self.resolve, given)),
            "Fn::Or": lambda given: any(map(self.resolve, given)),
        }

    def resolve(self, value: Any) -> Any:
        """The value without functions. Raises BadStackError."""
        if isinstance(value, list):
            return [each for each in map(self.resolve, value) if each is not _NO_VALUE]
        if not isinstance(value, dict):
            return value
        name = next(iter(value), "")
        if len(value) == 1 and isinstance(name, str) and _FUNCTION.fullmatch(name):
            return self._apply(name, value[name])
        resolved = {key: self.resolve(each) for key, each in value.items()}
        return {key: each for key, each in resolved.items() if each is not _NO_VALUE}

    def holds(self, name: str) -> bool:
        """Whether a condition of the template does."""
        if name not in self._conditions:
            declared = self._template.get("Conditions", {})
            if name not in declared:
                raise BadStackError(f"Template format error: Unresolved condition dependency {name}")
            self._conditions[name] = bool(self.resolve(declared[name]))
        return self._conditions[name]

    def is_wanted(self, part: Mapping[str, Any]) -> bool:
        """Whether the condition of a resource or an output holds, if it has any."""
        return "Condition" not in part or bool(self._apply("Condition", part["Condition"]))

    def _apply(self, name: str, given: Any) -> Any:
        if name not in self._functions:
            raise BadStackError(f"Template error: {name} is not in this sandbox")
        try:
            return self._functions[name](given)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            shown = json.dumps(given, default=str)
            raise BadStackError(f"Template error: {name} cannot be resolved: {shown}") from error

    def _ref(self, name: str) -> Any:
        return self._values[name] if name in self._values else self._made(name, "Ref").physical

    def _attribute(self, given: Any) -> Any:
        logical, attribute = given.split(".", 1) if isinstance(given, str) else given
        resource = self._made(logical, "Fn::GetAtt")
        attribute = self.resolve(attribute)
        if attribute in resource.attributes:
            return resource.attributes[attribute]
        if self._unknown and not resource.attributes:
            return self._unknown
        raise BadStackError(
            f"Template error: resource {logical} does not support attribute type {attribute} in Fn::GetAtt"
        )

    def _made(self, logical: str, function: str) -> StackResource:
        found = self._stack.resources.get(logical)
        if found is not None:
            return found
        if self._unknown and logical in self._template["Resources"]:
            return StackResource(type="", properties={}, physical=self._unknown)
        raise BadStackError(f"Template error: instance of {function} references undefined resource {logical}")

    def _substitute(self, given: Any) -> str:
        text, named = given if isinstance(given, list) else (given, {})

        def replace(found: re.Match[str]) -> str:
            literal, name = found[1], found[2].strip()
            if literal:
                return f"${{{name}}}"
            if name in named:
                return _text(self.resolve(named[name]))
            is_attribute = "." in name and name not in self._values
            return _text(self._attribute(name) if is_attribute else self._ref(name))

        return _VARIABLE.sub(replace, text)

    def _find_in_map(self, given: list[Any]) -> Any:
        name, first, second = map(self.resolve, given[:3])
        found = self._template["Mappings"][name].get(first, {})
        if second not in found and len(given) > 3:
            return self.resolve(given[3]["DefaultValue"])
        return found[second]

    def _import(self, given: Any) -> str:
        name = _text(self.resolve(given))
        found = self._imports(name)
        if found is None:
            raise BadStackError(f"No export named {name} found.")
        return found


def sort_resources(template: Template) -> list[str]:
    """The logical ids, each behind those that it needs. Raises BadStackError for what cannot be."""
    resources = template["Resources"]
    known = {*resources, *template.get("Parameters", {})}
    needs: dict[str, set[str]] = {}
    for logical, resource in resources.items():
        after = resource.get("DependsOn", [])
        names = {
            *([after] if isinstance(after, str) else after),
            *list_references(resource.get("Properties")),
        }
        if unknown := sorted(each for each in names - known if not each.startswith("AWS::")):
            where = "in the Resources block of the template"
            raise BadStackError(
                f"Template format error: Unresolved resource dependencies [{', '.join(unknown)}] {where}"
            )
        needs[logical] = {each for each in names if each in resources}
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = ", ".join(sorted(set(error.args[1])))
        raise BadStackError(f"Circular dependency between resources: [{circle}]") from error


def list_references(value: Any) -> Iterator[str]:
    """The names that Ref, Fn::GetAtt and Fn::Sub have in a value."""
    if isinstance(value, list):
        for each in value:
            yield from list_references(each)
    elif isinstance(value, dict):
        for name, given in value.items():
            if name == "Ref" and isinstance(given, str):
                yield given
            elif name == "Fn::GetAtt" and given:
                yield str(given[0]) if isinstance(given, list) else str(given).partition(".")[0]
            else:
                text, named = given if name == "Fn::Sub" and _is_pair(given) else (given, {})
                if name == "Fn::Sub" and isinstance(text, str):
                    names = (each[2].strip() for each in _VARIABLE.finditer(text) if not each[1])
                    yield from (each.partition(".")[0] for each in names if each not in named)
                yield from list_references(given)


def _is_pair(given: Any) -> bool:
    return isinstance(given, list) and len(given) == 2 and isinstance(given[1], dict)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
