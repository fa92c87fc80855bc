// The image under the pointer: drawing, zoom, pan, hover, click and paint, and the keyboard's cursor.

import { fetchMask, isDrawn, lookUpMask } from "./masks.js";
import { paintOverlay } from "./paint.js";
import { Regions, traceMask } from "./regions.js";
import { readMap, readPicture } from "./api.js";
import { isSelected, labelOf, store, tell, watch } from "./store.js";

const canvas = document.getElementById("canvas");
const frame = document.getElementById("frame");
const tip = document.getElementById("tip");
const notice = document.getElementById("notice");
const context = canvas.getContext("2d");
const overlay = document.createElement("canvas");

let regions = null, picture = null, outline = null, marks = null;
let zoom = 1, panX = 0, panY = 0; // in map pixels to CSS pixels
let hovered = -1, byKeyboard = false, stroke = null, dragging = null, drawn = false;
const remembered = new Map();

export const getHovered = () => hovered;
export const getRegions = () => regions;

// Middle of a segment, in pixels of the canvas.
export function toScreen(segment) {
  const [x, y] = regions.anchor([segment]);
  return [panX + zoom * (x + 0.5), panY + zoom * (y + 0.5)];
}

async function load(index) {
  if (!remembered.has(index)) {
    const both = Promise.all([readPicture(`api/images/${index}/picture`), readMap(index).then((map) => new Regions(map))]);
    both.catch(() => remembered.delete(index));
    remembered.set(index, both);
    if (remembered.size > 12) remembered.delete(remembered.keys().next().value);
  }
  return remembered.get(index);
}

export const preload = (index) => { load(index).catch(() => {}); };

export async function show(index) {
  hovered = -1; stroke = null; dragging = null; tip.hidden = true;
  // Until the new map is here nothing can be clicked: a segment of the old one would be said of the new image.
  picture = regions = null;
  draw();
  try {
    const [newPicture, newRegions] = await load(index);
    if (store.current !== index) return;
    [picture, regions] = [newPicture, newRegions];
    notice.hidden = true;
  } catch (error) {
    if (store.current !== index) return;
    [picture, regions] = [null, null];
    notice.textContent = error.message;
    notice.hidden = false;
  }
  fit();
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
    if (store.view !== "heat") fetchMask(store.current);
  }
  draw();
}

// Outlines of what a person said: where it is object, where background.
function traceLabels(image) {
  return [1, 0].map((value) => {
    const flags = image.state.map((state) => (labelOf(state) === value ? 1 : 0));
    const segments = [...flags.keys()].filter((s) => flags[s] && regions.isVisible(s));
    return segments.length ? { path: regions.drawOutline(flags, segments), at: groupAnchors(segments) } : null;
  });
}

function groupAnchors(segments) {
  return segments.slice(0, 80).map((s) => regions.anchor([s]));
}

export function fit() {
  resize();
  if (!regions) return;
  const [width, height] = [frame.clientWidth - 24, frame.clientHeight - 24];
  zoom = Math.min(width / regions.width, height / regions.height);
  panX = (frame.clientWidth - zoom * regions.width) / 2;
  panY = (frame.clientHeight - zoom * regions.height) / 2;
  draw();
}

export function zoomBy(factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) {
  const wanted = Math.min(40, Math.max(0.2, zoom * factor));
  panX = x - ((x - panX) * wanted) / zoom;
  panY = y - ((y - panY) * wanted) / zoom;
  zoom = wanted;
  draw();
}

export function panBy(dx, dy) { panX += dx; panY += dy; draw(); }

function resize() {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(frame.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(frame.clientHeight * ratio));
}

function draw() {
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
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, regions.width, regions.height);
  context.imageSmoothingEnabled = false;
  if (store.view !== "outline") context.drawImage(overlay, 0, 0, regions.width, regions.height);
  drawLines();
  drawStroke();
  drawHover();
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
  const colours = ["#2ee6a6", "#ff5fa8"];
  marks?.forEach((mark, k) => {
    if (!mark) return;
    line(mark.path, "rgb(0 0 0 / .6)", 3.6);
    context.lineCap = "butt";
    context.setLineDash([6 / zoom, 4 / zoom]);
    line(mark.path, colours[k], 2);
    context.setLineDash([]);
    mark.at.forEach(([x, y]) => drawGlyph(x + 0.5, y + 0.5, k === 0 ? "+" : "−", colours[k]));
  });
}

// The mask may be finer than the label map: its outline has a scale of its own.
function drawOutline() {
  context.save();
  context.scale(outline.scale, outline.scale);
  line(outline.path, "rgb(0 0 0 / .55)", 3.5 / outline.scale);
  line(outline.path, "#ffd84a", 1.8 / outline.scale);
  context.restore();
}

function drawGlyph(x, y, text, colour) {
  context.beginPath();
  context.arc(x, y, 7 / zoom, 0, 7);
  context.fillStyle = "rgb(10 12 28 / .8)";
  context.fill();
  context.fillStyle = colour;
  context.font = `600 ${12 / zoom}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, x, y + 0.5 / zoom);
}

function drawStroke() {
  if (!stroke) return;
  const flags = new Uint8Array(regions.n);
  stroke.segments.forEach((s) => { flags[s] = 1; });
  line(regions.drawOutline(flags, [...stroke.segments]), stroke.value === 1 ? "#2ee6a6" : stroke.value === 0 ? "#ff5fa8" : "#fff", 2.5);
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

function placeTip(x, y) {
  if (!describeHovered()) return;
  const left = Math.min(x + 16, frame.clientWidth - tip.offsetWidth - 8);
  const top = y + 20 + tip.offsetHeight > frame.clientHeight ? y - tip.offsetHeight - 12 : y + 20;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

function describeHovered() {
  const image = store.images[store.current];
  tip.hidden = !image || hovered < 0;
  if (tip.hidden) return false;
  const segments = regions.listRegion(hovered, store.level);
  const mean = segments.reduce((sum, s) => sum + image.scores[s], 0) / segments.length;
  const said = labelOf(image.state[hovered]);
  const what = said >= 0 ? `${said ? "object" : "background"}, you said` : isSelected(image.state[hovered]) ? "object" : "background";
  const name = segments.length > 1 ? `${segments.length} segments` : `segment ${hovered}`;
  tip.replaceChildren();
  const strong = document.createElement("strong");
  strong.textContent = formatScore(mean);
  tip.append(strong, ` ${what} · ${name}`);
  return true;
}

export const formatScore = (score) => `${score <= -0.0005 ? "−" : "+"}${Math.abs(score).toFixed(3)}`;

const toMap = (event) => {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  return { x, y, segment: regions ? regions.segmentAt((x - panX) / zoom, (y - panY) / zoom) : -1 };
};

export function chooseValue(segment) {
  if (store.brush !== "toggle") return Number(store.brush);
  return isSelected(store.images[store.current].state[segment]) ? 0 : 1;
}

function extendStroke(segment) {
  if (segment < 0) return;
  regions.listRegion(segment, store.level).forEach((s) => stroke.segments.add(s));
  draw();
}

canvas.addEventListener("pointerdown", (event) => {
  if (!regions) return;
  canvas.setPointerCapture(event.pointerId);
  const { x, y, segment } = toMap(event);
  if (event.button !== 0 || event.shiftKey || segment < 0) {
    dragging = { x, y };
    canvas.classList.add("panning");
    return;
  }
  stroke = { segments: new Set(), value: chooseValue(segment), first: segment };
  extendStroke(segment);
});

canvas.addEventListener("pointermove", (event) => {
  if (!regions) return;
  const { x, y, segment } = toMap(event);
  if (dragging) { panBy(x - dragging.x, y - dragging.y); dragging = { x, y }; return; }
  setHovered(segment);
  placeTip(x, y);
  if (stroke) extendStroke(segment);
});

canvas.addEventListener("pointerup", () => {
  canvas.classList.remove("panning");
  dragging = null;
  if (!stroke) return;
  const { segments, value, first } = stroke;
  stroke = null;
  tell("say", { segments: [...segments], value, segment: first });
});

canvas.addEventListener("pointercancel", () => { stroke = dragging = null; draw(); });
canvas.addEventListener("pointerleave", () => { if (!byKeyboard) setHovered(-1); });
canvas.addEventListener("contextmenu", (event) => event.preventDefault());

let turned = 0;
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { x, y } = toMap(event);
  if (event.ctrlKey || event.metaKey) { zoomBy(Math.exp(-event.deltaY / 300), x, y); return; }
  turned += event.deltaY;
  // A touchpad sends many small turns: one level per notch of a wheel.
  if (Math.abs(turned) < 50) return;
  tell("level", Math.min(2, Math.max(0, store.level + (turned < 0 ? 1 : -1))));
  turned = 0;
}, { passive: false });

new ResizeObserver(() => { tip.hidden = true; fit(); }).observe(frame);
watch("mask", (index) => { if (index === store.current) refresh(); });
watch("images", (changed) => {
  if (!changed.has(store.current)) return;
  refresh();
  if (!tip.hidden) describeHovered();
});
watch("look", () => { refresh(); if (!tip.hidden) describeHovered(); });
