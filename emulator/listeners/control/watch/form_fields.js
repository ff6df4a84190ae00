// The parts of the control room's forms: fields with their help, and buttons that show their command.

import { act, preview } from "./sandbox_calls.js";

let made = 0;

/** A labelled field with its help, which a screen reader reads with it. */
export function field(label, input, help = "") {
  input.id ||= `field-${++made}`;
  const name = make("label", "", label);
  name.htmlFor = input.id;
  const row = make("div", input.type === "checkbox" ? "field check" : "field", name, input);
  if (help) {
    const said = make("small", "", help);
    said.id = `${input.id}-help`;
    input.setAttribute("aria-describedby", said.id);
    row.append(said);
  }
  return row;
}

export function textInput(name, placeholder = "", type = "text") {
  const input = make("input");
  Object.assign(input, { type, name, placeholder, autocomplete: "off", spellcheck: false });
  if (type === "number") input.step = "any";
  return input;
}

export function choice(name, values, selected = undefined) {
  const select = make("select");
  select.name = name;
  offer(select, values, selected);
  return select;
}

/** Offer these values in a select; what was chosen stays chosen where it still is one of them. */
export function offer(select, values, selected = select.value) {
  const there = [...select.options].map((option) => option.value).join("\n");
  if (there === values.join("\n")) return;
  select.replaceChildren(...values.map((value) => new Option(value, value, false, value === selected)));
}

/** A button that does a call. Where one points, and when it has the focus, the command of the call is shown. */
export function action(label, build, tell, after = undefined) {
  const button = make("button", "do", label);
  button.type = "button";
  let acting = false; // what was done stays shown until a person points at something else
  const show = () => acting || preview(build());
  button.addEventListener("focus", show);
  button.addEventListener("pointerenter", show);
  button.addEventListener("click", async () => {
    const wrong = button.closest("form")?.querySelector(":invalid");
    if (wrong && button.dataset.form !== undefined) {
      wrong.reportValidity();
      return;
    }
    if (!confirmed(button)) return;
    const call = build();
    if (!call) return;
    acting = true;
    button.disabled = true;
    const answer = await act(call, tell);
    disarm(button);
    button.disabled = false;
    button.focus({ preventScroll: true });
    acting = false;
    if (after) after(answer);
  });
  return button;
}

/** Whether a person means it: a button with a warning shows that first, and acts when it is pressed again. */
function confirmed(button) {
  const { warning, label } = button.dataset;
  if (!warning || label) return true;
  button.dataset.label = button.textContent;
  button.textContent = warning;
  button.addEventListener("blur", () => disarm(button), { once: true });
  return false;
}

function disarm(button) {
  if (button.dataset.label) button.textContent = button.dataset.label;
  delete button.dataset.label;
}

/** A form of an action: Enter in a field presses its button, and what is typed changes its command. */
export function form(button, ...rows) {
  button.type = "submit";
  button.dataset.form = "";
  const element = make("form", "", ...rows, make("p", "buttons", button));
  element.noValidate = true; // the button looks at that itself
  element.addEventListener("submit", (event) => event.preventDefault());
  element.addEventListener("input", () => button.dispatchEvent(new Event("pointerenter")));
  return element;
}
