//! What stands in a workspace before a command, kept so that it can be compared with what stands
//! there after (G7). Blocks. Not here: when that is done, and what becomes of the difference.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_core::ids::{CallId, CheckpointId, Timestamp};

use super::branches::RepositoryRefs;
use super::compare::{PresentEntry, WorkspaceDelta};
use super::history::{self, CommandGitHistory};
use crate::ports::{Baseline, ContentLocation, FileContent};
use crate::workspace::Workspace;
use crate::workspace::governed::GovernedPaths;
use crate::workspace::look::SurveyResult;
use crate::workspace::survey::{
    ClosedReason, KnownCheck, MetEntry, SurveySize, SurveyedFileStamp, SurveyedKind, file_time,
    stamp_of,
};
use crate::workspace::watch::FolderWatch;

/// How much is kept. What is beyond is left out, and said to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BaselineBounds {
    /// Entries that are looked at: each costs a few microseconds per command.
    pub(crate) entries: usize,
    /// Files whose content is kept.
    pub(crate) files: usize,
    /// Their bytes: they are copied once per session, and again when they change.
    pub(crate) bytes: u64,
    /// Bytes of one file.
    pub(crate) file: u64,
    /// Entries from which on folders are watched: fewer are looked at faster, and watches are few on a
    /// machine.
    pub(crate) watched: usize,
}

/// The bounds that hold.
pub(crate) const BOUNDS: BaselineBounds = BaselineBounds {
    entries: 100_000,
    files: 20_000,
    bytes: 256 << 20,
    file: 32 << 20,
    watched: 2_000,
};

/// So many times the allowed bytes may lie there, most of them outdated, before all is kept anew.
const OUTDATED_FACTOR: u64 = 2;

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BaselineEntry {
    Folder,
    Link(String),
    File {
        stamp: SurveyedFileStamp,
        /// The stamp alone does not tell whether it changed.
        racy: bool,
        content: Result<ContentLocation, ClosedReason>,
    },
}

/// Whether what is held of something tells that nothing of it changed.
pub(super) fn is_same(held: Option<&BaselineEntry>, now: &SurveyedKind) -> bool {
    match (held, now) {
        (Some(BaselineEntry::Folder), SurveyedKind::Folder) => true,
        (Some(BaselineEntry::Link(before)), SurveyedKind::Link(now)) => before == now,
        (Some(BaselineEntry::File { stamp, racy: false, .. }), SurveyedKind::File(now)) => {
            stamp == now
        }
        (Some(_) | None, _) => false,
    }
}

/// The same, and its content is held as far as it ever is.
fn is_as_held(held: Option<&BaselineEntry>, now: &SurveyedKind) -> bool {
    let left_out =
        matches!(held, Some(BaselineEntry::File { content: Err(ClosedReason::TooMany), .. }));
    !left_out && is_same(held, now)
}

/// Whether what follows the path of a folder is something in it, and not below that.
fn is_in_folder(rest: &str) -> bool {
    // At the top a file that is called like the home is shown so.
    !rest.contains('/') || rest == "./~"
}

/// A command that runs, or is about to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandOpening {
    /// The name that was announced for what it will turn out to change.
    pub(crate) id: CheckpointId,
    pub(crate) run: String,
    pub(crate) call: CallId,
    pub(crate) ts: Timestamp,
    pub(crate) label: String,
    /// When everything had been looked at, by the clock of the files.
    pub(crate) at: i64,
    /// Foreign words stood in the context.
    #[serde(default)]
    pub(crate) foreign: bool,
    /// It can read what is marked, and so write foreign words elsewhere.
    #[serde(default)]
    pub(crate) carries: bool,
    /// A person let exactly this command leave the sandbox: what it makes, the person wanted.
    #[serde(default)]
    pub(crate) approved: bool,
    /// It can store something in the history of git.
    #[serde(default)]
    pub(crate) stores: bool,
    /// The governed paths that were there before, by their names (A1, A5). `None`: nobody looked.
    #[serde(default)]
    pub(crate) governed: Option<Vec<String>>,
    /// What history had of what later runs or instructs (A6). `None`: nobody looked.
    #[serde(default)]
    pub(super) history: Option<CommandGitHistory>,
    /// Where the names of git led, where its line may move them. `None`: nobody looked.
    #[serde(default)]
    pub(super) names: Option<Vec<RepositoryRefs>>,
}

impl CommandOpening {
    /// Of a command of the model's in a context without foreign words, before anything was looked at.
    pub(super) fn new(
        id: CheckpointId,
        run: String,
        call: CallId,
        ts: Timestamp,
    ) -> CommandOpening {
        CommandOpening {
            id,
            run,
            call,
            ts,
            label: String::new(),
            at: 0,
            foreign: false,
            carries: false,
            approved: false,
            stores: false,
            governed: None,
            history: None,
            names: None,
        }
    }

    /// The same for what measures and tries: the first of its session.
    pub(super) fn first_of_session() -> CommandOpening {
        let opening =
            CommandOpening::new(CheckpointId::new("c"), "r1".into(), CallId(1), Timestamp(1));
        CommandOpening { label: "Run: it".into(), ..opening }
    }
}

impl CommandOpening {
    /// Whether what later runs or instructs, and what makes a repository, is taken back.
    pub(super) fn takes_back(&self) -> bool {
        self.foreign && !self.approved
    }
}

/// A line of the notes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BaselineNote {
    Held(String, BaselineEntry),
    Gone(String),
    Opened(Box<CommandOpening>),
    Closed,
}

/// A workspace as it was when it was last looked at.
pub(super) struct WorkspaceBaseline {
    store: Box<dyn Baseline>,
    bounds: BaselineBounds,
    pub(super) held: BTreeMap<String, BaselineEntry>,
    kept_files: usize,
    kept_bytes: u64,
    /// The walk did not come to its end, or left out what `.gitignore` names.
    pub(super) truncated: bool,
    gitignored: bool,
    /// What is held although a list of git's took it out of view since.
    unseen: BTreeSet<String>,
    /// The part of that of which nobody was told yet.
    left_view: BTreeSet<String>,
    /// Files whose names are not UTF-8: they are not kept.
    pub(super) unnamed: BTreeSet<PathBuf>,
    /// The index of git of which it was last known what it tracks.
    index: Option<SurveyedFileStamp>,
    /// The command that was announced and has not been compared.
    pub(super) opening: Option<CommandOpening>,
    /// Where something happened since the last look.
    pub(super) watch: FolderWatch,
    /// What history had.
    pub(super) history: Option<CommandGitHistory>,
    /// That was done by this process, so nothing can have changed before the command.
    pub(super) opened_here: bool,
}

impl WorkspaceBaseline {
    /// Takes up what is in `store`.
    pub(super) fn load(
        mut store: Box<dyn Baseline>,
        bounds: BaselineBounds,
    ) -> Result<WorkspaceBaseline, String> {
        let notes = store.read_notes().map_err(|e| e.to_string())?;
        let mut base = WorkspaceBaseline {
            store,
            bounds,
            held: BTreeMap::new(),
            kept_files: 0,
            kept_bytes: 0,
            truncated: false,
            gitignored: false,
            unseen: BTreeSet::new(),
            left_view: BTreeSet::new(),
            unnamed: BTreeSet::new(),
            index: None,
            opening: None,
            watch: FolderWatch::default(),
            history: None,
            opened_here: false,
        };
        let there = base.store.bytes();
        // A note may have reached the disk before the content that it speaks of.
        let found = |held: BaselineEntry| match held {
            BaselineEntry::File { stamp, content: Ok(piece), .. }
                if piece.at.saturating_add(piece.bytes) > there =>
            {
                BaselineEntry::File { stamp, racy: true, content: Err(ClosedReason::Unreadable) }
            }
            held => held,
        };
        for note in notes {
            match serde_json::from_str(&note) {
                Ok(BaselineNote::Held(path, held)) => base.set_entry(path, Some(found(held))),
                Ok(BaselineNote::Gone(path)) => base.set_entry(path, None),
                Ok(BaselineNote::Opened(opening)) => base.opening = Some(*opening),
                Ok(BaselineNote::Closed) => base.opening = None,
                // Of another version, or damaged: nothing here can be relied on.
                Err(_) => {
                    base.clear()?;
                    break;
                }
            }
        }
        Ok(base)
    }

    pub(super) fn remove(self) -> Result<(), String> {
        self.store.remove().map_err(|e| e.to_string())
    }

    fn clear(&mut self) -> Result<(), String> {
        self.store.clear().map_err(|e| e.to_string())?;
        self.held.clear();
        self.unseen.clear();
        self.index = None;
        (self.kept_files, self.kept_bytes, self.opening) = (0, 0, None);
        Ok(())
    }

    fn append_note(&mut self, line: &BaselineNote) -> Result<(), String> {
        let text = serde_json::to_string(line).map_err(|e| e.to_string())?;
        self.store.append_note(&text).map_err(|e| e.to_string())
    }

    fn set_entry(&mut self, path: String, held: Option<BaselineEntry>) {
        let kept = |held: &Option<BaselineEntry>| match held {
            Some(BaselineEntry::File { content: Ok(piece), .. }) => (1, piece.bytes),
            Some(BaselineEntry::File { .. } | BaselineEntry::Folder | BaselineEntry::Link(_))
            | None => (0, 0),
        };
        let (files, bytes) = kept(&held);
        let old = match held {
            Some(held) => self.held.insert(path, held),
            None => self.held.remove(&path),
        };
        let (old_files, old_bytes) = kept(&old);
        self.kept_files = self.kept_files + files - old_files;
        self.kept_bytes = self.kept_bytes + bytes - old_bytes;
    }

    /// Holds something new at `path`, or nothing.
    fn record_entry(&mut self, path: String, held: Option<BaselineEntry>) -> Result<(), String> {
        if self.held.get(&path) == held.as_ref() {
            return Ok(());
        }
        match &held {
            Some(held) => self.append_note(&BaselineNote::Held(path.clone(), held.clone()))?,
            None => self.append_note(&BaselineNote::Gone(path.clone()))?,
        }
        self.set_entry(path, held);
        Ok(())
    }

    /// Most of what lies there is not held any more.
    fn is_outdated(&self) -> bool {
        self.store.bytes() > self.bounds.bytes.saturating_mul(OUTDATED_FACTOR)
    }

    /// Looks at everything and keeps what is not kept yet.
    pub(super) fn refresh(&mut self, workspace: &Workspace) -> Result<(), String> {
        if self.is_outdated() {
            self.clear()?;
        }
        let mut looked = self.survey_workspace(workspace, is_as_held)?;
        self.look_at_tracked(workspace, &mut looked);
        self.unnamed = looked.unreadable_names();
        let others = self.take_differences(workspace, &mut looked)?;
        (self.truncated, self.gitignored) = (looked.unseen.truncated, looked.unseen.gitignored);
        let gone = self.missing_paths(&looked.known, &others);
        gone.into_iter().try_for_each(|path| self.record_entry(path, None))
    }

    /// Looks at what git tracks although its lists name it. Before a command only: what one adds to git
    /// was there before.
    fn look_at_tracked(&mut self, workspace: &Workspace, looked: &mut SurveyResult) {
        if !looked.unseen.gitignored || looked.unseen.truncated {
            return;
        }
        let mut tracked = workspace.newly_tracked(&mut self.index);
        let met: HashSet<&str> = looked.differing_paths().collect();
        tracked.retain(|path| !met.contains(path.as_str()) && !self.held.contains_key(path));
        let there = look_by_name(workspace, &tracked, &|_, _| false, looked);
        self.unseen.extend(there);
    }

    /// Looks at everything, and by its name at what is held and out of view. `is_known`: what is held
    /// is enough to know what is there.
    pub(super) fn survey_workspace(
        &mut self,
        workspace: &Workspace,
        is_known: fn(Option<&BaselineEntry>, &SurveyedKind) -> bool,
    ) -> Result<SurveyResult, String> {
        let (held, bounds) = (&self.held, self.bounds);
        let known = |path: &str, kind: &SurveyedKind| is_known(held.get(path), kind);
        self.watch.begin_look(held.len() >= bounds.watched);
        let size = SurveySize { expected: held.len(), entries_max: bounds.entries };
        let looked = workspace.survey_entries(size, &known, &self.watch);
        let mut looked = looked.map_err(|e| e.to_string())?;
        let before = std::mem::take(&mut self.unseen);
        // Where not all is looked at, what was not met may only be beyond the end.
        if !looked.unseen.truncated && !held.is_empty() {
            let missing = missing_paths(held, &looked.known, &looked.differing_paths().collect());
            self.unseen = look_by_name(workspace, &missing, &known, &mut looked);
        }
        self.left_view.extend(self.unseen.difference(&before).cloned());
        Ok(looked)
    }

    /// What left the view since this was asked before and is still held, the topmost of it.
    pub(super) fn take_left_view(&mut self) -> Vec<String> {
        let left = std::mem::take(&mut self.left_view);
        let is_topmost =
            |path: &&String| path.match_indices('/').all(|(at, _)| !left.contains(&path[..at]));
        left.iter().filter(is_topmost).cloned().collect()
    }

    /// Does what [`WorkspaceBaseline::refresh`] does where only people and Weir itself can have
    /// changed anything since the last look: only where the system says that something happened.
    pub(super) fn catch_up(&mut self, workspace: &Workspace) -> Result<(), String> {
        let changed = self.watch.changed_folders().filter(|_| !self.is_outdated());
        let Some(changed) = changed else { return self.refresh(workspace) };
        for folder in changed {
            let held = &self.held;
            let known = |path: &str, kind: &SurveyedKind| is_as_held(held.get(path), kind);
            let Some(mut looked) = workspace.survey_in(&folder, &known) else {
                return self.refresh(workspace);
            };
            self.unnamed.extend(looked.unreadable_names());
            let others = self.take_differences(workspace, &mut looked)?;
            let known: HashSet<&str> = looked.known.iter().map(String::as_str).collect();
            let is_met = |path: &str| {
                known.contains(path) || others.contains(path) || self.unseen.contains(path)
            };
            let below = workspace.prefix_of(&folder);
            let of_folder = self.held.range(below.clone()..);
            let of_folder = of_folder.map(|(path, _)| path);
            let of_folder = of_folder.take_while(|path| path.starts_with(&below));
            let gone: Vec<String> = of_folder
                .filter(|path| is_in_folder(&path[below.len()..]) && !is_met(path))
                .cloned()
                .collect();
            // A list may name it now, and what lies below it: that is for a look at everything.
            if gone.iter().any(|path| workspace.is_there(path)) {
                return self.refresh(workspace);
            }
            gone.into_iter().try_for_each(|path| self.record_entry(path, None))?;
        }
        self.unnamed.retain(|path| path.symlink_metadata().is_ok());
        self.catch_up_unseen(workspace)
    }

    /// The same of what is held and out of view: nothing tells of changes there.
    fn catch_up_unseen(&mut self, workspace: &Workspace) -> Result<(), String> {
        if self.unseen.is_empty() {
            return Ok(());
        }
        let (held, mut looked) = (&self.held, SurveyResult::default());
        let known = |path: &str, kind: &SurveyedKind| is_as_held(held.get(path), kind);
        let all: Vec<String> = std::mem::take(&mut self.unseen).into_iter().collect();
        let unseen = look_by_name(workspace, &all, &known, &mut looked);
        self.take_differences(workspace, &mut looked)?;
        let gone: Vec<String> = all.into_iter().filter(|path| !unseen.contains(path)).collect();
        gone.into_iter().try_for_each(|path| self.record_entry(path, None))?;
        self.unseen = unseen;
        Ok(())
    }

    /// Keeps what is not as it was held, and returns the paths.
    fn take_differences(
        &mut self,
        workspace: &Workspace,
        looked: &mut SurveyResult,
    ) -> Result<HashSet<String>, String> {
        let mut failed = None;
        let mut others = HashSet::new();
        workspace.meet_differing(looked, &mut |met| {
            if failed.is_none() {
                failed = self.record_met_entry(&met).err();
            }
            others.insert(met.path);
        });
        failed.map_or(Ok(others), Err)
    }

    /// What is held and was not met. `known`: met and as it is held; `others`: met beside that.
    pub(super) fn missing_paths(&self, known: &[String], others: &HashSet<String>) -> Vec<String> {
        missing_paths(&self.held, known, &others.iter().map(String::as_str).collect())
    }

    fn record_met_entry(&mut self, met: &MetEntry<'_>) -> Result<(), String> {
        let held = match &met.kind {
            SurveyedKind::Odd => None,
            SurveyedKind::Folder => Some(BaselineEntry::Folder),
            SurveyedKind::Link(target) => Some(BaselineEntry::Link(target.clone())),
            SurveyedKind::File(now) => Some(self.file_entry(met, *now)?),
        };
        self.record_entry(met.path.clone(), held)
    }

    /// A file with its content, as far as that is kept.
    fn file_entry(
        &mut self,
        met: &MetEntry<'_>,
        stamp: SurveyedFileStamp,
    ) -> Result<BaselineEntry, String> {
        let closed = |why| BaselineEntry::File { stamp, racy: false, content: Err(why) };
        if stamp.bytes > self.bounds.file {
            return Ok(closed(ClosedReason::TooLarge));
        }
        // What is held at this path makes room.
        let old = match self.held.get(&met.path) {
            Some(BaselineEntry::File { content: Ok(piece), .. }) => (1, piece.bytes),
            Some(BaselineEntry::File { .. } | BaselineEntry::Folder | BaselineEntry::Link(_))
            | None => (0, 0),
        };
        if self.kept_files - old.0 >= self.bounds.files
            || self.kept_bytes - old.1 + stamp.bytes > self.bounds.bytes
        {
            return Ok(closed(ClosedReason::TooMany));
        }
        let now = file_time();
        let (mut file, stamp) = match met.open_file() {
            Ok(opened) => opened,
            Err(why) => return Ok(closed(why)),
        };
        // It may grow while it is read.
        let mut bounded = std::io::Read::take(&mut file, self.bounds.file + 1);
        let piece = self.store.add_content(&mut bounded).map_err(|e| e.to_string())?;
        if piece.bytes > self.bounds.file {
            return Ok(closed(ClosedReason::TooLarge));
        }
        let racy = stamp.is_racy(now) || stamp_of(&file) != Some(stamp);
        Ok(BaselineEntry::File { stamp, racy, content: Ok(piece) })
    }

    /// Announces a command, durably.
    pub(super) fn open(&mut self, opening: CommandOpening) -> Result<(), String> {
        self.append_note(&BaselineNote::Opened(Box::new(opening.clone())))?;
        self.store.sync().map_err(|e| e.to_string())?;
        (self.opening, self.opened_here) = (Some(opening), true);
        Ok(())
    }

    /// What history has of what later runs or instructs.
    pub(super) fn look_at_history(
        &mut self,
        workspace: &Workspace,
        governed: &GovernedPaths,
    ) -> CommandGitHistory {
        let history = history::read_git_history(workspace, governed, self.history.as_ref());
        self.history = Some(history.clone());
        history
    }

    /// What was at `path`, with its content.
    pub(super) fn content_before(&mut self, path: &str) -> Result<FileContent, ClosedReason> {
        Ok(match self.held.get(path) {
            None => FileContent::Absent,
            Some(BaselineEntry::Folder) => FileContent::Folder,
            Some(BaselineEntry::Link(target)) => FileContent::Link { target: target.clone() },
            Some(BaselineEntry::File { stamp, content, .. }) => {
                let (piece, mode) = ((*content)?, stamp.mode);
                let bytes = self.store.read(piece).map_err(|_| ClosedReason::Unreadable)?;
                FileContent::File { bytes: Arc::from(bytes), mode }
            }
        })
    }

    pub(super) fn bounds(&self) -> BaselineBounds {
        self.bounds
    }

    /// Takes what a command left for what the next one finds. The command counts as compared.
    pub(super) fn accept_changes(&mut self, delta: WorkspaceDelta) -> Result<(), String> {
        for (path, now) in delta.now {
            let held = match now {
                PresentEntry::Gone => None,
                PresentEntry::Folder => Some(BaselineEntry::Folder),
                PresentEntry::Link(target) => Some(BaselineEntry::Link(target)),
                PresentEntry::Closed(stamp, why) => {
                    Some(BaselineEntry::File { stamp, racy: false, content: Err(why) })
                }
                PresentEntry::File(stamp, racy, bytes) => {
                    let piece =
                        self.store.add_content(&mut &bytes[..]).map_err(|e| e.to_string())?;
                    Some(BaselineEntry::File { stamp, racy, content: Ok(piece) })
                }
            };
            self.record_entry(path, held)?;
        }
        if self.opening.take().is_some() {
            self.append_note(&BaselineNote::Closed)?;
        }
        Ok(())
    }

    /// What is not kept, in words; `None` where everything is.
    pub(super) fn left_out(&self) -> Option<String> {
        let mut counts: BTreeMap<ClosedReason, usize> = BTreeMap::new();
        for held in self.held.values() {
            if let BaselineEntry::File { content: Err(why), .. } = held {
                *counts.entry(*why).or_default() += 1;
            }
        }
        let mut words: Vec<String> = Vec::new();
        if self.gitignored {
            words.push("what .gitignore names".into());
        }
        words.extend(counts.iter().map(|(why, n)| {
            let files = if *n == 1 { "file" } else { "files" };
            format!("{n} {files} {}", unkept_reason_text(*why, self.bounds))
        }));
        if !self.unnamed.is_empty() {
            words.push(format!("{} with names that are not UTF-8", self.unnamed.len()));
        }
        if self.truncated {
            words.push(format!("what comes after the first {} entries", self.bounds.entries));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

fn missing_paths(
    held: &BTreeMap<String, BaselineEntry>,
    known: &[String],
    others: &HashSet<&str>,
) -> Vec<String> {
    // Only what is held can be known.
    let others_held = others.iter().filter(|path| held.contains_key(**path)).count();
    if known.len() + others_held == held.len() {
        return Vec::new();
    }
    let met: HashSet<&str> = known.iter().map(String::as_str).collect();
    let is_met = |path: &&String| met.contains(path.as_str()) || others.contains(path.as_str());
    held.keys().filter(|path| !is_met(path)).cloned().collect()
}

/// Looks by their names at `paths`, which a walk did not meet, and returns those that are there.
fn look_by_name(
    workspace: &Workspace,
    paths: &[String],
    known: KnownCheck<'_>,
    looked: &mut SurveyResult,
) -> BTreeSet<String> {
    if paths.is_empty() {
        return BTreeSet::new();
    }
    let named = workspace.survey_named(paths, known);
    let there = named.known.iter().map(String::as_str).chain(named.differing_paths());
    let there = there.map(str::to_owned).collect();
    looked.join(named);
    there
}

/// Why files are not kept, in words that follow "files".
pub(super) fn unkept_reason_text(why: ClosedReason, bounds: BaselineBounds) -> String {
    match why {
        ClosedReason::TooLarge => format!("above {} MiB", bounds.file >> 20),
        ClosedReason::TooMany => {
            format!("beyond the first {} or {} MiB", bounds.files, bounds.bytes >> 20)
        }
        ClosedReason::Secret => "that may hold secrets".into(),
        ClosedReason::Unreadable => "that could not be read".into(),
    }
}
