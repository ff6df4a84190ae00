// A conversation by amqplib with the broker at the URL given: what came of it, as JSON.
import { createRequire } from "node:module";

const require = createRequire(`${process.argv[3]}/`);
const amqp = require("amqplib");

const found = {};
const connection = await amqp.connect(process.argv[2]);
const channel = await connection.createConfirmChannel();
await channel.assertExchange("parcels", "headers", { durable: true });
await channel.assertQueue("parcels", { durable: true, maxPriority: 5, deadLetterExchange: "" });
await channel.bindQueue("parcels", "parcels", "", { "x-match": "any", kind: "order" });
for (const priority of [1, 5, 3]) {
  channel.publish("parcels", "", Buffer.from(String(priority)), { headers: { kind: "order" }, priority, persistent: true });
}
channel.publish("parcels", "", Buffer.from("lost"), { headers: { kind: "other" } });
await channel.waitForConfirms();
await channel.prefetch(1);
found.came = [];
await new Promise((resolve) => {
  channel.consume("parcels", (message) => {
    found.cancelled = message === null;
    if (found.cancelled) return;
    found.came.push(message.content.toString());
    channel.ack(message);
    if (found.came.length === 3) resolve();
  });
});
found.left = (await channel.checkQueue("parcels")).messageCount;
const other = await connection.createChannel();
other.on("error", () => {});
found.refused = await other.checkQueue("missing").catch((error) => error.message);
await channel.deleteQueue("parcels");
await connection.close();
console.log(JSON.stringify(found));
