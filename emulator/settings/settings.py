"""The settings of a sandbox, read once at the edge from options, the environment and ``sandbox.toml``.

An option of the command line wins over ``SANDBOX_<NAME>`` in the environment, which wins
over ``name = ...`` under ``[sandbox]`` in the file, which wins over the default here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from emulator.rng import new_seed, new_uuid
from emulator.settings.setting_errors import Origins, describe_error
from emulator.settings.topologies import rdss_topology
from rdss_sandbox.admission import LOOPBACK
from rdss_sandbox.durations import seconds
from rdss_sandbox.shapes.access import KeyPermission
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.topology import AuditTap, Topology, TransitionSeconds

STATE_DIRECTORY = ".sandbox"
FILE_NAME = "sandbox.toml"
_REGION = "us-east-1"
_TABLE = "sandbox"
_PORTS = ("aws_port", "control_port", "queues_port", "amqp_port", "topics_port")
Profile: TypeAlias = Literal["embedded", "compose", "localstack", "relay", "aws"]
QUEUES_PORT = 8888
TOPICS_PORT = 9007

DEFAULT_TOPOLOGY = Topology(
    streams={"input": 2, "output": 2, "error": 1, "invalid": 1, "audit": 1},
    buckets=("rdss-audit", "rdss-error", "rdss-invalid"),
    audit=AuditTap(),
    archives={"error": "rdss-error", "invalid": "rdss-invalid"},
)
RDSS_TOPOLOGY = rdss_topology()
TOPOLOGIES = {"default": DEFAULT_TOPOLOGY, "rdss": RDSS_TOPOLOGY, "none": Topology()}


_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s*?#@]+/?", re.IGNORECASE)
_NAME_LISTS = ("allowed_hosts", "allowed_origins", "targets")


class SettingsError(ValueError):
    """An invalid setting. The text says which one, its value, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that an emulator needs to start. The defaults start no other process.

    Where it stands:
        ``profile``: every profile but ``embedded`` relays to an upstream.
        ``upstream_aws``: URL of an AWS endpoint; None in the profile ``aws`` means AWS itself.
        ``upstream_amqp``: URL of a broker. ``upstream_owned``: a reset may empty the AWS upstream.
        ``region``: the region of the sandbox's own streams.
        ``topology``: its streams, buckets, audit log and archives.
    Ports (0 takes a free one):
        ``queues_port``, ``topics_port``: None takes the usual port, or a free one when that is taken.
        ``amqp``: ``auto`` starts the real RabbitMQ when it is installed; ``off`` does not.
    Who may call:
        ``token``: guards every port; beyond loopback there always is one.
        ``allowed_hosts``: further host names of the ports. ``allowed_origins``: web pages that may use
        them (``http://localhost:3000``).
        ``access``: what access keys may do with streams; other keys may do everything.
    Data:
        ``data_dir``: None keeps everything in memory. ``fsync``: records survive power loss too.
        ``retention``: age in clock seconds at which events, and the objects of the audit log and the
        archives, are removed; None means never.
    Behaviour:
        ``limits``: ``strict`` enforces AWS's throughput for each shard.
        ``transition_seconds``: how many clock seconds a stream is CREATING, UPDATING or DELETING. The
        sandbox's own streams are ready at once; those of an upstream take their own time.
        ``faults``: in force from the start, and again after a reset.
        ``containers``: the Compose project whose containers faults may strike. ``targets``: processes
        that faults may strike, as ``name=pid`` or ``name=file`` with the pid in the file.
        ``confirm_subscriptions``: subscribers of queues are notified only after they have agreed.
        ``topics``: file of topics, users and message types. ``integration``: file for asynchronous
        processing, which is built on top. ``as_published``: judge messages by the published schemas alone.
    """

    profile: Profile = "embedded"
    upstream_aws: str | None = None
    upstream_amqp: str | None = None
    upstream_owned: bool = False
    containers: str | None = None
    region: str = _REGION
    host: str = "127.0.0.1"
    aws_port: int = 4566
    control_port: int = 4570
    queues_port: int | None = 0
    topics_port: int | None = 0
    confirm_subscriptions: bool = False
    amqp: Literal["auto", "off"] = "off"
    amqp_port: int = 5672
    topics: Path | None = None
    integration: Path | None = None
    data_dir: Path | None = Path(STATE_DIRECTORY, "data")
    fsync: bool = False
    seed: int = 0
    limits: Literal["relaxed", "strict"] = "relaxed"
    transition_seconds: float = 0.0
    topology: Topology = DEFAULT_TOPOLOGY
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    faults: tuple[NewFault, ...] = ()
    access: tuple[KeyPermission, ...] = ()
    as_published: bool = False
    retention: float | None = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the listeners."""
        return self.host in LOOPBACK


class _Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings as they are written, before defaults are drawn or loaded."""

    profile: Profile = "embedded"
    upstream_aws: str | None = None
    upstream_amqp: str | None = None
    upstream_owned: bool = False
    containers: str | None = None
    region: str | None = None
    host: str = "127.0.0.1"
    aws_port: int = 4566
    control_port: int = 4570
    queues_port: int | None = None
    amqp: Literal["auto", "off"] = "auto"
    amqp_port: int = 5672
    topics_port: int | None = None
    confirm_subscriptions: bool = False
    topics: str | None = None
    integration: str | None = None
    data_dir: str = f"{STATE_DIRECTORY}/data"
    fsync: bool = False
    seed: int | None = None
    limits: Literal["relaxed", "strict"] = "relaxed"
    transition_seconds: TransitionSeconds | None = None
    topology: str | Topology = "default"
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    faults: tuple[NewFault, ...] = ()
    access: tuple[KeyPermission, ...] = ()
    as_published: bool = False
    retention: str | float | None = None


def read_settings(
    options: Mapping[str, Any], environment: Mapping[str, str], directory: Path | None = None
) -> Settings:
    """Merge options (None means not given), environment and the directory's file into settings.

    Raises SettingsError, which names the file and line, the option or the variable, and says why.
    """
    directory = directory or Path()
    text, merged = _read_file(directory / FILE_NAME)
    origins = Origins(directory / FILE_NAME, text, (_TABLE,))
    for name in _Given.__struct_fields__:
        variable = f"SANDBOX_{name.upper()}"
        if (value := environment.get(variable)) is not None:
            merged[name] = _parse_variable(name, value)
            origins.nearer[name] = f"{variable} in the environment"
    for name, value in options.items():
        if value is not None:
            merged[name] = value
            origins.nearer[name] = f"--{name.replace('_', '-')}"
    try:
        given = msgspec.convert(merged, _Given, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(describe_error(error, merged, _Given, origins)) from error
    _check(given, origins)
    try:
        topology = read_topology(given.topology, directory)
    except SettingsError as error:
        raise SettingsError(f"{origins.of('topology')}: {error}") from error
    return _build_settings(given, topology, directory, environment)


def _check(given: _Given, origins: Origins) -> None:
    for name in _PORTS:
        if not 0 <= (getattr(given, name) or 0) <= 65535:
            why = f"{name} is {getattr(given, name)}; a port is 0 (any free one) to 65535"
            raise SettingsError(f"{origins.of(name)}: {why}")
    for origin in given.allowed_origins:
        if not _ORIGIN.fullmatch(origin):
            why = f"{origin!r} is no origin; give a scheme and a host, such as http://localhost:3000"
            raise SettingsError(f"{origins.of('allowed_origins')}: {why}")


def read_topology(wanted: str | Topology, directory: Path) -> Topology:
    """A topology by its name, or from a TOML, YAML or JSON file. Raises SettingsError when it is neither."""
    if isinstance(wanted, Topology):
        return wanted
    if wanted in TOPOLOGIES:
        return TOPOLOGIES[wanted]
    path = directory / wanted
    try:
        text = path.read_text(encoding="utf-8")
        return msgspec.convert(_parse_topology(path, text), Topology)
    except FileNotFoundError as error:
        names = ", ".join(TOPOLOGIES)
        raise SettingsError(f"no topology {wanted!r}: neither a file nor one of {names}") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"topology {path} cannot be used: {error}") from error


def _build_settings(
    given: _Given, topology: Topology, directory: Path, environment: Mapping[str, str]
) -> Settings:
    exposed = given.host not in LOOPBACK
    # Chosen as AWS clients of this environment choose theirs, so that both see the same streams.
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or _REGION
    own, asked = given.transition_seconds, topology.transition_seconds
    fields = msgspec.structs.asdict(given) | {
        "region": given.region or region,
        "topics": directory / given.topics if given.topics else None,
        "integration": directory / given.integration if given.integration else None,
        "data_dir": None if given.data_dir == ":memory:" else directory / given.data_dir,
        "seed": new_seed() if given.seed is None else given.seed,
        "transition_seconds": asked if own is None else own,
        "topology": topology,
        "retention": _parse_retention(given.retention),
        "token": given.token or (new_uuid() if exposed else None),
    }
    return Settings(**fields)


def _parse_retention(written: str | float | None) -> float | None:
    if written is None:
        return None
    try:
        return seconds(written)
    except ValueError as error:
        raise SettingsError(f"retention: {error}") from error


def _read_file(path: Path) -> tuple[str, dict[str, Any]]:
    """The file's text and the settings in it."""
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text).get(_TABLE, {})
    except FileNotFoundError:
        return "", {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: [sandbox] must be a table of settings")
    return text, table


def _parse_variable(name: str, text: str) -> Any:
    """Parse an environment variable: names are separated by commas; faults and access are JSON."""
    if name in _NAME_LISTS:
        return [each.strip() for each in text.split(",") if each.strip()]
    if name not in {"faults", "access"}:
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise SettingsError(f"SANDBOX_{name.upper()} is not JSON: {error}") from error


def _parse_topology(path: Path, text: str) -> Any:
    if path.suffix == ".toml":
        return tomllib.loads(text)
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
