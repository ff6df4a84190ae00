"""What everything does in the store is found by an index, however much is stored."""

from __future__ import annotations

from extensions.processing import Administration, Child, Exchange, KeyKind, Processing, State
from extensions.processing.stored_messages import Search
from tests.extensions.processing.processing_platform import Platform, put


def test_nothing_that_is_done_to_messages_reads_all_of_them(platform: Platform, process: Processing) -> None:
    """Receiving, calls of every kind, funnels, children, confirmations, the upkeep, looking at one."""

    @platform.route("set")
    def work(exchange: Exchange) -> None:
        exchange.funnel("f", "here")
        exchange.funnel_in_order("g", "there")
        exchange.call("crm", kind=KeyKind.ENTITY)
        exchange.call("billing")
        if exchange.message.parent is None:
            exchange.split([Child(service="customer", operation="set", object_id="6")])

    statements: set[str] = set()
    process.store._connection.set_trace_callback(statements.add)
    number = platform.send(process, object_id="5", funnel="f", guaranteed_order=True)
    process.drain()
    platform.retry(process)
    process.maintain_leases()
    put(process, number, State.NEW)
    platform.clock.advance(process.parameters.lease)
    process.maintain_leases()
    Administration(process).show(number)
    Administration(process).search(Search(state=State.FAILED))
    Administration(process).search(Search())
    process.store._connection.set_trace_callback(None)
    planned = [each for each in statements if each.lstrip().startswith(("SELECT", "UPDATE", "DELETE"))]
    assert len(planned) > 20
    for statement in planned:
        plan = " ".join(row[3] for row in process.store.rows(f"EXPLAIN QUERY PLAN {statement}"))
        newest_first = "ORDER BY number DESC" in statement
        assert "SCAN messages" not in plan or newest_first, (statement, plan)
        assert "SCAN calls" not in plan, (statement, plan)
        assert "SCAN changes" not in plan, (statement, plan)
