// The queue: thumbnails with their masks, the most uncertain first.

import { make } from "./elements.js";
import { listOthers } from "./others.js";
import { observeThumbs } from "./thumbs.js";
import { describe, FILTERS, formatShare, listImages, store, tell, watch } from "./store.js";

const list = document.getElementById("list");
const filters = document.getElementById("filters");
const search = document.getElementById("search");
const items = new Map();
const seen = observeThumbs(list);
let place = -1; // in the queue, of the present image when it was opened

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

// The last line of a card.
export function describeBadge(image) {
  if (image.change > 0) return { text: `${formatShare(image.change)} changed`, title: "Share of the image in which the mask differs from the one on the disk", kind: "turned" };
  if (image.accepted) return { text: "✓ accepted", title: "Accepted", kind: "done" };
  return { text: "", title: "", kind: "" };
}

function refreshItem(index) {
  const item = items.get(index), image = store.images[index];
  if (!item || !image) return;
  item.classList.toggle("accepted", image.accepted);
  item.classList.toggle("current", index === store.current);
  item.querySelector("button").setAttribute("aria-current", index === store.current);
  item.querySelector(".card-facts").textContent = describe(image);
  const badge = item.querySelector(".badge");
  const { text, title, kind } = describeBadge(image);
  badge.textContent = text;
  badge.title = title;
  badge.className = `badge ${kind}`;
}

// The present image keeps the place it had when it was opened: a correction must not move it.
function holdPlace(found) {
  if (place < 0) return found;
  const others = found.filter((index) => index !== store.current);
  others.splice(place, 0, store.current);
  return others;
}

function refreshOrder() {
  store.order = holdPlace(listImages());
  const wanted = [...store.order.map((index) => items.get(index) ?? makeItem(index)), ...listOthers()];
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
  const next = store.order.indexOf(store.current) + step;
  tell("go", store.order[Math.min(store.order.length - 1, Math.max(0, next))]);
}

// The first image of the queue that is not accepted, other than the present one.
export function nextOpen() {
  return store.order.find((index) => index !== store.current && !store.images[index].accepted);
}

// Another filter or name: nothing is held, unless it is listed.
function listAnew() {
  place = -1;
  refreshQueue();
  place = store.order.indexOf(store.current);
  tell("listed");
}

export function setUpQueue() {
  if (!store.run.nOthers) delete FILTERS.predicted;
  for (const [name, { title }] of Object.entries(FILTERS)) {
    const button = make("button", "chip", title);
    button.dataset.filter = name;
    button.addEventListener("click", () => tell("filter", name));
    filters.append(button);
  }
  search.addEventListener("input", () => { store.search = search.value; listAnew(); });
  watch("filter", (name) => { store.filter = name; listAnew(); list.scrollTop = 0; });
  watch("images", (changed) => refreshQueue([...changed]));
  watch("others", () => refreshQueue());
  watch("current", ({ before }) => {
    place = -1;
    refreshOrder(); // the image before goes where it belongs now
    place = store.order.indexOf(store.current);
    [before, store.current].forEach(refreshItem);
    items.get(store.current)?.scrollIntoView({ block: "nearest" });
  });
}
