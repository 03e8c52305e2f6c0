//! A session that is read from its first fact to its last, each of them once: what was done in it, and what
//! stands of each fact in its conversation. Nothing of it is folded but what is shown (Q10). Not here: reading
//! the journal, and the end of a conversation alone (`end`, `last`).

use weir_core::event::Event;
use weir_engine::hub::PublishedFact;
use weir_engine::ports::SessionMeta;

use super::summary::{SessionSummary, SessionWork};
use super::transcript::ConversationReader;
use super::used::UsedSoFar;

/// Calls after which those that are over are forgotten: a long run would keep the results of all.
const CALLS_KEPT: usize = 64;

/// The session, as far as it was read; at first nothing was.
#[derive(Default)]
pub struct WholeSession {
    /// Calls that were asked for since calls were forgotten.
    new_calls: usize,
    reader: ConversationReader,
    work: SessionWork,
    used: UsedSoFar,
}

impl WholeSession {
    /// Takes the next fact in.
    pub fn apply_fact(&mut self, fact: &PublishedFact) {
        self.new_calls += usize::from(matches!(fact.event.as_ref(), Event::CallProposed(_)));
        if self.new_calls > CALLS_KEPT {
            self.reader.forget_settled_calls();
            self.new_calls = 0;
        }
        for change in self.reader.read_fact(fact) {
            self.work.count_change(&change, self.reader.seen_transcript());
        }
        self.work.count_fact(fact);
        self.used.count_event(&fact.event);
    }

    /// The last fact in one line: number, moment, kind and the beginning of what it says.
    pub fn line_text(&self, fact: &PublishedFact) -> String {
        self.reader.line_text(fact)
    }

    /// The last fact, where it is of the conversation, with the beginning of long results; `None` for the
    /// others.
    pub fn brief_text(&self, fact: &PublishedFact) -> Option<String> {
        self.reader.brief_text(fact)
    }

    /// Its summary, once all of it was read.
    pub fn into_summary(self, meta: &SessionMeta, status: String) -> SessionSummary {
        let seen = self.reader.seen_transcript();
        let at_end = SessionSummary::at_end(meta, status, seen.settings(), &self.used, seen.asks());
        at_end.with_work(self.work)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use weir_core::ids::{CallId, Timestamp};

    use super::*;

    fn fact(seq: u64, kind: &str, fields: &Value) -> PublishedFact {
        let event = Event::from_payload(kind, &fields.to_string()).expect("a fact");
        PublishedFact { seq, ts: Timestamp(1), event: Arc::new(event) }
    }

    /// A call that was read, and one that was denied.
    fn facts_of_call(number: u32) -> [PublishedFact; 4] {
        let call = format!("c{number}");
        let verdict = if number.is_multiple_of(2) { "deny" } else { "allow" };
        let inspection = json!({"known": true, "class": "read", "effects": {}, "summary": "It"});
        let result = json!([{"type": "text", "text": format!("what {number} gave back")}]);
        let finished = json!({
            "call": call, "tool": "read_file", "ok": number % 2 == 1, "summary": "s",
            "result": result, "confirmed": false, "bytes": 0, "duration_ms": 0, "news": [],
        });
        let proposed = json!({"call": call, "turn": "t1", "tool": "read_file", "input": {}});
        let judged = json!({"call": call, "verdict": verdict, "inspection": inspection});
        let seq = u64::from(number) * 4;
        [
            fact(seq, "call.proposed", &proposed),
            fact(seq + 1, "call.judged", &judged),
            fact(seq + 2, "call.started", &json!({ "call": call })),
            fact(seq + 3, "call.finished", &finished),
        ]
    }

    #[test]
    fn q10_a_long_run_is_told_the_same_and_its_calls_are_not_kept() {
        let (mut whole, mut reader) = (WholeSession::default(), ConversationReader::default());
        let calls = 3 * u32::try_from(CALLS_KEPT).expect("it is small");
        let mut told = 0;
        for fact in (1..=calls).flat_map(facts_of_call) {
            whole.apply_fact(&fact);
            let text = whole.brief_text(&fact);
            assert_eq!(text, reader.read_brief_text(&fact));
            told += usize::from(text.is_some_and(|text| text.contains("gave back")));
        }
        assert_eq!(told, 3 * CALLS_KEPT);
        let kept = |seen: &ConversationReader| {
            let seen = seen.seen_transcript();
            (1..=calls).filter(|call| seen.find_call(CallId(*call)).is_some()).count()
        };
        assert_eq!(kept(&reader), 3 * CALLS_KEPT);
        assert!(kept(&whole.reader) <= CALLS_KEPT + 1, "{} are kept", kept(&whole.reader));
    }
}
