// What to do first: over the image until the first action, or until it is closed; then never again in this browser.

const NAME = "segvote-hint";
const hint = document.getElementById("hint");

const wasSeen = () => { try { return localStorage.getItem(NAME) === "seen"; } catch { return false; } };

export function hideHint() {
  if (hint.hidden) return;
  hint.hidden = true;
  try { localStorage.setItem(NAME, "seen"); } catch { /* private window */ }
}

export function setUpHint() {
  hint.hidden = wasSeen();
  document.getElementById("hint-close").addEventListener("click", hideHint);
}
