// Small conveniences. Every page works without them.
"use strict";

// A button with data-copy puts the text of the element it names on the clipboard, and says so.
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = !navigator.clipboard;
  const words = [...button.childNodes];
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = button.dataset.done;
    setTimeout(() => { button.replaceChildren(...words); }, 2000);
  });
}
