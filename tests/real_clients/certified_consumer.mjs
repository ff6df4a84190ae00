// A right consumer with the AWS SDK for JavaScript: all shards at once, parents first, a checkpoint a record.
// The folder of its node_modules is the argument; all else is the environment's.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
const sdk = createRequire(`${process.argv[2]}/`)("@aws-sdk/client-kinesis");

const StreamName = process.env.SANDBOX_STREAM;
const file = `${process.env.SANDBOX_STATE_DIR}/checkpoint.json`;
const kinesis = new sdk.KinesisClient({});
const call = (name, input) => kinesis.send(new sdk[`${name}Command`](input));
const state = existsSync(file) ? JSON.parse(readFileSync(file)) : { ids: [], after: {}, ended: [] };
const iterators = {};
let stopping = false;
process.on("SIGTERM", () => (stopping = true));

function save() {
  writeFileSync(`${file}.draft`, JSON.stringify(state));
  renameSync(`${file}.draft`, file);
}

function processRecord(record) {
  const text = new TextDecoder().decode(record.Data);
  const message = JSON.parse(text);
  const { messageId } = message.messageHeader;
  if (state.ids.includes(messageId)) return;
  // The messages of the kit have no white space, so that the body's text is in them as JavaScript writes it.
  const body = JSON.stringify(message.messageBody);
  const sha256 = text.includes(body) ? createHash("sha256").update(body).digest("hex") : undefined;
  console.log(JSON.stringify({ processed: messageId, sha256 }));
  state.ids.push(messageId);
}

async function openIterator(ShardId) {
  const after = state.after[ShardId];
  const start = after
    ? { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber: after }
    : { ShardIteratorType: "TRIM_HORIZON" };
  return (await call("GetShardIterator", { StreamName, ShardId, ...start })).ShardIterator;
}

async function read(ShardId) {
  try {
    const ShardIterator = iterators[ShardId] ?? (await openIterator(ShardId));
    delete iterators[ShardId];
    const answer = await call("GetRecords", { ShardIterator });
    for (const record of answer.Records) {
      processRecord(record);
      state.after[ShardId] = record.SequenceNumber;
      save();
      if (stopping) return;
    }
    if (answer.NextShardIterator) {
      iterators[ShardId] = answer.NextShardIterator;
    } else {
      state.ended.push(ShardId);
      save();
    }
  } catch (error) {
    console.error(`${ShardId}: ${error.name}`); // throttled, expired, cut off: from the last record on
  }
}

while (!stopping) {
  const { Shards } = await call("ListShards", { StreamName });
  const known = new Set(Shards.map((shard) => shard.ShardId));
  const waits = (parent) => parent && known.has(parent) && !state.ended.includes(parent);
  const ready = Shards.filter(
    (shard) => !state.ended.includes(shard.ShardId) && !waits(shard.ParentShardId) && !waits(shard.AdjacentParentShardId),
  );
  await Promise.all(ready.map((shard) => read(shard.ShardId)));
  await pause(250);
}
kinesis.destroy();
