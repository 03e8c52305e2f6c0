//! What the sessions of a cluster are told: letters, each with work of its own, and the script by which one
//! model plays all of them. Not here: who sends them, and when.

use std::fmt::Write as _;
use std::path::Path;

use super::super::random::Random;
use super::super::work::{self, Work};

/// Letters of one session, beside the last one.
pub(super) const LETTERS_MAX: u64 = 12;
/// Numbers of works that one session may use; tags hold them, and no two are the same.
const NUMBERS: u64 = 1_000;
/// How long the model thinks before a step, so that sessions are at work most of the time.
const THINKS_MS: (u64, u64) = (30, 250);
/// The first line of every work.
const FIRST_FILE: &str = "stable.txt";

/// The words of a letter.
pub(super) fn words(session: u64, letter: u64) -> String {
    format!("Do the work of letter {session}-{letter}.")
}

/// The words of the last one.
pub(super) fn last_words(session: u64) -> String {
    format!("Say that you are there, session {session}-last.")
}

/// The work of all letters of a session together; its script has a part for each.
pub(super) fn choose(random: &mut Random, session: u64, witness: &Path) -> Work {
    let mut whole = Work::default();
    for letter in 0..LETTERS_MAX {
        let work = work::choose(random, session * NUMBERS + letter, witness);
        let _ = write!(whole.script, "when: \"letter {session}-{letter}[.]\"\n\n");
        for step in work.script.split("\n\n").filter(|step| !step.trim().is_empty()) {
            if !step.contains("delay:") {
                let thinks = random.between(THINKS_MS.0, THINKS_MS.1);
                let _ = writeln!(whole.script, "delay: {thinks}ms");
            }
            let _ = write!(whole.script, "{}\n\n", step.trim());
        }
        whole.script.push_str("end\n\n");
        for (path, text) in work.files {
            match whole.files.iter_mut().find(|(known, _)| *known == path) {
                Some(_) if path == FIRST_FILE => {}
                Some((_, known)) => known.push_str(&text),
                None => whole.files.push((path, text)),
            }
        }
        whole.calls.extend(work.calls);
        whole.turns += work.turns;
    }
    let _ = write!(whole.script, "when: \"session {session}-last[.]\"\n\nsays: I am.\n\nend\n\n");
    whole
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn d7_every_letter_has_work_of_its_own() {
        let work = choose(&mut Random::of(1, 7), 7, Path::new("/elsewhere/log"));
        let parts = work.script.matches("when: ").count() as u64;
        assert_eq!(parts, LETTERS_MAX + 1);
        assert_eq!(work.script.lines().filter(|line| *line == "end").count() as u64, parts);
        let tags: BTreeSet<&str> = work.calls.iter().map(|call| call.tag.as_str()).collect();
        assert_eq!(tags.len(), work.calls.len(), "no two are the same");
        let paths: BTreeSet<&str> = work.files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths.len(), work.files.len(), "each file once");
        for letter in 0..LETTERS_MAX {
            let said = words(7, letter);
            let rule = said.rsplit("letter ").next().unwrap_or_default().replace('.', "[.]");
            assert!(work.script.contains(&format!("when: \"letter {rule}\"")), "{rule}");
        }
    }
}
