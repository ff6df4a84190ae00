// Runs a Node handler in a process of its own: the client of the Lambda Runtime API.

import http from "node:http";
import path from "node:path";
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

const API = "/2018-06-01/runtime";
const { env } = process;
const [host, port] = env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function ask(method, place, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const asked = http.request({ host, port, agent, method, path: API + place, headers }, (answer) => {
      const pieces = [];
      answer.on("data", (piece) => pieces.push(piece));
      answer.on("end", () => resolve({ headers: answer.headers, body: Buffer.concat(pieces) }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

async function fail(place, error) {
  const type = error?.name ?? "Error";
  console.log(`[ERROR] ${error?.stack ?? error}`);
  const told = { errorType: type, errorMessage: String(error?.message ?? error), trace: (error?.stack ?? "").split("\n") };
  await ask("POST", place, JSON.stringify(told), { "Lambda-Runtime-Function-Error-Type": type });
}

async function loadHandler() {
  const [file, name] = env._HANDLER.split(/\.(?=[^.]*$)/);
  const found = [".mjs", ".js", ".cjs"].map((ending) => path.join(env.LAMBDA_TASK_ROOT, file + ending)).find(existsSync);
  if (!found) throw Object.assign(new Error(`Cannot find module '${file}'`), { name: "Runtime.ImportModuleError" });
  const loaded = found.endsWith(".cjs") ? createRequire(import.meta.url)(found) : await import(pathToFileURL(found));
  const handler = loaded[name] ?? loaded.default?.[name];
  if (typeof handler !== "function") {
    throw Object.assign(new Error(`${env._HANDLER} is undefined or not exported`), { name: "Runtime.HandlerNotFound" });
  }
  return handler;
}

function call(handler, event, context) {
  if (handler.length < 3) return handler(event, context);
  return new Promise((resolve, reject) => handler(event, context, (error, answer) => (error ? reject(error) : resolve(answer))));
}

let handler;
try {
  handler = await loadHandler();
} catch (error) {
  await fail("/init/error", error);
  process.exit(1);
}
for (;;) {
  let next;
  try {
    next = await ask("GET", "/invocation/next");
  } catch {
    process.exit(0); // the sandbox has ended
  }
  const request = next.headers["lambda-runtime-aws-request-id"];
  env._X_AMZN_TRACE_ID = next.headers["lambda-runtime-trace-id"];
  const deadline = Number(next.headers["lambda-runtime-deadline-ms"]);
  const context = {
    awsRequestId: request,
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    invokedFunctionArn: next.headers["lambda-runtime-invoked-function-arn"],
    getRemainingTimeInMillis: () => Math.max(deadline - Date.now(), 0),
    callbackWaitsForEmptyEventLoop: true,
  };
  try {
    const answer = await call(handler, JSON.parse(next.body.toString() || "null"), context);
    await ask("POST", `/invocation/${request}/response`, JSON.stringify(answer ?? null));
  } catch (error) {
    await fail(`/invocation/${request}/error`, error);
  }
}
