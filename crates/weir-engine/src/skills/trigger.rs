//! Triggers at work (M1): which skills a message makes active. Expressions run in linear time and
//! within bounds, whatever they are.

use regex::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization;
use weir_core::skill::{SkillTrigger, TriggerWords, names_in};

/// Memory of a compiled expression and of its work, in bytes: `\w` and the like fit, `(a{500}){500}`
/// does not.
const SIZE_MAX: usize = 256 * 1024;
/// Groups in each other.
const NEST_MAX: u32 = 30;
/// Characters of a message that are searched at its beginning.
const HEAD_CHARS_MAX: usize = 6_000;
/// And at its end: what is pasted often stands between.
const TAIL_CHARS_MAX: usize = 2_000;
/// Characters behind a name that stand in the skill, too: what is longer is a text to work on, and
/// stands in the message.
const ARGUMENTS_CHARS_MAX: usize = 1_000;

/// Compiles an expression.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn compile_trigger(text: &str, any_case: bool) -> Result<Regex, String> {
    let built = RegexBuilder::new(text)
        .case_insensitive(any_case)
        .size_limit(SIZE_MAX)
        .dfa_size_limit(SIZE_MAX)
        .nest_limit(NEST_MAX)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "is too large once it is compiled".to_owned(),
        error => {
            // The last line says what is wrong, those before draw where.
            let text = error.to_string();
            let last = text.lines().next_back().unwrap_or_default().trim();
            format!("does not compile ({})", last.trim_start_matches("error: "))
        }
    })
}

/// A message that triggers are looked for in.
pub(super) struct TriggerMessage {
    text: String,
    words: TriggerWords,
    names: Vec<String>,
}

impl TriggerMessage {
    pub(super) fn new(said: &str) -> TriggerMessage {
        let text: String = clip_message(said).nfc().collect();
        TriggerMessage { words: TriggerWords::new(&text), names: names_in(&text), text }
    }

    /// Whether it has nothing that could make a skill active.
    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether it names the skill, as `/name`.
    pub(super) fn names_skill(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// What stands behind the name with which it begins; nothing where it begins with another word.
    pub(super) fn arguments_for(&self, name: &str) -> &str {
        let rest =
            self.text.trim_start().strip_prefix('/').and_then(|rest| rest.strip_prefix(name));
        let rest = rest.filter(|rest| rest.starts_with(char::is_whitespace)).unwrap_or_default();
        let rest = rest.trim();
        if rest.chars().nth(ARGUMENTS_CHARS_MAX).is_some() { "" } else { rest }
    }

    /// Whether the trigger is in it. `compiled` gives the expression; one that cannot be used is in
    /// nothing.
    pub(super) fn sets_off<'a>(
        &self,
        trigger: &SkillTrigger,
        compiled: impl FnOnce() -> Option<&'a Regex>,
    ) -> bool {
        match trigger {
            SkillTrigger::None => false,
            SkillTrigger::Words(words) => {
                words.iter().any(|word| self.words.has_word(&word.nfc().collect::<String>()))
            }
            SkillTrigger::Pattern { .. } => {
                compiled().is_some_and(|regex| regex.is_match(&self.text))
            }
        }
    }
}

fn clip_message(said: &str) -> String {
    let Some((head, _)) = said.char_indices().nth(HEAD_CHARS_MAX) else { return said.to_owned() };
    let tail = said.char_indices().rev().nth(TAIL_CHARS_MAX - 1).map_or(0, |(at, _)| at).max(head);
    format!("{}\n{}", &said[..head], &said[tail..])
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn sets_off(pattern: &str, said: &str) -> bool {
        let regex = compile_trigger(pattern, false).ok();
        let trigger = SkillTrigger::Pattern { text: pattern.into(), any_case: false };
        TriggerMessage::new(said).sets_off(&trigger, || regex.as_ref())
    }

    #[test]
    fn m1_expressions_that_would_hang_others_do_not_hang() {
        let long = "a".repeat(50_000);
        let began = Instant::now();
        for pattern in ["(a+)+$", "(a|aa)+b", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
            sets_off(pattern, &long);
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }

    #[test]
    fn m1_an_expression_that_is_too_large_or_broken_matches_nothing() {
        for (pattern, why) in [
            ("((a{500}){500}){500}", "too large"),
            ("(", "does not compile (unclosed group)"),
            ("(?=a)", "does not compile"),
            (&"(".repeat(200), "does not compile"),
        ] {
            let said = compile_trigger(pattern, false).expect_err(pattern);
            assert!(said.contains(why), "{pattern} -> {said}");
            assert!(!sets_off(pattern, "aaaa"), "{pattern}");
        }
        for pattern in
            [r"\w+ \d{1,4}", r"\bfix(es|ed)?\b.*issue", "[[:alpha:]]{3,20}", r"\p{Greek}"]
        {
            assert!(
                compile_trigger(pattern, true).is_ok(),
                "{pattern}: {:?}",
                compile_trigger(pattern, true)
            );
        }
        assert!(sets_off(r"fix(es)? #\d+", "this fixes #12"));
    }

    #[test]
    fn m1_the_end_of_a_long_message_is_searched_too() {
        let long = format!("{} code review", "x ".repeat(20_000));
        let words = SkillTrigger::Words(vec!["code review".into()]);
        assert!(TriggerMessage::new(&long).sets_off(&words, || None));
        let combined = SkillTrigger::Words(vec!["cafe\u{301}".into()]);
        assert!(
            TriggerMessage::new("to the CAFÉ").sets_off(&combined, || None),
            "one Unicode form"
        );
    }
}
