"""Templates of CloudFormation: read from YAML or JSON, transformed by SAM, with their parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import yaml

from extensions.functions.stacks.resource_types import TYPES
from extensions.functions.stacks.stack import BadStackError, TransformFailedError
from rdss_sandbox.machine.installation import explain_missing

_SAM: Final = "AWS::Serverless-2016-10-31"
_SECTIONS: Final = re.compile(
    "AWSTemplateFormatVersion|Description|Metadata|Parameters|Rules|Mappings|Conditions|Transform|Globals"
    "|Resources|Outputs|Hooks"
)
_JSON: Final = re.compile(r'\s*\{\s*"')
_OF_OBJECTS: Final = ("Resources", "Parameters", "Mappings", "Outputs")
_FROM_SSM: Final = "AWS::SSM::Parameter::Value<"
_NO_PREFIX: Final = ("Ref", "Condition")
Template = dict[str, Any]


class _Loader(yaml.SafeLoader):
    """YAML as CloudFormation reads it: short forms of functions, dates as texts, no aliases."""

    yaml_implicit_resolvers = {  # noqa: RUF012 -- as in its base
        first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise BadStackError("Template error: YAML aliases are not allowed in CloudFormation templates")
        return super().compose_node(parent, index)


def _construct(loader: _Loader, name: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        value = value.split(".", 1) if name == "GetAtt" else value
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]
    return {name if name in _NO_PREFIX else f"Fn::{name}": value}


_Loader.add_multi_constructor("!", _construct)


def read_template(text: str) -> Template:
    """Raises BadStackError for a text that is no template."""
    found = _parse(text)
    if not isinstance(found, dict):
        raise BadStackError("Template format error: unsupported structure.")
    if wrong := [str(each) for each in found if not _SECTIONS.fullmatch(str(each))]:
        raise BadStackError(f"Invalid template property or properties [{', '.join(wrong)}]")
    if not found.get("Resources"):
        raise BadStackError("Template format error: At least one Resources member must be defined.")
    for section in (each for each in _OF_OBJECTS if each in found):
        entries = found[section]
        if not isinstance(entries, dict) or not all(isinstance(each, dict) for each in entries.values()):
            raise BadStackError(f"Template format error: Every {section} member must be an object.")
    for logical, resource in found["Resources"].items():
        where = f"Template format error: [/Resources/{logical}"
        if not isinstance(resource.get("Type"), str):
            raise BadStackError(f"{where}] Every Resources object must contain a Type member.")
        if not isinstance(resource.get("Properties", {}), dict):
            raise BadStackError(f"{where}/Properties] Properties must be an object.")
    return found


def _parse(text: str) -> Any:
    try:
        return json.loads(text) if _JSON.match(text) else yaml.load(text, _Loader)  # noqa: S506
    except json.JSONDecodeError as error:
        where = f"(line {error.lineno}, column {error.colno})"
        raise BadStackError(f"Template format error: JSON not well-formed. {where}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise BadStackError(f"Template format error: YAML not well-formed.{where}") from error


def check_types(template: Template) -> None:
    """Raises BadStackError for resources of other types than those that are here."""
    given = dict.fromkeys(each["Type"] for each in template["Resources"].values())
    if unknown := [each for each in given if each not in TYPES]:
        raise BadStackError(f"Template format error: Unrecognized resource types: [{', '.join(unknown)}]")


def list_transforms(template: Template) -> list[str]:
    """The transforms that a template asks for. Raises BadStackError for one that is not here."""
    given = template.get("Transform", [])
    names = given if isinstance(given, list) else [given]
    for each in names:
        if each != _SAM:
            raise BadStackError(f"No transform named {each} found.")
    return names


def transform(template: Template, parameters: Mapping[str, Any], session: Any) -> Template:
    """The template without what is SAM's. ``session`` is boto3's, for the region. Raises BadStackError."""
    if not list_transforms(template):
        return template
    try:
        from samtranslator.model.exceptions import InvalidDocumentException
        from samtranslator.parser.parser import Parser
        from samtranslator.translator.translator import Translator
    except ModuleNotFoundError as error:
        raise TransformFailedError(
            f"Transform {_SAM} failed with: {explain_missing(error) or error}"
        ) from error
    try:
        translator = Translator(None, Parser(), boto_session=session)
        translated: Template = translator.translate(template, dict(parameters), get_managed_policy_map=dict)
    except InvalidDocumentException as error:
        causes = " ".join([error.message, *(each.message for each in error.causes)])
        raise TransformFailedError(f"Transform {_SAM} failed with: {causes}") from error
    translated.pop("Transform", None)
    return read_template(json.dumps(translated))


def check_capabilities(template: Template, given: Sequence[str]) -> None:
    """Raises BadStackError where a template makes what its user has not acknowledged."""
    kinds = [each for each in template["Resources"].values() if each["Type"].startswith("AWS::IAM::")]
    named = any({"RoleName", "ManagedPolicyName"} & each.get("Properties", {}).keys() for each in kinds)
    enough = {"CAPABILITY_NAMED_IAM"} if named else {"CAPABILITY_NAMED_IAM", "CAPABILITY_IAM"}
    if kinds and not enough & set(given):
        wanted = "CAPABILITY_NAMED_IAM" if named else "CAPABILITY_IAM"
        raise BadStackError(f"Requires capabilities : [{wanted}]", "InsufficientCapabilitiesException")


def choose_parameters(
    template: Template, given: Sequence[Mapping[str, Any]], previous: Mapping[str, str]
) -> dict[str, str]:
    """The texts of a template's parameters, by what a request gives. Raises BadStackError."""
    declared: dict[str, dict[str, Any]] = template.get("Parameters", {})
    asked = {each.get("ParameterKey", ""): each for each in given}
    if unknown := [each for each in asked if each not in declared]:
        raise BadStackError(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    found: dict[str, str] = {}
    for name, declaration in declared.items():
        if asked.get(name, {}).get("UsePreviousValue"):
            found[name] = previous.get(name, "")
        elif "ParameterValue" in asked.get(name, {}):
            found[name] = asked[name]["ParameterValue"]
        elif "Default" in declaration:
            found[name] = _as_text(declaration["Default"])
    if missing := [each for each in declared if each not in found]:
        raise BadStackError(f"Parameters: [{', '.join(missing)}] must have values")
    for name, value in found.items():
        _check_parameter(name, value, declared[name])
    return found


def _check_parameter(name: str, value: str, declaration: Mapping[str, Any]) -> None:
    said = declaration.get("ConstraintDescription")
    allowed = [_as_text(each) for each in declaration.get("AllowedValues", ())]
    pattern = declaration.get("AllowedPattern")
    if allowed and value not in allowed:
        why = said or f"must be one of AllowedValues: [{', '.join(allowed)}]"
    elif pattern and not _fits(pattern, value):
        why = said or f"must match pattern {pattern}"
    elif declaration.get("Type") == "Number" and not re.fullmatch(r"-?\d+(\.\d+)?", value):
        why = "must be a number"
    else:
        return
    raise BadStackError(f"Parameter '{name}' {'failed to satisfy constraint: ' if said else ''}{why}")


def read_parameters(
    template: Template, chosen: Mapping[str, str], fetch: Callable[[str], str]
) -> dict[str, Any]:
    """What Ref of each parameter is: a text or a list. ``fetch`` gets a value of SSM by its name."""
    found: dict[str, Any] = {}
    for name, declaration in template.get("Parameters", {}).items():
        kind = str(declaration.get("Type", "String"))
        value = fetch(chosen[name]) if kind.startswith(_FROM_SSM) else chosen[name]
        found[name] = value.split(",") if "List<" in kind or kind == "CommaDelimitedList" else value
    return found


def _fits(pattern: Any, value: str) -> bool:
    try:
        return re.fullmatch(str(pattern), value) is not None
    except re.error as error:
        raise BadStackError(f"Template format error: {pattern} is no regular expression: {error}") from error


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
