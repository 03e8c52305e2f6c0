// The live connection of a page: opens again when it was lost, asks for what came after the last
// fact that it has, and so misses nothing and shows nothing twice.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
const PING_EVERY_MS = 25_000;
const SILENCE_MAX_MS = 60_000;

// `heard(frame)` for each frame, `state(up)` when the connection comes and goes, `after()`: the last
// fact that the page has.
export function listen({ session, after, heard, state }) {
  let socket, waits = FIRST_WAIT_MS, timer, pinger, last = 0, closed = false;

  function open() {
    clearTimeout(timer);
    const address = new URL("/api/v1/ws", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    socket = new WebSocket(address);
    socket.addEventListener("open", () => {
      last = Date.now();
      send({ type: "subscribe", session, after: after(), view: "html" });
    });
    socket.addEventListener("message", (event) => {
      last = Date.now();
      let frame;
      try {
        frame = JSON.parse(event.data);
      } catch {
        return;
      }
      if (frame.type === "hello" || frame.type === "patch") {
        waits = FIRST_WAIT_MS;
        state(true);
      }
      heard(frame);
    });
    socket.addEventListener("close", lost);
    clearInterval(pinger);
    pinger = setInterval(() => {
      // A network that went away often says nothing: silence is the sign.
      if (Date.now() - last > SILENCE_MAX_MS) socket.close();
      else send({ type: "ping" });
    }, PING_EVERY_MS);
  }

  function lost() {
    clearInterval(pinger);
    if (closed) return;
    state(false);
    clearTimeout(timer);
    // A little chance, so that all pages do not come back in the same moment.
    timer = setTimeout(open, waits * (0.75 + Math.random() / 2));
    waits = Math.min(waits * 2, LONGEST_WAIT_MS);
  }

  function send(frame) {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  }

  function now() {
    if (socket.readyState === WebSocket.CLOSED) open();
  }

  window.addEventListener("online", now);
  document.addEventListener("visibilitychange", () => document.hidden || now());
  window.addEventListener("pagehide", () => {
    closed = true;
    socket.close();
  });
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    closed = false;
    open();
  });
  open();
}
