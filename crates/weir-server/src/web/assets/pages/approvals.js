// The inbox: answers without leaving the page.

import { guardAgain, guardAsks } from "../dialog.js";
import { post, trouble } from "../send.js";

guardAsks();

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-live]")) return;
  event.preventDefault();
  const data = new FormData(form, event.submitter);
  const card = form.closest("article");
  // On a slow line the buttons can be pressed again: the first answer is on its way.
  if (card.ariaBusy === "true") return;
  card.ariaBusy = "true";
  const next = card.nextElementSibling?.querySelector("h2") ?? document.getElementById("main");
  try {
    await post(form.getAttribute("action"), data);
    card.remove();
    // The next one stands in its place, on a slow line long after the press.
    guardAgain();
    next.focus();
    document.dispatchEvent(new Event("weir:counts"));
    if (!document.querySelector("article.ask")) location.reload();
  } catch (error) {
    trouble(error.message);
  } finally {
    card.ariaBusy = "false";
  }
});
