// The page: wires the parts together and speaks with the server.

import { decodeUpdate, getBytes, getJson, listen, post } from "./api.js";
import { fit, getHovered, getRegions, preload, show, toScreen, zoomBy } from "./canvas.js";
import { setUpKeys } from "./keys.js";
import { isDrawn, lookUpMask } from "./masks.js";
import { forgetVotes, openPanel, refreshDoctor, setUpPanels, showVotes } from "./panels.js";
import { moveInQueue, nextOpen, refreshQueue, setUpQueue } from "./queue.js";
import { applyUpdate, formatArea, sayHere, store, tell, watch } from "./store.js";

const byId = (id) => document.getElementById(id);
let touched = false, opening = false, waiting = 0, asked = null, fetching = false, again = false, toastTimer = 0;

// Status line.

function showSaved() {
  const pill = byId("saved");
  const { votes, problem, export: step } = store.status;
  pill.className = "pill";
  if (store.gone) { pill.textContent = "server away"; pill.classList.add("bad"); }
  else if (waiting) pill.textContent = "saving …";
  else if (step?.step) pill.textContent = `${step.step} ${step.done}/${step.total}`;
  else if (votes === "loading" || opening) { pill.textContent = "counting votes …"; pill.title = "You can already click: corrections are saved, and heard as soon as the votes are counted."; }
  else if (votes === "failed") { pill.textContent = "votes failed"; pill.title = problem; pill.classList.add("bad"); }
  else if (store.status.heard < store.status.action) pill.textContent = "voting …";
  else { pill.textContent = "saved"; pill.title = "Every click is on the disk."; pill.classList.add("good"); }
  pill.dataset.action = store.status.action;
  pill.dataset.votes = opening ? "loading" : votes;
  pill.dataset.heard = store.status.heard;
  byId("undo").disabled = !store.status.nUndo;
  byId("redo").disabled = !store.status.nRedo;
}

function toast(text) {
  byId("toast").textContent = text;
  byId("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { byId("toast").hidden = true; }, 5000);
}

function showProgress() {
  const inside = store.images.filter((image) => image?.isWith);
  const looked = inside.filter((image) => image.accepted).length;
  byId("looked-text").textContent = `${looked} of ${inside.length} accepted`;
  byId("looked-bar").style.width = `${inside.length ? (100 * looked) / inside.length : 0}%`;
}

function showFacts() {
  const image = store.images[store.current];
  if (!image) return;
  const { name, nSegments } = store.run.images[store.current];
  byId("image-name").textContent = name;
  const tag = image.isWith ? "with" : "without";
  byId("image-facts").textContent = `${image.moved ? `moved to ${tag}` : tag} · ${nSegments} segments · ${formatArea(image)} object · uncertainty ${image.uncertainty.toFixed(2)}`;
  byId("accept").textContent = image.accepted ? "Accepted" : "Accept";
  byId("accept").setAttribute("aria-pressed", image.accepted);
}

// Updates: one fetch at a time, one more if something came meanwhile.

async function fetchUpdate() {
  if (fetching) { again = true; return; }
  fetching = true;
  try {
    do {
      again = false;
      applyUpdate(decodeUpdate(await getBytes(`api/update?since=${store.version}`)));
    } while (again);
  } catch (error) { toast(error.message); }
  fetching = false;
}

// With the votes the order of the queue is known: who has not begun begins at its top.
async function openQueue() {
  await fetchUpdate();
  if (!touched) go(store.order[0]);
  opening = false;
  showSaved();
}

function onStatus(status) {
  const before = store.status;
  store.gone = false;
  // A server that was started again counts from the beginning.
  if (status.version < store.version) store.version = 0;
  store.status = status;
  const opened = before.votes === "loading" && status.votes === "ready";
  opening ||= opened;
  showSaved();
  if (opened) openQueue();
  else if (status.version !== store.version) fetchUpdate();
  if (before.votes !== status.votes || before.action !== status.action) refreshDoctor();
}

async function act(name, message) {
  waiting += 1;
  showSaved();
  try {
    const answer = await post(name, message);
    if (answer.action) store.status.action = Math.max(store.status.action, answer.action);
    return answer;
  } catch (error) {
    toast(error.message);
    store.version = 0; // what the page showed ahead of the server may be wrong
    fetchUpdate();
    return null;
  } finally {
    waiting -= 1;
    showSaved();
  }
}

// What a person does.

function go(index) {
  if (index === undefined || index === store.current) return;
  const before = store.current;
  store.current = index;
  asked = null;
  forgetVotes();
  tell("current", { before });
  showFacts();
  show(index);
  const at = store.order.indexOf(index);
  if (at >= 0 && at + 1 < store.order.length) preload(store.order[at + 1]);
}

watch("go", go);
watch("say", ({ segments, value, segment }) => {
  const bag = store.current;
  sayHere(bag, segments, value);
  asked = segment;
  act("set", { bag, segments, value }).then(() => showVotes(bag, segment));
});
watch("ask", (segment) => { asked = segment; openPanel("votes"); showVotes(store.current, segment); });
watch("undo", () => { if (store.status.nUndo) act("undo", { expected: store.status.action }); });
watch("redo", () => { if (store.status.nRedo) act("redo", { expected: store.status.action }); });
watch("accept", () => {
  const bag = store.current, image = store.images[bag];
  if (image.accepted) { act("accept", { bags: [bag], value: false }); return; }
  const next = nextOpen();
  act("accept", { bags: [bag], value: true });
  if (next !== undefined) go(next); else toast("Every image of this list has been accepted.");
});
watch("move", ({ bag, tag }) => act("move", { bags: [bag], tag }).then((answer) => { if (answer) toast(`${store.run.images[bag].name} counts as ${tag} now; the file stays where it is.`); }));
watch("export", async () => {
  const button = byId("export");
  if (button.disabled) return;
  button.disabled = true;
  button.textContent = "Exporting …";
  const answer = await act("export", {});
  button.disabled = false;
  button.textContent = "Export";
  if (answer) toast(`Masks, COCO file and report of ${answer.n} images are written to ${answer.folder}`);
});

// How things are shown.

const press = (group, name, value) => byId(group).querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", button.dataset[name] === String(value)));
watch("view", (view) => { store.view = view; press("views", "view", view); tell("look"); });
watch("level", (level) => { store.level = level; press("levels", "level", level); tell("look"); });
watch("brush", (brush) => { store.brush = brush; press("brushes", "brush", brush); });
watch("opacity", (opacity) => { store.opacity = Math.min(1, Math.max(0, opacity)); byId("opacity").value = Math.round(100 * store.opacity); tell("look"); });
watch("theme", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("segvote-theme", document.documentElement.dataset.theme); } catch { /* private window */ }
});
watch("images", (changed) => {
  showProgress();
  if (!changed.has(store.current)) return;
  showFacts();
  if (asked !== null) showVotes(store.current, asked);
});

function setUpButtons() {
  for (const [group, name] of [["views", "view"], ["levels", "level"], ["brushes", "brush"]]) {
    byId(group).addEventListener("click", (event) => {
      const value = event.target.dataset?.[name];
      if (value !== undefined) tell(name, name === "level" ? Number(value) : value);
    });
  }
  byId("opacity").addEventListener("input", (event) => tell("opacity", event.target.value / 100));
  for (const name of ["undo", "redo", "export", "theme", "accept"]) byId(name).addEventListener("click", () => tell(name));
  byId("next").addEventListener("click", () => moveInQueue(1));
  byId("previous").addEventListener("click", () => moveInQueue(-1));
  byId("zoom-in").addEventListener("click", () => zoomBy(1.25));
  byId("zoom-out").addEventListener("click", () => zoomBy(0.8));
  byId("zoom-fit").addEventListener("click", fit);
}

async function start() {
  const theme = (() => { try { return localStorage.getItem("segvote-theme"); } catch { return null; } })();
  if (theme) document.documentElement.dataset.theme = theme;
  store.run = await getJson("api/run");
  byId("run-name").textContent = store.run.folder;
  document.title = `${store.run.folder} · segvote review`;
  setUpQueue();
  setUpPanels();
  setUpKeys();
  setUpButtons();
  tell("brush", "toggle");
  await fetchUpdate();
  refreshQueue();
  tell("view", store.view);
  tell("level", store.level);
  go(store.order[0] ?? 0);
  for (const kind of ["pointerdown", "keydown", "wheel"]) addEventListener(kind, () => { touched = true; }, { capture: true, passive: true });
  listen(onStatus, () => { store.gone = true; showSaved(); });
  document.documentElement.dataset.ready = "yes";
}

// For tests and for the curious: where the page looks.
window.segvote = { store, go, getHovered, getRegions, isDrawn, lookUpMask, toScreen };
start().catch((error) => { byId("notice").textContent = error.message; byId("notice").hidden = false; });
