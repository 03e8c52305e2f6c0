//! `weir mcp` from outside: another agent's program, as lines of the protocol, works with Weir's hands: its
//! calls are judged, kept, undone and audited as those of an agent of Weir's own (R2).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_test_kit::{PATIENCE, RunningProgram, TestInstallation, wait_until};

mod asking;
mod folders;
mod log;
mod messages;
mod reader;
mod reading;

/// The newest revision with a handshake.
const HANDSHAKE: &str = "2025-11-25";

/// Another agent's program.
struct McpClient {
    program: RunningProgram,
    sent: u64,
    /// Lines that were looked at already.
    seen: usize,
}

/// Nobody needs a model for this.
fn house(config: &str) -> TestInstallation {
    let house = TestInstallation::new();
    house.write("work/a.txt", "old\n");
    house.write(&house.user_config(), config);
    house
}

impl McpClient {
    /// Starts the server and says who one is, and what one can.
    fn start(house: &TestInstallation, args: &[&str], able: &Value) -> McpClient {
        let command = house.command(&[&["mcp"], args].concat());
        let program = RunningProgram::start_with_input(command);
        let mut client = McpClient { program, sent: 0, seen: 0 };
        let told = client.ask(
            "initialize",
            json!({
                "protocolVersion": HANDSHAKE,
                "capabilities": able,
                "clientInfo": {"name": "Other Agent", "version": "1.2"}
            }),
        );
        assert_eq!(told["result"]["protocolVersion"], HANDSHAKE, "{told}");
        assert_eq!(told["result"]["serverInfo"]["name"], "weir", "{told}");
        client.notify("notifications/initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        self.program.type_line(&message.to_string());
    }

    /// Sends a request; its number.
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        let id = self.sent;
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        request["params"] = params;
        self.send(&request);
        id
    }

    fn notify(&mut self, method: &str, params: Value) {
        let mut notification = json!({"jsonrpc": "2.0", "method": method});
        notification["params"] = params;
        self.send(&notification);
    }

    /// Every whole line until now. Each is one message.
    fn lines(&self) -> Vec<Value> {
        let text = self.program.output_text();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let line = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
        };
        whole.map(line).collect()
    }

    /// The first line from `from` on that is as wanted, with its place.
    fn line_from(
        &mut self,
        from: usize,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> (usize, Value) {
        let until = Instant::now() + PATIENCE;
        loop {
            let lines = self.lines();
            if let Some(at) = lines.iter().skip(from).position(&wanted) {
                return (from + at, lines[from + at].clone());
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

    /// The next line that is as wanted, after those that were looked at.
    fn next(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let (at, line) = self.line_from(self.seen, what, wanted);
        self.seen = at + 1;
        line
    }

    /// The answer to a request, wherever it stands.
    fn answer_to(&mut self, id: u64) -> Value {
        let is_it = |line: &Value| line["id"] == id && line.get("method").is_none();
        self.line_from(0, &format!("answer to {id}"), is_it).1
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer_to(id)
    }

    fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        let token = format!("of-{tool}");
        let mut params = json!({"name": tool, "_meta": {"progressToken": token}});
        params["arguments"] = arguments;
        self.begin("tools/call", params)
    }

    /// Calls a tool: whether it succeeded, and its words.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
        let id = self.begin_call(tool, arguments);
        self.result_of(id)
    }

    fn result_of(&mut self, id: u64) -> (bool, String) {
        let answer = self.answer_to(id);
        let result = &answer["result"];
        assert!(result.is_object(), "{answer}");
        (result["isError"] != true, words_of(result))
    }

    /// The name of every tool.
    fn tool_names(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools =
            listed["result"]["tools"].as_array().cloned().unwrap_or_else(|| panic!("{listed}"));
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// The client goes; the server's end.
    fn leave(self) -> weir_test_kit::CommandOutput {
        let waits = tokio::runtime::Builder::new_current_thread().enable_all().build();
        waits.expect("a runtime").block_on(self.program.close_input_until_end())
    }
}

fn words_of(result: &Value) -> String {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    let text = blocks.iter().filter_map(|block| block["text"].as_str());
    text.collect::<Vec<_>>().join("\n")
}

fn session_of(house: &TestInstallation) -> String {
    let listed = house.json(&["sessions", "list", "--json"]);
    let all = listed.as_array().unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(all.len(), 1, "one session for one client: {listed}");
    all[0]["id"]
        .as_str()
        .or(all[0]["session"].as_str())
        .unwrap_or_else(|| panic!("{listed}"))
        .to_owned()
}

fn open_approval(house: &TestInstallation) -> String {
    wait_until("something is asked", || {
        let listed = house.json(&["approvals", "list", "--json"]);
        match listed["approvals"][0]["approval"].as_str() {
            Some(id) => Ok(id.to_owned()),
            None => Err(listed),
        }
    })
}

fn nothing_open(house: &TestInstallation) {
    wait_until("nothing is asked any more", || {
        let listed = house.json(&["approvals", "list", "--json"]);
        match listed["approvals"].as_array().is_some_and(Vec::is_empty) {
            true => Ok(()),
            false => Err(listed),
        }
    });
}

#[test]
fn r2_another_agents_loop_works_through_the_gate_with_session_journal_undo_and_audit() {
    let house = house("");
    let mut client = McpClient::start(&house, &["--permission", "auto-edit"], &json!({}));
    let names = client.tool_names();
    for name in ["read_file", "write_file", "edit_file", "search_files", "run_shell", "web_fetch"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
    for name in [
        "new_task",
        "attempt_completion",
        "recall_memory",
        "brain",
        "update_settings",
        "enable_plugin",
        "find_tool",
    ] {
        assert!(!names.iter().any(|known| known == name), "{name} is not for clients");
    }
    let listed = client.ask("tools/list", json!({}));
    let read = listed["result"]["tools"]
        .as_array()
        .and_then(|all| all.iter().find(|tool| tool["name"] == "read_file").cloned());
    let read = read.expect("read_file");
    assert_eq!(read["annotations"]["readOnlyHint"], true, "{read}");
    assert_eq!(read["inputSchema"]["type"], "object", "{read}");

    // A loop as another agent has it: look, change, look again.
    let (ok, words) = client.call("read_file", json!({"path": "a.txt"}));
    assert!(ok && words.contains("old"), "{words}");
    let edit = json!({"path": "a.txt", "old_text": "old", "new_text": "new"});
    let (ok, words) = client.call("edit_file", edit);
    assert!(ok, "{words}");
    let (ok, words) = client.call("read_file", json!({"path": "a.txt"}));
    assert!(ok && words.contains("new"), "{words}");
    assert_eq!(house.read("work/a.txt").as_deref(), Some("new\n"));

    let session = session_of(&house);
    let opened = &house.facts_of_kind(&session, "session.opened")[0];
    assert_eq!(opened["model"], "mcp-client/other-agent", "{opened}");
    let inputs = house.facts_of_kind(&session, "input.accepted");
    assert!(inputs[0]["by"].as_str().is_some_and(|by| by.contains("the MCP client Other Agent")));
    // Nothing that the client said counts as said by the person.
    assert_eq!(inputs[0]["content"][0]["text"], "Calls of an MCP client.");
    assert_eq!(inputs[0]["added"][0]["label"]["integrity"], "external");
    assert!(!house.facts_of_kind(&session, "checkpoint.taken").is_empty());
    let judged = house.facts_of_kind(&session, "call.judged");
    assert!(judged.len() >= 2, "each call is judged: {judged:?}");

    let end = client.leave();
    assert_eq!(end.status, 0, "{}", end.err);
    house.ok(&["undo", &session]);
    assert_eq!(house.read("work/a.txt").as_deref(), Some("old\n"), "it can be undone");
    house.ok(&["audit", "verify"]);
    house.ok(&["replay", &session]);
}

#[test]
fn r2_what_a_client_must_not_have_is_no_tool_for_it_whatever_it_calls_it() {
    let house = house("");
    let mut client = McpClient::start(&house, &["--permission", "full"], &json!({}));
    for (name, arguments) in [
        ("new_task", json!({})),
        ("update_settings", json!({})),
        ("brain", json!({"action": "search", "query": "keys"})),
        ("no_such_tool", json!({})),
        ("", json!({})),
        ("write_file\u{0}", json!({})),
    ] {
        let answer = client.ask("tools/call", json!({"name": name, "arguments": arguments}));
        assert_eq!(answer["error"]["code"], -32602, "{name:?}: {answer}");
    }
    // Arguments that fit no schema are an answer for the client's model, not the end of anything.
    let (ok, words) = client.call("write_file", json!({"path": 5}));
    assert!(!ok && !words.is_empty(), "{words}");
    // Weir's own state is closed as it is for its own agents.
    let config = house.user_config().display().to_string();
    let (ok, words) =
        client.call("write_file", json!({"path": config, "content": "permission = \"full\"\n"}));
    assert!(!ok, "{words}");
    assert_eq!(house.read(&house.user_config()).as_deref(), Some(""));
    let (ok, _) = client.call("read_file", json!({"path": "a.txt"}));
    assert!(ok, "it goes on");
}

#[test]
fn r2_without_an_approver_what_asks_is_refused_at_once_and_told() {
    let house = house("");
    let mut client =
        McpClient::start(&house, &["--approvals", "deny"], &json!({"elicitation": {}}));
    let (ok, words) = client.call("write_file", json!({"path": "b.txt", "content": "x"}));
    assert!(!ok, "{words}");
    assert!(house.read("work/b.txt").is_none());
    let (ok, _) = client.call("read_file", json!({"path": "a.txt"}));
    assert!(ok, "reading goes on");
    let session = session_of(&house);
    let resolved = house.facts_of_kind(&session, "approval.resolved");
    assert_eq!(resolved[0]["by"], "nobody", "{resolved:?}");
    assert!(!client.program.output_text().contains("elicitation/create"));
}

#[test]
fn r2_the_kill_switch_stops_clients_too() {
    let house = house("");
    let mut client = McpClient::start(&house, &["--permission", "full"], &json!({}));
    let (ok, _) = client.call("read_file", json!({"path": "a.txt"}));
    assert!(ok);
    house.ok(&["pause"]);
    let (ok, words) = client.call("write_file", json!({"path": "b.txt", "content": "x"}));
    assert!(!ok && words.contains("paused"), "{words}");
    assert!(house.read("work/b.txt").is_none());
    house.ok(&["release"]);
    let (ok, words) = client.call("write_file", json!({"path": "b.txt", "content": "x"}));
    assert!(ok, "{words}");
}

#[test]
fn r2_calls_beside_each_other_are_all_answered_each_with_its_own() {
    let house = house("");
    for number in 0..8 {
        house.write(&format!("work/f{number}.txt"), &format!("this is {number}\n"));
    }
    let mut client = McpClient::start(&house, &[], &json!({}));
    let ids: Vec<u64> = (0..8)
        .map(|number| client.begin_call("read_file", json!({"path": format!("f{number}.txt")})))
        .collect();
    for (number, id) in ids.into_iter().enumerate() {
        let (ok, words) = client.result_of(id);
        assert!(ok && words.contains(&format!("this is {number}")), "{number}: {words}");
    }
}

#[test]
fn r2_a_line_that_is_no_request_is_answered_and_the_next_one_works() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({}));
    client.program.type_line("this is not JSON");
    let answer = client.next("parse error", |line| line["error"]["code"] == -32700);
    assert!(answer.get("id").is_some_and(Value::is_null), "{answer}");
    client.program.type_line("{\"jsonrpc\": \"2.0\", \"id\": 77}");
    let answer = client.next("invalid request", |line| line["error"]["code"] == -32600);
    assert_eq!(answer["id"], 77, "{answer}");
    client.program.type_line("[1, 2]");
    let answer = client.next("invalid request", |line| line["error"]["code"] == -32600);
    assert!(answer.get("id").is_some_and(Value::is_null), "{answer}");
    assert!(client.call("read_file", json!({"path": "a.txt"})).0, "the next one works");
    assert_eq!(client.leave().status, 0);
}

#[test]
fn r2_whose_words_a_clients_calls_are_is_the_persons_choice_and_foreign_unless_they_say_otherwise()
{
    for (config, is_marked) in [("", true), ("[mcp_server]\ntrust = \"own\"\n", false)] {
        let house = house(config);
        let mut client = McpClient::start(&house, &["--permission", "auto-edit"], &json!({}));
        let (ok, words) = client.call("write_file", json!({"path": "b.txt", "content": "x"}));
        assert!(ok, "{words}");
        let finished = house.facts_of_kind(&session_of(&house), "call.finished");
        assert_eq!(finished[0]["marks"].is_string(), is_marked, "{config}: {finished:?}");
    }
}

#[test]
fn r2_a_command_that_is_given_up_ends_and_the_next_call_works() {
    let house = house("");
    let mut client = McpClient::start(
        &house,
        &["--permission", "full", "--allow", "Shell(*)", "--approvals", "deny"],
        &json!({}),
    );
    let long = client.begin_call("run_shell", json!({"command": "echo begun; sleep 600"}));
    let is_begun = |line: &Value| {
        line["method"] == "notifications/progress"
            && line["params"]["progressToken"] == "of-run_shell"
    };
    client.next("progress", is_begun);
    wait_until("the command runs", || {
        let session = session_of(&house);
        let started = house.facts_of_kind(&session, "call.started");
        match started.is_empty() {
            true => Err(json!(house.facts_of_kind(&session, "call.judged"))),
            false => Ok(()),
        }
    });
    client.notify("notifications/cancelled", json!({"requestId": long, "reason": "too long"}));
    let session = session_of(&house);
    wait_until("the run has ended", || {
        let ended = house.facts_of_kind(&session, "run.finished");
        match ended.last().map(|fact| fact["status"].clone()) {
            Some(status) if status == "cancelled" => Ok(()),
            other => Err(json!(other)),
        }
    });
    let (ok, words) = client.call("read_file", json!({"path": "a.txt"}));
    assert!(ok, "{words}");
}

#[test]
fn r2_what_a_client_began_goes_on_with_a_model_that_is_named_and_with_no_other() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({}));
    assert!(client.call("read_file", json!({"path": "a.txt"})).0);
    let session = session_of(&house);
    assert_eq!(client.leave().status, 0);
    let run = house.run(&["run", "--resume", &session, "What is in it?"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("choose a model"), "nobody was asked: {}", run.out);
    // A scripted model goes by the replies that stand in the history, the client's among them.
    let script = format!("name: test\n\n{}", "says: It is old.\n\n".repeat(8));
    house.write("s.script", &script);
    let model = house.script_model();
    let run = house.run(&["run", "-m", &model, "--resume", &session, "What is in it?"]);
    assert!(run.status == 0 && run.out.contains("It is old."), "{}{}", run.out, run.err);
}

#[test]
fn r2_an_agent_of_weirs_own_cannot_start_a_server_with_more_rights() {
    let program = weir_test_kit::weir_program();
    let line =
        format!("{} mcp --permission full </dev/null 2>&1; echo status $?", program.display());
    let call = json!({ "command": line });
    let script = format!("name: test\n\ncalls: run_shell {call}\n\nsays: Done.\n");
    // Without a sandbox, in which the program is not even there.
    let house = TestInstallation::with_scripted_model(&script, "[sandbox]\ntier = \"none\"\n");
    let run = house.run(&[
        "run",
        "--permission",
        "full",
        "--allow",
        "Shell(*)",
        "--output",
        "json",
        "go",
    ]);
    let session = session_of(&house);
    let finished = house.facts_of_kind(&session, "call.finished");
    let judged = house.facts_of_kind(&session, "call.judged");
    let told = format!("{finished:?} {judged:?} {}", run.err);
    let is_refused = told.contains("only a person may do this") && told.contains("status 2");
    assert!(is_refused || judged[0]["verdict"] == "deny", "{told}");
    assert_eq!(
        house.json(&["sessions", "list", "--json"]).as_array().map(Vec::len),
        Some(1),
        "{told}"
    );
}
