"""A client's session: executes its commands and delivers its messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from extensions.topics.engine.acknowledging import CommandReceipt, Persistence
from extensions.topics.engine.command_headers import check_ack_types, known_ack_types
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import Command, Sow, Undecoded
from extensions.topics.engine.outgoing_messages import Message
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.topic_subscription import TopicSubscription

Handler: TypeAlias = Callable[[TopicRegistry, "ClientSession", Any, CommandReceipt], None]

_SILENT = Sow("")
_PERSIST = frozenset({"publish", "delta_publish", "sow_delete"})


class ClientSession:
    """The session of one client. All messages and acknowledgements go through ``deliver``, in order.

    ``publisher`` identifies the client over reconnections. ``conditions`` are in the filters of its
    subscriptions. A session without ``client_name`` is a publisher
    of its own while it lasts.
    """

    def __init__(
        self,
        registry: TopicRegistry,
        handlers: Mapping[type, Handler],
        user: str,
        deliver: Callable[[Message], None],
        client_name: str,
    ) -> None:
        self.user = user
        self.client_name = client_name
        self.closed = False
        self.publisher = f"{user}\x1f{client_name}" if client_name else ""
        self.subscriptions: dict[str, TopicSubscription] = {}
        self.conditions = 0
        self.persistence = Persistence(registry, self)
        self._silence = CommandReceipt(self, self.persistence, _SILENT, frozenset())
        self._registry = registry
        self._handlers = handlers
        self._deliver = deliver
        self._own_seq: int | None = None
        self.on_close: list[Callable[[], None]] = []

    @property
    def last_seq(self) -> int | None:
        """The last sequence number of this publisher that was processed, None before the first."""
        return self._registry.sequences.get(self.publisher) if self.publisher else self._own_seq

    def processed(self, seq: int) -> None:
        """Record that the message ``seq`` was processed."""
        if self.publisher:
            self._registry.sequences[self.publisher] = seq
        else:
            self._own_seq = seq

    def execute(self, command: Command) -> None:
        """Execute a command. A refusal does not raise; it is acknowledged and emitted as an event."""
        registry = self._registry
        with registry.lock:
            if self.closed:
                return
            # A command must not meet leases and records whose time is over.
            registry.catch_up()
            # Most commands ask for no acknowledgement, and share this one.
            receipt = self._silence
            try:
                if command.ack_type:
                    receipt = CommandReceipt(
                        self, self.persistence, command, known_ack_types(command.ack_type)
                    )
                    receipt.acknowledge("received")
                    check_ack_types(command.ack_type)
                self._handlers[type(command)](registry, self, command, receipt)
            except CommandRefusedError as refused:
                self._refuse(command, str(command.__struct_config__.tag), receipt, refused)

    def flush_acks(self) -> None:
        """Send the ``persisted`` acks that wait only for their time, since no command follows them soon."""
        with self._registry.lock:
            self.persistence.flush()

    def refuse(self, command: Undecoded, why: str) -> None:
        """Refuse an invalid command, in the acknowledgements that it asked for and as an event."""
        with self._registry.lock:
            asked = known_ack_types(command.ack_type)
            receipt = CommandReceipt(self, self.persistence, command, asked)
            receipt.acknowledge("received")
            self._refuse(command, command.cmd, receipt, CommandRefusedError("bad command", why))

    def deliver(self, message: Message) -> None:
        """Deliver ``message`` to the client; an exception closes the session."""
        if self.closed:
            return
        try:
            self._deliver(message)
        except Exception as error:  # noqa: BLE001 -- an error of one client must not reach the publisher
            self._registry.events.emit("topic.session_failed", user=self.user, error=repr(error))
            self.closed = True
            # Later: whoever delivers goes through the subscriptions that this ends.
            self._registry.schedule.put(0.0, self._end)

    def close(self) -> None:
        """End its subscriptions, and return its leased messages to their queues."""
        with self._registry.lock:
            if not self.closed:
                self.closed = True
                self._end()

    def drop(self, subscription: TopicSubscription) -> None:
        """End one subscription."""
        del self.subscriptions[subscription.sub_id]
        self.conditions -= subscription.conditions
        subscription.live = False
        self._registry.detach(subscription)

    def _end(self) -> None:
        self.persistence.forget()
        for subscription in tuple(self.subscriptions.values()):
            self.drop(subscription)
        for action in self.on_close:
            action()

    def _refuse(
        self, command: Command | Undecoded, name: str, receipt: CommandReceipt, refused: CommandRefusedError
    ) -> None:
        receipt.acknowledge_refusal(refused, persists=name in _PERSIST)
        self._registry.events.emit(
            "topic.command_failed",
            command=name,
            topic=getattr(command, "topic", ""),
            cmd_id=command.cmd_id,
            user=self.user,
            reason=refused.reason,
        )
