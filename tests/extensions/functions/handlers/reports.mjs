// A right handler that answers which records have failed, with the mapping's ReportBatchItemFailures.
// Of a stream it stops at the first one: what lies behind it comes again with it. A queue has no order.

import { createHash } from "node:crypto";
import { access, writeFile } from "node:fs/promises";
import path from "node:path";

const folder = process.env.SANDBOX_STATE_DIR;

function read(record) {
  if (record.kinesis) return [record.kinesis.sequenceNumber, Buffer.from(record.kinesis.data, "base64").toString()];
  return [record.messageId, record.body];
}

function bodyDigest(text) {
  const start = text.indexOf('"messageBody":') + '"messageBody":'.length;
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted) {
      if (sign === "\\") at += 1;
      else if (sign === '"') quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === "{" || sign === "[") depth += 1;
    else if ((sign === "}" || sign === "]") && (depth -= 1) === 0) {
      return createHash("sha256").update(text.slice(start, at + 1)).digest("hex");
    }
  }
  throw new SyntaxError("no body");
}

async function isNew(id) {
  try {
    await access(path.join(folder, id));
    return false;
  } catch {
    return true;
  }
}

async function take(text) {
  const id = JSON.parse(text).messageHeader.messageId;
  if (await isNew(id)) {
    console.log(JSON.stringify({ processed: id, sha256: bodyDigest(text) }));
    await writeFile(path.join(folder, id), "");
  }
}

export async function handler(event, context) {
  const failures = [];
  for (const record of event.Records) {
    const [identifier, text] = read(record);
    try {
      if (context.getRemainingTimeInMillis() < 200) throw new Error("no time left");
      await take(text);
    } catch (error) {
      console.log(`failed: ${identifier}: ${error}`);
      failures.push({ itemIdentifier: identifier });
      if (record.kinesis) break;
    }
  }
  return { batchItemFailures: failures };
}
