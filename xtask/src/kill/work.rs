//! What a session is to do: a script for the model, the files it begins with, and for every call
//! the marks by which its effect is recognised. Not here: whether the effects came out right.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::random::Random;

/// What the model says at the end.
pub(super) const LAST_WORDS: &str = "The work is all-done.";

/// Where a mark is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In all files of the workspace together.
    Workspace,
    /// In the file outside it that only commands write.
    Witness,
}

/// A text that stands somewhere once when the call took effect.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) text: String,
    pub(super) place: Place,
    /// It stands there before the call; the effect takes it away.
    pub(super) removed: bool,
    /// A call that succeeded has made it, whatever happened then.
    pub(super) certain: bool,
}

/// What kind of call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    File,
    Command,
}

/// One call that the script makes.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    /// Stands in the call's arguments and nowhere else.
    pub(super) tag: String,
    pub(super) kind: Kind,
    pub(super) marks: Vec<Mark>,
    /// What is called, for a client that makes the calls itself.
    pub(super) tool: &'static str,
    pub(super) input: Value,
    /// Calls of one step are made together.
    pub(super) step: u64,
}

/// A session's work.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The model's file.
    pub(super) script: String,
    /// Files of the workspace before: path and text.
    pub(super) files: Vec<(String, String)>,
    pub(super) calls: Vec<Planned>,
    /// Replies in the script.
    pub(super) turns: u64,
}

/// What a session's work must have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Demand {
    /// Steps at least: whoever is hit often needs something to do each time.
    pub(super) steps_min: u64,
    /// Every call starts processes: where these are what is hit.
    pub(super) has_only_commands: bool,
}

/// One kind of call in the making.
type Maker = fn(&mut Draft<'_>, String) -> (&'static str, Value);

/// All kinds; commands stand more often, because they are the hardest to get right.
const MAKERS: &[Maker] =
    &[append, edit, patch, patch, write, moved, delete, command, command, command, long, job, read];

/// Those that start processes; what comes of a job is not waited for.
const COMMAND_MAKERS: &[Maker] = &[command, command, command, long, job];

struct Draft<'a> {
    work: Work,
    demand: Demand,
    random: &'a mut Random,
    witness: &'a Path,
    number: u64,
    step: u64,
    slots: String,
    pair: String,
}

/// Chooses the work of a session. Commands write to `witness`.
pub(super) fn choose(random: &mut Random, session: u64, witness: &Path) -> Work {
    choose_for(random, session, witness, Demand::default())
}

/// The same for a session of which something is demanded.
pub(super) fn choose_for(
    random: &mut Random,
    session: u64,
    witness: &Path,
    demand: Demand,
) -> Work {
    let steps = random.between(5, 14).max(demand.steps_min);
    let mut draft = Draft {
        work: Work::default(),
        demand,
        random,
        witness,
        number: 0,
        step: 0,
        slots: String::new(),
        pair: String::new(),
    };
    draft.work.files.push(("stable.txt".into(), "nothing changes this file\n".into()));
    for _ in 0..steps {
        draft.step(session);
    }
    let _ = writeln!(draft.work.script, "says: {LAST_WORDS}");
    draft.work.turns = steps + 1;
    let Draft { mut work, slots, pair, .. } = draft;
    work.files.push(("slots.txt".into(), format!("slots\n{slots}")));
    work.files.push(("pair-a.txt".into(), format!("pair a\n{pair}")));
    work.files.push(("pair-b.txt".into(), format!("pair b\n{pair}")));
    work
}

impl Draft<'_> {
    fn step(&mut self, session: u64) {
        self.step += 1;
        match self.random.below(4) {
            0 => self.work.script.push_str("says: A step.\npace: 2ms\n"),
            1 => {
                let wait = self.random.between(1, 8);
                let _ = writeln!(self.work.script, "delay: {wait}ms");
            }
            _ => {}
        }
        let Demand { has_only_commands, .. } = self.demand;
        let makers = if has_only_commands { COMMAND_MAKERS } else { MAKERS };
        let reads = self.random.below(8) == 0 && !has_only_commands;
        let calls = if reads { 3 } else { self.random.between(1, 2) };
        for _ in 0..calls {
            self.number += 1;
            let tag = format!("k{session}n{}z", self.number);
            let maker = if reads { read } else { self.random.one_of(makers) };
            let (tool, input) = maker(self, tag);
            let _ = writeln!(self.work.script, "calls: {tool} {input}");
            if let Some(planned) = self.work.calls.last_mut() {
                (planned.tool, planned.input) = (tool, input);
            }
        }
        self.work.script.push('\n');
    }

    fn plan(&mut self, tag: String, kind: Kind, marks: Vec<Mark>) {
        let (tool, input) = ("", Value::Null);
        self.work.calls.push(Planned { tag, kind, marks, tool, input, step: self.step });
    }
}

fn added(text: String, place: Place) -> Mark {
    Mark { text, place, removed: false, certain: true }
}

fn append(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let path = draft.random.one_of(&["log-a.txt", "log-b.txt"]);
    let line = format!("{tag} appended");
    let input = json!({"path": path, "content": format!("{line}\n")});
    draft.plan(tag, Kind::File, vec![added(line, Place::Workspace)]);
    ("append_to_file", input)
}

fn edit(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let (old, new) = (format!("slot {tag} is empty"), format!("slot {tag} is filled"));
    let _ = writeln!(draft.slots, "{old}");
    let input = json!({"path": "slots.txt", "old_text": old, "new_text": new});
    let before = Mark { removed: true, ..added(old, Place::Workspace) };
    draft.plan(tag, Kind::File, vec![before, added(new, Place::Workspace)]);
    ("edit_file", input)
}

fn patch(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let old = format!("pair {tag} as it was");
    let _ = writeln!(draft.pair, "{old}");
    let mut text = String::new();
    let mut marks = Vec::new();
    for name in ["pair-a", "pair-b"] {
        let new = format!("{name} {tag} changed");
        let _ =
            write!(text, "--- a/{name}.txt\n+++ b/{name}.txt\n@@ -1,1 +1,1 @@\n-{old}\n+{new}\n");
        marks.push(added(new, Place::Workspace));
    }
    draft.plan(tag, Kind::File, marks);
    ("apply_patch", json!({"patch": text}))
}

fn write(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let line = format!("{tag} written");
    let filler = "a line that makes the file longer\n".repeat(40);
    let input = json!({"path": format!("made/{tag}.txt"), "content": format!("{line}\n{filler}")});
    draft.plan(tag, Kind::File, vec![added(line, Place::Workspace)]);
    ("write_file", input)
}

fn moved(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let (from, to) = (format!("from/{tag}.txt"), format!("to/{tag}.txt"));
    draft.work.files.push((from.clone(), format!("{tag} travels\n")));
    // The paths are looked for as well as texts: the file is at one place, before and after.
    let marks = vec![
        Mark { removed: true, ..added(format!("path {from}"), Place::Workspace) },
        added(format!("path {to}"), Place::Workspace),
    ];
    draft.plan(tag, Kind::File, marks);
    ("move_file", json!({"from": from, "to": to}))
}

fn delete(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let path = format!("gone/{tag}.txt");
    draft.work.files.push((path.clone(), format!("{tag} goes\n")));
    let mark = Mark { removed: true, ..added(format!("{tag} goes"), Place::Workspace) };
    draft.plan(tag, Kind::File, vec![mark]);
    ("delete_file", json!({"path": path}))
}

fn command(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let witness = draft.witness.display();
    let (begin, end) = (format!("{tag} begins"), format!("{tag} ends"));
    let ms = draft.random.one_of(&[0, 0, 5, 20, 60]);
    let command = format!("echo {begin} >> {witness}; sleep 0.{ms:03}; echo {end} >> {witness}");
    draft.plan(tag, Kind::Command, vec![added(begin, Place::Witness), added(end, Place::Witness)]);
    ("run_shell", json!({"command": command, "writes": [witness.to_string()]}))
}

/// A command whose output is too long for the model and goes to a file.
fn long(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let witness = draft.witness.display();
    let (begin, end) = (format!("{tag} begins"), format!("{tag} ends"));
    let command = format!("echo {begin} >> {witness}; seq 1 3000; echo {end} >> {witness}");
    let marks = vec![added(begin, Place::Witness), added(end, Place::Witness)];
    draft.plan(tag, Kind::Command, marks);
    ("run_shell", json!({"command": command, "writes": [witness.to_string()]}))
}

/// A job that would outlive everything if nobody ended it, and hides in a session of its own.
fn job(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let witness = draft.witness.display();
    let (begin, end) = (format!("{tag} begins"), format!("{tag} ends"));
    let own = if draft.random.below(2) == 0 { "setsid " } else { "" };
    let command = format!("echo {begin} >> {witness}; {own}sleep 300; echo {end} >> {witness}");
    // It is started and not waited for, so that it began is not certain.
    let mark = |text| Mark { certain: false, ..added(text, Place::Witness) };
    draft.plan(tag, Kind::Command, vec![mark(begin), mark(end)]);
    ("run_shell", json!({"command": command, "background": true, "writes": [witness.to_string()]}))
}

fn read(draft: &mut Draft<'_>, tag: String) -> (&'static str, Value) {
    let path = format!("read/{tag}.txt");
    draft.work.files.push((path.clone(), format!("{tag} is read\n")));
    draft.plan(tag, Kind::Read, Vec::new());
    ("read_file", json!({"path": path}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_work_follows_from_seed_and_tags_are_unique() {
        let witness = Path::new("/elsewhere/log");
        let make = |session| choose(&mut Random::of(1, session), session, witness);
        assert_eq!(make(5).script, make(5).script);
        assert_ne!(make(5).script, make(6).script);
        let work = make(5);
        for call in &work.calls {
            let calls = work.script.lines().filter(|line| line.contains(&call.tag)).count();
            assert_eq!(calls, 1, "{}", call.tag);
            assert!(call.input.to_string().contains(&call.tag) && !call.tool.is_empty());
        }
    }

    #[test]
    fn d7_work_has_what_is_demanded_of_it() {
        let demand = Demand { steps_min: 20, has_only_commands: true };
        for session in 0..20 {
            let witness = Path::new("/elsewhere/log");
            let work = choose_for(&mut Random::of(1, session), session, witness, demand);
            assert_eq!(work.turns, 21);
            assert!(work.calls.iter().all(|call| call.kind == Kind::Command));
        }
    }
}
