"""The content-based router: takes what comes on one stream to those that it concerns, by tenantJiscID."""

from sandbox.router.router import Router
from sandbox.router.routes import RDSS_ROUTES, Routes

__all__ = ["RDSS_ROUTES", "Router", "Routes"]
