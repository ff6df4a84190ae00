// Rejects: messages of the error and invalid queues are sent again, as they were or edited, and are claimed.

import { act, ask, preview } from "./sandbox_calls.js";
import { action, choice, field, form, offer, textInput } from "./form_fields.js";

export const title = "Rejects";

const MOST = 20;
const JUDGE_MS = 250;
const PROJECT = "/queues/rdss"; // the views of streams that the extension for queues has
const editor = { row: null, found: null, edited: false };
let kept = ""; // how far the queues were when the list was fetched
let hasQueues = false;

export async function build(panel) {
  hasQueues = await ask("GET", "/queues").then(() => true, () => false);
  panel.append(make("p", "empty", "No message was rejected."), make("ul", "list rejects"), buildEditor());
  if (hasQueues) panel.append(make("h3", "", "Claims"), buildClaiming(panel), make("ul", "list claims"));
  kept = "";
}

/** Fetch the newest rejects where the queues have grown, or were emptied. */
export function draw(panel, picture) {
  const state = JSON.stringify(picture.streams.filter((each) => picture.queues.includes(each.name)).map((each) => [each.name, each.put, each.records]));
  if (state === kept) return;
  kept = state;
  offerQueues(panel, picture);
  fetchRejects(panel, picture.queues).catch((error) => setText(panel.querySelector(".empty"), error.message));
}

async function fetchRejects(panel, queues) {
  const ask_for = (queue) => ask("GET", `/messages?limit=${MOST}&offset=-${MOST}&filter=${encodeURIComponent(`stream:"${queue}"`)}`);
  const pages = await Promise.all(queues.map(ask_for));
  if (pages.some((page) => !page.indexed)) kept = ""; // more are coming: ask again with the next picture
  const rows = pages.flatMap((page) => page.messages).sort((one, other) => other.time - one.time).slice(0, MOST);
  reconcile(panel.querySelector(".rejects"), rows, (row) => `${row.id} ${row.sequence_number}`, buildReject, () => {});
  if (hasQueues) await fetchClaims(panel, queues);
}

function buildReject(row) {
  const about = [clockTime(row.time), row.stream, row.message_type ?? "not a message", row.message_id?.slice(0, 8)].filter(Boolean);
  const again = action("Redrive", () => ({ method: "POST", path: `/redriven/${row.id}`, body: {} }), tellSent(row));
  const edit = make("button", "", "Edit");
  edit.type = "button";
  edit.addEventListener("click", () => openEditor(row));
  for (const button of [again, edit]) button.setAttribute("aria-label", `${button.textContent} #${row.id}, ${row.code ?? "no code"}`);
  return make("li", "", make("span", "", make("b", "", row.code ?? "no code"), " ", make("small", "", about.join(", "))), make("span", "buttons", again, edit));
}

const tellSent = (row) => (sent) => `sent #${row.id} to ${sent.stream}, shard ${shardNumber(sent.shard)}`;

// -- the editor

function buildEditor() {
  const text = make("textarea");
  Object.assign(text, { id: "reject-text", name: "text", rows: 14, spellcheck: false });
  const to = choice("to", []);
  const send = action("Send", () => readEditor(text, to), (sent) => tellSent(editor.row)(sent), (sent) => sent && showEditor(false));
  const leave = make("button", "", "Leave it");
  leave.type = "button";
  leave.addEventListener("click", () => {
    showEditor(false);
    preview(null);
  });
  const verdict = make("p", "verdict");
  verdict.setAttribute("role", "status");
  const whole = form(send, make("h3", ""), text, verdict, field("to", to, "the stream it came from, or another"));
  text.setAttribute("aria-label", "The message");
  whole.id = "editor";
  whole.hidden = true;
  send.after(leave);
  let waiting = 0;
  text.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => judge(text, verdict), JUDGE_MS);
  });
  return whole;
}

async function openEditor(row) {
  const whole = byId("editor");
  try {
    editor.found = await ask("GET", `/messages/${row.id}/original`);
  } catch (error) {
    await act({ method: "GET", path: `/messages/${row.id}/original` }, () => error.message);
    return;
  }
  editor.row = row;
  const text = whole.elements.text;
  text.value = layOut(readBase64(editor.found.data));
  editor.shown = text.value;
  const streams = view.picture.streams.filter((each) => !each.aside).map((each) => each.name);
  offer(whole.elements.to, streams);
  whole.elements.to.value = editor.found.origin ?? streams[0];
  setText(whole.querySelector("h3"), `Message #${row.id}`);
  showEditor(true);
  text.focus();
  text.setSelectionRange(0, 0);
  text.scrollTop = 0;
  await judge(text, whole.querySelector(".verdict"));
}

/** The editor has the panel for itself while it is open. */
function showEditor(open) {
  for (const part of byId("panel-rejects").children) part.hidden = (part.id === "editor") !== open;
}

/** What the contract says of the text, as it would be sent. */
async function judge(text, verdict) {
  const found = await ask("POST", "/contract/verdict", { data: writeBase64(compact(text.value)) }).catch((error) => ({ code: "?", violations: [{ path: "", message: error.message }] }));
  verdict.classList.toggle("bad", found.code !== null);
  const why = found.violations.slice(0, 3).map((each) => `${each.path || "/"}: ${each.message}`);
  setText(verdict, found.code === null ? "It meets the contract." : [found.code, ...why].join("\n"));
}

function readEditor(text, to) {
  if (!editor.row) return null;
  const body = to.value === editor.found.origin ? {} : { stream: to.value };
  if (text.value !== editor.shown) body.data = writeBase64(compact(text.value));
  return { method: "POST", path: `/redriven/${editor.row.id}`, body };
}

function layOut(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function compact(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

const readBase64 = (data) => new TextDecoder().decode(Uint8Array.from(atob(data), (each) => each.charCodeAt(0)));
const writeBase64 = (text) => btoa(Array.from(new TextEncoder().encode(text), (each) => String.fromCharCode(each)).join(""));

// -- claims

const pathOf = (queue) => `${PROJECT}/${encodeURIComponent(queue)}/claims`;

function buildClaiming(panel) {
  const queue = choice("queue", []);
  const limit = Object.assign(textInput("limit", "", "number"), { value: "5", min: 1, max: 20, step: 1, required: true });
  const worker = Object.assign(textInput("worker"), { value: "class", required: true });
  const build = () => ({ method: "POST", path: pathOf(queue.value), body: { client: worker.value, limit: Number(limit.value) } });
  const tell = ({ claims }) => (claims.length ? `claim ${claims[0].id}: ${count(claims[0].messages.length, "message")} for ${Math.round(claims[0].left)} s` : `nothing to claim: ${queue.value} has no message that is free`);
  const take = action("Claim", build, tell, () => fetchClaims(panel, view.picture.queues));
  return form(take, field("queue", queue), field("at most", limit, "the oldest free messages"), field("worker", worker, "who holds them"));
}

function offerQueues(panel, picture) {
  const select = panel.querySelector("[name=queue]");
  if (select) offer(select, picture.queues);
}

async function fetchClaims(panel, queues) {
  const lists = await Promise.all(queues.map((queue) => ask("GET", pathOf(queue)).then((found) => found.claims.map((each) => ({ ...each, queue })))));
  const buildClaim = (claim) => {
    const release = action("Release", () => ({ method: "DELETE", path: `${pathOf(claim.queue)}/${claim.id}` }), () => `released ${claim.id}`, () => fetchClaims(panel, queues));
    release.setAttribute("aria-label", `Release ${claim.id}`);
    const ends = new Date(Date.now() + claim.left * 1000).toTimeString().slice(0, 8);
    return make("li", "", make("span", "", make("b", "", `${count(claim.messages.length, "message")} of ${claim.queue}`), " ", make("small", "", `${claim.client}, until ${ends}`)), release);
  };
  reconcile(panel.querySelector(".claims"), lists.flat(), (claim) => claim.id, buildClaim, () => {});
}
