"""What stops a run, as one line for a person; ``failure_of`` finds it in what Spark makes of it."""

from __future__ import annotations

import re

_OURS = re.compile(
    r"(?P<kind>DataLossError|KinesisSourceError|ServiceError|BucketSourceError|ClientError|EndpointConnectionError)"
    r": (?P<said>[^\n]+)"
)
_UNREACHABLE = re.compile(
    r"ConnectionError|EndpointConnection|MaxRetryError|ResourceNotFound|NoSuchBucket|credentials"
)
_LATE = "Python worker failed to connect back"


class PipelineFailedError(RuntimeError):
    """The run cannot go on; what was committed stays, and the same run can be started again."""


class UnavailableError(PipelineFailedError):
    """Something that the run needs is not there: an endpoint, a stream, a bucket, a package."""


class WorkerLateError(UnavailableError):
    """A Python process of Spark's did not start in the time that Spark gives it."""


class UsageError(PipelineFailedError):
    """What was asked for makes no sense: a statement, an option, a place."""


def failure_of(error: BaseException) -> PipelineFailedError:
    """The error that a person should see for one of Spark's."""
    text = str(error)
    if _LATE in text:
        return WorkerLateError("a Python process of Spark's did not start in time: the machine is too busy")
    found = _OURS.search(text)
    said = found["said"].strip() if found else (text.strip() or type(error).__name__).splitlines()[0]
    kind = found["kind"] if found else ""
    if _UNREACHABLE.search(f"{kind}: {said}"):
        return UnavailableError(said)
    if kind in {"KinesisSourceError", "BucketSourceError"}:
        return UsageError(said)
    return PipelineFailedError(said)
