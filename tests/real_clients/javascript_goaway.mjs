// Reads large records and subscribes for five minutes of the sandbox's clock, with the handler that the AWS SDK
// for JavaScript has by default: HTTP/2, and a GOAWAY as soon as a response's head has come.
// Settings are the environment's; SANDBOX_CONTROL is the control API. Prints one JSON object.
import { createRequire } from "node:module";
const require = createRequire(process.cwd() + "/");
const sdk = require("@aws-sdk/client-kinesis");

const kinesis = new sdk.KinesisClient({});
const StreamName = "large";
const call = (name, input) => kinesis.send(new sdk[`${name}Command`](input));
async function advance(seconds) {
  const body = JSON.stringify({ action: "advance", seconds });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${process.env.SANDBOX_CONTROL}/clock`, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(await answer.text());
}
const put = (key, size) => call("PutRecord", { StreamName, PartitionKey: key, Data: new Uint8Array(size).fill(key.length) });

await call("CreateStream", { StreamName, ShardCount: 1 });
const { StreamDescriptionSummary } = await call("DescribeStreamSummary", { StreamName });
const { Consumer } = await call("RegisterStreamConsumer", {
  StreamARN: StreamDescriptionSummary.StreamARN,
  ConsumerName: "js",
});

// Each in an answer of its own, and at last all in one.
const sizes = [10_000, 65_536, 100_000, 656_000, 1_000_000];
const read = [];
for (const size of sizes) await put("k", size);
const [parent] = (await call("ListShards", { StreamName })).Shards;
const from = { StreamName, ShardId: parent.ShardId, ShardIteratorType: "TRIM_HORIZON" };
let iterator;
for (const Limit of [...sizes.map(() => 1), sizes.length]) {
  if (!iterator || Limit > 1) iterator = (await call("GetShardIterator", from)).ShardIterator;
  const answer = await call("GetRecords", { ShardIterator: iterator, Limit });
  iterator = answer.NextShardIterator;
  read.push(answer.Records.map((record) => record.Data.length));
}

// A subscription tells of what it got, and how it ended.
function subscribe(ShardId, StartingPosition) {
  const seen = { records: 0, bytes: 0, children: 0, error: null };
  let arrived = () => {};
  const wait = async (records) => {
    while (seen.records < records && !seen.ended) await new Promise((resolve) => (arrived = resolve));
  };
  const run = async () => {
    const { EventStream } = await call("SubscribeToShard", { ConsumerARN: Consumer.ConsumerARN, ShardId, StartingPosition });
    try {
      for await (const { SubscribeToShardEvent: event } of EventStream) {
        seen.records += event.Records.length;
        seen.bytes += event.Records.reduce((sum, record) => sum + record.Data.length, 0);
        seen.children ||= event.ChildShards?.length ?? 0;
        arrived();
      }
    } catch (error) {
      seen.error = `${error.name}: ${error.message}`;
    }
    seen.ended = true;
    arrived();
  };
  return { seen, wait, ended: run() };
}

const first = subscribe(parent.ShardId, { Type: "TRIM_HORIZON" });
await first.wait(sizes.length);
await advance(200);
await put("k", 100_000);
await first.wait(sizes.length + 1);
await call("SplitShard", { StreamName, ShardToSplit: parent.ShardId, NewStartingHashKey: String(2n ** 127n) });
await first.ended;
const { Shards } = await call("ListShards", { StreamName });
const children = Shards.filter((shard) => shard.ParentShardId === parent.ShardId);
const both = children.map((shard) => subscribe(shard.ShardId, { Type: "TRIM_HORIZON" }));
const keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
const total = () => both.reduce((sum, each) => sum + each.seen.records, 0);
const until = async (count) => {
  while (total() < count && both.some((each) => !each.seen.ended)) {
    await Promise.race(both.map((each) => each.wait(each.seen.records + 1)));
  }
};
for (const [at, seconds] of [[0, 100], [1, 190]]) {
  for (const key of keys) await put(key, 50_000);
  await until((at + 1) * keys.length);
  await advance(seconds);
}
const living = both.every((each) => !each.seen.ended);
await advance(20);
await Promise.all(both.map((each) => each.ended));
console.log(JSON.stringify({ read, first: first.seen, living, both: both.map((each) => each.seen) }));
kinesis.destroy();
