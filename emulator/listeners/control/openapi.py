"""Describes the control API in OpenAPI 3.1, from its routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from emulator.listeners.control.routing import JSON, Route
from rdss_sandbox.shapes.refusals import Refusal

_REFERENCES = "#/components/schemas/{name}"
_VARIABLE = re.compile(r"\{(\w+)(?::path)?\}")


def describe_api(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """The OpenAPI document of these routes."""
    routes = list(routes)
    shapes = [
        Refusal,
        *(shape for route in routes for shape in (route.answer, route.body) if _is_json(shape)),
    ]
    _, components = msgspec.json.schema_components(shapes, ref_template=_REFERENCES)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = _VARIABLE.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _describe_operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "RDSS sandbox control API", "version": version},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": _operation_id(route),
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": {
            str(int(route.status)): {"description": "Done", "content": _describe_content(route.answer)},
            "default": {"description": "Refused", "content": _describe_content(Refusal)},
        },
    }
    if route.about:
        operation["description"] = route.about
    if route.body is not None:
        operation["requestBody"] = {"content": _describe_content(route.body)}
    return operation


def _operation_id(route: Route) -> str:
    words = re.findall(r"\w+", _VARIABLE.sub(r"by_\1", route.path))
    return "_".join([route.method.lower(), *words]).replace(".", "_")


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _VARIABLE.findall(route.path)
    ]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    _, components = msgspec.json.schema_components([route.query], ref_template=_REFERENCES)
    properties = components[route.query.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]


def _describe_content(shape: Any) -> dict[str, Any]:
    if not _is_json(shape):
        return {shape: {}}
    (schema,), _ = msgspec.json.schema_components([shape], ref_template=_REFERENCES)
    return {JSON: {"schema": schema}}


def _is_json(shape: Any) -> bool:
    """Whether an answer or body is JSON; a string is the media type of one that is not."""
    return shape is not None and not isinstance(shape, str)
