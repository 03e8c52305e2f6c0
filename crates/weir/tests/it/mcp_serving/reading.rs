//! Prompts and resources: what can be chosen and read, and that it is read through the gate.

use super::*;

fn texts(answer: &Value) -> String {
    let contents = answer["result"]["contents"].as_array().cloned().unwrap_or_default();
    contents.iter().filter_map(|one| one["text"].as_str()).collect()
}

#[test]
fn r2_workflows_and_skills_are_prompts_with_what_is_typed_behind_their_name() {
    let house = house("");
    house.write(
        "config/weir/commands/greet.md",
        "---\ndescription: Greets somebody\n---\nGreet $ARGUMENTS warmly.\n",
    );
    house.write(
        "config/weir/skills/tides/SKILL.md",
        "---\nname: tides\ndescription: Knows the tides. Use it for anything about tides.\n---\nLook at the moon.\n",
    );
    house.write("config/weir/commands/plain.md", "Go on with all that is a test.\n");
    house.write("config/weir/commands/pair.md", "First $1, then $2.\n");
    let mut client = McpClient::start(&house, &[], &json!({}));
    let listed = client.ask("prompts/list", json!({}));
    let prompts =
        listed["result"]["prompts"].as_array().cloned().unwrap_or_else(|| panic!("{listed}"));
    let named = |name: &str| prompts.iter().find(|prompt| prompt["name"] == name).cloned();
    assert_eq!(named("greet").expect("greet")["description"], "Greets somebody");
    assert!(named("tides").is_some(), "{prompts:?}");
    let read =
        client.ask("prompts/get", json!({"name": "greet", "arguments": {"arguments": "Ada"}}));
    assert_eq!(read["result"]["messages"][0]["content"]["text"], "Greet Ada warmly.", "{read}");
    let read =
        client.ask("prompts/get", json!({"name": "tides", "arguments": {"arguments": "tomorrow"}}));
    let words =
        read["result"]["messages"][0]["content"]["text"].as_str().expect("words").to_owned();
    assert!(words.contains("Look at the moon.") && words.contains("tomorrow"), "{words}");
    // Words that happen to stand in the text are not lost, and those that were placed come once.
    for (name, typed, expected) in [
        ("tides", "moon", "Look at the moon.\n\nArguments: moon"),
        ("plain", "a", "Go on with all that is a test.\n\nArguments: a"),
        ("pair", "'b c' d", "First b c, then d."),
    ] {
        let arguments = json!({ "arguments": typed });
        let read = client.ask("prompts/get", json!({"name": name, "arguments": arguments}));
        let words = read["result"]["messages"][0]["content"]["text"].as_str().expect("words");
        assert!(words.trim_end().ends_with(expected), "{name}: {words}");
    }
    let none = client.ask("prompts/get", json!({"name": "nothing"}));
    assert_eq!(none["error"]["code"], -32602, "{none}");
}

#[test]
fn r2_files_checkpoints_and_the_session_are_resources_and_reading_a_file_is_a_judged_call() {
    let house = house("");
    house.write("work/.weirignore", "secret.txt\n");
    house.write("work/secret.txt", "nobody reads this\n");
    let mut client = McpClient::start(&house, &["--permission", "auto-edit"], &json!({}));
    let listed = client.ask("resources/list", json!({}));
    let uris: Vec<&str> = listed["result"]["resources"]
        .as_array()
        .map(|all| all.iter().filter_map(|one| one["uri"].as_str()).collect())
        .unwrap_or_default();
    assert_eq!(uris, ["weir://files", "weir://checkpoints", "weir://session"], "{listed}");
    let templates = client.ask("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "file:///{+path}");

    let file = |name: &str| format!("file://{}", house.work().join(name).display());
    let read = client.ask("resources/read", json!({"uri": file("a.txt")}));
    assert_eq!(texts(&read), "old\n", "{read}");
    assert_eq!(read["result"]["contents"][0]["uri"], file("a.txt"));
    let hidden = client.ask("resources/read", json!({"uri": file("secret.txt")}));
    assert!(
        hidden.get("error").is_some() && !hidden.to_string().contains("nobody reads"),
        "{hidden}"
    );
    let none = client.ask("resources/read", json!({"uri": "weir://nothing"}));
    assert_eq!(none["error"]["code"], -32002, "{none}");

    let (ok, words) = client.call("write_file", json!({"path": "a.txt", "content": "new\n"}));
    assert!(ok, "{words}");
    let files = client.ask("resources/read", json!({"uri": "weir://files"}));
    assert!(texts(&files).contains("a.txt") && !texts(&files).contains("secret.txt"), "{files}");
    let checkpoints = client.ask("resources/read", json!({"uri": "weir://checkpoints"}));
    assert!(texts(&checkpoints).contains("a.txt"), "{checkpoints}");
    let session = session_of(&house);
    let taken = house.facts_of_kind(&session, "checkpoint.taken");
    let name = taken[0]["checkpoint"].as_str().expect("a name").to_owned();
    let diff = client.ask("resources/read", json!({"uri": format!("weir://checkpoint/{name}")}));
    assert!(texts(&diff).contains("+new"), "{diff}");
    let journal = client.ask("resources/read", json!({"uri": "weir://session"}));
    let facts: Vec<Value> =
        texts(&journal).lines().map(|line| serde_json::from_str(line).expect("a fact")).collect();
    assert!(facts.iter().any(|fact| fact["kind"] == "call.judged"), "{journal}");
    assert!(facts.iter().all(|fact| fact["session"] == session.as_str()));
    // Each of them was a call that the gate judged.
    let judged = house.facts_of_kind(&session, "call.judged");
    assert!(judged.len() >= 6, "{judged:?}");
}

#[test]
fn r2_a_long_journal_is_read_in_pages_and_none_is_longer_than_its_bound() {
    let house = house("");
    let mut client = McpClient::start(&house, &["--permission", "auto-edit"], &json!({}));
    for name in ["b.txt", "c.txt", "d.txt"] {
        let content = format!("{name}\n").repeat(30_000);
        let (ok, words) = client.call("write_file", json!({"path": name, "content": content}));
        assert!(ok, "{words}");
    }
    let page = |client: &mut McpClient, uri: &str| -> Vec<u64> {
        let read = client.ask("resources/read", json!({ "uri": uri }));
        let text = texts(&read);
        assert!(text.len() <= 400_000 || text.lines().count() == 1, "{} bytes", text.len());
        let fact = |line: &str| serde_json::from_str::<Value>(line).expect("a fact");
        text.lines().map(|line| fact(line)["seq"].as_u64().expect("a number")).collect()
    };
    let newest = page(&mut client, "weir://session");
    assert!(newest[0] > 10, "the oldest ones do not fit: {newest:?}");
    // From the beginning to the end, page by page.
    let (mut from, mut seen) = (1, Vec::new());
    loop {
        let numbers = page(&mut client, &format!("weir://session/{from}"));
        let Some(last) = numbers.last() else { break };
        from = last + 1;
        seen.extend(numbers);
    }
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]) && seen.len() > newest.len(), "{seen:?}");
    assert!(newest.iter().all(|number| seen.contains(number)), "{newest:?} in {seen:?}");
}

/// Three commands: one with a place for words, one without, one that the folder brings.
fn house_of_prompts() -> TestInstallation {
    let house = house("");
    house.write(
        "config/weir/commands/greet.md",
        "---\ndescription: Greets somebody\nargument-hint: whom to greet\n---\nGreet $ARGUMENTS warmly.\n",
    );
    house.write("config/weir/commands/plain.md", "Go on with all that is a test.\n");
    house
}

fn prompt_words(answer: &Value) -> &str {
    answer["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn r2_a_prompt_asks_its_person_for_the_words_that_it_has_a_place_for() {
    let house = house_of_prompts();
    let mut client = McpClient::start(&house, &[], &json!({"elicitation": {}}));
    let asked = |client: &mut McpClient, filled_in: Value| {
        let id = client.begin("prompts/get", json!({"name": "greet"}));
        let form = client.next("a form", |line| line["method"] == "elicitation/create");
        let message = form["params"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("/greet") && message.contains("whom to greet"), "{form}");
        client.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": filled_in}));
        client.answer_to(id)
    };
    let read = asked(
        &mut client,
        json!({"action": "accept", "content": {"arguments": "Ada", "name": "x"}}),
    );
    assert_eq!(prompt_words(&read), "Greet Ada warmly.");
    let read = asked(&mut client, json!({"action": "decline"}));
    assert_eq!(
        prompt_words(&read),
        "Greet  warmly.",
        "a no is no word, and the prompt does without"
    );
    let read = asked(&mut client, json!({"action": "cancel"}));
    assert_eq!(read["error"]["code"], -32602, "{read}");
    // What was said, also nothing, is not asked for, nor what the text has no place for.
    for (name, arguments, expected) in [
        ("greet", json!({"arguments": ""}), "Greet  warmly."),
        ("plain", json!({}), "Go on with all that is a test."),
    ] {
        let read = client.ask("prompts/get", json!({"name": name, "arguments": arguments}));
        assert_eq!(prompt_words(&read).trim_end(), expected);
    }
    // Who shows no forms gets the text as it is.
    let mut client = McpClient::start(&house, &[], &json!({}));
    let read = client.ask("prompts/get", json!({"name": "greet"}));
    assert_eq!(prompt_words(&read), "Greet  warmly.");
}

#[test]
fn r2_without_a_handshake_a_prompt_says_what_it_lacks_and_keeps_nothing_for_its_client() {
    let house = house_of_prompts();
    let program = RunningProgram::start_with_input(house.command(&["mcp"]));
    let mut client = McpClient { program, sent: 0, seen: 0 };
    let meta = newer_meta(&json!({"elicitation": {"form": {}}}));
    let asked = client.ask("prompts/get", json!({"name": "greet", "_meta": meta}));
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    assert!(result["requestState"].is_null(), "{asked}");
    assert_eq!(result["inputRequests"]["arguments"]["method"], "elicitation/create", "{asked}");
    let mut come_back = |answer: Value| {
        let responses = json!({"arguments": answer, "other": {"action": "accept", "content": {}}});
        client.ask(
            "prompts/get",
            json!({"name": "greet", "_meta": meta, "inputResponses": responses}),
        )
    };
    let read = come_back(json!({"action": "accept", "content": {"arguments": "Ada"}}));
    assert_eq!(prompt_words(&read), "Greet Ada warmly.");
    // What is no answer is asked for again.
    for wrong in [json!(7), json!({"action": "accept", "content": {"name": "Ada"}})] {
        let read = come_back(wrong);
        assert_eq!(read["result"]["resultType"], "input_required", "{read}");
    }
    let read = come_back(json!({"action": "accept", "content": {"arguments": 7}}));
    assert_eq!(read["error"]["code"], -32602, "{read}");
}

fn is_update(line: &Value, uri: &str) -> bool {
    line["method"] == "notifications/resources/updated" && line["params"]["uri"] == uri
}

#[test]
fn r2_who_subscribes_is_told_that_the_session_and_its_checkpoints_change_until_they_do_not_want_it()
{
    let house = house("");
    let mut client = McpClient::start(&house, &["--permission", "auto-edit"], &json!({}));
    for uri in ["weir://session", "weir://checkpoints"] {
        let done = client.ask("resources/subscribe", json!({ "uri": uri }));
        assert!(done["result"].is_object(), "{done}");
    }
    let refused = client.ask("resources/subscribe", json!({"uri": "file:///etc/passwd"}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(client.call("write_file", json!({"path": "b.txt", "content": "x"})).0);
    for uri in ["weir://session", "weir://checkpoints"] {
        client.line_from(0, uri, |line| is_update(line, uri));
    }
    let done = client.ask("resources/unsubscribe", json!({"uri": "weir://checkpoints"}));
    assert!(done["result"].is_object(), "{done}");
    let told = |client: &McpClient, uri: &str| {
        client.lines().iter().filter(|line| is_update(line, uri)).count()
    };
    let (before, from) = (told(&client, "weir://checkpoints"), client.lines().len());
    assert!(client.call("write_file", json!({"path": "c.txt", "content": "x"})).0);
    client.line_from(from, "the session", |line| is_update(line, "weir://session"));
    assert_eq!(told(&client, "weir://checkpoints"), before);
}

#[test]
fn r2_without_a_handshake_a_request_that_listens_is_told_of_what_can_be_told() {
    let house = house("");
    let program = RunningProgram::start_with_input(house.command(&["mcp"]));
    let mut client = McpClient { program, sent: 0, seen: 0 };
    let meta = newer_meta(&json!({}));
    let wanted = ["weir://session", "file:///etc/passwd"];
    let listens = client.begin(
        "subscriptions/listen",
        json!({"_meta": meta, "notifications": {"resourceSubscriptions": wanted, "toolsListChanged": true}}),
    );
    let heard = client.next("that it listens", |line| {
        line["method"] == "notifications/subscriptions/acknowledged"
    });
    let expected = json!({"resourceSubscriptions": ["weir://session"]});
    assert_eq!(heard["params"]["notifications"], expected, "{heard}");
    let call = json!({"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": meta});
    let read = client.ask("tools/call", call);
    assert!(read["result"]["content"].is_array(), "{read}");
    let update = client.next("an update", |line| is_update(line, "weir://session"));
    let of = &update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(of, &json!(listens), "{update}");
}

fn newer_meta(able: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "Newer Agent", "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": able
    })
}
