"""What a start finds on disk: definitions first, then the messages of the queues that they name."""

from __future__ import annotations

from emulator.amqp.exchange import QUEUE, Binding, Destination, Exchange
from emulator.amqp.queue_arguments import read_arguments
from emulator.amqp.store.definitions import Bound, DefinitionLog, ExchangeMade, LastId, QueueMade
from emulator.amqp.virtual_host import VirtualHost
from emulator.amqp.wire.field_tables import decode_table
from emulator.clock import Clock


def recover(vhost: VirtualHost, clock: Clock) -> None:
    """Make a virtual host again of what its logs hold. Raises ``DamagedLogError``."""
    # What is made again must not be written again.
    log, vhost.definitions = vhost.definitions, DefinitionLog(None)
    for definition in log.read():
        match definition:
            case ExchangeMade():
                vhost.exchanges[definition.name] = Exchange(
                    definition.name,
                    definition.type,
                    auto_delete=definition.auto_delete,
                    internal=definition.internal,
                    arguments=decode_table(definition.arguments)[0],
                )
            case QueueMade():
                _restore_queue(vhost, definition)
            case LastId():
                vhost.last_id = max(vhost.last_id, definition.id)
            case Bound():
                # Of one that lost an end to damage, the next queue of that name must not get the messages.
                if not _restore_binding(vhost, definition):
                    log.remove(definition)
    vhost.definitions = log
    _restore_messages(vhost, clock)


def _restore_queue(vhost: VirtualHost, made: QueueMade) -> None:
    table = decode_table(made.arguments)[0]
    # The messages on disk name the queue by the id that it had.
    last, vhost.last_id = vhost.last_id, made.id - 1
    vhost.add_queue(
        made.name, read_arguments(table), table, durable=True, auto_delete=made.auto_delete, owner=None
    )
    vhost.last_id = max(last, made.id)


def _restore_binding(vhost: VirtualHost, found: Bound) -> bool:
    """Make a binding again, and return whether both of its ends are there."""
    source = vhost.exchanges.get(found.source)
    ends = vhost.queues if found.kind == QUEUE else vhost.exchanges
    if source is None or found.name not in ends:
        return False
    arguments = decode_table(found.arguments)[0]
    vhost.bind(source, Binding(Destination(found.kind, found.name), found.routing_key, arguments))
    return True


def _restore_messages(vhost: VirtualHost, clock: Clock) -> None:
    queues = {queue.id: queue for queue in vhost.queues.values()}
    # The files are in the order of publishing, so each queue's numbers ascend.
    for identity, entry, priority, expires in vhost.store.recover():
        queue = queues.get(identity)
        if queue is not None:
            # The disk has the time by the wall clock, for elapsed begins anew with each process.
            entry.expires = None if expires is None else expires - clock.time() + clock.elapsed()
            vhost.store.count(entry)
            queue.restore(entry, priority)
    vhost.store.sweep()
    for queue in queues.values():
        vhost.go_on(queue)
