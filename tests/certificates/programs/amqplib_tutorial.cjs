const amqp = require("amqplib/callback_api");

amqp.connect(process.env.SANDBOX_AMQP_URL, (error0, connection) => {
  if (error0) throw error0;
  connection.createChannel((error1, channel) => {
    if (error1) throw error1;
    const queue = process.env.SANDBOX_QUEUE;
    channel.assertQueue(queue, { durable: true });
    channel.prefetch(1);
    channel.consume(
      queue,
      (msg) => {
        const { messageId } = JSON.parse(msg.content.toString()).messageHeader;
        console.log(JSON.stringify({ processed: messageId }));
        channel.ack(msg);
      },
      { noAck: false },
    );
  });
});
