"use strict";

/** Give each block of code a button that copies it; one that has a button keeps it. */
function offerCopies() {
  for (const block of document.querySelectorAll("pre:not([role], .code > pre)")) {
    const box = document.createElement("div");
    const button = document.createElement("button");
    box.className = "code";
    Object.assign(button, { type: "button", textContent: "Copy" });
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
      // Where the address is no secure one there is no clipboard: the text is marked, for the keyboard to copy.
      getSelection().selectAllChildren(block);
      const copied = await navigator.clipboard?.writeText(block.textContent.trim()).then(() => true, () => false);
      button.textContent = copied ? "Copied" : "Marked";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.replaceWith(box);
    box.append(block, button);
  }
}

offerCopies();
