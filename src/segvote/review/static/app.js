// The page: connects the parts, and sends actions to the server.

import { decodeUpdate, getBytes, getJson, listen, post } from "./api.js";
import { countStrokes, draw, fit, getHovered, getRegions, getView, imageToScreen, preload, removeStroke, show, toScreen, zoomBy } from "./canvas.js";
import { setUpAlternatives } from "./alternatives.js";
import { setUpExtent } from "./extent.js";
import { openFinish } from "./finish.js";
import { closeGrid, isGridOpen, setUpGrid } from "./grid.js";
import { setUpClasses } from "./classes.js";
import { setUpKeys } from "./keys.js";
import { nextAudited, setUpLessons } from "./lessons.js";
import { isDrawn, lookUpMask } from "./masks.js";
import { getAnswer, isReading, LEVELS, prepareModel } from "./model.js";
import { forgetVotes, openPanel, refreshDoctor, setUpPanels, showVotes } from "./panels.js";
import { nextOther } from "./others.js";
import { moveInQueue, nextOpen, refreshQueue, setUpQueue } from "./queue.js";
import { acceptHere, applyUpdate, countProgress, forgetAccepted, formatArea, isVideo, labelHere, N_TREE_LEVELS, store, tell, watch } from "./store.js";
import { editOutline, TOOLS } from "./tools.js";

const byId = (id) => document.getElementById(id);
const MAX_RADIUS = 400;
const BY_SEGMENTS = "Videos are corrected by segments (S), which hold for all frames: a stroke or a cut on one frame would not say how it goes on in the others.";
let waiting = 0, asked = null, fetching = null, again = false, toastTimer = 0, line = Promise.resolve();

// Status line.

function showSaved() {
  const pill = byId("saved");
  const { votes, problem, lost, export: step } = store.status;
  pill.className = "pill";
  pill.title = "";
  if (store.gone) { pill.textContent = "server away"; pill.classList.add("bad"); }
  else if (waiting) pill.textContent = "saving …";
  else if (step?.step) pill.textContent = `${step.step} ${step.done}/${step.total}`;
  else if (votes === "loading") { pill.textContent = "counting votes …"; pill.title = "You can already correct: everything is saved, and voted on as soon as the votes are counted."; }
  else if (votes === "failed") { pill.textContent = "votes failed"; pill.title = problem; pill.classList.add("bad"); }
  else if (store.status.lastVoted < store.status.action) pill.textContent = "voting …";
  else if (lost?.length) { pill.textContent = "saved; log damaged"; pill.title = `Actions ${lost.join(", ")} of the log are damaged and have no effect; all others have. Repeat them if they are missed.`; pill.classList.add("bad"); }
  else { pill.textContent = "saved"; pill.title = "Every action is on the disk."; pill.classList.add("good"); }
  pill.dataset.action = store.status.action;
  pill.dataset.votes = votes;
  pill.dataset.lastVoted = store.status.lastVoted;
  byId("undo").disabled = !store.status.nUndo;
  byId("redo").disabled = !store.status.nRedo;
}

function toast(text, button = "") {
  byId("toast").replaceChildren(text, button);
  byId("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { byId("toast").hidden = true; }, button ? 12000 : 5000);
}

// An offer is about the last action on the image shown.
function hideOffer() {
  if (byId("toast").querySelector("button")) byId("toast").hidden = true;
}

// In a private window nothing can be stored.
const recall = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* see above */ } };

// The hint is shown until the first action, or until it is closed; then never again in this browser.
function hideHint() {
  if (byId("hint").hidden) return;
  byId("hint").hidden = true;
  remember("segvote-hint", "seen");
}

function showProgress() {
  const { total, accepted, seen, left } = countProgress();
  byId("progress-text").textContent = `${accepted} of ${total} accepted`;
  byId("progress-text").title = `Of the ${total} images with the object. Accept (A) says that a mask is right: it is kept as it is, and it votes.`;
  byId("progress-more").textContent = ` · ${seen} looked at · ${left} left`;
  byId("progress-bar").style.width = `${total ? (100 * accepted) / total : 0}%`;
}

function showFacts() {
  const image = store.images[store.current];
  if (!image) return;
  const { name, nSegments } = store.run.images[store.current];
  byId("image-name").textContent = name;
  const label = image.isWith ? "with" : "without";
  byId("image-facts").textContent = `${image.moved ? `moved to ${label}` : label} · ${nSegments} segments · ${formatArea(image)} object · uncertainty ${image.uncertainty.toFixed(2)}${image.predicted ? " · did not vote" : ""}`;
  byId("image-facts").title = image.predicted ? "The model of the vote predicted this mask. Corrected or accepted, the image votes with the others." : "";
  byId("accept").textContent = image.accepted ? "Accepted" : "Accept";
  byId("accept").setAttribute("aria-pressed", image.accepted);
}

// Updates: one fetch at a time, and one more if a status came meanwhile.

function fetchUpdate() {
  again = true;
  fetching ??= fetchAll().catch((error) => toast(error.message)).finally(() => { fetching = null; });
  return fetching;
}

async function fetchAll() {
  while (again) {
    again = false;
    const update = decodeUpdate(await getBytes(`api/update/${store.version}`));
    const { images } = store.run;
    if (update.images.some(({ index }) => index >= images.length)) images.push(...await getJson(`api/images/from/${images.length}`));
    applyUpdate(update);
  }
}

function onStatus(status) {
  const before = store.status;
  store.gone = false;
  // A server that was started again counts from the beginning.
  if (status.version < store.version) store.version = 0;
  // An event may have been on its way before the last answer: actions are counted up, never down.
  const { action, nUndo, nRedo, extent, extents, alternative } = before;
  store.status = status.action < action ? { ...status, action, nUndo, nRedo, extent, extents, alternative } : status;
  showSaved();
  tell("status");
  if (status.version !== store.version) fetchUpdate();
  if (before.votes !== status.votes || before.action !== status.action) refreshDoctor();
}

// The answer of the server, or an object with an error in it.
async function ask(name, message) {
  waiting += 1;
  showSaved();
  try {
    const answer = await post(name, message);
    if (answer.action) store.status.action = Math.max(store.status.action, answer.action);
    return answer;
  } catch (error) {
    return { error: error.message };
  } finally {
    waiting -= 1;
    showSaved();
  }
}

// Actions wait for each other: three quick undos are three, and an undo knows what was done before it.
function act(name, message) {
  hideHint();
  hideOffer();
  const answer = line.then(() => actNow(name, typeof message === "function" ? message() : message));
  line = answer.catch(() => null);
  return answer;
}

// Counts of undo and redo after an answer, until the status comes.
function countUndo({ nUndo = Math.max(1, store.status.nUndo), nRedo = 0 }) {
  Object.assign(store.status, { nUndo, nRedo });
  showSaved();
}

async function actNow(name, message) {
  if (message === null) return null;
  const answer = await ask(name, message);
  if (!answer.error) { countUndo(answer); return answer; }
  toast(answer.error);
  store.version = 0; // the page may have shown the action already
  fetchUpdate();
  return null;
}

// Actions of the user.

// An undo in another image is announced, and the image shown.
async function takeBack(name, text) {
  const isLeft = () => (name === "undo" ? store.status.nUndo : store.status.nRedo);
  const answer = await act(name, () => (isLeft() ? { expected: store.status.action } : null));
  if (!answer || answer.bags.includes(store.current) || !answer.bags.length) return;
  const [first, ...rest] = answer.bags;
  toast(`${text}: ${store.run.images[first].name}${rest.length ? ` and ${rest.length} more` : ""}`);
  if (!isGridOpen()) go(first);
}

function go(index) {
  if (index === undefined || index === store.current) return;
  const before = store.current;
  store.current = index;
  store.frame = -1;
  asked = null;
  hideOffer();
  forgetVotes();
  tell("current", { before });
  showFacts();
  showFrames();
  showTool(isVideo() ? TOOLS[0] : store.tool);
  show(index);
  const at = store.order.indexOf(index);
  if (at >= 0 && at + 1 < store.order.length) preload(store.order[at + 1]);
}

// The frames of a video: a slider below the image, the poster first.
function showFrames() {
  const { frames, poster } = store.run.images[store.current];
  byId("frames").hidden = !frames.length;
  if (!frames.length) return;
  byId("frame-slider").max = frames.length - 1;
  byId("frame-slider").value = frames.indexOf(store.frame < 0 ? poster : store.frame);
  byId("frame-text").textContent = `frame ${store.frame < 0 ? poster : store.frame} of ${frames.at(-1)}`;
}

function goToFrame(number) {
  const { frames } = store.run.images[store.current];
  if (!frames.length) return;
  store.frame = frames[Math.min(frames.length - 1, Math.max(0, number))];
  showFrames();
  show(store.current, store.frame, false);
}

watch("frame", (step) => goToFrame(Number(byId("frame-slider").value) + step));
watch("open", async (number) => {
  const { bag, error } = await ask("open", { number });
  if (error) { toast(error); return; }
  await fetchUpdate();
  tell("go", bag);
});
watch("go", (index) => { if (isGridOpen()) closeGrid(); go(index); });
const roundPoints = (points) => points.flat().map((one) => Math.round(1000 * one) / 1000);
watch("label", ({ segments, value, segment }) => {
  const bag = store.current;
  labelHere(bag, segments, value);
  asked = segment;
  act("set", { bag, segments, value, frame: store.frame }).then((answer) => { showVotes(bag, segment); if (answer) tell("corrected", answer); });
});
watch("paint", async ({ name = "paint", points, stroke, ...rest }) => {
  const answer = await act(name, { bag: store.current, points: roundPoints(points), ...rest });
  if (answer) tell("corrected", answer); else if (stroke) removeStroke(stroke);
});
watch("take", async ({ points, value }) => {
  const answer = await act("take", { bag: store.current, points, level: store.modelLevel + 1, value });
  if (answer) tell("corrected", answer);
});
watch("outline", async ([x, y]) => {
  const bag = store.current;
  try {
    const points = await getJson(`api/images/${bag}/outline/${Math.floor(x)}/${Math.floor(y)}`);
    if (bag !== store.current || store.tool !== "polygon") return;
    editOutline(points);
    toast("Drag corners or edges of the outline. Enter applies, Esc cancels.");
  } catch (error) { toast(error.message); }
});
watch("cut", async ({ points, stroke }) => {
  await act("cut", { bag: store.current, points: roundPoints(points) });
  removeStroke(stroke);
});
watch("join", (points) => act("join", { bag: store.current, points: points.flat() }));
watch("ask", (segment) => { asked = segment; openPanel("votes"); showVotes(store.current, segment); });
watch("undo", () => takeBack("undo", "Undone"));
watch("redo", () => takeBack("redo", "Done again"));
watch("accept", () => {
  const bag = store.current, image = store.images[bag];
  if (image.accepted) { act("accept", { bags: [bag], value: false }); return; }
  const next = nextAudited() ?? nextOpen();
  acceptHere(bag);
  act("accept", { bags: [bag], value: true }).then((answer) => { if (answer) acceptHere(bag, answer.action); else forgetAccepted(bag); });
  if (next !== undefined) go(next);
  else if (nextOther() !== undefined) tell("open", nextOther());
  else toast("Every image of this list is accepted. Finish (E) writes the masks.");
});
watch("move", ({ bag, label }) => act("move", { bags: [bag], bag_label: label }).then((answer) => { if (answer) toast(`${store.run.images[bag].name} counts as ${label} now; the file stays where it is.`); }));
watch("many", ({ name, message, text }) => act(name, message).then((answer) => { if (answer) toast(`${text}. Undo: Z`); }));
watch("clear", () => { if (isVideo()) toast(BY_SEGMENTS); else act("clear", { bags: [store.current] }).then((answer) => { if (answer) toast("All background now: mark the object. Undo: Z"); }); });
watch("export", () => openFinish(ask));

// View.

const press = (group, name, value) => byId(group).querySelectorAll("button").forEach((button) => button.setAttribute("aria-pressed", button.dataset[name] === String(value)));

// One slider for the size of regions, the level of the model click, or the size of the brush (in octaves).
function showSize() {
  if (store.tool === "model") { showLevel(); return; }
  const slider = byId("size"), segments = store.tool === "segments";
  slider.disabled = ["polygon", "smart", "fill", "cut"].includes(store.tool);
  [slider.min, slider.max, slider.step] = segments ? [0, N_TREE_LEVELS - 1, 1] : [-2, 2 * Math.log2(MAX_RADIUS), 0.25];
  slider.value = segments ? N_TREE_LEVELS - 1 - store.level : 2 * Math.log2(store.radius);
  const names = ["largest", "large", "medium", "small", "segment"];
  byId("size-text").textContent = segments ? names[store.level] : slider.disabled ? "" : `${store.radius < 10 ? store.radius.toFixed(1) : Math.round(store.radius)} px`;
  byId("snap").disabled = segments || ["smart", "fill", "cut"].includes(store.tool);
  slider.setAttribute("aria-valuetext", byId("size-text").textContent);
}

function showLevel() {
  const slider = byId("size");
  slider.disabled = false;
  byId("snap").disabled = true;
  byId("canvas").dataset.reading = isReading();
  Object.assign(slider, { min: 0, max: LEVELS.length - 1, step: 1, value: store.modelLevel });
  byId("size-text").textContent = isReading() ? "reading …" : LEVELS[store.modelLevel];
  slider.setAttribute("aria-valuetext", LEVELS[store.modelLevel]);
}

// Why a tool cannot be used; empty where it can.
function findObstacle(tool) {
  if (isVideo() && tool !== TOOLS[0]) return BY_SEGMENTS;
  return tool === "model" ? store.run.modelProblem : "";
}

// The label of the next click or stroke: brush and lasso cannot toggle, and the eraser is always background.
function showLabel() {
  const erases = store.tool === "eraser", draws = ["brush", "polygon"].includes(store.tool), cuts = store.tool === "cut";
  press("labels", "label", erases ? 0 : draws && store.label === "toggle" ? 1 : store.label);
  for (const button of byId("labels").children) button.disabled = erases || cuts || (draws && button.dataset.label === "toggle");
}

function showTool(tool) {
  store.tool = byId("canvas").dataset.tool = tool;
  press("tools", "tool", tool);
  for (const button of byId("tools").children) button.setAttribute("aria-disabled", Boolean(findObstacle(button.dataset.tool)));
  prepareModel();
  showSize();
  showLabel();
}

watch("view", (view) => { store.view = view; press("views", "view", view); tell("look"); });
watch("tool", (tool) => {
  const obstacle = findObstacle(tool);
  if (obstacle) toast(obstacle);
  showTool(obstacle ? TOOLS[0] : tool);
  tell("look");
});
watch("level", (level) => { store.level = level; showSize(); tell("look"); });
watch("model-level", (level) => { store.modelLevel = level; showSize(); draw(); });
watch("model-ready", showSize);
watch("model-failed", toast);
watch("radius", (radius) => { store.radius = Math.min(MAX_RADIUS, Math.max(0.5, radius)); showSize(); draw(); });
watch("labels", (label) => { store.label = label; showLabel(); });
watch("snap", (snap) => { store.snap = snap; byId("snap").setAttribute("aria-pressed", snap); });
watch("opacity", (opacity) => { store.opacity = Math.min(1, Math.max(0, opacity)); byId("opacity").value = Math.round(100 * store.opacity); tell("look"); });
watch("theme", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  remember("segvote-theme", document.documentElement.dataset.theme);
});
watch("images", (changed) => {
  showProgress();
  if (!changed.has(store.current)) return;
  showFacts();
  if (asked !== null) showVotes(store.current, asked);
});

function setUpButtons() {
  for (const [group, name, topic] of [["views", "view", "view"], ["tools", "tool", "tool"], ["labels", "label", "labels"]]) {
    byId(group).addEventListener("click", (event) => {
      const value = event.target.closest("button")?.dataset[name];
      if (value !== undefined) tell(topic, value);
    });
  }
  byId("size").addEventListener("input", (event) => {
    const value = Number(event.target.value);
    if (store.tool === "segments") tell("level", N_TREE_LEVELS - 1 - value);
    else if (store.tool === "model") tell("model-level", value);
    else tell("radius", 2 ** (value / 2));
  });
  byId("frame-slider").addEventListener("input", (event) => goToFrame(Number(event.target.value)));
  byId("snap").addEventListener("click", () => tell("snap", !store.snap));
  byId("opacity").addEventListener("input", (event) => tell("opacity", event.target.value / 100));
  for (const name of ["undo", "redo", "export", "theme", "accept"]) byId(name).addEventListener("click", () => tell(name));
  byId("next").addEventListener("click", () => moveInQueue(1));
  byId("previous").addEventListener("click", () => moveInQueue(-1));
  byId("zoom-in").addEventListener("click", () => zoomBy(1.25));
  byId("zoom-out").addEventListener("click", () => zoomBy(0.8));
  byId("zoom-fit").addEventListener("click", fit);
}

async function start() {
  const theme = recall("segvote-theme");
  if (theme) document.documentElement.dataset.theme = theme;
  store.run = await getJson("api/run");
  byId("run-name").textContent = store.run.folder;
  document.title = `${store.run.folder} · segvote review`;
  setUpClasses();
  setUpQueue();
  setUpGrid();
  setUpPanels();
  setUpKeys();
  byId("hint").hidden = recall("segvote-hint") === "seen";
  byId("hint-close").addEventListener("click", hideHint);
  setUpButtons();
  setUpExtent(act, toast);
  setUpAlternatives(act, toast);
  setUpLessons(act, toast);
  tell("labels", "toggle");
  tell("snap", true);
  await fetchUpdate();
  refreshQueue();
  tell("view", store.view);
  tell("tool", TOOLS[0]);
  const wanted = Number(location.hash.slice(1) || NaN); // where the page of another class was
  go(wanted in store.images ? wanted : store.order[0] ?? 0);
  listen(onStatus, () => { store.gone = true; showSaved(); });
  document.documentElement.dataset.ready = "yes";
}

// For tests.
window.segvote = { store, go, tell, countStrokes, getAnswer, getHovered, getRegions, getView, imageToScreen, isDrawn, lookUpMask, toScreen };
start().catch((error) => { byId("notice").textContent = error.message; byId("notice").hidden = false; });
