//! Which effect gives which label to what a call returns (Z1). Not here: labels and how they are
//! joined (`crate::label`), and what a label means for the next call (`flow`).

use super::acknowledge;
use crate::message::MessageBlock;
use crate::tool::{Effects, PathAccess, Tier};

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
    let asked = effects.hosts.iter().filter(|host| !(starts && host.method == "CONNECT"));
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

/// The label of this answer to a call with these effects: what was declared to send, and answers with
/// an acknowledgement alone, gave back nothing foreign. A failure is always in the other's words.
pub fn of_answer(effects: &Effects, ok: bool, blocks: &[MessageBlock]) -> Label {
    if !(effects.acknowledges && ok && acknowledge::is_acknowledgement(blocks)) {
        return of_result(effects);
    }
    of_result(&Effects { unknown: false, reads_from: Vec::new(), ..effects.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{CommandEffect, HostEffect};

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
