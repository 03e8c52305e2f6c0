// What waits for a person, as dialogs: one at a time, focus goes in and comes back. Escape puts it
// off: it then stays in the page, above the composer.

let before = null;

function shown() {
  return document.querySelector("#asks dialog:modal");
}

// Shows the first that was not put off.
export function showAsks() {
  if (shown()) return;
  const next = document.querySelector("#asks dialog[data-ask]:not([data-later])");
  if (!next) {
    if (before?.isConnected && document.activeElement === document.body) before.focus();
    before = null;
    return;
  }
  before ??= document.activeElement;
  next.close();
  next.showModal();
  next.addEventListener("close", () => {
    if (!next.isConnected) return;
    next.dataset.later = "";
    next.setAttribute("open", "");
    showAsks();
  }, { once: true });
}

// A dialog that was answered, here or elsewhere, goes away.
export function unask(dialog) {
  if (dialog.matches(":modal")) dialog.close();
  dialog.remove();
  showAsks();
}
