//! A decision in two steps: a face shows what would count, and a yes does just that (R10). What was
//! shown is named by a hash, so that nothing else is decided when it changed in between. Not here:
//! what is decided, and asking a person at this terminal.

use serde_json::json;
use weir_install::catalogue::skills::sha256_hex;
use weir_tui::compose::editor;

use crate::failure::usage;
use crate::options::{EditFlags, ReviewFlags};
use crate::terminal::{out_json, out_line};

/// What a person is to see before they decide.
pub(crate) struct ReviewSubject<'a> {
    /// The words of the decision: `skills accept`.
    pub(crate) deed: &'a str,
    /// All that would count, as it is printed; hidden characters are written out.
    pub(crate) text: &'a str,
    /// What is asked: `Accept it?`.
    pub(crate) question: &'a str,
    /// Everything that is decided about, exactly: also what the text shortens.
    pub(crate) identity: &'a str,
    /// The words that a person may change before they agree (`--text`).
    pub(crate) editable: Option<&'a str>,
}

impl ReviewSubject<'_> {
    /// Names the deed, what is shown and what it stands for.
    fn hash(&self) -> String {
        let mut whole = Vec::new();
        // With their lengths: what ends one part never begins the next.
        for part in [self.deed, self.text, self.identity] {
            whole.extend_from_slice(&(part.len() as u64).to_be_bytes());
            whole.extend_from_slice(part.as_bytes());
        }
        sha256_hex(&whole)
    }
}

/// What the flags say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewOutcome {
    /// Neither flag was given: the command asks as it always does.
    Unsaid,
    /// It was shown: nothing more is to be done.
    Previewed,
    /// The person saw exactly this and agreed.
    Agreed,
}

/// Shows what would be decided, or holds it against what was shown.
///
/// # Errors
/// A usage error: it is no longer what was shown. Nothing is decided then.
pub(crate) fn settle_review(
    flags: &ReviewFlags,
    reviewed: &ReviewSubject<'_>,
    as_json: bool,
) -> anyhow::Result<ReviewOutcome> {
    let hash = reviewed.hash();
    match &flags.as_shown {
        Some(seen) if *seen == hash => return Ok(ReviewOutcome::Agreed),
        Some(_) => {
            return Err(usage(
                "it is not what was shown under this hash, so nothing was changed; look at it \
                 again with --preview",
            ));
        }
        None if !flags.preview => return Ok(ReviewOutcome::Unsaid),
        None => (),
    }
    if as_json {
        let ReviewSubject { text, question, editable, .. } = reviewed;
        out_json(&json!({
            "shown": text, "question": question, "as_shown": hash, "editable": editable,
        }))?;
    } else {
        out_line(reviewed.text.trim_end())?;
        out_line(&format!("\n{} To agree to exactly this: --as-shown {hash}", reviewed.question))?;
    }
    Ok(ReviewOutcome::Previewed)
}

/// The words in which something is to be accepted; `None`: in those that were proposed.
///
/// # Errors
/// A usage error: the editor cannot be used, or nothing was changed in it.
pub(crate) fn read_own_words(flags: &EditFlags, proposed: &str) -> anyhow::Result<Option<String>> {
    if !flags.edit {
        return Ok(flags.text.clone());
    }
    let command = editor::configured_editor();
    let edited = editor::edit_text(command.as_deref(), proposed);
    let edited = edited.map_err(|error| usage(format!("{error}; nothing was accepted")))?;
    // Leaving an editor without a change is how people say that they thought better of it.
    if edited.trim() == proposed.trim() {
        return Err(usage(
            "the words were not changed, so nothing was accepted; without --edit they are accepted \
             as they are",
        ));
    }
    Ok(Some(edited))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::exit_status;

    const SHOWN: ReviewSubject<'_> = ReviewSubject {
        deed: "skills accept",
        text: "a",
        question: "Accept it?",
        identity: "b",
        editable: None,
    };

    fn said(as_shown: String, reviewed: &ReviewSubject<'_>) -> anyhow::Result<ReviewOutcome> {
        let flags = ReviewFlags { preview: false, as_shown: Some(as_shown) };
        settle_review(&flags, reviewed, false)
    }

    #[test]
    fn r10_a_yes_counts_for_what_was_shown_and_for_nothing_else() {
        let hash = SHOWN.hash();
        assert_eq!(said(hash.clone(), &SHOWN).expect("it is the same"), ReviewOutcome::Agreed);
        for other in [
            ReviewSubject { deed: "skills reject", ..SHOWN },
            ReviewSubject { text: "ab", identity: "", ..SHOWN },
            ReviewSubject { identity: "c", ..SHOWN },
        ] {
            let error = said(hash.clone(), &other).expect_err("it is another one");
            assert_eq!(exit_status(&error), Some(2));
        }
        assert!(said(String::new(), &SHOWN).is_err());
        let nothing = settle_review(&ReviewFlags::default(), &SHOWN, false);
        assert_eq!(nothing.expect("nothing was said"), ReviewOutcome::Unsaid);
    }
}
