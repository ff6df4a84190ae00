"""A sandbox for tests in a container of the emulator's image.

    from rdss_sandbox.testing import SandboxContainer

    with SandboxContainer(seed=7) as sandbox:
        sandbox.send("one")

The container ends with this process, however that ends: it runs as long as its standard input is open, and
the engine closes that with our connection.
"""

from __future__ import annotations

import io
import os
import socket
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack
from urllib.parse import quote, urlsplit

import msgspec

from rdss_sandbox.client import Client
from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.machine.docker_connection import IMAGE, connect
from rdss_sandbox.machine.installation import explain_missing
from rdss_sandbox.process import RunningSandbox, SandboxNotStartedError
from rdss_sandbox.testing.configuration import Configuration, GivenConfiguration
from rdss_sandbox.testing.processes import REGION, Process
from rdss_sandbox.testing.sandbox import Sandbox
from rdss_sandbox.version import VERSION

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_PORTS: Final = ("aws", "control", "amqp", *(name for name, _ in list_ports()))
_LOOPBACK: Final = "127.0.0.1"
_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 -- within the container, or on an engine elsewhere
_TOKEN_BYTES: Final = 16
_TRIES: Final = 4
_NOT_FOUND: Final = 404
_BEING_REMOVED: Final = 409
_ENVIRONMENT_CODE: Final = 3
_STANDARD_OUTPUT: Final = 1

_UP: Final = (
    *("up", "--json", "--host", _EVERYWHERE, "--region", REGION),
    *("--data-dir", ":memory:", "--amqp", "embedded"),
)
_RUN_WHILE_INPUT_IS_OPEN: Final = (
    'exec 3<&0; (read -r _ <&3; kill -s TERM 1) & exec sandbox "$@" < /dev/null 3<&-'
)
_FOLDER: Final = "/data"
_USER: Final = 10001
"""The user of the image, who must be able to read what is copied into ``/data``."""


class SandboxContainer(Sandbox):
    """``Sandbox`` in a container of ``image``, for the time of a ``with`` block.

    The image is that of ``SANDBOX_IMAGE`` by default, else ``rdss-sandbox:local``, which ``sandbox image``
    builds. Another one that is not on the engine is pulled. The engine is that of the ``docker`` command. The
    ports are published on loopback, and ask for ``token``; an engine that is reached over TCP publishes them
    on its own addresses. Entering raises ``SandboxNotStartedError``, which says what is missing.
    """

    def __init__(self, image: str | None = None, **given: Unpack[GivenConfiguration]) -> None:
        """Raises ``ConfigurationError`` for what no sandbox can have."""
        super().__init__(**given)
        self._image = image or os.environ.get("SANDBOX_IMAGE") or IMAGE
        self._container: Container | None = None

    @property
    def container_id(self) -> str:
        """The id of the container, for commands of ``docker``."""
        if self._container is None:
            raise RuntimeError("the sandbox has not started: use it in a with block")
        return str(self._container.id)

    def _take(self, stack: ExitStack) -> Process:
        with _explained(self._image):
            docker = connect(os.environ)
            stack.callback(docker.close)
            _provide_image(docker, self._image)
            host = urlsplit(docker.api.base_url)
            address = host.hostname if host.scheme in {"http", "https"} else None
            running = self._run(docker, address or _LOOPBACK, stack)
        client = stack.enter_context(Client(running.control, token=running.token))
        if (version := client.version().version) != VERSION:
            raise SandboxNotStartedError(
                f"the image {self._image} has version {version} of the sandbox, and this is {VERSION}; "
                + _how_to_get(self._image),
                _ENVIRONMENT_CODE,
            )
        return Process((), running, client, ExitStack())

    def _run(self, docker: DockerClient, address: str, stack: ExitStack) -> RunningSandbox:
        """Start the container and wait until its sandbox is ready. ``stack`` removes it."""
        from docker.errors import APIError
        from docker.utils.socket import frames_iter

        copied, options = _copy_files(self._configuration)
        words = ("--seed", str(self.seed), "--allow-host", address, *options)
        published_at = _LOOPBACK if address == _LOOPBACK else _EVERYWHERE
        for tries_left in reversed(range(_TRIES)):
            ports = dict(zip(_PORTS, _find_free_ports(len(_PORTS)), strict=True))
            token = os.urandom(_TOKEN_BYTES).hex()
            self._container = container = _create(
                docker,
                self._image,
                (*words, *_write_ports(ports)),
                token,
                {f"{port}/tcp": (published_at, port) for port in ports.values()},
            )
            container.put_archive(_FOLDER, copied)
            stack.callback(_remove, container)
            # Both before the start: a container that ends at once is removed with all that it said.
            stack.callback(_close, container.attach_socket(params={"stdin": 1, "stream": 1}))
            output = container.attach_socket(params={"stdout": 1, "stderr": 1, "stream": 1})
            stack.callback(_close, output)
            try:
                container.start()
            except APIError as error:
                if tries_left and "port" in str(error):  # another process took one of ours
                    continue
                raise
            found = _read_first_line(frames_iter(output, tty=False))  # type: ignore[no-untyped-call]
            urls = {name: f"http://{address}:{port}" for name, port in ports.items()}
            urls["amqp"] = f"amqp://guest:{quote(token, safe='')}@{address}:{ports['amqp']}/%2F"
            of_extensions = {name: urls[name] for name, _ in list_ports()}
            running = {**found, **urls, "ports": of_extensions, "token": token}
            return msgspec.convert(running, RunningSandbox)
        raise AssertionError("the last try returns or raises")


def _create(
    docker: DockerClient, image: str, words: Sequence[str], token: str, ports: dict[str, tuple[str, int]]
) -> Container:
    return docker.containers.create(
        image,
        entrypoint=["bash", "-c", _RUN_WHILE_INPUT_IS_OPEN, "sandbox"],
        command=[*_UP, *words],
        ports=ports,
        environment={"SANDBOX_TOKEN": token},
        healthcheck={"test": ["NONE"]},
        stdin_open=True,
        auto_remove=True,
        read_only=True,
        tmpfs={"/tmp": ""},  # noqa: S108 -- the container's own
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
    )


def _write_ports(ports: dict[str, int]) -> Iterator[str]:
    """The options for ports within the container: those outside, so that the addresses it tells hold here."""
    for name, port in ports.items():
        yield from (f"--{name}-port", str(port))


def _copy_files(configuration: Configuration) -> tuple[bytes, tuple[str, ...]]:
    """A tar file of the topology and the snapshot, and the options for where they are in the container."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        topology = configuration.topology
        if topology is not None and (path := Path(topology)).is_file():
            topology = _add(tar, path, f"topology{path.suffix}")
        if configuration.snapshot is not None:
            folder = tarfile.TarInfo("snapshots")
            folder.type, folder.mode, folder.uid = tarfile.DIRTYPE, 0o700, _USER
            tar.addfile(folder)
            path = Path(configuration.snapshots, f"{configuration.snapshot}.snapshot")
            if path.is_file():
                _add(tar, path, f"snapshots/{path.name}")
    inside = msgspec.structs.replace(configuration, topology=topology, snapshots=f"{_FOLDER}/snapshots")
    return buffer.getvalue(), inside.options


def _add(tar: tarfile.TarFile, path: Path, name: str) -> str:
    """Add a file and return where it will be."""
    content = path.read_bytes()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.uid = len(content), 0o400, _USER
    tar.addfile(entry, io.BytesIO(content))
    return f"{_FOLDER}/{name}"


def _read_first_line(output: Iterable[tuple[int, bytes]]) -> dict[str, Any]:
    """What ``sandbox up --json`` says when it is ready. Raises ``SandboxNotStartedError`` when it ends."""
    out, err = b"", b""
    for stream, data in output:
        out, err = (out + data, err) if stream == _STANDARD_OUTPUT else (out, err + data)
        if b"\n" in out:
            found: dict[str, Any] = msgspec.json.decode(out.partition(b"\n")[0])
            return found
    last = err.decode(errors="replace").strip()[-2000:]
    raise SandboxNotStartedError(last or "the container stopped before it was ready", _ENVIRONMENT_CODE)


def _find_free_ports(count: int) -> list[int]:
    """Ports of this machine that are free now, each another one."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.create_server((_LOOPBACK, 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in found]


def _close(attached: Any) -> None:
    """Close docker's connection to a container, and the socket that it leaves open."""
    connection = getattr(attached, "_sock", None)
    attached.close()
    if connection is not None:
        connection.close()


def _remove(container: Container) -> None:
    from docker.errors import APIError

    try:
        container.remove(force=True, v=True)
    except APIError as error:
        # It ended, and the engine removes it or has done so.
        if error.status_code not in {_NOT_FOUND, _BEING_REMOVED}:
            raise


def _provide_image(docker: DockerClient, image: str) -> None:
    """Pull the image where it is missing, unless it is one that is built here."""
    from docker.errors import ImageNotFound

    try:
        docker.images.get(image)
    except ImageNotFound:
        if image == IMAGE:
            raise
        docker.images.pull(image)


@contextmanager
def _explained(image: str) -> Iterator[None]:
    """Turn the errors of docker into ``SandboxNotStartedError``, which says what to do."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SandboxNotStartedError(explain_missing(error) or str(error), _ENVIRONMENT_CODE) from error
    except Exception as error:
        if output := _explain(error, image):
            raise SandboxNotStartedError(output, _ENVIRONMENT_CODE) from error
        raise


def _explain(error: Exception, image: str) -> str | None:
    """What an error of docker or of its socket means; None for another one."""
    from docker.errors import APIError, DockerException, ImageNotFound

    # The engine's refusals are OSErrors too: requests has them so.
    if isinstance(error, ImageNotFound) and image == IMAGE:
        return f"the engine has no image {image}; {_how_to_get(image)}"
    if isinstance(error, APIError):
        why = str(error.explanation or error).splitlines()[0]
        return f"the engine gives no container of {image}: {why}"
    if isinstance(error, DockerException | OSError):
        remedy = "start it: Docker Desktop, or sudo systemctl start docker; DOCKER_HOST says where it is"
        why = str(error).splitlines()[0]
        return f"no Docker engine answers: {why}; {remedy}, and Sandbox needs none"
    return None


def _how_to_get(image: str) -> str:
    return "build it with: sandbox image" if image == IMAGE else f"try: docker pull {image}"
