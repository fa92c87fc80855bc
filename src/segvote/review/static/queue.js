// The queue: thumbnails with their masks, in the order in which a look helps most.

import { readPicture, readSmallMap } from "./api.js";
import { FILTERS, formatArea, formatShare, isUncertain, listQueue, store, tell, watch } from "./store.js";

const list = document.getElementById("list");
const filters = document.getElementById("filters");
const search = document.getElementById("search");
const items = new Map();
const maps = new Map();

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    entry.target.visible = entry.isIntersecting;
    if (entry.isIntersecting) drawThumb(Number(entry.target.dataset.index));
  }
}, { root: list, rootMargin: "300px" });

function make(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

function makeItem(index) {
  const item = make("li", "card");
  item.dataset.index = index;
  const button = make("button", "card-button");
  const canvas = make("canvas", "thumb");
  const text = make("span", "card-text");
  text.append(make("span", "card-name", store.run.images[index].name.split("/").slice(1).join("/")), make("span", "card-facts"), make("span", "badge"));
  button.append(canvas, text);
  button.addEventListener("click", () => tell("go", index));
  item.append(button);
  items.set(index, item);
  seen.observe(item);
  return item;
}

const loadThumb = (index) => {
  if (!maps.has(index)) maps.set(index, Promise.all([readPicture(`api/images/${index}/thumb`), readSmallMap(index)]));
  return maps.get(index);
};

async function drawThumb(index) {
  const canvas = items.get(index).querySelector("canvas");
  try {
    const [picture, map] = await loadThumb(index);
    const image = store.images[index];
    const scale = 2;
    canvas.width = map.width * scale;
    canvas.height = map.height * scale;
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(map.width, map.height);
    for (let i = 0; i < map.labels.length; i++) {
      if (!(image.state[map.labels[i]] & 4)) pixels.data.set([16, 18, 28, 140], 4 * i);
    }
    const small = new OffscreenCanvas(map.width, map.height);
    small.getContext("2d").putImageData(pixels, 0, 0);
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
  } catch {
    canvas.classList.add("broken");
  }
}

function describe(image) {
  if (!image.isWith) return image.moved ? "moved to without" : "without";
  const facts = [formatArea(image)];
  if (image.corrected) facts.push("corrected");
  else if (isUncertain(image)) facts.push("uncertain");
  if (image.moved) facts.unshift("moved");
  return facts.join(" · ");
}

function refreshItem(index) {
  const item = items.get(index), image = store.images[index];
  if (!item || !image) return;
  item.classList.toggle("looked", image.accepted);
  item.classList.toggle("current", index === store.current);
  item.querySelector("button").setAttribute("aria-current", index === store.current);
  item.querySelector(".card-facts").textContent = describe(image);
  const badge = item.querySelector(".badge");
  const turned = image.change > 0;
  badge.textContent = turned ? `${formatShare(image.change)} changed` : image.accepted ? "✓ accepted" : "";
  badge.title = turned ? "Share of the image in which the mask differs from the one on the disk" : image.accepted ? "Accepted" : "";
  badge.className = `badge${turned ? " turned" : image.accepted ? " done" : ""}`;
  if (item.visible) drawThumb(index);
}

function refreshOrder() {
  store.order = listQueue();
  const wanted = store.order.map((index) => items.get(index) ?? makeItem(index));
  if (wanted.length !== list.children.length || wanted.some((item, k) => list.children[k] !== item)) list.replaceChildren(...wanted);
  if (!wanted.length) list.replaceChildren(make("li", "empty", "No image fits this filter."));
  for (const button of filters.children) button.setAttribute("aria-pressed", button.dataset.filter === store.filter);
}

export function refreshQueue(changed = store.order) {
  refreshOrder();
  changed.forEach(refreshItem);
}

export function moveInQueue(step) {
  if (!store.order.length) return;
  const at = store.order.indexOf(store.current);
  const next = at < 0 ? 0 : Math.min(store.order.length - 1, Math.max(0, at + step));
  tell("go", store.order[next]);
}

// The first image of the queue that nobody has looked at, other than the present one.
export function nextOpen() {
  return store.order.find((index) => index !== store.current && !store.images[index].accepted);
}

export function setUpQueue() {
  for (const [name, { title }] of Object.entries(FILTERS)) {
    const button = make("button", "chip", title);
    button.dataset.filter = name;
    button.addEventListener("click", () => { store.filter = name; refreshQueue(); list.scrollTop = 0; });
    filters.append(button);
  }
  search.addEventListener("input", () => { store.search = search.value; refreshQueue(); });
  watch("images", (changed) => refreshQueue([...changed]));
  watch("current", ({ before }) => {
    [before, store.current].forEach(refreshItem);
    items.get(store.current)?.scrollIntoView({ block: "nearest" });
  });
}
