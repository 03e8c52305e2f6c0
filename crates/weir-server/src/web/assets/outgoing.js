// A message on its way: where it is shown until the server has it, and what of it is not said where the
// server knew it from an earlier try. Not here: sending it (`send`), and the box (`composer`).

// A line as fast as most shows nothing: the message itself is there sooner.
const SHOWN_AFTER_MS = 400;

const idOf = (file) => `${file.name} ${file.size} ${file.lastModified}`;

// What is remembered of a try of which nobody knows whether it arrived.
export function tryOf({ text, files }) {
  return { text, files: files.map(idOf) };
}

// What a message has that an earlier try under its name had not. Words that were changed in their
// middle are all there once more: better than to guess which of them are new.
export function since({ text, files }, first) {
  const rest = text.startsWith(first.text) ? text.slice(first.text.length).trim() : text;
  return { text: rest, files: files.filter((file) => !first.files.includes(idOf(file))) };
}

// Words before other words, each in lines of their own.
export function joined(words, more) {
  return words && more ? `${words}\n${more}` : words || more;
}

// Shows a message above the box as long as it is on its way. `takeBack()`: its button was pressed.
// Gives what takes it away again.
export function showOutgoing({ text, files }, before, { tell, takeBack }) {
  const row = document.createElement("div");
  row.className = "queued outgoing";
  const badge = document.createElement("span");
  badge.className = "badge info";
  badge.textContent = "sending";
  const words = document.createElement("div");
  words.className = "text words";
  words.dir = "auto";
  words.textContent = [text.trim(), ...files.map((file) => file.name)].filter(Boolean).join("\n");
  const back = document.createElement("button");
  back.type = "button";
  back.className = "btn quiet";
  back.textContent = "Take back";
  back.addEventListener("click", takeBack);
  row.append(badge, words, back);
  const timer = setTimeout(() => {
    before.before(row);
    tell("Sending your message.");
  }, SHOWN_AFTER_MS);
  return () => {
    clearTimeout(timer);
    const isFocused = row.contains(document.activeElement);
    row.remove();
    return isFocused;
  };
}
