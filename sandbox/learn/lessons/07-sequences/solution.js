// Lesson 7, Sequences, solved.
// A consumer that joins what was too large for one message, and processes it once.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import * as sdk from "@aws-sdk/client-kinesis";

const kinesis = new sdk.KinesisClient({}); // the endpoint and the keys come from the environment
const StreamName = process.env.SANDBOX_STREAM;
const file = `${process.env.SANDBOX_STATE_DIR}/checkpoint.json`;
const state = existsSync(file) ? JSON.parse(readFileSync(file)) : { ids: [], after: {}, ended: [], parts: {} };
let stopping = false;
process.on("SIGTERM", () => (stopping = true));

// Process a message once; of a sequence, the message that its parts make.
function processMessage(data) {
  const message = JSON.parse(new TextDecoder().decode(data));
  const { messageId, messageSequence: place } = message.messageHeader;
  if (state.ids.includes(messageId)) return;
  state.ids.push(messageId);
  if (place.total === 1) {
    work(messageId);
    return;
  }
  // The body of a part is text: a piece of the whole body's JSON.
  const parts = (state.parts[place.sequence] ??= {});
  parts[place.position] = message.messageBody;
  if (Object.keys(parts).length === place.total) {
    delete state.parts[place.sequence];
    // An object gives its whole-number keys in their order.
    work(messageId, Object.values(parts).join(""));
  }
}

// Do the work, here by telling of it; of a body that was joined, tell the SHA-256 too.
function work(messageId, joined) {
  const sha256 = joined && createHash("sha256").update(joined).digest("hex");
  console.log(JSON.stringify({ processed: messageId, sha256 }));
}

// From here on all is well: each shard after its parents, from the checkpoint, a record at a time.

function save() {
  writeFileSync(`${file}.draft`, JSON.stringify(state));
  renameSync(`${file}.draft`, file);
}

async function read(ShardId) {
  const after = state.after[ShardId];
  const start = after
    ? { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber: after }
    : { ShardIteratorType: "TRIM_HORIZON" };
  const { ShardIterator } = await kinesis.send(new sdk.GetShardIteratorCommand({ StreamName, ShardId, ...start }));
  const answer = await kinesis.send(new sdk.GetRecordsCommand({ ShardIterator }));
  for (const record of answer.Records) {
    processMessage(record.Data);
    state.after[ShardId] = record.SequenceNumber;
    save();
  }
  if (!answer.NextShardIterator) {
    state.ended.push(ShardId);
    save();
  }
}

while (!stopping) {
  const { Shards } = await kinesis.send(new sdk.ListShardsCommand({ StreamName }));
  const known = new Set(Shards.map((shard) => shard.ShardId));
  const waits = (parent) => known.has(parent) && !state.ended.includes(parent);
  for (const { ShardId, ParentShardId, AdjacentParentShardId } of Shards) {
    if (state.ended.includes(ShardId) || waits(ParentShardId) || waits(AdjacentParentShardId)) continue;
    await read(ShardId).catch((error) => console.error(`tried again: ${error.name}`));
  }
  await pause(250);
}
kinesis.destroy();
