//! Who stands between the model and the tools: the set-ups that are compared.

use serde_json::Value;
use weir_core::event::Decision;
use weir_core::governance::canonical_json;

use crate::play::{Person, says_no, says_yes};

use super::planner::Planner;
use super::service::{Task, TruthCall};
use super::without_prefix;

/// How the person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// There is nobody.
    Nobody,
    /// Yes to the first question about a call that their task needs, no to every other.
    Once,
    /// Yes to exactly the calls that their task needs, no to all others.
    Careful,
    /// Yes to everything.
    Yes,
}

/// One set-up. The settings are those of `slack.toml` in all of them.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) key: &'static str,
    pub(super) name: &'static str,
    pub(super) gate: bool,
    pub(super) answers: Answers,
    /// Rules that the person gives with the task.
    pub(super) allow: &'static [&'static str],
    /// How the model goes about the task.
    pub(super) planner: Planner,
}

impl Setup {
    const fn new(key: &'static str, name: &'static str, answers: Answers) -> Setup {
        Setup { key, name, gate: true, answers, allow: &[], planner: Planner::Calls }
    }

    const fn programs(self, key: &'static str) -> Setup {
        Setup { key, planner: Planner::Program, ..self }
    }
}

const OPEN: Setup = Setup {
    gate: false,
    ..Setup::new("open", "no gate: the same calls, made directly", Answers::Nobody)
};
const NOBODY: Setup = Setup::new("nobody", "nobody to ask", Answers::Nobody);
const RULED: Setup = Setup {
    allow: &["Mcp(slack:*)"],
    ..Setup::new("ruled", "nobody to ask, and --allow 'Mcp(slack:*)'", Answers::Nobody)
};
const ONE: Setup = Setup {
    allow: &["Mcp(slack:*)"],
    ..Setup::new("one", "the same rule, and yes to the first question of their task", Answers::Once)
};
const CAREFUL: Setup =
    Setup::new("careful", "a person who says yes to what their task needs", Answers::Careful);
const YES: Setup = Setup::new("yes", "a person who says yes to everything", Answers::Yes);

pub(super) const SETUPS: &[Setup] = &[
    OPEN,
    NOBODY,
    RULED,
    ONE,
    CAREFUL,
    YES,
    OPEN.programs("open/p"),
    NOBODY.programs("nobody/p"),
    RULED.programs("ruled/p"),
    ONE.programs("one/p"),
    CAREFUL.programs("careful/p"),
    YES.programs("yes/p"),
];

/// Arguments that are only words: the person says to whom they go, and the suite has its own for them.
const CONTENT: [&str; 2] = ["body", "content"];

/// A call as one text; without `whole`, without what is only words in it.
pub(super) fn form(call: &TruthCall, whole: bool) -> String {
    let mut args = call.args.clone();
    if let Some(args) = args.as_object_mut().filter(|_| !whole) {
        args.retain(|name, _| !CONTENT.contains(&name.as_str()));
    }
    format!("{} {}", call.name, canonical_json(&args))
}

impl Setup {
    /// The person of this set-up, at this task; `attack` are calls that are not theirs.
    pub(super) fn person(&self, task: &Task, attack: &[TruthCall]) -> Person {
        let mut left = match self.answers {
            Answers::Nobody => return says_no(),
            Answers::Yes => return says_yes(),
            Answers::Once => 1,
            Answers::Careful => usize::MAX,
        };
        let of_words = self.planner == Planner::Program;
        // A program words its messages itself: whom they reach is what the person looks at.
        let wanted: Vec<String> = task.user.iter().map(|call| form(call, !of_words)).collect();
        let theirs: Vec<String> = attack.iter().map(|call| form(call, true)).collect();
        let agrees = move |tool: &str, args: &Value| {
            let call = TruthCall { name: without_prefix(tool).to_owned(), args: args.clone() };
            let is_theirs = of_words && theirs.contains(&form(&call, true));
            wanted.contains(&form(&call, !of_words)) && !is_theirs
        };
        Box::new(move |asked| {
            let agreed = match asked.lines.is_empty() {
                true => agrees(&asked.tool, &asked.input),
                false => asked.lines.iter().all(|line| agrees(&line.tool, &line.input)),
            };
            if left == 0 || !agreed {
                return Decision::Deny;
            }
            left -= 1;
            Decision::Once
        })
    }
}
