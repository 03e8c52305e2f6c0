//! What a question becomes as a form or page, and what the answers mean.

use weir_core::event::{Event, SharedFact};

use super::*;

const BOTH: ElicitationModes = ElicitationModes { forms: true, pages: true };

fn asked(more: &Value) -> PendingAsk {
    let mut fields = json!({
        "question": "s-q1", "call": "c1", "text": "Which colour?\n\u{202e}?", "options": [],
        "multiple": false,
    });
    for (name, value) in more.as_object().expect("an object") {
        fields[name] = value.clone();
    }
    match Event::from_payload("question.asked", &fields.to_string()) {
        Ok(Event::QuestionAsked(asked)) => PendingAsk::Question(SharedFact::from(asked)),
        other => panic!("{other:?}"),
    }
}

fn of_server(field: &Value) -> PendingAsk {
    asked(&json!({
        "server": "hub", "options": ["Leave it out", "Decline", "Cancel"], "field": field,
    }))
}

fn value(required: bool, schema: &Value) -> Value {
    json!({"kind": "value", "required": required, "schema": schema})
}

fn shown(ask: &PendingAsk, able: ElicitationModes) -> Option<Value> {
    let params = elicitation_question("s", ask, able)?;
    Some(serde_json::to_value(params).expect("plain data"))
}

fn reply(ask: &PendingAsk, answer: Value) -> PermissionReply {
    read_elicitation(ask.question().expect("it is one"), Ok(answer))
}

fn accepted(ask: &PendingAsk, content: &Value) -> PermissionReply {
    reply(ask, json!({"action": "accept", "content": content}))
}

fn words(text: &str) -> PermissionReply {
    PermissionReply::Said(text.to_owned())
}

#[test]
fn r1_a_question_is_a_form_where_the_editor_has_forms_and_a_choice_stays_one() {
    let free = asked(&json!({}));
    let expected = json!({
        "sessionId": "s", "toolCallId": "c1", "message": "Which colour?\n<U+202E>?", "mode": "form",
        "requestedSchema": {
            "type": "object", "required": ["answer"],
            "properties": {"answer": {"type": "string", "title": "Your answer", "minLength": 1}},
        },
    });
    assert_eq!(shown(&free, BOTH), Some(expected));
    assert_eq!(shown(&free, ElicitationModes { forms: false, pages: true }), None);
    let several = asked(&json!({"options": ["red", "b\nlue"], "multiple": true}));
    let told = shown(&several, BOTH).expect("it is a form");
    let fields = &told["requestedSchema"]["properties"];
    let all = json!([{"const": "red", "title": "red"}, {"const": "b\nlue", "title": "b lue"}]);
    assert_eq!(fields["choices"]["items"], json!({"anyOf": all}));
    assert_eq!(fields["answer"]["type"], "string");
    assert_eq!(told["requestedSchema"]["required"], json!([]));
    assert_eq!(shown(&asked(&json!({"options": ["red", "blue"]})), BOTH), None);
}

#[test]
fn r1_answers_to_a_question_of_the_agent_are_words_or_none() {
    let several = asked(&json!({"options": ["red", "blue"], "multiple": true}));
    for (content, expected) in [
        (json!({"choices": ["red", "blue"]}), words("red, blue")),
        (json!({"choices": ["red"], "answer": "and more"}), words("red, and more")),
        (json!({"choices": [], "answer": " "}), PermissionReply::Nothing),
        (json!({}), PermissionReply::Nothing),
        (Value::Null, PermissionReply::Nothing),
    ] {
        assert_eq!(accepted(&several, &content), expected, "{content}");
    }
    for action in ["decline", "cancel"] {
        assert_eq!(reply(&several, json!({"action": action})), PermissionReply::Nothing);
    }
    for odd in [Value::Null, json!({}), json!({"action": "later"})] {
        assert!(matches!(reply(&several, odd), PermissionReply::Unable(_)));
    }
}

#[test]
fn r1_a_field_of_a_servers_form_is_asked_by_its_type_and_answered_in_the_words_of_every_face() {
    let number = json!({"type": "integer", "minimum": 1, "title": "size", "default": 3});
    let ask = of_server(&value(true, &number));
    let told = shown(&ask, BOTH).expect("it is a form");
    let form = json!({"type": "object", "properties": {"answer": number}, "required": ["answer"]});
    assert_eq!(told["requestedSchema"], form);
    assert_eq!(shown(&ask, ElicitationModes::default()), None, "then it is a choice or words");
    for (schema, sent, expected) in [
        (number, json!(7), "7"),
        (json!({"type": "number"}), json!(0.5), "0.5"),
        (json!({"type": "boolean"}), json!(false), "no"),
        (json!({"type": "boolean"}), json!(true), "yes"),
        (json!({"type": "string"}), json!("a, b"), "a, b"),
        (json!({"type": "array"}), json!(["a", "c"]), "a, c"),
        (json!({"type": "array"}), json!(["a,b", "c"]), r#"["a,b","c"]"#),
    ] {
        let ask = of_server(&value(false, &schema));
        assert_eq!(accepted(&ask, &json!({"answer": sent})), words(expected), "{schema}");
    }
    let text = json!({"type": "string"});
    let (must, may) = (of_server(&value(true, &text)), of_server(&value(false, &text)));
    for empty in [json!({}), json!({"answer": ""}), json!({"answer": null})] {
        assert_eq!(accepted(&may, &empty), words("Leave it out"));
        assert_eq!(accepted(&must, &empty), words(""));
    }
    assert_eq!(reply(&may, json!({"action": "decline", "_meta": {}})), words("Decline"));
    assert_eq!(reply(&may, json!({"action": "cancel"})), words("Cancel"));
}

#[test]
fn r1_a_page_of_a_server_is_opened_by_the_person_where_the_editor_can_show_it() {
    let ask = of_server(&json!({"kind": "page", "url": "https://a.example/x"}));
    let told = shown(&ask, BOTH).expect("it is a page");
    assert_eq!((&told["mode"], &told["url"]), (&json!("url"), &json!("https://a.example/x")));
    assert_eq!(told["elicitationId"], "s-q1");
    assert_eq!(shown(&ask, ElicitationModes { forms: true, pages: false }), None);
    let hiding = of_server(&json!({"kind": "page", "url": "https://a.example/\u{202e}x"}));
    assert_eq!(shown(&hiding, BOTH), None, "it hides something");
    assert_eq!(reply(&ask, json!({"action": "accept"})), words("I opened it"));
    assert_eq!(reply(&ask, json!({"action": "decline"})), words("Decline"));
}
