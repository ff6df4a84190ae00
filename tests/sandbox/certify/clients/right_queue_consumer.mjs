// A right consumer with amqplib: it acknowledges each message, and connects again when the broker is gone.
// The folder of its node_modules is the argument; all else is the environment's.
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
const amqplib = createRequire(`${process.argv[2]}/`)("amqplib");

const queue = process.env.SANDBOX_QUEUE;
const file = `${process.env.SANDBOX_STATE_DIR}/processed.txt`;
const processed = new Set(existsSync(file) ? readFileSync(file, "utf8").split("\n") : []);
let stopping = false;
let connection;
process.on("SIGTERM", () => {
  stopping = true;
  connection?.close().catch(() => {});
});

function parse(content) {
  const text = content.toString();
  const message = JSON.parse(text);
  // The body's text as it came, since these messages have no white space.
  const body = JSON.stringify(message.messageBody);
  const sha256 = text.includes(body) ? createHash("sha256").update(body).digest("hex") : undefined;
  return { processed: message.messageHeader.messageId, sha256 };
}

function take(channel, delivery) {
  let line;
  try {
    line = parse(delivery.content);
  } catch (error) {
    console.error(`no message: ${error.message}`);
    channel.reject(delivery, false);
    return;
  }
  if (!processed.has(line.processed)) {
    console.log(JSON.stringify(line));
    processed.add(line.processed);
    appendFileSync(file, `${line.processed}\n`);
  }
  channel.ack(delivery);
}

async function consume() {
  connection = await amqplib.connect(process.env.SANDBOX_AMQP_URL);
  const ended = new Promise((resolve) => connection.once("close", resolve));
  connection.on("error", (error) => console.error(error.message));
  const channel = await connection.createChannel();
  channel.on("error", (error) => console.error(error.message));
  channel.once("close", () => connection.close().catch(() => {}));
  await channel.prefetch(5);
  await channel.consume(queue, (delivery) => delivery && take(channel, delivery));
  await ended;
}

while (!stopping) {
  try {
    await consume();
  } catch (error) {
    console.error(`connects again: ${error.message}`);
  }
  if (!stopping) await pause(200);
}
