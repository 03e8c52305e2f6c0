//! Which effect gives which label to what a call returns (Z1). Not here: labels and how they are
//! joined (`crate::label`), and what a label means for the next call (`flow`).

use super::{CONNECT, acknowledge};
use crate::message::MessageBlock;
use crate::tool::{Effects, PathAccess, PathEffect, Tier};

pub use crate::label::{Integrity, Label, Privacy, Taint};

/// The label of what a call with these effects gives back. What a tool read decides, never what it
/// says of itself.
pub fn of_result(effects: &Effects) -> Label {
    let mut label = Label { integrity: Integrity::Generated, ..Label::default() };
    for path in &effects.paths {
        let reads = matches!(path.access, PathAccess::Read | PathAccess::List | PathAccess::Write);
        if reads {
            label.join(&Label::private(Integrity::Workspace, "workspace"));
        }
        if let Some(origin) = &path.marked {
            label.join(&Label::external(origin.as_str()));
        }
    }
    // A job that was started says nothing yet: who reads its output reads foreign words.
    let starts = !effects.commands.is_empty() && effects.commands.iter().all(|c| c.background);
    let asked = effects.hosts.iter().filter(|host| !(starts && host.method == CONNECT));
    for host in asked {
        label.join(&Label::external(host.host.as_str()));
    }
    for command in &effects.commands {
        label.join(&Label::private(Integrity::Workspace, "command"));
        if starts {
            continue;
        }
        if command.tier == Tier::None {
            label.join(&Label::external("a command with network"));
        }
        for reached in command.describe_reach() {
            label.join(&Label::external(reached));
        }
    }
    for job in &effects.jobs {
        label.join(&Label::private(Integrity::Workspace, "command"));
        label.join(&Label::external(format!("job {job}")));
    }
    label.join(&effects.gives);
    for reads in &effects.reads_from {
        label.join(&Label::external(reads.as_str()));
        label.join(&Label::private(Integrity::External, reads.as_str()));
    }
    if effects.unknown {
        label.join(&Label::external("an unknown tool"));
        label.join(&Label::private(Integrity::External, "an unknown tool"));
    }
    label
}

/// The label of this answer to a call with these effects that was given foreign words, `carried`: what was
/// declared to send, and answers with an acknowledgement alone, gave back nothing foreign. A failure is
/// always in the other's words, and may quote what the call was given.
pub fn of_answer(effects: &Effects, carried: &Label, ok: bool, blocks: &[MessageBlock]) -> Label {
    if !(effects.acknowledges && ok && acknowledge::is_acknowledgement(blocks)) {
        return of_result(effects).joined_with(carried);
    }
    of_result(&Effects { unknown: false, reads_from: Vec::new(), ..effects.clone() })
}

/// The label of the words with which a plan with these effects says that it will fail: they may quote
/// what it looked at. A plan looks at files, runs nothing and reaches nobody. So each path counts as
/// read, whatever would have been done to it, and what would have been run or reached said nothing.
/// Where nothing was looked at, the words are Weir's own.
pub fn of_failed_plan(effects: &Effects) -> Label {
    let read = |path: &PathEffect| PathEffect { access: PathAccess::Read, ..path.clone() };
    let label = of_result(&Effects {
        paths: effects.paths.iter().map(read).collect(),
        jobs: effects.jobs.clone(),
        gives: effects.gives.clone(),
        ..Effects::default()
    });
    match label.taint() {
        Taint::Clean => Label::default(),
        Taint::Private | Taint::External | Taint::Both => label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{CommandEffect, HostEffect, PathPlace};

    #[test]
    fn z1_a_plan_that_fails_has_read_what_it_would_have_touched() {
        let path = |access, marked: Option<&str>| PathEffect {
            marked: marked.map(str::to_owned),
            ..PathEffect::new("notes/a.txt", access, PathPlace::Inside)
        };
        for access in
            [PathAccess::Read, PathAccess::Write, PathAccess::Delete, PathAccess::MoveFrom]
        {
            let mut effects = Effects { paths: vec![path(access, None)], ..Effects::default() };
            assert_eq!(of_failed_plan(&effects).taint(), Taint::Private, "{access:?}");
            effects.paths.push(path(access, Some("evil.example")));
            assert_eq!(of_failed_plan(&effects).taint(), Taint::Both, "{access:?}");
        }
        // Like the result of reading the file, and no cleaner.
        let looks = Effects { paths: vec![path(PathAccess::Write, None)], ..Effects::default() };
        let reads = Effects { paths: vec![path(PathAccess::Read, None)], ..Effects::default() };
        assert_eq!(of_failed_plan(&looks), of_result(&reads));
    }

    #[test]
    fn z1_a_plan_that_fails_has_reached_nobody() {
        let effects = Effects {
            hosts: vec![HostEffect {
                method: "GET".into(),
                host: "a.example".into(),
                url: "https://a.example/".into(),
                secret: None,
            }],
            reads_from: vec!["mcp:wiki".into()],
            unknown: true,
            ..Effects::default()
        };
        assert_eq!(of_failed_plan(&effects), Label::default());
        let quotes = Effects { gives: Label::external("a skill"), ..effects };
        assert_eq!(of_failed_plan(&quotes).taint(), Taint::External);
    }

    #[test]
    fn a8_a_job_that_is_started_has_said_nothing_yet() {
        let of = |background: bool| {
            let host = HostEffect {
                method: "CONNECT".into(),
                host: "a.example".into(),
                url: "a.example".into(),
                secret: None,
            };
            let command = CommandEffect {
                background,
                hosts: vec!["a.example".into()],
                ..CommandEffect::default()
            };
            let effects =
                Effects { hosts: vec![host], commands: vec![command], ..Effects::default() };
            of_result(&effects).is_external()
        };
        assert_eq!((of(true), of(false)), (false, true));
        let read = Effects { jobs: vec!["j1".into()], ..Effects::default() };
        assert!(of_result(&read).is_external());
    }
}
