// The state of the page: one object, watched by the views.

const SELECTED = 4;
// Levels of the tree of segments, from large regions to single segments, of which a click takes one (TREE_LEVELS of
// review/pictures.py); no extents, of which `run.nExtents` counts those to choose from.
export const N_TREE_LEVELS = 5;

export const store = {
  run: null,
  images: [], // per image: scores, heat, state and the figures of the last update
  version: 0,
  status: { action: 0, nUndo: 0, nRedo: 0, votes: "loading" },
  current: -1,
  frame: -1, // of a video; -1: its poster
  filter: "with",
  sort: "queue",
  search: "",
  view: "mask",
  tool: "segments",
  level: N_TREE_LEVELS - 1, // of the regions that a click takes; the last is single segments
  modelLevel: 1, // of the model click: 0 part, 1 object, 2 whole
  label: "toggle", // of a click or a stroke: toggle, 1 object, 0 background, -1 undecided
  radius: 12, // of the brush, in pixels of the image
  snap: true, // strokes follow the fine superpixels
  opacity: 0.6,
  order: [],
  selected: new Set(), // images of the overview
};

const watchers = new Map();

export function watch(topic, callback) {
  if (!watchers.has(topic)) watchers.set(topic, []);
  watchers.get(topic).push(callback);
}

export function tell(topic, detail) {
  for (const callback of watchers.get(topic) ?? []) callback(detail);
}

export const labelOf = (state) => (state & 3) - 1;
export const isSelected = (state) => Boolean(state & SELECTED);

// Show a user label before the server has answered.
export function labelHere(index, segments, value) {
  const image = store.images[index];
  if (!image) return;
  const state = image.state.slice();
  for (const segment of segments) {
    const selected = value < 0 ? state[segment] & SELECTED : value ? SELECTED : 0;
    state[segment] = (value + 1) | selected;
  }
  image.state = state;
  tell("images", new Set([index]));
}

// Images accepted on this page, and the action that did it: Infinity until the server has answered.
const accepting = new Map();

// Show an image as accepted until an update includes the action, so that a quick user does not come back to it.
export function acceptHere(index, action = Infinity) {
  accepting.set(index, action);
  store.images[index].accepted = true;
  tell("images", new Set([index]));
}

export const forgetAccepted = (index) => accepting.delete(index);

export function applyUpdate(update) {
  const changed = new Set();
  for (const image of update.images) {
    if (update.action < accepting.get(image.index)) image.accepted = true;
    else accepting.delete(image.index);
    store.images[image.index] = image;
    changed.add(image.index);
  }
  store.version = update.version;
  tell("images", changed);
}

// The same uncertainty and threshold as in the report.
export const isUncertain = (image) => image.isWith && image.uncertainty >= store.run.uncertainFrom;

// Rounded as the report rounds it: 12 %, 1.2 %, 0.3 %.
export function formatShare(share) {
  const percent = 100 * share;
  return `${percent >= 10 || percent === 0 ? percent.toFixed(0) : Number(percent.toPrecision(2))} %`;
}

// "about" until the mask has been drawn as it would be written.
export const formatArea = (image) => `${image.measured ? "" : "about "}${formatShare(image.covered)}`;

// The text beside a thumbnail.
export function describe(image) {
  if (!image.isWith) return `${image.moved ? "moved to without" : "without"}${image.predicted ? " · did not vote" : ""}`;
  const facts = [formatArea(image)];
  if (image.predicted) facts.push("did not vote");
  if (image.moved) facts.unshift("moved");
  if (image.corrected) facts.push("corrected");
  else if (isUncertain(image)) facts.push("uncertain");
  return facts.join(" · ");
}

export const FILTERS = {
  with: { title: "With", test: (image) => image.isWith },
  open: { title: "Not accepted", test: (image) => image.isWith && !image.accepted },
  uncertain: { title: "Uncertain", test: isUncertain },
  changed: { title: "Changed", test: (image) => image.change > 0 },
  corrected: { title: "Corrected", test: (image) => image.moved || image.corrected },
  accepted: { title: "Accepted", test: (image) => image.accepted },
  without: { title: "Without", test: (image) => !image.isWith },
  predicted: { title: "Did not vote", test: (image) => image.predicted },
  all: { title: "All", test: () => true },
};

export const isVideo = () => store.run.images[store.current]?.frames.length > 0;

const nameOf = (image) => store.run.images[image.index].name;

export const SORTS = {
  queue: { title: "Worth a look first", compare: (a, b) => a.accepted - b.accepted || b.priority - a.priority },
  uncertainty: { title: "Uncertainty", compare: (a, b) => b.uncertainty - a.uncertainty },
  area: { title: "Area of the mask", compare: (a, b) => b.covered - a.covered },
  name: { title: "Name", compare: (a, b) => nameOf(a).localeCompare(nameOf(b), undefined, { numeric: true }) },
  changed: { title: "Changed most", compare: (a, b) => b.change - a.change },
};

export function listImages(sort = "queue") {
  const wanted = store.search.toLowerCase();
  const test = FILTERS[store.filter].test;
  return store.images
    .filter((image) => image && test(image) && nameOf(image).toLowerCase().includes(wanted))
    .sort((a, b) => SORTS[sort].compare(a, b) || a.index - b.index)
    .map((image) => image.index);
}

// Progress of the review, of the images with the object that voted.
export function countProgress() {
  const inside = store.images.filter((image) => image?.isWith && !image.predicted);
  const accepted = inside.filter((image) => image.accepted).length;
  const seen = inside.filter((image) => image.accepted || image.corrected).length;
  const uncertain = inside.filter((image) => isUncertain(image) && !image.accepted).length;
  return { total: inside.length, accepted, seen, left: inside.length - accepted, uncertain };
}
