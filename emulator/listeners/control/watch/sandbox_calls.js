// Asks the control API for a person, and shows what came of it and which command does the same.

export class RefusedError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const PAUSE_MS = 150; // while somebody types, the command waits
let token = "";
let shown = 0;
let waiting = 0;

export function giveToken(given) {
  token = given;
}

/** Ask the API and return its answer. Raises RefusedError in the API's own words. */
export async function ask(method, path, body) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const answer = await fetch(path, { method, headers, body: sent, cache: "no-store" }).catch(() => {
    throw new RefusedError(0, "The sandbox does not answer.");
  });
  const text = await answer.text();
  if (!answer.ok) throw new RefusedError(answer.status, readRefusal(answer.status, text));
  return text ? JSON.parse(text) : null;
}

function readRefusal(status, text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `The sandbox refuses this (${status}).`;
  }
}

/** Say in the room what came of an action; a screen reader is told. */
export function tellOutcome(said, bad = false) {
  const outcome = byId("outcome");
  outcome.classList.toggle("bad", bad);
  outcome.textContent = said;
}

/** Show the command that does the same as a call, once the person has stopped typing. */
export function preview(call) {
  clearTimeout(waiting);
  waiting = setTimeout(() => showCommand(call), PAUSE_MS);
}

async function showCommand(call) {
  const mine = ++shown;
  let command = "";
  if (call) command = (await ask("POST", "/commands", call).catch(() => null))?.command ?? "";
  if (mine !== shown) return; // another was asked for since
  byId("command").textContent = command;
  byId("copy").disabled = !command;
}

/** Do what a person asked for, show its command, and tell what came of it or why not. */
export async function act(call, tell) {
  clearTimeout(waiting);
  const showing = showCommand(call);
  try {
    const answer = await ask(call.method, call.path, call.body);
    tellOutcome(tell(answer));
    return answer;
  } catch (error) {
    tellOutcome(error.message, true);
    return null;
  } finally {
    await showing;
  }
}
