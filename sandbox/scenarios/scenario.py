"""Scenario files: reading, checking, and errors with their place in the file."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Final

import jsonschema_rs
import msgspec

from emulator.faults.attributes import read_attributes
from emulator.faults.fault import FaultRefusedError
from emulator.faults.registry import known_type
from emulator.faults.when import read_when
from rdss_sandbox.files.filed_messages import read_filed_messages
from rdss_sandbox.installed_extensions import list_extensions
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.text.durations import seconds
from sandbox.scenarios.condition import Condition, ConditionError, read_condition
from schemas.bound import CONTRACT
from schemas.contract import Contract

INPUT: Final = "input"
"""The channel of a scenario's messages."""
OWN_MESSAGE: Final = "own-message"
UNREACHABLE: Final = "broker-unreachable"
_LIBRARY: Final = files("sandbox.scenarios") / "library"
_SCHEMA: Final = files("sandbox.scenarios") / "schema.json"
_Count = Annotated[int, msgspec.Meta(ge=0)]


class ScenarioError(ValueError):
    """A wrong scenario; the message has the file, the place in it and the reason."""


class OtherContractError(ScenarioError):
    """A scenario that needs what the bound contract does not have."""


class Teach(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a scenario teaches: what happens, why it happens, and what a correct client does."""

    happens: str
    why: str
    client: str


class ScenarioStreams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of shards of each channel at the start."""

    input: Annotated[int, msgspec.Meta(ge=1)] = 2
    error: Annotated[int, msgspec.Meta(ge=1)] = 1
    invalid: Annotated[int, msgspec.Meta(ge=1)] = 1


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The messages to send: ``batch`` of them at intervals of ``every``, in an order drawn from the seed.

    ``sequences`` counts oversize messages of ``parts`` parts, or of each of these numbers in turn; a
    contract without sequences has as many usual messages in their place. ``bad`` counts invalid messages by
    their error code. ``expiring`` counts messages with an expirationTimestamp ``expires`` after the start.
    With a ``tape`` its messages are all that is sent, those that came within each ``every`` at once.
    """

    tape: str = ""

    messages: _Count = 40
    sequences: _Count = 0
    parts: int | tuple[int, ...] = 3
    bad: dict[str, _Count] = {}
    expiring: _Count = 0
    expires: str | float = "30s"
    batch: Annotated[int, msgspec.Meta(ge=1)] = 10
    every: str | float = "1s"


class Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Workers that share the messages by claims; each claim holds up to ``limit`` messages for ``ttl``."""

    workers: Annotated[int, msgspec.Meta(ge=1, le=20)] = 2
    ttl: str | float = "60s"
    grace: str | float = "60s"
    limit: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5


class ScenarioConsumer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The receiving side: it ``takes`` a time for each message and reads ``batch`` messages at once.

    With ``claims``, workers claim the messages from a queue that is a view of the channel.
    """

    takes: str | float = 0.0
    batch: Annotated[int, msgspec.Meta(ge=1)] = 100
    claims: Claims | None = None


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"schema": "$schema"}):
    """The content of a scenario file."""

    name: str
    title: str
    teach: Teach
    expect: dict[str, int | float | str]
    streams: ScenarioStreams = ScenarioStreams()
    workload: Workload = Workload()
    consumer: ScenarioConsumer = ScenarioConsumer()
    faults: tuple[NewFault, ...] = ()
    failures: tuple[str, ...] = ()
    schema: str = ""

    def conditions(self) -> dict[str, Condition]:
        """The expected condition of each fact; nothing is joined where messages have no sequences."""
        expected = {fact: read_condition(written) for fact, written in self.expect.items()}
        return (
            expected
            if CONTRACT.sequences
            else {fact: expected[fact] for fact in expected if fact != "joined"}
        )


def schema() -> dict[str, Any]:
    """The published JSON Schema of scenario files, which has RDSS's codes."""
    found: dict[str, Any] = msgspec.json.decode(_SCHEMA.read_bytes())
    return found


def library() -> dict[str, Scenario]:
    """The scenarios that come with the sandbox and its extensions, by name, in teaching order.

    Those that need what the bound contract does not have are left out.
    """
    found = {}
    for entry in _list_files():
        with suppress(OtherContractError):
            scenario = read_scenario(entry.name, entry.read_text(encoding="utf-8"))
            found[scenario.name] = scenario
    return found


def _list_files() -> list[Traversable]:
    folders = [_LIBRARY, *(files(each.scenarios) for each in list_extensions() if each.scenarios)]
    entries = (entry for folder in folders for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return sorted(entries, key=lambda entry: entry.name)


def find_scenario(name: str) -> Scenario:
    """Find a scenario by its name in the library, or read a YAML or JSON file. Raises ``ScenarioError``."""
    known = library()
    if name in known:
        return known[name]
    for entry in _list_files():
        if entry.name.partition("-")[2] == f"{name}.yaml":
            # It is left out of the library, and reading it says why.
            return read_scenario(name, entry.read_text(encoding="utf-8"))
    try:
        text = Path(name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        names = ", ".join(known)
        raise ScenarioError(f"no scenario {name!r}: neither a file nor one of {names}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{name} cannot be read: {error}") from error
    scenario = read_scenario(name, text)
    if not scenario.workload.tape:
        return scenario
    tape = str(Path(name).parent.absolute() / scenario.workload.tape)
    try:
        found = next(read_filed_messages(Path(tape)), None)
    except ValueError as error:
        raise ScenarioError(f"{name}: workload/tape: {error}") from error
    if found is None:
        raise ScenarioError(f"{name}: workload/tape: {tape} has no messages")
    return msgspec.structs.replace(scenario, workload=msgspec.structs.replace(scenario.workload, tape=tape))


def read_scenario(source: str, text: str) -> Scenario:
    """Parse a scenario in YAML or JSON; ``source`` names it in errors. Raises ``ScenarioError``."""
    import yaml

    from schemas.plain_yaml import load

    try:
        document = load(text)
    except yaml.YAMLError as error:
        raise ScenarioError(f"{source} is not YAML: {' '.join(str(error).split())}") from error
    for wrong in _validator().iter_errors(document):
        place = "/".join(str(part) for part in wrong.instance_path) or "the whole file"
        why = wrong.message.replace("is a required property", "is required and missing")
        raise ScenarioError(f"{source}: {place}: {why}; docs/scenarios.md lists the keys")
    scenario = msgspec.convert(document, Scenario, strict=False)
    _check(source, scenario)
    return scenario


@cache
def _validator() -> Any:
    asked = schema()
    # What another contract's codes are is looked at in ``_check``.
    asked["properties"]["workload"]["properties"]["bad"].pop("propertyNames")
    return jsonschema_rs.validator_for(asked)


def _check(source: str, scenario: Scenario) -> None:
    """Check durations, conditions and faults, which the JSON Schema cannot check."""
    places = {
        "workload/expires": scenario.workload.expires,
        "workload/every": scenario.workload.every,
        "consumer/takes": scenario.consumer.takes,
    }
    if (claims := scenario.consumer.claims) is not None:
        places |= {"consumer/claims/ttl": claims.ttl, "consumer/claims/grace": claims.grace}
        if scenario.failures:
            raise ScenarioError(f"{source}: failures: their applications claim nothing")
    for place, written in places.items():
        try:
            seconds(written)
        except ValueError as error:
            raise ScenarioError(f"{source}: {place}: {error}") from error
    for fact, written in scenario.expect.items():
        try:
            read_condition(written)
        except ConditionError as error:
            raise ScenarioError(f"{source}: expect/{fact}: {error}") from error
    for at, fault in enumerate(scenario.faults):
        try:
            read_attributes(known_type(fault.type), fault.attributes)
        except FaultRefusedError as error:
            raise ScenarioError(f"{source}: faults/{at}: {error}") from error
    _check_contract(source, scenario)


def explain_missing_ids(contract: Contract) -> str:
    """Say why nothing can be judged of what became of each message; empty where every message has an id."""
    if contract.by_digest is None:
        return ""
    return (
        f"messages of {contract.name} have no id in their payload, so that nothing tells which is lost; "
        "declare x-sandbox.id, or a correlationId in the payload"
    )


def _check_contract(source: str, scenario: Scenario) -> None:
    """Check that the bound contract has what the scenario needs. Raises ``OtherContractError``."""
    known = tuple(map(str, CONTRACT.samples.codes)) if CONTRACT.samples else ()
    if unknown := [code for code in scenario.workload.bad if code not in known]:
        there = ", ".join(known) or "none"
        why = f"workload/bad: no message can be made for {unknown[0]}; there are {there}"
        raise OtherContractError(f"{source}: {why}")
    if scenario.failures and CONTRACT.name != "rdss":
        why = f"failures: their applications are of the RDSS Message API, not of {CONTRACT.name}"
        raise OtherContractError(f"{source}: {why}")
    if why := explain_missing_ids(CONTRACT):
        raise OtherContractError(f"{source}: {why}")
    if scenario.workload.expiring and CONTRACT.expired is None:
        raise OtherContractError(f"{source}: workload/expiring: messages of {CONTRACT.name} do not expire")
    for at, fault in enumerate(scenario.faults):
        try:
            read_when(fault.when, CONTRACT)
        except FaultRefusedError as error:
            raise OtherContractError(f"{source}: faults/{at}: {error}") from error
