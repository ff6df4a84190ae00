// The page follows the hub: the list of seats is replaced when it has changed. What is asked of the seats needs
// the admin's token, since a cookie opens the page and changes nothing; it is kept nowhere.
"use strict";

const PAUSE_MILLISECONDS = 2000;
const parser = new DOMParser();
const form = document.getElementById("each");
const outcome = document.getElementById("outcome");
let shown = null;

async function follow() {
  try {
    const answer = await fetch("/hub", { cache: "no-store" });
    const text = answer.ok ? await answer.text() : shown;
    if (shown !== null && text !== shown) {
      const page = parser.parseFromString(text, "text/html");
      document.getElementById("seats").replaceWith(page.getElementById("seats"));
    }
    shown = text;
  } catch {
    // The hub is not there now: what was shown stays.
  }
  setTimeout(follow, PAUSE_MILLISECONDS);
}

async function askSeats(event) {
  event.preventDefault();
  const given = new FormData(form);
  const who = given.get("who");
  const headers = { authorization: `Bearer ${given.get("token")}` };
  const asked = { request: JSON.parse(given.get("what")), seats: who ? [who] : [] };
  outcome.textContent = "…";
  try {
    const answer = await fetch("/hub/each", { method: "POST", headers, body: JSON.stringify(asked) });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error.message);
    const refused = found.answers.filter((each) => each.error);
    const done = found.answers.length - refused.length;
    outcome.textContent = [`done for ${done}`, ...refused.map((each) => `${each.name}: ${each.error}`)].join("; ");
  } catch (error) {
    outcome.textContent = error.message;
  }
}

form.addEventListener("submit", askSeats);
follow();
