//! Words that fingers know from other agents. They are looked at only when the command line has no
//! meaning of its own: some are the same in other words, the rest are answered with what does it
//! here. Not here: the commands themselves.

use std::ffi::OsString;

/// What a command line from elsewhere means here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FamiliarMeaning {
    /// The same in Weir's words, without the program's name.
    Words(Vec<OsString>),
    /// There is nothing of that name: what does it.
    Told(String),
}

/// Answered with what does it here.
const TOLD: [(&[&str], &str); 7] = [
    (
        &["login", "logout", "setup-token"],
        "`weir` asks for an API key if none is set; `weir auth set PROVIDER` (anthropic, openai, \
         gemini, openrouter, …) saves one, `weir auth remove PROVIDER` removes it",
    ),
    (
        &["init"],
        "no setup is needed: start `weir` in the folder. To tell agents about it, write a file \
         AGENTS.md; `/init` in `weir` drafts one",
    ),
    (
        &["update", "upgrade", "self-update"],
        "Weir does not update itself; update it in the way it was installed",
    ),
    (
        &["history", "ls", "list"],
        "`weir sessions list` lists sessions, `weir audit tail` shows what was done",
    ),
    (
        &["status", "stats", "usage", "cost"],
        "`weir sessions list` lists sessions, `weir sessions show ID` shows the tokens and cost of \
         one",
    ),
    (&["review"], "run `git diff | weir run \"review this\" -`; `weir --help` lists all commands"),
    (&["web", "ui", "server"], "`weir serve` starts the server with the web interface"),
];

/// What these words, without the program's name, mean. `is_command`: whether Weir has a command of
/// a name. `None`: nothing that is known here.
pub(crate) fn find_familiar_meaning(
    words: &[OsString],
    is_command: impl Fn(&str) -> bool,
) -> Option<FamiliarMeaning> {
    let (first, rest) = words.split_first()?;
    let first = first.to_str()?;
    let with = |before: &[&str]| {
        let before = before.iter().map(OsString::from);
        Some(FamiliarMeaning::Words(before.chain(rest.iter().cloned()).collect()))
    };
    match first {
        "exec" | "-p" | "--print" | "-e" | "ask" | "prompt" => with(&["run"]),
        "mcp" => with(&["mcp-servers"]),
        "chat" | "tui" | "start" => with(&[]),
        "resume" => with(&["--resume"]),
        "continue" => with(&["--continue"]),
        "-v" | "version" => with(&["--version"]),
        "help" | "-?" => help_meaning(rest, is_command),
        _ if is_command(first) => None,
        _ => replacement_advice(first).or_else(|| task_meaning(first, rest)),
    }
}

/// `help`, and `help` for a command.
fn help_meaning(topic: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<FamiliarMeaning> {
    let Some(first) = topic.first() else {
        return Some(FamiliarMeaning::Words(vec!["--help".into()]));
    };
    let first = first.to_str()?;
    if is_command(first) {
        let topic = topic.iter().cloned().chain(["--help".into()]);
        return Some(FamiliarMeaning::Words(topic.collect()));
    }
    let told = replacement_advice(first);
    told.or_else(|| {
        let text = format!(
            "there is no command {first:?}; `weir --help` lists all commands, `/help` in the \
             terminal interface lists its keys"
        );
        Some(FamiliarMeaning::Told(text))
    })
}

fn replacement_advice(word: &str) -> Option<FamiliarMeaning> {
    let of = TOLD.iter().find(|(words, _)| words.contains(&word));
    of.map(|(_, text)| FamiliarMeaning::Told(format!("there is no command {word:?}: {text}")))
}

/// A whole task in one word is run; one in many words is not guessed at.
fn task_meaning(first: &str, rest: &[OsString]) -> Option<FamiliarMeaning> {
    if first.starts_with('-') {
        return None;
    }
    if first.trim().contains(char::is_whitespace) {
        let words = ["run".into(), first.into()].into_iter().chain(rest.iter().cloned());
        return Some(FamiliarMeaning::Words(words.collect()));
    }
    let plain =
        rest.iter().filter_map(|word| word.to_str()).take_while(|word| !word.starts_with('-'));
    let task: Vec<&str> = std::iter::once(first).chain(plain).collect();
    (task.len() > 1).then(|| {
        let text = format!(
            "there is no command {first:?}. To run a task, put it in quotes: weir run {:?}",
            task.join(" ")
        );
        FamiliarMeaning::Told(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[&str]) -> Option<FamiliarMeaning> {
        let words: Vec<OsString> = line.iter().map(OsString::from).collect();
        find_familiar_meaning(&words, |name| ["run", "auth", "sessions"].contains(&name))
    }

    #[test]
    fn words_of_other_agents_are_commands_here() {
        for (line, expected) in [
            (&["exec", "fix it", "--json"][..], "run fix it --json"),
            (&["-p", "fix it"], "run fix it"),
            (&["fix the tests"], "run fix the tests"),
            (&["mcp", "list"], "mcp-servers list"),
            (&["help"], "--help"),
            (&["help", "sessions", "list"], "sessions list --help"),
            (&["resume", "abc"], "--resume abc"),
            (&["chat"], ""),
            (&["-v"], "--version"),
        ] {
            let Some(FamiliarMeaning::Words(words)) = of(line) else {
                panic!("{line:?}: {:?}", of(line))
            };
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_answered_with_what_does_it() {
        for (line, part) in [
            (&["login"][..], "weir auth set"),
            (&["help", "login"], "weir auth set"),
            (&["update"], "in the way it was installed"),
            (&["help", "nothing"], "weir --help"),
            (&["fix", "the", "tests", "--json"], "weir run \"fix the tests\""),
        ] {
            let Some(FamiliarMeaning::Told(text)) = of(line) else {
                panic!("{line:?}: {:?}", of(line))
            };
            assert!(text.contains(part), "{line:?}: {text}");
        }
        assert_eq!(of(&["--nonsense"]), None);
        assert_eq!(of(&["sessoins"]), None, "a slip of the finger is answered with what is near");
        assert_eq!(of(&["run", "--nonsense"]), None);
    }
}
