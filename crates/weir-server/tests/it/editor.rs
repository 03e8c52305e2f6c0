//! A session that an editor began (`weir acp`) is answered in the browser, goes on in a terminal, and again
//! in an editor: three faces, one journal (F3, R1). Not here: what an editor is told otherwise (`weir`).

use serde_json::{Value, json};
use weir_test_kit::{RunningProgram, ServerSetup, TestInstallation, TestServer, wait_until_async};

/// An editor: the agent that it started, and how often it asked that.
pub(crate) struct Editor {
    agent: RunningProgram,
    pub(crate) folder: String,
    asked: u64,
}

impl Editor {
    pub(crate) async fn start(house: &TestInstallation) -> Editor {
        let agent = RunningProgram::start_with_input(house.command(&["acp"]));
        let mut editor = Editor { agent, folder: house.work().display().to_string(), asked: 0 };
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        let told = editor.ask("initialize", &hello).await;
        assert_eq!(told["result"]["protocolVersion"], 1, "{told}");
        editor
    }

    /// The first whole line that is as wanted; waits for it.
    async fn line(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        wait_until_async(&format!("the editor is told {what}"), async || {
            let text = self.agent.output_text();
            let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let mut lines = whole.filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.find(|line| wanted(line)).ok_or_else(|| self.agent.text())
        })
        .await
    }

    /// Sends a request; its number.
    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.agent.type_line(&message.to_string());
        id
    }

    pub(crate) async fn answer(&self, id: u64) -> Value {
        let is_it = |line: &Value| line["id"] == id && line.get("method").is_none();
        self.line(&format!("the answer to {id}"), is_it).await
    }

    pub(crate) async fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id).await
    }

    pub(crate) fn begin_prompt(&mut self, session: &str, words: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": words }]);
        self.begin("session/prompt", &json!({ "sessionId": session, "prompt": prompt }))
    }
}

const SCRIPT: &str = "name: test\n\n\
    says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"one\\n\"}\n\n\
    says: It is written.\n\nsays: To the terminal.\n\nsays: To the editor again.\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r1_a_session_of_an_editor_is_answered_in_the_browser_and_goes_on_in_a_terminal_and_back() {
    let setup = ServerSetup { script: SCRIPT, ..ServerSetup::default() };
    let mut served = TestServer::start(setup).await;
    let browser = served.admin().await;
    let mut editor = Editor::start(&served.house).await;
    let folder = json!({ "cwd": editor.folder, "mcpServers": [] });
    let opened = editor.ask("session/new", &folder).await;
    let session = opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}"));
    let session = session.to_owned();
    let prompt = editor.begin_prompt(&session, "Write.");
    let is_question = |line: &Value| line["method"] == "session/request_permission";
    let question = editor.line("a question", is_question).await;

    // The browser answers; the editor takes its own question back and shows the rest.
    let asked = browser.until_asked("a.txt", |one| one["input"]["path"] == "a.txt").await;
    assert_eq!(asked["session"], session.as_str(), "{asked}");
    let path = format!("/api/v1/approvals/{}", asked["id"].as_str().expect("an id"));
    let (status, settled) = browser.api("POST", &path, Some(json!({ "decision": "once" }))).await;
    assert_eq!(status, 200, "{settled}");
    let is_taken_back = |line: &Value| {
        line["method"] == "$/cancel_request" && line["params"]["requestId"] == question["id"]
    };
    editor.line("that its question is settled", is_taken_back).await;
    let ended = editor.answer(prompt).await;
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    let written = || served.house.read("work/a.txt");
    assert_eq!(written().as_deref(), Some("one\n"));
    let ended = editor.agent.close_input_until_end().await;
    assert_eq!(ended.status, 0, "{}", ended.err);

    // The terminal has all of it, and what is said there is the next turn.
    let mut terminal = served.house.start_face(&[], &["--resume", &session]);
    terminal.until("It is written.", 1).await;
    terminal.type_line("And here?");
    terminal.until("To the terminal.", 1).await;
    terminal.type_line("/quit");
    let (status, shown) = terminal.close_input_until_end().await.status_and_text();
    assert_eq!(status, 0, "{shown}");

    // And back in an editor.
    let mut editor = Editor::start(&served.house).await;
    let load = json!({ "sessionId": session, "cwd": editor.folder, "mcpServers": [] });
    let loaded = editor.ask("session/load", &load).await;
    assert!(loaded.get("result").is_some(), "{loaded}");
    let has = |words: &'static str| move |line: &Value| line.to_string().contains(words);
    editor.line("what the terminal was answered", has("To the terminal.")).await;
    let prompt = editor.begin_prompt(&session, "And there?");
    let ended = editor.answer(prompt).await;
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    editor.line("its own answer", has("To the editor again.")).await;

    let facts = browser.facts(&session).await;
    let of = |kind: &str| facts.iter().filter(|fact| fact["kind"] == kind).collect::<Vec<_>>();
    assert_eq!(of("input.accepted").len(), 3, "each once: {facts:#?}");
    let resolved = of("approval.resolved");
    assert_eq!((resolved.len(), &resolved[0]["by"]), (1, &json!("admin")), "{resolved:?}");
    assert_eq!(written().as_deref(), Some("one\n"), "the call happened once");
}
