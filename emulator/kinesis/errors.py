"""Errors of the stream engine, with the codes and the wording of AWS."""

from __future__ import annotations


class KinesisError(Exception):
    """An error that AWS would answer: ``code`` (the exception's name), ``message`` and HTTP ``status``."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


class NotFastError(Exception):
    """A fast path cannot judge a request: the caller takes the full path."""


def invalid_argument(message: str) -> KinesisError:
    return KinesisError("InvalidArgumentException", message)


def validation(message: str) -> KinesisError:
    return KinesisError("ValidationException", message)


def limit_exceeded(message: str) -> KinesisError:
    return KinesisError("LimitExceededException", message)


def in_use(message: str) -> KinesisError:
    return KinesisError("ResourceInUseException", message)


def not_found(message: str) -> KinesisError:
    return KinesisError("ResourceNotFoundException", message)


def throughput_exceeded(message: str) -> KinesisError:
    return KinesisError("ProvisionedThroughputExceededException", message)


def internal_failure(reason: str) -> KinesisError:
    return KinesisError("InternalFailure", reason, 500)


def stream_not_found(name: str, account: str) -> KinesisError:
    return not_found(f"Stream {name} under account {account} not found.")


def shard_not_found(shard: str, stream: str, account: str) -> KinesisError:
    return not_found(f"Could not find shard {shard} in stream {stream} under account {account}.")


def no_such_shard(shard: str, stream: str, account: str) -> KinesisError:
    """The wording of GetShardIterator and SubscribeToShard."""
    return not_found(f"Shard {shard} in stream {stream} under account {account} does not exist")
