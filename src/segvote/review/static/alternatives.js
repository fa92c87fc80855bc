// What the object may be: the things that the images share, each outlined on the same images, one of which is shown.

import { getJson } from "./api.js";
import { make } from "./elements.js";
import { openPanel } from "./panels.js";
import { store, tell, watch } from "./store.js";

const panel = document.getElementById("alternatives");
const nameOf = (number) => String.fromCharCode(65 + number);
let found = null; // letters and images, of the last vote that changed them
let loading = false, wasOpened = false; // by the page itself, not by the user

async function load() {
  if (loading) return;
  loading = true;
  try {
    found = await getJson("api/alternatives");
    showRows();
    openFirst();
  } catch (error) { // the first vote still runs
    panel.replaceChildren(make("p", "hint", error.message));
  }
  loading = false;
}

// Where the confidence is low or fair the question comes first, unless the user has begun already.
function openFirst() {
  if (!found.isAsked || store.status.nUndo || store.status.alternative || wasOpened) return;
  wasOpened = true;
  openPanel("alternatives");
}

function makeStrip(number) {
  const strip = make("div", "alternative-strip");
  for (const bag of found.bags) {
    const picture = make("img");
    picture.loading = "lazy";
    picture.src = `api/alternatives/${number}/${bag}`;
    picture.alt = `${nameOf(number)} on ${store.run.images[bag].name}`;
    strip.append(picture);
  }
  return strip;
}

function makeRow(letter, number) {
  const row = make("button", "alternative");
  row.dataset.number = number;
  row.title = `Show ${letter} in all images (Shift ${number + 1})`;
  const head = make("span", "alternative-head");
  head.append(make("strong", "", letter), make("span", "alternative-note"), make("kbd", "", `Shift ${number + 1}`));
  row.append(head, makeStrip(number));
  row.addEventListener("click", () => tell("alternative", number));
  return row;
}

function showRows() {
  if (found.letters.length < 2) {
    panel.replaceChildren(make("p", "hint", "Nothing else repeats in your images: there is only this to choose. Click what is wrong instead."));
    return;
  }
  const head = make("h3", "", "Is it one of these?");
  const text = make("p", "quiet", "Your images share more than one thing. Each box shows one of them on the same images: bright is the object, dark is background. Click the one that you mean: all masks then show it. Small errors can be corrected afterwards.");
  panel.replaceChildren(head, text, ...found.letters.map(makeRow));
  showChosen();
}

function showChosen() {
  const { alternative, action, lastVoted, votes } = store.status;
  for (const row of panel.querySelectorAll(".alternative")) {
    const number = Number(row.dataset.number), isChosen = number === alternative;
    row.setAttribute("aria-pressed", isChosen);
    const shown = lastVoted < action || votes === "loading" ? "voting …" : "shown now";
    row.querySelector(".alternative-note").textContent = [number ? "" : "the default", isChosen ? shown : ""].filter(Boolean).join(", ");
  }
}

function choose(act, toast, number) {
  if (!found) { toast("The first vote still runs; retry in a few seconds."); return; }
  if (number >= found.letters.length) { toast(found.letters.length < 2 ? "There are no alternatives in this run." : `There are A to ${found.letters.at(-1)} to choose from.`); return; }
  if (number === store.status.alternative) { toast(`The masks show ${nameOf(number)} already.`); return; }
  const before = store.status.alternative;
  store.status.alternative = number; // at once; the masks follow with the vote
  act("alternative", { number }).then((answer) => {
    if (answer) toast(`All masks will show ${nameOf(number)}. Undo: Z`);
    else store.status.alternative = before;
    showChosen();
  });
  showChosen();
}

// A correction added a region that another alternative has.
function offer(act, toast, number) {
  const button = make("button", "", `Take ${nameOf(number)}`);
  button.addEventListener("click", () => choose(act, toast, number));
  toast(`${nameOf(number)} has this region. Take ${nameOf(number)} in all images?`, button);
}

export function setUpAlternatives(act, toast) {
  let isReady = false, nMoved = 0;
  panel.replaceChildren(make("p", "hint", "The votes are being counted …"));
  watch("alternative", (number) => choose(act, toast, number));
  watch("corrected", ({ offer: number }) => { if (number >= 0) offer(act, toast, number); });
  watch("label", () => { if (wasOpened && !panel.hidden) openPanel("votes"); });
  watch("status", () => {
    if (store.status.votes === "ready" && !isReady) { isReady = true; load(); }
    showChosen();
  });
  // Images that change folders change what repeats.
  watch("images", () => {
    const moved = store.images.filter((image) => image?.moved).length;
    if (isReady && moved !== nMoved) load();
    nMoved = moved;
  });
}
