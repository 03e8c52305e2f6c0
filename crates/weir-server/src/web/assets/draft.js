// What is written and not yet known to be said, kept in this browser: over a reload, over the move to a
// new chat, and when the browser goes down. Words lie in the tab's own storage, before that which all
// tabs share; files in a database, under the name of their message. Not here: what is sent.

const DATABASE = "weir";
const FILES = "files";
// As long as the server knows a message by its name.
const KEPT_MS = 24 * 3_600_000;
const WAIT_MS = 3_000;

// The words of a chat that are not said; without a chat: of the next new one.
export function draftOf(session) {
  // Whoever else signs in here has drafts of their own.
  const key = `weir-draft-${document.body.dataset.person ?? ""}-${session ?? "new"}`;
  let mine = null;
  return {
    // `isOwn`: this tab kept it, and no other has it as well.
    read() {
      try {
        const own = sessionStorage.getItem(key);
        mine = own ?? localStorage.getItem(key);
        const draft = parse(mine);
        return draft && { ...draft, isOwn: own !== null };
      } catch {
        return null;
      }
    },
    // `null`: there is nothing any more. What another tab keeps stays.
    write(draft) {
      try {
        if (draft) {
          mine = JSON.stringify(draft);
          sessionStorage.setItem(key, mine);
          localStorage.setItem(key, mine);
        } else {
          sessionStorage.removeItem(key);
          if (localStorage.getItem(key) === mine) localStorage.removeItem(key);
        }
      } catch {
        // A browser that keeps nothing has no drafts.
      }
    },
  };
}

function parse(kept) {
  const draft = kept === null ? null : JSON.parse(kept);
  return typeof draft?.text === "string" ? draft : null;
}

// Waits for what is done with files, as long as a person would: a busy disk may take longer.
export function soon(done) {
  return Promise.race([done, new Promise((resolve) => setTimeout(resolve, WAIT_MS))]);
}

// Does something with the kept files, however long it takes. A browser that keeps none does nothing.
async function withFiles(act) {
  let database;
  try {
    database = await open();
    return await new Promise((resolve, reject) => {
      const turn = database.transaction(FILES, "readwrite");
      let found;
      turn.oncomplete = () => resolve(found?.result);
      turn.onerror = turn.onabort = () => reject(turn.error);
      found = act(turn.objectStore(FILES));
    });
  } catch {
    return undefined;
  } finally {
    database?.close();
  }
}

function open() {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open(DATABASE, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(FILES);
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = asked.onblocked = () => reject(asked.error);
  });
}

// Keeps these files under the name of their message; none: forgets what was kept under it.
export function keepFiles(name, files) {
  return withFiles((store) => (files.length ? store.put({ files, at: Date.now() }, name) : store.delete(name)));
}

// The files that were kept under a name.
export async function keptFiles(name) {
  return (await withFiles((store) => store.get(name)))?.files ?? [];
}

// Forgets files whose message nobody sent in a day.
export function forgetOldFiles() {
  return withFiles((store) => {
    store.openCursor().onsuccess = ({ target: { result: at } }) => {
      if (!at) return;
      if (!(Date.now() - at.value.at < KEPT_MS)) at.delete();
      at.continue();
    };
  });
}
