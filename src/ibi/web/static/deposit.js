// The form of a deposit, made more convenient: what is typed is saved, files and folders are sent at once, each by
// itself (tus 1.0), and go on where they were cut off. The form does all of it without this, when it is sent.
"use strict";

(() => {
  const form = document.querySelector("form[data-deposit]");
  if (!form) return;
  let csrf = form.elements.csrf.value;
  const one = (mark, within = form) => within.querySelector(`[data-${mark}]`);
  const stateLine = one("state");

  // --- saving while typing ---

  let draft = form.dataset.draft || null;
  let saving = null, isChanged = false, isUnsaved = "typed" in form.dataset, isSignedOut = false, timer = 0;
  const touched = new Set();

  function typed() {
    const fields = new FormData();
    for (const [name, value] of new FormData(form)) if (typeof value === "string") fields.append(name, value);
    fields.set("act", "save");
    return fields;
  }

  async function post(fields) {
    const place = draft ? `/deposit/${draft}` : "/deposit";
    const answer = await fetch(place, { method: "POST", body: fields, headers: { accept: "application/json" } });
    const kind = answer.headers.get("content-type") || "";
    if (!kind.includes("json")) throw new Error(answer.statusText);
    const found = await answer.json();
    if (answer.ok) return found;
    if (found.csrf && found.csrf !== csrf) {  // another session has begun, in another tab
      csrf = form.elements.csrf.value = found.csrf;
      fields.set("csrf", csrf);
      return post(fields);
    }
    throw refusal(found, answer);
  }

  const refusal = (found, answer) =>
    Object.assign(new Error(found.detail || answer.statusText), { told: true, isSignedOut: found.code === "signed-out" });

  // Marks of what the fields were made from go along with each save. A field that another window has changed, and this
  // one not, shows what is there now; one that is typed in at this moment keeps its old mark, so that it is noticed.
  const readMarks = (text) => new Map(text.split(" ").filter(Boolean).map((each) => each.split(":")));
  const valueOf = (name) => new FormData(form).getAll(name).pop();

  function takeNewer(found, sent) {
    if (!found.marks) return;
    const marks = readMarks(found.marks), before = readMarks(form.elements.marks.value);
    for (const [name, text] of Object.entries(found.newer || {})) {
      const field = form.querySelector(`[name="${name}"]:not([type="hidden"])`);
      if (field && valueOf(name) !== sent.getAll(name).pop()) marks.set(name, before.get(name));
      else if (field && field.type === "checkbox") field.checked = Boolean(text);
      else if (field) field.value = text;
    }
    form.elements.marks.value = [...marks].map((each) => each.join(":")).join(" ");
    one("clash").hidden = !found.clash;
    one("newer").href = found.place;
  }

  // One request at a time: the draft is begun once, and an older text never overtakes a newer one.
  async function save() {
    clearTimeout(timer);
    if (saving) { isChanged = true; return saving; }
    isChanged = false;
    stateLine.textContent = form.dataset.saving;
    const sent = typed();
    saving = post(sent).then((found) => { takeNewer(found, sent); return show(found); }).catch(fail).finally(() => {
      saving = null;
      if (isChanged) soon(0);
    });
    return saving;
  }

  function soon(wait = 1200) {
    isChanged = true;
    stateLine.textContent = form.dataset.saving;
    again(wait);
  }

  // A failure is shown where the form says how it stands: the timer has nothing to add.
  function again(wait) {
    clearTimeout(timer);
    timer = setTimeout(() => { save().catch(() => {}); }, wait);
  }

  function show(found) {
    isUnsaved = false;
    showSignedOut(null);
    if (found.draft && !draft) begun(found);
    const errors = found.errors || {};
    for (const field of form.querySelectorAll("input[id], select[id], textarea[id]")) {
      if (field !== document.activeElement || touched.has(field.id) || found.clash) mark(field, errors[field.id]);
    }
    showLabel(found);
    one("terms").textContent = found.terms || "";
    one("no-terms").hidden = Boolean(found.terms);
    showCitations(found.citations || []);
    const notice = one("attention", document);
    if (notice) {
      notice.textContent = found.attention;
      notice.parentElement.hidden = !found.attention;
    }
    stateLine.textContent = found.problem || found.attention || (Object.keys(errors).length ? form.dataset.mend : form.dataset.saved);
    return found;
  }

  function fail(error) {
    isUnsaved = true;
    showSignedOut(error.isSignedOut ? error.message : null);
    stateLine.textContent = error.told ? error.message : form.dataset.unsaved;
    if (!error.told || error.isSignedOut) again(10000);
    throw error;
  }

  function showSignedOut(why) {
    isSignedOut = why !== null;
    const notice = one("signed-out");
    notice.hidden = !isSignedOut;
    one("why", notice).textContent = why || "";
    notice.querySelector("a").href = `/sign-in?to=${draft ? `/deposit/${draft}` : "/deposit"}`;
  }

  // Who comes back from signing in elsewhere need not wait for the timer.
  window.addEventListener("focus", () => { if (isSignedOut) again(0); });

  function begun(found) {
    draft = form.dataset.draft = found.draft;
    form.action = found.place;
    history.replaceState(null, "", found.place);
  }

  function mark(field, words) {
    const id = `${field.id}-error`;
    let line = document.getElementById(id);
    const others = (field.getAttribute("aria-describedby") || "").split(" ").filter((each) => each && each !== id);
    if (!words) {
      if (line) line.remove();
      field.removeAttribute("aria-invalid");
    } else {
      if (!line) {
        line = document.createElement("p");
        line.id = id;
        line.className = "error-text";
        field.after(line);
      }
      line.textContent = words;
      field.setAttribute("aria-invalid", "true");
      others.unshift(id);
    }
    if (others.length) field.setAttribute("aria-describedby", others.join(" "));
    else field.removeAttribute("aria-describedby");
  }

  function showLabel(found) {
    if (!found.url) return;
    one("label").textContent = found.url;
    one("no-label").hidden = true;
    if (!one("has-label").dataset.never) one("has-label").hidden = false;
  }

  function showCitations(citations) {
    const box = one("citations");
    box.hidden = !citations.length;
    for (const old of box.querySelectorAll(".citation")) old.remove();
    for (const each of citations) {
      const part = document.createElement("div"), head = document.createElement("h3"), cited = document.createElement("p");
      part.className = "citation";
      head.textContent = each.style;
      cited.className = "cited small";
      cited.dir = "ltr";
      for (const [text, isItalic] of each.runs) {
        const run = isItalic ? document.createElement("i") : document.createTextNode("");
        run.textContent = text;
        cited.append(run);
      }
      part.append(head, cited);
      box.append(part);
    }
  }

  form.addEventListener("input", (event) => { if (event.target.type !== "file") soon(); });
  form.addEventListener("change", (event) => {
    if (event.target.type === "file") return;
    touched.add(event.target.id);
    soon(100);
  });
  window.addEventListener("beforeunload", (event) => { if (isChanged || isUnsaved || queue.length || busy) event.preventDefault(); });
  form.addEventListener("submit", () => { isChanged = isUnsaved = false; queue.length = 0; busy = 0; clearTimeout(timer); });

  // --- files ---

  const drop = one("drop"), sending = one("sending"), bar = sending.querySelector("progress");
  const words = sending.dataset;
  const PARALLEL = 3, SMALL = 8 * 1024 * 1024, ATTEMPTS = 6, SHOWN = 20;
  let queue = [], busy = 0, isStopped = false, wave = 0;
  let all = 0, done = 0, size = 0, came = 0;
  const failed = new Map(), going = new Map(), requests = new Set();

  one("hint").hidden = false;
  one("plain").hidden = true;

  const units = ["B", "kB", "MB", "GB", "TB"];
  function sized(bytes) {
    let unit = 0;
    for (; bytes >= 999.5 && unit < units.length - 1; unit += 1) bytes /= 1000;
    return `${bytes.toLocaleString(document.documentElement.lang, { maximumFractionDigits: unit && bytes < 10 ? 1 : 0 })} ${units[unit]}`;
  }

  const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

  let isDrawn = false;
  function draw() {
    if (isDrawn) return;
    isDrawn = true;
    requestAnimationFrame(() => {
      isDrawn = false;
      let now = came;
      for (const sent of going.values()) now += sent;
      sending.hidden = !all;
      bar.value = size ? Math.min(1, now / size) : done / Math.max(1, all);
      const lines = [filled(words.wordsOf, { done, all, bytes: sized(now), size: sized(size) })];
      if (!busy && !queue.length && isStopped) lines.push(words.wordsStopped);
      else if (!busy && !queue.length && done === all) lines.push(words.wordsDone);
      if (failed.size) lines.push(filled(words.wordsFailed, { names: failed.size.toLocaleString(document.documentElement.lang) }));
      one("progress").textContent = lines.join(" ");
      one("each").replaceChildren(...[...going].slice(0, PARALLEL).map(([path, sent]) => {
        const line = document.createElement("li"), name = document.createElement("bdi"), part = document.createElement("span");
        name.textContent = path;
        part.textContent = sized(sent);
        line.append(name, part);
        return line;
      }));
      drawRefused();
      one("stop").hidden = !busy && !queue.length;
      one("again").hidden = !left.length || busy > 0;
    });
  }

  function drawRefused() {
    const list = one("refused");
    const lines = [...failed].slice(0, SHOWN).map(([path, why]) => (why.includes(path) ? why : `${path}: ${why}`));
    if (failed.size > SHOWN) lines.push(filled(list.dataset.more, { count: failed.size - SHOWN }));
    list.replaceChildren(...lines.map((text) => {
      const line = document.createElement("li"), name = document.createElement("bdi");
      name.textContent = text;
      line.append(name);
      return line;
    }));
  }

  function request(method, url, headers, body, onProgress) {
    return new Promise((resolve, reject) => {
      const asked = new XMLHttpRequest();
      asked.open(method, url);
      asked.setRequestHeader("Tus-Resumable", "1.0.0");
      asked.setRequestHeader("X-CSRF-Token", csrf);
      for (const [name, value] of Object.entries(headers)) asked.setRequestHeader(name, value);
      if (onProgress) asked.upload.onprogress = (event) => onProgress(event.loaded);
      asked.onload = () => resolve(asked);
      asked.onerror = asked.onabort = () => reject(new Error("cut"));
      asked.onloadend = () => requests.delete(asked);
      requests.add(asked);
      asked.send(body);
    });
  }

  const base64 = (text) => btoa(String.fromCodePoint(...new TextEncoder().encode(text)));
  const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

  function refused(answer) {
    let why = answer.statusText || String(answer.status);
    try { why = JSON.parse(answer.responseText).detail; } catch { /* no words came */ }
    // The same bytes under the same name get the same answer, but where it is about the session or the draft.
    const canChange = answer.status >= 500 || [401, 403, 408, 409, 423, 429].includes(answer.status);
    return Object.assign(new Error(why), { told: answer.status < 500 && answer.status !== 408 && answer.status !== 423, canChange });
  }

  // What has come of a file is asked of the server, so that it goes on there after a reload of the page as well.
  async function sendFile(entry) {
    const { path, file } = entry;
    const place = `/api/items/${draft}/uploads`;
    const told = { "Upload-Length": String(file.size), "Upload-Metadata": `filename ${base64(path)}${file.type ? `,filetype ${base64(file.type)}` : ""}` };
    const onProgress = (from) => (loaded) => { going.set(path, from + loaded); draw(); };
    if (!entry.url && file.size <= SMALL) {
      const answer = await request("POST", place, { ...told, "Content-Type": "application/offset+octet-stream" }, file, onProgress(0));
      if (answer.status !== 201) throw refused(answer);
      return;
    }
    let offset = 0;
    if (entry.url) {
      const answer = await request("HEAD", entry.url, {});
      if (answer.status === 200) offset = Number(answer.getResponseHeader("Upload-Offset"));
      else if (answer.status === 404) entry.url = null;
      else throw refused(answer);
    }
    if (!entry.url) {
      const answer = await request("POST", place, told, null);
      if (answer.status !== 201) throw refused(answer);
      entry.url = new URL(answer.getResponseHeader("Location")).pathname;
    }
    if (offset < file.size) {
      const headers = { "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" };
      const answer = await request("PATCH", entry.url, headers, file.slice(offset), onProgress(offset));
      if (answer.status !== 204) throw refused(answer);
    }
  }

  // Bytes of a file that the server has, after it was stopped. It may still be writing the last of them.
  async function arrived(entry) {
    for (let attempt = 0; entry.url && attempt < ATTEMPTS; attempt += 1) {
      try {
        const answer = await request("HEAD", entry.url, {});
        if (answer.status === 200) return Number(answer.getResponseHeader("Upload-Offset"));
      } catch { /* asked again */ }
      await pause(0.5);
    }
    return 0;
  }

  async function sendOne(entry, mine) {
    for (let attempt = 1; ; attempt += 1) {
      going.set(entry.path, 0);
      try {
        await sendFile(entry);
        done += 1;
        came += entry.file.size;
        failed.delete(entry.path);
        break;
      } catch (error) {
        if (isStopped || mine !== wave) { came += await arrived(entry); break; }
        if (error.told || attempt >= ATTEMPTS) {
          failed.set(entry.path, error.message);
          if (!error.told || error.canChange) left.push(entry);
          break;
        }
        await pause(Math.min(30, 2 ** attempt / 2));
      }
    }
    going.delete(entry.path);
    draw();
  }

  const left = [];
  async function work(mine) {
    busy += 1;
    while (queue.length && !isStopped && mine === wave) await sendOne(queue.shift(), mine);
    busy -= 1;
    draw();
    if (busy || !all) return;
    if (mine === wave && !isStopped && !failed.size) finish();
    else refresh().catch(() => {});
  }

  // The files that were taken are shown beside those that were not, and what was typed stays.
  async function refresh() {
    const answer = await fetch(`/deposit/${draft}`, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const mark of ["files", "target"]) {
      const here = one(mark), there = one(mark, page);
      if (there && !here.querySelector("#target")) here.replaceWith(there);
    }
  }

  // The page is shown anew with its list of files, once everything that was typed is with the draft. Until then only
  // the list is.
  async function finish() {
    let found;
    try { found = await save(); } catch { refresh().catch(() => {}); return; }
    if (busy || queue.length) return;
    if (isChanged || found.problem || found.clash || form.elements.record.value) { refresh().catch(() => {}); return; }
    history.replaceState(null, "", `/deposit/${draft}?saved=1`);
    location.reload();
  }

  async function take(entries) {
    if (!entries.length) return;
    isStopped = false;
    if (!busy && !queue.length) {
      all = done = size = came = 0;
      failed.clear();
      left.length = 0;
    }
    if (!draft) await save();
    const [there, begunBefore] = await Promise.all([
      fetch(`/deposit/${draft}/files`, { headers: { accept: "application/json" } }).then(async (answer) => {
        const found = await answer.json();
        if (!answer.ok) throw refusal(found, answer);
        return found;
      }),
      fetch(`/api/items/${draft}/uploads`, { headers: { "X-CSRF-Token": csrf } }).then((answer) => answer.json()),
    ]);
    const sizes = new Map(there.files), partly = new Map(begunBefore.uploads.map((each) => [each.path, each]));
    for (const entry of entries) {
      all += 1;
      size += entry.file.size;
      // A file of the same name and size was sent before, unless a single one was chosen to take its place.
      if (entries.length > 1 && sizes.get(entry.path) === entry.file.size) {
        done += 1;
        came += entry.file.size;
        continue;
      }
      const before = partly.get(entry.path);
      if (before && before.length === entry.file.size) entry.url = new URL(before.links.self).pathname;
      queue.push(entry);
    }
    draw();
    for (let number = busy; number < PARALLEL; number += 1) work(wave);
  }

  const chosen = (files) => [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

  for (const input of form.querySelectorAll("[data-pick]")) {
    input.addEventListener("change", () => {
      const entries = chosen(input.files);
      input.value = "";
      take(entries).catch(fail).catch(() => {});
    });
  }

  // Folders that are dropped are read to their ends; readEntries gives some hundred at a time.
  async function walk(entry, found, before = "") {
    if (entry.isFile) {
      found.push({ path: before + entry.name, file: await new Promise((resolve, reject) => { entry.file(resolve, reject); }) });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
      if (!some.length) return;
      for (const each of some) await walk(each, found, `${before}${entry.name}/`);
    }
  }

  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (event) => {
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
    const found = entries.length ? [] : chosen(event.dataTransfer.files);
    try {
      for (const each of entries) await walk(each, found);
      await take(found);
    } catch (error) { fail(error).catch(() => {}); }
  });

  one("stop").addEventListener("click", () => {
    isStopped = true;
    wave += 1;
    queue = [];
    for (const each of requests) each.abort();
    draw();
  });
  one("again").addEventListener("click", () => {
    isStopped = false;
    for (const entry of left) failed.delete(entry.path);
    queue.push(...left.splice(0));
    draw();
    for (let number = busy; number < PARALLEL; number += 1) work(wave);
  });
})();
