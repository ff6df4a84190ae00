// Scenarios: one is played in a sandbox of its own, and its verdict comes here.

import { ask, preview } from "./sandbox_calls.js";
import { action, choice, field, form, textInput } from "./form_fields.js";

export const title = "Scenarios";

const LOOK_MS = 500;
let looking = 0;

export async function build(panel) {
  const { scenarios } = await ask("GET", "/scenarios");
  const name = choice("scenario", scenarios.map((each) => each.name));
  const about = make("div", "about");
  const tellOf = () => {
    const chosen = scenarios.find((each) => each.name === name.value);
    const parts = [[`${chosen.title}.`, ""], ["What happens. ", chosen.teach.happens], ["Why. ", chosen.teach.why], ["What a client does. ", chosen.teach.client]];
    about.replaceChildren(...parts.filter(([word, text]) => text || word.startsWith(chosen.title)).map(([word, text]) => make("p", "", make("b", "", word), text)));
  };
  const seed = Object.assign(textInput("seed", "drawn", "number"), { step: 1 });
  const build = () => ({ method: "POST", path: "/scenarios/runs", body: { scenario: name.value, ...(seed.value ? { seed: Number(seed.value) } : {}) } });
  const play = action("Play", build, (run) => `${run.scenario} plays, with the seed ${run.seed}`, (run) => {
    if (run) preview({ ...build(), body: { scenario: run.scenario, seed: run.seed } });
    look(panel);
  });
  name.addEventListener("input", tellOf);
  tellOf();
  panel.append(
    form(play, field("scenario", name), field("seed", seed, "the same seed gives the same run")),
    make("ul", "list runs"),
    about,
  );
  await look(panel);
}

/** Show the runs, again and again while one is playing. */
async function look(panel) {
  clearTimeout(looking);
  const { runs } = await ask("GET", "/scenarios/runs").catch(() => ({ runs: [] }));
  reconcile(panel.querySelector(".runs"), runs, (run) => run.id, buildRun, (row, run) => {
    setText(row.querySelector(".verdict"), run.state === "running" ? "plays" : run.verdict || run.problem || "failed");
    row.querySelector(".verdict").className = `verdict ${{ pass: "pass", fail: "fail" }[run.verdict] ?? ""}`;
    setText(row.querySelector(".folder"), run.folder);
  });
  if (runs.some((run) => run.state === "running")) looking = setTimeout(() => look(panel), LOOK_MS);
}

function buildRun(run) {
  return make("li", "", make("span", "", make("b", "", run.scenario), " ", make("small", "", `seed ${run.seed} `), make("small", "folder")), make("b", "verdict"));
}
