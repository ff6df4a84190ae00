"""The Helm chart: what it makes, as Helm itself renders it, and that this is a sandbox which answers."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from functools import reduce
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml

from tests.deploy.conftest import TOKEN
from tests.docs.pages import blocks
from tests.docs.settings_page import of_sandbox
from tests.real_clients.install import HELM, python_environment
from tests.taken_out import needs

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "deploy" / "chart"
PAGE: Final = ROOT / "docs" / "how-to" / "server.md"
_RENDER: Final = Path(__file__).with_name("rendered_chart.py")
_KUBERNETES: Final = ("1.25", "1.31", "1.37")
# The environment with Helm is made by whoever is first.
pytestmark = pytest.mark.xdist_group("helm")
_SET_BY_THE_CHART: Final = {"token", "host"}


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / name).read_text(encoding="utf-8"))
    return found


def test_every_setting_can_be_a_value_but_those_that_the_chart_sets() -> None:
    """So a setting that is spelt wrong is refused by Helm, and a new one is not forgotten."""
    named = _read("values.schema.json")["properties"]["settings"]["propertyNames"]["enum"]
    ports = {name for name in of_sandbox() if name.endswith("_port")}
    assert {*named} == of_sandbox().keys() - ports - _SET_BY_THE_CHART


def test_its_ports_and_its_version_are_the_images() -> None:
    text = (CHART / "templates" / "_labels.tpl").read_text(encoding="utf-8")
    (exposed,) = re.findall(r"^EXPOSE (.*)$", (ROOT / "compose" / "Dockerfile").read_text(), re.MULTILINE)
    (hub,) = re.findall(r"http://HUB:(\d+)/seat", (ROOT / "docs/how-to/hub.md").read_text(encoding="utf-8"))
    assert sorted(re.findall(r"^\w+: (\d+)$", text, re.MULTILINE)) == sorted([*exposed.split(), hub])
    assert {_read("Chart.yaml")[each] for each in ("version", "appVersion")} == {version("rdss-sandbox")}


def test_the_page_on_scale_counts_with_what_the_chart_asks_for() -> None:
    """A thousand pods, by the requests and the limit of values.yaml."""
    page = (ROOT / "docs" / "explanation" / "scale.md").read_text(encoding="utf-8")
    asked, most = (_read("values.yaml")["resources"][each] for each in ("requests", "limits"))
    cores, memory = int(asked["cpu"].removesuffix("m")), int(asked["memory"].removesuffix("Mi"))
    assert f"asks for {cores} thousandths of a core and {memory} MiB" in page
    assert f"which are {cores} cores and {memory * 1000 / 1024:.0f} GiB for a thousand" in page
    assert f"bounds each at {most['memory'].removesuffix('Mi')} MiB" in page


def _ask_helm(**values: object) -> subprocess.CompletedProcess[str]:
    python = python_environment("helm", *HELM) / "python"
    command = [python, _RENDER, CHART, json.dumps(values), *_KUBERNETES]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def _render(**values: object) -> dict[str, Any]:
    """The manifests by their kinds, which Kubernetes' schemas accept."""
    ran = _ask_helm(token=TOKEN, **values)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def _pod(found: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = found["StatefulSet"]["spec"]["template"]["spec"]
    return pod


@pytest.mark.real_client
def test_it_makes_what_kubernetes_takes() -> None:
    """With its own values, and with all that can be said; the number of the pull request is on everything."""
    assert _render().keys() == {"Secret", "Service", "NetworkPolicy", "StatefulSet", "Notes"}
    found = _render(
        pullRequest=123,
        files={"topology.json": '{"streams": {"orders": 2}}'},
        settings={"topology": "/etc/sandbox/topology.json", "seed": 4_123_456_789, "fsync": True},
        pullSecrets=[{"name": "of-the-team"}],
        persistence={"storageClass": "fast"},
        networkPolicy={"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]},
        service={"type": "NodePort"},
    )
    notes = found.pop("Notes")
    assert "port-forward service/pr-123 4566 4570" in notes
    assert found.keys() == {"Secret", "ConfigMap", "Service", "NetworkPolicy", "StatefulSet"}
    labels = [each["metadata"]["labels"]["rdss-sandbox/pull-request"] for each in found.values()]
    assert labels == ["123"] * 5
    (container,) = _pod(found)["containers"]
    given = {each["name"]: each.get("value") for each in container["env"]}
    assert given["SANDBOX_SEED"] == "4123456789"
    assert given["SANDBOX_FSYNC"] == "true"


def _read_values(line: str) -> dict[str, Any]:
    """The values that the options ``--set`` of a line with ``helm`` give."""
    values: dict[str, Any] = {}
    for word, value in pairwise(shlex.split(line)):
        if word == "--set":
            name, _, given = value.partition("=")
            *above, last = name.split(".")
            reduce(lambda place, each: place.setdefault(each, {}), above, values)[last] = yaml.safe_load(
                given
            )
    return values


@pytest.mark.real_client
def test_the_values_of_the_page_are_taken() -> None:
    """Those of the lines with ``helm upgrade`` in docs/how-to/server.md."""
    texts = (each.text.replace("\\\n", " ").partition("\n")[0] for each in blocks(PAGE))
    one, hub = (_read_values(each) for each in texts if each.startswith("helm upgrade"))
    assert one.pop("token") == hub.pop("token") == "$SANDBOX_TOKEN"
    found = _render(**one)
    assert "volumeClaimTemplates" not in found["StatefulSet"]["spec"]
    assert found["Service"]["metadata"]["labels"]["rdss-sandbox/pull-request"] == "123"
    assert _pod(_render(**hub))["containers"][0]["args"][0] == "hub"


@pytest.mark.real_client
def test_nothing_can_be_written_but_two_folders_and_nobody_is_root() -> None:
    """What Kubernetes' restricted standard asks for, and a root file system that is read."""
    pod = _pod(_render())
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"]
    # Else a service of the name sandbox-aws would be the setting SANDBOX_AWS_PORT.
    assert not pod["enableServiceLinks"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {each["mountPath"] for each in container["volumeMounts"]} == {"/data", "/tmp"}
    assert "useradd --uid 10001" in (ROOT / "compose" / "Dockerfile").read_text(encoding="utf-8")


@pytest.mark.real_client
def test_a_pull_requests_data_goes_with_its_pod() -> None:
    """Where nothing is to be kept, no claim is left behind."""
    kept, gone = _render(), _render(persistence={"enabled": False})
    (claim,) = kept["StatefulSet"]["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "data"
    assert "volumeClaimTemplates" not in gone["StatefulSet"]["spec"]
    assert {"name": "data", "emptyDir": {"sizeLimit": "2Gi"}} in _pod(gone)["volumes"]


@pytest.mark.real_client
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "every port asks for a token: --set token=..."),
        ({"token": "a", "settings": {"sed": 7}}, "invalid propertyName 'sed'"),
        ({"token": "a", "colour": "red"}, "additional properties 'colour' not allowed"),
        ({"token": "a", "persistence": {"size": "much"}}, "'much' does not match pattern"),
        ({"token": "a", "networkPolicy": {"from": []}}, "minItems: got 0, want 1"),
    ],
)
def test_helm_refuses_what_would_not_work(values: dict[str, Any], said: str) -> None:
    """Before anything is made; a policy for nobody in particular would let everybody in."""
    ran = _ask_helm(**values)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert said in ran.stderr


@pytest.mark.real_client
@needs("hub")
def test_a_hub_of_the_chart_is_ready_and_knows_its_people(
    start: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """It begins with the people of the values, once: what the hub has written since stays."""
    people = '[people.anna]\ntoken = "of-anna"\n'
    found = _render(hub={"enabled": True, "people": people}, settings={"seed": 7})
    assert [each["port"] for each in found["Service"]["spec"]["ports"]] == [5672, 4580]
    assert "sandbox hub add anna" in found["Notes"]
    (first,), (container,) = (_pod(found)[each] for each in ("initContainers", "containers"))
    assert first["securityContext"] == container["securityContext"]
    (tmp_path / "people.toml").write_text(found["Secret pr-123-people"]["stringData"]["people.toml"])
    shell = first["command"][-1].replace("/run/people", str(tmp_path)).replace("/data", f"{tmp_path}/data")
    (tmp_path / "data").mkdir()
    for written in (people, f"{people}# and more\n"):
        subprocess.run([*first["command"][:-1], shell], check=True)
        assert (tmp_path / "data" / "people.toml").read_text() == written
        (tmp_path / "data" / "people.toml").write_text(f"{people}# and more\n")
    arguments = [each.replace("/data", f"{tmp_path}/data") for each in container["args"]]
    variables = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    secret = {"SANDBOX_TOKEN": TOKEN, "TMPDIR": str(tmp_path)}
    running = start([*arguments, "--port", "0"], {**variables, **secret}, tmp_path / "data")
    probe = container["readinessProbe"]["httpGet"]
    headers = {each["name"]: each["value"] for each in probe["httpHeaders"]}
    with httpx.Client(base_url=running["control"]) as kubelet:
        assert kubelet.get(probe["path"], headers=headers).status_code == 200
        asked = {"authorization": "Bearer of-anna"}
        assert kubelet.get("/seat/anna/status", headers=asked).json()["seed"] == 7


@pytest.mark.real_client
@pytest.mark.parametrize("tls", [False, True])
def test_what_the_container_runs_is_ready_by_its_probe(
    start: Callable[..., dict[str, Any]], tmp_path: Path, *, tls: bool
) -> None:
    """Its arguments and variables as rendered: a sandbox with these settings that the probes find healthy."""
    settings = {"seed": 7, "faults": '[{"type": "duplicate"}]'} | ({"tls": "self-signed"} if tls else {})
    found = _render(settings=settings)
    (container,) = _pod(found)["containers"]
    variables = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    secret = {"SANDBOX_TOKEN": found["Secret"]["stringData"]["token"], "TMPDIR": str(tmp_path)}
    running = start(container["args"], {**variables, **secret}, tmp_path)
    probe = container["readinessProbe"]["httpGet"]
    headers = {each["name"]: each["value"] for each in probe["httpHeaders"]}
    assert probe["scheme"].lower() == running["control"].partition(":")[0]
    with httpx.Client(base_url=running["control"], verify=False) as kubelet:
        assert kubelet.get(probe["path"], headers=headers).status_code == 200
        assert kubelet.get(probe["path"], headers={"Host": "10.0.0.7:4570"}).status_code == 403
        assert kubelet.get("/status", headers=headers).status_code == 401
        status = kubelet.get("/status", headers={"authorization": f"Bearer {TOKEN}"}).json()
        faults = kubelet.get("/faults", headers={"authorization": f"Bearer {TOKEN}"}).json()
    assert status["seed"] == 7
    assert [each["type"] for each in faults["faults"]] == ["duplicate"]
