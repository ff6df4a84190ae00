"""Topics, their records and changes, the entitlements, and the sandboxes downstream."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.api.endpoint import GET, PUT, Mode, Subject
from rdss_sandbox.api.parameters import Limit, Matching, Position
from rdss_sandbox.shapes.topics import (
    OBJECTS,
    Access,
    Downstream,
    DownstreamList,
    Topic,
    TopicChangePage,
    TopicLink,
    TopicLinkList,
    TopicList,
    TopicRecordPage,
)

_BAD_QUERY: Final = {"bad_topic_query": 400}


class Topics(Subject[Mode], at="/topics"):
    """Topics, their records and changes, the entitlements, and the sandboxes downstream."""

    @GET("", TopicList, lambda found: found.topics)
    def list(self) -> tuple[Topic, ...]:
        """Every topic that is defined or was used so far, by name."""

    @GET("/records", errors=_BAD_QUERY)
    def records(
        self,
        topic: str = OBJECTS,
        *,
        matching: Matching = "",
        orderby: str = "",
        offset: Position = 0,
        limit: Limit = 100,
    ) -> TopicRecordPage:
        """Up to ``limit`` records that match a topic filter, from ``offset`` on.

        ``orderby`` is as in a ``sow`` command.
        """

    @GET("/changes", errors=_BAD_QUERY)
    def changes(
        self, topic: str = OBJECTS, *, matching: Matching = "", after: Position = 0, limit: Limit = 100
    ) -> TopicChangePage:
        """Up to ``limit`` changes with an id above ``after``. Changes are kept from the first call on."""

    @GET("/access")
    def access(self) -> Access:
        """The entitlements: who may read and write which topic."""

    @PUT("/access", errors={"bad_entitlement": 400})
    def entitle(self, access: Access) -> Access:
        """Replace the entitlements. Records that a subscriber may no longer see leave its subscription."""

    @GET("/downstreams", TopicLinkList, lambda found: found.downstreams)
    def downstreams(self) -> tuple[TopicLink, ...]:
        """The sandboxes that topics go on to, as they stand."""

    @PUT(
        "/downstreams",
        TopicLinkList,
        lambda found: found.downstreams,
        wrap=DownstreamList,
        errors={"bad_downstream": 400},
    )
    def point(self, *downstreams: Downstream) -> tuple[TopicLink, ...]:
        """Set the sandboxes that topics can go on to, until a reset."""
