//! What the model writes just now, and what is to be printed of it once. Pure.

use ratatui::text::Line;
use weir_core::event::{ModelReplied, SharedFact};
use weir_core::ids::Timestamp;
use weir_core::view::streamed::{THINKING_BYTES_MAX, push_tail};

use super::entries::TranscriptEntry;
use crate::text::markdown::GrowingMarkdown;

/// What goes to the scrollback, once and in order. Lines are made of it when it is painted, for
/// only then the width is known.
#[derive(Debug)]
pub(crate) enum PrintItem {
    /// The entry of the transcript at this place.
    Entry(usize),
    /// An entry as it was at that moment: of a call, which may still change, and of a session that
    /// was left before it was printed.
    AsItWas(Box<TranscriptEntry>),
    /// How long the model thought, and what where that is shown.
    Thought {
        /// Milliseconds; `None`: nobody saw it.
        ms: Option<u64>,
        /// Its thoughts.
        text: String,
    },
    /// The rest of an answer, of which lines may have been printed while it was written.
    Text {
        /// What was not printed yet.
        growing: Box<GrowingMarkdown>,
        /// Lines of it stand there already.
        begun: bool,
    },
    /// What an answer has beside its words: pictures, sources.
    Beside(SharedFact<ModelReplied>),
    /// As many empty lines as the screen has: what stands there goes out of sight.
    Screen,
    /// Lines as they are.
    Lines(Vec<Line<'static>>),
}

/// What the model writes now.
#[derive(Debug, Default)]
pub(crate) struct StreamedReply {
    /// Which turn; empty: none.
    pub(crate) turn: String,
    /// The end of its thoughts.
    pub(crate) thinking: String,
    /// When it began to think.
    pub(crate) thinks_since: Option<Timestamp>,
    /// How long it thought, once it writes.
    pub(crate) thought_ms: Option<u64>,
    /// Its words.
    pub(crate) growing: GrowingMarkdown,
    /// Lines of it were printed.
    pub(crate) begun: bool,
    /// The line about its thoughts was printed.
    pub(crate) told: bool,
}

impl StreamedReply {
    /// A turn that begins.
    pub(crate) fn for_turn(turn: String) -> StreamedReply {
        StreamedReply { turn, ..StreamedReply::default() }
    }

    /// More of its thoughts.
    pub(crate) fn push_thinking(&mut self, text: &str, now: Timestamp) {
        self.thinks_since.get_or_insert(now);
        push_tail(&mut self.thinking, text, THINKING_BYTES_MAX);
    }

    /// More of its words. `Some`: its thoughts end here, and are to be printed first.
    pub(crate) fn push_text(&mut self, text: &str, now: Timestamp) -> Option<PrintItem> {
        let thought = self.end_thinking(now);
        self.growing.push(text);
        thought
    }

    /// It no longer thinks: what is to be printed of it, once.
    pub(crate) fn end_thinking(&mut self, now: Timestamp) -> Option<PrintItem> {
        let since = self.thinks_since?;
        if std::mem::replace(&mut self.told, true) {
            return None;
        }
        let ms = now.ms_since(since);
        self.thought_ms = Some(ms);
        Some(PrintItem::Thought { ms: Some(ms), text: self.thinking.clone() })
    }

    /// The answer is whole: what is still to be printed of it. `None`: what was written is another
    /// text, so all of it has to be printed.
    pub(crate) fn finish_reply(mut self, whole: &str) -> Option<PrintItem> {
        let written = self.growing.text();
        if written.is_empty() {
            return None;
        }
        let rest = whole.strip_prefix(written)?.to_owned();
        self.growing.push(&rest);
        Some(PrintItem::Text { growing: Box::new(self.growing), begun: self.begun })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_the_end_of_an_answer_is_printed_once() {
        let cases = [
            ("", "Hello", None),
            ("Hel", "Hello", Some("Hello")),
            ("Hello", "Hello", Some("Hello")),
            ("Other", "Hello", None),
        ];
        for (written, whole, expected) in cases {
            let mut writing = StreamedReply::for_turn("t1".into());
            writing.growing.push(written);
            let text = match writing.finish_reply(whole) {
                Some(PrintItem::Text { growing, .. }) => Some(growing.text().to_owned()),
                _ => None,
            };
            assert_eq!(text.as_deref(), expected, "{written:?} of {whole:?}");
        }
    }

    #[test]
    fn f1_thoughts_end_once_and_are_timed() {
        let mut writing = StreamedReply::for_turn("t1".into());
        assert!(writing.end_thinking(Timestamp(0)).is_none());
        writing.push_thinking("hm", Timestamp(1_000_000));
        let print = writing.push_text("a", Timestamp(3_000_000));
        assert!(matches!(print, Some(PrintItem::Thought { ms: Some(2_000), .. })));
        assert!(writing.push_text("b", Timestamp(4_000_000)).is_none());
    }
}
