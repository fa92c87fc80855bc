// Pointer, wheel and touch on the image: labels of regions, brush, eraser, polygon, fill and cut; zoom and pan.

import { addStroke, canvas, chooseAt, chooseDrawn, draw, getRegions, imageToScreen, isMaskAt, panBy, placeTip, removeStroke, screenToImage, segmentAt, setCursor, setHovered, zoomBy } from "./canvas.js";
import { LEVELS, lookAt, lookAway } from "./model.js";
import { isSelected, N_TREE_LEVELS, store, tell, watch } from "./store.js";

export const TOOLS = ["segments", "smart", "model", "brush", "eraser", "polygon", "fill", "cut"];
const PLACES = ["smart", "fill"]; // tools that need one place
const MAX_POINTS = 8000;
const NEAR = 10; // CSS pixels from a corner or an edge of a lasso in which the pointer takes it
const SMALL = 6; // CSS pixels below which a drag is a click
const MOVED = 3; // CSS pixels from which on a click is a drag

let stroke = null; // being drawn
let panning = null, pinching = false, space = false, exact = false;
const fingers = new Map();

const toCanvas = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

// The label of a stroke: background for the eraser, else the chosen one; "toggle" of a drawn stroke is object.
function chooseValue(segment = -1) {
  if (store.tool === "eraser") return 0;
  if (store.label !== "toggle" || store.tool !== "segments") return chooseDrawn();
  return isSelected(store.images[store.current].state[segment]) ? 0 : 1;
}

// The eraser is a brush with the label background.
const nameStroke = () => (store.tool === "eraser" ? "brush" : store.tool);

function begin(x, y, segment) {
  const point = screenToImage(x, y);
  if (store.tool === "segments") {
    if (segment < 0) return;
    stroke = { segments: new Set(), value: chooseValue(segment), first: segment };
  } else if (PLACES.includes(store.tool)) {
    stroke = { place: point }; // when the pointer is lifted: a second finger may still come
    return;
  } else stroke = { tool: nameStroke(), points: [point], radius: store.radius, value: chooseValue() };
  addStroke(stroke);
  if (stroke.segments) extend(x, y, segment);
}

function extend(x, y, segment) {
  if (stroke.place) return;
  if (stroke.tool === "model") {
    stroke.points[1] = screenToImage(x, y);
    if (extent(stroke) >= SMALL) lookAt(fitBox(stroke.points));
  } else if (stroke.segments) {
    if (segment >= 0) getRegions().listRegion(segment, store.level).forEach((s) => stroke.segments.add(s));
  } else if (!stroke.clicked && stroke.points.length < MAX_POINTS) {
    const point = screenToImage(x, y), last = stroke.points.at(-1);
    if (Math.hypot(point[0] - last[0], point[1] - last[1]) > 0.3) stroke.points.push(point);
  }
  draw();
}

function finish() {
  const done = stroke;
  stroke = null;
  if (!done) return;
  if (done.place) { takeAt(...done.place); return; }
  if (done.tool === "model") { takeModel(done); return; }
  if (done.segments) {
    removeStroke(done);
    tell("label", { segments: [...done.segments], value: done.value, segment: done.first });
    return;
  }
  done.saved = true;
  if (done.tool === "cut") tell("cut", { points: done.points, stroke: done });
  else if (done.outline) tell("paint", { name: "reshape", outline: done.outline.flat(), points: done.points, stroke: done });
  else tell("paint", { tool: done.tool, points: done.points, radius: done.radius, value: done.value, snap: store.snap !== exact, stroke: done });
}

function cancel() {
  if (stroke) removeStroke(stroke);
  stroke = null;
}

function takeAt(x, y) {
  tell("paint", { tool: store.tool, points: [[x, y]], radius: 1, value: chooseAt(x, y), snap: false });
}

// Part, object or whole at a place, or in a box.
function takeModel(done) {
  removeStroke(done);
  if (extent(done) >= SMALL) { tell("take", { points: fitBox(done.points), value: done.value }); return; }
  const [x, y] = fitPlace(done.points[0]).map((one) => one + 0.5);
  tell("take", { points: [x, y], value: chooseAt(x, y) });
}

const getSize = () => { const { width, height } = store.run.images[store.current]; return [width, height]; };

// The pixel at a place, and the whole pixels of a box, inside the image.
const fitPlace = (place) => place.map((one, axis) => Math.max(0, Math.min(getSize()[axis] - 1, Math.floor(one))));

function fitBox(points) {
  const sides = [0, 1].map((axis) => points.map((point) => Math.max(0, Math.min(getSize()[axis], Math.round(point[axis])))));
  return [...sides.map((side) => Math.min(...side)), ...sides.map((side) => Math.max(...side))];
}

// A polygon is drawn in one go, or corner by corner: a click on the first corner, or a double click, closes it. Until
// then corners can be dragged; `at` is the last one touched. Edges of an outline can be dragged, too.
function grabCorner(x, y) {
  const { points, outline } = stroke;
  let at = findNearest(points, points, x, y);
  const isEdge = at < 0 && Boolean(outline);
  if (isEdge) at = findNearest(points, [...points.slice(1), points[0]], x, y);
  if (at >= 0) Object.assign(stroke, { at: isEdge ? at + 1 : at, grabbed: { x, y, isEdge, isMoved: false } });
  draw();
}

function dragCorner(x, y) {
  const { at, grabbed, points } = stroke;
  if (!grabbed.isMoved && Math.hypot(x - grabbed.x, y - grabbed.y) <= MOVED) return;
  points.splice(at, grabbed.isEdge && !grabbed.isMoved ? 0 : 1, screenToImage(x, y));
  grabbed.isMoved = true;
  draw();
}

function dropCorner(grabbed, x, y) {
  if (stroke.outline) return;
  if (!grabbed) stroke.at = stroke.points.push(screenToImage(x, y)) - 1;
  else if (!grabbed.isMoved && stroke.at === 0) closeLasso();
  draw();
}

// Number of the nearest of the lines between starts and ends; -1 where none is near.
function findNearest(starts, ends, x, y) {
  const gaps = starts.map((start, k) => measureGap(imageToScreen(...start), imageToScreen(...ends[k]), x, y));
  const nearest = gaps.indexOf(Math.min(...gaps));
  return gaps[nearest] < NEAR ? nearest : -1;
}

// From a place to a line, which may be a point.
function measureGap([x0, y0], [x1, y1], x, y) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}

// A double click on the mask takes its outline, unless the first click closed a lasso.
function doubleClick() {
  if (!stroke?.clicked || stroke.points.length > 1) { closeLasso(); return; }
  const [place] = stroke.points, isSecond = stroke.at === 0;
  cancel();
  if (isSecond && isMaskAt(...place)) tell("outline", place);
}

// The outline of an object as a lasso to change.
export function editOutline(outline) {
  cancel();
  stroke = { tool: "polygon", points: [...outline], outline, value: 1, clicked: true, at: 0 };
  addStroke(stroke);
}

const extent = ({ points }) => {
  const screen = points.map(([x, y]) => imageToScreen(x, y));
  const [xs, ys] = [0, 1].map((axis) => screen.map((point) => point[axis]));
  return Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
};

// Pointer.

canvas.addEventListener("pointerdown", (event) => {
  if (!getRegions()) return;
  canvas.setPointerCapture(event.pointerId);
  const [x, y] = toCanvas(event);
  exact = event.altKey;
  if (event.pointerType === "touch") {
    fingers.set(event.pointerId, [x, y]);
    if (fingers.size > 1) { if (!stroke?.clicked) cancel(); panning = null; pinching = true; return; }
  }
  const segment = segmentAt(x, y);
  const outside = store.tool === "segments" && segment < 0;
  if (event.button !== 0 || event.shiftKey || space || outside) {
    panning = [x, y];
    canvas.classList.add("panning");
  } else if (stroke?.clicked) grabCorner(x, y);
  else begin(x, y, segment);
});

canvas.addEventListener("pointermove", (event) => {
  if (!getRegions()) return;
  const [x, y] = toCanvas(event);
  if (fingers.has(event.pointerId) && fingers.size > 1) { pinch(event.pointerId, x, y); return; }
  if (panning) { panBy(x - panning[0], y - panning[1]); panning = [x, y]; return; }
  const segment = segmentAt(x, y);
  if (store.tool === "segments") { setHovered(segment); placeTip(x, y); } else setCursor(...screenToImage(x, y));
  if (!stroke && event.pointerType !== "touch") lookAt(fitPlace(screenToImage(x, y)));
  if (stroke?.grabbed) { dragCorner(x, y); return; }
  // A quick pointer skips places between two frames; the browser has them.
  if (stroke) for (const one of event.getCoalescedEvents?.() ?? [event]) extend(...toCanvas(one), segmentAt(...toCanvas(one)));
});

function release(event) {
  canvas.classList.remove("panning");
  fingers.delete(event.pointerId);
  const hasMoved = panning || pinching;
  panning = null;
  pinching &&= fingers.size > 0;
  if (stroke) stroke.grabbed = null;
  return hasMoved;
}

canvas.addEventListener("pointerup", (event) => {
  exact = event.altKey || exact;
  const grabbed = stroke?.grabbed;
  if (release(event) || !stroke) return;
  if (stroke.clicked) { dropCorner(grabbed, ...toCanvas(event)); return; }
  if (stroke.tool === "polygon" && extent(stroke) < SMALL) {
    stroke.points.length = 1; // a click: the first corner of many
    stroke.clicked = true;
    draw();
  } else finish();
});
canvas.addEventListener("dblclick", doubleClick);
canvas.addEventListener("pointercancel", (event) => { release(event); cancel(); });
canvas.addEventListener("pointerleave", () => { setHovered(-1); setCursor(null); lookAway(); });
canvas.addEventListener("contextmenu", (event) => event.preventDefault());

// Two fingers: the place between them stays between them.
function pinch(id, x, y) {
  const other = [...fingers].find(([key]) => key !== id)[1];
  const before = fingers.get(id);
  fingers.set(id, [x, y]);
  const gap = (point) => Math.max(1, Math.hypot(point[0] - other[0], point[1] - other[1]));
  panBy((x - before[0]) / 2, (y - before[1]) / 2);
  zoomBy(gap([x, y]) / gap(before), (x + other[0]) / 2, (y + other[1]) / 2);
}

let turned = 0;
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const delta = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 16 : 1);
  if (!event.shiftKey) { zoomBy(Math.exp(-delta / 300), ...toCanvas(event)); return; }
  turned += delta;
  // A touchpad sends many small turns: one step per notch of a wheel.
  if (Math.abs(turned) < 50) return;
  resize(turned < 0 ? 1 : -1);
  turned = 0;
}, { passive: false });

// Larger or smaller: the regions that a click takes, the level of the model click, or the brush.
export function resize(step) {
  if (store.tool === "segments") tell("level", Math.min(N_TREE_LEVELS - 1, Math.max(0, store.level - step)));
  else if (store.tool === "model") tell("model-level", Math.min(LEVELS.length - 1, Math.max(0, store.modelLevel + step)));
  else tell("radius", step > 0 ? Math.max(store.radius * 1.25, store.radius + 0.5) : store.radius / 1.25);
}

// Enter closes a lasso of clicked corners, or applies an outline.
export function closeLasso() {
  if (stroke?.clicked && stroke.points.length > 2) finish();
}

export function escape() {
  if (!stroke) return false;
  cancel();
  return true;
}

export function removeCorner() {
  if (!stroke?.clicked) return;
  if (stroke.points.length === 1) { cancel(); return; }
  stroke.points.splice(stroke.at, 1);
  stroke.at = Math.max(0, stroke.at - 1);
  draw();
}

addEventListener("keydown", (event) => {
  if (event.key === " " && !event.target.matches?.("button, input, select, summary")) { space = true; canvas.classList.add("grab"); }
});
addEventListener("keyup", (event) => { if (event.key === " ") { space = false; canvas.classList.remove("grab"); } });
addEventListener("blur", () => { space = false; canvas.classList.remove("grab"); });

watch("tool", () => { cancel(); setHovered(-1); setCursor(null); });
watch("current", () => { stroke = panning = null; pinching = false; fingers.clear(); });
