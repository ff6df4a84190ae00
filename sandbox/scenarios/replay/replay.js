"use strict";
// Plays a run. Time goes from left to right in slots, as in the timeline below the picture: a step has one slot,
// idle time six. All of the picture follows from one number, the position in slots, so that dragging, stepping
// and playing backwards need nothing else.
(() => {
  const TRAVEL = 3; // slots that a message is on its way between two places
  const FLASH = 8; // slots that a fault is seen
  const GROW = 4; // slots in which a shard opens or folds
  const ROW = 30, TOP = 34, BOTTOM = 40;
  const MESSAGE_RADIUS = 4, HIT_RADIUS = 18;
  const DEFAULT_SECONDS = 60; // a run should be over in about this long
  const TOLD_MS = 1000; // how often the sentence changes while it plays fast
  const [KIND, AT, SLOT, TEXT, MESSAGE, STRIKE] = [0, 1, 2, 3, 4, 5];

  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("replay-data").textContent);
  const { steps, messages, places, shards, queues, lit } = data;
  const stage = element("stage"), slider = element("position"), said = element("said"), life = element("life");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const [SENDS, RECEIVER, DONE] = [0, places.indexOf("receiver"), places.indexOf("application has it")];
  const isShard = (place) => place > 0 && place < RECEIVER;
  const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
  const time = (at) => `+${at.toFixed(3)} s`;

  // A path's stops as {slot, place}; a stop is reached at its slot.
  const paths = data.paths.map(([message, style, ...stops]) => ({
    message, style,
    stops: stops.flatMap((index, at) => (at % 2 ? [] : [{ slot: steps[index][SLOT], place: stops[at + 1] }])),
  }));
  const finished = paths.map((path) => path.stops.at(-1).place >= DONE);
  const fulfilled = new Set(paths.filter((_, at) => finished[at]).map((path) => path.message));
  const faults = steps.flatMap((step, index) => (step[STRIKE] ? [index] : []));
  // A closed shard stays as long as there is something in it.
  for (const shard of shards) {
    const place = places.indexOf(shard.id);
    shard.from = shard.opened === null ? -Infinity : steps[shard.opened][SLOT];
    shard.until = shard.closed === null ? Infinity : steps[shard.closed][SLOT];
    shard.drained = shard.until;
    for (const { stops } of paths) {
      stops.forEach((stop, at) => {
        if (stop.place === place && stops[at + 1]) shard.drained = Math.max(shard.drained, stops[at + 1].slot);
      });
    }
  }

  const state = { position: 0, playing: false, clock: 0, selected: -1, told: 0, drawn: [] };

  // ---- where things are at a position -------------------------------------------------------------------------

  const stepAt = (position) => {
    let low = 0, high = steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (steps[middle][SLOT] <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1; // -1: nothing has happened yet
  };

  const stopAt = (stops, position) => {
    let at = stops.length - 1;
    while (at >= 0 && stops[at].slot > position) at -= 1;
    return at;
  };

  const ramp = (from, length, position) =>
    position < from ? 0 : still.matches ? 1 : clamp((position - from) / length, 0, 1);
  const weight = (shard, position) => {
    const open = shard.from === -Infinity ? 1 : ramp(shard.from, GROW, position);
    return open * (1 - 0.7 * ramp(shard.drained, GROW, position));
  };

  const layout = (width, position) => {
    const narrow = width < 560;
    const lanes = { left: narrow ? 74 : 170, right: width - (narrow ? 118 : 260) };
    let y = TOP;
    const rows = shards.map((shard) => {
      const height = ROW * weight(shard, position);
      const row = { shard, y: y + height / 2, height, seen: height > 0.5 };
      y += height;
      return row;
    });
    const middle = (TOP + Math.max(y, TOP + ROW * 2)) / 2;
    const receiver = width - (narrow ? 88 : 190), done = width - (narrow ? 30 : 70);
    return {
      width, narrow, lanes, rows, middle, bottom: y,
      sends: { x: narrow ? 34 : 80, y: middle }, receiver: { x: receiver, y: middle },
      ends: { [DONE]: { x: done, y: middle - 16 } },
      queue: (at) => ({ x: done, y: middle + 26 + 36 * at }),
      strikes: {
        publish: { x: lanes.left - (narrow ? 14 : 34), y: middle }, deliver: { x: lanes.right + (narrow ? 8 : 24), y: middle },
        shards: { x: (lanes.left + lanes.right) / 2, y: middle }, receiver: { x: receiver, y: middle },
      },
    };
  };

  const tallest = () => {
    const moments = [0, ...shards.flatMap((shard) => [shard.from, shard.until, shard.drained])];
    const sums = moments.filter(Number.isFinite).map((moment) =>
      shards.reduce((sum, shard) => sum + weight(shard, moment + GROW), 0));
    return TOP + BOTTOM + Math.max(ROW * Math.max(...sums, 4), 60 + 36 * (queues.length + 1));
  };

  // Where a path is: at a stop, or on its way to the next.
  const spot = (place, waiting, shape) => {
    if (isShard(place)) {
      const { lanes, rows } = shape;
      const room = lanes.right - lanes.left - (shape.narrow ? 24 : 90);
      return { x: lanes.right - 10 - Math.min(waiting * 10, room), y: rows[place - 1].y };
    }
    if (place === SENDS) return grid(shape.sends, waiting, shape.narrow ? 4 : 8);
    if (place === RECEIVER) return grid(shape.receiver, waiting, shape.narrow ? 4 : 8);
    return place === DONE ? shape.ends[DONE] : shape.queue(Math.max(queues.indexOf(places[place]), 0));
  };
  const grid = (from, at, across) => ({
    x: from.x + ((at % across) - (across - 1) / 2) * 9, y: from.y - 14 + (Math.floor(at / across) % 8) * 9,
  });

  const place = (position, shape) => {
    const counts = new Map(), resting = new Map(), shown = [];
    paths.forEach((path, index) => {
      const { stops } = path;
      const at = stopAt(stops, position);
      if (at < 0) return;
      const here = stops[at], next = stops[at + 1];
      const arrived = position - here.slot;
      const last = !next;
      if (here.place >= DONE) counts.set(here.place, (counts.get(here.place) || 0) + 1);
      if (last && here.place >= DONE && arrived > TRAVEL && path.message !== state.selected) return;
      // A copy that was dropped, and what was joined with its whole, fade where they were left.
      const left = last && here.place === RECEIVER && fulfilled.has(path.message);
      if (left && arrived > 2 * TRAVEL && path.message !== state.selected) return;
      const waiting = resting.get(here.place) || 0;
      resting.set(here.place, waiting + 1);
      const from = spot(here.place, waiting, shape);
      let where = from;
      if (next && !still.matches) {
        const begin = Math.max(here.slot, next.slot - TRAVEL);
        if (position > begin) {
          const part = (position - begin) / (next.slot - begin), eased = part * part * (3 - 2 * part);
          const to = spot(next.place, resting.get(next.place) || 0, shape);
          where = { x: from.x + (to.x - from.x) * eased, y: from.y + (to.y - from.y) * eased };
        }
      }
      shown.push({ ...where, index, path, place: here.place, faded: left, lost: last && here.place < DONE });
    });
    return { shown, counts, resting };
  };

  // ---- drawing ------------------------------------------------------------------------------------------------

  const context = stage.getContext("2d");
  let colours = {};
  const readColours = () => {
    // A colour has one value for light and one for dark; which holds is known where it is used.
    for (const name of ["ink", "quiet", "paper", "band", "line", "way", "pass", "fail", "again", "fault"]) {
      stage.style.color = `var(--${name})`;
      colours[name] = getComputedStyle(stage).color;
    }
  };
  const resize = () => {
    const width = stage.parentElement.clientWidth, height = tallest(), scale = devicePixelRatio || 1;
    stage.style.height = `${height}px`;
    stage.width = Math.round(width * scale);
    stage.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    readColours();
    draw();
  };
  const write = (text, x, y, colour, align = "center", size = 12, weight = "") => {
    context.font = `${weight} ${size}px system-ui, sans-serif`;
    context.textAlign = align;
    context.fillStyle = colour;
    context.fillText(text, x, y);
  };
  const box = (x, y, width, height, colour) => {
    context.beginPath();
    context.roundRect(x, y, width, height, 6);
    context.fillStyle = colour;
    context.fill();
  };

  const drawShards = (shape, resting, position) => {
    const { lanes, rows } = shape;
    const byId = new Map(rows.map((row) => [row.shard.id, row]));
    for (const row of rows) {
      if (!row.seen) continue;
      const { shard } = row, closed = position >= shard.until;
      const height = Math.max(row.height - 6, 2);
      box(lanes.left, row.y - height / 2, lanes.right - lanes.left, height, colours.band);
      context.strokeStyle = closed ? colours.quiet : colours.way;
      context.setLineDash(closed ? [3, 3] : []);
      context.stroke();
      context.setLineDash([]);
      if (row.height > ROW * 0.6) {
        write(shape.narrow ? shard.name.replace("shard ", "") : shard.name, lanes.left + 8, row.y + 4, colours.ink, "left");
        const number = resting.get(places.indexOf(shard.id)) || 0;
        const words = closed ? "closed, read to its end" : number > 9 ? `${number} wait` : "";
        if (words && !shape.narrow) write(words, lanes.left + 64, row.y + 4, colours.quiet, "left", 11);
      }
      for (const parent of shard.parents.map((id) => byId.get(id)).filter((found) => found?.seen)) {
        context.beginPath();
        context.moveTo(lanes.left, parent.y);
        context.bezierCurveTo(lanes.left - 16, parent.y, lanes.left - 16, row.y, lanes.left, row.y);
        context.strokeStyle = position - shard.from < 2 * FLASH ? colours.fault : colours.quiet;
        context.lineWidth = position - shard.from < 2 * FLASH ? 2.5 : 1;
        context.stroke();
        context.lineWidth = 1;
      }
    }
  };

  const drawPlaces = (shape, counts) => {
    const { narrow } = shape;
    write(narrow ? "sends" : "application sends", shape.sends.x, 18, colours.ink);
    write(narrow ? "shards" : "shards of the stream", (shape.lanes.left + shape.lanes.right) / 2, 18, colours.ink);
    write("receiver", shape.receiver.x, 18, colours.ink);
    write(narrow ? "has it" : "application has it", shape.ends[DONE].x, 18, colours.ink);
    write(String(counts.get(DONE) || 0), shape.ends[DONE].x, shape.ends[DONE].y + 6, colours.pass, "center", 20, "600");
    queues.forEach((name, at) => {
      const { x, y } = shape.queue(at), count = counts.get(places.indexOf(name)) || 0;
      write(String(count), x, y + 4, count ? colours.fail : colours.quiet, "center", 16, "600");
      write(narrow ? name.replace(" queue", "") : name, x, y + 18, colours.quiet, "center", 11);
    });
  };

  const ring = ({ x, y }, radius, colour, width = 2) => {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
    context.lineWidth = 1;
  };

  const drawMessages = (shown, position) => {
    const styles = { again: colours.again, bad: colours.fail };
    const touched = litMessages(position);
    for (const each of shown) {
      const arrived = each.place >= DONE && !each.path.style;
      context.globalAlpha = each.faded ? 0.35 : 1;
      context.beginPath();
      context.arc(each.x, each.y, MESSAGE_RADIUS, 0, 2 * Math.PI);
      context.fillStyle = arrived ? colours.pass : styles[each.path.style] || colours.way;
      context.fill();
      context.globalAlpha = 1;
      if (touched.has(each.path.message)) ring(each, 7, touched.get(each.path.message), 2);
      if (each.path.message === state.selected) ring(each, 9, colours.ink, 2.5);
    }
  };

  // The messages of cause and effects keep their rings while the position is between the two.
  const litMessages = (position) => {
    const found = new Map();
    if (!lit) return found;
    const end = Math.max(lit.wrong, ...lit.effects.slice(0, 20));
    if (position < steps[lit.cause][SLOT] - FLASH || position > steps[end][SLOT] + FLASH) return found;
    for (const index of lit.effects) if (steps[index][MESSAGE] >= 0) found.set(steps[index][MESSAGE], colours.again);
    for (const index of [lit.wrong, lit.cause])
      if (steps[index][MESSAGE] >= 0) found.set(steps[index][MESSAGE], index === lit.cause ? colours.fault : colours.fail);
    return found;
  };

  const drawFaults = (shape, shown, position) => {
    let line = 0;
    for (let at = faults.length - 1; at >= 0 && line < 3; at -= 1) {
      const step = steps[faults[at]], age = position - step[SLOT];
      if (age < 0) continue;
      if (age >= FLASH) break;
      const hit = shown.find((each) => each.path.message === step[MESSAGE]);
      const base = shape.strikes[step[STRIKE]] || shape.strikes.receiver;
      const row = hit && isShard(hit.place) ? shape.rows[hit.place - 1].y : base.y;
      const where = step[STRIKE] === "publish" || step[STRIKE] === "deliver" ? { x: base.x, y: row } : base;
      const grown = still.matches ? 0.4 : age / FLASH;
      context.globalAlpha = 1 - 0.7 * grown;
      box(where.x - 7, where.y - 7, 14, 14, colours.fault);
      ring(where, 10 + 26 * grown, colours.fault, 3);
      context.globalAlpha = 1;
      const height = stage.clientHeight;
      write(fitting(step[TEXT], shape.width - 16), shape.width / 2, height - 8 - 14 * line, colours.fault, "center", 12, "600");
      line += 1;
    }
  };

  const fitting = (text, width) => {
    context.font = "600 12px system-ui, sans-serif";
    if (context.measureText(text).width <= width) return text;
    let length = text.length;
    while (length > 4 && context.measureText(`${text.slice(0, length)}…`).width > width) length -= 4;
    return `${text.slice(0, length)}…`;
  };

  const draw = () => {
    const { position } = state, width = stage.clientWidth, height = stage.clientHeight;
    const shape = layout(width, position);
    context.clearRect(0, 0, width, height);
    const { shown, counts, resting } = place(position, shape);
    drawShards(shape, resting, position);
    drawPlaces(shape, counts);
    drawMessages(shown, position);
    drawFaults(shape, shown, position);
    const step = steps[stepAt(position)];
    if (step && step[KIND] === "idle") {
      box(width / 2 - 110, shape.middle - 16, 220, 30, colours.paper);
      context.strokeStyle = colours.quiet;
      context.stroke();
      write(step[TEXT], width / 2, shape.middle + 4, colours.ink, "center", 13);
    }
    state.drawn = shown;
    state.counts = counts;
    drawHead(position);
  };

  const timeline = element("timeline"), scroll = element("timeline-scroll");
  const head = document.createElementNS("http://www.w3.org/2000/svg", "line");
  head.setAttribute("class", "head");
  head.setAttribute("y1", "0");
  head.setAttribute("y2", timeline.getAttribute("height"));
  timeline.append(head);
  const drawHead = (position) => {
    const x = position * data.pace;
    head.setAttribute("transform", `translate(${x.toFixed(1)} 0)`);
    const seen = x - scroll.scrollLeft;
    if (seen < 0 || seen > scroll.clientWidth - 20) scroll.scrollLeft = x - scroll.clientWidth / 3;
  };

  // ---- what it says -------------------------------------------------------------------------------------------

  const tell = () => {
    const index = stepAt(state.position), step = steps[index];
    const words = step ? `${time(step[AT])} ${step[TEXT]}` : "Before the first step.";
    const marks = lit && step ? [[lit.wrong, "went wrong"], [lit.cause, "cause"]].filter(([at]) => at === index) : [];
    const mark = marks.length ? `${marks.at(-1)[1]}: ` : lit?.effects.includes(index) ? "effect: " : "";
    slider.value = index + 1;
    slider.setAttribute("aria-valuetext", `step ${index + 1} of ${steps.length}, ${words}`);
    said.replaceChildren(`${mark}${words} `);
    if (step && step[MESSAGE] >= 0 && !state.playing) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "life";
      button.textContent = `life of ${messages[step[MESSAGE]].id.slice(0, 8)}`;
      button.addEventListener("click", () => select(step[MESSAGE]));
      said.append(button);
    }
    const counts = state.counts || new Map();
    stage.setAttribute("aria-label",
      `the run as a picture, step ${index + 1} of ${steps.length}: ${counts.get(DONE) || 0} messages processed` +
      queues.map((name) => `, ${counts.get(places.indexOf(name)) || 0} in the ${name}`).join(""));
  };

  const show = (position) => {
    state.position = clamp(position, 0, data.slots);
    draw();
    tell();
  };
  const goTo = (index) => show(index < 0 ? 0 : steps[Math.min(index, steps.length - 1)][SLOT]);
  const stepBy = (many) => { hold(); goTo(clamp(stepAt(state.position) + many, -1, steps.length - 1)); };

  const lifeOf = (message) => steps.filter((step) => step[MESSAGE] === message);
  const select = (message) => {
    hold();
    state.selected = message;
    const { id, fate } = messages[message];
    const heading = document.createElement("h3"), list = document.createElement("ol"), end = document.createElement("p");
    heading.textContent = `The life of ${id}`;
    steps.forEach((step, index) => {
      if (step[MESSAGE] !== message) return;
      const row = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      button.textContent = time(step[AT]);
      button.addEventListener("click", () => { hold(); goTo(index); });
      row.append(button, ` ${step[TEXT]}`);
      list.append(row);
    });
    const times = lifeOf(message).filter((step) => step[KIND] === "message.processed").length;
    const queued = lifeOf(message).some((step) => step[KIND] === "message.rejected");
    end.textContent = fate || (times ? "It was processed once." : queued ? "It was rejected." : "It was not processed.");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Close";
    button.addEventListener("click", close);
    life.replaceChildren(heading, list, end, button);
    life.hidden = false;
    life.focus();
    for (const line of timeline.querySelectorAll("[data-message]"))
      line.classList.toggle("selected", line.dataset.message === id);
    draw();
  };
  const close = () => {
    state.selected = -1;
    life.hidden = true;
    for (const line of timeline.querySelectorAll(".selected")) line.classList.remove("selected");
    stage.focus();
    draw();
  };

  // ---- playing ------------------------------------------------------------------------------------------------

  const play = element("play"), speed = element("speed");
  let before = 0;
  const frame = (now) => {
    if (!state.playing) return;
    const passed = Math.min(now - before, 250) / 1000;
    before = now;
    state.clock += passed * Number(speed.value);
    const last = steps.at(-1)[SLOT];
    state.position = Math.min(still.matches ? steps[Math.max(stepAt(state.clock), 0)][SLOT] : state.clock, last);
    draw();
    if (now - state.told >= TOLD_MS || Number(speed.value) <= 1) {
      state.told = now;
      tell();
    }
    if (state.clock >= last) hold();
    else requestAnimationFrame(frame);
  };
  const begin = () => {
    if (state.position >= steps.at(-1)[SLOT]) state.position = 0;
    state.clock = state.position;
    state.playing = true;
    play.textContent = "Hold";
    // A sentence a second is too much for a screen reader; the one at which it is held is read.
    said.setAttribute("aria-live", "off");
    before = performance.now();
    requestAnimationFrame(frame);
  };
  const hold = () => {
    if (!state.playing) return;
    state.playing = false;
    play.textContent = "Play";
    said.setAttribute("aria-live", "polite");
    draw();
    tell();
  };
  const toggle = () => (state.playing ? hold() : begin());

  const nearest = (x, y) => {
    let found = null, least = HIT_RADIUS;
    for (const each of state.drawn) {
      const distance = Math.hypot(each.x - x, each.y - y);
      if (distance < least) [found, least] = [each, distance];
    }
    return found;
  };
  stage.addEventListener("click", (event) => {
    const area = stage.getBoundingClientRect();
    const found = nearest(event.clientX - area.left, event.clientY - area.top);
    if (found) select(found.path.message);
  });

  play.addEventListener("click", toggle);
  element("back").addEventListener("click", () => stepBy(-1));
  element("forward").addEventListener("click", () => stepBy(1));
  const first = element("first");
  first.disabled = !lit;
  first.addEventListener("click", () => { hold(); goTo(lit.wrong); });
  slider.addEventListener("input", () => { hold(); goTo(Number(slider.value) - 1); });
  for (const button of document.querySelectorAll("[data-step]"))
    button.addEventListener("click", () => { hold(); goTo(Number(button.dataset.step)); });
  for (const button of document.querySelectorAll("button.life[data-message]"))
    button.addEventListener("click", () => select(messages.findIndex(({ id }) => id === button.dataset.message)));

  const keys = {
    " ": toggle, ArrowRight: () => stepBy(1), ArrowLeft: () => stepBy(-1),
    Home: () => { hold(); goTo(-1); }, End: () => { hold(); goTo(steps.length - 1); },
    Enter: () => { const step = steps[stepAt(state.position)]; if (step && step[MESSAGE] >= 0) select(step[MESSAGE]); },
    Escape: () => { if (!life.hidden) close(); },
  };
  element("replay").addEventListener("keydown", (event) => {
    // Buttons, the slider and the list of speeds have keys of their own.
    const own = event.target.closest("button, input, select") && event.key !== "Escape";
    if (own || event.altKey || event.ctrlKey || event.metaKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  let dragging = false;
  const scrub = (event) => {
    hold();
    show((event.clientX - timeline.getBoundingClientRect().left) / data.pace);
  };
  timeline.addEventListener("click", scrub);
  timeline.addEventListener("pointerdown", (event) => { dragging = event.pointerType === "mouse"; });
  timeline.addEventListener("pointermove", (event) => { if (dragging && event.buttons & 1) scrub(event); });
  addEventListener("pointerup", () => { dragging = false; });

  // ---- two runs beside each other: the page around both tells each where to go -------------------------------

  addEventListener("message", (event) => {
    if (event.source !== parent || parent === window || typeof event.data?.replay !== "string") return;
    const { replay, at } = event.data;
    if (replay === "hello") parent.postMessage({ replay: "times", times: steps.map((step) => step[AT]) }, "*");
    if (replay === "time" && Number.isFinite(at)) {
      hold();
      let index = -1;
      while (index + 1 < steps.length && steps[index + 1][AT] <= at) index += 1;
      goTo(index);
    }
    if (replay === "play") begin();
    if (replay === "hold") hold();
  });

  for (const option of speed.options) {
    speed.value = option.value;
    if (data.slots / Number(option.value) <= DEFAULT_SECONDS) break;
  }
  still.addEventListener("change", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
  new ResizeObserver(resize).observe(stage.parentElement);
  resize();
  goTo(lit ? lit.wrong : -1);
})();
