// The overview: all images as thumbnails, sorted and filtered, several at a time accepted, moved or cleared.

import { make } from "./elements.js";
import { observeThumbs } from "./thumbs.js";
import { describeBadge } from "./queue.js";
import { describe, FILTERS, listImages, SORTS, store, tell, watch } from "./store.js";

const byId = (id) => document.getElementById(id);
const panel = byId("grid"), tiles = byId("tiles"), sort = byId("grid-sort"), filter = byId("grid-filter");
const items = new Map();
const seen = observeThumbs(tiles);
let order = [], last = -1;

export const isGridOpen = () => !panel.hidden;

function makeTile(index) {
  const tile = make("li", "tile");
  tile.dataset.index = index;
  const open = make("button", "tile-open");
  open.append(make("canvas", "tile-thumb"), make("span", "tile-name", store.run.images[index].name), make("span", "card-facts"), make("span", "badge"));
  open.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey) toggle(index);
    else if (event.shiftKey) selectTo(index);
    else openImage(index);
  });
  const pick = make("button", "tile-pick");
  pick.setAttribute("aria-label", `Select ${store.run.images[index].name}`);
  pick.tabIndex = -1; // the space bar does the same
  pick.addEventListener("click", (event) => (event.shiftKey ? selectTo(index) : toggle(index)));
  tile.append(open, pick);
  items.set(index, tile);
  seen.observe(tile);
  return tile;
}

function toggle(index) {
  if (!store.selected.delete(index)) store.selected.add(index);
  last = index;
  refreshTile(index);
  refreshActions();
}

function selectTo(index) {
  const [from, to] = [Math.max(0, order.indexOf(last)), order.indexOf(index)].sort((a, b) => a - b);
  order.slice(from, to + 1).forEach((one) => store.selected.add(one));
  last = index;
  refreshGrid();
}

export function selectAll() {
  const all = order.every((index) => store.selected.has(index));
  store.selected = new Set(all ? [] : order);
  refreshGrid();
}

function refreshTile(index) {
  const tile = items.get(index), image = store.images[index];
  if (!tile || !image) return;
  const chosen = store.selected.has(index);
  tile.classList.toggle("selected", chosen);
  tile.classList.toggle("accepted", image.accepted);
  tile.querySelector(".tile-open").setAttribute("aria-pressed", chosen);
  tile.querySelector(".tile-pick").setAttribute("aria-pressed", chosen);
  tile.querySelector(".card-facts").textContent = describe(image);
  const { text, title, kind } = describeBadge(image);
  const badge = tile.querySelector(".badge");
  badge.textContent = text || (image.isWith ? `uncertainty ${image.uncertainty.toFixed(2)}` : "");
  badge.title = title;
  badge.className = `badge ${kind}`;
}

function refreshActions() {
  const chosen = [...store.selected];
  const n = chosen.length;
  byId("grid-count").textContent = n ? `${n} selected of ${order.length}` : `${order.length} images`;
  for (const button of byId("grid-actions").querySelectorAll("button")) button.disabled = !n;
  const allWith = chosen.every((index) => store.images[index].isWith);
  byId("grid-move").textContent = n && !allWith ? "Move to with" : "Move to without";
  byId("grid-move").dataset.label = n && !allWith ? "with" : "without";
  byId("grid-all").textContent = n && n === order.length ? "Select none" : "Select all";
}

function refreshGrid() {
  order = listImages(store.sort);
  const shown = new Set(order);
  store.selected.forEach((index) => { if (!shown.has(index)) store.selected.delete(index); });
  const wanted = order.map((index) => items.get(index) ?? makeTile(index));
  if (wanted.length !== tiles.children.length || wanted.some((tile, k) => tiles.children[k] !== tile)) {
    const focused = document.activeElement;
    tiles.replaceChildren(...wanted);
    if (tiles.contains(focused)) focused.focus();
  }
  if (!wanted.length) tiles.replaceChildren(make("li", "empty", "No image fits this filter."));
  sort.value = store.sort;
  filter.value = store.filter;
  order.forEach(refreshTile);
  refreshActions();
}

export function openGrid() {
  panel.hidden = false;
  document.body.classList.add("overview");
  byId("overview").setAttribute("aria-pressed", true);
  refreshGrid();
  focusTile(order.includes(store.current) ? store.current : order[0]);
}

export function closeGrid() {
  panel.hidden = true;
  document.body.classList.remove("overview");
  byId("overview").setAttribute("aria-pressed", false);
  store.selected.clear();
  byId("canvas").focus({ preventScroll: true });
}

function openImage(index) { closeGrid(); tell("go", index); }

function focusTile(index) {
  const tile = items.get(index);
  tile?.querySelector(".tile-open").focus();
  tile?.scrollIntoView({ block: "nearest" });
}

const focused = () => Number(document.activeElement?.closest(".tile")?.dataset.index ?? -1);

// Keys of the overview; true where one was meant for it.
export function pressInGrid(event) {
  const at = order.indexOf(focused());
  const key = event.key.length > 1 ? event.key : event.key.toLowerCase();
  const columns = Math.max(1, getComputedStyle(tiles).gridTemplateColumns.split(" ").length);
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -order.length, End: order.length };
  if (key in steps) {
    const next = at < 0 ? 0 : Math.min(order.length - 1, Math.max(0, at + steps[key]));
    if (event.shiftKey && at >= 0) { if (last < 0) last = order[at]; store.selected.add(order[at]); store.selected.add(order[next]); refreshTile(order[at]); refreshTile(order[next]); refreshActions(); }
    focusTile(order[next]);
  } else if (key === " " || key === "x") { if (at >= 0) toggle(order[at]); }
  else if (key === "Enter") { if (at >= 0) openImage(order[at]); }
  else if (key === "Escape" || key === "c") { if (key === "Escape" && store.selected.size) { store.selected.clear(); refreshGrid(); } else closeGrid(); }
  else if (key === "a") { if (store.selected.size) act("accept"); }
  else if (key === "m") { if (store.selected.size) act("move"); }
  else if (key === "b") { if (store.selected.size) act("clear"); }
  else return false;
  event.preventDefault();
  return true;
}

function act(name) {
  const bags = [...store.selected].sort((a, b) => a - b);
  store.selected.clear();
  if (name === "accept") tell("many", { name, message: { bags, value: true }, text: `${bags.length} accepted` });
  if (name === "clear") tell("many", { name, message: { bags }, text: `${bags.length} set as background` });
  if (name === "move") tell("many", { name, message: { bags, bag_label: byId("grid-move").dataset.label }, text: `${bags.length} moved; the files stay where they are` });
  refreshGrid();
}

export function setUpGrid() {
  for (const [select, options] of [[sort, SORTS], [filter, FILTERS]]) {
    for (const [name, option] of Object.entries(options)) {
      const entry = make("option", "", option.title);
      entry.value = name;
      select.append(entry);
    }
  }
  sort.addEventListener("change", () => { store.sort = sort.value; refreshGrid(); tiles.scrollTop = 0; });
  filter.addEventListener("change", () => tell("filter", filter.value));
  byId("grid-all").addEventListener("click", selectAll);
  byId("overview").addEventListener("click", () => (isGridOpen() ? closeGrid() : openGrid()));
  for (const name of ["accept", "move", "clear"]) byId(`grid-${name}`).addEventListener("click", () => act(name));
  watch("images", () => { if (isGridOpen()) refreshGrid(); });
  watch("listed", () => { if (isGridOpen()) refreshGrid(); });
}
