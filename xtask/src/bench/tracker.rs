//! An issue tracker behind an MCP server over HTTP, for one task of a bench: a list, and a
//! change of one issue. It answers at once and from memory. No imitation of any product, and no more
//! of the protocol than one client needs.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::model;

/// Issues that there are.
pub(super) const ISSUES: u32 = 40;
/// The first of them are open and were forgotten; the others are in work.
pub(super) const STALE: u32 = 29;
/// Characters of an issue's text.
const BODY_CHARS: usize = 150;

/// The server; it ends when it is dropped.
pub(super) struct Tracker {
    pub(super) address: SocketAddr,
    over: Arc<AtomicBool>,
    changed: Arc<AtomicU32>,
}

impl Tracker {
    /// Listens on a free port.
    ///
    /// # Errors
    /// There is no port.
    pub(super) fn start() -> io::Result<Tracker> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (over, changed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let tracker = Tracker { address, over: over.clone(), changed: changed.clone() };
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let changed = changed.clone();
                // A connection ends with its client; what went wrong shows in the run.
                thread::spawn(move || drop(talk(stream, &changed)));
            }
        });
        Ok(tracker)
    }

    /// The settings of a person who uses it.
    pub(super) fn settings(&self) -> String {
        format!(
            "[web]\nallow_hosts = [\"127.0.0.1\"]\n\n[mcp_servers.tracker]\nurl = \
             \"http://{}/mcp\"\n\n[mcp_servers.tracker.tools.list_issues]\nreads = true\n\n\
             [mcp_servers.tracker.tools.close_issue]\nown = true\ncontrol = [\"id\"]\n",
            self.address
        )
    }

    /// How often an issue was closed since this was asked last.
    pub(super) fn take_changed(&self) -> u32 {
        self.changed.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the listener; when that fails it is gone already.
        drop(TcpStream::connect(self.address));
    }
}

fn talk(mut stream: TcpStream, changed: &AtomicU32) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    while let Some((_, body)) = model::request(&mut stream, &mut received)? {
        let answer = match serde_json::from_slice::<Value>(&body) {
            // It streams nothing of its own and keeps no sessions.
            Err(_) => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
            Ok(asked) if asked["id"].is_null() => {
                "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Ok(asked) => {
                let answer = answer(&asked, changed).to_string();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: \
                     {}\r\n\r\n{answer}",
                    answer.len()
                )
            }
        };
        stream.write_all(answer.as_bytes())?;
    }
    Ok(())
}

fn answer(asked: &Value, changed: &AtomicU32) -> Value {
    let params = &asked["params"];
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "tracker", "version": "1.0.0" },
        }),
        "tools/list" => json!({ "tools": tools() }),
        "tools/call" => called(params, changed),
        "ping" => json!({}),
        _ => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            return json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
        }
    };
    json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })
}

fn tools() -> Value {
    let by_id = json!({
        "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"],
    });
    json!([
        { "name": "list_issues",
          "description": "All issues: id, title, state, days without work, text.",
          "inputSchema": { "type": "object", "properties": {} } },
        { "name": "close_issue", "description": "Closes an issue.", "inputSchema": by_id },
    ])
}

fn called(params: &Value, changed: &AtomicU32) -> Value {
    let value = match params["name"].as_str().unwrap_or_default() {
        "list_issues" => json!({ "issues": (1..=ISSUES).map(issue).collect::<Vec<_>>() }),
        "close_issue" => {
            changed.fetch_add(1, Ordering::Relaxed);
            json!({ "id": params["arguments"]["id"], "state": "closed" })
        }
        _ => {
            let said = json!([{ "type": "text", "text": "no such tool" }]);
            return json!({ "content": said, "isError": true });
        }
    };
    let said = json!([{ "type": "text", "text": value.to_string() }]);
    json!({ "content": said, "structuredContent": value })
}

fn issue(id: u32) -> Value {
    let (state, days) = if id <= STALE { ("open", 90 + id) } else { ("in work", id % 9) };
    let remark = format!("Issue {id}: the picture shows a button that is gone. ");
    let text: String = remark.chars().cycle().take(BODY_CHARS).collect();
    let title = format!("The page {id} of the manual is out of date");
    json!({ "id": id, "title": title, "state": state, "days_without_work": days, "text": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u07_as_many_issues_are_forgotten_as_the_task_closes() {
        let forgotten = |id: &u32| issue(*id)["state"] == "open";
        assert_eq!((1..=ISSUES).filter(forgotten).count(), STALE as usize);
    }

    #[test]
    fn u07_what_is_closed_is_counted() {
        let tracker = Tracker::start().expect("a port");
        let asked = json!({ "id": 1, "method": "tools/call",
                            "params": { "name": "close_issue", "arguments": { "id": 2 } } });
        let answered = answer(&asked, &tracker.changed);
        assert_eq!(answered["result"]["structuredContent"]["state"], "closed");
        assert_eq!((tracker.take_changed(), tracker.take_changed()), (1, 0));
    }
}
