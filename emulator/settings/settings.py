"""The settings of a sandbox, read once at the edge from options, the environment and ``sandbox.toml``.

Each is declared once, in ``Settings``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from emulator.rng import new_seed, new_uuid
from emulator.settings.checks import check_port, read_file
from emulator.settings.declarations import setting
from emulator.settings.document_files import read_document
from emulator.settings.reading import read_table
from emulator.settings.setting_errors import SettingsError
from emulator.settings.topologies import rdss_topology
from emulator.settings.wrong_values import explain_value
from rdss_sandbox.admission import LOOPBACK
from rdss_sandbox.installed_extensions import find_contract, import_parts
from rdss_sandbox.shapes.access import KeyPermission
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.topology import AuditTap, Topology, TransitionSeconds
from rdss_sandbox.text.durations import seconds

STATE_DIRECTORY = ".sandbox"
S = TypeVar("S")
Profile: TypeAlias = Literal["embedded", "compose", "localstack", "relay", "aws"]
MANAGEMENT_PORT = 15672

DEFAULT_TOPOLOGY = Topology(
    streams={"input": 2, "output": 2, "error": 1, "invalid": 1, "audit": 1},
    buckets=("rdss-audit", "rdss-error", "rdss-invalid"),
    audit=AuditTap(),
    archives={"error": "rdss-error", "invalid": "rdss-invalid"},
)
RDSS_TOPOLOGY = rdss_topology()
TOPOLOGIES = {"default": DEFAULT_TOPOLOGY, "rdss": RDSS_TOPOLOGY, "none": Topology()}


_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s*?#@]+/?", re.IGNORECASE)
_REGION: Final = "us-east-1"
_PROCESSES: Final = "all but compose"


_MOST_MESSAGE_BYTES: Final = 128 << 20
"""What the port's limits let through, and the default of RabbitMQ 3."""


def _check_message_size(name: str, size: int) -> None:
    if not 0 < size <= _MOST_MESSAGE_BYTES:
        raise ValueError(f"{name} is {size}; a message has 1 to {_MOST_MESSAGE_BYTES} bytes")


def _check_origins(_name: str, origins: tuple[str, ...]) -> None:
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            why = f"{origin!r} is no origin; give a scheme and a host, such as http://localhost:3000"
            raise ValueError(why)


def read_contract(written: Any, directory: Path) -> Any:
    """The path of a document: a file, seen from the directory, or what an extension has by this name."""
    file = read_file(written, directory)
    if file is None or file.exists():
        return file
    found = find_contract(str(written))
    return Path(found) if found else file


def _check_contract(_name: str, document: Path | None) -> None:
    if document is not None:
        # A sandbox of RDSS needs no reader of documents.
        from schemas.asyncapi.load import load_once
        from schemas.asyncapi.problems import BadDocumentError

        try:
            load_once(document.resolve())
        except BadDocumentError as error:
            first = str(error.problems[0])
            if not document.is_file():
                raise ValueError(first) from error
            raise ValueError(f"{document}: {first}; see: sandbox contract check {document}") from error


def _read_declared_topology(document: Path) -> Topology:
    from emulator.settings.declared_topology import build_topology
    from schemas.asyncapi.load import load_once

    return build_topology(load_once(document.resolve()))


def _read_data_dir(written: Any, directory: Path) -> Any:
    if written == ":memory:":
        return None
    return directory / written if isinstance(written, str | Path) else written


def _read_amqp(written: Any, _directory: Path) -> Any:
    # YAML reads a bare off as false, and TOML has no other word for it.
    if written in ("off", False):
        raise ValueError(f"amqp is {written!r}: give none, and nothing answers on the AMQP port")
    return written


def _read_retention(written: Any, _directory: Path) -> float | None:
    try:
        return None if written is None else seconds(written)
    except ValueError as error:
        raise ValueError(f"retention: {error}") from error


def _read_faults(written: Any, _directory: Path) -> Any:
    """Each fault as an object; a text is its type, or such an object in JSON. Raises ValueError."""
    if not isinstance(written, list | tuple):
        return written
    return tuple(_read_fault(each) if isinstance(each, str) else each for each in written)


def _read_fault(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return {"type": text}
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"fault {text} is not JSON: {error}") from error


def _read_topology(written: Any, directory: Path) -> Any:
    """A topology by its name, or from a TOML, YAML or JSON file. Raises ValueError when it is neither."""
    if not isinstance(written, str):
        return written
    if written in TOPOLOGIES:
        return TOPOLOGIES[written]
    path = directory / written
    try:
        found = read_document(path)
    except FileNotFoundError as error:
        names = ", ".join(TOPOLOGIES)
        raise ValueError(f"no topology {written!r}: neither a file nor one of {names}") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"topology {path} cannot be used: {error}") from error
    try:
        return msgspec.convert(found, Topology)
    except msgspec.ValidationError as error:
        _, why = explain_value(error, found, Topology, whole="the document")
        raise ValueError(f"topology {path} cannot be used: {why}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that an emulator needs to start. A setting is declared here and nowhere else.

    Its option of ``sandbox up``, ``SANDBOX_<NAME>`` in the environment, its key under ``[sandbox]`` in
    ``sandbox.toml``, their help and docs/settings.md are made of this. The defaults start no other process.
    """

    # Where it stands.
    profile: Profile = setting("embedded", "What to run: see docs/profiles.md.")
    upstream_aws: str | None = setting(
        None, "The AWS endpoint to relay to.", metavar="URL", applies="embedded, relay, aws"
    )
    upstream_amqp: str | None = setting(
        None, "The broker to relay AMQP to: amqp://user:password@host/", metavar="URL", applies=_PROCESSES
    )
    upstream_owned: bool = setting(
        False,
        "Let a reset empty the AWS upstream, and answer S3 from the data directory in its place.",
        option="",
        applies="embedded, relay",
    )
    region: str = setting(_REGION, "The AWS region.", metavar="NAME", told="AWS_REGION, or {}")
    topology: Topology = setting(
        DEFAULT_TOPOLOGY,
        "The streams and buckets to make.",
        metavar="FILE|default|rdss|none",
        told="default",
        read=_read_topology,
    )
    contract: Path | None = setting(
        None,
        "The AsyncAPI 3 document that says what messages are; its channels are the topology.",
        metavar="FILE|NAME",
        told="RDSS",
        read=read_contract,
        check=_check_contract,
    )
    # Ports.
    host: str = setting("127.0.0.1", "The address to listen on.", metavar="ADDRESS", applies=_PROCESSES)
    aws_port: int = setting(
        4566,
        "The port for Kinesis, S3 and the other AWS services.",
        metavar="N",
        told="{}; 0: any free",
        check=check_port,
    )
    control_port: int = setting(
        4570, "The port of the control API.", metavar="N", told="{}; 0: any free", check=check_port
    )
    amqp_port: int = setting(5672, "The port of AMQP, as RabbitMQ speaks it.", metavar="N", check=check_port)
    amqp: Literal["embedded", "server", "none"] | None = setting(
        "none",
        "What answers on the AMQP port: the sandbox's own broker, the installed rabbitmq-server, or nothing.",
        metavar="embedded|server|none",
        read=_read_amqp,
        usual=None,
        told="embedded",
        applies=_PROCESSES,
    )
    amqp_management_port: int | None = setting(
        0,
        "The port of the broker's management API, which is that of RabbitMQ's plugin.",
        metavar="N",
        usual=None,
        told=f"{MANAGEMENT_PORT}, or any free; 0: any free",
        applies=_PROCESSES,
        check=check_port,
    )
    amqp_max_message_size: int = setting(
        16 << 20,
        "The largest message that the sandbox's own broker takes, in bytes: RabbitMQ's max_message_size.",
        metavar="BYTES",
        applies=_PROCESSES,
        check=_check_message_size,
    )
    # Who may call.
    token: str | None = setting(
        None, "The token that every port asks for.", option="", told="none; drawn beyond loopback"
    )
    tls: Literal["self-signed"] | None = setting(
        None,
        "Speak TLS on every port, with a certificate of an authority that is kept in the data directory.",
        metavar="self-signed",
        applies=_PROCESSES,
    )
    tls_cert: Path | None = setting(
        None,
        "Speak TLS on every port, with this certificate in PEM, and those of its issuers behind it.",
        metavar="FILE",
        applies=_PROCESSES,
        read=read_file,
    )
    tls_key: Path | None = setting(
        None, "The key of that certificate, in PEM.", metavar="FILE", applies=_PROCESSES, read=read_file
    )
    allowed_hosts: tuple[str, ...] = setting(
        (),
        "Another host name under which clients call the sandbox.",
        metavar="NAME",
        option="--allow-host",
    )
    allowed_origins: tuple[str, ...] = setting(
        (),
        "A web page's origin that may use the ports, such as http://localhost:3000.",
        metavar="URL",
        option="--allow-origin",
        check=_check_origins,
    )
    access: tuple[KeyPermission, ...] = setting(
        (), "What access keys may do with streams; other keys may do everything.", option=""
    )
    # Data.
    data_dir: Path | None = setting(
        Path(STATE_DIRECTORY, "data"),
        "The folder for everything that is kept; :memory: keeps nothing.",
        metavar="DIR",
        applies=_PROCESSES,
        read=_read_data_dir,
    )
    snapshots_from: Path | None = setting(
        None,
        "A folder with more snapshots to load; nothing is written there.",
        metavar="DIR",
        applies=_PROCESSES,
        read=read_file,
    )
    fsync: bool = setting(False, "Acknowledge only what survives a power cut.", applies=_PROCESSES)
    retention: float | None = setting(
        None,
        "Remove events and objects of the audit log that are older: 7d, 12h.",
        metavar="AGE",
        told="never",
        applies=_PROCESSES,
        read=_read_retention,
    )
    # Behaviour.
    seed: int = setting(0, "The seed of everything random.", metavar="N", told="drawn")
    limits: Literal["relaxed", "strict"] = setting(
        "relaxed", "Whether to enforce AWS's throughput limits.", applies="embedded"
    )
    transition_seconds: TransitionSeconds = setting(
        0.0,
        "How long streams are CREATING, UPDATING, DELETING.",
        metavar="S",
        told="the topology's, or 0",
        applies="embedded",
    )
    faults: tuple[NewFault, ...] = setting(
        (),
        "A fault in force from the start, and again after a reset: its type, or JSON with its attributes.",
        metavar="TYPE|JSON",
        option="--fault",
        read=_read_faults,
    )
    containers: str | None = setting(
        None, "The Compose project whose containers faults may strike.", option="", applies=_PROCESSES
    )
    targets: tuple[str, ...] = setting(
        (),
        "A process that the faults pause and kill may strike: its id, or a file that holds the id.",
        metavar="NAME=PID|FILE",
        option="--target",
        applies=_PROCESSES,
    )
    lambda_loaders: bool = setting(
        False,
        "Fill the audit log and the archives by Lambda functions that read the streams.",
        applies="embedded",
    )
    as_published: bool = setting(
        False,
        "Validate by the published schema files alone, which check no format and no body against its type.",
        option="",
        applies=_PROCESSES,
    )

    # What the extensions declare.
    extensions: tuple[object, ...] = ()

    def of(self, shape: type[S]) -> S:
        """The settings that an extension declares as ``shape``; its defaults where none were read."""
        return next((each for each in self.extensions if isinstance(each, shape)), None) or shape()

    def find(self, name: str) -> Any:
        """The value of an extension's setting by its name; None where there is none."""
        return next((getattr(each, name) for each in self.extensions if hasattr(each, name)), None)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the listeners."""
        return self.host in LOOPBACK


def read_settings(
    options: Mapping[str, Any], environment: Mapping[str, str], directory: Path | None = None
) -> Settings:
    """Merge options (None means not given), environment and the directory's file into settings.

    Raises SettingsError, which names the file and line, the option or the variable, and says why.
    """
    (found, *more), given = read_table(shapes(), "sandbox", options, environment, directory or Path())
    assert isinstance(found, Settings)
    if found.lambda_loaders and (found.profile != "embedded" or found.upstream_aws is not None):
        raise SettingsError(
            f"lambda_loaders is set, and the AWS port relays ({found.profile}): its functions and mappings "
            "are the upstream's. Deploy the loader there (docs/lambda.md), or leave lambda_loaders out"
        )
    _check_tls(found)
    if found.contract is not None and "topology" not in given:
        found = replace(found, topology=_read_declared_topology(found.contract))
    # Chosen as AWS clients of this environment choose theirs, so that both see the same streams.
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or _REGION
    drawn: dict[str, Any] = {
        "region": region,
        "token": None if found.loopback else new_uuid(),
        "seed": new_seed(),
        "transition_seconds": found.topology.transition_seconds,
    }
    drawn = {name: drawn[name] for name in drawn.keys() - given}
    return replace(found, extensions=tuple(more), **drawn)


def _check_tls(found: Settings) -> None:
    """Raises SettingsError for settings of TLS that are not to be had together."""
    given = [name for name in ("tls", "tls_cert", "tls_key") if getattr(found, name) is not None]
    if given and found.profile == "compose":
        raise SettingsError(
            f"{given[0]} is set, and the containers of the profile compose speak without TLS: put a proxy in "
            "front of them (docs/how-to/tls.md), or leave it out"
        )
    if len(given) == 1 and given != ["tls"]:
        other = "tls_key" if given == ["tls_cert"] else "tls_cert"
        raise SettingsError(f"{given[0]} is set, and {other} is not: a certificate and its key go together")
    if "tls" in given and len(given) > 1:
        raise SettingsError(f"tls and {given[1]} are both set: give self-signed, or a certificate of yours")


def shapes() -> tuple[type, ...]:
    """``Settings``, and what each extension declares beside it."""
    return Settings, *import_parts("settings").values()
