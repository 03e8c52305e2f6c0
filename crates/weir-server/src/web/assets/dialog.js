// What waits for a person, as dialogs: one at a time, focus goes in and comes back. Escape puts one
// off: it then stays in the page, above the composer, with its buttons.
//
// Nothing is answered by accident: a question takes no answer before it has been shown for half a
// second in which no key was pressed, no button has the focus by itself, and no dialog opens over
// words that somebody is writing. Not here: sending the answer.

// The terminal face waits as long.
const QUIET_MS = 500;

let before = null;
let lastKey = -Infinity;
let retry = 0;

addEventListener("keydown", () => (lastKey = performance.now()), { capture: true });
// Whoever wrote is done: what waited in the page comes forward, but not from under a finger.
addEventListener("focusout", () => later(QUIET_MS));
// One answer does not press what takes the place of its button.
addEventListener("submit", (event) => event.target.closest("[data-ask]") && setTimeout(guardAgain), {
  capture: true,
});

function shown() {
  return document.querySelector("#asks dialog:modal");
}

function later(wait) {
  clearTimeout(retry);
  retry = setTimeout(showAsks, wait);
}

// Whether a dialog would take the keys of somebody who writes, or is about to answer in the page.
function writing() {
  const field = document.activeElement;
  if (field?.closest("[data-ask]")) return true;
  if (!field?.matches("textarea, input, [contenteditable]")) return false;
  return Boolean(field.value) || performance.now() - lastKey < QUIET_MS;
}

// Shows the first that was not put off.
export function showAsks() {
  guardAsks();
  if (shown()) return;
  const next = document.querySelector("#asks dialog[data-ask]:not([data-later])");
  if (!next) {
    if (before?.isConnected && document.activeElement === document.body) before.focus();
    before = null;
    return;
  }
  if (writing()) return later(QUIET_MS);
  before ??= document.activeElement;
  // `close()` would tell of it later, when somebody listens.
  next.removeAttribute("open");
  next.showModal();
  next.querySelector("h2").focus();
  guard(next);
  next.addEventListener("close", () => {
    if (!next.isConnected) return;
    next.dataset.later = "";
    next.setAttribute("open", "");
    showAsks();
  }, { once: true });
}

// Holds back the buttons of every question that is new here.
export function guardAsks() {
  for (const ask of document.querySelectorAll("[data-ask]:not([data-guarded])")) guard(ask);
}

// Holds back the buttons of all questions once more: what is below a finger changes.
export function guardAgain() {
  for (const ask of document.querySelectorAll("[data-ask]")) guard(ask);
}

function guard(ask) {
  const from = performance.now();
  // A newer guard of the same question outlasts this one.
  const turn = (ask.dataset.guarded = String(from));
  const buttons = ask.querySelectorAll("button[type=submit]");
  for (const button of buttons) button.disabled = true;
  const release = () => {
    if (ask.dataset.guarded !== turn) return;
    const quiet = performance.now() - Math.max(from, lastKey);
    if (quiet < QUIET_MS) return setTimeout(release, QUIET_MS - quiet);
    for (const button of buttons) button.disabled = false;
  };
  setTimeout(release, QUIET_MS);
}

// A dialog that was answered, here or elsewhere, goes away.
export function unask(dialog) {
  if (dialog.matches(":modal")) dialog.close();
  dialog.remove();
  // On a slow line it goes long after it was answered. Behind a dialog nothing can be pressed.
  if (!shown()) guardAgain();
  showAsks();
}
