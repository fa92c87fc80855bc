// The side panels: contributions to the score of the last clicked segment, the doctor, the keys; others fill their own.

import { make } from "./elements.js";
import { formatScore } from "./canvas.js";
import { getJson } from "./api.js";
import { store, tell } from "./store.js";

const panels = { votes: null, alternatives: null, objects: null, doctor: null, keys: null };
for (const name of Object.keys(panels)) panels[name] = document.getElementById(name);
let asked = 0;

export function openPanel(name) {
  for (const [other, panel] of Object.entries(panels)) {
    panel.hidden = other !== name;
    document.getElementById(`tab-${other}`).setAttribute("aria-selected", other === name);
  }
  panels[name].scrollIntoView({ block: "nearest" }); // on a narrow screen it lies below the image
  if (name === "doctor") refreshDoctor();
  tell("panel", name);
}

const shortName = (index) => store.run.images[index].name;

function crop(bag, segment) {
  const picture = make("img");
  picture.loading = "lazy";
  picture.alt = `segment ${segment} of ${shortName(bag)}`;
  picture.src = `api/images/${bag}/segments/${segment}/crop`;
  return picture;
}

export function forgetVotes() {
  asked += 1;
  const empty = make("div", "hint");
  empty.append(make("p", "", "Click a segment, or press W over one, to see which segments voted for it and which against."));
  panels.votes.replaceChildren(empty);
}

export async function showVotes(bag, segment) {
  const mine = ++asked;
  let votes;
  try {
    votes = await getJson(`api/images/${bag}/segments/${segment}/votes`);
  } catch (error) {
    if (mine === asked) panels.votes.replaceChildren(make("p", "hint", error.message));
    return;
  }
  if (mine !== asked) return;
  panels.votes.replaceChildren(makeHead(votes), makeSum(votes), makeGroup("For", votes.for), makeGroup("Against", votes.against));
}

function makeHead(votes) {
  const head = make("div", "votes-head");
  const text = make("div");
  const result = votes.userLabel >= 0 ? `${votes.userLabel ? "object" : "background"}, your label` : votes.selected ? "object" : "background";
  text.append(make("div", "score", formatScore(votes.score)), make("div", "", result), make("div", "quiet", `segment ${votes.segment}, object above ${formatScore(votes.threshold)}`));
  head.append(crop(votes.bag, votes.segment), text);
  return head;
}

function makeSum(votes) {
  const table = make("dl", "sum");
  const rows = [["votes for", votes.for.total], ["votes against", votes.against.total], ["neighbours in the image", votes.neighbours], ["intercept", votes.constant], ["score", votes.score]];
  for (const [name, amount] of rows) table.append(make("dt", "", name), make("dd", "", formatScore(amount)));
  return table;
}

function makeGroup(title, group) {
  const section = make("section", `group-votes ${title.toLowerCase()}`);
  section.append(make("h3", "", `${title} · ${group.n} ${group.n === 1 ? "segment" : "segments"}`));
  const grid = make("div", "voters");
  for (const line of group.lines) {
    const button = make("button", "voter");
    const corrected = line.kind === "correction";
    button.title = `${shortName(line.bag)}, segment ${line.segment}${corrected ? ", corrected by you" : ""}`;
    button.append(crop(line.bag, line.segment), make("span", "amount", formatScore(line.amount)), make("span", "whose", `${corrected ? "you: " : ""}${shortName(line.bag).split("/").pop()}`));
    button.addEventListener("click", () => tell("go", line.bag));
    grid.append(button);
  }
  section.append(grid);
  if (group.n > group.lines.length) section.append(make("p", "quiet", `${group.n - group.lines.length} more: ${formatScore(group.rest)}`));
  if (!group.n) section.append(make("p", "quiet", "none"));
  return section;
}

export async function refreshDoctor() {
  if (panels.doctor.hidden) return;
  if (!panels.doctor.children.length) panels.doctor.replaceChildren(make("p", "hint", "Looking at all images …"));
  try {
    const { flagged, nImages } = await getJson("api/doctor");
    const head = make("p", "quiet", flagged.length ? `${flagged.length} of ${nImages} images should be looked at. Moving one changes the run's record only: your files stay where they are.` : `${nImages} images, none of them flagged.`);
    const list = make("ol", "flagged-list");
    list.append(...flagged.map(makeFlagged));
    panels.doctor.replaceChildren(head, list);
  } catch (error) {
    panels.doctor.replaceChildren(make("p", "hint", error.message));
  }
}

function makeFlagged(image) {
  const item = make("li", "flagged");
  const text = make("div", "flagged-text");
  text.append(make("strong", "", image.name), make("span", "", image.kind), make("span", "quiet", image.reason));
  if (image.bag < 0) { item.append(make("div", "no-picture", "?"), text); return item; }
  const open = make("button", "flagged-open");
  const picture = make("img");
  picture.src = `api/images/${image.bag}/thumb`;
  picture.alt = "";
  picture.loading = "lazy";
  open.append(picture);
  open.title = "Show";
  open.addEventListener("click", () => tell("go", image.bag));
  const other = image.bag_label === "with" ? "without" : "with";
  const move = make("button", "move", `Move to ${other}`);
  move.addEventListener("click", () => tell("move", { bag: image.bag, label: other }));
  text.append(move);
  item.append(open, text);
  return item;
}

const KEYS = [
  ["Segments (S)", [["Click", "toggle; drag over several"], ["O", "object"], ["B", "background"], ["Shift B", "clear: the whole image is background"], ["U", "undecided: let the vote decide"], ["Enter", "toggle"], ["← ↑ ↓ →", "move from region to region"], ["[  ]", "smaller, larger regions; or 1 to 5"], ["G", "clicks toggle again"]]],
  ["Pixels", [["P", "smart click: the region that edges and votes suggest"], ["Shift P", "model: a click or a box takes what it outlines"], ["1 … 3", "with the model: part, object, whole; or [  ]"], ["R", "brush"], ["X", "eraser"], ["L", "lasso: drag, or click corners; double-click the mask for its outline"], ["I", "fill the part under the pointer"], ["[  ]", "smaller, larger; or Shift and wheel"], ["Q", "snap to superpixels, or exactly"], ["Alt", "held while drawing: the other of the two"], ["Enter", "close the lasso, apply the outline"], ["Backspace", "delete the corner touched last"], ["Esc", "stop"]]],
  ["Wrong object", [["Shift 1 … 6", "all masks show A, B … F of the tab Which?"]]],
  ["Extent", [["{  }", "tighter, wider in all images"], ["(  )", "tighter, wider in this image"]]],
  ["Objects", [["N", "list of the single objects"], ["H", "cut: a line through an object divides it"], ["Space", "on a line of the list: select; then Merge"], ["Enter", "on a line of the list: zoom to it"]]],
  ["Go", [["Z", "undo"], ["Shift Z", "redo"], ["A", "accept: finished, it teaches the others; next in the queue"], ["Shift A", "audit: ten random images to finish"], ["J  K", "next, previous"], ["C", "all images: the overview"], ["1 … 9", "the class, where there are several"], ["/", "find a name"], ["F", "next filter"], ["E", "finish: write masks, exports"]]],
  ["Look", [["Wheel", "zoom; or +  −  0, or two fingers"], ["Space", "held: drag to pan; or the middle button"], ["← ↑ ↓ →", "pan; with segments Shift ←"], ["<  >", "frames of a video"], ["V", "mask, heat, outline"], [",  .", "opacity"], ["T", "light or dark"]]],
  ["Explain", [["W", "contributions to the score of this segment"], ["D", "the folder doctor"], ["M", "move image to the other folder"], ["?", "these keys"]]],
  ["In the overview", [["Space", "select"], ["Shift ←", "select on the way"], ["Ctrl A", "all, or none"], ["A", "accept"], ["M", "move"], ["B", "set as background"], ["Enter", "open"], ["Esc", "back"]]],
];

export function setUpPanels() {
  for (const [title, rows] of KEYS) {
    const table = make("dl", "keys");
    for (const [key, what] of rows) {
      const term = make("dt");
      term.append(...key.split("  ").flatMap((part, k) => [k ? " " : "", make("kbd", "", part)]));
      table.append(term, make("dd", "", what));
    }
    panels.keys.append(make("h3", "", title), table);
  }
  for (const name of Object.keys(panels)) document.getElementById(`tab-${name}`).addEventListener("click", () => openPanel(name));
  forgetVotes();
}
