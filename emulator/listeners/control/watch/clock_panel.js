// The clock: held, let run, moved on and set.

import { action, choice, field, form, textInput } from "./form_fields.js";

const UNITS = { seconds: 1, minutes: 60, hours: 3600, days: 86400 };

export const title = "Clock";

const change = (body) => ({ method: "POST", path: "/clock", body });
const tell = (clock) => `the clock says ${new Date(clock.time * 1000).toISOString().replace("T", " ").slice(0, 19)} UTC`;
const clockAction = (label, build) => action(label, () => change(build()), tell);

export function build(panel) {
  const states = make(
    "p",
    "buttons",
    clockAction("Hold", () => ({ action: "freeze" })),
    clockAction("Let it run", () => ({ action: "speed", speed: 1 })),
    clockAction("Real time", () => ({ action: "real" })),
  );
  panel.append(
    make("p", "about", "Everything that waits (retention, iterators, back-off, delays, expiry) waits on this clock."),
    make("p", "reading"),
    states,
    advanceForm(),
    setForm(),
    speedForm(),
  );
}

export function draw(panel, picture) {
  const { real, speed } = picture.clock;
  const how = real ? "real time" : speed ? `${speed} seconds a second` : "it stands still";
  setText(panel.querySelector(".reading"), `Now: ${how}.`);
}

function advanceForm() {
  const length = Object.assign(textInput("length", "", "number"), { value: "10", min: 0, required: true });
  const unit = choice("unit", Object.keys(UNITS), "minutes");
  const advance = clockAction("Advance", () => ({ action: "advance", seconds: Number(length.value) * UNITS[unit.value] }));
  return form(advance, make("h3", "", "Let time pass at once"), field("length", length), field("unit", unit));
}

function setForm() {
  const time = Object.assign(textInput("time", "", "datetime-local"), { step: 1, required: true });
  time.value = new Date((view.picture?.clock.time ?? 0) * 1000).toISOString().slice(0, 19);
  const set = clockAction("Set", () => ({ action: "set", time: Date.parse(`${time.value}Z`) / 1000 }));
  return form(set, make("h3", "", "Set it"), field("time", time, "UTC; it goes on from there at its speed"));
}

function speedForm() {
  const speed = Object.assign(textInput("speed", "", "number"), { value: "60", min: 0, required: true });
  const run = clockAction("Run at this speed", () => ({ action: "speed", speed: Number(speed.value) }));
  return form(run, make("h3", "", "Let it run faster"), field("speed", speed, "seconds of the clock in a second"));
}
