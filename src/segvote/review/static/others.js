// Images that did not vote, where a sample votes: listed behind the others in the queue, and opened on demand.

import { getJson } from "./api.js";
import { make } from "./elements.js";
import { formatShare, store, tell } from "./store.js";

const N_LISTED = 60;
const SHOWN = ["predicted", "all"]; // filters of the queue that list them
const items = new Map();
let all = null, asking = false;

async function read() {
  asking = true;
  try { all = await getJson("api/others"); tell("others"); } catch { /* asked for again by the next list */ }
  asking = false;
}

function makeItem({ number, name, isWith, covered }) {
  const item = make("li", "card other");
  const button = make("button", "card-button");
  button.title = "Did not vote: the model predicted its mask. Opened here, it can be corrected, and then votes";
  const picture = make("img", "thumb");
  picture.loading = "lazy";
  picture.alt = "";
  picture.src = `api/others/${number}`;
  const text = make("span", "card-text");
  text.append(make("span", "card-name", name.split("/").slice(1).join("/")), make("span", "card-facts", isWith ? `${formatShare(covered)} · did not vote` : "without · did not vote"));
  button.append(picture, text);
  button.addEventListener("click", () => tell("open", number));
  item.append(button);
  return item;
}

// Those that are not open and fit the filter and the name looked for.
function listClosed() {
  if (!store.run.nOthers || !SHOWN.includes(store.filter)) return [];
  if (!all) { if (!asking) read(); return []; }
  const open = new Set(store.run.images.map(({ name }) => name)), wanted = store.search.toLowerCase();
  return all.filter(({ name }) => !open.has(name) && name.toLowerCase().includes(wanted));
}

// The first of them as elements of the list, and how many more there are.
export function listOthers() {
  const closed = listClosed();
  const shown = closed.slice(0, N_LISTED).map((one) => {
    if (!items.has(one.number)) items.set(one.number, makeItem(one));
    return items.get(one.number);
  });
  const left = closed.length - shown.length;
  if (left) shown.push(make("li", "empty", `${left} more that did not vote: find one by its name.`));
  return shown;
}

// Number of the next one that can be opened from this list; undefined where there is none.
export const nextOther = () => listClosed()[0]?.number;
