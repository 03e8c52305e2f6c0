// Pairs by the code that stands behind `#`: browsers send it nowhere. It is put into the field and taken out
// of the address, so that no history keeps it. Whoever holds the telephone presses the button.

const field = document.getElementById("code");

/** Takes the code over. Whatever else stands there goes too: a code has no letters that are encoded. */
function takeCode() {
  const typed = location.hash.slice(1);
  if (!typed) return;
  history.replaceState(null, "", location.pathname);
  if (/^[0-9A-Za-z-]{1,40}$/.test(typed)) field.value = typed;
}

takeCode();
// A newer code in the page that is open: the browser does not load it again.
addEventListener("hashchange", takeCode);
