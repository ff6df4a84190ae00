"""A check that an S3 store honours conditional puts, which is all that keeps a commit from being lost.

A commit of a Delta table is a put of its next log file with ``If-None-Match: *``. A store that does not know
this condition lets a second writer replace the first one's commit, and neither learns of it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from emulator.rng import new_uuid
from sandbox.pipeline.spark.failures import UnavailableError, UsageError

if TYPE_CHECKING:
    from sandbox.pipeline.storage.table_storage import TableStorage

_REFUSED = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
_UNKNOWN = {"NotImplemented", "501"}


class UnsafeStoreError(UsageError):
    """Two writers of this store could replace each other's commits."""


def require_conditional_puts(place: TableStorage) -> None:
    """Put an object twice on the condition that it is new. Raises UnsafeStoreError unless one is refused.

    A folder needs no check. Raises UnavailableError when nothing can be put.
    """
    if not place.remote:
        return
    from botocore.exceptions import BotoCoreError, ClientError

    client = place.client()
    bucket, _, prefix = place.root.partition("/")
    key = f"{prefix}/_conditional-put-{new_uuid()}".lstrip("/")
    try:
        client.put_object(Bucket=bucket, Key=key, Body=b"", IfNoneMatch="*")
        client.put_object(Bucket=bucket, Key=key, Body=b"", IfNoneMatch="*")
    except ClientError as error:
        code, text = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        if code in _REFUSED:
            return
        if code not in _UNKNOWN:
            raise UnavailableError(f"{place.uri} cannot be written: {code}: {text}") from None
    except BotoCoreError as error:
        raise UnavailableError(f"{place.uri} cannot be written: {error}") from None
    finally:
        with suppress(ClientError, BotoCoreError):
            client.delete_object(Bucket=bucket, Key=key)
    raise UnsafeStoreError(
        f"{place.uri} is in a store without conditional puts (If-None-Match), where two runs could replace "
        "each other's commits: write to a folder, or to another store"
    )
