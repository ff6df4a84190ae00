// Snapshots: the state of the whole sandbox is saved, and loaded again and again.

import { ask } from "./sandbox_calls.js";
import { action, field, form, textInput } from "./form_fields.js";

export const title = "Snapshots";

const pathOf = (name) => `/snapshots/${encodeURIComponent(name)}`;

export async function build(panel) {
  const name = Object.assign(textInput("name"), { value: "before-class", required: true });
  const tell = (saved) => `saved ${saved.name}: ${count(saved.records, "record")} in streams`;
  const save = action("Save", () => ({ method: "PUT", path: pathOf(name.value) }), tell, () => look(panel));
  panel.append(
    make("p", "about", "Streams, buckets, tables, the clock, faults and permissions, as they are now."),
    form(save, field("name", name, "one of that name is replaced")),
    make("h3", "", "Saved"),
    make("p", "empty", "None."),
    make("ul", "list snapshots"),
  );
  await look(panel);
}

async function look(panel) {
  const { snapshots } = await ask("GET", "/snapshots");
  const key = (each) => `${each.name} ${each.saved}`;
  reconcile(panel.querySelector(".snapshots"), snapshots, key, (each) => buildSnapshot(panel, each), () => {});
}

function buildSnapshot(panel, { name, saved, records, trouble }) {
  const tell = (loaded) => [`loaded ${name}, in ${loaded.seconds.toFixed(2)} s`, ...loaded.left_out].join("; ");
  const load = action("Load", () => ({ method: "POST", path: `${pathOf(name)}/load` }), tell);
  load.dataset.warning = "Load: what there is now is lost";
  const remove = action("Remove", () => ({ method: "DELETE", path: pathOf(name) }), () => `removed ${name}`, () => look(panel));
  remove.dataset.warning = "Remove it for good";
  const when = new Date(saved * 1000).toISOString().replace("T", " ").slice(0, 19);
  const about = trouble ?? `${when} UTC, ${count(records, "record")}`;
  return make("li", "", make("span", "", make("b", "", name), " ", make("small", "", about)), make("span", "buttons", load, remove));
}
