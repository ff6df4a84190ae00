"use strict";
// Shows two runs of a scenario side by side: their facts, and their replays, which follow one position in time.
(() => {
  const element = (id) => document.getElementById(id);
  const runs = JSON.parse(element("runs-data").textContent);
  if (!runs.length) return;
  const boxes = [...document.querySelectorAll("[data-run]")];
  const compare = element("compare"), chosen = element("chosen"), both = element("both");
  const FRAME_MS = 100; // how often both replays are moved while they play
  let replays = null;

  const picked = () => boxes.filter((box) => box.checked).map((box) => runs[box.dataset.run]);
  const choose = () => {
    const [left, right, ...more] = picked();
    const same = right && left.name === right.name && !more.length;
    compare.disabled = !same;
    chosen.textContent = same || !left ? "" : !right ? `Choose another run of ${left.name}.`
      : more.length ? "Choose two runs, not more." : "Choose two runs of the same scenario.";
  };
  boxes.forEach((box) => box.addEventListener("change", choose));

  const make = (name, text = "", attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const factTable = (pair) => {
    const table = make("table", "", { class: "facts" }), head = table.createTHead().insertRow();
    for (const title of ["fact", ...pair.map((run) => run.folder), "difference"]) head.append(make("th", title));
    const rows = [["verdict", ...pair.map((run) => run.verdict)], ["seed", ...pair.map((run) => run.seed)]];
    for (const fact of new Set(pair.flatMap((run) => Object.keys(run.facts))))
      rows.push([fact, ...pair.map((run) => run.facts[fact] ?? 0)]);
    const body = table.createTBody();
    for (const [fact, left, right] of rows) {
      const row = body.insertRow(), differs = left !== right;
      row.className = differs ? "differs" : "";
      const change = typeof left === "number" && differs && fact !== "seed" ? ` by ${+(right - left).toFixed(3)}` : "";
      for (const text of [fact, left ?? "", right ?? "", differs ? `differs${change}` : ""])
        row.append(make("td", String(text)));
    }
    const wide = make("div", "", { class: "wide", tabindex: "0", role: "region", "aria-label": "the facts of both" });
    wide.append(table);
    return wide;
  };

  // Both replays stand at the same time of their scenario's clock; each says at which times it has steps.
  const player = (frames) => {
    const controls = make("div", "", { class: "controls", role: "group", "aria-label": "playing both" });
    const back = make("button", "Step back", { type: "button" }), play = make("button", "Play both", { type: "button" });
    const forward = make("button", "Step forward", { type: "button" });
    const slider = make("input", "", { type: "range", min: 0, max: 0, step: "any", "aria-label": "time in both runs" });
    const said = make("p", "", { role: "status" });
    controls.append(back, play, forward);
    const times = frames.map(() => []);
    let moments = [0], timer = 0, at = 0;
    const tell = (message) => frames.forEach((frame) => frame.contentWindow.postMessage(message, "*"));
    const show = (index) => {
      at = Math.min(Math.max(index, 0), moments.length - 1);
      slider.value = moments[at];
      slider.setAttribute("aria-valuetext", `${moments[at]} seconds`);
      said.textContent = `Both are at +${moments[at].toFixed(3)} s.`;
      tell({ replay: "time", at: moments[at] });
    };
    const hold = () => {
      clearInterval(timer);
      timer = 0;
      play.textContent = "Play both";
    };
    back.addEventListener("click", () => { hold(); show(at - 1); });
    forward.addEventListener("click", () => { hold(); show(at + 1); });
    slider.addEventListener("input", () => {
      hold();
      show(moments.findLastIndex((moment) => moment <= Number(slider.value)));
    });
    play.addEventListener("click", () => {
      if (timer) return hold();
      if (at === moments.length - 1) show(0);
      play.textContent = "Hold";
      timer = setInterval(() => (at < moments.length - 1 ? show(at + 1) : hold()), FRAME_MS);
      return undefined;
    });
    const hear = (event) => {
      const which = frames.findIndex((frame) => frame.contentWindow === event.source);
      if (which < 0 || event.data?.replay !== "times") return;
      times[which] = event.data.times;
      moments = [...new Set([0, ...times.flat()])].sort((a, b) => a - b);
      slider.max = moments.at(-1);
      said.textContent = times.every((each) => each.length) ? "Both replays are ready." : "";
    };
    addEventListener("message", hear);
    frames.forEach((frame) =>
      frame.addEventListener("load", () => frame.contentWindow.postMessage({ replay: "hello" }, "*")));
    return { parts: [controls, slider, said], end: () => { hold(); removeEventListener("message", hear); } };
  };

  const show = (pair) => {
    replays?.end();
    replays = null;
    both.replaceChildren(make("h2", `${pair[0].name}: two runs`, { id: "both-title" }), factTable(pair));
    if (pair.every((run) => run.page)) {
      const frames = pair.map((run) =>
        make("iframe", "", { src: run.page, title: `the run ${run.folder}, seed ${run.seed}` }));
      replays = player(frames);
      const pages = make("div", "", { class: "pages" });
      pages.append(...frames);
      both.append(...replays.parts, pages);
    } else both.append(make("p", "A run without a report page has no replay: play it with --report html."));
    both.hidden = false;
    both.focus();
  };
  compare.addEventListener("click", () => {
    const pair = picked();
    // Older first, as one reads.
    pair.sort((one, other) => (one.folder < other.folder ? -1 : 1));
    history.replaceState(null, "", `#compare=${pair.map((run) => encodeURIComponent(run.folder)).join(",")}`);
    show(pair);
  });

  const wanted = location.hash.startsWith("#compare=")
    ? location.hash.slice(9).split(",").map((each) => runs.find((run) => run.folder === decodeURIComponent(each))) : [];
  if (wanted.length === 2 && wanted.every(Boolean)) show(wanted);
})();
