//! What somebody who misspelled a key of a file is told: the key that was meant, in the place of all that there
//! are. Not here: what is near (`workspace`, which says the same of names of files).

use crate::workspace::nearest_name;

/// How parsers begin when they do not know a key, or a word that stands for a value.
const UNKNOWN: [&str; 2] = ["unknown field `", "unknown variant `"];

/// The message of a parser; where it lists what it knows and one of that is near, that one alone.
pub fn name_what_was_meant(message: &str) -> String {
    meant_instead(message).unwrap_or_else(|| message.to_owned())
}

fn meant_instead(message: &str) -> Option<String> {
    let begin = UNKNOWN.into_iter().find(|begin| message.starts_with(begin))?;
    let (unknown, listed) = message.strip_prefix(begin)?.split_once("`, expected ")?;
    // "one of `a`, `b` at line 2": what is quoted, and what follows it.
    let parts: Vec<&str> = listed.split('`').collect();
    let known: Vec<String> = parts.iter().skip(1).step_by(2).map(ToString::to_string).collect();
    let near = nearest_name(unknown, &known)?;
    let place = parts.last().filter(|_| parts.len() % 2 == 1).copied().unwrap_or_default();
    Some(format!("{begin}{unknown}`{place}; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c8_the_key_that_was_meant_is_named_and_a_strange_one_has_the_whole_list() {
        for (message, told) in [
            (
                "unknown field `permision_mode`, expected one of `model`, `permission_mode`",
                "unknown field `permision_mode`; did you mean `permission_mode`?",
            ),
            (
                "unknown field `comand`, expected `command` or `args` at line 3 column 8",
                "unknown field `comand` at line 3 column 8; did you mean `command`?",
            ),
            (
                "unknown variant `auto_edit`, expected one of `ask`, `auto-edit`",
                "unknown variant `auto_edit`; did you mean `auto-edit`?",
            ),
        ] {
            assert_eq!(name_what_was_meant(message), told);
        }
        for message in [
            "unknown field `colour`, expected one of `model`, `profile`",
            "unknown field `x`, there are no fields",
            "unknown field `x`, expected ",
            "unknown field `",
            "invalid type: string \"unknown field `modle`, expected `model`\"",
            "",
        ] {
            assert_eq!(name_what_was_meant(message), message);
        }
    }
}
