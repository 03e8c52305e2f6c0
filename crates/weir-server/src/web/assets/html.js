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

// What nobody waits for: a formatter of dates alone takes some milliseconds, which a page's first paint has not.
export const later = globalThis.requestIdleCallback ?? ((work) => setTimeout(work, 200));

const formatters = new Map();

// A moment in the reader's own words.
export function format(at, options) {
  const name = JSON.stringify(options);
  if (!formatters.has(name)) formatters.set(name, new Intl.DateTimeFormat(undefined, options));
  return formatters.get(name).format(at);
}

// Times of day in the reader's own zone, instead of the server's.
export function localTimes(within) {
  const times = [...within.querySelectorAll("li.entry time[datetime]")];
  for (const time of times) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.valueOf())) time.textContent = format(at, { hour: "2-digit", minute: "2-digit" });
  }
  later(() => {
    for (const time of times) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.valueOf())) time.title = format(at, { dateStyle: "full", timeStyle: "medium" });
    }
  });
}
