"""The mutants of the right clients of RabbitMQ."""

from __future__ import annotations

from typing import Final

from tests.sandbox.certify.trials import Mutant

_CONSUMER: Final = "right_queue_consumer.py"
_PRODUCER: Final = "right_queue_producer.py"
_ACK: Final = "    channel.basic_ack(method.delivery_tag)\n"
_TAKE: Final = """    try:
        process(data)
    except ValueError as error:
        print(f"no message: {error}", file=sys.stderr)
        channel.basic_reject(method.delivery_tag, requeue=False)
        return
    channel.basic_ack(method.delivery_tag)
"""

QUEUE_CONSUMERS: Final = (
    Mutant(
        "nothing-twice",
        _CONSUMER,
        "    if message_id in done:\n",
        "    if False:\n",
        ("duplicates",),
        frozenset({"nothing-twice"}),
    ),
    Mutant(
        "acks-after-the-effect",
        _CONSUMER,
        _TAKE,
        f"{_ACK}{_TAKE.removesuffix(_ACK)}",
        ("duplicates",),
        frozenset({"acks-after-the-effect"}),
    ),
    Mutant(
        "acks-all-that-it-processed",
        _CONSUMER,
        "        process(data)\n",
        "        if not process(data):\n            return\n",
        ("duplicates",),
        frozenset({"acks-all-that-it-processed"}),
    ),
    Mutant(
        "limits-its-prefetch",
        _CONSUMER,
        "        channel.basic_qos(prefetch_count=10)\n",
        "",
        ("duplicates",),
        frozenset({"limits-its-prefetch"}),
    ),
    Mutant(
        "survives-errors",
        _CONSUMER,
        '        print(f"connects again: {error!r}", file=sys.stderr)\n',
        "        raise\n",
        ("duplicates", "cut connections"),
        frozenset({"survives-errors"}),
    ),
    Mutant(
        "dead-letters-poison",
        _CONSUMER,
        "requeue=False",
        "requeue=True",
        ("duplicates", "poison"),
        frozenset({"dead-letters-poison"}),
    ),
)
QUEUE_PRODUCERS: Final = (
    Mutant(
        "tells-after-the-confirm",
        _PRODUCER,
        "        channel.confirm_delivery()\n",
        "",
        ("delays",),
        frozenset({"tells-after-the-confirm"}),
    ),
    Mutant(
        "publishes-persistently",
        _PRODUCER,
        "delivery_mode=2",
        "delivery_mode=1",
        ("delays",),
        frozenset({"publishes-persistently"}),
    ),
    Mutant(
        "publishes-again-what-was-nacked",
        _PRODUCER,
        "    except AMQPError as error:\n",
        "    except pika.exceptions.NackError:\n        del left[0]\n    except AMQPError as error:\n",
        ("delays", "nacked messages"),
        frozenset({"publishes-again-what-was-nacked", "nothing-lost"}),
    ),
    Mutant(
        "notices-returned-messages",
        _PRODUCER,
        "PROPERTIES, mandatory=True",
        "PROPERTIES",
        ("delays", "returned messages"),
        frozenset({"notices-returned-messages", "nothing-lost"}),
    ),
    Mutant(
        "survives-errors",
        _PRODUCER,
        "        time.sleep(pause)\n",
        "        time.sleep(pause) if isinstance(error, pika.exceptions.NackError) else sys.exit(1)\n",
        ("delays", "errors"),
        frozenset({"survives-errors"}),
    ),
    Mutant(
        "resumes-after-a-kill",
        _PRODUCER,
        "if SENT.exists()",
        "if False",
        ("delays", "killed after telling"),
        frozenset({"resumes-after-a-kill"}),
    ),
)
