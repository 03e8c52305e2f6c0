//! What stands in a workspace before a command, kept so that it can be compared with what stands
//! there after (G7). Blocks. Not here: when that is done, and what becomes of the difference.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_core::ids::{CallId, CheckpointId, Timestamp};

use super::branches::Names;
use super::compare::{Delta, Now};
use super::history::{self, History};
use crate::ports::{Baseline, Content, Piece};
use crate::workspace::Workspace;
use crate::workspace::governed::Governed;
use crate::workspace::look::Looked;
use crate::workspace::survey::{Closed, Kind, Met, Stamp, SurveySize, file_time, stamp_of};
use crate::workspace::watch::Watch;

/// How much is kept. What is beyond is left out, and said to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
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
pub(crate) const BOUNDS: Bounds =
    Bounds { entries: 100_000, files: 20_000, bytes: 256 << 20, file: 32 << 20, watched: 2_000 };

/// So many times the allowed bytes may lie there, most of them outdated, before all is kept anew.
const OUTDATED_FACTOR: u64 = 2;

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Held {
    Folder,
    Link(String),
    File {
        stamp: Stamp,
        /// The stamp alone does not tell whether it changed.
        racy: bool,
        content: Result<Piece, Closed>,
    },
}

/// Whether what is held of something tells that nothing of it changed.
pub(super) fn is_same(held: Option<&Held>, now: &Kind) -> bool {
    match (held, now) {
        (Some(Held::Folder), Kind::Folder) => true,
        (Some(Held::Link(before)), Kind::Link(now)) => before == now,
        (Some(Held::File { stamp, racy: false, .. }), Kind::File(now)) => stamp == now,
        (Some(_) | None, _) => false,
    }
}

/// The same, and its content is held as far as it ever is.
fn is_as_held(held: Option<&Held>, now: &Kind) -> bool {
    let left_out = matches!(held, Some(Held::File { content: Err(Closed::TooMany), .. }));
    !left_out && is_same(held, now)
}

/// Whether what follows the path of a folder is something in it, and not below that.
fn is_in_folder(rest: &str) -> bool {
    // At the top a file that is called like the home is shown so.
    !rest.contains('/') || rest == "./~"
}

/// A command that runs, or is about to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Opening {
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
    /// What there was of what is told by its name (A1, A5). `None`: nobody looked.
    #[serde(default)]
    pub(crate) governed: Option<Vec<String>>,
    /// What history had of what later runs or instructs (A6). `None`: nobody looked.
    #[serde(default)]
    pub(super) history: Option<History>,
    /// Where the names of git led, where its line may move them. `None`: nobody looked.
    #[serde(default)]
    pub(super) names: Option<Vec<Names>>,
}

impl Opening {
    /// Of a command of the model's in a context without foreign words, before anything was looked at.
    pub(super) fn new(id: CheckpointId, run: String, call: CallId, ts: Timestamp) -> Opening {
        Opening {
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
    pub(super) fn first() -> Opening {
        let opening = Opening::new(CheckpointId::new("c"), "r1".into(), CallId(1), Timestamp(1));
        Opening { label: "Run: it".into(), ..opening }
    }
}

impl Opening {
    /// Whether what later runs or instructs, and what makes a repository, is taken back.
    pub(super) fn takes_back(&self) -> bool {
        self.foreign && !self.approved
    }
}

/// A line of the notes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Held(String, Held),
    Gone(String),
    Opened(Box<Opening>),
    Closed,
}

/// A workspace as it was when it was last looked at.
pub(super) struct Base {
    store: Box<dyn Baseline>,
    bounds: Bounds,
    pub(super) held: BTreeMap<String, Held>,
    kept_files: usize,
    kept_bytes: u64,
    /// The walk did not come to its end, or left out what `.gitignore` names.
    pub(super) truncated: bool,
    gitignored: bool,
    /// The command that was announced and has not been compared.
    pub(super) opening: Option<Opening>,
    /// Where something happened since the last look.
    pub(super) watch: Watch,
    /// What history had.
    pub(super) history: Option<History>,
    /// That was done by this process, so nothing can have changed before the command.
    pub(super) opened_here: bool,
}

impl Base {
    /// Takes up what is in `store`.
    pub(super) fn load(mut store: Box<dyn Baseline>, bounds: Bounds) -> Result<Base, String> {
        let notes = store.notes().map_err(|e| e.to_string())?;
        let mut base = Base {
            store,
            bounds,
            held: BTreeMap::new(),
            kept_files: 0,
            kept_bytes: 0,
            truncated: false,
            gitignored: false,
            opening: None,
            watch: Watch::default(),
            history: None,
            opened_here: false,
        };
        let there = base.store.bytes();
        // A note may have reached the disk before the content that it speaks of.
        let found = |held: Held| match held {
            Held::File { stamp, content: Ok(piece), .. }
                if piece.at.saturating_add(piece.bytes) > there =>
            {
                Held::File { stamp, racy: true, content: Err(Closed::Unreadable) }
            }
            held => held,
        };
        for note in notes {
            match serde_json::from_str(&note) {
                Ok(Line::Held(path, held)) => base.put(path, Some(found(held))),
                Ok(Line::Gone(path)) => base.put(path, None),
                Ok(Line::Opened(opening)) => base.opening = Some(*opening),
                Ok(Line::Closed) => base.opening = None,
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
        (self.kept_files, self.kept_bytes, self.opening) = (0, 0, None);
        Ok(())
    }

    fn note(&mut self, line: &Line) -> Result<(), String> {
        let text = serde_json::to_string(line).map_err(|e| e.to_string())?;
        self.store.note(&text).map_err(|e| e.to_string())
    }

    fn put(&mut self, path: String, held: Option<Held>) {
        let kept = |held: &Option<Held>| match held {
            Some(Held::File { content: Ok(piece), .. }) => (1, piece.bytes),
            Some(Held::File { .. } | Held::Folder | Held::Link(_)) | None => (0, 0),
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
    fn hold(&mut self, path: String, held: Option<Held>) -> Result<(), String> {
        if self.held.get(&path) == held.as_ref() {
            return Ok(());
        }
        match &held {
            Some(held) => self.note(&Line::Held(path.clone(), held.clone()))?,
            None => self.note(&Line::Gone(path.clone()))?,
        }
        self.put(path, held);
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
        let mut looked = self.look(workspace, is_as_held)?;
        let others = self.take(workspace, &mut looked)?;
        (self.truncated, self.gitignored) = (looked.unseen.truncated, looked.unseen.gitignored);
        let gone = self.missing(&looked.known, &others);
        gone.into_iter().try_for_each(|path| self.hold(path, None))
    }

    /// Looks at everything. `is_known`: what is held is enough to know what is there.
    pub(super) fn look(
        &self,
        workspace: &Workspace,
        is_known: fn(Option<&Held>, &Kind) -> bool,
    ) -> Result<Looked, String> {
        let (held, bounds) = (&self.held, self.bounds);
        let known = |path: &str, kind: &Kind| is_known(held.get(path), kind);
        self.watch.begin(held.len() >= bounds.watched);
        let size = SurveySize { expected: held.len(), entries_max: bounds.entries };
        let looked = workspace.survey(size, &known, &self.watch);
        looked.map_err(|e| e.to_string())
    }

    /// Does what [`Base::refresh`] does where only people and Weir itself can have changed anything since
    /// the last look: only where the system says that something happened.
    pub(super) fn catch_up(&mut self, workspace: &Workspace) -> Result<(), String> {
        let changed = self.watch.changed().filter(|_| !self.is_outdated());
        let Some(changed) = changed else { return self.refresh(workspace) };
        for folder in changed {
            let held = &self.held;
            let known = |path: &str, kind: &Kind| is_as_held(held.get(path), kind);
            let Some(mut looked) = workspace.survey_in(&folder, &known) else {
                return self.refresh(workspace);
            };
            let others = self.take(workspace, &mut looked)?;
            let known: HashSet<&str> = looked.known.iter().map(String::as_str).collect();
            let is_met = |path: &str| known.contains(path) || others.contains(path);
            let below = workspace.prefix_of(&folder);
            let of_folder = self.held.range(below.clone()..);
            let of_folder = of_folder.map(|(path, _)| path);
            let of_folder = of_folder.take_while(|path| path.starts_with(&below));
            let gone: Vec<String> = of_folder
                .filter(|path| is_in_folder(&path[below.len()..]) && !is_met(path))
                .cloned()
                .collect();
            gone.into_iter().try_for_each(|path| self.hold(path, None))?;
        }
        Ok(())
    }

    /// Keeps what is not as it was held, and returns the paths.
    fn take(
        &mut self,
        workspace: &Workspace,
        looked: &mut Looked,
    ) -> Result<HashSet<String>, String> {
        let mut failed = None;
        let mut others = HashSet::new();
        workspace.meet(looked, &mut |met| {
            if failed.is_none() {
                failed = self.meet(&met).err();
            }
            others.insert(met.path);
        });
        failed.map_or(Ok(others), Err)
    }

    /// What is held and was not met. `known`: met and as it is held; `others`: met beside that.
    pub(super) fn missing(&self, known: &[String], others: &HashSet<String>) -> Vec<String> {
        // Only what is held can be known.
        let others_held = others.iter().filter(|path| self.held.contains_key(*path)).count();
        if known.len() + others_held == self.held.len() {
            return Vec::new();
        }
        let met: HashSet<&str> = known.iter().map(String::as_str).collect();
        let is_met = |path: &&String| met.contains(path.as_str()) || others.contains(*path);
        self.held.keys().filter(|path| !is_met(path)).cloned().collect()
    }

    fn meet(&mut self, met: &Met<'_>) -> Result<(), String> {
        let held = match &met.kind {
            Kind::Odd => None,
            Kind::Folder => Some(Held::Folder),
            Kind::Link(target) => Some(Held::Link(target.clone())),
            Kind::File(now) => Some(self.file(met, *now)?),
        };
        self.hold(met.path.clone(), held)
    }

    /// A file with its content, as far as that is kept.
    fn file(&mut self, met: &Met<'_>, stamp: Stamp) -> Result<Held, String> {
        let closed = |why| Held::File { stamp, racy: false, content: Err(why) };
        if stamp.bytes > self.bounds.file {
            return Ok(closed(Closed::TooLarge));
        }
        // What is held at this path makes room.
        let old = match self.held.get(&met.path) {
            Some(Held::File { content: Ok(piece), .. }) => (1, piece.bytes),
            Some(Held::File { .. } | Held::Folder | Held::Link(_)) | None => (0, 0),
        };
        if self.kept_files - old.0 >= self.bounds.files
            || self.kept_bytes - old.1 + stamp.bytes > self.bounds.bytes
        {
            return Ok(closed(Closed::TooMany));
        }
        let now = file_time();
        let (mut file, stamp) = match met.open() {
            Ok(opened) => opened,
            Err(why) => return Ok(closed(why)),
        };
        // It may grow while it is read.
        let mut bounded = std::io::Read::take(&mut file, self.bounds.file + 1);
        let piece = self.store.keep(&mut bounded).map_err(|e| e.to_string())?;
        if piece.bytes > self.bounds.file {
            return Ok(closed(Closed::TooLarge));
        }
        let racy = stamp.is_racy(now) || stamp_of(&file) != Some(stamp);
        Ok(Held::File { stamp, racy, content: Ok(piece) })
    }

    /// Announces a command, durably.
    pub(super) fn open(&mut self, opening: Opening) -> Result<(), String> {
        self.note(&Line::Opened(Box::new(opening.clone())))?;
        self.store.sync().map_err(|e| e.to_string())?;
        (self.opening, self.opened_here) = (Some(opening), true);
        Ok(())
    }

    /// What history has of what later runs or instructs.
    pub(super) fn look_at_history(
        &mut self,
        workspace: &Workspace,
        governed: &Governed,
    ) -> History {
        let history = history::look(workspace, governed, self.history.as_ref());
        self.history = Some(history.clone());
        history
    }

    /// What was at `path`, with its content.
    pub(super) fn content(&mut self, path: &str) -> Result<Content, Closed> {
        Ok(match self.held.get(path) {
            None => Content::Absent,
            Some(Held::Folder) => Content::Folder,
            Some(Held::Link(target)) => Content::Link { target: target.clone() },
            Some(Held::File { stamp, content, .. }) => {
                let (piece, mode) = ((*content)?, stamp.mode);
                let bytes = self.store.read(piece).map_err(|_| Closed::Unreadable)?;
                Content::File { bytes: Arc::from(bytes), mode }
            }
        })
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Takes what a command left for what the next one finds. The command counts as compared.
    pub(super) fn settle(&mut self, delta: Delta) -> Result<(), String> {
        for (path, now) in delta.now {
            let held = match now {
                Now::Gone => None,
                Now::Folder => Some(Held::Folder),
                Now::Link(target) => Some(Held::Link(target)),
                Now::Closed(stamp, why) => {
                    Some(Held::File { stamp, racy: false, content: Err(why) })
                }
                Now::File(stamp, racy, bytes) => {
                    let piece = self.store.keep(&mut &bytes[..]).map_err(|e| e.to_string())?;
                    Some(Held::File { stamp, racy, content: Ok(piece) })
                }
            };
            self.hold(path, held)?;
        }
        if self.opening.take().is_some() {
            self.note(&Line::Closed)?;
        }
        Ok(())
    }

    /// What is not kept, in words; `None` where everything is.
    pub(super) fn left_out(&self) -> Option<String> {
        let mut counts: BTreeMap<Closed, usize> = BTreeMap::new();
        for held in self.held.values() {
            if let Held::File { content: Err(why), .. } = held {
                *counts.entry(*why).or_default() += 1;
            }
        }
        let mut words: Vec<String> = Vec::new();
        if self.gitignored {
            words.push("what .gitignore names".into());
        }
        words.extend(counts.iter().map(|(why, n)| {
            let files = if *n == 1 { "file" } else { "files" };
            format!("{n} {files} {}", reason(*why, self.bounds))
        }));
        if self.truncated {
            words.push(format!("what comes after the first {} entries", self.bounds.entries));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// Why files are not kept, in words that follow "files".
pub(super) fn reason(why: Closed, bounds: Bounds) -> String {
    match why {
        Closed::TooLarge => format!("above {} MiB", bounds.file >> 20),
        Closed::TooMany => {
            format!("beyond the first {} or {} MiB", bounds.files, bounds.bytes >> 20)
        }
        Closed::Secret => "that may hold secrets".into(),
        Closed::Unreadable => "that could not be read".into(),
    }
}
