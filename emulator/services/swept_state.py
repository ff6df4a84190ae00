"""SNS, SSM and CloudWatch: what they hold is few, so that all of it is looked at after each change."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.journal import Change
from emulator.services.packing import make, pack, unpack
from emulator.services.swept_values import READING, SweptValues
from emulator.services.touched import Touched

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode
# moto brings these parameters itself.
_BUILT_IN_PARAMETERS: Final = "/aws/service/"


class SweptState:
    """A service whose backend holds ``attributes``: the entries of a dictionary are stored one by one.

    ``unchanging`` are operations that change none of them, though their names do not say so.
    """

    def __init__(self, name: str, attributes: tuple[str, ...], unchanging: frozenset[str]) -> None:
        self.name = name
        self._attributes = attributes
        self._unchanging = unchanging
        self._values = SweptValues()

    def install(self) -> None:
        """Do nothing: what is swept need not say what it touches."""

    def restore(self, values: Mapping[bytes, bytes]) -> None:
        backends = self._backends()
        for packed, value in values.items():
            account, region, attribute, *key = _decode(packed)
            backend = backends[account][region]
            held = _with_references(backend, attribute, unpack(value))
            if key:
                _put_entry(getattr(backend, attribute), key[0], held)
            else:
                setattr(backend, attribute, held)
        self._values.note(values.items())

    def changes(self, touched: Touched, _units: Iterable[Any]) -> Iterator[Change]:
        if touched.service != self.name or touched.action in self._unchanging:
            return
        if not touched.action.startswith(READING):
            yield from self._values.sweep(self._present())

    def everything(self) -> Iterator[Change]:
        yield from self._present()

    def settle(self) -> None:
        self._values.settle()

    def forget(self) -> None:
        self._values.forget()

    def _backends(self) -> Any:
        models = importlib.import_module(f"moto.{self.name}.models")
        return getattr(models, f"{self.name}_backends")

    def _present(self) -> Iterator[tuple[bytes, bytes]]:
        for account, region, backend in self._backends().iter_backends():
            for attribute in self._attributes:
                held = getattr(backend, attribute)
                if not isinstance(held, dict):
                    yield _encode((account, region, attribute)), pack(_without_references(held))
                    continue
                for key, value in dict.items(held):
                    if not str(key).startswith(_BUILT_IN_PARAMETERS):
                        yield _encode((account, region, attribute, key)), pack(_without_references(value))


def sns_state() -> SweptState:
    """Topics, subscriptions, applications and endpoints; not the notifications that were sent."""
    return SweptState(
        "sns",
        (
            "topics",
            "subscriptions",
            "applications",
            "platform_endpoints",
            "sms_attributes",
            "opt_out_numbers",
        ),
        frozenset(("Publish", "PublishBatch")),
    )


def ssm_state() -> SweptState:
    """Parameters, documents, maintenance windows, patch baselines and tags; not the commands that ran."""
    held = ("_parameters", "_resource_tags", "_documents", "windows", "baselines", "patch_groups")
    return SweptState("ssm", (*held, "default_parameter_tier"), frozenset())


def cloudwatch_state() -> SweptState:
    """Alarms, dashboards, insight rules and tags; not the data of metrics."""
    held = ("alarms", "dashboards", "insight_rules", "tagger")
    return SweptState("cloudwatch", held, frozenset(("PutMetricData",)))


def _without_references(value: Any) -> Any:
    """A topic without its backend and what it sent; a subscription with the ARN of its topic."""
    kind = type(value).__name__
    if kind == "Topic":
        left_out: dict[str, Any] = {"sns_backend": None, "sent_notifications": []}
        return make(type(value), {**vars(value), **left_out})
    if kind == "Subscription":
        return make(type(value), {**vars(value), "topic": value.topic.arn})
    return value


def _with_references(backend: Any, attribute: str, value: Any) -> Any:
    if attribute == "topics":
        value.sns_backend = backend
    elif attribute == "subscriptions":
        value.topic = backend.get_topic(value.topic)
    return value


def _put_entry(entries: Any, key: Any, value: Any) -> None:
    if isinstance(entries, defaultdict) and entries.default_factory is not list:
        entries[key].update(value)
    else:
        entries[key] = value
