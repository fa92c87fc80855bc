// Elements of the page.

export function make(kind, className = "", text = "") {
  const element = document.createElement(kind);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}
