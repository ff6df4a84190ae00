"""What the compose profile hands to its containers."""

from __future__ import annotations

from pathlib import Path

import msgspec
import yaml

from emulator.settings.settings import read_settings
from sandbox.profiles import compose_profile
from schemas.asyncapi.load import load_contract
from tests.schemas.asyncapi.documents import ORDERS_TEXT
from tests.taken_out import needs

STACK = Path(__file__).parents[3] / "compose" / "compose.yaml"


@needs("queues", "topics")
def test_topics_and_queues_are_reached_where_the_stack_maps_them(tmp_path: Path) -> None:
    """Their ports are the same within and without, and written down for the commands."""
    settings = read_settings({"topics_port": 19007, "queues_port": 18888}, {}, tmp_path)
    variables = compose_profile._variables(settings, "stack", tmp_path)
    described = compose_profile._describe(settings, "stack", variables)
    assert described.ports == {"queues": "http://127.0.0.1:18888", "topics": "http://127.0.0.1:19007"}
    emulator = yaml.safe_load(STACK.read_text())["services"]["emulator"]
    for name, usual in (("TOPICS", 9007), ("QUEUES", 8888)):
        port = f"${{SANDBOX_{name}_PORT:-{usual}}}"
        assert emulator["environment"][f"SANDBOX_{name}_PORT"] == port
        assert f"127.0.0.1:{port}:{port}" in emulator["ports"]


@needs("topics")
def test_a_file_of_topics_goes_into_the_container(tmp_path: Path) -> None:
    """Whatever it is written in, the emulator in the container reads the same from it."""
    from extensions.topics.topic_configuration import TopicConfiguration, read_configuration

    (tmp_path / "topics.toml").write_text(
        '[[topics]]\nkind = "queue"\nname = "work"\n[[users]]\nname = "ada"\ntoken = "t"\n'
    )
    settings = read_settings({"topics": "topics.toml"}, {}, tmp_path)
    variables = compose_profile._variables(settings, "stack", tmp_path)
    written = Path(variables["SANDBOX_TOPICS_FILE"])
    assert read_configuration(written) == read_configuration(settings.find("topics"))
    assert msgspec.json.decode(written.read_bytes(), type=TopicConfiguration).users[0].name == "ada"
    mounted = yaml.safe_load(STACK.read_text())["services"]["emulator"]["volumes"]
    assert f"${{SANDBOX_TOPICS_FILE:-/dev/null}}:{variables['SANDBOX_TOPICS']}:ro" in mounted


def test_a_document_goes_into_the_containers_with_what_it_refers_to(tmp_path: Path) -> None:
    """At the same places to each other, readable by others, and nothing else of the folders; written down."""
    shared, own, state = (tmp_path / name for name in ("shared", "orders", "state"))
    for each in (shared, own, state):
        each.mkdir()
    (own / "asyncapi.yaml").write_text(ORDERS_TEXT + "        to: {$ref: ../shared/address.yaml}\n")
    (shared / "address.yaml").write_text("type: string\n")
    (shared / "private.yaml").write_text("no part of it\n")
    settings = read_settings({"contract": "asyncapi.yaml"}, {}, own)
    variables = compose_profile._variables(settings, "stack", state)
    folder = Path(variables["SANDBOX_CONTRACT_FOLDER"])
    place = Path(variables["SANDBOX_CONTRACT"]).relative_to("/etc/sandbox/contract")
    assert load_contract(folder / place).kinds == load_contract(own / "asyncapi.yaml").kinds
    assert sorted(each.name for each in folder.rglob("*.yaml")) == ["address.yaml", "asyncapi.yaml"]
    assert all(each.stat().st_mode & 0o5 for each in folder.rglob("*"))
    assert compose_profile._describe(settings, "stack", variables).contract == str(own / "asyncapi.yaml")
    services = yaml.safe_load(STACK.read_text())["services"]
    for name in ("emulator", "pipeline", "spark-worker"):
        assert "${SANDBOX_CONTRACT_FOLDER:-/dev/null}:/etc/sandbox/contract:ro" in services[name]["volumes"]
        assert services[name]["environment"]["SANDBOX_CONTRACT"] == "${SANDBOX_CONTRACT:-}"
