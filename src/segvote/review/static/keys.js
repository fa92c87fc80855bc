// Everything by keyboard alone.

import { panBy, zoomBy, fit, getHovered, getRegions, setHovered } from "./canvas.js";
import { moveInQueue, refreshQueue } from "./queue.js";
import { FILTERS, store, tell } from "./store.js";
import { openPanel } from "./panels.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const VIEWS = ["mask", "heat", "outline"];
const search = document.getElementById("search");

function moveCursor(dx, dy) {
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

function say(value) {
  const segment = getHovered();
  if (segment < 0) { tell("brush", String(value)); return; }
  const segments = getRegions().listRegion(segment, store.level);
  const toggled = store.images[store.current].state[segment] & 4 ? 0 : 1;
  tell("say", { segments, value: value === "toggle" ? toggled : value, segment });
}

const COMMANDS = {
  o: () => say(1),
  b: () => say(0),
  u: () => say(-1),
  Enter: () => say("toggle"),
  " ": () => say("toggle"),
  g: () => tell("brush", "toggle"),
  z: () => tell("undo"),
  Z: () => tell("redo"),
  y: () => tell("redo"),
  a: () => tell("accept"),
  j: () => moveInQueue(1),
  k: () => moveInQueue(-1),
  n: () => moveInQueue(1),
  p: () => moveInQueue(-1),
  1: () => tell("level", 0),
  2: () => tell("level", 1),
  3: () => tell("level", 2),
  v: () => tell("view", VIEWS[(VIEWS.indexOf(store.view) + 1) % VIEWS.length]),
  ",": () => tell("opacity", store.opacity - 0.1),
  ".": () => tell("opacity", store.opacity + 0.1),
  "+": () => zoomBy(1.25),
  "=": () => zoomBy(1.25),
  "-": () => zoomBy(0.8),
  0: () => fit(),
  w: () => { if (getRegions()) tell("ask", getHovered() >= 0 ? getHovered() : bestSegment()); },
  d: () => openPanel("doctor"),
  m: () => tell("move", { bag: store.current, tag: store.images[store.current].isWith ? "without" : "with" }),
  e: () => tell("export"),
  t: () => tell("theme"),
  "?": () => openPanel("keys"),
  "/": () => search.focus(),
  f: () => {
    const names = Object.keys(FILTERS);
    store.filter = names[(names.indexOf(store.filter) + 1) % names.length];
    refreshQueue();
  },
};

export function setUpKeys() {
  addEventListener("keydown", (event) => {
    if (event.target === search) {
      if (event.key === "Escape" || event.key === "Enter") search.blur();
      return;
    }
    if ((event.ctrlKey || event.metaKey) && ["z", "Z", "y"].includes(event.key)) {
      event.preventDefault();
      tell(event.key === "z" ? "undo" : "redo");
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || store.current < 0) return;
    // Enter and space press a button that has the focus; arrows move a slider.
    if (event.target.matches("button") && (event.key === "Enter" || event.key === " ")) return;
    if (event.target.matches("input")) return;
    const arrow = ARROWS[event.key];
    if (arrow) {
      event.preventDefault();
      if (event.shiftKey) panBy(-60 * arrow[0], -60 * arrow[1]); else moveCursor(...arrow);
      return;
    }
    const command = COMMANDS[event.key] ?? COMMANDS[event.key.toLowerCase()];
    if (command) { event.preventDefault(); command(); }
  });
}
