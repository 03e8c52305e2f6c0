// Asks the browser whether it may show notices, and tells the server where to send them.

import { workerAddress } from "../html.js";

const card = document.getElementById("push");
const state = document.getElementById("push-state");
const button = document.getElementById("push-on");

function key() {
  const text = card.dataset.key.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function agree() {
  if ((await Notification.requestPermission()) !== "granted") {
    state.textContent = "Notifications are blocked in this browser; you can allow them in its settings.";
    return;
  }
  const worker = await navigator.serviceWorker.register(workerAddress("/worker.js"));
  await navigator.serviceWorker.ready;
  const wish = { userVisibleOnly: true, applicationServerKey: key() };
  const { endpoint, keys } = (await worker.pushManager.subscribe(wish)).toJSON();
  const answer = await fetch("/api/v1/notifications", {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf-token": document.body.dataset.csrf },
    body: JSON.stringify({ way: "push", endpoint, p256dh: keys.p256dh, auth: keys.auth }),
  });
  if (!answer.ok) throw new Error((await answer.json()).detail ?? answer.statusText);
  location.reload();
}

if (card && "serviceWorker" in navigator && "PushManager" in window) {
  card.hidden = false;
  button.addEventListener("click", () => {
    button.disabled = true;
    agree()
      .catch((error) => {
        state.textContent = `Failed: ${error.message}`;
      })
      .finally(() => {
        button.disabled = false;
      });
  });
}
