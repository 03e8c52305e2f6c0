//! Numbers, times and states in words. Pure.

use weir_core::event::RunStatus;
use weir_core::view::told::Tone;
pub(crate) use weir_core::view::told::{counted, decided, dollars, sentence, stopped_by, tokens};

use crate::text::clean::clean;

/// `text` made safe, in one line: breaks and runs of blanks are one blank.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of `text`, at most `chars_max` characters, with `…` where something is left out.
pub(crate) fn brief(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A length of time that is over, short.
pub(crate) fn lasted(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=59_999 => format!("{:.1} s", ms as f64 / 1e3),
        _ => going(ms),
    }
}

/// A length of time that goes on: whole seconds, so that it changes seldom.
pub(crate) fn going(ms: u64) -> String {
    match ms {
        0..=59_999 => format!("{} s", ms / 1_000),
        60_000..=3_599_999 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// How a run ended, in words.
pub(crate) fn status(status: RunStatus) -> (Tone, &'static str) {
    match status {
        RunStatus::Completed => (Tone::Good, "Done"),
        RunStatus::NeedsInput => (Tone::Warn, "Needs you"),
        RunStatus::Denied => (Tone::Bad, "Denied"),
        RunStatus::Limit => (Tone::Warn, "Stopped at a limit"),
        RunStatus::Budget => (Tone::Warn, "Stopped: the budget is spent"),
        RunStatus::Cancelled => (Tone::Mark, "Stopped"),
        RunStatus::Paused => (Tone::Warn, "Stopped by the kill switch"),
        RunStatus::Interrupted => (Tone::Warn, "Interrupted"),
        RunStatus::Failed => (Tone::Bad, "Failed"),
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
            assert_eq!((lasted(ms).as_str(), going(ms).as_str()), (over, on));
        }
    }

    #[test]
    fn z10_what_others_wrote_is_one_safe_line() {
        assert_eq!(one_line("a\u{1b}[2Jb\n\n c"), "a<U+001B>[2Jb c");
        assert_eq!(brief("äöü", 2), "äö…");
        assert_eq!(brief("äö", 2), "äö");
    }
}
