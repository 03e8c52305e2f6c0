//! What of the hard floor is about processes (Z3): which commands end some that this session did not start. Not here:
//! the rows (`floor_table`), and jobs, which the tools for them end.

use super::floor::FloorCommand;
use super::floor_table::has_argument;
use crate::governance::shell::{self, ShellWord};

/// Most processes of its own that a command is let end without a question.
const KILLED_MAX: usize = 100;

pub(super) fn ends_by_name(scene: &FloorCommand<'_>) -> bool {
    scene.commands().any(|(_, words)| match shell::head_name(&words[0]) {
        "pkill" | "killall" | "killall5" | "xkill" | "skill" => true,
        "fuser" => words[1..].iter().any(|w| {
            w.text == "--kill"
                || (w.text.starts_with('-') && !w.text.starts_with("--") && w.text.contains('k'))
        }),
        // The first of its words may be a signal.
        "kill" => words.iter().skip(2).any(|word| word.text == "-1"),
        _ => false,
    })
}

pub(super) fn ends_process(scene: &FloorCommand<'_>) -> bool {
    let own = |text: &str| {
        text.starts_with('%')
            || text == "$!"
            || lists_jobs(text)
            || text.strip_prefix('$').is_some_and(|variable| {
                holds_own(&scene.effect.command, variable.trim_matches(['{', '}']))
            })
    };
    scene.commands().any(|(_, words)| {
        if shell::head_name(&words[0]) != "kill"
            || has_argument(&words[1..], &["-l", "-L", "-0", "--list"])
        {
            return false;
        }
        let operands: Vec<&ShellWord> = killed_words(words).collect();
        operands.is_empty()
            || operands.len() > KILLED_MAX
            || operands.iter().any(|word| !own(&word.text))
    })
}

/// Whether a word is what `jobs -p` prints, and nothing else.
fn lists_jobs(text: &str) -> bool {
    let of_dollar = text.strip_prefix("$(").and_then(|inner| inner.strip_suffix(')'));
    let inner = of_dollar.or(text.strip_prefix('`').and_then(|inner| inner.strip_suffix('`')));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " %+-".contains(c);
    inner.is_some_and(|inner| {
        inner.trim_start().starts_with("jobs -p") && inner.chars().all(is_plain)
    })
}

/// Whether a variable is given the last process of the line wherever it is given anything.
fn holds_own(line: &str, name: &str) -> bool {
    let is_letter = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let given = line.match_indices(name).filter_map(|(at, _)| {
        let value = line[at + name.len()..].strip_prefix('=')?;
        (!line[..at].ends_with(is_letter)).then_some(value)
    });
    let values: Vec<&str> = given.collect();
    let is_own = |value: &&str| value.starts_with("$!") || value.starts_with("\"$!\"");
    let is_nothing = |value: &&str| value.is_empty() || value.starts_with([';', '&', '\n', ' ']);
    let is_harmless = |value: &&str| is_own(value) || is_nothing(value);
    !name.is_empty() && values.iter().any(is_own) && values.iter().all(is_harmless)
}

/// What `kill` is to end: a number behind a dash is a group of processes, unless it stands where a signal does.
fn killed_words(words: &[ShellWord]) -> impl Iterator<Item = &ShellWord> {
    let is_killed = |(at, word): &(usize, &ShellWord)| match word.text.strip_prefix('-') {
        Some(group) => *at > 1 && group.parse::<u64>().is_ok(),
        None => *at > 0,
    };
    words.iter().enumerate().filter(is_killed).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::rules::{RuleContext, RuleSet};
    use crate::governance::shell::ReadCommand;
    use crate::tool::CommandEffect;

    #[test]
    fn z3_a_group_of_processes_is_ended_by_nobody_beside_ones_own() {
        let context = RuleContext { workspace: "/work/ws".into(), ..RuleContext::default() };
        let rules = RuleSet::new(context);
        let meets = |line: &str, row: fn(&FloorCommand<'_>) -> bool| {
            let effect =
                CommandEffect { command: line.into(), cwd: ".".into(), ..CommandEffect::default() };
            let read = ReadCommand::from_text(line);
            row(&FloorCommand::from_read(&effect, &rules, &read))
        };
        for line in ["kill -9 -1", "kill -9 -1 %1", "kill -s KILL -1 $!", "kill -- -1 %1"] {
            assert!(meets(line, ends_by_name), "{line}");
        }
        for line in ["kill -9 -1234 %1", "kill -TERM -- -1234 $!", "kill -1234", "kill 12 %1"] {
            assert!(meets(line, ends_process), "{line}");
        }
        for line in [
            "kill -9 $(pgrep node; jobs -p)",
            "kill `echo 12 jobs -p`",
            "sleep 5 & XP=$!; kill $P",
            "sleep 5 & P=$!; P=1234; kill $P",
        ] {
            assert!(meets(line, ends_process), "{line}");
        }
        for line in [
            "kill -1 %1",
            "kill -9 %1 %2",
            "sleep 5 & kill $!",
            "kill -l -1",
            "kill $(jobs -p) `jobs -p %1`",
            "P=; sleep 5 & P=$!; sleep 1; kill \"${P}\"",
            "sleep 5 &\necho begun\nP=\"$!\"\nkill $P",
        ] {
            assert!(!meets(line, ends_process), "{line}");
        }
        assert!(!meets("kill -1 %1", ends_by_name));
    }
}
