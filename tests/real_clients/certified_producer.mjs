// A right producer with the AWS SDK for JavaScript: it keeps what was sent, and tries again, later each time.
// The folder of its node_modules is the argument; all else is the environment's.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
const sdk = createRequire(`${process.argv[2]}/`)("@aws-sdk/client-kinesis");

const StreamName = process.env.SANDBOX_STREAM;
const file = `${process.env.SANDBOX_STATE_DIR}/sent.txt`;
const kinesis = new sdk.KinesisClient({});
const sent = new Set(existsSync(file) ? readFileSync(file, "utf8").split("\n") : []);
const left = readFileSync(process.env.SANDBOX_MESSAGES, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => ({ id: JSON.parse(line).messageHeader.messageId, line }))
  .filter((message) => !sent.has(message.id));

async function put(batch) {
  const Records = batch.map(({ id, line }) => ({ Data: new TextEncoder().encode(line), PartitionKey: id }));
  let answers;
  try {
    answers = (await kinesis.send(new sdk.PutRecordsCommand({ StreamName, Records }))).Records;
  } catch (error) {
    console.error(`tried again: ${error.name}`);
    return batch;
  }
  return batch.filter(({ id }, at) => {
    if (answers[at].ErrorCode) return true;
    appendFileSync(file, `${id}\n`);
    console.log(JSON.stringify({ sent: id }));
    return false;
  });
}

while (left.length) {
  let batch = left.splice(0, 7);
  for (let milliseconds = 200; (batch = await put(batch)).length; milliseconds *= 2) await pause(milliseconds);
}
kinesis.destroy();
