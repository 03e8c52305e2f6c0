//! Another agent's program, as lines of the Model Context Protocol: makes the calls of a session's work at
//! `weir mcp`, step by step, and never one that it does not know the end of again. Not here: when its server
//! is killed, and what became of the calls.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ChildStdin;

use serde_json::{Value, json};

use super::process::Partner;
use super::work::Planned;

/// The newest revision with a handshake.
const REVISION: &str = "2025-11-25";
/// The number of its first request; calls have those behind it.
const INITIALIZE: u64 = 1;

/// A client, over all servers that it speaks with one after the other.
pub(super) struct Client<'a> {
    calls: &'a [Planned],
    /// The first call that was not made.
    next: usize,
    sent: u64,
    /// Requests without an answer, and the call of each.
    waiting: BTreeMap<u64, usize>,
    stdin: Option<ChildStdin>,
    /// Calls that it was told the ends of: which, and whether it succeeded.
    pub(super) told: Vec<(usize, bool)>,
    /// Errors of the protocol.
    pub(super) refusals: Vec<String>,
}

impl<'a> Client<'a> {
    pub(super) fn new(calls: &'a [Planned]) -> Client<'a> {
        let (waiting, told, refusals) = (BTreeMap::new(), Vec::new(), Vec::new());
        Client { calls, next: 0, sent: INITIALIZE, waiting, stdin: None, told, refusals }
    }

    /// Steps that are still to be made.
    pub(super) fn steps_left(&self) -> u64 {
        let last = self.calls.last().map_or(0, |call| call.step);
        self.calls.get(self.next).map_or(0, |call| last - call.step + 1)
    }

    /// Makes the calls of the next step together; leaves when there is none.
    fn make_step(&mut self) {
        let Some(step) = self.calls.get(self.next).map(|call| call.step) else {
            // The server ends when its input does.
            self.stdin = None;
            return;
        };
        while let Some(call) = self.calls.get(self.next).filter(|call| call.step == step) {
            self.sent += 1;
            self.waiting.insert(self.sent, self.next);
            self.next += 1;
            let params = json!({"name": call.tool, "arguments": call.input});
            self.ask(self.sent, "tools/call", &params);
        }
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn send(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            // It may have ended: then its exit says so.
            let _ = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
        }
    }
}

impl Partner for Client<'_> {
    fn begin(&mut self, stdin: Option<ChildStdin>) {
        self.stdin = stdin;
        // What the server before this one did not answer stays unknown.
        self.waiting.clear();
        let client = json!({"name": "killer", "version": "1"});
        let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
        self.ask(INITIALIZE, "initialize", &params);
    }

    fn hear(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
        if line.get("method").is_some() {
            return;
        }
        if let Some(error) = line.get("error") {
            self.refusals.push(error.to_string());
            self.stdin = None;
            return;
        }
        let Some(id) = line["id"].as_u64() else { return };
        if id == INITIALIZE {
            self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            return self.make_step();
        }
        if let Some(call) = self.waiting.remove(&id) {
            self.told.push((call, line["result"]["isError"] != true));
            if self.waiting.is_empty() {
                self.make_step();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::random::Random;
    use super::super::work;
    use super::*;

    #[test]
    fn d7_a_client_makes_each_call_once_whatever_becomes_of_its_server() {
        let work = work::choose(&mut Random::of(1, 5), 5, Path::new("/elsewhere/log"));
        let mut client = Client::new(&work.calls);
        let steps = client.steps_left();
        client.begin(None);
        client.hear(br#"{"id": 1, "result": {}}"#);
        let first: Vec<u64> = client.waiting.keys().copied().collect();
        assert!(!first.is_empty() && client.steps_left() == steps - 1);
        // Killed: what was under way is not made again.
        client.begin(None);
        client.hear(br#"{"id": 1, "result": {}}"#);
        assert!(client.waiting.keys().all(|id| !first.contains(id)));
        for _ in 0..steps {
            for id in client.waiting.keys().copied().collect::<Vec<_>>() {
                client.hear(
                    json!({"id": id, "result": {"isError": id % 2 == 0}}).to_string().as_bytes(),
                );
            }
        }
        assert_eq!((client.steps_left(), client.next), (0, work.calls.len()));
        assert_eq!(client.told.len() + first.len(), work.calls.len());
        assert!(client.told.iter().any(|(_, ok)| *ok) && client.told.iter().any(|(_, ok)| !ok));
    }
}
