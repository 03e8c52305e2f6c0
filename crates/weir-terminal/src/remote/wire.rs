//! What a server's stream of events says: server-sent events taken apart, facts and signals read
//! (C6). Pure, and bounded: a server may send anything.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use weir_core::event::{Event, EventError};
use weir_core::ids::{Seq, Timestamp};
use weir_tui::link::SignalKind;

/// Largest message of a stream, in bytes. A fact with the longest input has a few megabytes.
const MESSAGE_BYTES_MAX: usize = 32 << 20;

/// A message of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct StreamMessage {
    /// Its kind, where it is none of the usual.
    pub(super) event: String,
    /// Its text.
    pub(super) data: String,
}

/// Takes a stream of bytes apart.
#[derive(Debug, Default)]
pub(super) struct EventStreamDecoder {
    line: Vec<u8>,
    event: String,
    data: Vec<u8>,
    has_data: bool,
}

impl EventStreamDecoder {
    /// The messages that end in these bytes.
    ///
    /// # Errors
    /// One is longer than any that a server sends.
    pub(super) fn decode_chunk(&mut self, bytes: &[u8]) -> Result<Vec<StreamMessage>, String> {
        let mut found = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + self.data.len() + part.len() > MESSAGE_BYTES_MAX {
                let most = MESSAGE_BYTES_MAX >> 20;
                return Err(format!("it sends a message of more than {most} MB"));
            }
            self.line.extend_from_slice(part);
            if self.line.last() == Some(&b'\n') {
                let line = std::mem::take(&mut self.line);
                let line = line.strip_suffix(b"\n").unwrap_or(&line);
                found.extend(self.decode_line(line.strip_suffix(b"\r").unwrap_or(line)));
            }
        }
        Ok(found)
    }

    fn decode_line(&mut self, line: &[u8]) -> Option<StreamMessage> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let data = std::mem::take(&mut self.data);
            let is_there = std::mem::take(&mut self.has_data);
            let data = String::from_utf8_lossy(&data).into_owned();
            return is_there.then_some(StreamMessage { event, data });
        }
        let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = (&line[..at], line.get(at + 1..).unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            // The place stands in the event itself; the rest is for browsers.
            _ => (),
        }
        None
    }
}

/// What one message says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FactConsequences {
    /// A fact.
    Fact {
        /// Its place.
        seq: Seq,
        /// When.
        ts: Timestamp,
        /// What.
        event: Arc<Event>,
    },
    /// A fact that this program cannot read: the server is newer.
    Unknown {
        /// Its place.
        seq: Seq,
        /// What it calls it.
        kind: String,
    },
    /// A signal.
    Signal {
        /// About what.
        kind: SignalKind,
        /// The turn or call.
        subject: String,
        /// The text.
        text: String,
    },
    /// Nothing that matters here.
    Nothing,
}

#[derive(Deserialize)]
struct EventEnvelope {
    seq: Option<Seq>,
    ts: Option<Timestamp>,
    #[serde(default)]
    kind: String,
    turn: Option<Value>,
    call: Option<Value>,
    #[serde(default)]
    text: Value,
}

/// Reads an event as the contract has it.
///
/// # Errors
/// It is none: a sentence.
pub(super) fn parse_event(data: &str) -> Result<FactConsequences, String> {
    let envelope: EventEnvelope = serde_json::from_str(data)
        .map_err(|error| format!("it sends what is no event: {error}"))?;
    let Some(seq) = envelope.seq else { return Ok(parse_signal(envelope)) };
    let kind = envelope.kind;
    match (Event::from_payload(&kind, data), envelope.ts) {
        (Ok(event), Some(ts)) => Ok(FactConsequences::Fact { seq, ts, event: Arc::new(event) }),
        (Ok(_), None) => Err(format!("it sends a fact without a time, at {seq}")),
        (Err(EventError::UnknownKind { .. } | EventError::Fields { .. }), _) => {
            Ok(FactConsequences::Unknown { seq, kind })
        }
    }
}

fn parse_signal(envelope: EventEnvelope) -> FactConsequences {
    let kind = match envelope.kind.as_str() {
        "text.delta" => SignalKind::Text,
        "thinking.delta" => SignalKind::Thinking,
        "call.output" => SignalKind::Output,
        _ => return FactConsequences::Nothing,
    };
    let subject = match envelope.turn.or(envelope.call) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => return FactConsequences::Nothing,
    };
    match envelope.text {
        Value::String(text) => FactConsequences::Signal { kind, subject, text },
        _ => FactConsequences::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(parts: &[&str]) -> Vec<StreamMessage> {
        let mut decoder = EventStreamDecoder::default();
        parts
            .iter()
            .flat_map(|part| decoder.decode_chunk(part.as_bytes()).expect("short"))
            .collect()
    }

    #[test]
    fn f1_attach_a_stream_is_taken_apart_wherever_it_is_cut() {
        let text = ": here\n\nid: 1\ndata: {\"a\":1}\n\nevent: error\r\ndata: x\r\ndata:y\r\n\r\n\nid: 2\n\ndata\n\ndata: cut";
        let whole = all(&[text]);
        let message =
            |event: &str, data: &str| StreamMessage { event: event.into(), data: data.into() };
        assert_eq!(whole, [message("", "{\"a\":1}"), message("error", "x\ny"), message("", "")]);
        for at in 0..=text.len() {
            assert_eq!(all(&[&text[..at], &text[at..]]), whole, "cut at {at}");
        }
    }

    #[test]
    fn f1_attach_a_message_without_an_end_is_given_up() {
        let mut decoder = EventStreamDecoder::default();
        let part = vec![b'x'; 1 << 20];
        let given_up = (0..40).any(|_| decoder.decode_chunk(&part).is_err());
        assert!(given_up);
    }

    #[test]
    fn f1_attach_events_are_read_and_what_is_new_is_passed_over() {
        let ts = r#""v":1,"ts":"2026-01-02T03:04:05.000006Z","session":"s1""#;
        let fact = format!(
            r#"{{{ts},"seq":3,"kind":"run.started","run":"r1","trigger":"user","later":1}}"#
        );
        let Ok(FactConsequences::Fact { seq: 3, event, .. }) = parse_event(&fact) else {
            panic!("{fact}")
        };
        assert_eq!(event.kind(), "run.started");
        for (text, expected) in [
            (
                r#""seq":4,"kind":"dream.began""#,
                FactConsequences::Unknown { seq: 4, kind: "dream.began".into() },
            ),
            (
                r#""seq":5,"kind":"run.started""#,
                FactConsequences::Unknown { seq: 5, kind: "run.started".into() },
            ),
            (
                r#""kind":"text.delta","turn":"t1","text":"hi""#,
                FactConsequences::Signal {
                    kind: SignalKind::Text,
                    subject: "t1".into(),
                    text: "hi".into(),
                },
            ),
            (
                r#""kind":"call.output","call":"c2","text":"x""#,
                FactConsequences::Signal {
                    kind: SignalKind::Output,
                    subject: "c2".into(),
                    text: "x".into(),
                },
            ),
            (r#""kind":"text.delta","turn":"t1","text":7"#, FactConsequences::Nothing),
            (r#""kind":"text.delta","text":"hi""#, FactConsequences::Nothing),
            (r#""kind":"smell","turn":"t1","text":"hi""#, FactConsequences::Nothing),
        ] {
            assert_eq!(parse_event(&format!("{{{ts},{text}}}")), Ok(expected), "{text}");
        }
        for text in ["", "[]", "7", "{", r#"{"seq":-1,"kind":"x"}"#, r#"{"seq":1,"ts":"never"}"#] {
            parse_event(text).expect_err(text);
        }
        parse_event(r#"{"seq":1,"kind":"run.started","run":"r1","trigger":"user"}"#)
            .expect_err("no time");
    }
}
