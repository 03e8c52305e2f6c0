//! What follows `/approvals answer`: the words of `weir approvals answer`. Pure. Not here: whether such an
//! answer can be given, which whoever gives it says.

use super::{ReadArguments, split_own_words};

/// Bounds of an answer for the session, which take a value.
const BOUNDS: &[&str] = &["--uses", "--for"];
/// What may stand before the reason of a no, as on the command line; without it the reason is what follows.
const REASON_FLAG: &str = "--reason";

/// The answer to an approval, or the words that answer a question; `None`: it is neither.
pub(super) fn read_answer(text: &str) -> Option<ReadArguments> {
    let (id, rest) = text.split_once(char::is_whitespace)?;
    let (id, rest) = (id.to_owned(), rest.trim());
    if id.starts_with('-') {
        return None;
    }
    // The reason of a no may have any words.
    let (word, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let more = more.trim();
    if word == "deny" {
        let reason = match more.strip_prefix(REASON_FLAG) {
            Some(after) if after.starts_with([' ', '=']) => unquoted(after[1..].trim()),
            _ => more,
        };
        let reason = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
        let arguments = [id, word.to_owned()].into_iter().chain(reason).collect();
        return Some(ReadArguments { arguments, ..ReadArguments::default() });
    }
    if let Some((before, words)) = split_own_words(rest) {
        let is_whole = before.trim().is_empty() && !words.is_empty();
        let own_words = Some(words.to_owned());
        let read = ReadArguments { arguments: vec![id], own_words, ..ReadArguments::default() };
        return is_whole.then_some(read);
    }
    let flags = match word {
        "once" | "always" => more.is_empty().then(Vec::new)?,
        "session" => read_bounds(more)?,
        _ => return None,
    };
    Some(ReadArguments { arguments: vec![id, word.to_owned()], flags, own_words: None })
}

/// `--uses 5 --for=10m` as flags with their values.
fn read_bounds(text: &str) -> Option<Vec<String>> {
    let mut flags = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, value),
            None => (word, words.next()?),
        };
        if !BOUNDS.contains(&flag) || value.is_empty() {
            return None;
        }
        flags.push(format!("{flag}={value}"));
    }
    Some(flags)
}

/// Without the quotes that a shell would take away.
fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_answers_are_typed_as_on_the_command_line() {
        for (text, arguments, flags, own_words) in [
            ("s-a1 once", vec!["s-a1", "once"], vec![], None),
            ("s-a1  always ", vec!["s-a1", "always"], vec![], None),
            ("s-a1 session", vec!["s-a1", "session"], vec![], None),
            ("s-a1 session --for 10m", vec!["s-a1", "session"], vec!["--for=10m"], None),
            ("s-a1 deny", vec!["s-a1", "deny"], vec![], None),
            ("s-a1 deny no --text here", vec!["s-a1", "deny", "no --text here"], vec![], None),
            ("s-a1 deny --reason \"not now\"", vec!["s-a1", "deny", "not now"], vec![], None),
            ("s-a1 deny --reason=later", vec!["s-a1", "deny", "later"], vec![], None),
            ("s-q2 --text the  second one", vec!["s-q2"], vec![], Some("the  second one")),
            ("s-q2 --text=2", vec!["s-q2"], vec![], Some("2")),
        ] {
            let read = read_answer(text.trim()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(read.arguments, arguments, "{text}");
            assert_eq!(read.flags, flags, "{text}");
            assert_eq!(read.own_words.as_deref(), own_words, "{text}");
        }
    }
}
