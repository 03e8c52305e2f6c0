// Suggestions while somebody types: commands after "/", files after "@". A listbox that the text
// field owns (aria-activedescendant): focus never leaves the field.

const WAIT_MS = 120;

export function completion(field, list, address) {
  let offers = [], of = null, at = -1, start = 0, asked = 0, timer;

  // A text area stays a text box: no other role is allowed for one of several lines.
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  hide();

  // The word before the cursor, if it begins with a sign that has suggestions.
  function word() {
    const text = field.value.slice(0, field.selectionStart);
    const found = /(?:^|\s)(@[^\s@]*)$/.exec(text) ?? /^(\/[\w:.-]*)$/.exec(text);
    if (!found || field.selectionStart !== field.selectionEnd) return null;
    start = text.length - found[1].length;
    return found[1];
  }

  function hide() {
    offers = [];
    at = -1;
    list.hidden = true;
    list.replaceChildren();
    field.removeAttribute("aria-activedescendant");
  }

  function mark(n) {
    at = (n + offers.length) % offers.length;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    field.setAttribute("aria-activedescendant", `offer-${at}`);
    list.children[at].scrollIntoView({ block: "nearest" });
  }

  function show() {
    if (!offers.length) return hide();
    list.replaceChildren(...offers.map((offer, n) => {
      const item = document.createElement("li");
      item.id = `offer-${n}`;
      item.setAttribute("role", "option");
      const name = document.createElement("span");
      name.className = "mono";
      name.textContent = offer.name;
      const about = document.createElement("span");
      about.className = "muted";
      about.textContent = offer.about;
      item.append(name, about);
      // Before the field loses its focus.
      item.addEventListener("mousedown", (event) => {
        event.preventDefault();
        take(n);
      });
      return item;
    }));
    list.hidden = false;
    mark(0);
  }

  function take(n) {
    const { insert } = offers[n];
    hide();
    // As if it was typed: only then it can be undone, and what was typed before.
    field.setSelectionRange(start, field.selectionStart);
    if (document.execCommand("insertText", false, insert)) return;
    field.setRangeText(insert, start, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  async function look() {
    const typed = word();
    const mine = ++asked;
    if (typed === null) return hide();
    try {
      const answer = await fetch(`${address}?word=${encodeURIComponent(typed)}`);
      const found = answer.ok ? await answer.json() : [];
      if (mine !== asked) return;
      offers = found;
      of = typed;
      show();
    } catch {
      hide();
    }
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    // What is on its way is for a word of before.
    asked += 1;
    if (word() === null) hide();
    timer = setTimeout(look, WAIT_MS);
  });
  field.addEventListener("blur", hide);

  // Whether the key was for the list.
  return (event) => {
    if (list.hidden) return false;
    const typed = word();
    // The cursor may stand elsewhere by now: then the key is for the text.
    if (typed === null) {
      hide();
      return false;
    }
    const isTake = event.key === "Enter" || event.key === "Tab";
    // Whoever types faster than suggestions come means what they typed.
    if (isTake && typed !== of) {
      clearTimeout(timer);
      // What was typed since the key is another word, for which nothing was taken.
      look().then(() => offers.length && of === typed && word() === typed && take(at));
    } else if (event.key === "ArrowDown") mark(at + 1);
    else if (event.key === "ArrowUp") mark(at - 1);
    else if (isTake) take(at);
    else if (event.key === "Escape") hide();
    else return false;
    event.preventDefault();
    return true;
  };
}
