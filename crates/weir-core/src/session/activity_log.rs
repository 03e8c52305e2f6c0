//! What happened in a session, kept short: files, failures, calls, processes. It is what condensing
//! tells without asking any model, so no summary can leave it out (X2). Bounded, however long the
//! session.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::event::CallFinished;
use crate::ids::CallId;
use crate::tool::{PathAccess, ResultEffect};

use super::CallState;

mod touched_files;

pub(super) use touched_files::{FileTouch, FileTouchKind, TouchedFiles};

/// Calls that are told one by one.
const OUTCOMES_MAX: usize = 60;
/// Failures that are told.
const FAILURES_MAX: usize = 20;
/// Characters of one line.
const LINE_MAX: usize = 160;

/// What happened so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ActivityLog {
    pub(super) files: TouchedFiles,
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
            self.files.touch_file(&path.path, what, f.call);
        }
        for path in &f.changed {
            if self.files.last_call(path) != Some(f.call) {
                self.files.touch_file(path, FileTouchKind::Changed, f.call);
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
