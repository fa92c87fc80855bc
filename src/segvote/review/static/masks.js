// Masks as they would be written, finer than the segments. The server draws them after each action, which takes a moment:
// until then the last one stands, with the user's labels laid over it at once.

import { readMask } from "./api.js";
import { isSelected, labelOf, store, tell } from "./store.js";

const MAX_KEPT = 24;
const kept = new Map(); // index to the mask, the image it was drawn for, and the state of its segments then
let fetching = null;

// Height, width, and one byte per pixel, 1 for object: whole segments where nothing finer has come yet.
export function lookUpMask(index, regions) {
  const { state } = store.images[index];
  // Masks of a video are whole segments, in every frame.
  const { mask: drawn, state: before } = (store.frame < 0 && kept.get(index)) || {};
  if (drawn && before === state) return drawn;
  const { width, height } = drawn ?? regions;
  const pixels = drawn ? drawn.pixels.slice() : new Uint8Array(width * height);
  const columns = Uint32Array.from({ length: width }, (_, x) => Math.floor(((x + 0.5) * regions.width) / width));
  for (let y = 0, i = 0; y < height; y++) {
    const row = Math.floor(((y + 0.5) * regions.height) / height) * regions.width;
    for (let x = 0; x < width; x++, i++) {
      const segment = regions.labels[row + columns[x]], now = state[segment];
      // Labels, and another extent, that came after the mask was drawn.
      if (!drawn || (labelOf(now) >= 0 && before[segment] !== now) || isSelected(now) !== isSelected(before[segment])) pixels[i] = Number(isSelected(now));
    }
  }
  return { width, height, pixels };
}

export const isDrawn = (index) => kept.get(index)?.image === store.images[index];

// Every update makes a new object of an image that changed: a mask drawn for another object is an old one.
export async function fetchMask(index) {
  if (fetching !== null || isDrawn(index)) return;
  fetching = index;
  const image = store.images[index], { state } = image;
  try {
    const mask = await readMask(index);
    kept.delete(index);
    kept.set(index, { mask, image, state });
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
  } catch {
    kept.set(index, { mask: null, image, state }); // whole segments then; the status line shows the error
  }
  fetching = null;
  tell("mask", index);
  if (index !== store.current) tell("mask", store.current); // which had to wait
}
