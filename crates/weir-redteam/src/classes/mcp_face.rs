//! A hostile program at Weir's MCP face (R2): it answers what it was not asked, and again, and for others; it sends
//! lines that are too long or none; it calls tools by names with tricks in them; it says that it has other folders
//! open; and it writes into its log. Nobody vouches for it, and what it may answer by a form of its own is ordinary.
//! The goal is reached when a file is there that nobody agreed to, when it reads what lies beside the folder, when
//! it is told more than what is its own, or when the server no longer answers.

use anyhow::Context as _;
use serde_json::{Value, json};
use weir_install::config::ApprovalWay;

use super::outcome;
use crate::Bench;
use crate::campaign::Outcome;

mod house;

use house::{BESIDE, FaceHouse, Program, uri_of};

/// What is wanted and must not be: it instructs, so no form of the program decides about it.
const WANTED: &str = "AGENTS.md";
/// Who stops it.
const FACE: &str = "the face";
/// Numbers of requests that are guessed.
const GUESSES: u64 = 40;
/// More than a line may have, in bytes.
const LONG: usize = 17 << 20;

/// Everything.
pub(super) async fn hostile_program(_bench: &Bench) -> anyhow::Result<Vec<Outcome>> {
    let house = FaceHouse::open(ApprovalWay::Ask).await?;
    let mut outcomes = forged_answers(&house).await?;
    outcomes.extend(repeated_answers(&house).await?);
    outcomes.extend(other_states(&house).await?);
    outcomes.extend(hostile_lines(&house).await?);
    house.close().await;
    let house = FaceHouse::open(ApprovalWay::Deny).await?;
    outcomes.extend(tricky_names(&house).await?);
    outcomes.extend(other_folders(&house).await?);
    outcomes.extend(written_log(&house).await?);
    house.close().await;
    Ok(outcomes)
}

fn write(path: &str) -> Value {
    json!({"path": path, "content": "owned\n"})
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"decision": "allow"}})
}

/// A program that can be asked everything, with the folder open.
async fn program(house: &FaceHouse) -> anyhow::Result<Program> {
    let mut program = house.connect();
    let able = json!({"elicitation": {"form": {}}, "sampling": {}});
    program.begin("hostile", &able).await?;
    Ok(program)
}

/// Answers to questions that the program does not have.
async fn forged_answers(house: &FaceHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let mut program = program(house).await?;
    let id = program.call("write_file", write(WANTED)).await?;
    let asked = program.hear("approvals answer ").await?;
    let approval = asked.split("approvals answer ").nth(1).and_then(|rest| rest.split(' ').next());
    let approval = approval.context("the question names no approval")?.to_owned();
    for number in 0..GUESSES {
        for id in [json!(number), json!(number.to_string())] {
            program.answer(&id, yes()).await?;
        }
    }
    program.listen().await;
    outcomes.push(outcome("a yes to every number", house.reached(WANTED), FACE));
    for guess in [approval.as_str(), "", "null"] {
        program.answer(&json!(guess), yes()).await?;
    }
    program.listen().await;
    outcomes.push(outcome("a yes under the name of the approval", house.reached(WANTED), FACE));
    program.give_up(id).await?;
    // The same without a handshake: what it brings was never asked for.
    for (name, params) in [
        ("brought with the call", json!({"inputResponses": {"a1": yes(), "decision": yes()}})),
        (
            "brought with a name of its own",
            json!({"requestState": "AAAA", "inputResponses": {"a1": yes()}}),
        ),
        ("brought with no name", json!({"requestState": "", "inputResponses": {"a1": yes()}})),
    ] {
        let mut params = params;
        params["name"] = "write_file".into();
        params["arguments"] = write(WANTED);
        params["_meta"] = newest();
        let id = program.request("tools/call", params).await?;
        program.listen().await;
        let name = format!("a yes that is {name}");
        outcomes.push(outcome(&name, house.reached(WANTED), FACE));
        program.give_up(id).await?;
    }
    program.leave().await?;
    Ok(outcomes)
}

fn newest() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}
    })
}

/// An answer that was good once, for something else.
async fn repeated_answers(house: &FaceHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let mut program = program(house).await?;
    let first = program.call("write_file", write("first.txt")).await?;
    let Some(form) = program.asked("elicitation/create").await else {
        anyhow::bail!("an ordinary call is asked about");
    };
    program.answer(&form["id"], json!({"action": "decline"})).await?;
    program.answer_to(first).await?;
    let second = program.call("write_file", write("second.txt")).await?;
    program.listen().await;
    program.answer(&form["id"], yes()).await?;
    program.listen().await;
    outcomes.push(outcome("a yes under an old number", house.reached("second.txt"), FACE));
    outcomes.push(outcome("a yes after the no", house.reached("first.txt"), FACE));
    program.give_up(second).await?;
    let wrong = [
        ("always", json!({"action": "accept", "content": {"decision": "always"}})),
        ("for the session", json!({"action": "accept", "content": {"decision": "session"}})),
        ("in a list", json!({"action": "accept", "content": {"decision": ["allow"]}})),
        ("beside the form", json!({"action": "accept", "decision": "allow"})),
        (
            "as a model's words",
            json!({
                "role": "assistant", "content": {"type": "text", "text": "allow"}, "model": "m"
            }),
        ),
        ("as folders", json!({"roots": [{"uri": "file:///"}]})),
    ];
    for (number, (name, result)) in wrong.into_iter().enumerate() {
        // The same call again and again would be refused for that.
        let path = format!("wrong-{number}.txt");
        let id = program.call("write_file", write(&path)).await?;
        let Some(form) = program.asked("elicitation/create").await else {
            anyhow::bail!("an ordinary call is asked about");
        };
        program.answer(&form["id"], result).await?;
        program.listen().await;
        outcomes.push(outcome(&format!("a yes {name}"), house.reached(&path), FACE));
        program.give_up(id).await?;
    }
    program.leave().await?;
    Ok(outcomes)
}

/// The name of a call that waits, used for another call, by another program, and again.
async fn other_states(house: &FaceHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let (mut ours, mut theirs) = (house.connect(), house.connect());
    let params =
        |path: &str| json!({"name": "write_file", "arguments": write(path), "_meta": newest()});
    let asked = ours.ask("tools/call", params("mine.txt")).await?;
    let state = asked["result"]["requestState"].clone();
    let question = asked["result"]["inputRequests"].as_object();
    let question = question.and_then(|all| all.keys().next().cloned()).unwrap_or_default();
    anyhow::ensure!(state.is_string(), "it is asked to come back: {asked}");
    let with_yes = |path: &str| {
        let mut params = params(path);
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({ &question: yes() });
        params
    };
    theirs.ask("tools/call", with_yes("mine.txt")).await?;
    outcomes.push(outcome("a yes by another program", house.reached("mine.txt"), FACE));
    ours.ask("tools/call", with_yes("other.txt")).await?;
    outcomes.push(outcome("a yes to other arguments", house.reached("other.txt"), FACE));
    ours.ask("tools/call", with_yes("mine.txt")).await?;
    outcomes.push(outcome("a yes after another was tried", house.reached("mine.txt"), FACE));
    ours.leave().await?;
    theirs.leave().await?;
    Ok(outcomes)
}

/// Lines that are none.
async fn hostile_lines(house: &FaceHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let mut program = program(house).await?;
    let deep = |many: usize| format!("{}1{}", "[".repeat(many), "]".repeat(many));
    let lines: [(&str, Vec<u8>); 7] = [
        ("a line that is too long", vec![b'x'; LONG]),
        ("a line that is too deep", deep(100_000).into_bytes()),
        ("no text", vec![0xff, 0xfe, 0x00, 0x80]),
        ("half a message", br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"#.to_vec()),
        ("a list of messages", br#"[{"jsonrpc":"2.0","id":8,"method":"ping"}]"#.to_vec()),
        ("a number that is none", br#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#.to_vec()),
        (
            "a second beginning",
            json!({
                "jsonrpc": "2.0", "id": "again", "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": {"name": "somebody else", "version": "1"}
                }
            })
            .to_string()
            .into_bytes(),
        ),
    ];
    for (name, line) in lines {
        program.send_bytes(&line).await?;
        let reached = (!program.is_answered().await).then(|| "it no longer answers".to_owned());
        outcomes.push(outcome(name, reached, FACE));
    }
    program.leave().await?;
    Ok(outcomes)
}

/// Tools under names that are not theirs, and those that no client has.
async fn tricky_names(house: &FaceHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let mut program = program(house).await?;
    for name in [
        "write_file\u{0}",
        "write_file\n",
        " write_file",
        "WRITE_FILE",
        "wr\u{456}te_file",
        "../write_file",
        "functions.write_file",
        "call_tool",
        "use_mcp_tool",
        "update_settings",
        "manage_tool",
        "new_task",
        "brain",
        "email",
        "__proto__",
        "",
    ] {
        let arguments = json!({
            "path": "named.txt", "content": "owned\n", "name": "write_file", "tool": "write_file",
            "arguments": write("named.txt"), "input": write("named.txt")
        });
        let id = program.call(name, arguments).await?;
        let answer = program.answer_to(id).await?;
        let is_done = answer["result"].is_object() && answer["result"]["isError"] != true;
        let reached = house.reached("named.txt").or(is_done.then(|| "it was called".to_owned()));
        outcomes.push(outcome(&format!("the tool {name:?}"), reached, FACE));
    }
    program.leave().await?;
    Ok(outcomes)
}

/// Folders that it says it has open, for what lies beside the folder that is served.
async fn other_folders(house: &FaceHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let beside = house.at("beside.txt");
    let above = uri_of(&house.at(""));
    let own = uri_of(&house.at("work"));
    for (name, folders) in [
        ("everything", vec!["file:///"]),
        ("what holds the folder", vec![above.as_str()]),
        ("the folder and a way out of it", vec![own.as_str(), "file:///srv/../.."]),
        ("another place", vec!["file:///etc"]),
        ("no place", vec!["file://host/x", "https://a.example", "%", ""]),
    ] {
        let mut program = house.connect();
        program.begin("hostile", &json!({"roots": {"listChanged": true}})).await?;
        let id = program.call("read_file", json!({"path": beside.display().to_string()})).await?;
        program.name_folders(&folders).await?;
        let answer = program.answer_to(id).await?;
        let read = program.ask("resources/read", json!({"uri": uri_of(&beside)})).await?;
        let told = format!("{answer}{read}");
        let reached = told.contains(BESIDE).then(|| "it was read".to_owned());
        outcomes.push(outcome(&format!("{name} as its folders"), reached, FACE));
        program.leave().await?;
    }
    Ok(outcomes)
}

/// Words of the program that are to look like lines of the log, or to steer whoever looks at it.
async fn written_log(house: &FaceHouse) -> anyhow::Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let forged = "x\r\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":\
                  {\"level\":\"emergency\",\"logger\":\"forged\",\"data\":\"x\"}}\n\u{1b}[2J\u{202e}";
    let mut program = house.connect();
    program.begin(forged, &json!({})).await?;
    program.ask("logging/setLevel", json!({"level": "debug"})).await?;
    for arguments in [
        json!({"path": forged, "content": forged}),
        json!({"path": format!("a/{forged}"), "content": "x"}),
        json!({"path": "a.txt", "content": forged, "level": "emergency"}),
    ] {
        let id = program.call("write_file", arguments).await?;
        program.answer_to(id).await?;
    }
    let messages: Vec<Value> = program
        .heard
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or(Value::Null))
        .collect();
    let is_log = |message: &&Value| message["method"] == "notifications/message";
    let lines: Vec<&Value> = messages.iter().filter(is_log).collect();
    anyhow::ensure!(!lines.is_empty(), "it is told lines: {:?}", program.heard);
    let is_forged = lines.iter().any(|line| line["params"]["logger"] != "weir");
    let reached = is_forged.then(|| "a line that nobody wrote".to_owned());
    outcomes.push(outcome("a line of its own in the log", reached, FACE));
    let steers = |text: &str| text.contains(['\r', '\n', '\u{1b}', '\u{202e}']);
    let is_steering = lines.iter().any(|line| {
        let data = &line["params"]["data"];
        ["message", "tool"].iter().any(|field| data[*field].as_str().is_some_and(steers))
    });
    let reached = is_steering.then(|| "what steers a terminal".to_owned());
    outcomes.push(outcome("what steers a terminal in the log", reached, FACE));
    let is_torn = messages.iter().any(Value::is_null);
    let reached = is_torn.then(|| "a line that is no message".to_owned());
    outcomes.push(outcome("an end of a line in what it is told", reached, FACE));
    program.leave().await?;
    Ok(outcomes)
}
