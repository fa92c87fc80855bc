// Finished images: what they changed in the others, the image to finish first, and the audit of random images.

import { store, tell, watch } from "./store.js";

const byId = (id) => document.getElementById(id);
const capitalise = (text) => text && `${text[0].toUpperCase()}${text.slice(1)}.`;
let taught = { nFinished: 0, action: -1 }; // the action by which the number of finished images changed

// One line while images are finished; its undo takes back the last action, as long as that changed their number.
function showLesson() {
  const { lesson, estimate, nFinished = 0, action, nUndo } = store.status;
  if (nFinished !== taught.nFinished) taught = { nFinished, action };
  byId("lesson").hidden = !lesson;
  byId("lesson-text").textContent = [lesson, capitalise(estimate ?? "")].filter(Boolean).join(" ");
  byId("lesson-undo").hidden = taught.action !== action || !nUndo;
}

function showAudit() {
  const left = store.status.audit?.length ?? 0;
  byId("audit").textContent = left ? `Audit: ${left} left` : "Audit";
}

// Where the vote is not sure what the object is: one image that the page asks to finish first.
function showAsked() {
  const { ask = -1 } = store.status;
  byId("ask").hidden = ask < 0 || store.images[ask]?.accepted;
  byId("ask-go").hidden = ask === store.current;
  byId("ask-text").textContent = ask === store.current ? "Finish this image: mark the object, press A; the rest is background." : "The vote is unsure what the object is: one finished image tells it.";
}

function show() {
  showLesson();
  showAudit();
  showAsked();
}

// The next image that an audit handed out, other than the present one.
export const nextAudited = () => store.status.audit?.find((index) => index !== store.current && !store.images[index]?.accepted);

async function audit(act, toast) {
  const waiting = store.status.audit ?? [];
  const answer = waiting.length ? { bags: waiting } : await act("audit", {});
  if (!answer) return;
  store.status.audit = answer.bags;
  show();
  toast(`${answer.bags.length} random images to finish: correct the mask, press A. They tell how good the others are.`);
  tell("go", answer.bags.find((index) => !store.images[index]?.accepted));
}

export function setUpLessons(act, toast) {
  byId("lesson-undo").addEventListener("click", () => tell("undo"));
  byId("audit").addEventListener("click", () => tell("audit"));
  byId("ask-go").addEventListener("click", () => tell("go", store.status.ask));
  byId("ask-clear").addEventListener("click", () => tell("clear"));
  watch("audit", () => audit(act, toast));
  for (const topic of ["status", "current", "images"]) watch(topic, show);
}
