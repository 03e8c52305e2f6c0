//! How much may be on its way to the terminal. Pure: time comes in.
//!
//! A pipe, a pty and a network keep tens of kilobytes that nobody sees yet; at 9,600 baud those are
//! a minute. So a paint sometimes ends with a question that every terminal answers (`CSI 5 n`: are
//! you well?), and while the answer is out only a little more is written. Nobody waits for the
//! answer: a terminal that does not give one is not asked again, and is written to freely.

use std::time::{Duration, Instant};

/// The question.
pub(super) const QUESTION: &[u8] = b"\x1b[5n";

/// Bytes on their way at the least and most.
const WINDOW_BYTES_MIN: u64 = 256;
const WINDOW_BYTES_START: u64 = 1024;
const WINDOW_BYTES_MAX: u64 = 256 * 1024;
/// An answer that comes so much later than the quickest did shows that bytes pile up.
const LATE: Duration = Duration::from_millis(300);
const PROMPT: Duration = Duration::from_millis(150);
/// After so long without one, no answer will come: from a terminal that answered before, and from one
/// of which nobody knows whether it does.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(5);
const FIRST_ANSWER_WAIT_MAX: Duration = Duration::from_millis(600);

/// What was written and what has arrived.
#[derive(Debug)]
pub(super) struct FlowControl {
    sent: u64,
    arrived: u64,
    asked: Option<OpenQuestion>,
    window: u64,
    quickest: Option<Duration>,
    trust: AnswerTrust,
}

#[derive(Debug, Clone, Copy)]
struct OpenQuestion {
    at: Instant,
    sent: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerTrust {
    Unknown,
    Answers,
    Silent,
}

impl FlowControl {
    /// For a terminal that may answer, or that certainly does not.
    pub(super) fn new(answers: bool) -> FlowControl {
        FlowControl {
            sent: 0,
            arrived: 0,
            asked: None,
            window: WINDOW_BYTES_START,
            quickest: None,
            trust: if answers { AnswerTrust::Unknown } else { AnswerTrust::Silent },
        }
    }

    /// So many bytes are handed over; `true`: the question has to follow them.
    pub(super) fn note_sent(&mut self, bytes: usize, now: Instant) -> bool {
        // The first bytes are few, so their answer tells how far away the terminal is; later ones
        // tell that and how quick it is.
        let first = self.sent == 0;
        self.sent += u64::try_from(bytes).unwrap_or(u64::MAX / 2);
        let ask = self.trust != AnswerTrust::Silent
            && self.asked.is_none()
            && (first || self.sent - self.arrived > self.window / 2);
        if ask {
            self.asked = Some(OpenQuestion { at: now, sent: self.sent });
        }
        ask
    }

    /// The terminal answered.
    pub(super) fn note_answered(&mut self, now: Instant) {
        self.trust = AnswerTrust::Answers;
        let Some(asked) = self.asked.take() else { return };
        self.arrived = asked.sent;
        let took = now.saturating_duration_since(asked.at);
        let quickest = self.quickest.map_or(took, |quickest| quickest.min(took));
        self.quickest = Some(quickest);
        if took - quickest > LATE {
            self.window = (self.window / 2).max(WINDOW_BYTES_MIN);
        } else if took - quickest < PROMPT {
            self.window = (self.window * 2).min(WINDOW_BYTES_MAX);
        }
    }

    /// Whether more may be written; else until when to wait at most.
    pub(super) fn check_window(&mut self, now: Instant) -> Result<(), Instant> {
        let Some(asked) = self.asked else { return Ok(()) };
        let wait = match self.trust {
            AnswerTrust::Unknown => FIRST_ANSWER_WAIT_MAX,
            AnswerTrust::Answers | AnswerTrust::Silent => ANSWER_WAIT_MAX,
        };
        if now.saturating_duration_since(asked.at) >= wait {
            self.asked = None;
            self.arrived = asked.sent;
            if self.trust == AnswerTrust::Unknown {
                self.trust = AnswerTrust::Silent;
            }
            return Ok(());
        }
        if self.sent - self.arrived <= self.window {
            return Ok(());
        }
        Err(asked.at + wait)
    }

    /// How many bytes the next frame should have; none: as many as it likes, for nobody knows how
    /// quick the terminal is.
    pub(super) fn frame_budget(&self) -> Option<usize> {
        match self.trust {
            AnswerTrust::Answers => usize::try_from(self.window / 2).ok(),
            AnswerTrust::Unknown | AnswerTrust::Silent => None,
        }
    }

    /// An answer is on its way.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal behind a line of so many bytes a second: the most that was ever on its way, and
    /// how many frames of 150 bytes were written in 60 s, tried every 16 ms.
    fn behind(bytes_a_second: u64, delay_ms: u64, answers: bool) -> (u64, u64) {
        let start = Instant::now();
        let mut flow = FlowControl::new(true);
        let (mut sent, mut drained, mut most, mut frames) = (0_u64, 0_u64, 0_u64, 0);
        let mut answer: Option<(u64, Option<u64>)> = None;
        for step in 0..3750_u64 {
            let ms = step * 16;
            let now = start + Duration::from_millis(ms);
            drained = (drained + bytes_a_second * 16 / 1000).min(sent);
            if let Some((mark, arrives)) = &mut answer {
                if *mark <= drained && arrives.is_none() {
                    *arrives = Some(ms + delay_ms);
                }
                if arrives.is_some_and(|arrives| arrives <= ms) && answers {
                    answer = None;
                    flow.note_answered(now);
                }
            }
            if flow.check_window(now).is_ok() {
                sent += 150;
                frames += 1;
                if flow.note_sent(150, now) {
                    answer = Some((sent, None));
                }
            }
            if ms > 15_000 {
                most = most.max(sent - drained);
            }
        }
        (most, frames)
    }

    #[test]
    fn f1_little_is_on_its_way_to_a_slow_terminal_and_much_to_a_quick_one() {
        let (most, frames) = behind(960, 0, true);
        assert!(most <= 960, "a second's worth at 9,600 baud, but {most}");
        assert!(frames >= 300, "the line is used: {frames}");
        let (_, frames) = behind(10_000_000, 1, true);
        assert_eq!(frames, 3750, "a quick terminal is never waited for");
        let (_, frames) = behind(10_000_000, 200, true);
        assert!(frames > 3_500, "far away is not slow: {frames}");
        let (_, frames) = behind(10_000_000, 0, false);
        assert!(frames > 3_300, "one that gives no answer is written to freely: {frames}");
    }

    #[test]
    fn f1_a_terminal_that_never_answers_is_soon_written_to_freely() {
        let start = Instant::now();
        let mut flow = FlowControl::new(true);
        assert!(flow.note_sent(3000, start));
        let late = start + FIRST_ANSWER_WAIT_MAX;
        assert!(flow.check_window(late).is_ok());
        assert!(!flow.note_sent(30_000, late), "it is not asked again");
        assert!(flow.check_window(late).is_ok());
        // One that was only slow is known from its answer on.
        flow.note_answered(late);
        assert!(flow.note_sent(30_000, late));
    }

    #[test]
    fn f1_a_lost_answer_stops_nothing_for_long() {
        let start = Instant::now();
        let mut flow = FlowControl::new(true);
        assert!(flow.note_sent(3000, start));
        // Nobody knows yet whether it answers at all: that freezes nothing for long.
        assert_eq!(flow.check_window(start), Err(start + FIRST_ANSWER_WAIT_MAX));
        flow.note_answered(start);
        assert!(flow.check_window(start).is_ok() && !flow.is_asked());
        assert!(flow.note_sent(30_000, start));
        assert!(flow.check_window(start).is_err());
        assert!(flow.check_window(start + ANSWER_WAIT_MAX).is_ok());
        // It answered once, so it is asked again.
        assert!(flow.note_sent(30_000, start + ANSWER_WAIT_MAX));
    }
}
