//! Words of a prompt that name files: `@src/main.rs`, `@"my file.pdf"`. Pure; not here: whether
//! there is such a file.

/// What ends a sentence or closes a bracket, and is part of a name only if there is such a file.
const CLOSING: [char; 12] = [',', '.', ';', ':', '?', '!', ')', ']', '}', '>', '"', '\''];
/// What may stand before the `@`.
const OPENING: [char; 6] = ['(', '[', '{', '<', '"', '\''];

/// A name after an `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    name: String,
    quoted: bool,
}

impl Mention {
    /// The names it may mean, the likeliest first: with and without what closes a sentence.
    pub fn candidate_names(&self) -> Vec<&str> {
        let short = self.name.trim_end_matches(CLOSING);
        if self.quoted || short == self.name || short.is_empty() {
            return vec![&self.name];
        }
        vec![&self.name, short]
    }
}

/// The mentions in `prompt`, in order. An `@` within a word, as in an address, is none.
pub fn parse_mentions(prompt: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut rest = prompt;
    let mut before = None;
    while let Some(at) = rest.find('@') {
        let last = rest[..at].chars().next_back().or(before);
        let begins = last.is_none_or(|c| c.is_whitespace() || OPENING.contains(&c));
        rest = &rest[at + 1..];
        before = Some('@');
        if !begins {
            continue;
        }
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c));
        let name = match quote {
            Some(quote) => {
                let inner = &rest[1..];
                // A name goes over no line; a quote that is never closed quotes nothing.
                inner
                    .split(['\n', quote])
                    .next()
                    .filter(|name| inner[name.len()..].starts_with(quote))
            }
            None => rest.split(char::is_whitespace).next(),
        };
        let Some(name) = name.filter(|name| !name.is_empty()) else { continue };
        found.push(Mention { name: name.to_owned(), quoted: quote.is_some() });
        let taken = name.len() + if quote.is_some() { 2 } else { 0 };
        before = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(prompt: &str) -> Vec<Vec<String>> {
        let of =
            |mention: &Mention| mention.candidate_names().iter().map(ToString::to_string).collect();
        parse_mentions(prompt).iter().map(of).collect()
    }

    #[test]
    fn x5_mentions_are_found() {
        for (prompt, expected) in [
            ("", vec![]),
            ("no file", vec![]),
            ("@", vec![]),
            ("@ x", vec![]),
            ("mail me@example.org", vec![]),
            ("@a.txt", vec![vec!["a.txt"]]),
            ("see @src/a.rs, @b.md.", vec![vec!["src/a.rs,", "src/a.rs"], vec!["b.md.", "b.md"]]),
            ("(@a.txt)", vec![vec!["a.txt)", "a.txt"]]),
            ("a\n@b\tc", vec![vec!["b"]]),
            ("@\"my file.pdf\" and @'it.png'.", vec![vec!["my file.pdf"], vec!["it.png"]]),
            ("@\"never closed", vec![]),
            ("@\"over\na line\"", vec![]),
            ("@über/größe.txt!", vec![vec!["über/größe.txt!", "über/größe.txt"]]),
            ("@...", vec![vec!["..."]]),
            ("@@a", vec![vec!["@a"]]),
        ] {
            assert_eq!(names(prompt), expected, "{prompt:?}");
        }
    }
}
