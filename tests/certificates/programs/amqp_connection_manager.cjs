const amqp = require("amqp-connection-manager");

const queue = process.env.SANDBOX_QUEUE;
const connection = amqp.connect([process.env.SANDBOX_AMQP_URL]);
const onMessage = (data) => {
  const message = JSON.parse(data.content.toString());
  console.log(JSON.stringify({ processed: message.messageHeader.messageId }));
  channelWrapper.ack(data);
};
const channelWrapper = connection.createChannel({
  setup: (channel) =>
    Promise.all([
      channel.assertQueue(queue, { durable: true }),
      channel.prefetch(1),
      channel.consume(queue, onMessage),
    ]),
});
