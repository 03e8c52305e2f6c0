// The composer: grows with its text, keeps drafts, attaches by button, drop and paste, sends.

import { completion } from "./complete.js";
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

// `sent()` is called when something was said. Gives what takes words back that were not told.
export function composer(chat, sent) {
  const form = document.getElementById("say");
  if (!form) return;
  const text = document.getElementById("text");
  const files = document.getElementById("files");
  const chosen = document.getElementById("chosen");
  const bar = document.getElementById("sending");
  const button = document.getElementById("send");
  const session = chat.dataset.session;
  const draft = `weir-draft-${session ?? "new"}`;
  let attached = [];
  let returned = "";
  const said = memory(session);
  const mine = new Set();
  const isTouch = matchMedia("(pointer: coarse)").matches;
  const isForList = completion(
    text, document.getElementById("completions"),
    session ? `/chats/${session}/complete` : "/complete",
  );

  function keep() {
    try {
      if (text.value) localStorage.setItem(draft, text.value);
      else localStorage.removeItem(draft);
    } catch {
      // A browser that keeps nothing has no drafts.
    }
  }

  function grow() {
    if (CSS.supports("field-sizing", "content")) return;
    text.style.height = "auto";
    text.style.height = `${Math.min(text.scrollHeight, innerHeight * 0.4)}px`;
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
        attached.splice(n, 1);
        list();
        text.focus();
      });
      item.append(name, away);
      return item;
    }));
  }

  function attach(more) {
    attached.push(...more);
    if (attached.length > FILES_MAX) {
      trouble(`A message can have at most ${FILES_MAX} files.`);
      attached.length = FILES_MAX;
    }
    list();
  }

  function ready() {
    button.disabled = !text.value.trim() && attached.length === 0;
  }

  async function send() {
    if (button.disabled || form.ariaBusy === "true") return;
    const data = new FormData(form);
    data.delete("files");
    for (const file of attached) data.append("files", file, file.name);
    form.ariaBusy = "true";
    bar.hidden = attached.length === 0;
    mine.add(data.get("client_id"));
    if (session) said.set(data.get("client_id"), false);
    try {
      const to = await upload(form.dataset.action, data, (share) => (bar.value = share));
      trouble(null);
      text.value = "";
      attached = [];
      keep();
      if (to) return location.assign(to);
      form.elements.client_id.value = name();
      list();
      grow();
      sent();
    } catch (error) {
      // The name of the input stays: sent again it is said once.
      trouble(error.message);
    } finally {
      form.ariaBusy = "false";
      bar.hidden = true;
      bar.value = 0;
      ready();
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  text.addEventListener("keydown", (event) => {
    if (event.isComposing || isForList(event) || event.key !== "Enter") return;
    const wanted = event.ctrlKey || event.metaKey || (!event.shiftKey && !event.altKey && !isTouch);
    if (!wanted) return;
    event.preventDefault();
    send();
  });
  text.addEventListener("input", () => {
    keep();
    grow();
    ready();
  });
  files.addEventListener("change", () => {
    attach([...files.files]);
    files.value = "";
    ready();
  });
  text.addEventListener("paste", (event) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (!pasted.length) return;
    event.preventDefault();
    attach(pasted);
    ready();
  });
  const isFiles = (event) => event.dataTransfer?.types.includes("Files");
  chat.addEventListener("dragover", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    chat.classList.add("drop");
  });
  chat.addEventListener("dragleave", (event) => {
    if (!chat.contains(event.relatedTarget)) chat.classList.remove("drop");
  });
  chat.addEventListener("drop", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    chat.classList.remove("drop");
    attach([...event.dataTransfer.files]);
    ready();
    text.focus();
  });

  try {
    if (!text.value) text.value = localStorage.getItem(draft) ?? "";
  } catch {
    // No drafts.
  }
  document.documentElement.classList.add("scripted");
  grow();
  ready();
  if (!isTouch && !location.hash) text.focus({ preventScroll: true });

  // What waited and will not be told comes back, the first one first, before what is being written.
  // `others`: also what another tab of this browser said, which may be closed by now.
  return function takeBack(others) {
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
    const since = isBehind ? stands.slice(before.length) : stands;
    returned = before + words.join("\n");
    const moved = returned.length + 1 - before.length;
    const [start, end] = [text.selectionStart, text.selectionEnd];
    text.value = since ? `${returned}\n${since}` : returned;
    if (since) text.setSelectionRange(start + moved, end + moved);
    else text.setSelectionRange(returned.length, returned.length);
    keep();
    grow();
    ready();
    return true;
  };
}
