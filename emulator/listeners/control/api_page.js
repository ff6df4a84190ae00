"use strict";

const MOST_CHARACTERS = 20000;
const endpoints = [...document.querySelectorAll("details.endpoint")];
const find = document.getElementById("find");
const token = document.getElementById("token");

for (const each of document.querySelectorAll(".find, .try")) each.hidden = false;

function showFound() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = endpoints.filter((each) => {
    const text = each.querySelector("summary").textContent.toLowerCase();
    each.hidden = !words.every((word) => text.includes(word));
    return !each.hidden;
  });
  for (const section of document.querySelectorAll("section")) {
    const own = section.querySelectorAll("details.endpoint");
    section.hidden = words.length > 0 && ![...own].some((each) => !each.hidden);
  }
  document.getElementById("found").textContent = words.length ? `${found.length} of ${endpoints.length}` : "";
}

function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}

function writeRequest(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll("input")) {
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else if (input.value) query.set(input.name, input.value);
  }
  const headers = token.value ? { authorization: `Bearer ${token.value}` } : {};
  const body = form.elements.body?.value || undefined;
  return [query.size ? `${path}?${query}` : path, { method: form.dataset.method, headers, body, cache: "no-store" }];
}

async function readAnswer(answer) {
  const kind = answer.headers.get("content-type") ?? "";
  if (kind && !/json|text/.test(kind)) return `${(await answer.blob()).size} bytes of ${kind}`;
  const text = await answer.text();
  const shown = kind.endsWith("json") && text ? JSON.stringify(JSON.parse(text), null, 2) : text;
  const more = shown.length - MOST_CHARACTERS;
  return more > 0 ? `${shown.slice(0, MOST_CHARACTERS)}\nand ${more} characters more` : shown;
}

async function send(event) {
  event.preventDefault();
  const shown = event.target.querySelector(".answer");
  shown.hidden = false;
  shown.textContent = "asking";
  try {
    const answer = await fetch(...writeRequest(event.target));
    if (answer.status === 401) document.querySelector(".token").hidden = false;
    shown.textContent = `${answer.status}\n${await readAnswer(answer)}`;
  } catch (error) {
    shown.textContent = `The sandbox does not answer: ${error.message}`;
  }
}

find.addEventListener("input", showFound);
for (const form of document.querySelectorAll(".try")) form.addEventListener("submit", send);
window.addEventListener("hashchange", openNamed);
window.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /INPUT|TEXTAREA/.test(event.target.tagName)) return;
  event.preventDefault();
  find.focus();
});
openNamed();
