// What pointer, wheel and fingers do on the image: labels of regions, brush, eraser, polygon, fill and cut; zoom and pan.

import { addStroke, canvas, draw, getCursor, getRegions, imageToScreen, isMaskAt, panBy, placeTip, removeStroke, screenToImage, segmentAt, setCursor, setHovered, zoomBy } from "./canvas.js";
import { findCorner, findEdge } from "./corners.js";
import { isSelected, N_LEVELS, store, tell, watch } from "./store.js";

export const TOOLS = ["segments", "smart", "brush", "eraser", "polygon", "fill", "cut"];
const PLACES = ["smart", "fill"]; // tools that need one place
const MAX_POINTS = 8000;
const DOUBLE_MS = 600;
const MOVED = 3; // CSS pixels from which on a click on a corner drags it

let stroke = null; // being drawn
let grabbed = null, lastGrabbed = null; // the corner of a polygon under the pressed pointer; the one before it
let closed = null; // where and when a click closed the last polygon
let panning = null, space = false, exact = false;
const fingers = new Map();

const toCanvas = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

// What a stroke says: the eraser background, all others the chosen label; "toggle" is object where nothing else is known.
function chooseValue(segment = -1) {
  if (store.tool === "eraser") return 0;
  if (store.label !== "toggle") return Number(store.label);
  if (store.tool !== "segments") return 1;
  return isSelected(store.images[store.current].state[segment]) ? 0 : 1;
}

// The eraser is a brush that says background.
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
  if (stroke.segments) {
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
  if (done.segments) {
    removeStroke(done);
    tell("label", { segments: [...done.segments], value: done.value, segment: done.first });
    return;
  }
  done.saved = true;
  if (done.tool === "cut") tell("cut", { points: done.points, stroke: done });
  else if (done.reshapes) tell("reshape", { place: done.reshapes, points: done.points, stroke: done });
  else tell("paint", { tool: done.tool, points: done.points, radius: done.radius, value: done.value, snap: store.snap !== exact, stroke: done });
}

function cancel() {
  if (stroke) removeStroke(stroke);
  stroke = grabbed = null;
}

function takeAt(x, y) {
  const value = store.label === "toggle" ? (isMaskAt(x, y) ? 0 : 1) : Number(store.label);
  tell("paint", { tool: store.tool, points: [[x, y]], radius: 1, value, snap: false });
}

// A polygon is drawn in one go, or corner by corner: a corner under the pointer is dragged, a click on an edge puts one
// there, any other click adds one at the end; a click on the first corner closes the polygon.
function grabCorner(x, y) {
  const corner = findCorner(stroke, x, y), edge = corner < 0 ? findEdge(stroke, x, y) : -1;
  if (corner < 0 && edge < 0 && stroke.isClosed) return;
  const at = corner >= 0 ? corner : edge >= 0 ? edge + 1 : stroke.points.length;
  if (corner < 0) stroke.points.splice(at, 0, screenToImage(x, y));
  grabbed = { at, isNew: corner < 0, from: [x, y], isMoved: false };
  markCorner(x, y);
}

function dragCorner(x, y) {
  grabbed.isMoved ||= Math.hypot(x - grabbed.from[0], y - grabbed.from[1]) > MOVED;
  if (grabbed.isMoved) stroke.points[grabbed.at] = screenToImage(x, y);
  draw();
}

function dropCorner() {
  const { at, isNew, from, isMoved } = grabbed;
  lastGrabbed = { at, isNew, before: lastGrabbed && { ...lastGrabbed, before: null } };
  grabbed = null;
  const closes = at === 0 && !isNew && !isMoved && !stroke.isClosed && stroke.points.length > 2;
  if (closes) { closed = { place: from, time: performance.now() }; finish(); }
}

// A second finger: the first one did not mean a corner.
function forgetCorner() {
  if (grabbed?.isNew) stroke.points.splice(grabbed.at, 1);
  grabbed = null;
}

// Which corner is drawn larger, and whether the next click adds one at the end.
function markCorner(x, y) {
  stroke.hot = grabbed ? grabbed.at : findCorner(stroke, x, y);
  stroke.isEdge = stroke.hot < 0 && findEdge(stroke, x, y) >= 0;
  draw();
}

// A double click on a corner deletes it; on the mask, before there is a polygon, it takes the outline there; elsewhere it closes.
function doubleClick(event) {
  if (!stroke?.clicked) return;
  const { at, before } = lastGrabbed ?? {};
  if (stroke.points.length === 1) {
    if (!isRestOfClosing(...toCanvas(event)) && isMaskAt(...stroke.points[0])) tell("outline", stroke.points[0]);
    cancel();
  }
  else if (before && !before.isNew && before.at === at) deleteCorner(at);
  else if (stroke.points.length > 2) finish();
}

// Whether a double click is the one whose first click closed a polygon.
function isRestOfClosing(x, y) {
  if (!closed || performance.now() - closed.time > DOUBLE_MS) return false;
  return Math.hypot(x - closed.place[0], y - closed.place[1]) <= MOVED;
}

function deleteCorner(at) {
  if (stroke.points.length > 1) { stroke.points.splice(at, 1); stroke.hot = -1; draw(); } else cancel();
}

// The outline of an object that is there, as a polygon to change.
export function editOutline(place, points) {
  cancel();
  lastGrabbed = null;
  stroke = { tool: "polygon", points, radius: 1, value: 1, clicked: true, isClosed: true, reshapes: place };
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
    if (fingers.size > 1) { if (stroke?.clicked) forgetCorner(); else cancel(); panning = null; return; }
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
  if (grabbed) { dragCorner(x, y); return; }
  if (stroke?.clicked) { markCorner(x, y); return; }
  // A quick pointer skips places between two frames; the browser has them.
  if (stroke) for (const one of event.getCoalescedEvents?.() ?? [event]) extend(...toCanvas(one), segmentAt(...toCanvas(one)));
});

function release(event) {
  canvas.classList.remove("panning");
  fingers.delete(event.pointerId);
  const wasPanning = panning;
  panning = null;
  return wasPanning;
}

canvas.addEventListener("pointerup", (event) => {
  exact = event.altKey || exact;
  if (release(event) || !stroke) return;
  if (grabbed) { dropCorner(); return; }
  if (stroke.clicked) return;
  if (stroke.tool === "polygon" && extent(stroke) < 6) {
    stroke.points.length = 1; // a click: the first corner of many
    stroke.clicked = true;
    lastGrabbed = null;
    draw();
  } else finish();
});
canvas.addEventListener("dblclick", doubleClick);
canvas.addEventListener("pointercancel", (event) => { release(event); cancel(); });
canvas.addEventListener("pointerleave", () => { setHovered(-1); if (!getCursor()?.keyboard) setCursor(null); });
canvas.addEventListener("contextmenu", (event) => event.preventDefault());

// Two fingers: what lies between them stays between them.
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

// Larger or smaller: the regions that a click takes, or the brush.
export function resize(step) {
  if (store.tool === "segments") tell("level", Math.min(N_LEVELS - 1, Math.max(0, store.level - step)));
  else tell("radius", step > 0 ? Math.max(store.radius * 1.25, store.radius + 0.5) : store.radius / 1.25);
}

// Keyboard: a cursor that paints.

export function moveCursor(dx, dy, fine) {
  const { width, height } = store.run.images[store.current];
  const { x, y } = getCursor() ?? { x: width / 2, y: height / 2 };
  const step = fine ? 1 : Math.max(1, Math.round(["brush", "eraser"].includes(store.tool) ? store.radius / 2 : width / 40));
  const clip = (value, size) => Math.min(size - 0.5, Math.max(0.5, value));
  setCursor(clip(x + dx * step, width), clip(y + dy * step, height), true);
  const now = getCursor();
  if (stroke?.byKeys) { stroke.points.push([now.x, now.y]); draw(); }
}

// Enter: a brush is put down and lifted; a polygon gets a corner, or is applied where it is an outline; a fill flows.
export function press(closes) {
  if (stroke?.isClosed) { finish(); return; }
  const cursor = getCursor();
  if (!cursor) { moveCursor(0, 0, true); return; }
  exact = false;
  if (PLACES.includes(store.tool)) takeAt(cursor.x, cursor.y);
  else if (store.tool === "polygon") {
    if (stroke && closes) { if (stroke.points.length > 2) finish(); }
    else if (stroke) { stroke.points.push([cursor.x, cursor.y]); draw(); }
    else { stroke = { tool: "polygon", points: [[cursor.x, cursor.y]], radius: 1, value: chooseValue(), clicked: true }; addStroke(stroke); }
  } else if (stroke) finish();
  else { stroke = { tool: nameStroke(), points: [[cursor.x, cursor.y]], radius: store.radius, value: chooseValue(), byKeys: true }; addStroke(stroke); }
}

export function escape() {
  if (!stroke) return false;
  cancel();
  return true;
}

// The corner under the pointer, else the last one.
export function removeCorner() {
  if (!stroke?.clicked) return;
  const cursor = getCursor(), at = cursor ? findCorner(stroke, ...imageToScreen(cursor.x, cursor.y)) : -1;
  deleteCorner(at >= 0 ? at : stroke.points.length - 1);
}

addEventListener("keydown", (event) => {
  if (event.key === " " && !event.target.matches?.("button, input, select, summary")) { space = true; canvas.classList.add("grab"); }
});
addEventListener("keyup", (event) => { if (event.key === " ") { space = false; canvas.classList.remove("grab"); } });
addEventListener("blur", () => { space = false; canvas.classList.remove("grab"); });

watch("tool", () => { cancel(); setHovered(-1); setCursor(null); });
watch("current", () => { stroke = grabbed = panning = null; fingers.clear(); });
