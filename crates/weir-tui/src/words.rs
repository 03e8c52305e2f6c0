//! Numbers, times and states in words. Pure.

use weir_core::event::RunStatus;
use weir_core::model::Thinking;
use weir_core::view::diff::header_name;
use weir_core::view::told::FactTone;
pub(crate) use weir_core::view::told::{
    count_text, format_dollars, stopped_by, to_sentence, token_count_text,
};

use crate::text::clean::clean_text;

/// `text` made safe, in one line: breaks and runs of blanks are one blank.
pub(crate) fn one_line(text: &str) -> String {
    clean_text(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A path, with every letter that it has: what cannot be seen and what ends a line is written out.
pub(crate) fn path_text(path: &str) -> String {
    clean_text(&header_name(path)).into_owned()
}

/// The beginning of `text`, at most `chars_max` characters, with `…` where something is left out.
pub(crate) fn shorten_text(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A length of time that is over, short.
pub(crate) fn duration_text(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=59_999 => format!("{:.1} s", ms as f64 / 1e3),
        _ => elapsed_text(ms),
    }
}

/// A length of time that goes on: whole seconds, so that it changes seldom.
pub(crate) fn elapsed_text(ms: u64) -> String {
    match ms {
        0..=59_999 => format!("{} s", ms / 1_000),
        60_000..=3_599_999 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// How much the model thinks, in a word.
pub(crate) fn thinking_word(level: Thinking) -> &'static str {
    match level {
        Thinking::Off => "off",
        Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
    }
}

/// How a run ended, in words.
pub(crate) fn run_status_text(status: RunStatus) -> (FactTone, &'static str) {
    match status {
        RunStatus::Completed => (FactTone::Good, "Done"),
        RunStatus::NeedsInput => (FactTone::Warn, "Needs you"),
        RunStatus::Denied => (FactTone::Bad, "Denied"),
        RunStatus::Limit => (FactTone::Warn, "Stopped at a limit"),
        RunStatus::Budget => (FactTone::Warn, "Stopped: the budget is spent"),
        RunStatus::Cancelled => (FactTone::Mark, "Stopped"),
        RunStatus::Paused => (FactTone::Warn, "Stopped by the kill switch"),
        RunStatus::Interrupted => (FactTone::Warn, "Interrupted"),
        RunStatus::Failed => (FactTone::Bad, "Failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_times_are_short() {
        let times =
            [(12, "12 ms", "0 s"), (1_234, "1.2 s", "1 s"), (61_000, "1 min 1 s", "1 min 1 s")];
        for (ms, over, on) in times.into_iter().chain([(7_260_000, "2 h 1 min", "2 h 1 min")]) {
            assert_eq!((duration_text(ms).as_str(), elapsed_text(ms).as_str()), (over, on));
        }
    }

    #[test]
    fn z10_what_others_wrote_is_one_safe_line() {
        assert_eq!(one_line("a\u{1b}[2Jb\n\n c"), "a<U+001B>[2Jb c");
        assert_eq!(path_text("a\u{200b}b\nc  d"), "a<U+200B>b<U+000A>c  d");
        assert_eq!(shorten_text("äöü", 2), "äö…");
        assert_eq!(shorten_text("äö", 2), "äö");
    }
}
