// The frame of every page: theme switch, counts in the navigation, messages that go away, forms
// that ask first, moments in the reader's own time. Everything here also works without it, slower.

import { format, later } from "./html.js";

const root = document.documentElement;
const NOT_NOW =
  "The server is temporarily unavailable. It resumes by itself.";

function theme() {
  const button = document.getElementById("theme");
  if (!button) return;
  const dark = () =>
    root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => {
    const word = dark() ? "Use the light theme" : "Use the dark theme";
    button.setAttribute("aria-label", word);
    button.title = word;
  };
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("weir-theme", root.dataset.theme);
    } catch {
      // It then holds for this page.
    }
    label();
  });
}

function show(counts) {
  for (const badge of document.querySelectorAll("[data-count]")) {
    const count = counts[badge.dataset.count] ?? 0;
    badge.textContent = count > 99 ? "99+" : String(count);
    badge.hidden = count === 0;
    const more = badge.nextElementSibling;
    if (more?.classList.contains("unseen")) more.textContent = count ? ` (${count})` : "";
  }
  bar("paused", counts.paused);
  bar("amiss", counts.amiss);
}

// Said once: a screen reader would read the same words again.
function bar(id, words) {
  const box = document.getElementById(id);
  const text = box?.querySelector("p");
  if (!box || (!box.hidden && text.textContent === words)) return;
  box.hidden = !words;
  text.textContent = words ?? "";
}

let looks = 0;

// How many approvals wait, how many notices are unread, whether work is paused or cannot be done.
async function counts() {
  if (document.hidden || !document.querySelector("[data-count]")) return;
  const now = (looks += 1);
  try {
    const answer = await fetch("/frame", { headers: { accept: "application/json" } });
    const told = answer.ok && !answer.redirected ? await answer.json() : null;
    // An answer that was overtaken tells how it was before.
    if (now !== looks) return;
    if (told) show(told);
    else if (answer.status === 503) bar("amiss", NOT_NOW);
  } catch {
    // The next look finds it out.
  }
}

// A form with data-confirm is sent after its question was answered.
function questions() {
  document.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.confirm ?? event.target.dataset?.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });
}

// How long a form that was sent takes no second press, unless its page comes back before.
const SENT_MS = 10_000;

// A form is sent once: pressed twice on a slow line, it would be done twice. Last of all, so that it is
// known whether a script sends it.
function once() {
  const sent = new Set();
  addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (sent.has(form)) return event.preventDefault();
    sent.add(form);
    setTimeout(() => sent.delete(form), SENT_MS);
  });
  addEventListener("pageshow", () => sent.clear());
}

// Absolute times are the server's, in UTC; here they become the reader's own.
export function moments(within = document) {
  for (const time of within.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.valueOf())) time.title = format(at, { dateStyle: "medium", timeStyle: "short" });
  }
}

// The chats at the side and Ctrl+K: loaded where they are of use.
function chats() {
  if (!document.getElementById("side")) return;
  import("./side.js").then(({ side }) => side()).catch(() => {});
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    if (event.shiftKey || event.altKey) return;
    event.preventDefault();
    import("./goto.js").then(({ open }) => open()).catch(() => {});
  });
}

theme();
chats();
questions();
once();
later(() => moments());
counts();
setInterval(counts, 30_000);
document.addEventListener("visibilitychange", counts);
document.addEventListener("weir:counts", counts);
