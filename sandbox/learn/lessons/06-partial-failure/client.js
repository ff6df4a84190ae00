// Lesson 6, Partial failure: this client is broken on purpose.
// A producer that puts the messages of a file into a stream, seven a call, and tells of each one that is in it.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { KinesisClient, PutRecordsCommand } from "@aws-sdk/client-kinesis";

console.error("this client is broken on purpose: lesson 6");

const kinesis = new KinesisClient({}); // the endpoint and the keys come from the environment
const StreamName = process.env.SANDBOX_STREAM;
const sentFile = `${process.env.SANDBOX_STATE_DIR}/sent.txt`;
let stopping = false;
process.on("SIGTERM", () => (stopping = true));

// Write down, and say, that the stream has this message.
function tell(messageId) {
  appendFileSync(sentFile, `${messageId}\n`);
  console.log(JSON.stringify({ sent: messageId }));
}

// Put a batch; return the messages that have to be put again.
async function put(batch) {
  const Records = batch.map(({ messageId, line }) => ({ Data: Buffer.from(line), PartitionKey: messageId }));
  try {
    await kinesis.send(new PutRecordsCommand({ StreamName, Records }));
  } catch (error) {
    console.error(`the call failed: ${error.name}`);
    return batch;
  }
  for (const { messageId } of batch) tell(messageId);
  return [];
}

const sent = new Set(existsSync(sentFile) ? readFileSync(sentFile, "utf8").split("\n") : []);
const lines = readFileSync(process.env.SANDBOX_MESSAGES, "utf8").trimEnd().split("\n");
const left = lines
  .map((line) => ({ messageId: JSON.parse(line).messageHeader.messageId, line }))
  .filter(({ messageId }) => !sent.has(messageId));

while (left.length && !stopping) {
  let batch = left.splice(0, 7);
  for (let milliseconds = 200; (batch = await put(batch)).length; milliseconds *= 2) await pause(milliseconds);
}
kinesis.destroy();
