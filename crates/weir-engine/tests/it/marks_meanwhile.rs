//! What another session marks while a run is on counts at the next call, at the next step of a call, and for
//! a call that waited for a person (Z1); and what it costs to know (Q3). Not here: which marks count in a
//! folder (`marks`).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use weir_core::event::{Decision, Event};
use weir_core::governance::Permit;
use weir_core::governance::rules::RuleAction;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::profile::PermissionMode;
use weir_core::tool::{RawResult, ToolGroup, ToolSpec};
use weir_engine::embed::{AgentBuilder, EmbeddedAgent, StoreLayer};
use weir_engine::hub::SessionUpdate;
use weir_engine::ports::{CallPlan, FileMark, Store, StoreError, Tool, ToolContext};
use weir_scripted_model::ScriptedModel;
use weir_store::{MemoryCheckpoints, MemoryStore};
use weir_test_kit::TestFolder;

const READS: &str = "calls: read_file {\"path\": \"inbox.md\"}\n\n";
const COPIES: &str = "calls: write_file {\"path\": \"copied.md\", \"content\": \"x\"}\n\n";
const ENDS: &str = "says: Over.\n";

/// A store in which another session marks `inbox.md` so late that the questions before the `marked_from`th
/// know nothing of it.
struct MeanwhileStore {
    inner: MemoryStore,
    asked: AtomicUsize,
    marked_from: usize,
    /// The folders that it was asked for.
    places: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl StoreLayer for MeanwhileStore {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }
    async fn file_marks_in(&self, folders: &[String]) -> Result<Vec<FileMark>, StoreError> {
        self.places.lock().unwrap().extend(folders.iter().cloned());
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut marks = self.inner.file_marks_in(folders).await?;
        // Histories are asked for, too.
        let folders = folders.iter().filter(|folder| !folder.ends_with(".git"));
        marks.extend(folders.filter(|_| asked >= self.marked_from).map(|folder| FileMark {
            workspace: folder.clone(),
            path: "inbox.md".to_owned(),
            origin: "evil.example".to_owned(),
            session: SessionId::new("another"),
            ts: Timestamp(1),
        }));
        Ok(marks)
    }
}

fn store_marked_from(marked_from: usize) -> Arc<MeanwhileStore> {
    let (inner, asked) = (MemoryStore::new(), AtomicUsize::new(0));
    Arc::new(MeanwhileStore { inner, asked, marked_from, places: Mutex::default() })
}

fn builder_of(script: &str, store: &Arc<MeanwhileStore>, folder: &Path) -> AgentBuilder {
    let model = Arc::new(ScriptedModel::from_text(script).unwrap());
    AgentBuilder::new(model, store.clone(), folder)
        .with_tools(weir_tools::built_in_tools())
        .with_checkpoints(Arc::new(MemoryCheckpoints::new()))
        .with_permission(PermissionMode::AutoEdit)
}

/// Says yes to whatever is asked until the run is over, and does something before that.
async fn agree(agent: &EmbeddedAgent, before: impl Fn()) -> usize {
    let mut updates = agent.session().listen_to_updates(0);
    let mut agreed = 0;
    while let Some(update) = updates.next().await.unwrap() {
        let SessionUpdate::Fact(fact) = update else { continue };
        match fact.event.as_ref() {
            Event::ApprovalRequested(asked) => {
                before();
                let approval = asked.approval.clone();
                let decided =
                    agent.session().decide_approval(approval, Decision::Once, "ann", None);
                decided.await.unwrap();
                agreed += 1;
            }
            Event::RunFinished(_) => break,
            _ => (),
        }
    }
    agreed
}

/// How many questions were agreed to, and the files that are marked afterwards.
async fn play_run(
    builder: AgentBuilder,
    store: &MeanwhileStore,
    folder: &Path,
) -> (usize, Vec<String>) {
    play_run_with(builder, store, folder, || ()).await
}

async fn play_run_with(
    builder: AgentBuilder,
    store: &MeanwhileStore,
    folder: &Path,
    before: impl Fn(),
) -> (usize, Vec<String>) {
    let agent = builder.with_person("ann").open_session().await.unwrap();
    let (finished, agreed) =
        futures::future::join(agent.run_task("Copy the inbox."), agree(&agent, before)).await;
    finished.unwrap();
    agent.close_session().await.unwrap();
    let folder = folder.canonicalize().unwrap().display().to_string();
    let marks = store.inner.file_marks(&folder).await.unwrap();
    (agreed, marks.into_iter().map(|mark| mark.path).collect())
}

#[tokio::test]
async fn q3_a_call_asks_the_store_once_for_what_is_marked() {
    let mut asked = Vec::new();
    for reads in [1, 4] {
        let folder = TestFolder::with_files(&[(".git/HEAD", "x")]);
        let store = store_marked_from(usize::MAX);
        let mut script = String::new();
        for at in 0..reads {
            folder.write(&format!("{at}.md"), "x");
            script.push_str(&format!("calls: read_file {{\"path\": \"{at}.md\"}}\n\n"));
        }
        script.push_str(ENDS);
        play_run(builder_of(&script, &store, folder.path()), &store, folder.path()).await;
        asked.push(store.asked.load(Ordering::SeqCst));
    }
    assert_eq!(asked[1] - asked[0], 3, "one question for each call more: {asked:?}");
}

#[tokio::test]
async fn z1_what_is_marked_while_a_person_is_asked_is_foreign_when_the_call_runs() {
    // A run asks when it begins, before its call is judged, and once a person agreed.
    for (marked_from, expected) in [(3, vec!["copied.md".to_owned()]), (usize::MAX, Vec::new())] {
        let folder = TestFolder::with_files(&[("inbox.md", "x")]);
        let store = store_marked_from(marked_from);
        let builder = builder_of(&format!("{READS}{COPIES}{ENDS}"), &store, folder.path())
            .with_rule(RuleAction::Ask, "Read(inbox.md)");
        let (agreed, marked) = play_run(builder, &store, folder.path()).await;
        assert!(agreed >= 1, "the call waits");
        assert_eq!(marked, expected);
    }
}

#[tokio::test]
async fn z1_a_folder_that_becomes_a_work_tree_meanwhile_has_the_marks_of_its_history() {
    let folder = TestFolder::with_files(&[
        ("ws/inbox.md", "x"),
        ("p/.git/HEAD", "ref: refs/heads/main\n"),
        ("p/.git/worktrees/ws/commondir", "../..\n"),
    ]);
    let top = folder.path().canonicalize().unwrap();
    let (ws, history) = (top.join("ws"), top.join("p/.git").display().to_string());
    let store = store_marked_from(usize::MAX);
    let builder = builder_of(&format!("{READS}{ENDS}"), &store, &ws)
        .with_rule(RuleAction::Ask, "Read(inbox.md)");
    let asked_for_it = || store.places.lock().unwrap().contains(&history);
    let become_one = || {
        assert!(!asked_for_it(), "it is none yet");
        folder.write("ws/.git", &format!("gitdir: {history}/worktrees/ws\n"));
    };
    play_run_with(builder, &store, &ws, become_one).await;
    assert!(asked_for_it());
}

/// Reads the inbox by another tool.
struct ReadsByAnother(ToolSpec);

#[async_trait]
impl Tool for ReadsByAnother {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn has_nested_calls(&self) -> bool {
        true
    }
    async fn plan_call(&self, _: &Value, cx: &ToolContext) -> CallPlan {
        // A step must be within what its call declared.
        let input = json!({ "path": "inbox.md" });
        cx.nested.plan_nested_call("read_file", input, cx).await.expect("it can be planned")
    }
    async fn run(&self, permit: Permit, cx: &ToolContext) -> RawResult {
        cx.nested.call_tool(&permit, "read_file", json!({ "path": "inbox.md" }), cx).await
    }
}

#[tokio::test]
async fn z1_a_step_of_a_call_is_judged_by_what_is_marked_when_its_turn_comes() {
    for (marked_from, expected) in [(3, vec!["copied.md".to_owned()]), (usize::MAX, Vec::new())] {
        let folder = TestFolder::with_files(&[("inbox.md", "x")]);
        let store = store_marked_from(marked_from);
        let script = format!("calls: look_into {{}}\n\n{COPIES}{ENDS}");
        let nothing = json!({ "type": "object", "properties": {} });
        let spec = ToolSpec::new("look_into", "Reads the inbox.", ToolGroup::Read, nothing);
        let builder = builder_of(&script, &store, folder.path()).with_tool(ReadsByAnother(spec));
        let (_, marked) = play_run(builder, &store, folder.path()).await;
        assert_eq!(marked, expected);
    }
}
