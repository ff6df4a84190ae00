"use strict";
// Light or dark as the reader chose it on any page of this address, else as the browser prefers it.
{
  const root = document.documentElement, button = document.getElementById("theme"), KEPT = "theme";
  const choose = (theme) => {
    root.dataset.theme = theme;
    try {
      localStorage.setItem(KEPT, theme);
    } catch {
      // A browser that keeps nothing shows the page all the same.
    }
  };
  try {
    const kept = localStorage.getItem(KEPT);
    if (kept) root.dataset.theme = kept;
  } catch {
    // As above.
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    const { theme } = root.dataset;
    const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    choose(dark ? "light" : "dark");
  });
}
