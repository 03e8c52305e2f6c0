//! Lines that are good, bad and too long.

use proptest::prelude::*;
use serde_json::json;
use tokio::io::BufReader;

use super::*;

fn parsed(line: &str) -> IncomingMessage {
    IncomingMessage::parse_line(line.as_bytes())
}

fn invalid_code(line: &str) -> i64 {
    match parsed(line) {
        IncomingMessage::Invalid { error, .. } => error.code,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn r1_requests_notifications_and_answers_are_told_apart() {
    let id = |value: Value| RequestId(value);
    let (method, params) = ("session/new".to_owned(), json!({"cwd": "/"}));
    assert_eq!(
        parsed(r#"{"jsonrpc":"2.0","id":"a","method":"session/new","params":{"cwd":"/"}}"#),
        IncomingMessage::Request { id: id(json!("a")), method, params }
    );
    assert_eq!(
        parsed(r#"{"jsonrpc":"2.0","method":"session/cancel"}"#),
        IncomingMessage::Notification { method: "session/cancel".into(), params: Value::Null }
    );
    assert_eq!(
        parsed(r#"{"jsonrpc":"2.0","id":3,"result":null}"#),
        IncomingMessage::Answer { id: id(json!(3)), outcome: Ok(Value::Null) }
    );
    assert_eq!(
        parsed(r#"{"id":3,"error":{"code":-32601,"message":"no"}}"#),
        IncomingMessage::Answer { id: id(json!(3)), outcome: Err(RpcError::new(-32601, "no")) }
    );
}

#[test]
fn r1_what_is_no_message_is_an_error_and_no_panic() {
    for line in ["", "{", "nul", "\u{0}", "{\"id\":1"] {
        assert_eq!(invalid_code(line), PARSE_ERROR, "{line:?}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(invalid_code(&deep), PARSE_ERROR);
    for line in [
        "[]",
        "1",
        "{}",
        r#"{"id":{}}"#,
        r#"{"id":1.5,"method":"x"}"#,
        r#"{"id":1,"method":2}"#,
        r#"{"id":1}"#,
    ] {
        assert_eq!(invalid_code(line), INVALID_REQUEST, "{line:?}");
    }
    let odd = parsed(r#"{"id":1,"error":"what"}"#);
    assert!(matches!(odd, IncomingMessage::Answer { outcome: Err(_), .. }), "{odd:?}");
}

#[tokio::test]
async fn r1_lines_are_bounded_and_the_next_one_is_read() {
    let text = format!("\n  \r\n{}\n{{\"a\":1}}\r\n{}\nend", "x".repeat(40), "y".repeat(16));
    // Small parts: a line comes in pieces.
    let mut lines = LineReader::new(BufReader::with_capacity(3, text.as_bytes()), 16);
    let mut read = Vec::new();
    loop {
        match lines.next_line().await.expect("bytes can be read") {
            ReadLine::End => break,
            line => read.push(line),
        }
    }
    let line = |text: &str| ReadLine::Line(text.as_bytes().to_vec());
    let expected = [ReadLine::TooLong, line("{\"a\":1}\r"), line(&"y".repeat(16)), line("end")];
    assert_eq!(read, expected);
}

proptest! {
    #[test]
    fn z10_any_line_is_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        IncomingMessage::parse_line(&bytes);
    }

    #[test]
    fn z10_a_message_with_any_change_is_one_or_an_error(at in 0_usize..90, byte in any::<u8>()) {
        let mut line = br#"{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}"#.to_vec();
        let place = at % line.len();
        line[place] = byte;
        if let IncomingMessage::Invalid { error, .. } = IncomingMessage::parse_line(&line) {
            prop_assert!([PARSE_ERROR, INVALID_REQUEST].contains(&error.code));
        }
    }
}
