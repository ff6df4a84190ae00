"""Files that a person writes: AsyncAPI documents, scenarios, integrations, mappings, settings, topologies."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import read_settings
from extensions.processing.integration_file import read_integration
from extensions.processing.processing_errors import IntegrationError
from extensions.topics.topic_configuration import read_configuration
from rdss_sandbox.machine.project_table import ConfigurationError, read_project
from sandbox.adaptor.mapping_file import MappingError, read_mapping
from sandbox.scenarios.scenario import ScenarioError, find_scenario
from schemas.asyncapi.load import load_contract
from schemas.asyncapi.problems import BadDocumentError
from tests.fuzz.fuzzed_parser import FuzzedParser, Parse, refusals
from tests.schemas.asyncapi.documents import ORDERS_TEXT
from tui.keys.preferences import PreferencesError
from tui.keys.preferences import read as read_preferences

_ROOT: Final = Path(__file__).parents[3]


def _open_asyncapi() -> Parse:
    def parse(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as made, refusals(BadDocumentError):
            path = Path(made) / ("d.json" if data.startswith(b"{") else "d.yaml")
            path.write_bytes(data)
            contract = load_contract(path)
            contract.judge(b'{"event": "placed", "order": {"id": "o-1"}}', now=1.0)
            if contract.samples is not None:
                contract.samples.from_seed(1, now=1_800_000_000.0).message()

    return parse


_READERS: Final[Mapping[bytes, tuple[str, Callable[[Path], Any], type[Exception]]]] = {
    b"scenario": ("s.yaml", lambda path: find_scenario(str(path)), ScenarioError),
    b"integration": ("i.toml", read_integration, IntegrationError),
    b"mapping": ("m.yaml", read_mapping, MappingError),
    b"mapping-toml": ("m.toml", read_mapping, MappingError),
    b"topics": ("t.yaml", read_configuration, SettingsError),
    b"settings": ("sandbox.toml", lambda path: read_settings({}, {}, path.parent), SettingsError),
    b"topology": (
        "t.yaml",
        lambda path: read_settings({"topology": str(path)}, {}, path.parent),
        SettingsError,
    ),
    b"project": ("pyproject.toml", lambda path: read_project(path.parent), ConfigurationError),
    b"preferences": ("p.toml", read_preferences, PreferencesError),
}
"""What the first line of an input names: the file, who reads it, and what they raise."""


def _open_documents() -> Parse:
    def parse(data: bytes) -> None:
        kind, _, text = data.partition(b"\n")
        if kind not in _READERS:
            return
        name, read, refusal = _READERS[kind]
        with tempfile.TemporaryDirectory() as made, refusals(refusal):
            (Path(made) / name).write_bytes(text)
            read(Path(made) / name)

    return parse


def _asyncapi_seeds() -> Iterable[tuple[str, bytes]]:
    yield "orders", ORDERS_TEXT.encode()
    yield (
        "json",
        b'{"asyncapi": "3.0.0", "info": {"title": "a", "version": "1"}, "channels": {"c": {"messages": {}}}}',
    )
    yield (
        "circle",
        b"asyncapi: 3.0.0\ninfo: &i {title: a, version: 1, x: *i}\nchannels: {c: {$ref: '#/channels/c'}}\n",
    )
    yield "deep", b'{"asyncapi": ' + b"[" * 1500
    yield "deep-yaml", b"asyncapi: " + b"[" * 1500
    avro = b"{schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema: {type: record, name: r, fields: []}}"
    yield (
        "avro",
        b"asyncapi: 3.0.0\ninfo: {title: a, version: 1}\nchannels: {c: {messages: {m: {payload: "
        + avro
        + b"}}}}\n",
    )


def _document_seeds() -> Iterable[tuple[str, bytes]]:
    library = _ROOT / "sandbox" / "scenarios" / "library"
    yield "scenario", b"scenario\n" + (library / "08-oversize.yaml").read_bytes()
    mapping = _ROOT / "sandbox" / "adaptor" / "example" / "mapping.yaml"
    yield "mapping", b"mapping\n" + mapping.read_bytes()
    yield "mapping-toml", b'mapping-toml\napplication = "a"\n[source]\nchanges = "http://localhost/{since}"\n'
    yield (
        "integration",
        b'integration\n[systems.s]\nkind = "stream"\n[routes.r]\nfrom = "s"\nto = "s"\n[parameters]\ntries = 3\n',
    )
    yield (
        "topics",
        b"topics\ntopics: [{name: t, message_type: json, key: [/id]}]\nusers: [{name: u, token: t}]\n",
    )
    yield (
        "settings",
        b'settings\n[sandbox]\nseed = 7\nprofile = "embedded"\nretention = "2h"\nfaults = [{type = "duplicate"}]\n',
    )
    yield "topology", b"topology\nstreams: {input: 2}\nbuckets: [a]\nqueues: {q: {durable: true}}\n"
    yield "project", b"project\n[tool.rdss-sandbox]\nseed = 7\n"
    yield "tool", b"project\ntool = 1\n"
    yield "preferences", b'preferences\ntheme = "dark"\n[keys]\nquit = "q"\n[filters]\na = "b"\n'
    yield "deep", b"scenario\n" + b"[" * 1500
    yield "deep-toml", b"settings\na = " + b"[" * 1500
    yield (
        "aliases",
        b"topology\na: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]\n",
    )
    yield "circle", b"scenario\n&a {a: *a}\n"


ASYNCAPI = FuzzedParser("AsyncAPI documents", _open_asyncapi, _asyncapi_seeds)
DOCUMENTS = FuzzedParser(
    "scenarios, integrations, mappings, settings, topologies", _open_documents, _document_seeds
)
