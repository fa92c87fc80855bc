// The keyboard.

import { panBy, zoomBy, fit, getHovered, getRegions, setHovered } from "./canvas.js";
import { openClass } from "./classes.js";
import { isFinishOpen } from "./finish.js";
import { isGridOpen, openGrid, pressInGrid, selectAll } from "./grid.js";
import { LEVELS } from "./model.js";
import { moveInQueue } from "./queue.js";
import { FILTERS, N_TREE_LEVELS, store, tell } from "./store.js";
import { openPanel } from "./panels.js";
import { closeLasso, escape, removeCorner, resize } from "./tools.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const VIEWS = ["mask", "heat", "outline"];
const search = document.getElementById("search");

function walk(dx, dy) {
  const regions = getRegions();
  if (!regions) return;
  const start = getHovered();
  if (start < 0) setHovered(bestSegment(), true);
  else setHovered(regions.walk(start, store.level, dx, dy), true);
}

const bestSegment = () => {
  const { scores } = store.images[store.current];
  const visible = [...scores.keys()].filter((segment) => getRegions().isVisible(segment));
  return visible.reduce((best, segment) => (scores[segment] > scores[best] ? segment : best), visible[0]);
};

// Over a segment the key labels it; elsewhere it chooses the label of clicks and strokes.
function label(value) {
  const segment = getHovered();
  if (segment < 0 || store.tool !== "segments") { tell("labels", String(value)); return; }
  const segments = getRegions().listRegion(segment, store.level);
  const toggled = store.images[store.current].state[segment] & 4 ? 0 : 1;
  tell("label", { segments, value: value === "toggle" ? toggled : value, segment });
}

// A class, where there are several; otherwise the size of the regions, as on the slider from left to right, or the level
// of the model click.
function pressNumber(k) {
  if (store.run.classes.length > 1) openClass(k);
  else if (store.tool === "model") { if (k < LEVELS.length) tell("model-level", k); }
  else if (k < N_TREE_LEVELS) tell("level", N_TREE_LEVELS - 1 - k);
}

const COMMANDS = {
  o: () => label(1),
  b: () => label(0),
  u: () => label(-1),
  g: () => tell("labels", "toggle"),
  s: () => tell("tool", "segments"),
  r: () => tell("tool", "brush"),
  x: () => tell("tool", "eraser"),
  l: () => tell("tool", "polygon"),
  i: () => tell("tool", "fill"),
  h: () => tell("tool", "cut"),
  q: () => tell("snap", !store.snap),
  "[": () => resize(-1),
  "]": () => resize(1),
  "(": () => tell("extent", { step: -1 }),
  ")": () => tell("extent", { step: 1 }),
  "{": () => tell("extent", { step: -1, all: true }),
  "}": () => tell("extent", { step: 1, all: true }),
  Backspace: () => removeCorner(),
  Delete: () => removeCorner(),
  p: () => tell("tool", "smart"),
  Escape: () => escape() || tell("tool", "segments"),
  z: () => tell("undo"),
  Z: () => tell("redo"),
  y: () => tell("redo"),
  a: () => tell("accept"),
  j: () => moveInQueue(1),
  k: () => moveInQueue(-1),
  n: () => openPanel("objects"),
  c: () => openGrid(),
  "<": () => tell("frame", -1),
  ">": () => tell("frame", 1),
  v: () => tell("view", VIEWS[(VIEWS.indexOf(store.view) + 1) % VIEWS.length]),
  ",": () => tell("opacity", store.opacity - 0.1),
  ".": () => tell("opacity", store.opacity + 0.1),
  "+": () => zoomBy(1.25),
  "=": () => zoomBy(1.25),
  "-": () => zoomBy(0.8),
  0: () => fit(),
  w: () => { if (getRegions()) tell("ask", getHovered() >= 0 ? getHovered() : bestSegment()); },
  d: () => openPanel("doctor"),
  m: () => tell("move", { bag: store.current, label: store.images[store.current].isWith ? "without" : "with" }),
  e: () => tell("export"),
  t: () => tell("theme"),
  "?": () => openPanel("keys"),
  "/": () => search.focus(),
  f: () => {
    const names = Object.keys(FILTERS);
    tell("filter", names[(names.indexOf(store.filter) + 1) % names.length]);
  },
  ...Object.fromEntries(Array.from({ length: 9 }, (_, k) => [k + 1, () => pressNumber(k)])),
};

// With Shift held; capitals by Caps Lock are the plain letters.
const SHIFTED = { A: () => tell("audit"), B: () => tell("clear"), P: () => tell("tool", "model") };

function pressControl(event) {
  if (["z", "Z", "y"].includes(event.key)) tell(event.key === "z" ? "undo" : "redo");
  else if (event.key === "a" && isGridOpen()) selectAll();
  else return;
  event.preventDefault();
}

function pressEnter() {
  if (store.tool === "segments") label("toggle"); else closeLasso();
}

function pressArrow(event, [dx, dy]) {
  if (event.shiftKey || store.tool !== "segments") panBy(-60 * dx, -60 * dy); else walk(dx, dy);
}

export function setUpKeys() {
  addEventListener("keydown", (event) => {
    if (event.target === search) {
      if (event.key === "Escape" || event.key === "Enter") search.blur();
      return;
    }
    if (store.current < 0 || isFinishOpen()) return;
    if (event.ctrlKey || event.metaKey) { pressControl(event); return; }
    if (event.target.matches("input, select")) return; // arrows move a slider
    // Enter and space press a button that has the focus; a tile of the overview has its own meaning for them.
    const presses = event.target.matches("button:not(.tile-open)") && (event.key === "Enter" || event.key === " ");
    if (presses) return;
    if (isGridOpen() && pressInGrid(event)) return;
    if (event.altKey) return;
    // By the place of the key: with Shift the sign on it depends on the keyboard.
    if (event.shiftKey && /^Digit[1-6]$/.test(event.code)) { event.preventDefault(); tell("alternative", Number(event.code.at(-1)) - 1); return; }
    const arrow = ARROWS[event.key];
    const command = (event.shiftKey ? SHIFTED[event.key] : undefined) ?? COMMANDS[event.key] ?? COMMANDS[event.key.toLowerCase()];
    if (event.key === " ") event.preventDefault(); // held, it moves the image
    else if (arrow) { event.preventDefault(); pressArrow(event, arrow); }
    else if (event.key === "Enter") { event.preventDefault(); if (getRegions()) pressEnter(); }
    else if (command) { event.preventDefault(); command(); }
  });
}
