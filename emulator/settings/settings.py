"""What a sandbox is started with: read once, at the edge, from options, the environment and ``sandbox.toml``.

An option given on the command line wins over ``SANDBOX_<NAME>`` in the
environment, which wins over ``name = ...`` under ``[sandbox]`` in the file,
which wins over the default here.
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
from emulator.settings.setting_errors import Origins, described
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
_NAMES = ("allowed_hosts", "allowed_origins", "targets")


class SettingsError(ValueError):
    """A setting that cannot be used: says which, its value, and what would do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that an emulator needs to know to start; in code, the default starts no other process.

    ``region`` is where the sandbox's own streams are. Ports are 0 for any free one. ``data_dir`` None keeps
    everything in memory. ``fsync`` makes acknowledged records survive power loss too. ``strict`` limits
    enforce AWS's throughput per shard. ``transition_seconds`` of the clock is how long streams are CREATING,
    UPDATING and DELETING; the sandbox's own are there at once, and those of an upstream take their own time.
    ``amqp`` is ``auto`` (the real RabbitMQ when there is one) or ``off``. ``token`` guards every port; beyond
    loopback there always is one. ``allowed_hosts`` are further names by which the ports may be called,
    ``allowed_origins`` the web pages that may use them (``http://localhost:3000``).
    Every profile but ``embedded`` relays: ``upstream_aws`` is the URL of an AWS endpoint (None in profile
    ``aws``: AWS's own), ``upstream_amqp`` a broker's; ``upstream_owned`` lets a reset empty the former.
    ``containers`` is the Compose project whose containers faults may strike, ``targets`` are processes that
    they may, each as ``name=pid`` or ``name=file`` with the pid in it. ``queues_port`` and
    ``topics_port`` None are the usual ones, or where one is taken a free one; ``topics`` is a file that says
    which topics there are, who may use them and what stands for whom, ``integration`` one that says what is
    done with asynchronous messages, for who builds on the emulator. With ``confirm_subscriptions`` the
    subscribers of queues are told nothing before they have agreed. ``faults`` are in force from the start,
    and again after a reset; ``access`` likewise is what access keys may do with streams, any other key may do
    everything. ``as_published`` is for who judges messages: by the published
    schema files alone. ``retention`` is the age in seconds of the clock at which events, and the objects
    that the audit log and the archives consist of, are removed; None: never.
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
    """The settings as they are written, before defaults that must be drawn or loaded."""

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
    """The settings that these options (None: not given), environment and the directory's file add up to.

    SettingsError when one of them cannot be used: the file and line, the option or the variable, and why.
    """
    directory = directory or Path()
    text, merged = _from_file(directory / FILE_NAME)
    origins = Origins(directory / FILE_NAME, text, (_TABLE,))
    for name in _Given.__struct_fields__:
        variable = f"SANDBOX_{name.upper()}"
        if (said := environment.get(variable)) is not None:
            merged[name] = _from_text(name, said)
            origins.nearer[name] = f"{variable} in the environment"
    for name, value in options.items():
        if value is not None:
            merged[name] = value
            origins.nearer[name] = f"--{name.replace('_', '-')}"
    try:
        given = msgspec.convert(merged, _Given, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(described(error, merged, _Given, origins)) from error
    _check(given, origins)
    try:
        topology = read_topology(given.topology, directory)
    except SettingsError as error:
        raise SettingsError(f"{origins.of('topology')}: {error}") from error
    return _settle(given, topology, directory, environment)


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
    """A topology by its name here, or from a TOML, YAML or JSON file. SettingsError when it is neither."""
    if isinstance(wanted, Topology):
        return wanted
    if wanted in TOPOLOGIES:
        return TOPOLOGIES[wanted]
    path = directory / wanted
    try:
        text = path.read_text(encoding="utf-8")
        return msgspec.convert(_parsed(path, text), Topology)
    except FileNotFoundError as error:
        names = ", ".join(TOPOLOGIES)
        raise SettingsError(f"no topology {wanted!r}: neither a file nor one of {names}") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"topology {path} cannot be used: {error}") from error


def _settle(given: _Given, topology: Topology, directory: Path, environment: Mapping[str, str]) -> Settings:
    exposed = given.host not in LOOPBACK
    # As any AWS client of this environment chooses it, so that both look at the same streams.
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
        "retention": _retention(given.retention),
        "token": given.token or (new_uuid() if exposed else None),
    }
    return Settings(**fields)


def _retention(written: str | float | None) -> float | None:
    if written is None:
        return None
    try:
        return seconds(written)
    except ValueError as error:
        raise SettingsError(f"retention: {error}") from error


def _from_file(path: Path) -> tuple[str, dict[str, Any]]:
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


def _from_text(name: str, text: str) -> Any:
    """What an environment variable says: lists of names by commas, faults and access as JSON."""
    if name in _NAMES:
        return [each.strip() for each in text.split(",") if each.strip()]
    if name not in {"faults", "access"}:
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise SettingsError(f"SANDBOX_{name.upper()} is not JSON: {error}") from error


def _parsed(path: Path, text: str) -> Any:
    if path.suffix == ".toml":
        return tomllib.loads(text)
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
