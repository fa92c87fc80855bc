// Several classes: a page for each, with the outlines of the others in their colours.

import { decodeMask, getBytes } from "./api.js";
import { traceMask } from "./regions.js";
import { store, tell, watch } from "./store.js";

export const COLOURS = ["#ffd84a", "#5ad1ff", "#ff8a5c", "#b48cff", "#7dff9a", "#ff7ac8", "#c8d44a", "#4affd8", "#ff5c5c"];
export const colourOf = (number) => COLOURS[number % COLOURS.length];

let others = []; // outlines of the other classes on the image shown

export const getOthers = () => others;

// The images of all classes have the same numbers: the other page opens at the same image.
export function openClass(number) {
  if (number < store.run.classes.length && number !== store.run.classNumber) location.assign(`../${number}/#${store.current}`);
}

async function readOther(number, index) {
  const mask = decodeMask(await getBytes(`../${number}/api/images/${index}/mask`));
  return { path: traceMask(mask), width: mask.width, colour: colourOf(number) };
}

async function fetchOthers() {
  others = [];
  const index = store.current;
  const numbers = store.run.classes.map((_, number) => number).filter((number) => number !== store.run.classNumber);
  const found = await Promise.allSettled(numbers.map((number) => readOther(number, index)));
  if (store.current !== index) return;
  others = found.filter((one) => one.status === "fulfilled").map((one) => one.value);
  tell("look");
}

export function setUpClasses() {
  const group = document.getElementById("classes");
  group.hidden = store.run.classes.length < 2;
  if (group.hidden) return;
  store.run.classes.forEach((name, number) => {
    const button = document.createElement("button");
    const swatch = document.createElement("i");
    swatch.style.background = colourOf(number);
    button.append(swatch, name);
    button.title = `Class ${name} (${number + 1})`;
    button.setAttribute("aria-pressed", number === store.run.classNumber);
    button.addEventListener("click", () => openClass(number));
    group.append(button);
  });
  watch("current", () => { fetchOthers(); });
}
