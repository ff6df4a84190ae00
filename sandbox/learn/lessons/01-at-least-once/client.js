// Lesson 1, The at-least-once world: this client is broken on purpose.
// It reads every shard of the stream and tells which messages it has processed.
import { setTimeout as pause } from "node:timers/promises";
import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  ListShardsCommand,
} from "@aws-sdk/client-kinesis";

console.error("this client is broken on purpose: lesson 1");

const StreamName = process.env.SANDBOX_STREAM;
const kinesis = new KinesisClient({}); // the endpoint and the keys come from the environment
const iterators = new Map();
let stopping = false;
process.on("SIGTERM", () => (stopping = true));

// Begin to read a shard.
async function openIterator(ShardId) {
  const request = { StreamName, ShardId, ShardIteratorType: "LATEST" };
  return (await kinesis.send(new GetShardIteratorCommand(request))).ShardIterator;
}

// Do the work, and tell that it is done.
function work(record) {
  const { messageId } = JSON.parse(Buffer.from(record.Data)).messageHeader;
  console.log(JSON.stringify({ processed: messageId }));
}

// Process what has come to a shard since the last time.
async function read(shard) {
  const ShardIterator = iterators.get(shard) ?? (await openIterator(shard));
  const answer = await kinesis.send(new GetRecordsCommand({ ShardIterator }));
  answer.Records.forEach(work);
  iterators.set(shard, answer.NextShardIterator);
}

while (!stopping) {
  const { Shards } = await kinesis.send(new ListShardsCommand({ StreamName }));
  for (const { ShardId } of Shards) await read(ShardId);
  await pause(250);
}
process.exit(0); // the SDK's open connections would keep it alive
