"""The parameters that several endpoints have."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

Matching: TypeAlias = Annotated[str, Meta(extra={"sent_as": "filter"})]
"""A filter of messages or of topics; in the query its name is ``filter``."""
Position: TypeAlias = Annotated[int, Meta(ge=0)]
Limit: TypeAlias = Annotated[int, Meta(ge=0, le=1000)]
SomeLimit: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
"""As ``Limit``, where no results cannot be wanted."""
EventLimit: TypeAlias = Annotated[int, Meta(ge=0, le=10_000)]
Number: TypeAlias = Annotated[int, Meta(ge=0, lt=10**18)]
"""The number of an asynchronous message."""
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=86_400)]
Id: TypeAlias = Annotated[int, Meta(ge=0, lt=10**18, extra={"sent_as": "id"})]
"""The number of a message or of a run; in the path its name is ``id``."""
