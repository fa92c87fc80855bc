// Masks as the export draws them, finer than the segments. The server draws them after each vote, which takes a moment:
// until then the last one stands, with the person's word laid over it at once.

import { readMask } from "./api.js";
import { isSelected, saidOf, store, tell } from "./store.js";

const MAX_KEPT = 24;
const kept = new Map(); // index to the pixels and the image they were drawn for
let fetching = null;

// One byte per pixel, 1 for object: whole segments where nothing finer has come yet.
export function lookUpMask(index, { labels }) {
  const { state } = store.images[index];
  const drawn = kept.get(index)?.pixels;
  const pixels = new Uint8Array(labels.length);
  for (let i = 0; i < pixels.length; i++) {
    const one = state[labels[i]];
    pixels[i] = saidOf(one) >= 0 || !drawn ? Number(isSelected(one)) : drawn[i];
  }
  return pixels;
}

export const isDrawn = (index) => kept.get(index)?.image === store.images[index];

// Every update makes a new object of an image that changed: a mask drawn for another object is an old one.
export async function fetchMask(index) {
  if (fetching !== null || isDrawn(index)) return;
  fetching = index;
  const image = store.images[index];
  try {
    const pixels = await readMask(index);
    kept.delete(index);
    kept.set(index, { pixels, image });
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
  } catch {
    kept.set(index, { pixels: null, image }); // whole segments then; the status line says what is wrong
  }
  fetching = null;
  tell("mask", index);
  if (index !== store.current) tell("mask", store.current); // which had to wait
}
