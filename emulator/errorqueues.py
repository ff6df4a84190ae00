"""The error queue and the invalid queue, each into its bucket."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from emulator.archive.lambda_loader import Loader, s3_of
from schemas.error_codes import Queue


@cache
def _deployed() -> Loader:
    environment = os.environ
    buckets = {
        Queue.ERROR.value: environment["ERROR_BUCKET"],
        Queue.INVALID.value: environment["INVALID_BUCKET"],
    }
    return Loader(buckets, s3_of(environment), prefix=environment.get("QUEUE_PREFIX", ""))


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """The entry point on AWS Lambda; ERROR_BUCKET, INVALID_BUCKET and QUEUE_PREFIX are its settings.

    A record's stream, by its name ``error`` or ``invalid``, says which bucket it goes to.
    """
    return _deployed()(event, context)
