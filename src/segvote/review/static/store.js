// What the page knows. One object, changed in one place, watched by the views.

export const SELECTED = 4;

export const store = {
  run: null,
  images: [], // per image: scores, heat, state and the figures of the last update
  version: 0,
  status: { action: 0, nUndo: 0, nRedo: 0, votes: "loading" },
  current: -1,
  filter: "with",
  search: "",
  view: "mask",
  level: 2,
  brush: "toggle",
  opacity: 0.6,
  order: [],
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

// What the page shows before the server has answered: the person's word.
export function sayHere(index, segments, value) {
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

export function applyUpdate(update) {
  const changed = new Set();
  for (const image of update.images) {
    store.images[image.index] = image;
    changed.add(image.index);
  }
  store.version = update.version;
  tell("images", changed);
}

// As in the report: the same number, and the same value from which on a mask is called uncertain.
export const isUncertain = (image) => image.isWith && image.uncertainty >= store.run.uncertainFrom;

// Rounded as the report rounds it: 12 %, 1.2 %, 0.3 %.
export function formatShare(share) {
  const percent = 100 * share;
  return `${percent >= 10 || percent === 0 ? percent.toFixed(0) : Number(percent.toPrecision(2))} %`;
}

// "about" until the mask has been drawn as it would be written.
export const formatArea = (image) => `${image.measured ? "" : "about "}${formatShare(image.covered)}`;

const FILTERS = {
  with: { title: "With", test: (image) => image.isWith },
  open: { title: "Not accepted", test: (image) => image.isWith && !image.accepted },
  uncertain: { title: "Uncertain", test: isUncertain },
  changed: { title: "Changed", test: (image) => image.change > 0 },
  corrected: { title: "Corrected", test: (image) => image.moved || image.corrected },
  without: { title: "Without", test: (image) => !image.isWith },
};
export { FILTERS };

export function listQueue() {
  const wanted = store.search.toLowerCase();
  const test = FILTERS[store.filter].test;
  return store.images
    .filter((image) => image && test(image) && store.run.images[image.index].name.toLowerCase().includes(wanted))
    .sort((a, b) => a.accepted - b.accepted || b.priority - a.priority || a.index - b.index)
    .map((image) => image.index);
}
