// Lesson 9, Expiry and clocks, solved.
// A consumer that does not work for those who have stopped waiting.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import * as sdk from "@aws-sdk/client-kinesis";

const kinesis = new sdk.KinesisClient({}); // the endpoint and the keys come from the environment
const StreamName = process.env.SANDBOX_STREAM;
const errorQueue = process.env.SANDBOX_ERROR_STREAM;
const file = `${process.env.SANDBOX_STATE_DIR}/checkpoint.json`;
const state = existsSync(file) ? JSON.parse(readFileSync(file)) : { ids: [], after: {}, ended: [] };
let stopping = false;
process.on("SIGTERM", () => (stopping = true));

// Process a message once, unless it has expired.
async function processMessage(data) {
  const message = JSON.parse(new TextDecoder().decode(data));
  const header = message.messageHeader;
  if (state.ids.includes(header.messageId)) return;
  if (hasExpired(header.messageTimings)) {
    header.errorCode = "GENERR003";
    header.errorDescription = "The message had expired when its delivery was attempted.";
    const bad = { StreamName: errorQueue, Data: Buffer.from(JSON.stringify(message)), PartitionKey: header.messageId };
    await kinesis.send(new sdk.PutRecordCommand(bad));
  } else {
    console.log(JSON.stringify({ processed: header.messageId }));
  }
  state.ids.push(header.messageId);
}

// Whether the time is over until which somebody waits; some messages have none.
function hasExpired({ expirationTimestamp }) {
  return expirationTimestamp !== undefined && Date.parse(expirationTimestamp) < Date.now();
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
    await processMessage(record.Data);
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
