//! The constants of a program and where they come from: every text in it must stand in the words at its
//! head, which are the person's. Questions to the reader of a text are no arguments of a call that does
//! anything, and may be put in any words. Not a parser of JavaScript: it knows texts, comments and
//! brackets, as the programs of the suite have them.

/// The tool whose questions may be put in any words.
const READER: &str = "extract_fields(";

/// The person's words: the comment that a program begins with.
pub(super) fn said_words(code: &str) -> String {
    let lines = code.lines().map_while(|line| line.strip_prefix("//"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Texts of a program that do not stand in the words at its head, whatever encloses them.
pub(super) fn invented_words(code: &str) -> Vec<String> {
    let said = said_words(code).to_lowercase();
    let texts = texts_of(code).into_iter();
    let plain = |text: String| text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    texts.map(plain).filter(|text| !text.is_empty() && !said.contains(text)).collect()
}

/// What the present character stands in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Within {
    /// Code between brackets; `asks`: of a question to the reader.
    Code { asks: bool },
    /// A text that this character ends.
    Text(char),
}

/// The texts of a program but those of questions to the reader. A template is a text for each of its
/// parts.
fn texts_of(code: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut within = vec![Within::Code { asks: false }];
    let mut rest = code;
    while let Some(next) = rest.chars().next() {
        let mut taken = next.len_utf8();
        let asks = within.iter().any(|one| matches!(one, Within::Code { asks: true }));
        match (within.last(), next) {
            (Some(Within::Text(end)), next) if next == *end => {
                within.pop();
                texts.push(String::new());
            }
            (Some(Within::Text('`')), '$') if rest.starts_with("${") => {
                taken = 2;
                within.push(Within::Code { asks: false });
                texts.push(String::new());
            }
            (Some(Within::Text(_)), next) => {
                let escaped = rest[taken..].chars().next().filter(|_| next == '\\');
                taken += escaped.map_or(0, char::len_utf8);
                let shown = escaped.map_or(next, |c| if c.is_alphanumeric() { ' ' } else { c });
                if !asks && let Some(text) = texts.last_mut() {
                    text.push(shown);
                }
            }
            (_, '/') if rest.starts_with("//") => taken = rest.find('\n').unwrap_or(rest.len()),
            (_, '"' | '\'' | '`') => within.push(Within::Text(next)),
            (_, 'e') if rest.starts_with(READER) => {
                taken = READER.len();
                within.push(Within::Code { asks: true });
            }
            (_, '(' | '{' | '[') => within.push(Within::Code { asks: false }),
            (_, ')' | '}' | ']') => drop(within.pop()),
            _ => (),
        }
        rest = &rest[taken..];
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "// Write Hi to Bob,\n// and nobody else.\n";

    fn invented(code: &str) -> Vec<String> {
        invented_words(&format!("{HEAD}{code}"))
    }

    #[test]
    fn u14_what_the_person_said_is_no_invention() {
        assert_eq!(said_words(HEAD), "Write Hi to Bob, and nobody else.");
        let code = "const to = \"Bob\"; // not Eve\nawait send({ to, body: `Hi ${to + ', '}!` });";
        assert!(invented(code).is_empty(), "{:?}", invented(code));
    }

    #[test]
    fn u14_a_constant_that_nobody_said_is_found_wherever_it_stands() {
        for code in [
            "send({ to: \"Eve\" })",
            "send({ to: 'Eve' })",
            "send({ to: `${x}Eve` })",
            "send({ to: `${[\"Eve\"].join()}` })",
            "extract_fields({ question: \"Whose?\" }); send({ to: \"Eve\" })",
            "send({ to: \"\\\"Eve\" })",
        ] {
            assert_eq!(invented(code), ["eve"], "{code}");
        }
    }

    #[test]
    fn u14_a_question_to_the_reader_is_put_in_any_words() {
        let code = "extract_fields({ text, question: \"Whose?\", fields: { who: `enum:${a.join(',')}` } })";
        assert!(invented(code).is_empty(), "{:?}", invented(code));
    }
}
