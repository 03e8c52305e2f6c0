// Ctrl+K: goes to a chat or a page by a few letters of its name. Chats are found by what stands in
// them too. Without it the search at the side does the same.

const WAIT_MS = 150;
const CHATS_MAX = 12;

let dialog, field, list, timer = 0, picked = 0, turn = 0, isOld = false;

function build() {
  dialog = document.createElement("dialog");
  dialog.className = "goto";
  dialog.setAttribute("aria-label", "Go to a chat or page");
  field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Go to a chat or page…";
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-label", "Go to a chat or page");
  field.setAttribute("aria-controls", "goto-list");
  field.setAttribute("aria-expanded", "true");
  field.setAttribute("aria-autocomplete", "list");
  field.autocomplete = "off";
  list = document.createElement("ul");
  list.id = "goto-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Chats and pages");
  dialog.append(field, list);
  document.body.append(dialog);
  field.addEventListener("input", () => {
    isOld = true;
    // What is on its way is for the words of before.
    turn += 1;
    clearTimeout(timer);
    timer = setTimeout(look, WAIT_MS);
  });
  field.addEventListener("keydown", key);
  list.addEventListener("click", (event) => go(event.target.closest("li")));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

// Pages are the links of the navigation.
function pages(words) {
  const links = [...document.querySelectorAll("#nav ul:not(#side-list) a[href]")];
  const told = links.map((link) => ({ to: link.getAttribute("href"), title: link.textContent.trim(), kind: "Page" }));
  return words ? told.filter(({ title }) => title.toLowerCase().includes(words.toLowerCase())) : [];
}

async function chats(words) {
  const query = new URLSearchParams({ limit: CHATS_MAX, ...(words && { q: words }) });
  const answer = await fetch(`/api/v1/sessions?${query}`, { headers: { accept: "application/json" } });
  if (!answer.ok) return [];
  const { items } = await answer.json();
  return items.map(({ id, title }) => ({ to: `/chats/${id}`, title: title.trim() || "New chat", kind: "Chat" }));
}

function item({ to, title, kind }, n) {
  const line = document.createElement("li");
  line.id = `goto-${n}`;
  line.setAttribute("role", "option");
  line.dataset.to = to;
  const name = document.createElement("span");
  name.textContent = title;
  const what = document.createElement("span");
  what.className = "muted";
  what.textContent = kind;
  line.append(name, what);
  return line;
}

async function look() {
  const now = (turn += 1);
  const words = field.value.trim();
  const found = [...pages(words), ...(await chats(words).catch(() => []))];
  if (now !== turn) return;
  isOld = false;
  list.replaceChildren(...found.map(item));
  pick(0);
}

function pick(n) {
  const all = list.children;
  picked = all.length ? (n + all.length) % all.length : 0;
  for (const [at, line] of [...all].entries()) line.setAttribute("aria-selected", String(at === picked));
  const line = all[picked];
  if (line) field.setAttribute("aria-activedescendant", line.id);
  else field.removeAttribute("aria-activedescendant");
  line?.scrollIntoView({ block: "nearest" });
}

function key(event) {
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key === "ArrowDown") pick(picked + 1);
  else if (event.key === "ArrowUp") pick(picked - 1);
  else if (event.key === "Enter") enter();
  else return;
  event.preventDefault();
}

// What stands in the list may be for what was typed before: whoever types fast means what they typed.
async function enter() {
  if (isOld) {
    clearTimeout(timer);
    await look();
  }
  if (dialog.open && !isOld) go(list.children[picked]);
}

function go(line) {
  if (line) location.assign(line.dataset.to);
}

export function open() {
  if (!dialog) build();
  if (dialog.open) return dialog.close();
  // A question that waits keeps the page.
  if (document.querySelector("dialog:modal")) return;
  field.value = "";
  isOld = true;
  dialog.showModal();
  field.focus();
  look();
}
