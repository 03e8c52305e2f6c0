// The chats at the side: filled where the page came without them, found while words are typed, and
// renamed where they stand. Without it the links lead to pages that do the same.

import { fragment } from "./html.js";
import { post, trouble } from "./send.js";

const WAIT_MS = 200;

const list = document.getElementById("side-list");
const here = document.getElementById("chat")?.dataset.session ?? "";

let turn = 0;

async function fill(words = "") {
  const now = (turn += 1);
  const query = new URLSearchParams({ q: words });
  if (here) query.set("here", here);
  // Whoever is signed out meanwhile is led to another page: that is no list.
  const answer = await fetch(`/chat-list?${query}`, { redirect: "manual" });
  if (!answer.ok) return;
  const parts = fragment(await answer.text());
  // An answer that was overtaken is for words of before.
  if (now !== turn) return;
  if (words && !parts.firstElementChild) {
    const none = document.createElement("li");
    none.className = "muted none";
    none.textContent = "No chat found";
    parts.append(none);
  }
  list.replaceChildren(parts);
}

function find() {
  const field = document.getElementById("side-q");
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => fill(field.value.trim()).catch(() => {}), WAIT_MS);
  };
  field.addEventListener("input", later);
  // What was typed before this script was there.
  if (field.value !== field.defaultValue) later();
}

// A field in the place of the name; Enter keeps what is written, Escape what was there.
function rename(item) {
  const link = item.querySelector("a");
  const name = link.querySelector("span");
  const field = document.createElement("input");
  field.value = name.textContent;
  field.maxLength = 120;
  field.setAttribute("aria-label", "New name of this chat");
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    field.remove();
    link.hidden = false;
    link.focus();
  };
  const keep = async () => {
    const title = field.value.trim();
    end();
    if (!title || title === name.textContent) return;
    try {
      await post(`/chats/${item.dataset.chat}/rename`, { title });
      name.textContent = title;
      link.title = title;
      if (item.dataset.chat === here) document.querySelector(".chat-head h1").textContent = title;
    } catch (error) {
      trouble(error.message);
    }
  };
  field.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") keep();
    else if (event.key === "Escape") end();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  field.addEventListener("blur", keep);
  link.hidden = true;
  link.before(field);
  field.focus();
  field.select();
}

export function side() {
  if (document.getElementById("side").hasAttribute("data-fill")) fill().catch(() => {});
  find();
  list.addEventListener("click", (event) => {
    const link = event.target.closest("a.rename");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    rename(link.closest("li"));
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "F2") return;
    event.preventDefault();
    rename(event.target.closest("li"));
  });
}
