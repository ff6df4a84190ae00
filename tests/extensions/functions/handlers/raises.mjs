// A right handler that raises at what it cannot process: the mapping tries again, and isolates it.
// A batch of a queue is to have one message, and that of a stream to be bisected.

import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";

const folder = process.env.SANDBOX_STATE_DIR;

function read(record) {
  return record.kinesis ? Buffer.from(record.kinesis.data, "base64").toString() : record.body;
}

function bodyDigest(text) {
  const start = text.indexOf('"messageBody":') + '"messageBody":'.length;
  for (let end = text.lastIndexOf("}"); end > start; end = text.lastIndexOf("}", end - 1)) {
    try {
      JSON.parse(text.slice(start, end + 1));
    } catch {
      continue;
    }
    return createHash("sha256").update(text.slice(start, end + 1)).digest("hex");
  }
  throw new SyntaxError("no body");
}

export const handler = async (event) => {
  for (const record of event.Records) {
    const text = read(record);
    const id = JSON.parse(text).messageHeader.messageId;
    const mark = path.join(folder, id);
    if (!existsSync(mark)) {
      console.log(JSON.stringify({ processed: id, sha256: bodyDigest(text) }));
      writeFileSync(mark, "");
    }
  }
};
