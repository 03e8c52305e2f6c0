//! What of the hard floor is about processes (Z3): which commands end some that this session did not start. Not here:
//! the rows (`floor_table`), and jobs, which the tools for them end.

use super::floor::FloorCommand;
use super::floor_table::has_argument;
use crate::governance::shell::{self, ShellWord};

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
        let name = text.trim_start_matches('$').trim_matches(['{', '}']);
        text.starts_with('%')
            || text == "$!"
            || text.contains("jobs -p")
            || (text.starts_with('$') && scene.compact_text().contains(&format!("{name}=$!")))
    };
    scene.commands().any(|(_, words)| {
        if shell::head_name(&words[0]) != "kill"
            || has_argument(&words[1..], &["-l", "-L", "-0", "--list"])
        {
            return false;
        }
        let mut operands = killed_words(words).peekable();
        operands.peek().is_none() || operands.any(|word| !own(&word.text))
    })
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
        for line in ["kill -1 %1", "kill -9 %1 %2", "sleep 5 & kill $!", "kill -l -1"] {
            assert!(!meets(line, ends_process), "{line}");
        }
        assert!(!meets("kill -1 %1", ends_by_name));
    }
}
