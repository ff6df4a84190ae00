"""Makes, changes and deletes the resources of stacks, by calls of boto3 to the services of the sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import Event
from typing import Any, Final

from emulator.kinesis import Scope
from emulator.rng import new_uuid
from extensions.functions.stacks.resource_types import TYPES, Call, Properties, ResourceType
from extensions.functions.stacks.stack import Stack, StackResource

_LOOK_SECONDS: Final = 0.05
_NOT_FOUND: Final = 404
_GONE: Final = ("NotFound", "NoSuch", "NonExistent", "DoesNotExist")
_SUFFIX: Final = 12
_PAIRS: Final = (("Key", "Value"), ("FunctionVersion", "FunctionWeight"))
"""The members of CloudFormation's lists for what is a map in an API."""


class ResourceFailedError(Exception):
    """A resource could not be brought about. The text is CloudFormation's reason."""


class StoppingError(Exception):
    """The sandbox ends, and what is under way is left to the next process."""


class ResourceMaker:
    """Talks to services by clients of boto3 that ``new_client`` makes, until ``stopping`` is set."""

    def __init__(self, new_client: Callable[[str, Scope], Any], stopping: Event) -> None:
        self.client = lru_cache(maxsize=64)(new_client)
        self._stopping = stopping

    def check(self, stack: Stack, logical: str, kind: ResourceType, properties: Properties) -> None:
        """Raises ResourceFailedError for properties that the type has not, or lacks."""
        if not kind.service:
            return
        shapes = [self._shape(stack, kind, call) for call in (*kind.create, *kind.update)]
        others = {name for name, form in kind.keys.items() if f"{{{kind.named}}}" in form} - {kind.named}
        known = {*kind.more.split(), kind.named, *(name for shape in shapes for name in shape.members)}
        wrong = [
            f"#: extraneous key [{each}] is not permitted"
            for each in properties
            if each not in known - others
        ]
        given = self._arguments(stack, kind, kind.create[0], _facts(stack, properties), {}) or {}
        wrong += [
            f"#: required key [{each}] not found" for each in shapes[0].required_members if each not in given
        ]
        if wrong:
            said = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
            text = f"Properties validation failed for resource {logical} with message:"
            raise ResourceFailedError(f"{text}\n{said}")

    def create(self, stack: Stack, resource: StackResource, keep: Callable[[], None]) -> None:
        """Make it, note its id, keys and attributes, and ``keep`` them. Raises ResourceFailedError."""
        kind = TYPES[resource.type]
        facts = _facts(stack, resource.properties)
        if kind.taken and self._is_there(stack, kind, kind.taken, facts):
            raise _failed(f"{facts[kind.named]} already exists", "AlreadyExists")
        for call in kind.create:
            answer = self._call(stack, kind, call, facts, keys=resource.keys)
            if not resource.physical:
                facts = {**_list_texts(answer), **facts}
                _note(kind, resource, facts)
                keep()
            self._settle(stack, kind, resource)
        if not kind.create:
            _note(kind, resource, facts)

    def update(self, stack: Stack, resource: StackResource, before: Properties) -> None:
        """Give it its properties, which were those of ``before``. Raises ResourceFailedError."""
        kind = TYPES[resource.type]
        old, now = _facts(stack, before), _facts(stack, resource.properties)
        now = {**{name: value for name, value in kind.defaults.items() if name in old}, **now}
        for call in kind.update:
            given = self._arguments(stack, kind, call, now, old)
            if given != self._arguments(stack, kind, call, old, {}):
                self._settle(stack, kind, resource)
                self._call(stack, kind, call, now, old, keys=resource.keys)
        self._settle(stack, kind, resource)

    def delete(self, stack: Stack, resource: StackResource) -> None:
        """Delete it, if it is still there. Raises ResourceFailedError."""
        kind = TYPES[resource.type]
        if kind.delete is None:
            return
        try:
            self._settle(stack, kind, resource)
            self._call(stack, kind, kind.delete, {}, keys=resource.keys)
            self._settle(stack, kind, resource)  # until there is none
        except ResourceFailedError as error:
            if not _is_missing(error.__cause__):
                raise

    def _is_there(self, stack: Stack, kind: ResourceType, call: Call, facts: Properties) -> bool:
        try:
            self._call(stack, kind, call, facts, keys={})
        except ResourceFailedError:
            return False
        return True

    def _shape(self, stack: Stack, kind: ResourceType, call: Call) -> Any:
        meta = self.client(kind.service, stack.scope).meta
        return meta.service_model.operation_model(meta.method_to_api_mapping[call.operation]).input_shape

    def _arguments(
        self, stack: Stack, kind: ResourceType, call: Call, now: Properties, before: Properties, /
    ) -> dict[str, Any] | None:
        """What a call is given of properties; None for no call. Raises ResourceFailedError."""
        try:
            given = call.arguments(now, before)
            shaped: dict[str, Any] | None = _shaped(given, self._shape(stack, kind, call))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _failed(f"Model validation failed: {error}", "InvalidRequest") from error
        return shaped

    def _call(
        self,
        stack: Stack,
        kind: ResourceType,
        call: Call,
        now: Properties,
        before: Properties | None = None,
        *,
        keys: Mapping[str, str],
    ) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        given = self._arguments(stack, kind, call, now, before or {})
        if given is None:
            return {}
        known = self._shape(stack, kind, call).members
        arguments = {**given, **{name: value for name, value in keys.items() if name in known}}
        try:
            made: dict[str, Any] = getattr(self.client(kind.service, stack.scope), call.operation)(
                **arguments
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            raise _failed(error.response["Error"].get("Message", code), code) from error
        except BotoCoreError as error:
            raise _failed(str(error), "InvalidRequest") from error
        return made

    def _settle(self, stack: Stack, kind: ResourceType, resource: StackResource) -> None:
        """Wait until it is in no transition. Raises ResourceFailedError and StoppingError."""
        while kind.settled is not None:
            operation, way, states = kind.settled
            state: Any = self._call(stack, kind, Call(operation), {}, keys=resource.keys)
            for name in way:
                state = state[name]
            if state in states:
                return
            # How long it lasts is the service's business, and may be the clock's.
            if self._stopping.wait(_LOOK_SECONDS):
                raise StoppingError


def make_up_name(stack: Stack, logical: str, kind: ResourceType) -> str:
    """A name as CloudFormation makes it up: of the stack, the resource, and chance."""
    room = (kind.longest - _SUFFIX - 2) // 2
    name = f"{stack.name[:room]}-{logical[:room]}-{new_uuid().replace('-', '')[:_SUFFIX].upper()}"
    return name.lower() if kind.service == "s3" else name


def _note(kind: ResourceType, resource: StackResource, facts: Properties) -> None:
    try:
        resource.keys = {name: form.format_map(facts) for name, form in kind.keys.items()}
        resource.attributes = {name: form.format_map(facts) for name, form in kind.attributes.items()}
        resource.physical = kind.physical.format_map(facts)
    except KeyError as error:
        raise ResourceFailedError(
            f"Properties validation failed: required key [{error.args[0]}] not found"
        ) from error


def _facts(stack: Stack, properties: Properties) -> dict[str, Any]:
    return {**properties, "account": stack.account, "region": stack.region}


def _list_texts(answer: Mapping[str, Any]) -> dict[str, str]:
    """The texts of an answer, and of the structures in it."""
    found = {name: value for name, value in answer.items() if isinstance(value, str)}
    for value in answer.values():
        if isinstance(value, dict):
            found = {**_list_texts(value), **found}
    return found


def _shaped(given: Any, shape: Any) -> Any:
    """What is given, as a shape of botocore's has it, without what that has not.

    CloudFormation takes a text for a number, and a list of pairs for a map. Raises ValueError and TypeError.
    """
    if given is None:
        return None
    match shape.type_name:
        case "structure":
            return {name: _shaped(given[name], each) for name, each in shape.members.items() if name in given}
        case "list":
            return [_shaped(each, shape.member) for each in (given if isinstance(given, list) else [given])]
        case "map":
            return {key: _shaped(each, shape.value) for key, each in _pairs(given).items()}
        case kind:
            return _SCALARS.get(kind, lambda given: given)(given)


_SCALARS: Final[dict[str, Callable[[Any], Any]]] = {
    "integer": int,
    "long": int,
    "double": float,
    "float": float,
    "boolean": lambda given: given if isinstance(given, bool) else str(given).lower() == "true",
    "string": lambda given: json.dumps(given) if isinstance(given, bool | dict | list) else str(given),
}


def _pairs(given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    key, value = next((names for names in _PAIRS if all(names[0] in each for each in given)), ("", ""))
    return {each[key]: each[value] for each in given}


def _failed(message: str, code: str) -> ResourceFailedError:
    token = f"(RequestToken: {new_uuid()}, HandlerErrorCode: {code})"
    return ResourceFailedError(f'Resource handler returned message: "{message}" {token}')


def _is_missing(cause: BaseException | None) -> bool:
    response: dict[str, Any] = getattr(cause, "response", {})
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status == _NOT_FOUND or any(each in response.get("Error", {}).get("Code", "") for each in _GONE)
