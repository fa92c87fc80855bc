// Finish: progress, the estimated quality of the rest, the files, and the command lines that write them.

import { make } from "./elements.js";
import { countProgress, store, watch } from "./store.js";

const dialog = document.getElementById("finish");
const body = document.getElementById("finish-body");

export const isFinishOpen = () => dialog.open;

// The estimate of the server, as a sentence.
function describeEstimate({ estimate }, left) {
  if (estimate) return `${estimate[0].toUpperCase()}${estimate.slice(1)}.`;
  return left ? "Accept at least two images, or audit ten random ones, to learn how good the others may be." : "";
}

function makeNumbers() {
  const { total, accepted, seen, left, uncertain } = countProgress();
  const list = make("dl", "numbers");
  for (const [name, value] of [["accepted", accepted], ["looked at", seen], ["left", left], ["uncertain, not accepted", uncertain]]) {
    const entry = make("div");
    entry.append(make("dd", "", String(value)), make("dt", "", name));
    list.append(entry);
  }
  const text = describeEstimate(store.status, left);
  const note = make("p", "quiet", text || `All ${total} masks are accepted.`);
  note.id = "estimate";
  return [list, note];
}

function makeFormat(name, command) {
  const row = make("li", "format");
  const write = make("button", "", "Write");
  write.setAttribute("aria-label", `Write ${name}`);
  const code = make("code", "", command);
  code.dataset.command = command;
  const result = make("span", "format-result quiet");
  write.addEventListener("click", async () => {
    write.disabled = true;
    result.textContent = "writing …";
    const answer = await ask("export-format", { format: name, overwrite: write.dataset.again === "yes", instances: isEach() });
    write.disabled = false;
    if (answer.place) { result.textContent = [answer.place, ...answer.leftOut.map((reason) => `left out: ${reason}`)].join("\n"); write.textContent = "Write again"; write.dataset.again = "yes"; }
    else {
      result.textContent = answer.error;
      if (/not empty/.test(answer.error)) { write.textContent = "Overwrite"; write.dataset.again = "yes"; }
    }
  });
  row.append(make("strong", "", name), code, write, result);
  return row;
}

const isEach = () => Boolean(document.getElementById("each")?.checked);

// Whole masks, or every object by itself; also in the command lines.
function makeEach() {
  const label = make("label", "finish-each");
  const box = make("input");
  box.type = "checkbox";
  box.id = "each";
  box.addEventListener("change", () => {
    for (const code of body.querySelectorAll("code[data-command]")) code.textContent = `${code.dataset.command}${box.checked ? " --instances" : ""}`;
  });
  label.append(box, "every object by itself, as listed, cut and merged (N)");
  return label;
}

// For one class among several: the command line that joins the masks of all.
function makeJoin() {
  if (!store.run.classCommand) return [];
  const note = make("p", "quiet", "Then, for the index masks of all classes, with the options of the first time: ");
  note.append(make("code", "", store.run.classCommand));
  return [note];
}

let ask = null;

function refresh() {
  if (!dialog.open) return;
  const [list, note] = makeNumbers();
  body.querySelector(".numbers").replaceWith(list);
  body.querySelector("#estimate").replaceWith(note);
}

export function openFinish(post) {
  ask = post;
  const write = make("button", "primary", "Write masks");
  write.id = "write-masks";
  const result = make("p", "quiet");
  result.id = "write-result";
  result.setAttribute("role", "status");
  write.addEventListener("click", async () => {
    write.disabled = true;
    result.textContent = "writing …";
    const answer = await ask("export", {});
    write.disabled = false;
    result.textContent = answer.error ?? [`Masks, heat maps, COCO file and report of ${answer.n} images are in ${answer.folder}`, ...answer.kept].join(". Not written: ");
  });
  const formats = make("ul", "formats");
  formats.append(...Object.entries(store.run.commands).map(([name, command]) => makeFormat(name, command)));
  const row = make("div", "finish-write");
  row.append(write, make("span", "quiet", "masks, heat maps, COCO file and report, in the run folder"));
  body.replaceChildren(...makeNumbers(), row, result, ...makeJoin(), make("h3", "", "For other tools"), makeEach(), formats);
  dialog.showModal();
  write.focus();
}

document.getElementById("finish-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
watch("images", refresh);
watch("status", () => {
  refresh();
  const { step, done, total } = store.status.export ?? {};
  const result = document.getElementById("write-result");
  if (dialog.open && step && result?.textContent.startsWith("writing")) result.textContent = `writing … ${step} ${done} of ${total}`;
});
