// Sends forms of our pages without leaving them, and tells what went wrong in words.

const csrf = () => document.body.dataset.csrf ?? "";

// How long a message may stand still on its way: then nobody knows whether it arrived.
const STILL_MS_MAX = 120_000;
const SIGNED_OUT = "You are signed out. Reload this page to sign in, then try again.";

// What an answer says went wrong.
export async function reason(answer) {
  if (answer.status === 401 || answer.type === "opaqueredirect") return SIGNED_OUT;
  try {
    const problem = await answer.json();
    return problem.detail || problem.title || `The server answered ${answer.status}.`;
  } catch {
    return `The server answered ${answer.status}.`;
  }
}

// Asks for something of this server; throws an Error whose message is for people. Whoever is signed out
// meanwhile would be led to another page: that is no answer.
export async function get(address) {
  let answer;
  try {
    answer = await fetch(address, { redirect: "manual" });
  } catch {
    throw new Error("The server cannot be reached; try again.");
  }
  if (!answer.ok) throw new Error(await reason(answer));
  return answer;
}

// Sends the fields; throws an Error whose message is for people.
export async function post(address, fields) {
  const body = new URLSearchParams(fields);
  let answer;
  try {
    answer = await fetch(address, { method: "POST", body, headers: { "x-csrf-token": csrf() } });
  } catch {
    throw new Error("The server cannot be reached. See whether it was done before you try again.");
  }
  if (!answer.ok) throw new Error(await reason(answer));
  return answer;
}

// Sends a form with files and tells how far it is: only this way of sending can. Gives where the server
// leads to, and whether it knew the message already. What it throws says whether it is `unsure` that
// nothing was said. `stop`: a signal that ends it.
export function upload(address, data, { progress, stop }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let timer;
    const moves = () => {
      clearTimeout(timer);
      timer = setTimeout(() => request.abort(), STILL_MS_MAX);
    };
    const lost = "Your message is still here; try again: if it did arrive, it is not sent twice.";
    const fail = (words, unsure) => reject(Object.assign(new Error(words), { unsure }));
    request.open("POST", address);
    request.setRequestHeader("x-csrf-token", csrf());
    request.upload.addEventListener("progress", (event) => {
      moves();
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      const { status } = request;
      const to = request.getResponseHeader("location");
      // A page of a proxy, before which somebody is to sign in, is no answer to a message.
      if (status === 200 && !to) return fail(`Something else than the server answered. ${lost}`, true);
      if (status < 300) return resolve({ to, isRepeat: status === 200 });
      if (status === 401) return fail(`${SIGNED_OUT} Your message is kept.`, false);
      let words = `The server answered ${status}.`, code;
      try {
        const problem = JSON.parse(request.responseText);
        words = problem.detail || words;
        code = problem.code;
      } catch {
        // It was no problem document.
      }
      fail(words, status >= 500 || code === "held");
    });
    request.addEventListener("error", () => fail(`The server cannot be reached. ${lost}`, true));
    request.addEventListener("abort", () => fail(stop.aborted ? "" : `The server does not answer. ${lost}`, true));
    request.addEventListener("loadend", () => clearTimeout(timer));
    stop.addEventListener("abort", () => request.abort());
    moves();
    request.send(data);
  });
}

// A place for it on a page that has none.
function troubleBox() {
  const box = document.createElement("div");
  box.id = "trouble";
  box.className = "notice bad trouble";
  box.setAttribute("role", "alert");
  const close = document.createElement("button");
  close.type = "button";
  close.className = "btn quiet";
  close.textContent = "Close";
  box.append(document.createElement("p"), close);
  document.getElementById("main").append(box);
  return box;
}

// Behind a dialog nobody could read or close it: it stands in that, and in the page again afterwards.
function moveForward(box) {
  const main = document.getElementById("main");
  const dialog = document.querySelector("dialog:modal");
  (dialog ?? main).append(box);
  dialog?.addEventListener("close", () => {
    const other = document.getElementById("trouble");
    if (!other || other === box) main.append(box);
  }, { once: true });
}

// Shows a sentence about what went wrong, until it is closed or something works.
export function trouble(words) {
  const box = document.getElementById("trouble") ?? (words && troubleBox());
  if (!box) return;
  if (words) moveForward(box);
  box.hidden = !words;
  box.querySelector("p").textContent = words ?? "";
  box.querySelector("button").onclick = () => trouble(null);
}
