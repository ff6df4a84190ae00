// Shards: one is split, two neighbours are merged. They are picked here, or by pointing at their lanes.

import { action, choice, field, offer } from "./form_fields.js";
import { preview } from "./sandbox_calls.js";

export const title = "Shards";

const picked = new Set();
const stream = choice("stream", []);
const doing = action("Split", buildChange, (after) => {
  picked.clear();
  return `${after.name}: ${after.open_shards} open shards, ${after.closed_shards} closed`;
});

export function build(panel) {
  const list = make("ul", "shards");
  list.setAttribute("aria-label", "Open shards, in the order of their keys");
  panel.append(
    make("p", "about", "Point at a lane to split its shard, or at two neighbours to merge them. A parent is closed, and not empty: what lies in it is older than everything in its children."),
    field("stream", stream),
    list,
    make("p", "hint"),
    make("p", "buttons", doing),
  );
  stream.addEventListener("input", () => {
    picked.clear();
    refresh();
  });
}

/** Keep the shards as the picture has them, and show on the lanes which are picked. */
export function draw(panel, picture) {
  offer(stream, picture.streams.map((each) => each.name));
  const lanes = openLanes();
  for (const id of picked) if (!lanes.some((lane) => lane.id === id)) picked.delete(id);
  const buildShard = (lane) => {
    const pick = make("button", "", `shard ${shardNumber(lane.id)}`);
    pick.type = "button";
    pick.addEventListener("click", () => toggle(lane.id));
    return make("li", "", pick);
  };
  reconcile(panel.querySelector(".shards"), lanes, (lane) => `${stream.value} ${lane.id}`, buildShard, (row, lane) => {
    row.firstElementChild.setAttribute("aria-pressed", String(picked.has(lane.id)));
  });
  const chosen = lanes.filter((lane) => picked.has(lane.id)).map((lane) => shardNumber(lane.id));
  setText(doing, chosen.length > 1 ? `Merge ${chosen.join(" and ")}` : chosen.length ? `Split ${chosen[0]}` : "Split the widest");
  const hints = ["No shard is picked.", "A second one, next to it, makes it a merge.", "The two become one shard."];
  setText(panel.querySelector(".hint"), hints[chosen.length]);
  markLanes(true);
}

/** The lanes are no buttons any more. */
export function leave() {
  picked.clear();
  markLanes(false);
}

const openLanes = () => (view.picture?.streams.find((each) => each.name === stream.value)?.lanes ?? []).filter((lane) => lane.open);

function buildChange() {
  const chosen = openLanes().filter((lane) => picked.has(lane.id)).map((lane) => shardNumber(lane.id));
  const path = `/streams/${encodeURIComponent(stream.value)}/reshard`;
  if (chosen.length < 2) return { method: "POST", path, body: { action: "split", ...(chosen.length ? { shard: chosen[0] } : {}) } };
  return { method: "POST", path, body: { action: "merge", shard: chosen[0], adjacent: chosen[1] } };
}

/** Pick a shard or let it go. A third one, or one that is no neighbour, begins anew. */
function toggle(id) {
  const lanes = openLanes().map((lane) => lane.id);
  if (picked.has(id)) picked.delete(id);
  else {
    const apart = [...picked].some((other) => Math.abs(lanes.indexOf(other) - lanes.indexOf(id)) !== 1);
    if (apart || picked.size > 1) picked.clear();
    picked.add(id);
  }
  refresh();
}

function refresh() {
  document.dispatchEvent(new Event("drawn"));
  preview(buildChange());
}

function markLanes(pointed) {
  document.documentElement.classList.toggle("pointing", pointed);
  for (const lane of document.querySelectorAll("#streams .lane, #streams .shard.open")) {
    const here = lane.closest(".stream").dataset.key === stream.value;
    lane.classList.toggle("picked", pointed && here && picked.has(lane.dataset.key ?? lane.dataset.shard));
  }
}

byId("streams").addEventListener("click", (event) => {
  const lane = event.target.closest(".lane, .shard.open");
  if (!lane || !document.documentElement.classList.contains("pointing")) return;
  const name = lane.closest(".stream").dataset.key;
  if (name !== stream.value) {
    stream.value = name;
    picked.clear();
  }
  toggle(lane.dataset.key ?? lane.dataset.shard);
});
