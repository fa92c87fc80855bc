"use strict";
// In the head, so that a chosen theme is there before the first card is painted.
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const keep = (theme) => {
    try { localStorage.setItem("segvote-theme", theme); } catch { /* pages opened from a disk may have no storage */ }
  };
  const recall = () => {
    try { return localStorage.getItem("segvote-theme"); } catch { return null; }
  };
  const wanted = recall();
  if (wanted === "dark" || wanted === "light") root.dataset.theme = wanted;

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.hidden = false;
    label();
    system.addEventListener("change", label);
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      keep(root.dataset.theme);
      label();
    });
  });
})();
