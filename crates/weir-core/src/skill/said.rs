//! Skills in what a person writes: their names, as `/name`, and the words that go with one.

use super::name_problem;

/// Names that stand as `/name` in a message, each once. A path (`/tmp/x`) is no name.
pub fn names_in(said: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in said.split_whitespace() {
        let word = word.trim_start_matches(['(', '"', '\'', '`', '[']);
        let Some(name) = word.strip_prefix('/') else { continue };
        let name = name.trim_end_matches(|c: char| c.is_ascii_punctuation());
        if name_problem(name).is_none() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Puts arguments into the text of a skill: `$ARGUMENTS` is all of them, `$1` to `$9` the words, of
/// which one in quotes is one; `\$` is a `$`. Where the text has no place for them they follow it.
pub fn fill_arguments(text: &str, arguments: &str) -> String {
    let words = split_arguments(arguments);
    let mut filled = String::with_capacity(text.len() + arguments.len());
    let mut rest = text;
    let mut placed = false;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if rest[..at].ends_with('\\') {
            filled.pop();
            filled.push('$');
            rest = after;
            continue;
        }
        if let Some(more) = after.strip_prefix("ARGUMENTS") {
            filled.push_str(arguments);
            rest = more;
            placed = true;
            continue;
        }
        match argument_position(after) {
            Some(n) => {
                filled.push_str(words.get(n - 1).map_or("", String::as_str));
                rest = &after[1..];
                placed = true;
            }
            None => {
                filled.push('$');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    if !placed && !arguments.trim().is_empty() {
        filled.push_str("\n\nArguments: ");
        filled.push_str(arguments.trim());
    }
    filled
}

/// The number of the argument that stands after a `$`. `$10` and `$1.50` are sums of money.
fn argument_position(after: &str) -> Option<usize> {
    let mut following = after.chars();
    let n = following.next()?.to_digit(10).filter(|n| *n > 0)?;
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let next = following.next();
    let money = digit(next) || (matches!(next, Some('.' | ',')) && digit(following.next()));
    (!money).then_some(n as usize)
}

fn split_arguments(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut begun = false;
    for c in arguments.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => word.push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                begun = true;
            }
            None if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            None => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m1_a_name_after_a_slash_is_told_from_a_path() {
        for (said, names) in [
            ("/code-review src", vec!["code-review"]),
            ("please (/a) and /b, then /a.", vec!["a", "b"]),
            ("see /tmp/x and /etc/", vec!["etc"]),
            ("and/or https://x/y", vec![]),
            ("/ /Upper /a--b", vec![]),
        ] {
            assert_eq!(names_in(said), names, "{said}");
        }
    }

    #[test]
    fn m1_arguments_find_their_places() {
        for (text, arguments, expected) in [
            ("Do $ARGUMENTS.", "a b", "Do a b."),
            ("$1 then $2$3", "'x y' z", "x y then z"),
            ("Costs $10 or $1.50 or $0", "a", "Costs $10 or $1.50 or $0\n\nArguments: a"),
            ("No place", "", "No place"),
            ("\\$ARGUMENTS is $ARGUMENTS", "x", "$ARGUMENTS is x"),
            ("First $1.", "a", "First a."),
            ("$", "a", "$\n\nArguments: a"),
            ("$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"),
        ] {
            assert_eq!(fill_arguments(text, arguments), expected, "{text}");
        }
    }
}
