"""The infrastructure of a relaying sandbox: any AWS endpoint that runs already, or AWS itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from emulator.assembly.foundation import Foundation
from emulator.assembly.own_infrastructure import Infrastructure, UpstreamFailedError
from emulator.assembly.own_services import OwnServices
from emulator.buckets.moto_buckets import MotoBuckets
from emulator.diagnosis.recorder import Recorder
from emulator.diagnosis.upstream_places import UpstreamPlaces
from emulator.events import Events
from emulator.kinesis import Scope
from emulator.relay.aws.bucket_notifications import BucketNotifications
from emulator.relay.aws.buckets import UpstreamBuckets
from emulator.relay.aws.endpoints import AccountEndpoints, AwsEndpoints, Endpoint, Endpoints, OneEndpoint
from emulator.relay.aws.relay_app import RelayApp
from emulator.relay.aws.relay_backend import RelayBackend
from emulator.relay.aws.signing import CredentialsMissingError, environment_credentials, fixed_credentials
from emulator.relay.aws.traffic_watch import Traffic
from emulator.relay.aws.upstream_streams import UpstreamStreams
from emulator.settings.settings import Settings
from emulator.streams.wiretap import Wiretap

if TYPE_CHECKING:
    from botocore.credentials import Credentials

    from emulator.listeners.aws.moto_services import MotoServices
    from emulator.listeners.aws.service_access import ServiceAccess


_SECRET = "sandbox"  # noqa: S105 -- emulators take any


@contextmanager
def upstream_infrastructure(foundation: Foundation) -> Iterator[Infrastructure]:
    """Use the upstream that the settings name. Raises ``UpstreamFailedError`` and ``OtherVersionError``.

    Nothing about it is stored between starts, since the next start may have another upstream. In front of an
    upstream of its own the sandbox answers S3 itself: LocalStack would forget what users put.
    """
    settings, clock, home = foundation.settings, foundation.clock, foundation.home
    signs = settings.profile == "aws"
    credentials = _find_credentials(home, signs=signs)
    endpoints: Endpoints
    if settings.upstream_aws is None:
        endpoints = AwsEndpoints(credentials)
    else:
        endpoints = OneEndpoint(settings.upstream_aws, credentials if signs else None)
    accounts = AccountEndpoints(settings.upstream_aws or "")

    def endpoint_of(scope: Scope) -> Endpoint:
        # An emulator does not verify signatures, but reads the account and region in them.
        return endpoints.of("kinesis", scope.region) if signs else accounts.of(scope)

    connect = _client_factory(settings, credentials)
    streams = UpstreamStreams(connect("kinesis"), home)
    where = settings.upstream_aws or "AWS"
    traffic = Traffic(streams.note_puts, streams.forget_listings)
    backend = RelayBackend(endpoint_of, traffic)
    own = None
    if settings.upstream_owned and settings.upstream_aws is not None:
        own = OwnS3(OwnServices(foundation), settings.upstream_aws, foundation.events)
    buckets: MotoBuckets | UpstreamBuckets = (
        own.services.buckets if own else UpstreamBuckets(connect("s3"), home.region)
    )
    recorder = Recorder(clock, Wiretap(clock, traffic.stream_of_iterator), UpstreamPlaces(clock))

    def notes() -> tuple[str, ...]:
        counted = f"relaying to {where}: records are counted as they are read"
        bucket_trouble = buckets.trouble if isinstance(buckets, UpstreamBuckets) else None
        troubles = [trouble for trouble in (streams.trouble, bucket_trouble) if trouble]
        return (counted, *(f"trouble with {where}: {trouble}" for trouble in troubles))

    streams.streams(home)
    if streams.trouble:
        raise UpstreamFailedError(
            f"{where} cannot be used: {streams.trouble}; is it running, and the address right?"
        )
    try:
        yield Infrastructure(
            streams=streams,
            buckets=buckets,
            backend=backend,
            finish=lambda _name, _scope: None,
            unlimited=nullcontext,
            stream_of_iterator=traffic.stream_of_iterator,
            app=partial(
                RelayApp,
                endpoints,
                backend,
                traffic,
                events=foundation.events,
                own_s3=own.build if own else None,
                recorder=recorder,
            ),
            set_endpoint=own.services.set_endpoint if own else lambda _url, _token: None,
            notes=notes,
            index=None,
            positions=None,
            owned=settings.upstream_owned,
            recorder=recorder,
        )
    finally:
        endpoints.close()
        accounts.close()
        (own or buckets).close()
        streams.close()


def _find_credentials(home: Scope, *, signs: bool) -> Credentials:
    try:
        return environment_credentials() if signs else fixed_credentials(home.account, _SECRET)
    except CredentialsMissingError as error:
        raise UpstreamFailedError(str(error)) from error


def _client_factory(settings: Settings, credentials: Credentials) -> Callable[[str], Any]:
    """A function that makes the upstream's boto3 client of a service."""
    import boto3
    from botocore.config import Config

    frozen = credentials.get_frozen_credentials()
    session: Any = boto3.Session(region_name=settings.region)
    if settings.profile != "aws":
        session = boto3.Session(frozen.access_key, frozen.secret_key, region_name=settings.region)
    style: Any = {"addressing_style": "path"} if settings.upstream_aws else {}
    config = Config(
        s3=style, connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 3, "mode": "standard"}
    )
    return lambda service: session.client(service, endpoint_url=settings.upstream_aws, config=config)


class OwnS3:
    """moto's S3 with its objects in the data directory; buckets notify the queues of ``upstream``."""

    def __init__(self, services: OwnServices, upstream: str, events: Events) -> None:
        self.services = services
        self._notifications = BucketNotifications(upstream, events)
        self._events = events

    def build(self, access: ServiceAccess) -> MotoServices:
        """Build what answers requests. moto is imported at the first of them."""
        from emulator.listeners.aws.moto_services import MotoServices

        services = self.services
        return MotoServices(self._events, self._prepare, services.calls, services.keep, access)

    def close(self) -> None:
        self._notifications.close()
        self.services.close()

    def _prepare(self) -> None:
        self.services.buckets.prepare()
        self._notifications.install()
