// The image: drawing, zoom and pan, the region under the pointer.

import { colourOf, getOthers } from "./classes.js";
import { fetchMask, isDrawn, lookUpMask } from "./masks.js";
import { getAnswer } from "./model.js";
import { listOutlines } from "./objects.js";
import { paintOverlay } from "./paint.js";
import { Regions, traceMask } from "./regions.js";
import { nameSource, readMap, readPicture } from "./api.js";
import { isSelected, labelOf, store, tell, watch } from "./store.js";

export const canvas = document.getElementById("canvas");
const frame = document.getElementById("frame");
const tip = document.getElementById("tip");
const notice = document.getElementById("notice");
const context = canvas.getContext("2d");
const overlay = document.createElement("canvas");

const COLOURS = { 1: "#2ee6a6", 0: "#ff5fa8", [-1]: "#ffffff" };
const MAX_ZOOM = 60;
const NUMBER_RADIUS = 9; // of an object, in CSS pixels

let regions = null, picture = null, outline = null, marks = null;
let zoom = 1, panX = 0, panY = 0; // in map pixels to CSS pixels
let hovered = -1, byKeyboard = false, drawn = false;
let cursor = null; // where a painting tool is, in pixels of the image
const strokes = []; // being drawn, or waiting for the mask that has them
const remembered = new Map();

export const getHovered = () => hovered;
export const getRegions = () => regions;
export const getView = () => ({ zoom, panX, panY });
export const countStrokes = () => strokes.length;

// Pixels of the image per pixel of the map.
const scale = () => {
  const { width, height } = store.run.images[store.current];
  return [width / regions.width, height / regions.height];
};

// Middle of a segment, in pixels of the canvas.
export function toScreen(segment) {
  const [x, y] = regions.anchor([segment]);
  return [panX + zoom * (x + 0.5), panY + zoom * (y + 0.5)];
}

// From pixels of the image to those of the canvas, and back.
export function imageToScreen(x, y) {
  const [sx, sy] = scale();
  return [panX + (zoom * x) / sx, panY + (zoom * y) / sy];
}

export function screenToImage(x, y) {
  const [sx, sy] = scale();
  return [((x - panX) / zoom) * sx, ((y - panY) / zoom) * sy];
}

export const segmentAt = (x, y) => (regions ? regions.segmentAt((x - panX) / zoom, (y - panY) / zoom) : -1);

// The label of a drawn stroke: object, unless another one is chosen.
export const chooseDrawn = () => (store.label === "toggle" ? 1 : Number(store.label));

// Whether the mask shown covers a place of the image.
export function isMaskAt(x, y) {
  const [sx, sy] = scale();
  const mask = lookUpMask(store.current, regions);
  const column = Math.floor((x / sx / regions.width) * mask.width), row = Math.floor((y / sy / regions.height) * mask.height);
  return column >= 0 && row >= 0 && column < mask.width && row < mask.height && mask.pixels[row * mask.width + column] === 1;
}

// The label of a click at a place of the image.
export const chooseAt = (x, y) => (store.label === "toggle" ? (isMaskAt(x, y) ? 0 : 1) : Number(store.label));

async function load(index, frame = -1) {
  const key = `${index} ${frame}`;
  if (!remembered.has(key)) {
    const both = Promise.all([readPicture(`${nameSource(index, frame)}/picture`), readMap(index, frame).then((map) => new Regions(map))]);
    both.catch(() => remembered.delete(key));
    remembered.set(key, both);
    if (remembered.size > 12) remembered.delete(remembered.keys().next().value);
  }
  return remembered.get(key);
}

export const preload = (index) => { load(index).catch(() => {}); };

// A frame of a video stays as it is zoomed; a new image is fitted.
export async function show(index, frame = -1, fits = true) {
  hovered = -1; cursor = null; strokes.length = 0; tip.hidden = true;
  // Until the new map is here nothing can be clicked: a segment of the old one would be taken for one of the new image.
  picture = regions = null;
  draw();
  try {
    const [newPicture, newRegions] = await load(index, frame);
    if (store.current !== index || store.frame !== frame) return;
    [picture, regions] = [newPicture, newRegions];
    notice.hidden = true;
  } catch (error) {
    if (store.current !== index || store.frame !== frame) return;
    [picture, regions] = [null, null];
    notice.textContent = error.message;
    notice.hidden = false;
  }
  if (fits) fit();
  refresh();
}

function refresh() {
  outline = marks = null;
  const image = store.images[store.current];
  if (regions && image) {
    const mask = lookUpMask(store.current, regions);
    paintOverlay(overlay, regions, image, mask, store.view, store.opacity);
    outline = { path: traceMask(mask), scale: regions.width / mask.width };
    marks = traceLabels(image);
    canvas.dataset.drawn = isDrawn(store.current) ? "yes" : "no";
    if (isDrawn(store.current)) dropSaved();
    if (store.view !== "heat" && store.frame < 0) fetchMask(store.current);
  }
  draw();
}

// Outlines of user labels, of object and of background.
function traceLabels(image) {
  return [1, 0].map((value) => {
    const flags = image.state.map((state) => (labelOf(state) === value ? 1 : 0));
    const segments = [...flags.keys()].filter((s) => flags[s] && regions.isVisible(s));
    // Where nearly everything has a label, as after an import, outlines and signs would hide the image.
    const shown = segments.length <= 80 ? segments.map((s) => regions.anchor([s])) : [];
    return segments.length ? { path: regions.drawOutline(flags, segments), at: shown } : null;
  });
}

// Zoom and pan.

export function fit() {
  resize();
  const [width, height] = [frame.clientWidth - 24, frame.clientHeight - 24];
  if (!regions || width <= 0 || height <= 0) return; // behind the overview there is no room to fit into
  zoom = Math.min(width / regions.width, height / regions.height);
  panX = (frame.clientWidth - zoom * regions.width) / 2;
  panY = (frame.clientHeight - zoom * regions.height) / 2;
  draw();
}

export function zoomBy(factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
  const wanted = Math.min(MAX_ZOOM, Math.max(0.2, zoom * factor));
  panX = x - ((x - panX) * wanted) / zoom;
  panY = y - ((y - panY) * wanted) / zoom;
  zoom = wanted;
  draw();
}

// Bring a box of the image to the middle, with its surroundings.
function zoomTo({ left, top, width, height }) {
  if (!regions) return;
  const [sx, sy] = scale();
  const wanted = 0.6 * Math.min((frame.clientWidth * sx) / width, (frame.clientHeight * sy) / height);
  zoom = Math.min(MAX_ZOOM, Math.max(0.2, wanted));
  panX = frame.clientWidth / 2 - (zoom * (left + width / 2)) / sx;
  panY = frame.clientHeight / 2 - (zoom * (top + height / 2)) / sy;
  frame.scrollIntoView({ block: "nearest" }); // on a phone the list is below the image
  draw();
}

export function panBy(dx, dy) { panX += dx; panY += dy; draw(); }

function resize() {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(frame.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(frame.clientHeight * ratio));
}

// Strokes: {tool, points in pixels of the image, radius, value, saved}.

export function addStroke(stroke) { strokes.push(stroke); draw(); }
export function removeStroke(stroke) {
  const at = strokes.indexOf(stroke);
  if (at >= 0) strokes.splice(at, 1);
  draw();
}
function dropSaved() {
  for (const stroke of strokes.filter((one) => one.saved)) removeStroke(stroke);
}

export function setCursor(x, y) {
  cursor = x === null ? null : { x, y };
  draw();
}

// Drawing.

export function draw() {
  if (drawn) return;
  drawn = true;
  requestAnimationFrame(() => { drawn = false; drawNow(); });
}

function drawNow() {
  const ratio = devicePixelRatio || 1;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (!regions) return;
  context.setTransform(zoom * ratio, 0, 0, zoom * ratio, panX * ratio, panY * ratio);
  context.imageSmoothingEnabled = zoom < 8; // from there on single pixels are shown
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, regions.width, regions.height);
  context.imageSmoothingEnabled = false;
  if (store.view !== "outline") context.drawImage(overlay, 0, 0, regions.width, regions.height);
  drawLines();
  drawObjects();
  for (const stroke of strokes) drawStroke(stroke);
  if (store.tool === "segments") drawHover(); else drawCursor();
  drawAnswer();
}

function line(path, colour, width) {
  context.lineWidth = width / zoom;
  context.strokeStyle = colour;
  context.stroke(path);
}

function drawLines() {
  context.lineCap = "square";
  if (store.view === "outline") line(regions.drawLevel(store.level), `rgb(255 255 255 / ${0.15 + 0.6 * store.opacity})`, 0.8);
  if (outline && store.view !== "heat") drawOutline();
  if (store.tool === "segments") marks?.forEach((mark, k) => {
    if (!mark) return;
    const colour = COLOURS[1 - k];
    line(mark.path, "rgb(0 0 0 / .6)", 3.6);
    context.lineCap = "butt";
    context.setLineDash([6 / zoom, 4 / zoom]);
    line(mark.path, colour, 2);
    context.setLineDash([]);
    mark.at.forEach(([x, y]) => drawGlyph(x + 0.5, y + 0.5, k === 0 ? "+" : "−", colour));
  });
}

// The mask may be finer than the label map: its outline has a scale of its own.
function drawOutline() {
  context.save();
  context.scale(outline.scale, outline.scale);
  line(outline.path, "rgb(0 0 0 / .55)", 3.5 / outline.scale);
  line(outline.path, colourOf(store.run.classNumber), 1.8 / outline.scale);
  context.restore();
  for (const { path, width, colour } of getOthers()) {
    context.save();
    context.scale(regions.width / width, regions.width / width);
    line(path, colour, (1.2 * width) / regions.width);
    context.restore();
  }
}

// Single objects, where their list is open: outlines in colours of their own, numbers inside.
function drawObjects() {
  const found = listOutlines();
  if (!found) return;
  const ratio = regions.width / found.width;
  context.save();
  context.scale(ratio, ratio);
  for (const { path, colour, isMarked } of found.outlines) {
    line(path, "rgb(0 0 0 / .6)", (isMarked ? 6 : 3.6) / ratio);
    line(path, colour, (isMarked ? 3.6 : 1.8) / ratio);
  }
  context.restore();
  if (found.isNumbered) for (const outline of found.outlines) drawGlyph(...placeNumber(outline), String(outline.number), outline.colour, NUMBER_RADIUS);
}

// Deep inside an object; beside one that the number would hide; on the picture as a whole.
function placeNumber({ x, y, left, top, width, height }) {
  const [sx, sy] = scale();
  const isSmall = zoom * Math.min(width / sx, height / sy) < 30;
  const at = isSmall ? [(left + width) / sx + 8 / zoom, top / sy - 8 / zoom] : [(x + 0.5) / sx, (y + 0.5) / sy];
  const margin = NUMBER_RADIUS / zoom;
  return [regions.width, regions.height].map((side, axis) => Math.max(margin, Math.min(side - margin, at[axis])));
}

function drawGlyph(x, y, text, colour, radius = 7) {
  context.beginPath();
  context.arc(x, y, radius / zoom, 0, 7);
  context.fillStyle = "rgb(10 12 28 / .8)";
  context.fill();
  context.fillStyle = colour;
  context.font = `600 ${12 / zoom}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, x, y + 0.5 / zoom);
}

function drawStroke(stroke) {
  const [sx, sy] = scale();
  context.save();
  context.strokeStyle = context.fillStyle = COLOURS[stroke.value];
  context.lineCap = context.lineJoin = "round";
  if (stroke.segments) {
    const flags = new Uint8Array(regions.n);
    stroke.segments.forEach((s) => { flags[s] = 1; });
    line(regions.drawOutline(flags, [...stroke.segments]), COLOURS[stroke.value], 2.5);
  } else {
    const path = new Path2D();
    stroke.points.forEach(([x, y], k) => (k ? path.lineTo(x / sx, y / sy) : path.moveTo(x / sx, y / sy)));
    if (stroke.tool === "polygon") drawPolygon(path, stroke);
    else if (stroke.tool === "model") drawBox(stroke);
    else {
      if (stroke.points.length === 1) path.lineTo(stroke.points[0][0] / sx + 1e-3, stroke.points[0][1] / sy);
      if (stroke.tool === "cut") drawCut(path);
      else {
        context.globalAlpha = 0.5;
        context.lineWidth = (2 * stroke.radius) / sx;
        context.stroke(path);
      }
    }
  }
  context.restore();
}

function drawBox({ points, value }) {
  const [sx, sy] = scale();
  const path = new Path2D(), [[x0, y0], [x1, y1]] = [points[0], points.at(-1)];
  path.rect(Math.min(x0, x1) / sx, Math.min(y0, y1) / sy, Math.abs(x1 - x0) / sx, Math.abs(y1 - y0) / sy);
  line(path, "rgb(0 0 0 / .6)", 3.4);
  context.setLineDash([7 / zoom, 4 / zoom]);
  line(path, COLOURS[value], 1.6);
}

function drawCut(path) {
  line(path, "rgb(0 0 0 / .7)", 4.5);
  context.setLineDash([7 / zoom, 4 / zoom]);
  line(path, "#fff", 2);
}

function drawPolygon(path, stroke) {
  const [sx, sy] = scale();
  context.globalAlpha = 0.25;
  context.fill(path);
  context.globalAlpha = 1;
  if (stroke.saved || stroke.outline) path.closePath();
  else if (cursor && stroke.clicked && !stroke.grabbed) path.lineTo(cursor.x / sx, cursor.y / sy);
  line(path, "rgb(0 0 0 / .6)", 3.6);
  line(path, COLOURS[stroke.value], 2);
  if (!stroke.clicked) return;
  stroke.points.forEach(([x, y], k) => {
    context.beginPath();
    context.arc(x / sx, y / sy, (k === stroke.at ? 6 : k ? 4 : 5) / zoom, 0, 7);
    context.fill();
  });
}

function drawHover() {
  if (hovered < 0) return;
  const segments = regions.listRegion(hovered, store.level);
  const flags = new Uint8Array(regions.n);
  segments.forEach((s) => { flags[s] = 1; });
  const path = regions.drawOutline(flags, segments);
  line(path, "rgb(0 0 0 / .65)", 4);
  line(path, "#fff", byKeyboard ? 2.4 : 1.6);
}

// What the model click would take, in the colour of the label it would get.
function drawAnswer() {
  const found = getAnswer();
  if (!found) return;
  const value = found.points.length > 2 ? chooseDrawn() : chooseAt(found.points[0] + 0.5, found.points[1] + 0.5);
  const ratio = regions.width / found.mask.width;
  context.save();
  context.scale(ratio, ratio);
  line(found.path, "rgb(0 0 0 / .7)", 4.4 / ratio);
  line(found.path, COLOURS[value], 2.4 / ratio);
  context.restore();
}

// The brush as a ring of its size.
function drawCursor() {
  if (!cursor || !["brush", "eraser"].includes(store.tool)) return;
  const [sx, sy] = scale();
  const [x, y] = [cursor.x / sx, cursor.y / sy];
  const path = new Path2D();
  path.arc(x, y, Math.max(store.radius / sx, 2 / zoom), 0, 7);
  line(path, "rgb(0 0 0 / .65)", 3.4);
  line(path, "#fff", 1.5);
}

// The region under the pointer.

export function setHovered(segment, keyboard = false) {
  if (segment === hovered && keyboard === byKeyboard) return;
  hovered = segment;
  byKeyboard = keyboard;
  draw();
  if (keyboard && segment >= 0) {
    const [x, y] = regions.anchor(regions.listRegion(segment, store.level));
    placeTip(panX + zoom * (x + 0.5), panY + zoom * (y + 0.5));
  } else if (segment < 0) tip.hidden = true;
  tell("hover", segment);
}

export function placeTip(x, y) {
  if (!describeHovered()) return;
  const left = Math.min(x + 16, frame.clientWidth - tip.offsetWidth - 8);
  const top = y + 20 + tip.offsetHeight > frame.clientHeight ? y - tip.offsetHeight - 12 : y + 20;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

function describeHovered() {
  const image = store.images[store.current];
  tip.hidden = !image || hovered < 0 || store.tool !== "segments";
  if (tip.hidden) return false;
  const segments = regions.listRegion(hovered, store.level);
  const mean = segments.reduce((sum, s) => sum + image.scores[s], 0) / segments.length;
  const label = labelOf(image.state[hovered]);
  const what = label >= 0 ? `${label ? "object" : "background"}, your label` : isSelected(image.state[hovered]) ? "object" : "background";
  const name = segments.length > 1 ? `${segments.length} segments` : `segment ${hovered}`;
  tip.replaceChildren();
  const strong = document.createElement("strong");
  strong.textContent = formatScore(mean);
  tip.append(strong, ` ${what} · ${name}`);
  return true;
}

export const formatScore = (score) => `${score <= -0.0005 ? "−" : "+"}${Math.abs(score).toFixed(3)}`;

new ResizeObserver(() => { tip.hidden = true; fit(); }).observe(frame);
watch("objects", draw);
watch("model", draw);
watch("undo", dropSaved); // at once: the mask without it may take a moment
watch("zoom-to", zoomTo);
watch("mask", (index) => { if (index === store.current) refresh(); });
watch("images", (changed) => {
  if (!changed.has(store.current)) return;
  refresh();
  if (!tip.hidden) describeHovered();
});
watch("look", () => { refresh(); if (!tip.hidden) describeHovered(); });
