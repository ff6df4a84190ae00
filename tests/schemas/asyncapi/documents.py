"""Documents of different shape, written for these tests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from schemas.asyncapi.load import AsyncApiContract, load_contract

ORDERS_TEXT: Final = """
asyncapi: 3.0.0
info: {title: Orders, version: 1.2.0}
x-sandbox: {id: $message.payload#/order/id, expires: $message.payload#/until, reject: refused}
channels:
  orders:
    address: shop/orders
    bindings:
      x-kinesis: {shards: 2, maxRecordKiB: 2048}
      amqp: {is: routingKey, exchange: {name: shop, type: topic}, bindingVersion: 0.3.0}
    messages:
      placed: {$ref: '#/components/messages/placed'}
      gone: {$ref: '#/components/messages/gone'}
  refused: {address: shop/refused}
components:
  messages:
    placed:
      payload:
        type: object
        required: [event, order]
        properties:
          event: {const: placed}
          order: {$ref: '#/components/schemas/order'}
          until: {type: string, format: date-time}
          amount: {type: number, minimum: 0}
          express: {type: boolean}
    gone:
      payload:
        type: object
        required: [event, order]
        properties: {event: {enum: [gone, lost]}, order: {$ref: '#/components/schemas/order'}}
  schemas:
    order:
      type: object
      required: [id]
      properties:
        id: {type: string, pattern: '^o-[0-9]+$'}
        next: {$ref: '#/components/schemas/order'}
"""


def load_text(folder: Path, text: str, name: str = "asyncapi.yaml") -> AsyncApiContract:
    """The contract of a document of this text, in a folder in which other files may be."""
    (folder / name).write_text(text, encoding="utf-8")
    return load_contract(folder / name)


def _load(text: str) -> AsyncApiContract:
    with tempfile.TemporaryDirectory() as folder:
        return load_text(Path(folder), text)


ORDERS: Final = _load(ORDERS_TEXT)
FOLDER: Final = Path(__file__).parent / "shapes"
SHAPES: Final = {path.name: load_contract(path) for path in sorted(FOLDER.glob("*.*"))}
"""A document of each shape, which the first lines of it name."""
