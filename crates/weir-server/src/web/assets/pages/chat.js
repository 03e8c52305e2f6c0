// The chat page: puts what the server sends into its place, and keeps the reader where they read.

import { composer } from "../composer.js";
import { showAsks, unask } from "../dialog.js";
import { fragment, localTimes } from "../html.js";
import { get, post, trouble } from "../send.js";
import { listen } from "../socket.js";

const NEAR_PX = 140;
const OTHER_TAB_MS = 800;
// How long a choice is shown that the server took and the chat does not tell of.
const UNTOLD_MS = 5_000;
const SETTINGS = ["model", "profile", "permission", "thinking"];

const chat = document.getElementById("chat");
const log = document.getElementById("log");
const said = document.getElementById("said");
const toEnd = document.getElementById("to-end");
let seq = Number(chat.dataset.seq ?? 0);

const page = document.scrollingElement;
const isAtEnd = () => page.scrollHeight - page.scrollTop - innerHeight < NEAR_PX;
// Whether the reader is at the end: then they stay there, whatever grows. A picture that comes late
// moves nothing else.
let stays = true;
const goToEnd = () => {
  stays = true;
  page.scrollTo({ top: page.scrollHeight });
};

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
  if (takeBack?.(others)) tell("Not sent: your queued message is back in the box.");
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
  const follows = stays || isAtEnd();
  keepFocus(() => ops.forEach((op) => apply[op.op]?.(op)));
  if (at > seq) seq = at;
  tellOf(ops);
  copyButtons(log);
  settle();
  settleSaid?.();
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
  for (const name of SETTINGS) {
    const field = document.getElementById(name);
    const value = status.dataset[name];
    if (!field || !value || field === document.activeElement || "touched" in field.dataset) continue;
    if (field.dataset.before === value) continue;
    delete field.dataset.before;
    if (field.matches("select") && ![...field.options].some((option) => option.value === value)) {
      field.add(new Option(value.slice(value.indexOf("/") + 1), value));
    }
    field.value = value;
  }
  for (const button of log.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

// What was chosen here. The rest is as the chat has it, which may be otherwise by now than it is shown.
function chosen(form) {
  return SETTINGS.map((name) => form.elements[name]).filter((field) => field && "touched" in field.dataset);
}

// A choice that was taken stays in sight until the chat tells of it, which may be a moment later.
function holdChosen(form) {
  const status = document.getElementById("status");
  for (const field of chosen(form)) {
    const before = status?.dataset[field.name];
    if (!before || !field.value || field.value === before) continue;
    field.dataset.before = before;
    setTimeout(() => {
      delete field.dataset.before;
      settle();
    }, UNTOLD_MS);
  }
}

// Forms that change the chat: sent from here, shown when the server says what came of them.
async function sendForm(event) {
  const form = event.target;
  if (!form.matches?.("form[data-live]") || event.defaultPrevented) return;
  event.preventDefault();
  // Pressed twice, it is done once; what is chosen meanwhile is sent when this has arrived.
  if (form.ariaBusy === "true") {
    form.dataset.more = "";
    return;
  }
  const data = new FormData(form, event.submitter);
  if (form.id === "configure") {
    const sent = chosen(form).map((field) => field.name);
    for (const name of SETTINGS) if (!sent.includes(name)) data.delete(name);
  }
  form.ariaBusy = "true";
  delete form.dataset.more;
  let isTaken = false;
  try {
    await post(form.getAttribute("action"), data);
    isTaken = true;
    trouble(null);
    if (form.id === "configure") document.getElementById("setup").open = false;
    if (form.id === "configure") form.elements.other_model.value = "";
    if (form.id === "condense") form.reset();
  } catch (error) {
    trouble(error.message);
  } finally {
    form.ariaBusy = "false";
    if (form.id === "configure" && "more" in form.dataset) form.requestSubmit();
    else {
      if (form.id === "configure" && isTaken) holdChosen(form);
      for (const field of form.elements) delete field.dataset.touched;
    }
    // What was refused is not shown as if it held.
    settle();
  }
}

// An answer is copied as it was written, in Markdown; a block of code as it stands there.
async function textOf(button) {
  const code = button.closest(".code-block")?.querySelector("code");
  if (code) return code.textContent.replace(/\n$/, "");
  const answer = await get(`/chats/${chat.dataset.session}/source?entry=${button.closest("li").id}`);
  return answer.text();
}

async function copy(button) {
  let text;
  try {
    text = await textOf(button);
  } catch (error) {
    return trouble(error.message);
  }
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied.");
    button.classList.add("did");
    setTimeout(() => button.classList.remove("did"), 1_200);
  } catch {
    trouble("The browser does not allow this page to copy.");
  }
}

// Each block of code gets a button; it is of no use without scripts.
function copyButtons(within) {
  for (const block of within.querySelectorAll(".code-block:not(:has(.copy-code))")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.dataset.copy = "";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    block.append(button);
  }
}

// Other entries than those that are here, and how many stand before and after them.
async function entries(which) {
  const query = new URLSearchParams(which);
  let told;
  try {
    told = await (await get(`/chats/${chat.dataset.session}/entries?${query}`)).json();
  } catch (error) {
    trouble(error.message);
    return null;
  }
  const parts = fragment(told.html);
  localTimes(parts);
  copyButtons(parts);
  for (const button of parts.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  // What is here already stays as it is.
  for (const part of [...parts.children]) if (document.getElementById(part.id)) part.remove();
  return { ...told, parts };
}

function olderLeft(count) {
  const link = document.getElementById("older");
  if (!link) return;
  link.textContent = `Show earlier messages (${count})`;
  link.parentElement.hidden = !count;
}

async function older() {
  const first = log.querySelector("li.entry[id]");
  const told = first && (await entries({ before: first.id }));
  // As where a gap is closed: pressed twice, or a link led elsewhere meanwhile.
  if (!told || log.querySelector("li.entry[id]") !== first) return;
  const height = page.scrollHeight;
  log.prepend(told.parts);
  page.scrollTop += page.scrollHeight - height;
  olderLeft(told.more);
}

const gap = () => log.querySelector("li.gap");

// How many of the newest entries stand behind the gap, or in all where there is none.
const newest = () => log.querySelectorAll(gap() ? "li.gap ~ li[id^='e']" : "li[id^='e']").length;

// What is left out between the entries of a link and the newest: one button, until nothing is.
function leave(count) {
  if (count <= 0) return gap()?.remove();
  const words = `Show ${count} more`;
  if (gap()) return (gap().firstChild.textContent = words);
  const item = document.createElement("li");
  item.className = "gap";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn";
  button.textContent = words;
  button.addEventListener("click", closeGap);
  item.append(button);
  log.prepend(item);
}

async function closeGap() {
  const last = gap()?.previousElementSibling;
  const told = last && (await entries({ after: last.id }));
  // Pressed twice, or a link led elsewhere meanwhile: they would stand in the wrong place.
  if (!told || gap()?.previousElementSibling !== last) return;
  gap().before(told.parts);
  leave(told.newer - newest());
}

// The entries around a place that is not shown: they stand before the newest ones.
async function around(id) {
  const told = await entries({ around: id });
  if (!told) return null;
  stays = false;
  if (gap()) {
    while (gap().previousElementSibling) gap().previousElementSibling.remove();
    gap().remove();
  }
  const left = told.newer - newest();
  if (left > 0) leave(left);
  log.prepend(told.parts);
  olderLeft(told.more);
  return document.getElementById(told.at);
}

// A permalink may lead to an entry that is not shown yet.
async function goToLink() {
  const id = location.hash.slice(1);
  if (!/^e\d+$/.test(id)) return;
  stays = false;
  const entry = document.getElementById(id) ?? (await around(id));
  entry?.querySelector("details")?.setAttribute("open", "");
  entry?.scrollIntoView({ block: "center" });
}

const LOST = "Connection lost. Reconnecting…";

// A line that does not come back may be one that whoever is signed out cannot have.
async function showLost(up) {
  const box = document.getElementById("lost");
  const words = box.querySelector("p");
  if (up || box.hidden) words.textContent = LOST;
  box.hidden = up;
  if (up) return;
  const answer = await fetch("/frame", { redirect: "manual" }).catch(() => null);
  if (box.hidden || answer?.type !== "opaqueredirect" || words.querySelector("a")) return;
  const link = document.createElement("a");
  link.href = location.pathname;
  link.textContent = "Sign in";
  words.replaceChildren("You are signed out. ", link, " to go on: what you wrote in the box is kept.");
}

function begin() {
  localTimes(log);
  copyButtons(log);
  settle();
  new ResizeObserver(() => stays && goToEnd()).observe(log);
  listen({
    session: chat.dataset.session,
    after: () => seq,
    state: showLost,
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
    const field = event.target;
    if (field.form?.id !== "configure") return;
    field.dataset.touched = "";
    // What is chosen at the box holds at once.
    if (field.closest(".at-box")) field.form.requestSubmit();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const open = document.querySelector("details.more[open], details.setup[open]");
    if (open) {
      const isInside = open.contains(document.activeElement);
      open.open = false;
      // Whoever writes in the box stays there.
      if (isInside) open.querySelector("summary").focus();
    }
  });
  toEnd.addEventListener("click", goToEnd);
  addEventListener("scroll", () => (toEnd.hidden = stays = isAtEnd()), { passive: true });
  addEventListener("hashchange", goToLink);
  showAsks();
  if (location.hash.startsWith("#e")) goToLink();
  else goToEnd();
}

const { takeBack, settle: settleSaid } = composer(chat, { sent: () => requestAnimationFrame(goToEnd), tell });
if (log) {
  begin();
  giveBack();
}
