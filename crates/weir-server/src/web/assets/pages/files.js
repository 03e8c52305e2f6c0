// Files: dropping files on the page uploads them one by one, and says how far it is. Without it the
// form does the same.

const form = document.querySelector("#upload");
const state = document.querySelector("#upload-state");

function target(name) {
  const folder = form.dataset.path;
  const query = new URLSearchParams({
    path: folder ? `${folder}/${name}` : name,
    conflict: new FormData(form).get("conflict"),
  });
  return `/api/v1/files/content?${query}`;
}

async function send(file) {
  if (file.size > Number(form.dataset.bytesMax)) throw new Error(`${file.name} is too large`);
  const answer = await fetch(target(file.name), {
    method: "PUT",
    headers: {
      "content-type": "application/octet-stream",
      "x-csrf-token": document.body.dataset.csrf,
    },
    body: file,
  });
  if (answer.ok) return;
  const problem = await answer.json().catch(() => ({}));
  throw new Error(problem.detail || `${file.name} could not be uploaded`);
}

// Those that wait, the one that is under way among them.
const waiting = [];

async function sendAll(files) {
  const isOn = waiting.length > 0;
  waiting.push(...files);
  if (isOn) return;
  let done = 0;
  try {
    for (; waiting.length; done += 1) {
      state.textContent = `Uploading ${waiting[0].name} (${done + 1} of ${done + waiting.length})`;
      await send(waiting[0]);
      waiting.shift();
    }
    location.reload();
  } catch (error) {
    waiting.length = 0;
    state.textContent = error.message;
  }
}

if (form && state) {
  const open = form.closest("details");
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    open.open = true;
    form.classList.add("over");
  });
  document.addEventListener("dragleave", () => form.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    form.classList.remove("over");
    sendAll([...event.dataTransfer.files]);
  });
  form.addEventListener("submit", (event) => {
    const chosen = form.querySelector("#file").files;
    if (!chosen.length) return;
    event.preventDefault();
    // Pressed twice, they go once.
    if (!waiting.length) sendAll([...chosen]);
  });
}
