// The theme that was chosen, before anything is painted. A classic script on purpose: it runs
// while the head is read, so a page never flashes in the other theme. Nothing else belongs here.
"use strict";
(() => {
  try {
    const chosen = localStorage.getItem("weir-theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing: its own preference counts.
  }
})();
