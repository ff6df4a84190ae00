// A right producer with amqplib: a confirm channel, mandatory and persistent, five messages under way.
// The folder of its node_modules is the argument; all else is the environment's.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
const amqplib = createRequire(`${process.argv[2]}/`)("amqplib");

const queue = process.env.SANDBOX_QUEUE;
const file = `${process.env.SANDBOX_STATE_DIR}/sent.txt`;
const sent = new Set(existsSync(file) ? readFileSync(file, "utf8").split("\n") : []);
const left = new Map(
  readFileSync(process.env.SANDBOX_MESSAGES, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => [JSON.parse(line).messageHeader.messageId, line])
    .filter(([id]) => !sent.has(id)),
);

// Publishes a message and waits for its confirm; what is returned counts as not sent.
function publish(channel, returned, id, line) {
  const options = { persistent: true, mandatory: true, messageId: id };
  return new Promise((resolve) => {
    channel.publish("", queue, Buffer.from(line), options, (error) => {
      if (!error && !returned.delete(id)) {
        left.delete(id);
        appendFileSync(file, `${id}\n`);
        console.log(JSON.stringify({ sent: id }));
      }
      resolve();
    });
  });
}

async function publishAll() {
  const connection = await amqplib.connect(process.env.SANDBOX_AMQP_URL);
  const broken = new Promise((_, reject) => {
    connection.once("error", reject);
    connection.once("close", () => reject(new Error("the connection is closed")));
  });
  broken.catch(() => {});
  const channel = await connection.createConfirmChannel();
  const returned = new Set();
  channel.on("error", (error) => console.error(error.message));
  channel.once("close", () => connection.close().catch(() => {}));
  channel.on("return", (message) => returned.add(message.properties.messageId));
  while (left.size) {
    const batch = [...left].slice(0, 5).map(([id, line]) => publish(channel, returned, id, line));
    await Promise.race([Promise.all(batch), broken]);
  }
  await connection.close();
}

while (left.size) {
  try {
    await publishAll();
  } catch (error) {
    console.error(`publishes again: ${error.message}`);
    await pause(200);
  }
}
