// The inbox: answers without leaving the page.

import { guardAsks } from "../dialog.js";
import { post, trouble } from "../send.js";

guardAsks();

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form[data-live]")) return;
  event.preventDefault();
  const data = new FormData(form, event.submitter);
  const card = form.closest("article");
  const next = card.nextElementSibling?.querySelector("h2") ?? document.getElementById("main");
  try {
    await post(form.getAttribute("action"), data);
    card.remove();
    next.focus();
    document.dispatchEvent(new Event("weir:counts"));
    if (!document.querySelector("article.ask")) location.reload();
  } catch (error) {
    trouble(error.message);
  }
});
