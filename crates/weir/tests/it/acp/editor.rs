//! An editor for the tests: the real program at its other end, and what was sent and received until now.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_test_kit::{PATIENCE, RunningProgram, TestInstallation};

/// A program that an editor started, with what it sent until now.
pub(super) struct Editor {
    pub(super) program: RunningProgram,
    pub(super) cwd: String,
    pub(super) sent: u64,
    /// Lines that were looked at already.
    pub(super) seen: usize,
    /// What it does about its files.
    pub(super) files: EditorFiles,
    /// Its terminals.
    pub(super) terminals: EditorTerminals,
    /// Lines whose requests about files and terminals were answered.
    served: usize,
}

/// The terminals of an editor: each a program that runs.
#[derive(Default)]
pub(super) struct EditorTerminals {
    running: Vec<Option<Child>>,
    /// The command lines, in order.
    pub(super) started: Vec<Vec<String>>,
    /// What they printed until they ended, in order of their ends.
    pub(super) printed: Vec<String>,
    /// Those that were given back.
    pub(super) released: usize,
    /// It makes none.
    pub(super) fails: bool,
}

impl EditorTerminals {
    fn answer(&mut self, request: &Value) -> Value {
        let params = &request["params"];
        let number = params["terminalId"].as_str().and_then(|name| name.parse::<usize>().ok());
        match (request["method"].as_str(), number) {
            (Some("terminal/create"), _) if !self.fails => {
                let words = [&params["command"]]
                    .into_iter()
                    .chain(params["args"].as_array().expect("a list"));
                let words: Vec<String> =
                    words.map(|word| word.as_str().expect("text").to_owned()).collect();
                let child =
                    Command::new(&words[0]).args(&words[1..]).stdout(Stdio::piped()).spawn();
                self.running.push(Some(child.expect("it starts")));
                self.started.push(words);
                json!({"result": {"terminalId": (self.running.len() - 1).to_string()}})
            }
            (Some("terminal/wait_for_exit"), Some(number)) => {
                let child = self.running[number].take().expect("it is waited for once");
                let ended = child.wait_with_output().expect("it ends");
                self.printed.push(String::from_utf8_lossy(&ended.stdout).into_owned());
                json!({"result": {"exitCode": ended.status.code()}})
            }
            (Some("terminal/release"), Some(_)) => {
                self.released += 1;
                json!({"result": {}})
            }
            _ => json!({"error": {"code": -32603, "message": "there are no terminals"}}),
        }
    }
}

/// The files of an editor.
#[derive(Default)]
pub(super) struct EditorFiles {
    /// Text that is not saved, by path.
    pub(super) unsaved: BTreeMap<String, String>,
    /// What it was given to save, in order.
    pub(super) saved: Vec<String>,
    /// Paths that it was asked for.
    pub(super) asked: Vec<String>,
    /// It answers with an error; else it is silent where this is empty.
    pub(super) fails: Option<&'static str>,
    /// It does not answer what it is given to save.
    pub(super) stops_at_saving: bool,
}

impl EditorFiles {
    fn answer(&mut self, request: &Value) -> Option<Value> {
        let path = request["params"]["path"].as_str()?.to_owned();
        self.asked.push(path.clone());
        if let Some(why) = self.fails {
            let error = json!({"code": -32603, "message": why});
            return (!why.is_empty()).then(|| json!({"error": error}));
        }
        if request["method"] == "fs/read_text_file" {
            let text = self.unsaved.get(&path).cloned();
            let text = text.or_else(|| std::fs::read_to_string(&path).ok());
            return Some(match text {
                Some(content) => json!({"result": {"content": content}}),
                None => json!({"error": {"code": -32002, "message": "no such file"}}),
            });
        }
        if self.stops_at_saving {
            return None;
        }
        let text = request["params"]["content"].as_str()?.to_owned();
        std::fs::write(&path, &text).expect("it can be saved");
        self.unsaved.remove(&path);
        self.saved.push(text);
        Some(json!({"result": {}}))
    }
}

impl Editor {
    /// Starts it and says who one is.
    pub(super) fn start(house: &TestInstallation, args: &[&str]) -> Editor {
        let capabilities =
            json!({"terminal": false, "fs": {"readTextFile": false, "writeTextFile": false}});
        Editor::start_able(house, args, &capabilities)
    }

    /// The same of one that has files and terminals of its own.
    pub(super) fn start_with_files(house: &TestInstallation, args: &[&str]) -> Editor {
        let able = json!({"terminal": true, "fs": {"readTextFile": true, "writeTextFile": true}});
        Editor::start_able(house, args, &able)
    }

    /// The same of one that can do this.
    pub(super) fn start_able(
        house: &TestInstallation,
        args: &[&str],
        capabilities: &Value,
    ) -> Editor {
        let command = house.command(&[&["acp"], args].concat());
        let cwd = house.work().display().to_string();
        let program = RunningProgram::start_with_input(command);
        let files = EditorFiles::default();
        let terminals = EditorTerminals::default();
        let mut editor = Editor { program, cwd, sent: 0, seen: 0, files, terminals, served: 0 };
        let named = json!({"name": "weir-tests", "version": "1"});
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities,
            "clientInfo": named});
        let told = editor.ask("initialize", &params);
        assert_eq!(told["result"]["protocolVersion"], 1, "{told}");
        editor
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.program.type_line(&message.to_string());
    }

    /// Sends a request; its number.
    pub(super) fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.sent += 1;
        let id = self.sent;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(super) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Every whole line until now. Each is one message.
    pub(super) fn lines(&self) -> Vec<Value> {
        let text = self.program.output_text();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let line = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
        };
        whole.map(line).collect()
    }

    /// The next line that is as wanted, after those that were looked at.
    pub(super) fn next(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let lines = self.lines();
            self.serve_files(&lines);
            if let Some(at) = lines.iter().skip(self.seen).position(&wanted) {
                self.seen += at + 1;
                return lines[self.seen - 1].clone();
            }
            let error = self.program.error_text();
            assert!(Instant::now() < until, "no {what} in: {lines:#?}\n{error}");
            assert!(
                self.program.exit_status().is_none(),
                "it ended before {what}: {lines:#?}\n{error}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Answers what was asked meanwhile.
    pub(super) fn serve(&mut self) {
        let lines = self.lines();
        self.serve_files(&lines);
    }

    /// Answers what was asked about files and terminals since the last time.
    fn serve_files(&mut self, lines: &[Value]) {
        for line in &lines[self.served.min(lines.len())..] {
            let about = line["method"].as_str().unwrap_or_default().split('/').next();
            let answer = match about {
                Some("fs") => self.files.answer(line),
                Some("terminal") => Some(self.terminals.answer(line)),
                _ => None,
            };
            if let Some(mut answer) = answer {
                answer["jsonrpc"] = "2.0".into();
                answer["id"] = line["id"].clone();
                self.send(&answer);
            }
        }
        self.served = lines.len();
    }

    pub(super) fn answer_to(&mut self, id: u64) -> Value {
        let is_it = |line: &Value| line["id"] == id && line.get("method").is_none();
        self.next(&format!("answer to {id}"), is_it)
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.answer_to(id)
    }

    /// The next update of this kind.
    pub(super) fn update(&mut self, kind: &str) -> Value {
        let is_it = |line: &Value| {
            line["method"] == "session/update" && line["params"]["update"]["sessionUpdate"] == kind
        };
        self.next(kind, is_it)["params"]["update"].clone()
    }

    /// Every update of this kind until now.
    pub(super) fn all_updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.lines().into_iter().map(|line| line["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    pub(super) fn open_new(&mut self) -> String {
        self.open_with(&json!({"cwd": self.cwd, "mcpServers": []}))
    }

    pub(super) fn open_with(&mut self, params: &Value) -> String {
        let opened = self.ask("session/new", params);
        opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
    }

    pub(super) fn begin_prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.begin("session/prompt", &json!({"sessionId": session, "prompt": prompt}))
    }

    pub(super) fn load(&mut self, session: &str) -> Value {
        let params = json!({"sessionId": session, "cwd": self.cwd, "mcpServers": []});
        self.ask("session/load", &params)
    }

    /// The next question, and an answer to it.
    pub(super) fn decide(&mut self, option: &str) -> Value {
        let is_it = |line: &Value| line["method"] == "session/request_permission";
        let question = self.next("a question", is_it);
        self.answer_question(&question, option);
        question["params"].clone()
    }

    /// An answer to a question that was asked.
    pub(super) fn answer_question(&mut self, question: &Value, option: &str) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}));
    }

    /// Every question until now.
    pub(super) fn questions(&self) -> Vec<Value> {
        let asked = self.lines().into_iter();
        asked.filter(|line| line["method"] == "session/request_permission").collect()
    }

    /// The words of all messages of this kind until now.
    pub(super) fn words(&self, kind: &str) -> String {
        let ours = self.all_updates(kind).into_iter();
        ours.filter_map(|update| update["content"]["text"].as_str().map(str::to_owned)).collect()
    }
}
