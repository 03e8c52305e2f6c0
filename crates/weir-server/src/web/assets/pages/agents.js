// Scheduled agents: the next times while a schedule is typed, and a history that follows a run.
// Without it the form's own button shows the times, and reloading the page the history.

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

async function look(cron, zone, due) {
  if (!cron.value.trim()) {
    due.replaceChildren();
    return;
  }
  const query = new URLSearchParams({ cron: cron.value, timezone: zone.value });
  const answer = await fetch(`/api/v1/schedule?${query}`);
  const told = await answer.json();
  due.replaceChildren(...(answer.ok ? list(told) : notice(told.detail)));
}

function preview() {
  const [cron, zone, due, button] = ["cron", "timezone", "due", "look"].map((id) =>
    document.getElementById(id),
  );
  if (!cron || !zone || !due) return;
  if (button) button.hidden = true;
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => look(cron, zone, due).catch(() => {}), WAIT_MS);
  };
  cron.addEventListener("input", later);
  zone.addEventListener("input", later);
}

function follow() {
  const runs = document.getElementById("runs");
  if (!runs) return;
  const name = location.pathname.split("/")[2];
  const states = () => [...runs.querySelectorAll(".badge")].map((one) => one.textContent).join();
  const seen = states();
  const timer = setInterval(async () => {
    const answer = await fetch(`/api/v1/agents/${name}/runs?limit=50`).catch(() => null);
    if (!answer?.ok) return;
    const told = await answer.json();
    const now = told.items.map((run) => run.state.replaceAll("_", " ")).join();
    if (now !== seen) {
      clearInterval(timer);
      location.replace(location.pathname);
    }
  }, FOLLOW_MS);
}

preview();
follow();
