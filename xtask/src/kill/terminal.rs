//! Somebody at the terminal interface (`weir`, `weir --resume`) on a pty: types what is to be done, answers what
//! is asked by its key, and leaves when the run is over. Not here: what became of the session, for a screen
//! promises nothing.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use super::process::{End, Hit, Logs, PATIENCE, Ran, Watch, size};
use super::victim::{self, Victim};
use super::work::LAST_WORDS;
use crate::pty::Pty;

/// How often the moment and the witness are looked at.
const GLANCE: Duration = Duration::from_millis(1);
/// How often the journal is asked whether the run is over: where the screen shows the last words, and where it
/// does not.
const ASK_SOON: Duration = Duration::from_millis(60);
const ASK_LATE: Duration = Duration::from_secs(2);
/// Bytes of the end of what was written that stand in a report.
const SHOWN_BYTES: usize = 600;

/// A letter that nothing else on the screen holds: once it is shown, keys are taken.
const PROBE: &str = "я";
/// Takes it back.
const BACKSPACE: &str = "\u{7f}";
/// Stands below a question that takes no keys yet, and the key for that.
const WAITS: (&str, &str) = ("Tab: answer", "\t");
/// Stands below a question that takes keys, and the one that says yes.
const ASKS: (&str, &str) = ("yes, once", "y");

/// Somebody who looks at what is written and presses keys.
pub(super) struct Typist {
    /// What is to be said as soon as keys are taken.
    words: Option<&'static str>,
    /// Bytes that were looked at.
    looked: usize,
    /// The last words of the model were shown.
    saw_last_words: bool,
}

impl Typist {
    /// One who says something.
    pub(super) fn who_says(words: &'static str) -> Typist {
        Typist { words: Some(words), looked: 0, saw_last_words: false }
    }

    /// One who only answers.
    pub(super) fn who_watches() -> Typist {
        Typist { words: None, looked: 0, saw_last_words: false }
    }

    /// Takes in what was written since; what is pressed for it.
    fn keys_for(&mut self, written: &[u8]) -> String {
        // The last of the words is written at once, whatever of the others came before.
        let last_word = LAST_WORDS.rsplit(' ').next().unwrap_or(LAST_WORDS);
        let wanted = [PROBE, WAITS.0, ASKS.0, last_word].map(str::as_bytes);
        let (mut keys, mut at) = (String::new(), 0);
        while let Some((place, found)) = first_of(&written[at..], &wanted) {
            at += place + wanted[found].len();
            match found {
                0 => {
                    if let Some(words) = self.words.take() {
                        keys.push_str(&format!("{BACKSPACE}{words}\r"));
                    }
                }
                1 => keys.push_str(WAITS.1),
                2 => keys.push_str(ASKS.1),
                _ => self.saw_last_words = true,
            }
        }
        // The beginning of one may stand at the end.
        let longest = wanted.iter().map(|text| text.len()).max().unwrap_or(0);
        self.looked += at.max(written.len().saturating_sub(longest - 1));
        keys
    }
}

/// Which of these texts stands first in the bytes, and where.
fn first_of(bytes: &[u8], wanted: &[&[u8]]) -> Option<(usize, usize)> {
    let place = |text: &[u8]| bytes.windows(text.len()).position(|part| part == text);
    let numbered = wanted.iter().enumerate();
    numbered.filter_map(|(number, &text)| Some((place(text)?, number))).min()
}

/// Runs `command` on a pty until its moment has come, or `is_over` says that the run has ended in the journal.
///
/// # Errors
/// It cannot be started, or a journal cannot be asked for.
pub(super) fn run(
    command: &Command,
    hit: Hit<'_>,
    logs: Logs<'_>,
    typist: &mut Typist,
    is_over: &dyn Fn() -> anyhow::Result<bool>,
) -> anyhow::Result<Ran> {
    let witness = &hit.house.witness;
    let (written_before, began) = (size(witness), Instant::now());
    let (mut hits, mut again) = (0, hit.again.iter().copied());
    let mut pty = Pty::start(command)?;
    hit.house.wait_until_begun(pty.pid());
    if typist.words.is_some() {
        press(&mut pty, PROBE);
    }
    let mut watch = Watch::of(hit.moment, written_before, began);
    let mut asked = Instant::now();
    let end = loop {
        if watch.is_due() {
            if hit.victim == Victim::Engine {
                break killed(&mut pty)?;
            }
            let is_hit = victim::hit(hit.victim, hit.house, pty.pid())?;
            hits += u64::from(is_hit);
            watch.hit(is_hit, &mut again);
        }
        if began.elapsed() > PATIENCE {
            pty.kill()?;
            break End::Hung;
        }
        if let Some(status) = pty.ended()? {
            break End::Itself(status);
        }
        let keys = typist.keys_for(&pty.written_from(typist.looked));
        press(&mut pty, &keys);
        let asks_again = if typist.saw_last_words { ASK_SOON } else { ASK_LATE };
        if asked.elapsed() > asks_again {
            if is_over()? {
                break pty.end_and_wait(PATIENCE)?.map_or(End::Hung, End::Itself);
            }
            asked = Instant::now();
        }
        watch.glance(witness);
        pty.wait_for_more(pty.written(), GLANCE);
    };
    let took = began.elapsed();
    let first = pty.first_letter().map(|letter| letter.saturating_duration_since(began));
    keep(&pty.written_from(0), logs)?;
    Ok(Ran { end, printed: Vec::new(), garbage: Vec::new(), took, first, hits })
}

fn press(pty: &mut Pty, keys: &str) {
    if !keys.is_empty() {
        // It may have ended: then its exit says so.
        let _ = pty.send(keys);
    }
}

fn killed(pty: &mut Pty) -> anyhow::Result<End> {
    let status = pty.kill()?;
    // An exit that was quicker than the kill is an exit.
    Ok(if status.code().is_some() { End::Itself(status) } else { End::Killed(Instant::now()) })
}

/// Keeps what was written, and its end in words for whoever reports it.
fn keep(written: &[u8], logs: Logs<'_>) -> anyhow::Result<()> {
    let end = &written[written.len().saturating_sub(SHOWN_BYTES)..];
    fs::write(logs.out, written)?;
    fs::write(logs.errors, String::from_utf8_lossy(end).escape_debug().to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_somebody_at_a_terminal_presses_what_is_asked_for_however_it_is_cut() {
        let text = "\u{1b}[1mя\u{1b}[m Tab: answer this · y\u{1b}[m yes, once · all-done.";
        for size in [1, 3, 1_000] {
            let (mut typist, mut keys) = (Typist::who_says("Do it."), String::new());
            for end in (0..text.len()).step_by(size).chain([text.len()]) {
                keys.push_str(&typist.keys_for(&text.as_bytes()[typist.looked..end]));
            }
            assert_eq!(keys, "\u{7f}Do it.\r\ty", "{size}");
            assert!(typist.saw_last_words);
        }
        let mut watches = Typist::who_watches();
        assert_eq!(watches.keys_for("я".as_bytes()), "", "nothing is said twice");
    }
}
