// Messages: samples of the contract, in parts, or bad ones by their error code.

import { ask } from "./sandbox_calls.js";
import { action, choice, field, form, offer, textInput } from "./form_fields.js";

export const title = "Send";

const VALID = "none: valid messages";
const stream = choice("stream", []);

export async function build(panel) {
  const { codes } = await ask("GET", "/contract");
  const sampled = codes.filter((code) => code.sampled);
  const bad = choice("bad", [VALID, ...sampled.map((code) => code.code)], VALID);
  const meaning = make("small");
  meaning.id = "meaning-of-code";
  const number = Object.assign(textInput("count", "", "number"), { value: "1", min: 1, max: 1000, step: 1, required: true });
  const parts = Object.assign(textInput("parts", "1", "number"), { min: 2, max: 20, step: 1 });
  const seed = Object.assign(textInput("seed", "drawn", "number"), { step: 1 });
  const build = () => {
    const body = { stream: stream.value, count: Number(number.value) };
    if (seed.value) body.seed = Number(seed.value);
    if (parts.value && bad.value === VALID) body.parts = Number(parts.value);
    if (bad.value !== VALID) body.bad = bad.value;
    return { method: "POST", path: "/samples", body };
  };
  const send = action("Send", build, (sent) => {
    const refused = sent.refused ? `; ${sent.refused} refused, the last with: ${sent.why}` : "";
    return `${count(sent.records, "message")} sent to ${sent.stream}, from the seed ${sent.seed}${refused}`;
  });
  bad.setAttribute("aria-describedby", meaning.id);
  const row = field("error code", bad);
  row.append(meaning);
  bad.addEventListener("input", () => {
    setText(meaning, sampled.find((code) => code.code === bad.value)?.description ?? "");
    parts.disabled = bad.value !== VALID;
  });
  panel.append(
    form(
      send,
      field("stream", stream),
      field("count", number),
      row,
      field("parts", parts, "so large that each goes out in this many parts"),
      field("seed", seed, "the same seed makes the same messages, but for their dates"),
    ),
  );
}

export function draw(panel, picture) {
  offer(stream, picture.streams.filter((each) => !each.aside).map((each) => each.name));
}
