"""The errors that stop a run, each with one line for a person."""

from __future__ import annotations

import re

from sandbox.pipeline.sources.stream_source import find_stream_source

_KNOWN_ERROR = re.compile(
    r"(?P<kind>DataLossError|KinesisSourceError|ServiceError|BucketSourceError|ClientError|EndpointConnectionError"
    r"|AnotherRunError|UsageError|PipelineFailedError)"
    r": (?P<said>[^\n]+)"
)
_UNREACHABLE = re.compile(
    r"ConnectionError|EndpointConnection|MaxRetryError|ResourceNotFound|NoSuchBucket|credentials"
)


class PipelineFailedError(RuntimeError):
    """The run cannot continue. Committed batches stay, and the same run can be started again."""


class UnavailableError(PipelineFailedError):
    """An endpoint, a stream, a bucket or a package that the run needs is missing."""


class WorkerLostError(UnavailableError):
    """A Python process of Spark died, or did not start within Spark's time limit."""


class UsageError(PipelineFailedError):
    """The user's input is not valid: a statement, an option or a place."""


def describe_failure(error: Exception) -> PipelineFailedError:
    """Find the pipeline's error in an exception of Spark, which holds it as text."""
    text, source = str(error), find_stream_source()
    if source is not None and source.has_lost_python(error):
        return WorkerLostError(
            "a Python process of Spark's died or did not start in time: "
            "the machine is too busy, or has too little memory"
        )
    found = _KNOWN_ERROR.search(text)
    sentence = found["said"].strip() if found else (text.strip() or type(error).__name__).splitlines()[0]
    kind = found["kind"] if found else ""
    if _UNREACHABLE.search(f"{kind}: {sentence}"):
        return UnavailableError(sentence)
    if kind in {"KinesisSourceError", "BucketSourceError", "AnotherRunError", "UsageError"}:
        return UsageError(sentence)
    return PipelineFailedError(sentence)
