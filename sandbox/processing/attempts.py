"""One attempt at a message: its route is run, and what came of it is written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.processing.errors import ClaimLostError, code_of, final_error
from sandbox.processing.exchange import Exchange, ProcessingContext, RouteEnded
from sandbox.processing.records import Message
from sandbox.processing.routes import Routes
from sandbox.processing.splitting import Splitting
from sandbox.processing.transitions import Cause


class Attempts:
    """Runs routes. ``stopping`` says whether the process is about to end."""

    def __init__(self, means: ProcessingContext, routes: Routes, stopping: Callable[[], bool]) -> None:
        self._means = means
        self._parameters = means.parameters
        self._routes = routes
        self._splitting = Splitting(means.store, means.parameters, means.progress)
        self._stopping = stopping

    def run(self, message: Message) -> list[Message]:
        """Attempt a message that is PROCESSING; the children that it was split into, to be run in this order.

        What a route raises is an error of the attempt. A worker that has lost the message to another, because
        its lease was over, leaves it as it is.
        """
        exchange = Exchange(message, self._means)
        try:
            self._routes.find(message.service, message.operation)(exchange)
        except ClaimLostError:
            return []
        except RouteEnded as ended:
            exchange.leave(ended.cause, str(ended))
            return []
        except Exception as error:  # noqa: BLE001 -- whatever a route raises is an error of the attempt
            self._failed(exchange, error)
            return []
        return self._completed(exchange)

    def _completed(self, exchange: Exchange) -> list[Message]:
        kept = exchange.kept(failing=False)
        if exchange.children is not None:
            return self._splitting.split(exchange.message, exchange.children, **kept)
        if exchange.no_effect:
            exchange.end(Cause.NO_EFFECT, "nothing came of the attempt", **self._later(exchange))
        elif exchange.waits:
            exchange.end(Cause.ASKED, **kept)
        else:
            exchange.end(Cause.SUCCEEDED, error_code=None, description=None, **kept)
        return []

    def _failed(self, exchange: Exchange, error: Exception) -> None:
        message, final = exchange.message, final_error(error)
        spent = message.failed >= self._parameters.partly_fails_before_failed
        stopped = self._stopping() and not self._parameters.ways.stopping_spares
        why = str(final or error) or repr(final or error)
        columns = self._later(exchange) | {
            "failed": message.failed + 1,
            "error_code": code_of(final or error),
            "description": why,
        }
        last = final is not None or spent or stopped
        exchange.end(Cause.FAILED_FOR_GOOD if last else Cause.FAILED_FOR_NOW, why, **columns)

    def _later(self, exchange: Exchange) -> dict[str, Any]:
        due = self._means.store.clock.time() + self._parameters.partly_failed_interval
        return exchange.kept(failing=True) | {"due": due}
