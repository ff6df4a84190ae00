// Draws the picture of the sandbox that GET /picture sends, twice a second at most.
//
//   EventSource --> receive --> draw --> one function a section --> reconcile: elements stay, their texts change
//
// Every text from the sandbox is set as textContent: names and messages are other people's.
"use strict";

const SILENT_MS = 25_000; // the sandbox sends a picture every 10 s, changed or not
const AGAIN_MS = 2_000;
const TOLD_MS = 4_000; // between two announcements to a screen reader
const STRUCK_MS = 1_500;
const MOST_COLUMNS = 6;
const MOST_READERS = 3;

const byId = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en");
const count = (number, noun) => `${numbers.format(number)} ${noun}${number === 1 ? "" : "s"}`;
const shardNumber = (id) => String(Number(id.split("-").pop()) || (id.endsWith("-000000000000") ? 0 : id));
const clockTime = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 19);

const view = { picture: null, at: 0, held: false, lost: "", told: -1, struck: null, chosen: "" };

// -- elements

/** Make an element with a class and children; strings become text. */
function make(tag, className = "", ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Give the parent one child for each item, in their order; a child stays for as long as its item's key does. */
function reconcile(parent, items, keyOf, build, update) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = there.get(key);
    if (child) there.delete(key);
    else {
      child = build(item);
      child.dataset.key = key;
    }
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    update(child, item);
  }
  for (const gone of there.values()) gone.remove();
}

/** Show for a moment that a fault struck here; once a second at most (WCAG 2.3.1). */
function flash(element) {
  if (element.classList.contains("struck")) return;
  element.classList.add("struck");
  setTimeout(() => element.classList.remove("struck"), STRUCK_MS);
}

// -- streams

function drawStreams(picture) {
  // One line is enough for what is empty, and for what only repeats or keeps other streams' messages.
  const isQuiet = (stream) => (!stream.put || stream.aside) && !stream.readers.length && stream.lanes.every((lane) => lane.open);
  const ordered = [...picture.streams.filter((each) => !isQuiet(each)), ...picture.streams.filter(isQuiet)];
  const list = document.querySelector("#streams .list");
  reconcile(list, ordered, (stream) => stream.name, buildStream, (section, stream) => {
    section.classList.toggle("quiet", isQuiet(stream));
    section.classList.toggle("chosen", stream.name === view.chosen);
    section.querySelector("button").setAttribute("aria-pressed", String(stream.name === view.chosen));
    updateStream(section, stream);
  });
  list.classList.toggle("only", ordered.some((stream) => stream.name === view.chosen));
  const more = picture.left_out_streams ? `${count(picture.left_out_streams, "stream")} more` : "";
  setText(document.querySelector("#streams > .more"), more);
}

function buildStream(stream) {
  const section = make("section", "stream");
  const only = make("button", "", "Only this");
  only.type = "button";
  only.addEventListener("click", () => choose(stream.name));
  section.tabIndex = -1;
  section.setAttribute("aria-label", `stream ${stream.name}`);
  const title = make("div", "title", make("h3", "", stream.name), make("p", "figures"), only);
  section.append(title, make("div", "lanes", make("div", "river"), make("ol", "rows")), make("p", "more"));
  section.querySelector(".river").setAttribute("aria-hidden", "true"); // the rows say the same
  return section;
}

function updateStream(section, stream) {
  drawFigures(section.querySelector(".figures"), stream);
  const rows = stream.lanes.filter((lane) => lane.open);
  const lanes = layLanes(stream.lanes, rows.length ? rows : stream.lanes);
  section.querySelector(".lanes").style.setProperty("--columns", lanes.columns);
  const late = new Set(stream.readers.filter((reader) => reader.live && reader.behind).map((reader) => reader.shard));
  drawRiver(section.querySelector(".river"), lanes, late);
  reconcile(section.querySelector(".rows"), rows, (lane) => lane.id, buildLane, (row, lane) => {
    updateLane(row, lane, stream.readers.filter((reader) => reader.shard === lane.id), stream.readers_known);
  });
  const more = [];
  if (stream.left_out_shards) more.push(`${count(stream.left_out_shards, "shard")} more`);
  if (stream.left_out_readers) more.push(`${count(stream.left_out_readers, "reader")} more`);
  const waiting = stream.readers.filter((reader) => reader.behind && !rows.some((lane) => lane.id === reader.shard));
  for (const reader of waiting.slice(0, MOST_READERS)) {
    const where = reader.shard === null ? "no shard" : `closed shard ${shardNumber(reader.shard)}`;
    more.push(`${reader.name} on ${where}: ${sayBehind(reader)}`);
  }
  setText(section.querySelector(":scope > .more"), more.join("; "));
}

function drawFigures(figures, stream) {
  const behind = Math.max(0, ...stream.readers.filter((reader) => reader.live).map((reader) => reader.behind));
  const texts = [
    ["records", stream.put ? count(stream.records, "record") : "empty"],
    ["rate", stream.rate ? `${numbers.format(Math.round(stream.rate))} a second` : ""],
    ["unread", stream.unread ? `${numbers.format(stream.unread)} unread` : ""],
    ["behind", behind ? `slowest reader ${numbers.format(behind)} behind` : ""],
    ["status", stream.status === "ACTIVE" ? "" : stream.status.toLowerCase()],
  ].filter(([, text]) => text);
  reconcile(figures, texts, ([name]) => name, ([name]) => make("b", name), (part, [name, text]) => {
    setText(part, name === texts[0][0] ? text : ` · ${text}`);
  });
}

/** Lay lanes out: rows of one height for the lanes open now, columns for the generations before them. */
function layLanes(lanes, rows) {
  const known = new Map(lanes.map((lane) => [lane.id, lane]));
  const columnOf = new Map();
  const column = (lane) => {
    if (!columnOf.has(lane.id)) {
      columnOf.set(lane.id, 0); // a ring of parents, which no stream has, would end here
      const parents = lane.parents.filter((id) => known.has(id)).map((id) => column(known.get(id)));
      columnOf.set(lane.id, parents.length ? Math.max(...parents) + 1 : 0);
    }
    return columnOf.get(lane.id);
  };
  const last = Math.max(0, ...lanes.map(column));
  const first = Math.max(0, last + 1 - MOST_COLUMNS);
  const height = (key) => {
    let above = 0;
    for (const row of rows) {
      if (row.end <= key) above += 1;
      else if (row.start < key) above += (key - row.start) / (row.end - row.start);
    }
    return above / rows.length;
  };
  const childrenOf = (lane) => lanes.filter((other) => other.parents.includes(lane.id));
  const boxes = lanes.map((lane) => {
    const children = childrenOf(lane);
    const until = lane.open ? last + 1 : Math.min(last + 1, ...children.map(column));
    const from = Math.max(column(lane), first);
    return { lane, children, left: from - first, right: until - first, top: height(lane.start), bottom: height(lane.end) };
  });
  return { columns: last - first + 1, boxes: boxes.filter((box) => box.right > box.left) };
}

const GAP = 0.24; // of a column: the room in which a parent's line leads to its children

/** Draw the lanes. A closed shard that is ``late``, not read to its end yet, keeps its children waiting. */
function drawRiver(river, { columns, boxes }, late) {
  const waits = (box) => !box.lane.open && late.has(box.lane.id);
  const drawn = JSON.stringify([columns, boxes.map((box) => [box.lane.id, box.lane.open, box.top, box.bottom, waits(box)])]);
  if (river.dataset.drawn === drawn) return;
  river.dataset.drawn = drawn;
  const percent = (part) => `${(part * 100).toFixed(3)}%`;
  const shown = boxes.map((box) => {
    const shard = make("div", box.lane.open ? "shard open" : "shard", shardNumber(box.lane.id));
    shard.dataset.shard = box.lane.id;
    shard.classList.toggle("late", waits(box));
    shard.style.left = percent(box.left / columns);
    shard.style.width = percent((box.right - box.left - (box.lane.open ? 0 : GAP)) / columns);
    shard.style.top = percent(box.top);
    shard.style.height = percent(Math.max(box.bottom - box.top, 0.01));
    return shard;
  });
  river.replaceChildren(drawLineage(boxes, columns), ...shown);
}

/** A line from each parent to each of its children: a split parts in two, a merge comes together. */
function drawLineage(boxes, columns) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${columns} 1`);
  svg.setAttribute("preserveAspectRatio", "none");
  const boxOf = new Map(boxes.map((box) => [box.lane.id, box]));
  for (const parent of boxes) {
    for (const child of parent.children.map((lane) => boxOf.get(lane.id)).filter(Boolean)) {
      const [from, to] = [(parent.top + parent.bottom) / 2, (child.top + child.bottom) / 2];
      const [left, right] = [parent.right - GAP, child.left];
      const middle = (left + right) / 2;
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", `M${left} ${from} C${middle} ${from} ${middle} ${to} ${right} ${to}`);
      path.dataset.from = parent.lane.id;
      path.dataset.to = child.lane.id;
      svg.append(path);
    }
  }
  return svg;
}

function buildLane() {
  return make("li", "lane", make("div", "", make("b"), make("small")), make("div", "readers"));
}

function updateLane(row, lane, readers, known) {
  const share = (part) => (part * 100).toFixed(part * 100 === Math.round(part * 100) ? 0 : 1);
  setText(row.querySelector("b"), `shard ${shardNumber(lane.id)}`);
  const unread = lane.unread && !readers.length ? `, ${numbers.format(lane.unread)} unread` : "";
  const keys = `${share(lane.start)}–${share(lane.end)} % of the keys`;
  setText(row.querySelector("small"), `${keys}, ${count(lane.records, "record")}${unread}`);
  const live = readers.filter((reader) => reader.live);
  const shown = live.slice(0, MOST_READERS).map((reader, place) => ({ ...reader, key: `reader ${place}` }));
  const others = readers.length - shown.length;
  const idle = readers.length - live.length;
  let noted = known ? "no reader" : "readers are not known";
  if (readers.length) noted = others ? `${count(others, "reader")} more, ${idle} idle` : "";
  const items = [...shown, ...(noted ? [{ key: "note", note: noted }] : [])];
  const build = (item) => (item.note ? make("p", "nobody") : buildReader());
  reconcile(row.querySelector(".readers"), items, (item) => item.key, build, (element, item) => {
    if (item.note) setText(element, item.note);
    else updateReader(element, item, lane);
  });
}

function buildReader() {
  return make("div", "reader", make("span"), make("b"), make("div", "track", make("i")));
}

function updateReader(element, reader, lane) {
  setText(element.querySelector("span"), reader.name);
  setText(element.querySelector("b"), sayBehind(reader));
  element.classList.toggle("behind", reader.behind > 0);
  const read = lane.records ? Math.max(0, 1 - reader.behind / lane.records) : 1;
  element.querySelector("i").style.width = `${(read * 100).toFixed(1)}%`;
}

function sayBehind(reader) {
  if (!reader.behind) return "up to date";
  return `${numbers.format(reader.behind)} behind${reader.late ? `, ${numbers.format(reader.late)} s` : ""}`;
}

// -- the other sections

function drawRun(run) {
  byId("run").hidden = !run;
  const words = { offered: "offered", acknowledged: "the broker has", delivered: "given to the receiver", processed: "processed", rejected: "in error queues" };
  const build = ([name]) => make("p", name, make("b"), words[name]);
  reconcile(byId("run"), Object.entries(run || {}), ([name]) => name, build, (figure, [, number]) => {
    setText(figure.querySelector("b"), numbers.format(number));
  });
}

function drawError(error) {
  const line = document.querySelector("#error .line");
  const key = error ? `${error.id} ${error.at} ${error.said}` : "";
  if (line.dataset.key === key) return;
  line.dataset.key = key;
  line.replaceChildren(...(error ? [error.said, make("small", "", clockTime(error.at))] : []));
}

function drawFaults(picture) {
  const build = () => make("li", "fault", make("b"), make("span", "count"), make("small"));
  reconcile(document.querySelector("#faults .list"), picture.faults, (fault) => fault.name, build, (row, fault) => {
    row.classList.toggle("off", !fault.enabled);
    setText(row.querySelector("b"), fault.name);
    const share = fault.toxicity < 1 ? `, ${Math.round(fault.toxicity * 1000) / 10} % of messages` : "";
    const off = fault.enabled ? "" : ", switched off";
    setText(row.querySelector(":scope > small"), `${fault.type}, ${fault.direction} on ${fault.channel}${share}${off}`);
    const times = row.querySelector(".count");
    if (times.dataset.count !== String(fault.injected)) {
      times.dataset.count = String(fault.injected);
      times.replaceChildren(numbers.format(fault.injected), make("small", "", fault.injected === 1 ? "strike" : "strikes"));
    }
  });
}

/** Light up the faults that struck since the picture before, and the streams that they struck. */
function drawStrikes(strikes) {
  const newest = Math.max(0, ...strikes.map((strike) => strike.id));
  const known = view.struck === null || newest < view.struck ? newest : view.struck;
  const find = (list, key) => [...document.querySelectorAll(`${list} > *`)].find((each) => each.dataset.key === key);
  for (const strike of strikes.filter((each) => each.id > known)) {
    for (const where of [find("#faults .list", strike.fault), find("#streams .list", strike.channel)?.querySelector(".title")]) {
      if (where) flash(where);
    }
  }
  view.struck = newest;
}

function drawFindings(findings) {
  const build = () => make("li", "finding", make("b"), make("div"), make("small"));
  reconcile(document.querySelector("#findings .list"), [...findings].reverse(), (each) => each.id, build, (row, each) => {
    setText(row.querySelector("b"), `${each.harm}: ${each.said}`);
    setText(row.querySelector("div"), each.advice);
    const shard = each.shard === null ? "" : `, shard ${shardNumber(each.shard)}`;
    setText(row.querySelector("small"), `${each.client ?? "a client"}, ${each.stream}${shard}`);
  });
}

function drawNews(news) {
  const build = (line) => make("li", "", make("time"), " ", make("span"));
  reconcile(document.querySelector("#news .list"), [...news].reverse(), (line) => line.id, build, (row, line) => {
    row.className = `news ${line.tone}`;
    setText(row.querySelector("time"), clockTime(line.at));
    setText(row.querySelector("span"), line.said);
  });
}

/** Tell a screen reader what is new, in one sentence a few seconds, however much happens. */
function tell() {
  if (!view.picture || view.held) return;
  const { news, error } = view.picture;
  const newest = Math.max(0, ...news.map((line) => line.id));
  if (view.told < 0 || newest < view.told) view.told = newest; // what was there before is on the page
  const said = news.filter((line) => line.id > view.told).map((line) => line.said).slice(-3);
  const refused = error && error.id === 0 && view.refused !== undefined && view.refused !== error.at;
  if (refused) said.push(error.said);
  view.refused = error && error.id === 0 ? error.at : view.refused ?? 0;
  view.told = newest;
  if (said.length) setText(byId("told"), said.join(". "));
}

function drawState() {
  const state = byId("state");
  const said = view.lost || (view.held ? "held" : view.picture ? "live" : "connecting");
  setText(state, said);
  state.dataset.state = view.lost ? "lost" : view.held ? "held" : "live";
  if (!view.picture) return;
  const { time, speed, real } = view.picture.clock;
  const driven = real || view.picture.run; // a scenario moves its clock from step to step
  const passed = view.held || view.lost ? 0 : ((performance.now() - view.at) / 1000) * speed;
  const date = new Date((time + passed) * 1000).toISOString().replace("T", " ").slice(0, 19);
  const how = driven ? "" : speed ? `, ${speed} s a second` : ", the clock stands still";
  setText(byId("clock"), `${date} UTC${how}`);
}

function draw(picture) {
  setText(byId("contract"), picture.contract);
  drawStreams(picture);
  drawRun(picture.run);
  drawError(picture.error);
  drawFaults(picture);
  drawFindings(picture.findings);
  drawNews(picture.news);
  drawStrikes(picture.strikes);
  drawState();
  document.dispatchEvent(new Event("drawn")); // the control room shows what can be acted on
}

// -- the connection

let source = null;

function connect() {
  if (source) source.close();
  source = new EventSource("/picture");
  source.onmessage = (message) => {
    view.picture = JSON.parse(message.data);
    view.at = performance.now();
    view.lost = "";
    if (!view.held) draw(view.picture);
  };
  source.onerror = async () => {
    const gone = source.readyState === EventSource.CLOSED;
    const answer = await fetch("/picture").catch(() => null);
    const token = answer && answer.status === 401;
    if (token) view.lost = "it asks for a token: open what sandbox watch prints";
    else if (!view.lost) view.lost = `no answer since ${new Date().toTimeString().slice(0, 8)}`;
    if (gone) setTimeout(connect, AGAIN_MS);
    drawState();
  };
}

setInterval(() => {
  if (view.picture && !view.lost && performance.now() - view.at > SILENT_MS) {
    view.lost = "no answer";
    connect();
  }
  drawState();
}, 1_000);
setInterval(tell, TOLD_MS);

// -- keys and buttons

const root = document.documentElement;

/** What a person set stays for the next visit, where the browser allows that. */
function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // A browser that keeps nothing shows the page all the same.
  }
}

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function setSize(size) {
  const bounded = Math.min(3, Math.max(0.6, Number(size) || 1));
  root.style.setProperty("--size", bounded.toFixed(2));
  keep("size", bounded.toFixed(2));
}

const size = () => Number(root.style.getPropertyValue("--size")) || 1;

function hold() {
  view.held = !view.held;
  byId("hold").setAttribute("aria-pressed", String(view.held));
  if (view.picture && !view.held) draw(view.picture);
  drawState();
}

function choose(name) {
  view.chosen = view.chosen === name ? "" : name;
  if (view.picture) drawStreams(view.picture);
}

function chooseFocused() {
  const section = document.activeElement?.closest(".stream");
  choose(section ? section.dataset.key : view.chosen);
}

const goTo = (id) => () => byId(id).focus();
const KEYS = {
  h: hold, t: () => byId("theme").click(), o: chooseFocused,
  "+": () => setSize(size() * 1.15), "=": () => setSize(size() * 1.15), "-": () => setSize(size() / 1.15),
  "?": () => byId("keys").showModal(), c: () => byId("act").click(),
  s: goTo("streams"), e: goTo("error"), f: goTo("faults"), d: goTo("findings"), n: goTo("news"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.target.closest("input, select, textarea")) return;
  const press = /^[1-9]$/.test(event.key)
    ? () => document.querySelectorAll("#streams .list > .stream")[event.key - 1]?.focus()
    : KEYS[event.key];
  if (press) {
    event.preventDefault();
    press();
  }
});
byId("hold").addEventListener("click", hold);
byId("larger").addEventListener("click", KEYS["+"]);
byId("smaller").addEventListener("click", KEYS["-"]);
byId("help").addEventListener("click", KEYS["?"]);

setSize(kept("size"));
connect();
