//! The editor of a session: says to `weir acp` what a session needs, by the Agent Client Protocol. Not here:
//! when its process is killed, and what became of the session.

use std::io::Write as _;
use std::process::ChildStdin;

use serde_json::{Value, json};

use super::process::Partner;
use super::work::LAST_WORDS;

/// What the editor wants of its next process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditorWish {
    /// A session of its own, and the prompt in it.
    Begin,
    /// The prompt in this one, which was opened and not yet told anything.
    Say(String),
    /// To see this one go on to its end.
    GoOn(String),
}

/// What an editor is told where nothing can be written any more: while it works, and when it is taken up.
const WENT_DOWN: [&str; 2] =
    ["it went down, and what it owed is kept", "what was under way cannot go on now"];
/// Requests, in their order.
const INITIALIZE: u64 = 1;
const SESSION: u64 = 2;
const PROMPT: u64 = 3;

/// An editor that speaks with one process.
pub(super) struct Editor {
    wish: EditorWish,
    folder: String,
    prompt: String,
    session: Option<String>,
    /// What the agent said, replayed or new.
    words: String,
    stdin: Option<ChildStdin>,
    /// What it took as said for good: calls that were reported to be at their ends, and the session.
    pub(super) told: Told,
}

/// What an editor was told, and may hold the agent to.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) session: Option<String>,
    pub(super) ended_calls: Vec<String>,
    /// The answer to the prompt came: the run is at its end.
    pub(super) is_answered: bool,
    /// What it was refused, in the protocol's words.
    pub(super) refusals: Vec<String>,
}

impl Partner for Editor {
    fn begin(&mut self, stdin: Option<ChildStdin>) {
        self.stdin = stdin;
        let client = json!({"protocolVersion": 1, "clientCapabilities": {}});
        self.ask(INITIALIZE, "initialize", &client);
    }

    fn hear(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
        // What the agent asks has numbers of its own: it answers nothing.
        match line["method"].as_str() {
            Some("session/update") => return self.hear_update(&line["params"]["update"]),
            Some("session/request_permission") => return self.allow_once(&line),
            Some(_) => return,
            None => (),
        }
        if let Some(error) = line.get("error") {
            self.told.refusals.push(error.to_string());
            return self.stop();
        }
        match line["id"].as_u64() {
            Some(INITIALIZE) => self.want_session(),
            Some(SESSION) => {
                if let Some(id) = line["result"]["sessionId"].as_str() {
                    self.session = Some(id.to_owned());
                    self.told.session = Some(id.to_owned());
                }
                match self.wish {
                    EditorWish::Begin | EditorWish::Say(_) => self.say_prompt(),
                    EditorWish::GoOn(_) => self.look_whether_it_is_over(),
                }
            }
            Some(PROMPT) => {
                self.told.is_answered = true;
                self.stop();
            }
            _ => (),
        }
    }
}

impl Editor {
    pub(super) fn new(wish: EditorWish, folder: &str, prompt: &str) -> Editor {
        let session = match &wish {
            EditorWish::Begin => None,
            EditorWish::Say(id) | EditorWish::GoOn(id) => Some(id.clone()),
        };
        Editor {
            wish,
            folder: folder.to_owned(),
            prompt: prompt.to_owned(),
            session,
            words: String::new(),
            stdin: None,
            told: Told::default(),
        }
    }

    fn hear_update(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                self.words.push_str(update["content"]["text"].as_str().unwrap_or_default());
                // Where nobody said anything there is no turn to answer.
                if WENT_DOWN.iter().any(|told| self.words.contains(told)) {
                    return self.stop();
                }
                self.look_whether_it_is_over();
            }
            Some("tool_call_update" | "tool_call") => {
                let ended = ["completed", "failed"].map(Some).contains(&update["status"].as_str());
                if let Some(call) = update["toolCallId"].as_str().filter(|_| ended) {
                    self.told.ended_calls.push(call.to_owned());
                }
            }
            _ => (),
        }
    }

    /// Says yes: after a call of unknown outcome the next ones are asked about.
    fn allow_once(&mut self, asked: &Value) {
        let options = asked["params"]["options"].as_array();
        let yes = options.into_iter().flatten().find(|option| option["kind"] == "allow_once");
        let option = yes.map_or(&Value::Null, |option| &option["optionId"]);
        let outcome = json!({ "outcome": "selected", "optionId": option });
        self.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": { "outcome": outcome }}));
    }

    fn want_session(&mut self) {
        let folder = &self.folder;
        let (method, params) = match &self.session {
            None => ("session/new", json!({"cwd": folder, "mcpServers": []})),
            Some(id) => ("session/load", json!({"sessionId": id, "cwd": folder, "mcpServers": []})),
        };
        self.ask(SESSION, method, &params);
    }

    fn say_prompt(&mut self) {
        let prompt = json!([{"type": "text", "text": self.prompt}]);
        let params = json!({"sessionId": self.session, "prompt": prompt});
        self.ask(PROMPT, "session/prompt", &params);
    }

    /// Nothing answers a prompt that a process before this one took: its last words tell.
    fn look_whether_it_is_over(&mut self) {
        if matches!(self.wish, EditorWish::GoOn(_)) && self.words.contains(LAST_WORDS) {
            self.stop();
        }
    }

    /// Leaves: the agent ends when its input does.
    fn stop(&mut self) {
        self.stdin = None;
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn send(&mut self, line: &Value) {
        if let Some(stdin) = &mut self.stdin {
            // It may have ended: then its exit says so.
            let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        }
    }
}
