"""The content-based router: it routes the messages of a stream to institutions by their tenants."""

from sandbox.router.router import Router
from sandbox.router.routing_table import RDSS_ROUTES, RoutingTable

__all__ = ["RDSS_ROUTES", "Router", "RoutingTable"]
