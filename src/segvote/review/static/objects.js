// Single objects of the image: numbered in a list and over the image, divided by a line, joined by selecting several.

import { readInstances } from "./api.js";
import { make } from "./elements.js";
import { traceLabel } from "./regions.js";
import { formatShare, isVideo, store, tell, watch } from "./store.js";

const panel = document.getElementById("objects");
const MAX_NUMBERED = 80; // more would hide the image

let instances = null; // of the image shown: list, map of their numbers, how many there are
let asked = 0, hovered = 0, fetchedFor = null;
const chosen = new Set(), paths = new Map();

const isShown = () => !panel.hidden || store.tool === "cut";
// Neighbours in the list differ: the golden angle.
const colourOf = (number) => `hsl(${(number * 137.5) % 360} 90% 68%)`;

// For the canvas: outlines on the map of numbers, the one under the pointer marked.
export function listOutlines() {
  if (!instances || !isShown()) return null;
  const outlines = instances.list.map((instance) => {
    const { number } = instance;
    return { ...instance, colour: colourOf(number), path: outlineOf(number), isMarked: number === hovered || chosen.has(number) };
  });
  return { width: instances.map.width, outlines, isNumbered: outlines.length <= MAX_NUMBERED };
}

function outlineOf(number) {
  if (!paths.has(number)) paths.set(number, traceLabel(instances.map, number, boxOnMap(instances.list[number - 1])));
  return paths.get(number);
}

// The box of an instance in pixels of the map, with a pixel to spare.
function boxOnMap({ left, top, width, height }) {
  const { map } = instances, scale = map.width / store.run.images[store.current].width;
  const clip = (value, size) => Math.min(size - 1, Math.max(0, value));
  return [
    clip(Math.floor(left * scale) - 1, map.width), clip(Math.floor(top * scale) - 1, map.height),
    clip(Math.ceil((left + width) * scale), map.width), clip(Math.ceil((top + height) * scale), map.height),
  ];
}

function forget() {
  asked += 1;
  instances = fetchedFor = null;
  hovered = 0;
  chosen.clear();
  paths.clear();
}

// Ask again where the image, its mask or its divisions may have changed.
async function refreshObjects() {
  if (!isShown() || store.current < 0) return;
  if (isVideo()) { forget(); show("Objects of a video are the connected regions of each frame. They cannot be cut or merged: a line on one frame would not say where the object divides in the others."); return; }
  const key = `${store.current} ${store.version} ${store.status.action}`;
  if (key === fetchedFor) return;
  fetchedFor = key;
  if (!instances) show("Looking for objects …");
  const mine = ++asked, index = store.current;
  try {
    const found = await readInstances(index);
    if (mine !== asked) return;
    replaceBy(found);
  } catch (error) {
    if (mine !== asked) return;
    forget();
    show(error.message);
  }
}

function replaceBy(found) {
  const same = instances && JSON.stringify(found.list) === JSON.stringify(instances.list);
  if (!same) { chosen.clear(); hovered = 0; }
  instances = found;
  paths.clear();
  showList();
  tell("objects");
}

const show = (text) => panel.replaceChildren(make("p", "hint", text));

function showList() {
  const { list, n } = instances;
  const head = make("div", "objects-head");
  const title = make("strong", "", n === 1 ? "1 object" : `${n} objects`);
  title.id = "objects-count";
  const merge = make("button", "small", "Merge");
  merge.id = "merge";
  merge.title = "Make one object of the selected ones";
  merge.addEventListener("click", () => tell("join", list.filter(({ number }) => chosen.has(number)).map(({ x, y }) => [x + 0.5, y + 0.5])));
  head.append(title, merge);
  const items = make("ol", "objects-list");
  items.append(...list.map(makeItem));
  const hint = make("p", "quiet", "Cut (H): draw a line through an object, from edge to edge. The mask stays as it is; exports write each object by itself.");
  const rest = n > list.length ? [make("p", "quiet", `${n - list.length} more, not listed`)] : [];
  panel.replaceChildren(head, hint, items, ...rest);
  showChosen();
}

function makeItem(instance) {
  const { number, area } = instance, { width, height } = store.run.images[store.current];
  const item = make("li", "object");
  item.dataset.number = number;
  const box = make("input");
  box.type = "checkbox";
  box.setAttribute("aria-label", `Select object ${number}`);
  box.addEventListener("change", () => { if (box.checked) chosen.add(number); else chosen.delete(number); showChosen(); tell("objects"); });
  const open = make("button", "object-open");
  const swatch = make("i", "", String(number));
  swatch.style.background = colourOf(number);
  open.title = `Zoom to object ${number}`;
  open.append(swatch, make("span", "", `${area.toLocaleString("en")} px`), make("span", "quiet", formatShare(area / (width * height))));
  open.addEventListener("click", () => tell("zoom-to", instance));
  for (const [kind, value] of [["pointerenter", number], ["pointerleave", 0], ["focusin", number], ["focusout", 0]]) {
    item.addEventListener(kind, () => { hovered = value; tell("objects"); });
  }
  item.append(box, open);
  return item;
}

function showChosen() {
  const merge = document.getElementById("merge");
  merge.disabled = chosen.size < 2;
  merge.textContent = chosen.size < 2 ? "Merge" : `Merge ${chosen.size}`;
  for (const box of panel.querySelectorAll("input")) box.checked = chosen.has(Number(box.closest(".object").dataset.number));
}

watch("current", () => { forget(); refreshObjects(); });
watch("tool", () => { refreshObjects(); tell("objects"); });
watch("panel", () => { refreshObjects(); tell("objects"); });
watch("status", refreshObjects);
watch("images", refreshObjects);
