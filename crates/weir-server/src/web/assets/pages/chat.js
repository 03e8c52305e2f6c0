// The chat page: puts what the server sends into its place, and keeps the reader where they read.

import { composer } from "../composer.js";
import { showAsks, unask } from "../dialog.js";
import { fragment, localTimes } from "../html.js";
import { post, trouble } from "../send.js";
import { listen } from "../socket.js";

const NEAR_PX = 140;
const OTHER_TAB_MS = 800;

const chat = document.getElementById("chat");
const log = document.getElementById("log");
const said = document.getElementById("said");
const toEnd = document.getElementById("to-end");
let seq = Number(chat.dataset.seq ?? 0);

const page = document.scrollingElement;
const isAtEnd = () => page.scrollHeight - page.scrollTop - innerHeight < NEAR_PX;
const goToEnd = () => page.scrollTo({ top: page.scrollHeight });

// Words for those who listen: few, and never while text streams.
function tell(words) {
  said.textContent = "";
  requestAnimationFrame(() => (said.textContent = words));
}

// Whether a details element was opened by hand stays so when its row changes.
function keepOpen(old, fresh) {
  const before = old.querySelectorAll("details");
  fresh.querySelectorAll("details").forEach((details, n) => {
    if (before[n]) details.open = before[n].open;
  });
  if (fresh.matches?.("details") && old.matches("details")) fresh.open = old.open;
}

const apply = {
  append({ id, html }) {
    const parts = fragment(html);
    localTimes(parts);
    const element = parts.firstElementChild;
    const known = element?.id && document.getElementById(element.id);
    if (known) known.replaceWith(parts);
    else document.getElementById(id)?.append(parts);
  },
  replace({ id, html }) {
    const old = document.getElementById(id);
    if (!old) return;
    const parts = fragment(html);
    localTimes(parts);
    if (parts.firstElementChild) keepOpen(old, parts.firstElementChild);
    old.replaceWith(parts);
  },
  remove({ id }) {
    const old = document.getElementById(id);
    if (old?.matches("dialog")) unask(old);
    else old?.remove();
  },
};

// What focus was in may be replaced: it goes to what took its place.
function keepFocus(act) {
  const focused = document.activeElement?.closest?.("[id]")?.id;
  const isSummary = document.activeElement?.matches?.("summary");
  act();
  if (!focused || document.activeElement !== document.body) return;
  const place = document.getElementById(focused);
  if (isSummary) place?.querySelector("summary")?.focus();
  else if (place?.matches("textarea, button")) place.focus();
}

// Words that were not told go to the tab that said them, or, a moment later, to any other.
function giveBack(others = false) {
  if (takeBack?.(others)) tell("Not sent: what waited is back in the message box.");
  else if (!others && document.querySelector("#queue [data-returned]:not([hidden])")) {
    setTimeout(giveBack, OTHER_TAB_MS, true);
  }
}

function tellOf(ops) {
  for (const { op, html } of ops) {
    if (op !== "append" || !html) continue;
    const end = /data-status="(\w+)"/.exec(html);
    if (end) tell(end[1] === "completed" ? "The answer is complete." : `The run ended: ${end[1]}.`);
  }
}

function patch({ seq: at, ops }) {
  const follows = isAtEnd();
  keepFocus(() => ops.forEach((op) => apply[op.op]?.(op)));
  if (at > seq) seq = at;
  tellOf(ops);
  settle();
  giveBack();
  showAsks();
  if (ops.some((op) => op.id === "asks" || op.op === "remove")) {
    document.dispatchEvent(new Event("weir:counts"));
  }
  if (follows) goToEnd();
  toEnd.hidden = isAtEnd();
}

// What of the composer depends on how the chat stands.
function settle() {
  const status = document.getElementById("status");
  if (!status) return;
  const running = status.dataset.running === "true";
  document.body.dataset.running = running;
  for (const name of ["model", "profile", "permission"]) {
    const field = document.getElementById(name);
    const value = status.dataset[name];
    if (!field || !value || field === document.activeElement || field.dataset.touched) continue;
    if (field.matches("select") && ![...field.options].some((option) => option.value === value)) {
      field.add(new Option(value, value));
    }
    field.value = value;
  }
  for (const button of log.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

// Forms that change the chat: sent from here, shown when the server says what came of them.
async function sendForm(event) {
  const form = event.target;
  if (!form.matches?.("form[data-live]") || event.defaultPrevented) return;
  event.preventDefault();
  const data = new FormData(form, event.submitter);
  form.ariaBusy = "true";
  try {
    await post(form.getAttribute("action"), data);
    trouble(null);
    if (form.id === "configure") document.getElementById("setup").open = false;
    if (form.id === "condense") form.reset();
    for (const field of form.querySelectorAll("[data-touched]")) delete field.dataset.touched;
  } catch (error) {
    trouble(error.message);
  } finally {
    form.ariaBusy = "false";
  }
}

async function copy(button) {
  const text = [...button.closest("li").querySelectorAll(".text")].map((part) => part.innerText);
  try {
    await navigator.clipboard.writeText(text.join("\n\n"));
    tell("Copied.");
    button.classList.add("did");
    setTimeout(() => button.classList.remove("did"), 1_200);
  } catch {
    trouble("The browser does not let the page copy.");
  }
}

async function older() {
  const first = log.querySelector("li.entry[id]");
  const link = document.getElementById("older");
  if (!first || !link) return false;
  const answer = await fetch(`/chats/${chat.dataset.session}/entries?before=${first.id}`);
  if (!answer.ok) return false;
  const { html, more } = await answer.json();
  const parts = fragment(html);
  localTimes(parts);
  const height = page.scrollHeight;
  log.prepend(parts);
  page.scrollTop += page.scrollHeight - height;
  link.textContent = `Show what came before (${more})`;
  if (!more) link.parentElement.remove();
  return true;
}

// A permalink may lead to an entry that is not shown yet.
async function goToLink() {
  const id = location.hash.slice(1);
  if (!/^e\d+$/.test(id)) return;
  while (!document.getElementById(id) && (await older()));
  const entry = document.getElementById(id);
  entry?.querySelector("details")?.setAttribute("open", "");
  entry?.scrollIntoView({ block: "center" });
}

function begin() {
  localTimes(log);
  settle();
  listen({
    session: chat.dataset.session,
    after: () => seq,
    state: (up) => (document.getElementById("lost").hidden = up),
    heard: (frame) => {
      if (frame.type === "patch") patch(frame);
      // What was being written when a line was lost comes again, or came to its end meanwhile.
      else if (frame.type === "hello") for (const part of log.querySelectorAll("[id^='live-']")) part.remove();
      else if (frame.type === "error" && frame.message) trouble(frame.message);
    },
  });
  document.addEventListener("submit", sendForm);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
    if (event.target.closest("#older")) {
      event.preventDefault();
      older();
    }
    const menu = document.querySelector("details.more[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("change", (event) => {
    if (event.target.closest("#configure")) event.target.dataset.touched = "";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const open = document.querySelector("details.more[open], details.setup[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    }
  });
  toEnd.addEventListener("click", goToEnd);
  addEventListener("scroll", () => (toEnd.hidden = isAtEnd()), { passive: true });
  addEventListener("hashchange", goToLink);
  showAsks();
  if (location.hash.startsWith("#e")) goToLink();
  else goToEnd();
}

const takeBack = composer(chat, () => requestAnimationFrame(goToEnd));
if (log) {
  begin();
  giveBack();
}
