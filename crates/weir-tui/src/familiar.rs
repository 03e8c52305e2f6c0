//! Words that fingers know from other agents, as commands of both faces: what is answered where something else does it, and what is near to a slip of the finger. Pure.
//! Not here: the tables of commands.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use crate::link::OpenSessionInfo;
use crate::words::{count_text, one_line, thinking_word, token_count_text};

/// Longest text that is copied, in bytes: terminals drop a longer one without a word.
pub(crate) const COPY_BYTES_MAX: usize = 74_000;
/// Steps of a slip that is still understood: a letter too many, one missing, another, two swapped.
const SLIPS_MAX: usize = 2;

/// Commands that give way to a workflow or skill of the same name: who has one means that.
const YIELDING: &[&str] = &[
    "new", "exit", "status", "diff", "copy", "config", "login", "usage", "rename", "hooks", "plan",
];

/// Whether a command gives way to one of the session.
pub(crate) fn yields_to_session(name: &str) -> bool {
    YIELDING.contains(&name)
}

/// The name of the command that a line begins with.
pub(crate) fn command_name(line: &str) -> &str {
    let line = line.trim_start();
    let line = line.strip_prefix('/').unwrap_or(line);
    line.split(char::is_whitespace).next().unwrap_or_default()
}

/// Whether a line asks for the settings of the session, which are told a little later than that it
/// is open.
pub(crate) fn shows_settings(line: &str) -> bool {
    line.split(char::is_whitespace).next() == Some("/status")
}

/// A command that something else does: the sentence that says what.
pub(crate) fn familiar_answer(name: &str) -> Option<&'static str> {
    Some(match name {
        "login" => {
            "Keys are kept by `weir auth set PROVIDER`, in a shell of your own: what you type there \
             is not shown. Start weir again afterwards"
        }
        "rename" => "A session is named by its first message; /resume finds it by any word in it",
        "hooks" => {
            "Hooks stand in config.toml under [[hooks.EVENT]] (`weir config path` says where): \
             /config shows them"
        }
        _ => return None,
    })
}

/// The name that was meant by one that is not there.
pub(crate) fn nearest_name<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = name.to_lowercase();
    // In a short name every letter counts.
    let most = if lower.chars().count() < 5 { 1 } else { SLIPS_MAX };
    let slips = known.map(|one| {
        let begins = lower.chars().count() > 1 && one.starts_with(&lower);
        (if begins { 1 } else { edit_distance(&lower, one) }, one)
    });
    let best = slips.filter(|(count, _)| *count <= most).min_by_key(|(count, _)| *count);
    best.map(|(_, one)| one)
}

/// How many letters differ, two that are swapped counted once.
fn edit_distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > SLIPS_MAX {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut here = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let same = above[column] + usize::from(a != b);
            let mut least = same.min(above[column + 1] + 1).min(here[column] + 1);
            let swapped = row > 0
                && column > 0
                && *a == other[column - 1]
                && one[row - 1] == *b
                && !before.is_empty();
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            here.push(least);
        }
        before = std::mem::replace(&mut above, here);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

/// The last block of code of a text, as it was written.
pub(crate) fn last_code(text: &str) -> Option<String> {
    let (mut code, mut last) = (None, None);
    for event in Parser::new(text) {
        match (event, &mut code) {
            (Event::Start(Tag::CodeBlock(_)), _) => code = Some(String::new()),
            (Event::Text(more), Some(code)) => code.push_str(&more),
            (Event::End(TagEnd::CodeBlock), _) => last = code.take(),
            _ => (),
        }
    }
    last.filter(|code| !code.trim().is_empty())
}

/// What `/copy` takes of the last answer.
///
/// # Errors
/// There is nothing to take: a sentence.
pub(crate) fn to_copy(answer: Option<&str>, what: &str) -> Result<(String, String), String> {
    let Some(answer) = answer.filter(|text| !text.trim().is_empty()) else {
        return Err("Nothing was answered yet: there is nothing to copy".into());
    };
    let (name, text) = match what.trim() {
        "" | "all" | "answer" => ("the last answer", answer.trim_end().to_owned()),
        "code" | "block" => match last_code(answer) {
            Some(code) => ("the last block of code", code),
            None => return Err("The last answer has no block of code".into()),
        },
        _ => {
            return Err(
                "It is /copy for the last answer, /copy code for its last block of code".into()
            );
        }
    };
    if text.len() > COPY_BYTES_MAX {
        return Err(format!(
            "{name} is too long for a terminal's clipboard ({} kB): /export writes it to a file",
            text.len() / 1_000
        ));
    }
    let lines = count_text(text.lines().count(), "line");
    let more = match what.trim().is_empty() && last_code(answer).is_some() {
        true => " · /copy code copies its last block of code",
        false => "",
    };
    Ok((text, format!("Copied {name}: {lines}{more}")))
}

/// What `/status` tells.
pub(crate) struct StatusReport<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) about: &'a OpenSessionInfo,
    pub(crate) model: &'a str,
    pub(crate) profile: &'a str,
    pub(crate) permission: PermissionMode,
    pub(crate) thinking: Thinking,
    /// Tokens of the context.
    pub(crate) context: u64,
    /// Tokens of its window; 0: not known.
    pub(crate) window: u64,
    /// Tokens that were used.
    pub(crate) tokens: u64,
    /// The cost, in words.
    pub(crate) cost: &'a str,
}

/// It in lines.
pub(crate) fn status_text(of: &StatusReport<'_>) -> String {
    let thinking = thinking_word(of.thinking);
    let line = |name: &str, value: &str| format!("{name:<12}{}\n", one_line(value));
    let mut text = String::new();
    text += &line("Session", of.session.unwrap_or("new: it begins with your first message"));
    text += &line("Folder", &of.about.folder);
    if let Some(branch) = &of.about.branch {
        text += &line("Branch", branch);
    }
    if let Some(server) = &of.about.server {
        text += &line("Server", server);
    }
    text += &line("Model", of.model);
    text += &line("Thinking", thinking);
    text += &line("Profile", of.profile);
    text += &line("Permission", &of.permission.to_string());
    let window = match of.window {
        0 => String::new(),
        window => format!(" of {}", token_count_text(window)),
    };
    text += &line("Context", &format!("{}{window} tokens", token_count_text(of.context)));
    text += &line("Used", &format!("{} tokens, {}", token_count_text(of.tokens), of.cost));
    if !of.about.resume.is_empty() {
        text += &line("Go on with", &of.about.resume);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_slip_of_the_finger_is_understood() {
        let known = || ["exit", "export", "diff", "model", "compact", "status", "new"].into_iter();
        for (typed, meant) in [
            ("exti", Some("exit")),
            ("exiit", Some("exit")),
            ("EXIT", Some("exit")),
            ("dif", Some("diff")),
            ("modle", Some("model")),
            ("comp", Some("compact")),
            ("stats", Some("status")),
            ("nwe", Some("new")),
            ("x", None),
            ("nope", None),
            ("zzzz", None),
            ("", None),
            ("deploy", None),
        ] {
            assert_eq!(nearest_name(typed, known()), meant, "{typed}");
        }
    }

    #[test]
    fn f1_copy_takes_the_answer_or_its_last_code() {
        let answer = "Do this:\n\n```rust\nfn a() {}\n```\n\nthen\n\n```sh\n\tmake\n\nls\n```\n";
        let (text, told) = to_copy(Some(answer), "").expect("an answer");
        assert_eq!(text, answer.trim_end());
        assert_eq!(
            told,
            "Copied the last answer: 13 lines · /copy code copies its last block of code"
        );
        let (text, told) = to_copy(Some(answer), "code").expect("code");
        assert_eq!(
            (text.as_str(), told.as_str()),
            ("\tmake\n\nls\n", "Copied the last block of code: 3 lines")
        );
        for (answer, what, part) in [
            (None, "", "Nothing was answered"),
            (Some(" \n"), "", "Nothing was answered"),
            (Some("words"), "code", "no block of code"),
            (Some("words"), "everything", "/copy code"),
            (Some(&*"long ".repeat(20_000)), "", "/export"),
        ] {
            let why = to_copy(answer, what).expect_err("nothing to copy");
            assert!(why.contains(part), "{why}");
        }
    }
}
