//! Texts of several places put together as sentences: none runs into the next. Pure. Not here: what they
//! say, and making words of others safe to look at.

/// One text of all parts that are not empty, in their order: a space between them, and a full stop behind
/// each that has no end of its own and before another one.
pub fn join_sentences<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut whole = String::new();
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        if !whole.is_empty() {
            if !has_end(&whole) {
                whole.push('.');
            }
            whole.push(' ');
        }
        whole.push_str(part);
    }
    whole
}

/// Whether a text ends as a sentence does, quotation marks and brackets behind that left out.
fn has_end(text: &str) -> bool {
    let bare = text.trim_end_matches(['"', '\'', ')', ']', '»', '”']);
    bare.ends_with(['.', '!', '?', '…', ':']) || text.ends_with(['.', ':', '…'])
}

#[cfg(test)]
mod tests {
    use super::join_sentences;

    #[test]
    fn f1_no_sentence_runs_into_the_next() {
        for (parts, expected) in [
            (&[][..], ""),
            (&["", " "][..], ""),
            (&["saved"], "saved"),
            (&["Saved.", "x is available", "y too"], "Saved. x is available. y too"),
            (&["check this (said by h1)", "A yes lasts."], "check this (said by h1). A yes lasts."),
            (&["It said \"no.\"", "Go on."], "It said \"no.\" Go on."),
            (&["Really?", "", "Yes"], "Really? Yes"),
            (&["Cut…", "More"], "Cut… More"),
        ] {
            assert_eq!(join_sentences(parts.iter().copied()), expected, "{parts:?}");
        }
    }
}
