//! A journal made into a script says the same again (V7).

use serde_json::{Value, json};
use weir_scripted_model::{Script, from_journal};

use crate::model::{Session, model, plain, text};

fn replied(content: &Value, stop: &str) -> Value {
    let usage =
        json!({"input": 10, "output": 5, "cache_read": 3, "cache_write": 0, "reasoning": 0});
    json!({"v": 1, "kind": "model.replied", "turn": "t1", "content": content, "stop": stop,
           "usage": usage, "cost_usd": 0.1})
}

fn call(tool: &str, wire_id: &str, input: &Value) -> Value {
    json!({"type": "call", "call": "c1", "wire_id": wire_id, "tool": tool, "input": input})
}

#[tokio::test]
async fn v7_a_journal_replays_as_a_script() {
    let odd = "  leading\r\n\n# not a comment\nsays: not a step\n---\nend\ttrailing  \n";
    let several = "Title\n\n  indented {{i}}\n# heading\nlast";
    let facts = [
        json!({"kind": "session.opened", "model": "anthropic/claude"}),
        json!({"kind": "input.accepted", "content": [{"type": "text", "text": "Go."}]}),
        json!({"kind": "model.retried", "class": "rate_limited", "message": "slow # down"}),
        replied(
            &json!([
                {"type": "thinking", "text": "hm\nhm"},
                {"type": "text", "text": several},
                call("read_file", "toolu_1", &json!({"path": "a # b"})),
                call("odd name", "toolu_2", &json!({})),
            ]),
            "calls",
        ),
        replied(&json!([{"type": "text", "text": odd}]), "max_tokens"),
    ];
    let script = from_journal(&facts);
    for dialect in ["anthropic", "openai-responses"] {
        let mut session = Session::new(&model(&script, dialect));
        session.user("Go.");
        assert_eq!(plain(&session.turn("").await)["failed"], "rate_limited", "{script}");
        let usage =
            json!({"input": 10, "output": 5, "cache_read": 3, "cache_write": 0, "reasoning": 0});
        let reply = session.turn("ok").await;
        let blocks = &plain(&reply)["blocks"];
        assert_eq!(blocks[0], json!({"think": "hm\nhm"}));
        assert_eq!(blocks[1], json!({"text": several}));
        assert_eq!(blocks[2], json!({"call": "read_file", "arguments": {"path": "a # b"}}));
        assert_eq!(plain(&reply)["usage"], usage);
        assert_eq!(text(&session.turn("").await), odd);
    }
}

#[test]
fn v7_every_journal_gives_a_script_that_can_be_read() {
    let media = json!({"media_type": "image/png", "blob": "b", "bytes": 9});
    let broken = json!({"type": "call", "call": "c1", "wire_id": "", "tool": "t", "input": {},
                        "broken": "expected `,`\nat line 1"});
    for facts in [
        vec![],
        vec![json!({"kind": "model.replied"})],
        vec![json!({"kind": "model.retried", "class": "timeout", "message": "x"})],
        vec![replied(&json!([]), "end")],
        vec![replied(&json!([{"type": "image", "media": media}, broken]), "calls")],
        vec![json!(7), json!(null), json!({"kind": 3})],
    ] {
        let script = from_journal(&facts);
        Script::parse(&script).unwrap_or_else(|error| panic!("{error}\n{script}"));
    }
    let condensed = [json!({"kind": "context.condensed"}), replied(&json!([]), "end")];
    assert!(from_journal(&condensed).contains("order: requests"));
}
