"""Describes the control API in OpenAPI 3.1, from the declarations of its endpoints."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from emulator.listeners.control.faults import ATTRIBUTES
from rdss_sandbox.api.control_api import SUBJECTS
from rdss_sandbox.api.endpoint import JSON, Endpoint, Parameter, list_endpoints
from rdss_sandbox.api.faults import Faults
from rdss_sandbox.shapes.refusals import Refusal

Described: TypeAlias = Endpoint[..., Any, Any, Any]
Schema: TypeAlias = Mapping[str, Any]

USUAL_URL: Final = "http://127.0.0.1:4570"
_REFERENCES: Final = "#/components/schemas/{name}"
_VARIABLE = re.compile(r"\{(\w+)(?::path)?\}")
NOTES: Final[Mapping[Described, str]] = {Faults.add_fault: ATTRIBUTES, Faults.change_fault: ATTRIBUTES}
"""What only the emulator knows of an endpoint."""


def describe_api(
    endpoints: Iterable[Described], version: str, url: str = USUAL_URL, notes: Mapping[Described, str] = NOTES
) -> dict[str, Any]:
    """The OpenAPI document of these endpoints, with samples of calls to ``url``."""
    chosen_endpoints = set(endpoints)
    listed = [
        (subject, each)
        for subject in SUBJECTS
        for each in list_endpoints(subject)
        if each in chosen_endpoints
    ]
    shapes = [
        Refusal,
        *(endpoint.shape for _, endpoint in listed if endpoint.media_type == JSON),
        *(endpoint.body.type for _, endpoint in listed if endpoint.body),
    ]
    _, schemas = msgspec.json.schema_components(shapes, ref_template=_REFERENCES)
    for schema in schemas.values():
        schema["description"] = inspect.cleandoc(schema["description"])
    paths: dict[str, dict[str, Any]] = {}
    for subject, endpoint in listed:
        operation = {"tags": [_title(subject)], **_describe_operation(endpoint, notes.get(endpoint, ""))}
        python = f"{SUBJECTS[subject]}.{endpoint.name}({_list_arguments(endpoint)})"
        operation["x-codeSamples"] = [
            {"lang": "Shell", "source": _write_curl(endpoint, url)},
            {"lang": "Python", "source": python},
        ]
        paths.setdefault(_VARIABLE.sub(r"{\1}", endpoint.path), {})[endpoint.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "RDSS sandbox control API", "version": version},
        "tags": [
            {"name": _title(subject), "description": inspect.getdoc(subject)}
            for subject in dict.fromkeys(subject for subject, _ in listed)
        ],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _title(subject: type) -> str:
    """``AuditLog`` as ``Audit log``."""
    return re.sub(r"(?<=[a-z])([A-Z])", r" \1", subject.__name__).capitalize()


def _describe_operation(endpoint: Described, note: str) -> dict[str, Any]:
    summary, _, about = (inspect.getdoc(endpoint.declared) or "").partition("\n\n")
    words = re.findall(r"\w+", _VARIABLE.sub(r"by_\1", endpoint.path))
    operation: dict[str, Any] = {
        "summary": " ".join(summary.split()),
        "operationId": "_".join([endpoint.method.lower(), *words]),
        "parameters": [
            *(_describe_parameter(each, "path") for each in endpoint.variables),
            *(_describe_parameter(each, "query") for each in endpoint.query),
        ],
        "responses": _describe_answers(endpoint),
    }
    if description := "\n\n".join(filter(None, (about, note))):
        operation["description"] = description
    if body := endpoint.body:
        required = body.default is msgspec.NODEFAULT
        content = {"schema": _describe(body.type)}
        if required:
            content["example"] = make_sample(body.type)
        operation["requestBody"] = {"required": required, "content": {JSON: content}}
    return operation


def _describe_parameter(parameter: Parameter, place: str) -> dict[str, Any]:
    required = parameter.default is msgspec.NODEFAULT
    schema = _describe(parameter.type)
    if not required and parameter.default is not None:
        schema["default"] = parameter.default
    return {"name": parameter.sent_as, "in": place, "required": required, "schema": schema}


def _describe_answers(endpoint: Described) -> dict[str, Any]:
    content: dict[str, Any] = {endpoint.media_type: {}}
    if endpoint.media_type == JSON:
        content[JSON] = {"schema": _describe(endpoint.shape)}
    if endpoint.live:
        content["text/event-stream"] = {}
    refused = {JSON: {"schema": _describe(Refusal)}}
    answers: dict[str, Any] = {str(endpoint.status): {"description": "Done", "content": content}}
    for status in sorted({*endpoint.errors.values()}):
        codes = ", ".join(code for code, each in endpoint.errors.items() if each == status)
        answers[str(status)] = {"description": codes, "content": refused}
    return {**answers, "default": {"description": "Refused", "content": refused}}


def _describe(type_: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([type_], ref_template=_REFERENCES)
    return schema


def _list_arguments(endpoint: Described) -> str:
    _, *parameters = inspect.signature(endpoint.declared).parameters.values()
    return ", ".join(each.name for each in parameters if each.default is each.empty)


def _write_curl(endpoint: Described, url: str) -> str:
    path = _VARIABLE.sub(lambda found: found[1].upper(), endpoint.path)
    method = [] if endpoint.method == "GET" else ["-X", endpoint.method]
    body = []
    if endpoint.body and endpoint.body.default is msgspec.NODEFAULT:
        body = ["-d", msgspec.json.encode(make_sample(endpoint.body.type)).decode()]
    return shlex.join(["curl", *method, f"{url}{path}", *body])


def make_sample(type_: Any) -> Any:
    """The least that a body of this type has in it, with the examples that its fields give."""
    (schema,), schemas = msgspec.json.schema_components([type_], ref_template=_REFERENCES)
    return _make_sample(schema, schemas)


def _make_sample(schema: Schema, schemas: Mapping[str, Schema]) -> Any:
    if reference := schema.get("$ref"):
        return _make_sample(schemas[reference.rpartition("/")[2]], schemas)
    if examples := [*schema.get("examples", ()), *schema.get("enum", ())]:
        return examples[0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: _make_sample(properties[name], schemas) for name in schema.get("required", ())}
        case "array":
            return [_make_sample(schema["items"], schemas)] if schema.get("items") else []
        case "integer" | "number":
            return schema.get("minimum", 1)
    return "..."
