// The composer: grows with its text, keeps drafts, attaches by button, drop and paste, sends.
//
// What is sent leaves the box at once, so that the next words can be written while it is on its way. It
// comes back in front of them if it does not arrive. A message keeps its name until it is known to be
// said: the server says a name once, however often it is sent.

import { completion } from "./complete.js";
import { draftOf, forgetOldFiles, keepFiles, keptFiles, soon } from "./draft.js";
import { joined, showOutgoing, since, tryOf } from "./outgoing.js";
import { trouble, upload } from "./send.js";

const FILES_MAX = 50;
const SAID_MAX = 50;

// A name that no other message has: sent twice under it, a message is said once.
function name() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// What this browser said in a chat, by name, and whether its words came back into the composer.
function memory(session) {
  const key = `weir-said-${session}`;
  const read = () => {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? [];
    } catch {
      return [];
    }
  };
  return {
    of: (name) => read().find((one) => one.name === name),
    set(name, back) {
      const others = read().filter((one) => one.name !== name);
      try {
        localStorage.setItem(key, JSON.stringify([...others, { name, back }].slice(-SAID_MAX)));
      } catch {
        // A browser that keeps nothing shows the words where they waited.
      }
    },
  };
}

// What a message in the box is known by. `first`: what was sent under this name before, and may have arrived.
const unsaid = (first = null, known = name()) => ({ name: known, first });

// Whether the chat shows it as said.
const isSaid = (known) =>
  [...document.querySelectorAll("#log [data-said], #queue [data-said]")].some((item) => item.dataset.said === known);

// `sent()` is called when something was said, `tell(words)` for those who listen. Gives what takes words
// back that were not told, and what looks whether the chat shows something as said.
export function composer(chat, { sent, tell }) {
  const form = document.getElementById("say");
  if (!form) return {};
  const text = document.getElementById("text");
  const files = document.getElementById("files");
  const chosen = document.getElementById("chosen");
  const bar = document.getElementById("sending");
  const button = document.getElementById("send");
  const session = chat.dataset.session;
  const said = memory(session);
  const mine = new Set();
  const isTouch = matchMedia("(pointer: coarse)").matches;
  const isForList = completion(
    text, document.getElementById("completions"),
    session ? `/chats/${session}/complete` : "/complete",
  );
  let draft = draftOf(session);
  // The message in the box, that on its way, and whether the page goes to the chat that began.
  let now = unsaid(), out = null, leaves = false;
  let attached = [], kept = Promise.resolve(), isRestored = false;
  // The names under which files are kept that are not here yet: a reload meanwhile must find them.
  let awaited = [];
  let returned = "", isComposing = false, isWanted = false;

  function keep() {
    const way = out && { name: out.name, first: out.first ?? tryOf(out), text: out.text };
    const isEmpty = !text.value && !attached.length && !awaited.length && !way;
    draft.write(isEmpty ? null : { text: text.value, ...now, hasFiles: attached.length > 0, awaited, out: way });
  }

  function grow() {
    if (CSS.supports("field-sizing", "content")) return;
    text.style.height = "auto";
    text.style.height = `${Math.min(text.scrollHeight, innerHeight * 0.4)}px`;
  }

  function ready() {
    button.disabled = Boolean(out) || leaves || (!text.value.trim() && attached.length === 0);
  }

  function changed() {
    keep();
    grow();
    ready();
  }

  // Words in the box, with the cursor where it was in what was written there since.
  function write(words, stays = "") {
    const [start, end] = [text.selectionStart, text.selectionEnd];
    const moved = words.length - text.value.length;
    text.value = words;
    if (stays) text.setSelectionRange(start + moved, end + moved);
    else text.setSelectionRange(words.length, words.length);
    changed();
  }

  function list() {
    chosen.hidden = attached.length === 0;
    chosen.replaceChildren(...attached.map((file, n) => {
      const item = document.createElement("li");
      if (file.type.startsWith("image/")) {
        const picture = document.createElement("img");
        picture.src = URL.createObjectURL(file);
        picture.alt = "";
        picture.addEventListener("load", () => URL.revokeObjectURL(picture.src));
        item.append(picture);
      }
      const name = document.createElement("span");
      name.textContent = file.name;
      const away = document.createElement("button");
      away.type = "button";
      away.className = "icon-button";
      away.textContent = "×";
      away.setAttribute("aria-label", `Remove ${file.name}`);
      away.addEventListener("click", () => {
        attach(attached.filter((_, at) => at !== n));
        text.focus();
      });
      item.append(name, away);
      return item;
    }));
  }

  // The files of the message in the box are these.
  function attach(all) {
    if (all.length > FILES_MAX) trouble(`A message can have at most ${FILES_MAX} files.`);
    attached = all.slice(0, FILES_MAX);
    list();
    changed();
    kept = keepFiles(now.name, attached);
  }

  // The box is empty: what is written next is another message.
  function empty() {
    now = unsaid();
    attached = [];
    returned = "";
    list();
    write("");
  }

  async function send() {
    if (button.disabled) return;
    if (!isRestored) {
      // A draft comes with its files, which take a moment: it is sent when it is whole.
      isWanted = true;
      return;
    }
    const data = new FormData(form);
    const way = { ...now, text: text.value, files: attached, stop: new AbortController() };
    out = way;
    data.set("client_id", way.name);
    data.delete("files");
    for (const file of way.files) data.append("files", file, file.name);
    mine.add(way.name);
    if (session) said.set(way.name, false);
    empty();
    bar.hidden = way.files.length === 0;
    form.ariaBusy = "true";
    // The button has nothing to send now: keys go on into the box.
    if (document.activeElement === button && !isTouch) text.focus();
    const hide = showOutgoing(way, chosen, { tell, takeBack: () => way.stop.abort() });
    try {
      const progress = (share) => (bar.value = share);
      const { to, isRepeat } = await upload(form.dataset.action, data, { progress, stop: way.stop.signal });
      await arrived(way, isRepeat, to);
    } catch (error) {
      await composed();
      out = null;
      if (isSaid(way.name)) await arrived(way, true, null);
      else putBack(way, error);
    } finally {
      if (hide()) text.focus();
      form.ariaBusy = "false";
      bar.hidden = true;
      bar.value = 0;
      ready();
    }
  }

  // It is said. Where the server knew an earlier try, what was changed since is not.
  async function arrived(way, isRepeat, to) {
    const rest = isRepeat && way.first ? since(way, way.first) : { text: "", files: [] };
    await composed();
    out = null;
    trouble(null);
    if (way.files.length) keepFiles(way.name, []);
    const isLeft = rest.text || rest.files.length;
    if (rest.text) write(joined(rest.text, text.value), text.value);
    if (rest.files.length) attach([...rest.files, ...attached]);
    if (isLeft) trouble("An earlier version of this message was sent already. What you changed is in the box.");
    if (to && !session) return follow(to);
    keep();
    sent();
  }

  // To the chat that began, with what was written meanwhile and is written until it is there.
  async function follow(to) {
    leaves = true;
    ready();
    const old = draft;
    draft = draftOf(new URL(to, location.href).pathname.split("/")[2]);
    old.write(null);
    keep();
    await soon(kept);
    location.assign(to);
  }

  // Nobody has it, or nobody knows: it stands in the box again, before what was written meanwhile.
  function putBack(way, { message, unsure }) {
    trouble(message);
    const later = now.name;
    now = unsaid(way.first ?? (unsure ? tryOf(way) : null), way.name);
    write(joined(way.text, text.value), text.value);
    if (!attached.length && !way.files.length) return;
    attach([...way.files, ...attached]);
    keepFiles(later, []);
  }

  // Whoever composes a letter is not disturbed.
  function composed() {
    if (!isComposing) return Promise.resolve();
    return new Promise((resolve) => text.addEventListener("compositionend", () => setTimeout(resolve), { once: true }));
  }

  // A message of which it was not known whether it arrived, and the chat shows it.
  async function settle() {
    if (out || !now.first || !isSaid(now.name)) return;
    await composed();
    if (out || !now.first) return;
    const way = { ...now, text: text.value, files: attached };
    const rest = since(way, now.first);
    now = unsaid();
    if (way.files.length) {
      keepFiles(way.name, []);
      attach(rest.files);
    }
    write(rest.text, rest.text);
    trouble(null);
  }

  // What was not said when the page went, in front of what was typed before this script was there.
  async function restore() {
    const found = draft.read();
    if (found) {
      const { out: way, hasFiles } = found;
      // Two tabs that have the same draft say two messages. Only what may have arrived keeps its name.
      const known = way ?? (found.first && found);
      if (known) now = unsaid(known.first, known.name);
      const words = joined(way?.text ?? "", found.text);
      const typed = text.value;
      awaited = [...new Set([way?.name, hasFiles && found.name, ...(found.awaited ?? [])])].filter(Boolean);
      if (!typed.startsWith(words)) write(joined(words, typed), typed);
      await soon(bringFiles(found, known));
      await settle();
    }
    isRestored = true;
    changed();
    forgetOldFiles();
    if (isWanted) send();
  }

  // The kept files of a draft. They may come when the box is in use already.
  async function bringFiles(found, known) {
    const all = await Promise.all(awaited.map(async (name) => {
      const files = await keptFiles(name);
      // `settle` sees to the message that is in the box when it is restored.
      if (!isSaid(name) || (name === now.name && !isRestored)) return files;
      return name === known?.name && known.first ? since({ text: "", files }, known.first).files : [];
    }));
    const files = all.flat();
    awaited = [];
    if (files.length) attach([...files, ...attached]);
    else keep();
    if (found.isOwn && found.hasFiles && found.name !== now.name) keepFiles(found.name, []);
    if (files.length && isRestored) tell("The files of your draft are attached again.");
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  text.addEventListener("compositionstart", () => (isComposing = true));
  text.addEventListener("compositionend", () => (isComposing = false));
  text.addEventListener("keydown", (event) => {
    // Safari ends the composition before it tells of the key: 229 says that it was for that.
    if (event.isComposing || event.keyCode === 229) return;
    if (isForList(event) || event.key !== "Enter") return;
    const wanted = event.ctrlKey || event.metaKey || (!event.shiftKey && !event.altKey && !isTouch);
    if (!wanted) return;
    event.preventDefault();
    if (!event.repeat) send();
  });
  text.addEventListener("input", () => {
    // Whoever writes on has more to say first.
    isWanted = false;
    // Whoever takes everything out writes another message.
    if (!text.value && !attached.length) now = unsaid();
    changed();
  });
  files.addEventListener("change", () => {
    attach([...attached, ...files.files]);
    files.value = "";
  });
  text.addEventListener("paste", (event) => {
    const { types = [], files: pasted = [] } = event.clipboardData ?? {};
    const words = event.clipboardData?.getData("text/plain") ?? "";
    // Programs that copy cells or formatted words add a picture of them: the words are meant.
    const isWords = words && types.includes("text/html");
    if (pasted.length && !isWords) {
      event.preventDefault();
      attach([...attached, ...pasted]);
    } else if (text.value.length + words.length > text.maxLength) {
      event.preventDefault();
      attach([...attached, new File([words], "pasted.txt", { type: "text/plain" })]);
      tell("The text is too long for the box: it is attached as a file.");
    }
  });
  // Anywhere on the page: what misses the box would open in the place of the page.
  const isFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    chat.classList.add("drop");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) chat.classList.remove("drop");
  });
  document.addEventListener("drop", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    chat.classList.remove("drop");
    // A folder has no bytes: a message with one could never be sent.
    const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    const all = [...event.dataTransfer.files];
    const dropped = all.filter((_, at) => !items[at]?.webkitGetAsEntry?.()?.isDirectory);
    attach([...attached, ...dropped]);
    if (dropped.length < all.length) trouble("A folder cannot be attached: drop the files that are in it.");
    text.focus();
  });
  // Back on the page from which a chat began: it begins another one.
  addEventListener("pageshow", (event) => {
    if (!event.persisted || !leaves) return;
    leaves = false;
    draft = draftOf(session);
    empty();
  });

  document.documentElement.classList.add("scripted");
  grow();
  ready();
  restore();
  if (!isTouch && !location.hash) text.focus({ preventScroll: true });

  // What waited and will not be told comes back, the first one first, before what is being written.
  // `others`: also what another tab of this browser said, which may be closed by now.
  function takeBack(others) {
    if (isComposing) {
      composed().then(() => takeBack(others));
      return false;
    }
    const words = [];
    for (const item of document.querySelectorAll("#queue [data-returned]:not([hidden])")) {
      const known = said.of(item.dataset.returned);
      if (!known || (!others && !mine.has(known.name))) continue;
      if (!known.back) words.push(item.dataset.words);
      said.set(item.dataset.returned, true);
      // Pictures and files cannot be put back: they stay in sight.
      if (!item.querySelector(".picture, .file")) item.hidden = true;
    }
    if (!words.length) return false;
    // They come one by one: the next one stands behind those that came before it.
    const stands = text.value;
    const isBehind = returned && (stands === returned || stands.startsWith(`${returned}\n`));
    const before = isBehind ? `${returned}\n` : "";
    const rest = isBehind ? stands.slice(before.length) : stands;
    returned = before + words.join("\n");
    write(joined(returned, rest), rest);
    return true;
  }
  return { takeBack, settle };
}
