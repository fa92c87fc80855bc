// Thumbnails with the outline of their masks, for the queue and for the overview; drawn when they come into sight.

import { readPicture, readSmallMask } from "./api.js";
import { colourOf } from "./classes.js";
import { traceMask } from "./regions.js";
import { store, watch } from "./store.js";

const pictures = new Map(); // index to a promise of the picture
const masks = new Map(); // index to the mask and the image it belongs to
const wanted = new Set(); // indices whose mask is to be fetched
const shown = new Map(); // index to the canvases in sight
let fetching = false;

const loadPicture = (index) => {
  if (!pictures.has(index)) pictures.set(index, readPicture(`api/images/${index}/thumb`));
  return pictures.get(index);
};

export function observeThumbs(root) {
  return new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const thumb = target.querySelector("canvas");
      const index = Number(target.dataset.index);
      const all = shown.get(index) ?? new Set();
      if (isIntersecting) all.add(thumb); else all.delete(thumb);
      shown.set(index, all);
      if (isIntersecting) refreshThumb(index);
    }
  }, { root, rootMargin: "300px" });
}

function refreshThumb(index) {
  if (!shown.get(index)?.size) return;
  drawThumb(index);
  if (masks.get(index)?.image !== store.images[index]) { wanted.add(index); fetchMasks(); }
}

// One after the other: the mask of the image in the middle must not wait for all of these.
async function fetchMasks() {
  if (fetching) return;
  fetching = true;
  while (wanted.size) {
    const [index] = wanted;
    wanted.delete(index);
    const image = store.images[index];
    if (!shown.get(index)?.size || masks.get(index)?.image === image) continue;
    try { masks.set(index, { mask: await readSmallMask(index), image }); } catch { masks.set(index, { mask: null, image }); }
    drawThumb(index);
    if (store.images[index] !== image) wanted.add(index);
  }
  fetching = false;
}

async function drawThumb(index) {
  let picture;
  try { picture = await loadPicture(index); } catch {
    shown.get(index)?.forEach((canvas) => canvas.classList.add("broken"));
    return;
  }
  for (const canvas of shown.get(index) ?? []) paint(canvas, picture, masks.get(index)?.mask);
}

function paint(canvas, picture, mask) {
  canvas.width = picture.naturalWidth;
  canvas.height = picture.naturalHeight;
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  if (!mask) return;
  context.save();
  context.scale(canvas.width / mask.width, canvas.height / mask.height);
  const shade = new OffscreenCanvas(mask.width, mask.height);
  const pixels = new ImageData(mask.width, mask.height);
  const words = new Uint32Array(pixels.data.buffer);
  for (let i = 0; i < words.length; i++) words[i] = mask.pixels[i] ? 0 : 0x731c1210; // ABGR
  shade.getContext("2d").putImageData(pixels, 0, 0);
  context.drawImage(shade, 0, 0);
  const path = traceMask(mask);
  context.lineWidth = 3.5;
  context.strokeStyle = "rgb(0 0 0 / .5)";
  context.stroke(path);
  context.lineWidth = 1.8;
  context.strokeStyle = colourOf(store.run.classNumber);
  context.stroke(path);
  context.restore();
}

watch("images", (changed) => changed.forEach(refreshThumb));
