//! What is proposed for which names and arguments, and that no schema breaks it.

use proptest::prelude::*;
use serde_json::json;
use weir_core::tool::{ActKind, InputSchema};

use super::*;

fn listed(description: &str, schema: Value, says_read_only: bool) -> ListedTool {
    let description = description.to_owned();
    ListedTool { description, input_schema: schema, says_read_only, ..ListedTool::default() }
}

/// The kind that is proposed for a name, a description and the hint; `none`: nothing.
fn kind(name: &str, description: &str, says_read_only: bool) -> &'static str {
    let proposed = propose_declaration(name, &listed(description, json!({}), says_read_only));
    let Some(proposed) = proposed else { return "none" };
    match proposed.declaration.act_kind().expect("one kind") {
        None => "reads",
        Some(ActKind::Own) => "own",
        Some(ActKind::Send) => "sends",
        Some(ActKind::Destroy) => "destroys",
        Some(ActKind::Identity) => "identity",
        Some(ActKind::Commit) => "commits",
    }
}

#[test]
fn u2_a_name_says_what_a_tool_does() {
    for (name, expected) in [
        ("send_message", "sends"),
        ("sendMessage", "sends"),
        ("slack_post_message", "sends"),
        ("API-create-a-comment", "sends"),
        ("discord_reply_to_forum", "sends"),
        ("share_file", "sends"),
        ("publish_draft", "sends"),
        ("updateIssue", "sends"),
        ("pay_invoice", "commits"),
        ("create_payment", "commits"),
        ("book_flight", "commits"),
        ("transferFunds", "commits"),
        ("cancel_orders", "commits"),
        ("createRefund", "commits"),
        ("delete_page", "destroys"),
        ("removeLabel", "destroys"),
        ("archive_card", "destroys"),
        ("purge_cache", "destroys"),
        ("create_api_key", "identity"),
        ("add_collaborator", "identity"),
        ("delete_token", "identity"),
        ("set_permissions", "identity"),
        ("change_password", "identity"),
        ("invite_member", "identity"),
        ("get_or_create_label", "sends"),
        ("search_and_delete", "destroys"),
        ("frobnicate", "none"),
        ("run", "none"),
        ("", "none"),
        ("monkey_business", "none"),
        ("keyboard_layout", "none"),
    ] {
        assert_eq!(kind(name, "", false), expected, "{name}");
    }
}

/// `(name, it declares itself read-only, what is proposed)`
#[test]
fn u2_nothing_is_proposed_as_reading_that_does_not_say_so() {
    for (name, says, expected) in [
        ("list_issues", false, "none"),
        ("list_issues", true, "reads"),
        ("getUser", false, "none"),
        ("getUser", true, "reads"),
        ("search_orders", true, "reads"),
        ("list_members", true, "reads"),
        ("slack_list_members", true, "reads"),
        ("slack_list_members", false, "none"),
        ("send_list_members", true, "identity"),
        ("list_members", false, "none"),
        ("fetch", true, "reads"),
        ("frobnicate", true, "none"),
        ("send_message", true, "sends"),
        ("delete_everything", true, "destroys"),
        ("read_and_delete", true, "destroys"),
        ("pay", true, "commits"),
    ] {
        assert_eq!(kind(name, "", says), expected, "{name}, read-only: {says}");
    }
}

/// `(name, description, what is proposed)`: the first word of a description only makes stricter.
#[test]
fn u2_a_description_makes_a_proposal_stricter_and_never_milder() {
    for (name, description, expected) in [
        ("frobnicate", "Deletes the record for good.", "destroys"),
        ("frobnicate", "Sends a message.", "sends"),
        ("frobnicate", "The record that is deleted.", "none"),
        ("send_it", "Pays the bill.", "commits"),
        ("delete_it", "Sends a message.", "destroys"),
        ("delete_it", "Gets a record. Harmless.", "destroys"),
        ("list_things", "Lists things and their keys.", "none"),
        ("list_things", "Delete all of them.", "destroys"),
    ] {
        assert_eq!(kind(name, description, false), expected, "{name}: {description}");
    }
    assert_eq!(kind("list_things", "Delete all of them.", true), "destroys");
}

fn text() -> Value {
    json!({ "type": "string" })
}

/// `(name, its arguments, the lines that are proposed)`
#[test]
fn u2_arguments_are_sorted_by_their_names() {
    let number = json!({ "type": "integer" });
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let people = json!({ "type": "array", "items": {
        "type": "object", "properties": { "email": text(), "note": text(), "level": text() } } });
    let message = json!({ "type": "object", "properties": { "to": text(), "body": text() } });
    let state = json!({ "type": "string", "enum": ["open", "closed"] });
    let mixed = json!({ "anyOf": [
        { "type": "string" },
        { "type": "object", "properties": { "cc": { "type": "string" } } },
    ] });
    for (name, properties, expected) in [
        (
            "send_message",
            json!({ "channel_id": text(), "text": text() }),
            "sends = { to = [\"channel_id\"], content = [\"text\"] }\n",
        ),
        // What is not known stands in no list, and counts as a recipient.
        (
            "send_message",
            json!({ "to": text(), "whisper": text(), "body": text() }),
            "sends = { to = [\"to\"], content = [\"body\"] }\n",
        ),
        ("post", json!({}), "sends = { }\n"),
        (
            "send_mail",
            json!({ "message": message }),
            "sends = { to = [\"message.to\"], content = [\"message.body\"] }\n",
        ),
        (
            "create_event",
            json!({ "attendees": texts.clone(), "people": people, "title": text() }),
            "sends = { to = [\"attendees\", \"people[].email\"], content = [\"people[].note\", \
             \"title\"] }\n",
        ),
        (
            "update_issue",
            json!({ "issue_iid": number.clone(), "state": state, "notify": { "type": "boolean" },
                    "description": text() }),
            "sends = { to = [\"issue_iid\"], content = [\"description\"] }\n",
        ),
        // An id of a message is none, nor is the kind of a content, nor what may be an object.
        (
            "reply",
            json!({ "message_id": text(), "content_type": text(), "body": mixed, "note": {} }),
            "sends = { }\n",
        ),
        (
            "pay",
            json!({ "recipient": text(), "total_amount": number.clone(), "currency": text(),
                    "note": text() }),
            "commits = { to = [\"recipient\"], amount = [\"total_amount\"] }\ncontrol = \
             [\"currency\"]\ncontent = [\"note\"]\n",
        ),
        (
            "delete_page",
            json!({ "page_id": text(), "version": number, "comment": text() }),
            "destroys = true\ncontrol = [\"page_id\", \"version\"]\ncontent = [\"comment\"]\n",
        ),
        (
            "add_member",
            json!({ "user": text(), "level": text() }),
            "identity = true\ncontrol = [\"user\", \"level\"]\n",
        ),
        ("send", json!({ "a.to": text(), "b[]": text() }), "sends = { }\n"),
    ] {
        let schema = json!({ "type": "object", "properties": properties });
        let proposed = propose_declaration(name, &listed("", schema.clone(), false));
        let proposed = proposed.unwrap_or_else(|| panic!("{name}: nothing"));
        assert_eq!(declaration_toml(&proposed.declaration), expected, "{name}");
        assert_eq!(proposed.declaration.find_problem(&schema), None, "{name}");
    }
}

#[test]
fn u2_who_reads_at_any_address_sends_there() {
    let at = |name: &str| json!({ "type": "object", "properties": { name: text() } });
    for (argument, expected) in [
        ("url", "sends = { to = [\"url\"] }\n"),
        ("pageUrl", "sends = { to = [\"pageUrl\"] }\n"),
        ("query", "reads = true\n"),
    ] {
        let proposed = propose_declaration("fetch", &listed("", at(argument), true));
        assert_eq!(
            declaration_toml(&proposed.expect("a proposal").declaration),
            expected,
            "{argument}"
        );
    }
}

#[test]
fn u2_a_proposal_says_what_it_rests_on() {
    for (name, description, expected) in [
        ("send_x", "", "its name says \"send\""),
        ("x", "Deletes it.", "its description says \"delete\""),
    ] {
        let proposed = propose_declaration(name, &listed(description, json!({}), false));
        assert_eq!(proposed.expect("a proposal").because, expected);
    }
}

/// Any JSON, with the keywords of schemas and the words of the lists in it.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "properties",
        "items",
        "type",
        "anyOf",
        "oneOf",
        "enum",
        "const",
        "$ref",
        "to",
        "body",
        "amount",
        "string",
        "object",
        "array",
        "null",
        "a.b",
        "[]",
        "",
        "url",
        "\u{0}",
        "\"",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(12, 96, 6, move |inner| {
        let name = prop_oneof![words.clone().prop_map(str::to_owned), ".*"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever a server says, there is a proposal or none; one names arguments that are there, each
    /// once, and what it does not name counts as a recipient.
    #[test]
    fn u2_no_schema_breaks_a_proposal(
        name in prop_oneof!["[a-z_A-Z]{0,20}", ".*", Just("send_message".to_owned()), Just("pay".to_owned())],
        description in ".*",
        fields in any_json(),
        says_read_only in any::<bool>(),
    ) {
        for schema in [fields.clone(), json!({ "type": "object", "properties": fields })] {
            let tool = listed(&description, schema.clone(), says_read_only);
            let Some(proposed) = propose_declaration(&name, &tool) else { continue };
            let problem = proposed.declaration.find_problem(&InputSchema::from(schema));
            prop_assert_eq!(problem, None, "{}", declaration_toml(&proposed.declaration));
            prop_assert!(!proposed.declaration.reads || says_read_only);
            prop_assert!(!proposed.declaration.own, "nothing is proposed as the person's own");
        }
    }
}
