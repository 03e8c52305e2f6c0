//! What happened in a session, kept short: files, failures, calls, processes. It is what condensing
//! tells without asking any model, so no summary can leave it out (X2). Bounded, however long the
//! session.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::event::CallFinished;
use crate::ids::CallId;
use crate::tool::{PathAccess, ResultEffect};

use super::CallState;

/// Files that are remembered; the ones that were touched longest ago go first.
const FILES_MAX: usize = 300;
/// Calls that are told one by one.
const OUTCOMES_MAX: usize = 60;
/// Failures that are told.
const FAILURES_MAX: usize = 20;
/// Characters of one line.
const LINE_MAX: usize = 160;

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileTouch {
    pub(super) what: FileTouchKind,
    pub(super) call: CallId,
}

/// What was done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FileTouchKind {
    Read,
    Changed,
    Created,
    MovedAway,
    MovedHere,
    Deleted,
}

impl FileTouchKind {
    /// Nothing of it is another than before.
    pub(super) fn is_read(self) -> bool {
        self == FileTouchKind::Read
    }

    /// The words that condensing tells it by.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            FileTouchKind::Read => "read",
            FileTouchKind::Changed => "changed",
            FileTouchKind::Created => "created",
            FileTouchKind::MovedAway => "moved away",
            FileTouchKind::MovedHere => "moved here",
            FileTouchKind::Deleted => "deleted",
        }
    }
}

/// What happened so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ActivityLog {
    pub(super) files: BTreeMap<String, FileTouch>,
    pub(super) outcomes: VecDeque<String>,
    pub(super) failures: VecDeque<String>,
    /// Background jobs that may run: the call that started each, and its command, by its name.
    pub(super) jobs: BTreeMap<String, (CallId, String)>,
    pub(super) calls: u64,
}

impl ActivityLog {
    pub(super) fn record_call(&mut self, f: &CallFinished, call: Option<&CallState>) {
        self.calls += 1;
        let inspection = call.and_then(|call| call.inspection.as_deref());
        // What a call says of itself may quote the foreign words that it carries, and this is told in a
        // context that never had them.
        let own = inspection.filter(|_| call.is_none_or(|call| call.written.is_none()));
        let about = own.map_or(f.tool.as_str(), |found| found.summary.as_str());
        let how = if f.ok { "ok" } else { "failed" };
        let line = shorten_line(format!("{} {}: {about}: {how}: {}", f.call, f.tool, f.summary));
        if !f.ok {
            push(&mut self.failures, line.clone(), FAILURES_MAX);
        }
        push(&mut self.outcomes, line, OUTCOMES_MAX);
        let Some(inspection) = inspection.filter(|_| f.ok) else { return };
        for path in &inspection.effects.paths {
            let what = match path.access {
                PathAccess::Read => FileTouchKind::Read,
                PathAccess::List => continue,
                PathAccess::Write => FileTouchKind::Changed,
                PathAccess::Create => FileTouchKind::Created,
                PathAccess::MoveFrom => FileTouchKind::MovedAway,
                PathAccess::MoveTo => FileTouchKind::MovedHere,
                PathAccess::Delete => FileTouchKind::Deleted,
            };
            self.touch_file(&path.path, what, f.call);
        }
        for path in &f.changed {
            let known = self.files.get(path).is_some_and(|touch| touch.call == f.call);
            if !known {
                self.touch_file(path, FileTouchKind::Changed, f.call);
            }
        }
        let started = inspection.effects.commands.iter().find(|command| command.background);
        for news in &f.news {
            match (news, started) {
                (ResultEffect::Job { job, running: true }, Some(command)) => {
                    self.jobs.insert(job.clone(), (f.call, shorten_line(command.command.clone())));
                }
                (ResultEffect::Job { job, running: false }, _) => {
                    self.jobs.remove(job);
                }
                _ => (),
            }
        }
    }

    fn touch_file(&mut self, path: &str, what: FileTouchKind, call: CallId) {
        // What was changed stays told as changed, also when it is read again.
        let keeps = what.is_read() && self.files.get(path).is_some_and(|old| !old.what.is_read());
        if !keeps {
            self.files.insert(path.to_string(), FileTouch { what, call });
        }
        while self.files.len() > FILES_MAX {
            let oldest = self.files.iter().min_by_key(|(_, touch)| {
                let read_first = !touch.what.is_read();
                (read_first, touch.call)
            });
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else { return };
            self.files.remove(&oldest);
        }
    }
}

fn push(lines: &mut VecDeque<String>, line: String, max: usize) {
    lines.push_back(line);
    while lines.len() > max {
        lines.pop_front();
    }
}

fn shorten_line(text: String) -> String {
    let is_short = text.len() <= LINE_MAX;
    if is_short && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return text;
    }
    let flat: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if flat.chars().count() <= LINE_MAX {
        return flat;
    }
    let mut cut: String = flat.chars().take(LINE_MAX - 1).collect();
    cut.push('…');
    cut
}
