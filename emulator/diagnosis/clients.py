"""Who is calling: the identity of a client, from what its requests say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

CONTROL_API: Final = ""
"""The name of who puts a record through the control API: a test or a trainer, and no client."""

_APPLICATION = re.compile(r"(?:^|\s)app/(\S+)")
_KCL = re.compile(r"amazon-kinesis-client(?:-library-java)?", re.IGNORECASE)
"""The KCL without its version: what stands behind its name differs from call to call of one worker."""
_AIOBOTOCORE = re.compile(r"aiobotocore/\S+")
# A client says of itself what it likes, and names stand in events and tables.
_LONGEST = 80


class Identity(NamedTuple):
    """What tells clients apart. ``agent`` is the SDK; ``consumer`` the ARN of a registered consumer.

    A client of AMQP has the name of its user as ``access_key``, and of its connection as ``application``.
    """

    access_key: str
    application: str
    agent: str
    consumer: str = ""

    @property
    def name(self) -> str:
        """A name for people: ``my-consumer (Boto3/1.40.0)``, and for fan-out the consumer's name."""
        if self.consumer:
            return name_consumer(self.consumer.rpartition("/")[2].partition(":")[0])
        key = "/".join(filter(None, (self.access_key, self.application))) or "anonymous"
        return f"{key} ({self.agent})" if self.agent else key


def name_consumer(consumer: str) -> str:
    """The name of a client that is a registered consumer."""
    return f"{consumer} (consumer)"


def identify(access_key: str, user_agent: str, consumer: str = "") -> Identity:
    """Read the identity from an access key's id and a User-Agent header.

    Of the header only the SDK and the application id count: the rest may differ from call to call.
    """
    application = _APPLICATION.search(user_agent)
    library = _KCL.search(user_agent) or _AIOBOTOCORE.search(user_agent)
    agent = library[0] if library else user_agent.partition(" ")[0]
    return Identity(
        access_key[:_LONGEST], application[1][:_LONGEST] if application else "", agent[:_LONGEST], consumer
    )


def identify_amqp(properties: Mapping[str, object], user: str) -> Identity:
    """Read the identity from the properties with which a client of AMQP logs in, and its user."""
    application = str(properties.get("connection_name") or "")
    words = [str(properties.get(name) or "") for name in ("product", "version")]
    return Identity(user[:_LONGEST], application[:_LONGEST], "/".join(filter(None, words))[:_LONGEST])
