// Questions and answers over direct reply-to, at the broker at the URL given: what came of it, as JSON.
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";

const require = createRequire(`${process.argv[3]}/`);
const amqp = require("amqplib");
const fibonacci = (n) => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));
const found = { answers: {}, direct: false };

const serving = await amqp.connect(process.argv[2]);
const server = await serving.createChannel();
await server.assertQueue("rpc_queue", { durable: false });
await server.prefetch(1);
await server.consume("rpc_queue", (question) => {
  if (question === null) return;
  found.direct = question.properties.replyTo.startsWith("amq.rabbitmq.reply-to.");
  const answer = Buffer.from(String(fibonacci(Number(question.content.toString()))));
  server.sendToQueue(question.properties.replyTo, answer, { correlationId: question.properties.correlationId });
  server.ack(question);
});

const asking = await amqp.connect(process.argv[2]);
const client = await asking.createChannel();
const asked = new Map();
const done = new Promise((resolve) => {
  client.consume("amq.rabbitmq.reply-to", (answer) => {
    found.answers[asked.get(answer.properties.correlationId)] = answer.content.toString();
    if (Object.keys(found.answers).length === asked.size) resolve();
  }, { noAck: true });
});
for (const number of ["10", "20"]) {
  const correlationId = randomUUID();
  asked.set(correlationId, number);
  client.sendToQueue("rpc_queue", Buffer.from(number), { correlationId, replyTo: "amq.rabbitmq.reply-to" });
}
await done;
await server.deleteQueue("rpc_queue");
await asking.close();
await serving.close();
console.log(JSON.stringify(found));
