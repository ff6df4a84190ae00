// Faults: one is added with the help that the command line has for it; those in force are removed.

import { ask } from "./sandbox_calls.js";
import { action, choice, field, form, textInput } from "./form_fields.js";

const OF_THE_FAULT = ["name", "channel", "direction", "toxicity", "limit"]; // the others are in its `when`
const OWN = "attribute."; // a type may call one as a common setting is called
const NUMBERS = ["number", "integer"];
let known = { types: [], common: [] };
let chosen = null;

export const title = "Faults";

export async function build(panel) {
  known = await ask("GET", "/faults/types");
  chosen = choice("type", known.types.map((type) => type.type), "duplicate");
  const about = make("p", "about");
  const own = make("div", "own");
  const common = make("details", "", make("summary", "", "Where, how often, when"));
  const shapeForm = () => {
    const type = typeOf();
    setText(about, type.help);
    own.replaceChildren(...type.attributes.map((each) => field(each.name, inputOf(each, OWN), helpOf(each))));
    const settings = known.common.map((each) => (each.name === "direction" ? { ...each, choices: type.directions } : each));
    common.replaceChildren(common.firstElementChild, ...settings.map((each) => field(each.name, inputOf(each), helpOf(each))));
  };
  const add = action("Add the fault", () => ({ method: "POST", path: "/faults", body: readFault(add.form) }), (fault) => {
    const said = `${fault.name} is in force on ${fault.channel}`;
    return fault.note ? `${said}: ${fault.note}` : said;
  });
  const adding = form(add, field("type", chosen), about, own, common);
  chosen.addEventListener("input", shapeForm);
  shapeForm();
  panel.append(adding, make("h3", "", "In force"), make("p", "empty", "None."), make("ul", "list in-force"));
}

/** Keep the list of faults in force as the picture has it. */
export function draw(panel, picture) {
  const build = (fault) => {
    const path = `/faults/${encodeURIComponent(fault.name)}`;
    const remove = action("Remove", () => ({ method: "DELETE", path }), (gone) => `removed ${gone.name}, after ${gone.injected} strikes`);
    remove.setAttribute("aria-label", `Remove ${fault.name}`);
    return make("li", "", make("span", "", make("b", "", fault.name), " ", make("small", "", fault.type)), remove);
  };
  reconcile(panel.querySelector(".in-force"), picture.faults, (fault) => fault.name, build, () => {});
}

const typeOf = () => known.types.find((type) => type.type === chosen.value);

function inputOf(setting, prefix = "") {
  const name = prefix + setting.name;
  const usual = setting.default === null || setting.default === undefined ? "" : String(setting.default);
  if (setting.choices.length) return choice(name, setting.choices, usual || setting.choices[0]);
  if (setting.type === "flag") {
    const box = textInput(name, "", "checkbox");
    box.checked = Boolean(setting.default);
    return box;
  }
  const input = textInput(name, usual, NUMBERS.includes(setting.type) ? "number" : "text");
  if (setting.least !== null) input.min = setting.least;
  if (setting.most !== null && setting.most < 1e9) input.max = setting.most;
  return input;
}

function helpOf(setting) {
  const bounded = setting.most !== null && setting.most < 1e9;
  const bounds = bounded ? ` (${setting.least} to ${setting.most})` : "";
  return setting.unit ? `${setting.help}, ${setting.unit}${bounds}` : `${setting.help}${bounds}`;
}

/** The fault that the form describes, with what differs from its type's defaults. */
function readFault(filled) {
  const type = typeOf();
  const value = (setting, prefix = "") => {
    const input = filled.elements[prefix + setting.name];
    if (setting.type === "flag") return input.checked === Boolean(setting.default) ? "" : input.checked;
    const text = input.value.trim();
    const usual = setting.choices.length && setting.default === null ? setting.choices[0] : String(setting.default ?? "");
    if (text === "" || text === usual) return "";
    return NUMBERS.includes(setting.type) ? Number(text) : text;
  };
  const fault = { type: type.type, attributes: {}, when: {} };
  for (const setting of type.attributes) {
    const given = value(setting, OWN);
    if (given !== "") fault.attributes[setting.name] = given;
  }
  for (const setting of known.common) {
    const given = value(setting.name === "direction" ? { ...setting, choices: type.directions } : setting);
    if (given === "") continue;
    if (OF_THE_FAULT.includes(setting.name)) fault[setting.name] = given;
    else fault.when[setting.name] = setting.name === "match" ? readMatch(given) : given;
  }
  return fault;
}

function readMatch(text) {
  const at = text.indexOf("=");
  return at < 0 ? { [text]: "*" } : { [text.slice(0, at)]: text.slice(at + 1) };
}
