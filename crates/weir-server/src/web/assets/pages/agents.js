// Scheduled agents: the next times while a schedule is typed, and a history that follows the runs.
// Without it the form's own button shows the times, and reloading the page the history.

import { moments } from "../frame.js";
import { fragment } from "../html.js";

const WAIT_MS = 350;
const FOLLOW_MS = 3000;

function list(told) {
  const words = document.createElement("p");
  words.textContent = `${told.words}.`;
  const times = document.createElement("ol");
  times.className = "mono";
  for (const moment of told.read) {
    const line = document.createElement("li");
    line.textContent = moment;
    times.append(line);
  }
  return [words, times];
}

function notice(text) {
  const line = document.createElement("p");
  line.className = "notice warn";
  line.textContent = text;
  return [line];
}

// The schedule that is chosen, as cron, as the server makes it of the form.
function cronOf(form) {
  const [hour, minute] = (form.elements.at.value || "07:00").split(":").map(Number);
  switch (form.elements.preset.value) {
    case "hourly": return "0 * * * *";
    case "daily": return `${minute} ${hour} * * *`;
    case "weekdays": return `${minute} ${hour} * * 1-5`;
    case "weekly": return `${minute} ${hour} * * ${form.elements.weekday.value}`;
    case "monthly": return `${minute} ${hour} 1 * *`;
    case "custom": return form.elements.cron.value.trim();
    default: return "";
  }
}

async function look(form, zone, due) {
  const cron = cronOf(form);
  if (!cron) {
    due.replaceChildren();
    return;
  }
  const query = new URLSearchParams({ cron, timezone: zone.value });
  const answer = await fetch(`/api/v1/schedule?${query}`);
  const told = await answer.json();
  due.replaceChildren(...(answer.ok ? list(told) : notice(told.detail)));
}

function preview() {
  const [preset, zone, due, button] = ["preset", "timezone", "due", "look"].map((id) =>
    document.getElementById(id),
  );
  if (!preset || !zone || !due) return;
  if (button) button.hidden = true;
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => look(preset.form, zone, due).catch(() => {}), WAIT_MS);
  };
  const names = ["preset", "at", "weekday", "cron", "timezone"];
  for (const name of names) preset.form.elements[name].addEventListener("input", later);
}

// Only the history is made anew: what can be pressed beside it stays where it is.
async function lookAtRuns(head) {
  const name = location.pathname.split("/")[2];
  const answer = await fetch(`/api/v1/agents/${name}/runs?limit=50`);
  if (!answer.ok) return;
  const told = await answer.json();
  const now = told.items.map((run) => run.state.replaceAll("_", " ")).join();
  const seen = [...document.querySelectorAll("#runs .badge")].map((one) => one.textContent).join();
  if (now === seen) return;
  const page = await fetch(location.pathname, { redirect: "manual" });
  if (!page.ok) return;
  const runs = fragment(await page.text()).querySelector("#runs");
  const old = head.nextElementSibling;
  // Whoever is on a link of it by keyboard would lose the place.
  if (!runs || old.contains(document.activeElement)) return;
  moments(runs);
  old.replaceWith(runs);
}

function follow() {
  const head = document.getElementById("history");
  if (!head) return;
  // One look after the other: a late answer would show how it was before.
  const later = () => setTimeout(async () => {
    if (!document.hidden) await lookAtRuns(head).catch(() => {});
    later();
  }, FOLLOW_MS);
  later();
}

preview();
follow();
