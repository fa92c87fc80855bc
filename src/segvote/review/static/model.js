// The model click: part, object or whole at the pointer. The server has the network; the page asks and draws.

import { decodeMask, getBytes, getJson } from "./api.js";
import { traceMask } from "./regions.js";
import { isVideo, store, tell, watch } from "./store.js";

export const LEVELS = ["part", "object", "whole"];

const ready = new Set(); // images whose embedding is in the run folder
let answer = null; // { image, points, masks, paths } of the last place
let wanted = null, isAsking = false; // the next place; one question at a time
let preparing = -1;

const isOn = () => store.tool === "model" && !isVideo();

// The mask of the chosen level at the pointer, its outline, and the points that were asked for.
export function getAnswer() {
  if (!isOn() || answer?.image !== store.current || !answer.masks.length) return null;
  const mask = answer.masks[store.modelLevel];
  answer.paths[store.modelLevel] ??= traceMask(mask);
  return { path: answer.paths[store.modelLevel], mask, points: answer.points };
}

// Ask for a place, [x, y] of a pixel, or a box, [left, top, right, bottom], in whole pixels of the image.
export function lookAt(points) {
  if (!isOn() || String(points) === String((wanted ?? answer)?.points)) return;
  wanted = { image: store.current, points };
  askNext();
}

export function lookAway() {
  wanted = answer = null;
  tell("model");
}

async function askNext() {
  if (isAsking) return;
  isAsking = true;
  while (wanted) {
    const { image, points } = wanted;
    wanted = null;
    const masks = await readLevels(image, points).catch(() => []); // nothing there: no outline
    if (image === store.current) answer = { image, points, masks, paths: [] };
    tell("model");
  }
  isAsking = false;
}

// Three masks, one after the other.
async function readLevels(image, points) {
  const bytes = await getBytes(`api/images/${image}/model/${points.join("/")}`);
  const size = bytes.byteLength / LEVELS.length;
  return LEVELS.map((_, k) => decodeMask(bytes.slice(k * size, (k + 1) * size)));
}

// The encoder runs once per image: for the one shown, then for the next of the queue.
export async function prepareModel() {
  if (preparing >= 0 || !isOn()) return;
  const next = store.order[store.order.indexOf(store.current) + 1];
  const image = [store.current, next].find((one) => one >= 0 && !ready.has(one) && !store.run.images[one].frames.length);
  if (image === undefined) return;
  preparing = image;
  tell("model-ready");
  try { await getJson(`api/images/${image}/model`); } catch (error) { tell("model-failed", error.message); }
  ready.add(image); // after an error, too: the next click tells it again
  preparing = -1;
  tell("model-ready");
  prepareModel();
}

// Whether the network still reads the image shown.
export const isReading = () => isOn() && !ready.has(store.current);

watch("tool", lookAway);
watch("current", lookAway);
