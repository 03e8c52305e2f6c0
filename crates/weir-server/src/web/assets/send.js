// Sends forms of our pages without leaving them, and tells what went wrong in words.

const csrf = () => document.body.dataset.csrf ?? "";

// What an answer says went wrong.
export async function reason(answer) {
  try {
    const problem = await answer.json();
    return problem.detail || problem.title || `The server answered ${answer.status}.`;
  } catch {
    return `The server answered ${answer.status}.`;
  }
}

// Sends the fields; throws an Error whose message is for people.
export async function post(address, fields) {
  const body = new URLSearchParams(fields);
  let answer;
  try {
    answer = await fetch(address, { method: "POST", body, headers: { "x-csrf-token": csrf() } });
  } catch {
    throw new Error("The server cannot be reached. Nothing was sent; try again.");
  }
  if (!answer.ok) throw new Error(await reason(answer));
  return answer;
}

// Sends a form with files and tells how far it is: only this way of sending can.
export function upload(address, data, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("x-csrf-token", csrf());
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      if (request.status < 300) return resolve(request.getResponseHeader("location"));
      let words = `The server answered ${request.status}.`;
      try {
        words = JSON.parse(request.responseText).detail || words;
      } catch {
        // It was no problem document.
      }
      reject(new Error(words));
    });
    request.addEventListener("error", () =>
      reject(new Error("The server cannot be reached. Your message is still here; try again.")),
    );
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

// Shows a sentence about what went wrong, until it is closed or something works.
export function trouble(words) {
  const box = document.getElementById("trouble") ?? (words && troubleBox());
  if (!box) return;
  box.hidden = !words;
  box.querySelector("p").textContent = words ?? "";
  box.querySelector("button").onclick = () => trouble(null);
}
