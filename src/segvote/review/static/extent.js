// How much of the object the masks cover: one choice for all images, or for the image shown.

import { make } from "./elements.js";
import { store, tell, watch } from "./store.js";

const byId = (id) => document.getElementById(id);

const extentOf = (index) => store.status.extents?.[index] ?? store.status.extent;

// In words: of six, the first is the part, the last the whole.
const describe = (extent) => `${extent} of ${store.run.nExtents}${extent === 1 ? ", the most distinctive part" : extent === store.run.nExtents ? ", the whole object" : ""}`;

function show() {
  const { extent } = store.status;
  if (!extent) return;
  for (const button of byId("extents").children) button.setAttribute("aria-pressed", Number(button.dataset.extent) === extent);
  byId("tighter").disabled = extent <= 1;
  byId("wider").disabled = extent >= store.run.nExtents;
  const own = store.status.extents?.[store.current];
  byId("image-extent").textContent = own ? `extent ${own}, this image only` : "";
}

// At once: three quick steps are three.
function choose(act, toast, extent, bag = null) {
  if (extent < 1 || extent > store.run.nExtents) { toast(extent < 1 ? "This is the tightest extent." : "This is the widest extent."); return; }
  const { status } = store;
  if (bag === null) Object.assign(status, { extent: extent, extents: {} });
  else status.extents = { ...status.extents, [bag]: extent };
  show();
  const where = bag === null ? "in all images" : "in this image";
  act("extent", { bags: bag === null ? [] : [bag], extent }).then((answer) => { if (answer) toast(`Extent ${describe(extent)}, ${where}. Undo: Z`); });
}

export function setUpExtent(act, toast) {
  for (let extent = 1; extent <= store.run.nExtents; extent++) {
    const button = make("button", "", String(extent));
    button.dataset.extent = extent;
    button.title = `Extent ${describe(extent)}`;
    byId("extents").append(button);
  }
  byId("extents").addEventListener("click", (event) => {
    const extent = Number(event.target.closest("button")?.dataset.extent);
    if (extent) choose(act, toast, extent);
  });
  for (const [name, step] of [["tighter", -1], ["wider", 1]]) byId(name).addEventListener("click", () => tell("extent", { step, all: true }));
  watch("extent", ({ step, all }) => (all ? choose(act, toast, store.status.extent + step) : choose(act, toast, extentOf(store.current) + step, store.current)));
  watch("status", show);
  watch("current", show);
}
