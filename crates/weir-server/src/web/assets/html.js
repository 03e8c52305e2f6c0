// The one place where text of the server becomes part of the page. The server made it safe (maud
// escapes, `render` sanitises); Trusted Types keep every other way shut.

const policy = globalThis.trustedTypes?.createPolicy("weir", {
  createHTML: (html) => html,
  // The one script that is named by its address.
  createScriptURL: (url) => {
    if (url !== "/worker.js") throw new TypeError(`${url} is no script of ours`);
    return url;
  },
});

// The address of a script, for the browser's own calls.
export function workerAddress(url) {
  return policy ? policy.createScriptURL(url) : url;
}

// The elements of a fragment, not yet in the page.
export function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = policy ? policy.createHTML(html) : html;
  return template.content;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

// Times of day in the reader's own zone, instead of the server's.
export function localTimes(within) {
  for (const time of within.querySelectorAll("li.entry time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.valueOf())) continue;
    time.textContent = clock.format(at);
    time.title = whole.format(at);
  }
}
