"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const list = find("cards"), controls = find("controls"), viewer = find("viewer");
  const cards = Array.from(list.children);
  const titles = ["Image", "Heat map", "Mask"];
  let current = null;

  // The first entry of each order is what one wants to see first; "reversed" turns it round.
  const orders = {
    rank: (a, b) => a.dataset.rank - b.dataset.rank,
    score: (a, b) => b.dataset.score - a.dataset.score,
    area: (a, b) => b.dataset.area - a.dataset.area,
    name: (a, b) => a.dataset.name.localeCompare(b.dataset.name, undefined, { numeric: true }),
  };

  function arrange() {
    const { label, sort, reverse, name } = controls.elements;
    const part = name.value.trim().toLowerCase();
    const sign = reverse.checked ? -1 : 1;
    cards.sort((a, b) => sign * (orders[sort.value](a, b) || orders.rank(a, b)));
    for (const card of cards) {
      card.hidden = (label.value !== "all" && card.dataset.label !== label.value) || !card.dataset.name.toLowerCase().includes(part);
    }
    list.append(...cards);
    const shown = listShown().length;
    find("count").textContent = shown === cards.length ? `${shown} images` : `${shown} of ${cards.length} images`;
  }

  const listShown = () => cards.filter((card) => !card.hidden);

  function show(card) {
    const shown = listShown();
    current = card;
    find("viewer-name").textContent = card.dataset.name;
    find("viewer-place").textContent = `${shown.indexOf(card) + 1} of ${shown.length}`;
    find("viewer-panes").replaceChildren(...Array.from(card.querySelectorAll(".pane"), enlarge));
    const about = card.querySelectorAll(".problem, .film, .facts, .files");
    find("viewer-facts").replaceChildren(...Array.from(about, (part) => part.cloneNode(true)));
    if (!viewer.open) viewer.showModal();
  }

  function enlarge(pane, index) {
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    caption.textContent = titles[index];
    figure.append(pane.cloneNode(true), caption);
    return figure;
  }

  function step(by) {
    const shown = listShown();
    show(shown[(shown.indexOf(current) + by + shown.length) % shown.length]);
  }

  controls.hidden = false;
  controls.addEventListener("input", arrange);
  controls.addEventListener("submit", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const button = event.target.closest(".triplet");
    if (button) show(button.closest(".card"));
  });
  find("before").addEventListener("click", () => step(-1));
  find("after").addEventListener("click", () => step(1));
  find("close").addEventListener("click", () => viewer.close());
  viewer.addEventListener("click", (event) => { if (event.target === viewer) viewer.close(); });
  viewer.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") step(-1);
    else if (event.key === "ArrowRight") step(1);
    else return;
    event.preventDefault();
  });
  // Where the reader stopped is where the page goes on.
  viewer.addEventListener("close", () => {
    current.scrollIntoView({ block: "nearest" });
    current.querySelector(".triplet").focus();
  });
  arrange();  // a reloaded page keeps what was chosen in its form
})();
