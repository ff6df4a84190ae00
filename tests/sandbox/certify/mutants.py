"""The mutants of the right clients: for each clause at least one that fails it."""

from __future__ import annotations

from typing import Final

from tests.sandbox.certify.trials import Mutant

_CONSUMER: Final = "right_consumer.py"
_CONTRACT: Final = "contract_consumer.py"
_PRODUCER: Final = "right_producer.py"
_GATEWAY: Final = "gateway_producer.py"
_HANDLER: Final = '        print(f"tried again: {error}", file=sys.stderr)\n        return\n'

CONSUMERS: Final = (
    Mutant(
        "nothing-lost",
        _CONSUMER,
        '    for record in answer["Records"]:\n',
        '    for record in answer["Records"][:2]:\n',
        ("duplicates", "throttling"),
        frozenset({"nothing-lost"}),
    ),
    Mutant(
        "nothing-twice",
        _CONSUMER,
        '    if message_id not in state["ids"]:\n',
        "    if True:\n",
        ("duplicates",),
        frozenset({"nothing-twice"}),
    ),
    Mutant(
        "bodies-unaltered",
        _CONSUMER,
        "text[start:end].encode()",
        "text[start:end].upper().encode()",
        ("duplicates",),
        frozenset({"bodies-unaltered"}),
    ),
    Mutant(
        "every-shard-read",
        _CONSUMER,
        'kinesis.list_shards(StreamName=STREAM)["Shards"]',
        'kinesis.list_shards(StreamName=STREAM)["Shards"][:2]',
        ("duplicates", "split", "merge"),
        frozenset({"every-shard-read", "nothing-lost"}),
    ),
    Mutant(
        "parents-before-children",
        _CONSUMER,
        'parents <= set(state["done"])',
        "parents is not None",
        ("duplicates", "split", "merge"),
        frozenset({"parents-before-children"}),
    ),
    Mutant(
        "resumes-after-a-kill",
        _CONSUMER,
        "if STATE.exists()",
        "if False",
        ("killed with records in hand", "killed after telling", "killed while idle"),
        frozenset({"resumes-after-a-kill", "nothing-twice"}),
    ),
    Mutant(
        "survives-throttling",
        _CONSUMER,
        _HANDLER,
        '        if "Throughput" in str(error):\n            raise\n        return\n',
        ("duplicates", "throttling"),
        frozenset({"survives-throttling"}),
    ),
    Mutant(
        "survives-errors",
        _CONSUMER,
        _HANDLER,
        '        if "InternalFailure" in str(error):\n            raise\n        return\n',
        ("duplicates", "errors"),
        frozenset({"survives-errors"}),
    ),
    Mutant(
        "survives-expired-iterators",
        _CONSUMER,
        "        del iterators[shard]\n",
        "        pass\n",
        ("duplicates", "expired iterators"),
        frozenset({"survives-expired-iterators"}),
    ),
    Mutant(
        "reads-within-limits",
        _CONSUMER,
        "    time.sleep(0.25)\n",
        "    time.sleep(0.01)\n",
        ("duplicates", "throttling", "errors", "expired iterators", "split"),
        frozenset({"reads-within-limits"}),
    ),
    Mutant(
        "joins-sequences",
        _CONTRACT,
        "take_part(message) if (seen.total or 1) > 1 else message",
        "message",
        ("duplicates", "sequences"),
        frozenset({"joins-sequences"}),
    ),
    Mutant(
        "rejects-with-the-right-code",
        _CONTRACT,
        "QUEUES[code.queue.value]",
        'QUEUES["error"]',
        ("duplicates", "bad messages"),
        frozenset({"rejects-with-the-right-code"}),
    ),
    Mutant(
        "refuses-expired",
        _CONTRACT,
        "judge(message, now=time.time())",
        "judge(message)",
        ("duplicates", "expired messages"),
        frozenset({"refuses-expired"}),
    ),
    Mutant(
        "poison-stops-nothing",
        _CONTRACT,
        "        reject(data, code)\n",
        "        reject(data, code)\n        stopping.append(1)\n",
        ("duplicates", "bad messages"),
        # A client that ends by itself fails the clause under way as well.
        frozenset({"poison-stops-nothing", "rejects-with-the-right-code"}),
    ),
    Mutant(
        "drops-its-own-echo",
        _CONTRACT,
        'if sha256(data).hexdigest() in state["sent"]:',
        "if False:",
        ("duplicates", "its own messages"),
        frozenset({"drops-its-own-echo"}),
    ),
    Mutant(
        "knows-older-versions",
        _CONTRACT,
        "return upgrade(data, version)",
        "return data",
        ("duplicates", "older versions"),
        frozenset({"knows-older-versions"}),
    ),
)
PRODUCERS: Final = (
    Mutant(
        "nothing-lost",
        _PRODUCER,
        ".read_bytes().splitlines()",
        ".read_bytes().splitlines()[:-1]",
        ("delays",),
        frozenset({"nothing-lost"}),
    ),
    Mutant(
        "retries-failed-entries",
        _PRODUCER,
        "    return failed\n",
        "    return batch if failed else []\n",
        ("delays", "partial failures"),
        frozenset({"retries-failed-entries"}),
    ),
    Mutant(
        "survives-throttling",
        _PRODUCER,
        "                failed.append((name, line))\n",
        '                failed.append((name, line)) if "Internal" in answer["ErrorCode"] else sys.exit(1)\n',
        ("delays", "throttling"),
        # Nine deaths are too many: what is left is lost.
        frozenset({"survives-throttling", "retries-failed-entries", "nothing-lost"}),
    ),
    Mutant(
        "survives-errors",
        _PRODUCER,
        '        print(f"tried again: {error}", file=sys.stderr)\n        return batch\n',
        "        raise\n",
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
    Mutant(
        "backs-off",
        _PRODUCER,
        "        pause *= 2\n",
        "        pause *= 1\n",
        ("delays", "throttling"),
        frozenset({"backs-off", "back-off-as-specified"}),
    ),
    Mutant(
        "valid-messages",
        _PRODUCER,
        '{"Data": line, "PartitionKey": name}',
        '{"Data": line.replace(b"messageClass", b"messageKind"), "PartitionKey": name}',
        ("delays",),
        frozenset({"valid-messages"}),
    ),
    Mutant(
        "keeps-the-message-id",
        _PRODUCER,
        '{"Data": line, "PartitionKey": name}',
        '{"Data": line + b" " * int(time.time() * 50 % 50), "PartitionKey": name}',
        ("delays", "throttling"),
        frozenset({"keeps-the-message-id"}),
    ),
    Mutant(
        "back-off-as-specified",
        _PRODUCER,
        "    pause = 0.2\n",
        "    pause = 0.05\n",
        ("delays", "throttling"),
        frozenset({"back-off-as-specified"}),
    ),
    Mutant(
        "never-oversize",
        _GATEWAY,
        "*split_raw(line, new_id=new_uuid)",
        "line",
        ("sequences",),
        frozenset({"never-oversize", "splits-sequences-rightly"}),
    ),
    Mutant(
        "splits-sequences-rightly",
        _GATEWAY,
        "*split_raw(line, new_id=new_uuid)",
        "*split_raw(line, new_id=new_uuid)[:1]",
        ("sequences",),
        frozenset({"splits-sequences-rightly"}),
    ),
)
