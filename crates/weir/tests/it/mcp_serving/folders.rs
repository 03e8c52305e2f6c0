//! Which folders a client has open: where the person wants that followed, calls and files of other folders are
//! refused, and nothing is ever opened by it.

use super::*;

const FOLLOW: &str = "permission = \"full\"\n[mcp_server]\nroots = \"follow\"\n";

fn able() -> Value {
    json!({"roots": {"listChanged": true}})
}

fn uri_of(house: &TestInstallation, path: &str) -> String {
    format!("file://{}", house.at(path).display())
}

/// Answers the next question for folders.
fn name_folders(client: &mut McpClient, result: Value) {
    let asked = client.next("a question for folders", |line| line["method"] == "roots/list");
    let mut answer = json!({"jsonrpc": "2.0", "id": asked["id"]});
    match result {
        Value::Array(_) => answer["result"] = json!({ "roots": result }),
        error => answer["error"] = error,
    }
    client.send(&answer);
}

fn asked_for_folders(client: &McpClient) -> usize {
    client.lines().iter().filter(|line| line["method"] == "roots/list").count()
}

#[test]
fn r2_calls_are_made_where_the_client_has_the_folder_open_and_it_is_asked_once() {
    let house = house(FOLLOW);
    let mut client = McpClient::start(&house, &[], &able());
    let id = client.begin_call("write_file", json!({"path": "b.txt", "content": "x"}));
    name_folders(&mut client, json!([{"uri": uri_of(&house, "work"), "name": "Work"}]));
    assert!(client.result_of(id).0);
    let (ok, _) = client.call("read_file", json!({"path": "b.txt"}));
    assert!(ok && asked_for_folders(&client) == 1, "what it said holds");
    let read =
        client.ask("resources/read", json!({"uri": format!("{}/a.txt", uri_of(&house, "work"))}));
    assert_eq!(read["result"]["contents"][0]["text"], "old\n", "{read}");

    // It opens another folder: the same calls are refused.
    client.notify("notifications/roots/list_changed", json!({}));
    let id = client.begin_call("write_file", json!({"path": "c.txt", "content": "x"}));
    name_folders(&mut client, json!([{"uri": uri_of(&house, "elsewhere")}]));
    let (ok, words) = client.result_of(id);
    assert!(!ok && words.contains("not in the folders that your program has open"), "{words}");
    assert!(house.read("work/c.txt").is_none());
    let read =
        client.ask("resources/read", json!({"uri": format!("{}/a.txt", uri_of(&house, "work"))}));
    assert!(
        read["error"]["message"].as_str().is_some_and(|why| why.contains("Not done")),
        "{read}"
    );
}

#[test]
fn r2_folders_open_nothing_and_whoever_does_not_name_them_well_gets_nothing() {
    let house = house(FOLLOW);
    house.write("outside.txt", "beside\n");
    let outside = house.at("outside.txt").display().to_string();
    for folders in [
        json!([]),
        json!([{"uri": "https://a.example/"}]),
        json!([{"uri": uri_of(&house, "work/sub")}]),
        json!({"code": -32603, "message": "no"}),
    ] {
        let mut client = McpClient::start(&house, &[], &able());
        let id = client.begin_call("read_file", json!({"path": "a.txt"}));
        name_folders(&mut client, folders.clone());
        assert!(!client.result_of(id).0, "{folders}");
        assert_eq!(client.leave().status, 0);
    }
    // Everything is open there, and here no more than was.
    let mut client =
        McpClient::start(&house, &["--permission", "ask", "--approvals", "deny"], &able());
    let id = client.begin_call("read_file", json!({ "path": outside }));
    name_folders(&mut client, json!([{"uri": "file:///"}]));
    let (ok, words) = client.result_of(id);
    assert!(!ok && !words.contains("beside"), "{words}");
    assert!(client.call("read_file", json!({"path": "a.txt"})).0);
}

#[test]
fn r2_a_client_that_says_nothing_of_folders_or_is_not_followed_is_not_asked() {
    for (config, able) in [(FOLLOW, json!({})), ("permission = \"full\"\n", able())] {
        let house = house(config);
        let mut client = McpClient::start(&house, &[], &able);
        assert!(client.call("read_file", json!({"path": "a.txt"})).0, "{config}");
        assert_eq!(asked_for_folders(&client), 0, "{config}");
    }
}
