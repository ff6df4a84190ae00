"""One attempt at a message: run its route and record the outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extensions.processing.processing_errors import ClaimLostError, code_of, final_error
from extensions.processing.python_routes import Routes
from extensions.processing.route_exchange import Exchange, ProcessingContext, RouteEnded
from extensions.processing.splitting import Splitting
from extensions.processing.stored_messages import Message
from extensions.processing.transitions import Cause


class Attempts:
    """Runs routes. ``stopping`` returns True while the process shuts down."""

    def __init__(self, context: ProcessingContext, routes: Routes, stopping: Callable[[], bool]) -> None:
        self._context = context
        self._parameters = context.parameters
        self._routes = routes
        self._splitting = Splitting(context.store, context.parameters, context.progress)
        self._stopping = stopping

    def run(self, message: Message) -> list[Message]:
        """Run the route of a message that is PROCESSING and return its new children, in their order.

        An exception of the route is an error of the attempt. When the lease has expired and another worker
        has the message, this worker records nothing.
        """
        exchange = Exchange(message, self._context)
        try:
            self._routes.find(message.service, message.operation)(exchange)
        except ClaimLostError:
            return []
        except RouteEnded as ended:
            exchange.leave(ended.cause, str(ended))
            return []
        except Exception as error:  # noqa: BLE001 -- every exception of a route is an error of the attempt
            self._fail(exchange, error)
            return []
        kept = exchange.kept_columns(failing=False)
        if exchange.children is not None:
            return self._splitting.split(exchange.message, exchange.children, **kept)
        if exchange.no_effect:
            exchange.end(Cause.NO_EFFECT, "nothing came of the attempt", **self._columns_for_retry(exchange))
        elif exchange.waits:
            exchange.end(Cause.ASKED, **kept)
        else:
            exchange.end(Cause.SUCCEEDED, error_code=None, description=None, **kept)
        return []

    def _fail(self, exchange: Exchange, error: Exception) -> None:
        message, final = exchange.message, final_error(error)
        spent = message.failed >= self._parameters.partly_fails_before_failed
        stopped = self._stopping() and not self._parameters.ways.stopping_spares
        why = str(final or error) or repr(final or error)
        columns = self._columns_for_retry(exchange) | {
            "failed": message.failed + 1,
            "error_code": code_of(final or error),
            "description": why,
        }
        last = final is not None or spent or stopped
        exchange.end(Cause.FAILED_FOR_GOOD if last else Cause.FAILED_FOR_NOW, why, **columns)

    def _columns_for_retry(self, exchange: Exchange) -> dict[str, Any]:
        due = self._context.store.clock.time() + self._parameters.partly_failed_interval
        return exchange.kept_columns(failing=True) | {"due": due}
