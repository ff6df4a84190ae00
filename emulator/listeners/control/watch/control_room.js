// The control room: what the command line does, for a person in front of a class. Closed until one opens it.
//
//   button or c --> open --> is it allowed? --> a tab a subject, each built when it is first shown
//
// A cookie opens the page and changes nothing, so a sandbox with a token asks for it here. It is kept nowhere.

import * as clock from "./clock_panel.js";
import * as faults from "./fault_panel.js";
import * as rejects from "./reject_panel.js";
import * as samples from "./sample_panel.js";
import * as scenarios from "./scenario_panel.js";
import * as shards from "./shard_panel.js";
import * as snapshots from "./snapshot_panel.js";
import { field, textInput } from "./form_fields.js";
import { ask, giveToken, preview, tellOutcome } from "./sandbox_calls.js";

const PANELS = { faults, shards, samples, rejects, clock, scenarios, snapshots };
const HERE = ["localhost", "127.0.0.1", "[::1]"];
const room = byId("room");
const opener = byId("act");
let current = "";

// -- open and closed

async function open() {
  room.hidden = false;
  document.documentElement.dataset.room = "open";
  opener.setAttribute("aria-expanded", "true");
  if (!room.querySelector(".tabs")) await unlock("");
  fit();
  (room.querySelector("[aria-selected=true]") ?? room.querySelector("input"))?.focus();
}

function close() {
  room.hidden = true;
  delete document.documentElement.dataset.room;
  opener.setAttribute("aria-expanded", "false");
  PANELS[current]?.leave?.();
  opener.focus();
}

opener.addEventListener("click", () => (room.hidden ? open() : close()));
room.addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
});

// -- who may act

/** Show the actions where the sandbox lets this page act, and elsewhere why there are none. */
async function unlock(given) {
  giveToken(given);
  try {
    await ask("GET", "/status");
  } catch (error) {
    giveToken("");
    if (error.status !== 401) explain(error.message);
    else askForToken(given ? "That is not its token." : "");
    return;
  }
  if (given || HERE.includes(location.hostname)) buildRoom();
  else explain(`This sandbox has no token and is reached as ${location.hostname}: from elsewhere it is looked at only. Start it with SANDBOX_TOKEN set to act here.`);
}

function explain(why) {
  room.replaceChildren(make("h2", "", "Control room"), make("p", "locked", why));
}

function askForToken(wrong) {
  const token = Object.assign(textInput("token", "", "password"), { required: true });
  const enter = make("button", "do", "Open");
  const asking = make("form", "locked", field("token", token), make("p", "buttons", enter));
  asking.addEventListener("submit", async (event) => {
    event.preventDefault();
    await unlock(token.value);
    (room.querySelector("[aria-selected=true]") ?? room.querySelector("input"))?.focus();
  });
  explain("What opened this page lets it look at the sandbox, and change nothing. To act, give the sandbox's token. It is kept nowhere.");
  room.append(asking, make("p", "bad", wrong));
  room.lastElementChild.setAttribute("role", "alert");
}

// -- the tabs

function buildRoom() {
  const tabs = make("div", "tabs", ...Object.entries(PANELS).map(([name, panel]) => buildTab(name, panel)));
  tabs.setAttribute("role", "tablist");
  tabs.setAttribute("aria-label", "What to act on");
  tabs.addEventListener("keydown", moveAmongTabs);
  const outcome = make("p", "");
  outcome.id = "outcome";
  outcome.setAttribute("role", "status");
  const panels = Object.keys(PANELS).map((name) => {
    const panel = make("section", "panel");
    Object.assign(panel, { id: `panel-${name}`, hidden: true });
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${name}`);
    return panel;
  });
  const foot = make("div", "foot", outcome, buildCommand());
  room.replaceChildren(make("h2", "", "Control room"), tabs, ...panels, foot);
  show(Object.keys(PANELS)[0]);
}

function buildTab(name, panel) {
  const tab = make("button", "", panel.title);
  Object.assign(tab, { type: "button", id: `tab-${name}` });
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", `panel-${name}`);
  tab.addEventListener("click", () => show(name));
  return tab;
}

function moveAmongTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const names = Object.keys(PANELS);
  show(names[(names.indexOf(current) + step + names.length) % names.length]);
  byId(`tab-${current}`).focus();
}

async function show(name) {
  PANELS[current]?.leave?.();
  current = name;
  for (const each of Object.keys(PANELS)) {
    const selected = each === name;
    byId(`tab-${each}`).setAttribute("aria-selected", String(selected));
    byId(`tab-${each}`).tabIndex = selected ? 0 : -1;
    byId(`panel-${each}`).hidden = !selected;
  }
  preview(null);
  tellOutcome("");
  const panel = byId(`panel-${name}`);
  if (!panel.hasChildNodes()) {
    try {
      await PANELS[name].build(panel);
    } catch (error) {
      panel.replaceChildren();
      tellOutcome(error.message, true);
    }
  }
  draw();
  panel.querySelector(".do")?.dispatchEvent(new Event("pointerenter")); // its command is there at once
}

function draw() {
  const panel = view.picture && current && !room.hidden ? byId(`panel-${current}`) : null;
  if (panel?.hasChildNodes()) PANELS[current].draw?.(panel, view.picture);
}

document.addEventListener("drawn", draw);

/** The room ends where the window ends, so that the outcome and the command are in sight. */
function fit() {
  room.style.setProperty("--above", `${Math.max(0, room.getBoundingClientRect().top)}px`);
}

document.addEventListener("drawn", fit);
document.addEventListener("scroll", fit, { passive: true });
window.addEventListener("resize", fit);

// -- the command

function buildCommand() {
  const command = make("code", "");
  command.id = "command";
  command.tabIndex = 0;
  const copy = make("button", "", "Copy");
  Object.assign(copy, { type: "button", id: "copy", disabled: true });
  copy.addEventListener("click", async () => {
    // Where the address is no secure one there is no clipboard: the text is marked, for the keyboard to copy.
    getSelection().selectAllChildren(command);
    const copied = await navigator.clipboard?.writeText(command.textContent).then(() => true, () => false);
    tellOutcome(copied ? "copied" : "marked, to be copied with the keyboard");
  });
  const same = make("div", "", make("p", "", "The same in a terminal"), command, copy);
  same.id = "same";
  return same;
}
