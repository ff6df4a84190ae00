// A producer that reaches gold: it sends each message of a file once, whole, and tells what the stream has.
import { KinesisClient, PutRecordsCommand } from "@aws-sdk/client-kinesis";
import { appendFileSync, createReadStream, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { hasExpired, MOST_BYTES, split } from "./contract.mjs";

const { SANDBOX_STREAM: StreamName, SANDBOX_MESSAGES: messages, SANDBOX_STATE_DIR: state } = process.env;
const file = `${state}/sent.txt`;
const mostInBatch = 25;
const mostBytes = 4_000_000;

// This program makes the retries itself, with the pauses of the specification.
const kinesis = new KinesisClient({ maxAttempts: 1 });
const sent = new Set(existsSync(file) ? readFileSync(file, "utf8").split("\n") : []);

/** The messages that are left, in batches of { header, records }. */
async function* listBatches() {
  let batch = [];
  for await (const line of createInterface({ input: createReadStream(messages) })) {
    const header = JSON.parse(line).messageHeader;
    if (sent.has(header.messageId)) continue;
    const data = Buffer.from(line);
    batch.push({ header, records: data.length > MOST_BYTES ? split(data) : [data] });
    if (batch.length === mostInBatch) {
      yield batch;
      batch = [];
    }
  }
  yield batch;
}

/** Cut a list of { name, record } into those of one call. */
function* bySize(records) {
  let call = [];
  let size = 0;
  for (const each of records) {
    if (size + each.record.length > mostBytes) {
      yield call;
      call = [];
      size = 0;
    }
    call.push(each);
    size += each.record.length;
  }
  if (call.length) yield call;
}

/** Put a list of { name, record }, and return those that failed. */
async function put(records) {
  const Records = records.map(({ name, record }) => ({ Data: record, PartitionKey: name }));
  try {
    const answer = await kinesis.send(new PutRecordsCommand({ StreamName, Records }));
    return records.filter((_, index) => answer.Records[index].ErrorCode);
  } catch (error) {
    console.error(`tries again: ${error}`);
    return records;
  }
}

/** Send a batch until the stream has all of it. Each message is told of as soon as it is there. */
async function send(batch) {
  const waiting = new Map(batch.map(({ header }) => [header.messageId, header]));
  let left = batch.flatMap(({ header, records }) => records.map((record) => ({ name: header.messageId, record })));
  for (let pause = 200; left.length; pause *= 2) {
    for (const [name, header] of waiting) {
      if (!hasExpired(header)) continue;
      console.error(`${name} has expired and is not sent: GENERR003`);
      waiting.delete(name);
    }
    const failed = [];
    for (const call of bySize(left.filter(({ name }) => waiting.has(name)))) failed.push(...(await put(call)));
    left = failed;
    const missing = new Set(left.map(({ name }) => name));
    for (const name of waiting.keys()) {
      if (missing.has(name)) continue;
      tell(name);
      waiting.delete(name);
    }
    if (left.length) await sleep(pause);
  }
}

/** Keep the name on disk first: what was told is never sent again. */
function tell(name) {
  appendFileSync(file, `${name}\n`);
  console.log(JSON.stringify({ sent: name }));
}

for await (const batch of listBatches()) await send(batch);
