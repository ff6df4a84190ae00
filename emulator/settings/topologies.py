"""The streams of the deployed RDSS messaging system, for one environment (dev, uat, prod).

Each institution, and each of three groups of services, publishes on an input stream and reads from an
output stream. There is one stream each for the error queue, the invalid queue and the audit log.
"""

from __future__ import annotations

from typing import Final

from rdss_sandbox.shapes.topology import AuditTap, Topology

INSTITUTIONS: Final = (20059, 1539, 280, 89, 1288, 747, 854, 471, 133, 44, 799, 476, 480)
"""The JiscIDs of the institutions of the pilot."""
SERVICES: Final = ("internal_services", "shared_services", "rdss_services")
ENVIRONMENT: Final = "dev"
_LONGEST_NAME: Final = 63 - len("rdss-")


def institution_input(jisc_id: int, environment: str = ENVIRONMENT) -> str:
    return f"institute_{jisc_id}_input_{environment}"


def institution_output(jisc_id: int, environment: str = ENVIRONMENT) -> str:
    return f"institute_{jisc_id}_output_{environment}"


def service_input(group: str, environment: str = ENVIRONMENT) -> str:
    return f"{group}_input_{environment}"


def service_output(group: str, environment: str = ENVIRONMENT) -> str:
    return f"{group}_output_{environment}"


def message_stream(queue: str, environment: str = ENVIRONMENT) -> str:
    """The stream of a ``queue``: ``error``, ``invalid`` or ``audit``."""
    return f"message_{queue}_{environment}"


def name_bucket(queue: str) -> str:
    """The bucket of a queue of refused messages: its name in the letters of a bucket's."""
    letters = "".join(each if each.isalnum() else "-" for each in queue.lower())
    return f"rdss-{letters[:_LONGEST_NAME].strip('-')}"


def rdss_topology(environment: str = ENVIRONMENT) -> Topology:
    """The deployed topology, with one shard a stream. It audits the inputs, not the routed copies."""
    inputs = [institution_input(each, environment) for each in INSTITUTIONS]
    inputs += [service_input(each, environment) for each in SERVICES]
    outputs = [institution_output(each, environment) for each in INSTITUTIONS]
    outputs += [service_output(each, environment) for each in SERVICES]
    error, invalid = message_stream("error", environment), message_stream("invalid", environment)
    audit = message_stream("audit", environment)
    return Topology(
        streams=dict.fromkeys((*inputs, *outputs, error, invalid, audit), 1),
        buckets=("rdss-audit", "rdss-error", "rdss-invalid"),
        audit=AuditTap(audit, "rdss-audit", (*inputs, error, invalid)),
        archives={error: "rdss-error", invalid: "rdss-invalid"},
    )
