//! What became of a call that had started when the program ended (D4).

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::input::Answer;
use weir_core::session::{Call, SessionConfig};
use weir_core::tool::{Access, Change, EffectClass, Effects, Image, Inspection, Raw};

use crate::commands::Ended;
use crate::ports::{CheckpointFilter, CommandEnd, CommandOutcome, CommandTrace, Content};
use crate::workers::{Desk, Outcome};
use crate::workspace::Workspace;

/// What the disk says about a set of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Disk {
    /// Every path is as it will be after.
    After,
    /// Every path is as it was before.
    Before,
    /// Some are, some are not yet: these are left.
    Partly(Vec<Change>),
    /// This path is neither.
    Neither(String),
}

impl Desk {
    /// Finds out, by the call's class.
    pub(crate) async fn reconcile(self, call: Call, config: Arc<SessionConfig>) -> Outcome {
        let id = call.id;
        let class = call.inspection.as_ref().map_or(EffectClass::Once, |i| i.class);
        let found = match class {
            EffectClass::Read => Found::NotRun("it only reads".into()),
            EffectClass::File => self.reconcile_files(&call).await,
            EffectClass::Process => self.reconcile_process(&call).await,
            EffectClass::Keyed => {
                Found::NotRun("it may have happened, and repeating it does nothing twice".into())
            }
            // The classes of tools that do not exist yet: nothing can be told about them.
            EffectClass::Queryable | EffectClass::Once => {
                Found::Lost("the program ended while it ran, and it cannot be asked".into())
            }
        };
        match found {
            Found::NotRun(evidence) => Outcome::Answer(Answer::NotRun { call: id, evidence }),
            Found::Lost(reason) => Outcome::Answer(Answer::Lost { call: id, reason }),
            Found::Result(raw) => self.returned(&call, &config, raw).await,
        }
    }

    async fn reconcile_files(&self, call: &Call) -> Found {
        let Some(inspection) = call.inspection.clone() else {
            return Found::Lost("what it would change was not recorded".into());
        };
        let changes = inspection.effects.changes.clone();
        let workspace = self.workspace.clone();
        let look = move || {
            workspace.sweep(&changes);
            disk(&workspace, &changes)
        };
        let state = match tokio::task::spawn_blocking(look).await {
            Ok(Ok(state)) => state,
            Ok(Err(why)) => return Found::Lost(why),
            Err(_) => return Found::Lost("the files could not be looked at".into()),
        };
        match state {
            Disk::Before => Found::NotRun("the files are as they were before it".into()),
            Disk::After => Found::Result(self.confirmed(&inspection.effects.changes)),
            Disk::Neither(path) => {
                Found::Lost(format!("{path} is neither as it was before nor as it would be after"))
            }
            Disk::Partly(left) => match self.roll_forward(call, left).await {
                Ok(()) => Found::Result(self.confirmed(&inspection.effects.changes)),
                Err(why) => Found::Lost(format!("it was done in part and not completed: {why}")),
            },
        }
    }

    fn confirmed(&self, changes: &[Change]) -> Raw {
        let paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
        let text = format!(
            "Done. The program was restarted meanwhile; that the change was made was confirmed on \
             the disk: {}.",
            paths.join(", ")
        );
        Raw { changed: paths, ..Raw::ok(text) }
    }

    /// Makes the changes that are left, from the contents that the checkpoint kept.
    async fn roll_forward(&self, call: &Call, left: Vec<Change>) -> Result<(), String> {
        let root = self.workspace.root().to_path_buf();
        let filter = CheckpointFilter { session: Some(self.session.clone()), limit: None };
        let listed =
            self.parts.checkpoints.list(&root, &filter).await.map_err(|e| e.to_string())?;
        let info = listed.into_iter().find(|info| info.call == Some(call.id));
        let info = info.ok_or("its checkpoint is missing")?;
        let loaded = self.parts.checkpoints.load(&root, info.id.as_str()).await;
        let (_, entries) = loaded.map_err(|e| e.to_string())?;
        let mut contents = BTreeMap::new();
        for entry in entries {
            if let Content::File { bytes, .. } = entry.after {
                contents.insert(entry.path, bytes);
            }
        }
        let workspace = self.workspace.clone();
        let apply = move || workspace.apply_changes(&left, &contents);
        let applied = tokio::task::spawn_blocking(apply).await;
        applied.map_err(|_| "writing failed".to_string())?.map_err(|e| e.to_string())?;
        Ok(())
    }

    async fn reconcile_process(&self, call: &Call) -> Found {
        match self.parts.processes.trace(&self.session, call.id).await {
            CommandTrace::NeverStarted => Found::NotRun("its supervisor never began".into()),
            CommandTrace::Ended(outcome) => {
                let after = Ended::After(outcome.duration_ms);
                Found::Result(self.settled(call, ended(&outcome), after).await)
            }
            CommandTrace::Unknown { why } => {
                // Nobody knows what it did, or when it ended: what is different can be taken back.
                self.settled(call, Raw::error(&why), Ended::Now).await;
                Found::Lost(why)
            }
        }
    }
}

enum Found {
    NotRun(String),
    Result(Raw),
    Lost(String),
}

/// What the model reads about a command that ended while the program was away.
fn ended(outcome: &CommandOutcome) -> Raw {
    let (ok, how) = match &outcome.end {
        CommandEnd::Exited { code } => (*code == 0, format!("it exited with {code}")),
        CommandEnd::Signaled { signal } => (false, format!("signal {signal} ended it")),
        CommandEnd::TimedOut => (false, "its time was over".into()),
        CommandEnd::Cancelled => (false, "it was cancelled".into()),
        CommandEnd::Orphaned => (
            false,
            "it was ended because the program went away; it ran in part, so verify what it did"
                .into(),
        ),
        CommandEnd::NotStarted { why } => (false, format!("it could not be started: {why}")),
    };
    let text = format!(
        "The program was restarted while the command ran; {how} after {} ms.\n{}",
        outcome.duration_ms, outcome.output
    );
    let raw = if ok { Raw::ok(text) } else { Raw::error(text) };
    Raw { full_bytes: Some(outcome.bytes), ..raw }
}

fn disk(workspace: &Workspace, changes: &[Change]) -> Result<Disk, String> {
    let mut left = Vec::new();
    for change in changes {
        let at = workspace.resolve(&change.path, Access::Delete);
        let image = workspace.image(&at).map_err(|error| error.to_string())?;
        if image == change.after {
            continue;
        }
        if image != change.before {
            return Ok(Disk::Neither(change.path.clone()));
        }
        left.push(change.clone());
    }
    Ok(match left.len() {
        0 => Disk::After,
        n if n == changes.len() => Disk::Before,
        _ => Disk::Partly(left),
    })
}

/// The content a change leaves, from the new bytes of files.
pub(crate) fn content_after(
    change: &Change,
    contents: &BTreeMap<String, Arc<[u8]>>,
) -> Option<Content> {
    Some(match &change.after {
        Image::Absent => Content::Absent,
        Image::Folder => Content::Folder,
        Image::Link { target } => Content::Link { target: target.clone() },
        Image::File { mode, .. } => {
            Content::File { bytes: contents.get(&change.path)?.clone(), mode: *mode }
        }
    })
}

/// What is assumed of a call about which nothing could be found out.
pub(crate) fn unknown_inspection(tool: &str) -> Inspection {
    Inspection {
        known: true,
        nearest: None,
        invalid: None,
        fails: None,
        effects: Effects { unknown: true, ..Effects::default() },
        class: EffectClass::Once,
        summary: format!("Call {tool}, whose effects are unknown"),
        diff: None,
        confirm: None,
        hooks: Vec::new(),
        judged: None,
    }
}
