// How much of the object the masks cover: one choice for all images, or for the image shown.

import { make } from "./elements.js";
import { store, tell, watch } from "./store.js";

const byId = (id) => document.getElementById(id);

const levelOf = (index) => store.status.extents?.[index] ?? store.status.extent;

// In words: of six, the first is the part, the last the whole.
const describe = (level) => `${level} of ${store.run.nExtents}${level === 1 ? ", the most telling part" : level === store.run.nExtents ? ", the whole object" : ""}`;

function show() {
  const { extent } = store.status;
  if (!extent) return;
  for (const button of byId("extents").children) button.setAttribute("aria-pressed", Number(button.dataset.level) === extent);
  byId("tighter").disabled = extent <= 1;
  byId("wider").disabled = extent >= store.run.nExtents;
  const own = store.status.extents?.[store.current];
  byId("image-extent").textContent = own ? `extent ${own}, this image only` : "";
}

// At once: three quick steps are three.
function choose(act, toast, level, bag = null) {
  if (level < 1 || level > store.run.nExtents) { toast(level < 1 ? "This is the tightest extent." : "This is the widest extent."); return; }
  const { status } = store;
  if (bag === null) Object.assign(status, { extent: level, extents: {} });
  else status.extents = { ...status.extents, [bag]: level };
  show();
  const where = bag === null ? "in all images" : "in this image";
  act("extent", { bags: bag === null ? [] : [bag], level }).then((answer) => { if (answer) toast(`Extent ${describe(level)}, ${where}. Undo: Z`); });
}

// A correction added a region that a wider extent has: one click widens all images.
function offer(act, toast, level) {
  const button = make("button", "", "Wider in all images");
  button.addEventListener("click", () => choose(act, toast, level));
  toast(`Extent ${level} includes this region.`, button);
}

export function setUpExtent(act, toast) {
  for (let level = 1; level <= store.run.nExtents; level++) {
    const button = make("button", "", String(level));
    button.dataset.level = level;
    button.title = `Extent ${describe(level)}`;
    byId("extents").append(button);
  }
  byId("extents").addEventListener("click", (event) => {
    const level = Number(event.target.closest("button")?.dataset.level);
    if (level) choose(act, toast, level);
  });
  for (const [name, step] of [["tighter", -1], ["wider", 1]]) byId(name).addEventListener("click", () => tell("extent", { step, all: true }));
  watch("extent", ({ step, all }) => (all ? choose(act, toast, store.status.extent + step) : choose(act, toast, levelOf(store.current) + step, store.current)));
  watch("corrected", ({ wider }) => { if (wider) offer(act, toast, wider); });
  watch("status", show);
  watch("current", show);
}
