"""The sandbox's own buckets in moto, which exist from S3's first request on, and a client for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from emulator.buckets.objects.bodies import Bodies
from emulator.buckets.objects.in_moto import keep_bodies
from emulator.channels.aws_session import sealed_session
from emulator.channels.checkpoints import Checkpoints, MemoryCheckpoints
from emulator.clock import Clock
from emulator.journal import payloads_of
from emulator.kinesis import Scope
from rdss_sandbox.files.record_lines import payload_spans

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_s3 import S3Client

OWN_AGENT: Final = "rdss-sandbox-archives"
"""What the archives' requests have in their ``User-Agent``: what they put is made again from the streams."""


class MotoBuckets:
    """The wanted buckets. They are made at S3's first request, for which moto is imported.

    ``bodies`` has the bodies of the archives' objects, on disk in ``directory``, by default where temporary
    files are. Objects are dated by ``clock``. ``trust`` is the authority of the endpoint's certificate, where
    it has one. ``forget`` removes what is stored of all of moto's services, which answer no request while
    they are ``held``.
    """

    def __init__(
        self,
        home: Scope,
        clock: Clock,
        directory: Path | None = None,
        names: Iterable[str] = (),
        trust: Path | None = None,
    ) -> None:
        self._home = home
        self._clock = clock
        self.bodies = Bodies(
            directory, payloads=payloads_of(directory) if directory else None, find=payload_spans
        )
        self._names = list(dict.fromkeys(names))
        self.started = False
        self._made = False
        self.forget: Callable[[], None] = lambda: None
        self.held: Callable[[], AbstractContextManager[None]] = nullcontext
        self._lock = threading.RLock()
        self._client: S3Client | None = None
        self._trust = trust
        self.endpoint = ""
        self.token: str | None = None

    def want(self, names: Iterable[str]) -> tuple[str, ...]:
        """Add buckets to the wanted ones, and return those that are new."""
        with self._lock:
            new = tuple(name for name in dict.fromkeys(names) if name not in self._names)
            self._names.extend(new)
            if self._made:
                self._make()
        return new

    def prepare(self) -> None:
        """Let moto keep bodies on disk. Called when moto is imported, before its first answer."""
        with self._lock:
            self.started = True
            keep_bodies(self.bodies, self._clock, self._home.account)

    def make(self) -> None:
        """Make the buckets that are missing. Called before S3's first answer."""
        with self._lock:
            self._made = True
            self._make()

    def empty(self) -> None:
        """Remove every bucket and object, and moto's other data, and make the buckets again."""
        with self.held():
            self.forget_all()
            with self._lock:
                if self._made:
                    self._make()

    def forget_all(self) -> None:
        """Remove everything of moto's services. Buckets that shall exist are made when S3 is used."""
        with self._lock:
            if self.started:
                _forget_all()
        # Without the lock: a service that is opened meanwhile waits for it, and this for the service.
        self.forget()

    def loaded(self, _name: str, _began: Callable[[str], int]) -> Checkpoints:
        """New checkpoints: these buckets end with the process, so each process loads from the start."""
        return MemoryCheckpoints()

    def close(self) -> None:
        """Remove everything. The next emulator of this process would find it, as moto's state is global."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            if self.started:
                _forget_all()
            self.bodies.close()

    def client(self) -> S3Client:
        """A boto3 client of the AWS ``endpoint``; boto3 is imported at the first call."""
        with self._lock:
            if self._client is None:
                from botocore.config import Config

                self._client = _s3_session().client(
                    "s3",
                    endpoint_url=self.endpoint,
                    region_name=self._home.region,
                    aws_access_key_id=self._home.account,
                    aws_secret_access_key="sandbox",  # noqa: S106 -- the sandbox verifies no signature
                    aws_session_token=self.token,
                    verify=str(self._trust) if self._trust else None,
                    config=Config(
                        s3={"addressing_style": "path"},
                        retries={"max_attempts": 2},
                        user_agent_extra=OWN_AGENT,
                    ),
                )
            return self._client

    def _make(self) -> None:
        from moto.s3.models import s3_backends

        backend = s3_backends[self._home.account]["aws"]
        for name in self._names:
            if name not in backend.buckets:
                backend.create_bucket(name, self._home.region)


def _s3_session() -> boto3.Session:
    """A session that knows the endpoints of S3 alone. Those of all services take 7 MB of memory."""
    import boto3
    from botocore.loaders import create_loader

    descriptions: Any = create_loader()
    for partition in descriptions.load_data("endpoints")["partitions"]:
        partition["services"] = {"s3": partition["services"]["s3"]}
    session = sealed_session()
    session.register_component("data_loader", descriptions)
    return boto3.Session(botocore_session=session)


def _forget_all() -> None:
    from moto.moto_api._internal.models import moto_api_backend

    moto_api_backend.reset()
