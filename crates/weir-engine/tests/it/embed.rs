//! An embedded agent with defaults lets nothing happen unasked, and gates of one's own can only
//! narrow. Not here: what the engine's own gates say (`weir-core`), and the examples.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use weir_core::event::{Event, RunFinished, RunStatus};
use weir_core::governance::rules::RuleAction;
use weir_core::governance::{GateName, Verdict};
use weir_core::profile::PermissionMode;
use weir_engine::embed::{AgentBuilder, EmbedError};
use weir_engine::ports::{OwnGate, OwnGateCall, OwnVerdict, Store, fact_of};
use weir_scripted_model::ScriptedModel;
use weir_store::{MemoryCheckpoints, MemoryStore};

/// Writes a file, then says that it is over.
const WRITES: &str = "calls: write_file {\"path\": \"a.txt\", \"content\": \"x\"}\n\nsays: Over.\n";

/// What a run came to, and which gate decided about each of its calls.
struct PlayedRun {
    finished: RunFinished,
    verdicts: Vec<(Verdict, Option<GateName>)>,
    written: bool,
    folder: TempDir,
}

fn builder_of(script: &str, store: &Arc<MemoryStore>, folder: &Path) -> AgentBuilder {
    let model = Arc::new(ScriptedModel::from_text(script).unwrap());
    AgentBuilder::new(model, store.clone(), folder).with_tools(weir_tools::built_in_tools())
}

async fn play_run(change: impl FnOnce(AgentBuilder) -> AgentBuilder) -> PlayedRun {
    let (folder, store) = (TempDir::new().unwrap(), Arc::new(MemoryStore::new()));
    let builder = change(builder_of(WRITES, &store, folder.path()));
    let agent = builder.open_session().await.unwrap();
    let finished = agent.run_task("Write it.").await.unwrap();
    let session = agent.session().id().clone();
    agent.close_session().await.unwrap();
    let mut verdicts = Vec::new();
    for record in store.read_records(&session, 1, 1_000).await.unwrap() {
        if let Event::CallJudged(judged) = fact_of(&record).unwrap().event.as_ref() {
            verdicts.push((judged.verdict, judged.gate.clone()));
        }
    }
    let written = folder.path().join("a.txt").exists();
    PlayedRun { finished, verdicts, written, folder }
}

/// Says the same of every call that changes something.
struct FixedGate(OwnVerdict);

impl OwnGate for FixedGate {
    fn name(&self) -> &str {
        "fixed"
    }
    fn judge_call(&self, call: &OwnGateCall<'_>) -> OwnVerdict {
        match call.inspection.effects.changes_world() {
            true => self.0.clone(),
            false => OwnVerdict::Pass,
        }
    }
}

struct BrokenGate;

impl OwnGate for BrokenGate {
    fn name(&self) -> &str {
        "broken"
    }
    fn judge_call(&self, _: &OwnGateCall<'_>) -> OwnVerdict {
        panic!("a bug in a gate");
    }
}

fn kept(builder: AgentBuilder) -> AgentBuilder {
    builder.with_checkpoints(Arc::new(MemoryCheckpoints::new()))
}

#[tokio::test]
async fn f5_without_an_approver_nothing_is_changed() {
    let run = play_run(kept).await;
    assert_eq!((run.finished.status, run.written), (RunStatus::NeedsInput, false));
    assert_eq!(run.finished.denials.len(), 1);
    assert_eq!(run.verdicts, [(Verdict::Ask, Some(GateName::Rules))]);
}

#[tokio::test]
async fn f5_without_checkpoints_nothing_is_changed_in_any_mode() {
    let run = play_run(|builder| builder.with_permission(PermissionMode::Full)).await;
    assert_eq!(run.verdicts, [(Verdict::Allow, None)]);
    assert!(!run.written && run.finished.changed_files.is_empty());
}

#[tokio::test]
async fn f5_a_rule_or_a_mode_lets_a_change_pass_that_can_be_taken_back() {
    let by_mode = play_run(|builder| kept(builder).with_permission(PermissionMode::AutoEdit)).await;
    let by_rule =
        play_run(|builder| kept(builder).with_rule(RuleAction::Allow, "Edit(*.txt)")).await;
    for run in [by_mode, by_rule] {
        assert_eq!(run.verdicts, [(Verdict::Allow, None)], "{:?}", run.folder);
        assert!(run.written);
    }
}

#[tokio::test]
async fn f5_own_gates_narrow_and_never_widen() {
    for (says, verdict) in [
        (OwnVerdict::Deny("no".into()), Verdict::Deny),
        (OwnVerdict::Ask("ask me".into()), Verdict::Ask),
    ] {
        let run = play_run(|builder| {
            kept(builder).with_permission(PermissionMode::Full).with_gate(FixedGate(says))
        })
        .await;
        assert_eq!(run.verdicts, [(verdict, Some(GateName::Own))]);
        assert!(!run.written, "nobody could be asked");
    }
    let run = play_run(|builder| kept(builder).with_gate(FixedGate(OwnVerdict::Pass))).await;
    assert_eq!(run.verdicts, [(Verdict::Ask, Some(GateName::Rules))], "to pass is no yes");
    assert!(!run.written);
}

#[tokio::test]
async fn f5_a_gate_that_breaks_refuses() {
    let run = play_run(|builder| {
        kept(builder).with_permission(PermissionMode::Full).with_gate(BrokenGate)
    })
    .await;
    assert_eq!(run.verdicts, [(Verdict::Deny, Some(GateName::Own))]);
    assert!(!run.written);
}

#[tokio::test]
async fn f5_what_cannot_be_used_is_told_when_the_agent_is_opened() {
    let (folder, store) = (TempDir::new().unwrap(), Arc::new(MemoryStore::new()));
    let missing = folder.path().join("missing");
    let opened = builder_of(WRITES, &store, &missing).open_session().await;
    assert!(matches!(opened.err(), Some(EmbedError::Workspace(_))));
    let ruled = builder_of(WRITES, &store, folder.path()).with_rule(RuleAction::Deny, "Shell(");
    assert!(matches!(ruled.open_session().await.err(), Some(EmbedError::Rule(_))));
    let doubled =
        builder_of(WRITES, &store, folder.path()).with_tools(weir_tools::built_in_tools());
    assert!(matches!(doubled.open_session().await.err(), Some(EmbedError::Tools(_))));
}
