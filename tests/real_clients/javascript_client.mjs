// Puts, splits, reads parent then children, and subscribes, with the AWS SDK for JavaScript as it comes.
// Settings are the environment's. Prints one JSON object.
import { createRequire } from "node:module";
const require = createRequire(process.cwd() + "/");
const sdk = require("@aws-sdk/client-kinesis");

const kinesis = new sdk.KinesisClient({});
const StreamName = "javascript";
const call = (name, input) => kinesis.send(new sdk[`${name}Command`](input));
const bytes = (text) => new TextEncoder().encode(text);

async function drain(ShardId) {
  const found = [];
  let { ShardIterator } = await call("GetShardIterator", { StreamName, ShardId, ShardIteratorType: "TRIM_HORIZON" });
  while (ShardIterator) {
    const answer = await call("GetRecords", { ShardIterator });
    found.push(...answer.Records.map((record) => new TextDecoder().decode(record.Data)));
    ShardIterator = answer.Records.length ? answer.NextShardIterator : undefined;
  }
  return found;
}

await call("CreateStream", { StreamName, ShardCount: 1 });
const put = async (prefix) => {
  const Records = Array.from({ length: 20 }, (_, i) => ({ PartitionKey: `${prefix}-${i}`, Data: bytes(`${prefix}-${i}`) }));
  return (await call("PutRecords", { StreamName, Records })).FailedRecordCount;
};
const failed = await put("before");
const [parent] = (await call("ListShards", { StreamName })).Shards;
await call("SplitShard", { StreamName, ShardToSplit: parent.ShardId, NewStartingHashKey: String(2n ** 127n) });
await put("after");
const { Shards } = await call("ListShards", { StreamName });
const children = Shards.filter((shard) => shard.ParentShardId === parent.ShardId).map((shard) => shard.ShardId);

const { StreamDescriptionSummary } = await call("DescribeStreamSummary", { StreamName });
const { Consumer } = await call("RegisterStreamConsumer", { StreamARN: StreamDescriptionSummary.StreamARN, ConsumerName: "js" });
const { EventStream } = await call("SubscribeToShard", {
  ConsumerARN: Consumer.ConsumerARN,
  ShardId: parent.ShardId,
  StartingPosition: { Type: "TRIM_HORIZON" },
});
const pushed = [];
let childShards = [];
for await (const event of EventStream) {
  pushed.push(...event.SubscribeToShardEvent.Records.map((record) => new TextDecoder().decode(record.Data)));
  childShards = event.SubscribeToShardEvent.ChildShards ?? childShards;
}
let error = "";
try {
  await call("DescribeStream", { StreamName: "nowhere" });
} catch (refusal) {
  error = refusal.name;
}
const read = { parent: await drain(parent.ShardId), children: (await Promise.all(children.map(drain))).flat() };
console.log(JSON.stringify({ failed, ...read, pushed, childShards: childShards.length, error, created: StreamDescriptionSummary.StreamCreationTimestamp }));
kinesis.destroy();
