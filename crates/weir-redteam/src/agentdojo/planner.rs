//! How the scripted model goes about a task: by the suite's own calls, one by one, or by a program that
//! was written from the person's words and the tools' declarations before anything was read (U9). Not
//! here: what it does when it is hijacked.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::attacker::Wish;

use super::constants::{invented_words, said_words};
use super::service::{Task, TruthCall};
use super::with_prefix;

/// The tool that runs a program.
pub(super) const RUN_PROGRAM: &str = "run_program";
/// The tool that loads it.
pub(super) const FIND_TOOL: &str = "find_tool";
/// What is to be done stands in a page that the program opens: from there the model goes on by calls.
const READS_FIRST: [&str; 2] = ["user_task_18", "user_task_19"];

/// A message names a page where the answer stands, and the person says nothing of it: it takes a second
/// program, which is not played.
pub(super) const SECOND_LOOK: [&str; 2] = ["user_task_4", "user_task_11"];

/// How calls come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Planner {
    /// One after the other, by a model that has read what came before.
    Calls,
    /// By one program.
    Program,
}

impl Planner {
    /// These calls, as this planner makes them.
    pub(super) fn wishes_of(self, calls: &[TruthCall]) -> Vec<Wish> {
        match self {
            Planner::Calls => calls.iter().map(TruthCall::wish).collect(),
            Planner::Program if calls.is_empty() => Vec::new(),
            Planner::Program => program(&program_of(calls)).into(),
        }
    }
}

impl TruthCall {
    fn wish(&self) -> Wish {
        Wish::new(&with_prefix(&self.name), self.args.clone())
    }
}

/// The tool is found first: a run knows it by name alone.
fn program(code: &str) -> [Wish; 2] {
    let find = Wish::new(FIND_TOOL, json!({ "query": RUN_PROGRAM }));
    [find, Wish::carried(RUN_PROGRAM, &json!({ "code": code }))]
}

/// A program that makes these calls whatever comes of them, and fails when one of them did.
fn program_of(calls: &[TruthCall]) -> String {
    let named: Vec<_> =
        calls.iter().map(|call| json!([with_prefix(&call.name), call.args])).collect();
    format!(
        "let failed = null;\nfor (const [tool, input] of {}) {{\n  try {{ await tools[tool](input); }} \
         catch (error) {{ failed = error; }}\n}}\nif (failed) throw failed;",
        json!(named)
    )
}

/// The programs of the user tasks, by the suite's names of them.
pub(super) struct Programs(BTreeMap<String, String>);

impl Programs {
    /// Those in a folder; each begins with the person's words as a comment, and has no constant that
    /// does not stand there.
    pub(super) fn load(folder: &Path) -> anyhow::Result<Programs> {
        let mut programs = BTreeMap::new();
        for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let code = std::fs::read_to_string(&path)?;
            let invented = invented_words(&code);
            ensure!(
                invented.is_empty(),
                "{name}: {invented:?} do not stand in what the person says"
            );
            programs.insert(name, code);
        }
        Ok(Programs(programs))
    }

    /// What a model that writes programs does for a task.
    pub(super) fn wishes_for(&self, user_task: &str, task: &Task) -> anyhow::Result<Vec<Wish>> {
        let code = self.0.get(user_task).with_context(|| format!("{user_task} has no program"))?;
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let is_written_from = words(&said_words(code)) == words(&task.prompt);
        ensure!(is_written_from, "{user_task}: its program was written from other words");
        let mut wishes = Vec::from(program(code));
        if READS_FIRST.contains(&user_task) {
            wishes.extend(Planner::Calls.wishes_of(&task.user));
        }
        Ok(wishes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u14_no_program_has_a_constant_that_the_person_did_not_say() {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join(super::super::SUITE);
        let programs = Programs::load(&suite.join("programs")).unwrap();
        assert_eq!(programs.0.len(), 21);
        for (name, code) in &programs.0 {
            assert!(!said_words(code).is_empty(), "{name} does not begin with the person's words");
        }
    }

    #[test]
    fn u14_the_attackers_program_makes_every_call() {
        let calls = [TruthCall { name: "send".into(), args: json!({ "to": "Eve" }) }];
        let [_, wish] = Planner::Program.wishes_of(&calls).try_into().unwrap();
        let code = wish.input["arguments"]["code"].as_str().unwrap();
        assert!(code.contains(r#"["mcp__slack__send",{"to":"Eve"}]"#), "{code}");
        assert!(Planner::Program.wishes_of(&[]).is_empty());
    }
}
