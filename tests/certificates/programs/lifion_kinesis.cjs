const Kinesis = require("lifion-kinesis");

const endpoint = process.env.AWS_ENDPOINT_URL;
const kinesis = new Kinesis({ streamName: process.env.SANDBOX_STREAM, endpoint, dynamoDb: { endpoint } });
kinesis.on("data", ({ records }) => {
  for (const { data } of records) console.log(JSON.stringify({ processed: data.messageHeader.messageId }));
});
kinesis.on("error", (error) => console.error(error));
kinesis.startConsumer();
