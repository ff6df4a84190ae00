// The page follows the hub: what stands in its main part is replaced when it has changed.
"use strict";

const PAUSE_MILLISECONDS = 2000;
const parser = new DOMParser();
let shown = null;

async function follow() {
  try {
    const answer = await fetch("/hub", { cache: "no-store" });
    const text = answer.ok ? await answer.text() : shown;
    if (shown !== null && text !== shown) {
      const page = parser.parseFromString(text, "text/html");
      const at = [window.scrollX, window.scrollY];
      document.getElementById("content").replaceChildren(...page.getElementById("content").childNodes);
      window.scrollTo(...at);
    }
    shown = text;
  } catch {
    // The hub is not there now: what was shown stays.
  }
  setTimeout(follow, PAUSE_MILLISECONDS);
}

follow();
