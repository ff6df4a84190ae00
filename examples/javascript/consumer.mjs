// A consumer that reaches gold: it loses nothing, processes nothing twice, and keeps the contract.
import * as sdk from "@aws-sdk/client-kinesis";
import * as fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { bodyText, decorate, digest, isPart, join, read } from "./contract.mjs";

const { SANDBOX_STREAM: StreamName, SANDBOX_STATE_DIR: state } = process.env;
const errorQueue = process.env.SANDBOX_ERROR_STREAM; // for what has expired: all other codes are "invalid"
const invalidQueue = process.env.SANDBOX_INVALID_STREAM;

const kinesis = new sdk.KinesisClient({});
let stopping = false;
process.on("SIGTERM", () => (stopping = true));

// The journal: what is done, on disk. A checkpoint and what it stands for are one line, and so one write.

const done = new Set();
const published = new Set();
const ended = new Set();
const after = new Map();

function take(entry) {
  if (entry.done) done.add(entry.done);
  if (entry.after) after.set(entry.shard, entry.after);
  if (entry.ended) ended.add(entry.ended);
  if (entry.published) published.add(entry.published);
}

function openJournal(path) {
  const file = fs.openSync(path, "a+");
  const data = fs.readFileSync(path);
  const whole = data.lastIndexOf("\n") + 1; // a kill may have cut the last line off
  fs.ftruncateSync(file, whole);
  for (const line of data.toString("utf8", 0, whole).split("\n").slice(0, -1)) take(JSON.parse(line));
  return file;
}

const journal = openJournal(`${state}/journal.ndjson`);

function write(entry) {
  fs.writeSync(journal, `${JSON.stringify(entry)}\n`);
  take(entry);
}

// Messages

/** Process a message, and return the name by which it is known when it comes again. */
async function processMessage(data) {
  if (published.has(digest(data))) return `published ${digest(data)}`; // an echo of what it published itself
  const { message, code } = read(data);
  if (code) return reject(data, code);
  const { messageId, messageSequence } = message.messageHeader;
  const { sequence, position } = messageSequence;
  const name = isPart(message) ? `${sequence}/${position}` : messageId;
  if (!done.has(name)) {
    if (isPart(message)) await takePart(messageSequence, data);
    else work(message, bodyText(data));
  }
  return name;
}

/** The work of the application comes here. It is done before the checkpoint is written. */
function work(message, body) {
  console.log(JSON.stringify({ processed: message.messageHeader.messageId, sha256: digest(body) }));
}

/** Keep a part of a sequence on disk; process the message when all parts are there. */
async function takePart({ sequence, position, total }, data) {
  const folder = `${state}/parts/${sequence}`;
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(`${folder}/draft`, data);
  fs.renameSync(`${folder}/draft`, `${folder}/${position}.json`);
  const parts = fs.readdirSync(folder).filter((name) => name.endsWith(".json"));
  if (parts.length < total) return;
  const all = parts.map((name) => fs.readFileSync(`${folder}/${name}`));
  const whole = join(all);
  const { message, code } = read(whole, true);
  if (code) for (const each of all) await reject(each, code);
  else work(message, bodyText(whole));
}

/** Put a message on the queue of its code, once. */
async function reject(data, code) {
  const name = `rejected ${digest(data)}`;
  if (!done.has(name)) {
    const Data = decorate(data, code);
    write({ published: digest(Data) });
    const queue = code === "GENERR003" ? errorQueue : invalidQueue;
    await kinesis.send(new sdk.PutRecordCommand({ StreamName: queue, Data, PartitionKey: digest(data) }));
  }
  return name;
}

// Shards

const iterators = new Map();

/** The shards to read: their parents were read to the end, or are gone. */
async function listReadyShards() {
  const shards = [];
  let NextToken;
  do {
    const page = await kinesis.send(new sdk.ListShardsCommand(NextToken ? { NextToken } : { StreamName }));
    shards.push(...page.Shards);
    NextToken = page.NextToken;
  } while (NextToken);
  const left = new Set(shards.map((shard) => shard.ShardId).filter((name) => !ended.has(name)));
  return shards
    .filter((shard) => !left.has(shard.ParentShardId) && !left.has(shard.AdjacentParentShardId))
    .map((shard) => shard.ShardId)
    .filter((name) => left.has(name));
}

/** An iterator after the checkpoint; without one, from the shard's first record. */
async function openIterator(ShardId) {
  const StartingSequenceNumber = after.get(ShardId);
  const ShardIteratorType = StartingSequenceNumber ? "AFTER_SEQUENCE_NUMBER" : "TRIM_HORIZON";
  const start = { StreamName, ShardId, ShardIteratorType, StartingSequenceNumber };
  return (await kinesis.send(new sdk.GetShardIteratorCommand(start))).ShardIterator;
}

async function readShard(shard) {
  if (!iterators.has(shard)) iterators.set(shard, await openIterator(shard));
  let answer;
  try {
    answer = await kinesis.send(new sdk.GetRecordsCommand({ ShardIterator: iterators.get(shard), Limit: 100 }));
  } catch (error) {
    if (!(error instanceof sdk.ExpiredIteratorException)) throw error;
    iterators.delete(shard); // the next one begins after the checkpoint
    return;
  }
  iterators.delete(shard); // kept again when all records are processed
  for (const record of answer.Records) {
    write({ done: await processMessage(record.Data), shard, after: record.SequenceNumber });
    if (stopping) return;
  }
  if (answer.NextShardIterator) iterators.set(shard, answer.NextShardIterator);
  else write({ ended: shard });
}

/** Whether an attempt went well. What failed is tried again, by the next round. */
async function succeeds(attempt) {
  try {
    await attempt();
    return true;
  } catch (error) {
    console.error(`tries again: ${error}`);
    return false;
  }
}

let pause = 250; // a shard can be read five times a second
while (!stopping) {
  let shards = [];
  let well = await succeeds(async () => (shards = await listReadyShards()));
  for (const shard of shards) if (!stopping) well = (await succeeds(() => readShard(shard))) && well;
  pause = well ? 250 : Math.min(2 * pause, 8000);
  await sleep(pause);
}
process.exit(0);
