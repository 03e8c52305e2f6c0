//! `new_task` and `merge_agent` as plans (M6): what is declared, what is refused before it begins,
//! and how changes of a copy meet those made here.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use weir_core::governance::label::{Label, of_result};
use weir_core::tool::{EffectClass, RawResult, SpawnEffect};
use weir_engine::ports::{AgentTask, CopiedFile, Divergence, SubAgents, ToolContext};

use super::world::{World, block_on};

/// Agents that left these changes, and whose words went into them.
struct Left(Vec<Divergence>, Label);

#[async_trait]
impl SubAgents for Left {
    async fn plan_spawn(&self, task: &AgentTask) -> Result<SpawnEffect, String> {
        match task.profile.as_deref() {
            Some("nobody") => Err("there is no profile nobody".into()),
            profile => Ok(SpawnEffect {
                profile: profile.unwrap_or("agent").into(),
                writes: true,
                worktree: task.worktree,
            }),
        }
    }
    async fn run(&self, task: AgentTask, _: &ToolContext) -> RawResult {
        RawResult::ok(format!("did {}", task.task))
    }
    async fn worktree_changes(&self, agent: &str) -> Result<Vec<Divergence>, String> {
        match agent {
            "s1_c1" => Ok(self.0.clone()),
            _ => Err(format!("there is no agent {agent}")),
        }
    }
    async fn worktree_label(&self, _: &str) -> Result<Label, String> {
        Ok(self.1.clone())
    }
    async fn discard_worktree(&self, _: &str) {}
}

fn world(left: &[(&str, Option<&str>, Option<&str>)]) -> World {
    let copied = |text: &Option<&str>| {
        text.map(|text| CopiedFile { bytes: text.into(), is_executable: false })
    };
    let each = left.iter().map(|(path, base, theirs)| Divergence {
        path: (*path).into(),
        base: copied(base),
        theirs: copied(theirs),
        obstacle: None,
    });
    let mut world = World::new();
    world.cx.agents = Arc::new(Left(each.collect(), Label::default()));
    world
}

#[test]
fn z1_what_an_agent_wrote_from_foreign_words_is_foreign_when_it_is_merged() {
    for (label, is_external) in [(Label::external("news.example"), true), (Label::default(), false)]
    {
        let mut world = World::new();
        let theirs = Some(CopiedFile { bytes: b"one\n".to_vec(), is_executable: false });
        let left = Divergence { path: "a.txt".into(), base: None, theirs, obstacle: None };
        world.cx.agents = Arc::new(Left(vec![left], label));
        let plan = block_on(world.plan("merge_agent", json!({"agent": "s1_c1"})));
        assert_eq!((plan.fails, plan.effects.changes.len()), (None, 1));
        // What the session marks, and how it labels the result, follow from this.
        assert_eq!(of_result(&plan.effects).is_external(), is_external);
    }
}

#[test]
fn m6_starting_an_agent_declares_it_and_is_keyed() {
    let world = world(&[]);
    let plan =
        block_on(world.plan("new_task", json!({"task": "look\naround", "profile": " code "})));
    let spawn = plan.effects.spawns.expect("it starts one");
    assert_eq!((spawn.profile.as_str(), spawn.worktree), ("code", false));
    assert_eq!((plan.class, plan.fails), (EffectClass::Keyed, None));
    assert_eq!(plan.summary, "Start the agent code: look around");
    let plan = block_on(world.plan("new_task", json!({"task": "x", "worktree": true})));
    assert!(plan.effects.spawns.is_some_and(|spawn| spawn.worktree && spawn.profile == "agent"));
}

#[test]
fn m6_what_cannot_be_started_is_said_before() {
    let world = world(&[]);
    let long = "x".repeat(20_001);
    for (input, words) in [
        (json!({"task": "  "}), "1 to 20000"),
        (json!({"task": long}), "1 to 20000"),
        (json!({"task": "x", "profile": "nobody"}), "no profile"),
        (json!({"task": "x", "depth": 0}), "unknown field"),
    ] {
        let plan = block_on(world.plan("new_task", input));
        assert!(plan.fails.as_deref().is_some_and(|why| why.contains(words)), "{:?}", plan.fails);
        assert!(plan.effects.spawns.is_none());
    }
}

/// `(what stands here, base, theirs, what comes out)`
#[test]
fn m6_changes_of_a_copy_meet_those_made_here() {
    let lines = "one\ntwo\nthree\nfour\nfive\n";
    let (here, theirs) = ("one\ntwo\nthree\nfour\nFIVE\n", "ONE\ntwo\nthree\nfour\nfive\n");
    for (now, base, theirs, expected) in [
        (Some(lines), Some(lines), Some(theirs), Ok(Some(theirs))),
        (Some(here), Some(lines), Some(theirs), Ok(Some("ONE\ntwo\nthree\nfour\nFIVE\n"))),
        (Some(lines), Some(lines), None, Ok(None)),
        (None, None, Some("new\n"), Ok(Some("new\n"))),
        (Some("mine\n"), None, Some("new\n"), Err("in the same place")),
        (Some("uno\n"), Some("one\n"), Some("eins\n"), Err("in the same place")),
        (Some(here), Some(lines), None, Err("in the same place")),
        (None, Some(lines), Some(theirs), Err("in the same place")),
        (Some(theirs), Some(lines), Some(theirs), Err("nothing to do")),
    ] {
        let world = world(&[("a.txt", base, theirs)]);
        if let Some(now) = now {
            world.write("a.txt", now.as_bytes());
        }
        let plan = block_on(world.plan("merge_agent", json!({"agent": "s1_c1"})));
        match expected {
            Ok(after) => {
                assert_eq!(plan.fails, None);
                let made = plan.contents.get("a.txt").map(|bytes| bytes.to_vec());
                assert_eq!(made, after.map(|text| text.as_bytes().to_vec()));
                assert_eq!((plan.class, plan.effects.changes.len()), (EffectClass::File, 1));
                assert!(plan.diff.is_some_and(|diff| diff.contains("a.txt")));
            }
            Err(words) => {
                let why = plan.fails.expect("it is refused");
                assert!(why.contains(words), "{why}");
                assert!(plan.effects.changes.is_empty());
            }
        }
    }
}

#[test]
fn m6_one_conflict_keeps_every_file_as_it_is() {
    let world = world(&[
        ("a.txt", Some("one\n"), Some("eins\n")),
        ("b.txt", Some("two\n"), Some("zwei\n")),
    ]);
    world.write("a.txt", b"uno\n");
    world.write("b.txt", b"two\n");
    let plan = block_on(world.plan("merge_agent", json!({"agent": "s1_c1"})));
    assert!(plan.fails.is_some_and(|why| why.contains("a.txt")) && plan.effects.changes.is_empty());
    let plan = block_on(world.plan("merge_agent", json!({"agent": "another"})));
    assert!(plan.fails.is_some_and(|why| why.contains("no agent")));
}
