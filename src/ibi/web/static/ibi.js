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

// While something is typed into a field with data-suggest, items are offered in a list below it (the combobox pattern of
// ARIA). The value of the attribute names the list. Only the answer to the newest text is shown.
const PAUSE = 120;

function suggest(field) {
  const list = document.createElement("ul");
  list.id = `${field.id}-suggestions`;
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", field.dataset.suggest);
  field.parentElement.append(list);
  field.type = "text"; // a field of the type search may have no other role
  field.enterKeyHint = "search";
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  let asked = null;
  let timer = 0;

  const chosen = () => list.querySelector("[aria-selected=true]");

  function choose(option) {
    chosen()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
  }

  function show(options) {
    list.replaceChildren(...options);
    list.hidden = !options.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
    field.removeAttribute("aria-activedescendant");
  }

  function option(title, label, address, number) {
    const line = document.createElement("li");
    const name = document.createElement("bdi");
    const small = document.createElement("span");
    line.id = `${list.id}-${number}`;
    line.setAttribute("role", "option");
    line.setAttribute("aria-selected", "false");
    line.dataset.address = address;
    name.textContent = title;
    small.className = "label soft";
    small.textContent = label;
    line.append(name, " ", small);
    return line;
  }

  function close() {
    clearTimeout(timer);
    asked?.abort();
    show([]);
  }

  async function ask() {
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    try {
      const answer = await fetch(`/search/suggestions?q=${encodeURIComponent(field.value.trim())}`, { signal });
      if (!answer.ok) return;
      const [, titles, labels, addresses] = await answer.json();
      if (!signal.aborted && document.activeElement === field) {
        show(titles.map((title, number) => option(title, labels[number], addresses[number], number)));
      }
    } catch {
      // A text that has changed, or a server that is away: the search itself will tell.
    }
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    if (field.value.trim().length < 2) close();
    else timer = setTimeout(ask, PAUSE);
  });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const options = [...list.children];
    const place = options.indexOf(chosen());
    if (event.key === "Escape" && options.length) {
      event.preventDefault(); // the text stays
      close();
    } else if (event.key === "Enter" && place >= 0) {
      event.preventDefault();
      location.assign(options[place].dataset.address);
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && options.length) {
      event.preventDefault();
      const next = event.key === "ArrowDown" ? place + 1 : (place < 0 ? options.length : place) - 1;
      choose(options[next]); // past either end is the text again
    }
  });
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  list.addEventListener("click", (event) => {
    const line = event.target.closest("li");
    if (line) location.assign(line.dataset.address);
  });
  show([]);
}

for (const field of document.querySelectorAll("input[data-suggest]")) suggest(field);
