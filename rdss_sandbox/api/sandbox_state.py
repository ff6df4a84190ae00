"""The sandbox as a whole, its clock, and its metrics."""

from __future__ import annotations

from rdss_sandbox.api.endpoint import GET, POST, Mode, Subject
from rdss_sandbox.shapes.clock import ClockChange, ClockReading
from rdss_sandbox.shapes.picture import Picture
from rdss_sandbox.shapes.pruning import Prune, Pruned
from rdss_sandbox.shapes.status import Health, Reset, Status, Version
from rdss_sandbox.shapes.topology import Populated, Topology


class SandboxState(Subject[Mode], at=""):
    """The sandbox: its status, clock and contents as a whole."""

    @GET("/status")
    def status(self) -> Status:
        """The sandbox as a whole: its addresses, streams, clock, topology and notes."""

    @GET("/version")
    def version(self) -> Version:
        """The versions of the sandbox and of the specification."""

    @GET("/health")
    def health(self) -> Health:
        """Whether the sandbox is ready. This needs no token."""

    @GET("/metrics", media_type="text/plain")
    def metrics(self) -> str:
        """The metrics of the sandbox, for Prometheus."""

    @GET("/picture", live=True)
    def picture(self) -> Picture:
        """The picture of the sandbox that the page at ``/`` draws.

        A live answer has the next picture when something changed, at most twice a second, and less often
        where a picture takes long.
        """

    @GET("/clock", live=True)
    def clock(self) -> ClockReading:
        """The reading of the clock."""

    @POST("/clock", errors={"bad_clock": 400})
    def change_clock(self, change: ClockChange) -> ClockReading:
        """Change the clock and return its reading."""

    @POST("/reset", errors={"bad_clock": 400})
    def reset(self, values: Reset | None = None) -> Status:
        """Remove every fault and message, set the clock to real time and create the topology again.

        ``values`` has another seed, or another time for the clock.
        """

    @POST("/populate")
    def populate(self, topology: Topology | None = None) -> Populated:
        """Create the missing streams and buckets of ``topology``, by default the sandbox's own."""

    @POST("/prune", errors={"nothing_to_prune": 400, "NoSuchBucket": 404})
    def prune(self, limits: Prune) -> Pruned:
        """Remove objects and events by age, or down to a size."""
