// What an RDSS message has to be: judge it, read its body, upgrade it, split it, join it, reject it.
import Ajv from "ajv/dist/2020.js";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

const schemas = process.env.RDSS_SCHEMAS ?? new URL("../../schemas/rdss", import.meta.url).pathname;
const gravestFirst = ["GENERR007", "GENERR004", "GENERR010", "GENERR002", "GENERR003", "GENERR001"];
export const MOST_BYTES = 1_000_000;

const withZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
const isTime = (text) => withZone.test(text) && !Number.isNaN(Date.parse(text));
const formats = { "date-time": isTime, email: true, uri: true, "network-address": true };
const ajv = new Ajv({ allErrors: true, verbose: true, strict: false, formats });
for (const file of readdirSync(`${schemas}/definitions`)) {
  ajv.addSchema(JSON.parse(readFileSync(`${schemas}/definitions/${file}`)));
}
const namesOfNumbers = JSON.parse(readFileSync(`${schemas}/vocabulary_3.json`));

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
export const digest = (data) => createHash("sha256").update(data).digest("hex");
const decode = (data) => new TextDecoder("utf-8", { fatal: true }).decode(data);
/** The same UUID for the same name, always. */
function uuidOf(name) {
  const hex = createHash("sha1").update(name).digest("hex");
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...groups, hex.slice(20, 32)].join("-");
}

function errorsOf(definition, value) {
  const [file, name] = definition.split(".");
  const validate = ajv.getSchema(`urn:rdss-sandbox:4.0.0:${file}#/$defs/${name}`);
  return validate(value) ? [] : validate.errors;
}

// Judging

/**
 * The message in bytes, in the form of 4.0.0, and the code of its gravest error: undefined for a valid one.
 * "joined" says that it was joined of the parts of a sequence.
 */
export function read(data, joined = false) {
  let message;
  try {
    message = JSON.parse(decode(data));
  } catch {
    return { code: "GENERR007" };
  }
  if (!isObject(message)) return { code: "GENERR007" };
  try {
    if (isOlder(message)) message = upgrade(message, joined);
  } catch {
    return { message, code: "GENERR001" };
  }
  return { message, code: judge(message, joined) };
}

/** The code of the gravest error of a message; undefined for a valid one. */
function judge(message, joined) {
  const { messageHeader: header, messageBody: body } = message;
  const codes = new Set(codesOfHeader(header));
  const others = Object.keys(message).filter((name) => !["messageHeader", "messageBody"].includes(name));
  if (others.length || body === undefined) {
    codes.add("GENERR001");
  } else if (isPart(message) && !joined) {
    if (typeof body !== "string") codes.add("GENERR001");
  } else {
    const definition = definitionOfBody(header, body);
    const errors = definition ? errorsOf(definition, body) : [];
    for (const error of errors) codes.add(isUuid(error) ? "GENERR010" : "GENERR001");
  }
  return gravestFirst.find((code) => codes.has(code));
}

function* codesOfHeader(header) {
  for (const error of errorsOf("header.Header", header)) {
    if (isUuid(error)) yield "GENERR010";
    else if (error.instancePath === "/messageType" && error.keyword === "enum") yield "GENERR002";
    else yield "GENERR004";
  }
  const { position, total } = header?.messageSequence ?? {};
  if (!(1 <= position && position <= total)) yield "GENERR004";
  if (hasExpired(header)) yield "GENERR003";
}

const isUuid = (error) => error.parentSchema.title === "UUID";
export const hasExpired = (header) => Date.parse(header?.messageTimings?.expirationTimestamp) < Date.now();
export const isPart = (message) => message.messageHeader?.messageSequence?.total > 1;
const isOlder = (message) => String(message.messageHeader?.version).startsWith("3.");

/** The definition that the body has to meet; undefined where the messageType is unknown. */
function definitionOfBody(header, body) {
  const kind = header?.messageType;
  if (kind === "MetadataDelete") return "messages.ObjectReference";
  if (kind === "MetadataRead" && header.messageClass !== "Document") return "messages.ObjectReference";
  if (kind === "PreservationEvent") return "packages.InformationPackage";
  if (!["MetadataCreate", "MetadataUpdate", "MetadataRead"].includes(kind)) return undefined;
  const own = { dataset: "Dataset", article: "Article", thesisDissertation: "ThesisDissertation" };
  return `objects.${own[body?.objectResourceType] ?? "ResearchObject"}`;
}

// The body as it is written

/** The text of the body in the bytes of a message, as it is written there. */
export function bodyText(data) {
  const text = decode(data);
  let depth = 0;
  let name, start;
  for (let at = 0; at < text.length; at++) {
    const began = at;
    const character = text[at];
    if (character === '"') {
      while (text[++at] !== '"') if (text[at] === "\\") at++;
      if (depth === 1 && start === undefined) name = JSON.parse(text.slice(began, at + 1));
    } else if (character === "{" || character === "[") {
      depth++;
    } else if (character === "}" || character === "]") {
      depth--;
      if (depth === 0 && start !== undefined) return text.slice(start, at).trim();
    } else if (depth === 1 && character === ":" && name === "messageBody") {
      start ??= at + 1;
    } else if (depth === 1 && character === "," && start !== undefined) {
      return text.slice(start, at).trim();
    }
  }
  throw new SyntaxError("the message has no messageBody");
}

// Sequences

/** The parts of a message that is too large; a retry makes the same parts. */
export function split(data) {
  const header = JSON.parse(data).messageHeader;
  const body = Buffer.from(bodyText(data));
  // In a string each quote and backslash of the body takes two bytes: half of the room is always enough.
  const room = Math.floor((MOST_BYTES - data.length + body.length - 1000) / 2);
  const ends = [0];
  while (ends.at(-1) < body.length) {
    let end = Math.min(ends.at(-1) + room, body.length);
    while (end < body.length && (body[end] & 0xc0) === 0x80) end--; // never within a character
    ends.push(end);
  }
  const total = ends.length - 1;
  return ends.slice(1).map((end, index) => {
    const position = index + 1;
    const messageId = index ? uuidOf(`${header.messageId}/${position}`) : header.messageId;
    const messageSequence = { ...header.messageSequence, position, total };
    const messageHeader = { ...header, messageId, messageSequence };
    const messageBody = body.subarray(ends[index], end).toString();
    return Buffer.from(JSON.stringify({ messageHeader, messageBody }));
  });
}

/** The bytes of the whole message, from the bytes of all of its parts. */
export function join(parts) {
  const positionOf = (message) => message.messageHeader.messageSequence.position;
  const messages = parts.map((each) => JSON.parse(each)).sort((a, b) => positionOf(a) - positionOf(b));
  const header = JSON.stringify(messages[0].messageHeader);
  const body = messages.map((each) => each.messageBody).join("");
  return Buffer.from(`{"messageHeader":${header},"messageBody":${body}}`);
}

// Older versions

/** A message of version 3.x in the form of 4.0.0; of a part the header alone. Throws where it has none. */
function upgrade(message, joined) {
  const header = message.messageHeader;
  if (isPart(message) && !joined) return { ...message, messageHeader: { tenantJiscID: 0, ...header } };
  const body = upgradeValue(message.messageBody);
  const roles = (body.objectOrganisationRole ?? []).filter((each) => each.organisation);
  const host = roles.find((each) => each.role === "hostingInstitution") ?? roles[0];
  const tenantJiscID = host?.organisation.organisationJiscId ?? 0;
  return { messageHeader: { tenantJiscID, ...header, version: "4.0.0" }, messageBody: body };
}

function upgradeValue(value) {
  if (Array.isArray(value)) return value.map(upgradeValue);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(([name]) => name !== "objectPreservationEvent");
  return Object.fromEntries(fields.map(([name, content]) => [newName(name), upgradeField(name, content, value)]));
}

function newName(name) {
  const plural = ["objectKeywords", "collectionKeywords", "fileTechnicalAttributes"].includes(name);
  return plural ? name.slice(0, -1) : name.replace(/Uuid$/, "UUID");
}

function upgradeField(name, content, holder) {
  if (name === "objectDescription" && typeof content === "string") {
    return [{ descriptionValue: content, descriptionType: "description" }];
  }
  if (name === "filePreservationEvent" && Array.isArray(content)) return content.map(eventInWords).join("; ");
  const key = name !== "role" ? name : "person" in holder ? "person" : "organisation";
  return key in namesOfNumbers && typeof content === "number" ? nameOf(key, content) : upgradeValue(content);
}

function nameOf(key, number) {
  const found = namesOfNumbers[key][number - 1];
  if (!found) throw new RangeError(`${key} ${number} has no name in 4.0.0`);
  return found;
}

function eventInWords(event) {
  const details = [event.preservationEventValue, event.preservationEventDetail].filter(Boolean);
  return [nameOf("preservationEventType", event.preservationEventType), ...details].join(": ");
}

// Rejecting

/** The message with its errorCode, for the error or the invalid queue; its body stays as it is. */
export function decorate(data, code) {
  const timestamp = new Date().toISOString();
  let header, body;
  try {
    header = { ...JSON.parse(decode(data)).messageHeader };
    body = bodyText(data);
  } catch {
    header = newHeader(data, timestamp);
    body = JSON.stringify(rawBody(data));
  }
  const entry = { machineId: "example-consumer", machineAddress: "localhost", timestamp };
  header.messageHistory = [...(header.messageHistory ?? []), entry];
  header.errorCode = code;
  header.errorDescription = `The consumer rejected the message with ${code}.`;
  return Buffer.from(`{"messageHeader":${JSON.stringify(header)},"messageBody":${body}}`);
}

/** A header for bytes that are not JSON: with the messageId that can be found in them. */
function newHeader(data, publishedTimestamp) {
  const found = /"messageId"\s*:\s*"([0-9a-f-]{36})"/.exec(Buffer.from(data).toString("latin1"));
  const messageId = found ? found[1] : uuidOf(digest(data));
  return {
    messageId,
    messageTimings: { publishedTimestamp },
    messageSequence: { sequence: messageId, position: 1, total: 1 },
    version: "4.0.0",
    generator: "example-consumer",
  };
}

function rawBody(data) {
  try {
    return { raw: decode(data) };
  } catch {
    return { rawBase64: Buffer.from(data).toString("base64") };
  }
}
