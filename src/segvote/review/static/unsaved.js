// A bar for actions that could not be saved, because the run folder was deleted, moved or replaced.

import { store, watch } from "./store.js";

const bar = document.getElementById("unsaved");

function show() {
  const { unsaved } = store.status;
  bar.hidden = !unsaved;
  if (unsaved) bar.querySelector("span").textContent = `${unsaved.n} not saved. ${unsaved.reason}`;
}

export function setUpUnsaved(act, toast) {
  bar.querySelector("button").addEventListener("click", async () => {
    const answer = await act("rescue", {});
    if (answer) toast(answer.notice || "Saved in the folder that is there now.");
  });
  watch("status", show);
}
