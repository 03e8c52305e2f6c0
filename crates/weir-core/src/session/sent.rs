//! The names under which faces sent inputs: what is sent once more under a name of these is not
//! said again. Not here: the inputs themselves (`session`), and what a face makes of an answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{InputId, RunId, Seq};

/// Names that are remembered; of more, those whose inputs were accepted first are forgotten. Names
/// are for whoever sends once more what may have been lost on the way, within minutes; a chat of
/// years would keep all of its names in memory otherwise, and every reader of its state a copy.
pub const SENT_NAMES_MAX: usize = 1_024;

/// An input that a face sent under a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentInput {
    /// Number of the input in its session.
    pub input: InputId,
    /// The fact that accepted it.
    pub seq: Seq,
    /// The run that was on then, or that it began; `None`: none began yet.
    pub run: Option<RunId>,
}

/// The last [`SENT_NAMES_MAX`] inputs that faces sent under names. The same facts in the same order
/// leave the same names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentInputs {
    by_name: BTreeMap<String, SentInput>,
}

impl SentInputs {
    /// The input that was sent under this name; `None`: none was, or it is forgotten.
    pub fn find_input(&self, name: &str) -> Option<SentInput> {
        self.by_name.get(name).copied()
    }

    /// All inputs that are remembered, by their names.
    pub fn iter_inputs(&self) -> impl Iterator<Item = &SentInput> {
        self.by_name.values()
    }

    /// Takes in that an input was accepted under a name, and forgets the oldest one of too many.
    pub fn note_accepted(&mut self, name: &str, sent: SentInput) {
        self.by_name.insert(name.to_owned(), sent);
        if self.by_name.len() <= SENT_NAMES_MAX {
            return;
        }
        let oldest = self.by_name.iter().min_by_key(|(_, sent)| sent.seq);
        if let Some(name) = oldest.map(|(name, _)| name.clone()) {
            self.by_name.remove(&name);
        }
    }

    /// Takes in that a run began: what waited for one belongs to it.
    pub fn note_run(&mut self, run: RunId) {
        let waiting = self.by_name.values_mut().filter(|sent| sent.run.is_none());
        waiting.for_each(|sent| sent.run = Some(run));
    }
}

#[cfg(test)]
mod tests {
    use super::super::switch_tests::config;
    use super::*;
    use crate::event::Event;
    use crate::ids::{SessionId, Timestamp};
    use crate::input::{PersonCommand, PersonMessage, SessionCommand, SessionInput};
    use crate::message::MessageBlock;
    use crate::profile::PermissionMode;
    use crate::session::Session;

    const NAMES: u64 = SENT_NAMES_MAX as u64;

    fn said(name: u64) -> SessionInput {
        let command = PersonCommand::Say(Box::new(PersonMessage {
            content: vec![MessageBlock::text("hello")],
            added: Vec::new(),
            client_id: Some(format!("name {name}")),
            blobs: Vec::new(),
        }));
        SessionInput::Command(command.sent_by("ann"))
    }

    fn opened() -> (Session, Vec<Event>) {
        let mut session = Session::new(SessionId::new("s"));
        let config = std::sync::Arc::new(config("ask", PermissionMode::Ask));
        let open = SessionCommand::Open { engine: "test".into(), config, parent: None };
        let facts = session.handle(Timestamp(1), SessionInput::Command(open));
        (session, facts)
    }

    fn accepted(facts: &[Event]) -> usize {
        facts.iter().filter(|fact| matches!(fact, Event::InputAccepted(_))).count()
    }

    #[test]
    fn d7_the_last_names_of_inputs_are_remembered_and_a_replay_remembers_the_same() {
        let (mut session, mut facts) = opened();
        for name in 1..=NAMES + 2 {
            facts.extend(session.handle(Timestamp(1), said(name)));
        }
        let mut replayed = Session::new(SessionId::new("s"));
        facts.iter().for_each(|fact| replayed.apply(Timestamp(1), fact));
        for (name, remembered) in [(1, false), (2, false), (3, true), (NAMES + 2, true)] {
            let name = format!("name {name}");
            let found = session.sent_input(&name);
            assert_eq!(found.is_some(), remembered, "{name}");
            assert_eq!(replayed.sent_input(&name), found, "{name}");
        }
        assert_eq!(replayed.all_sent(), session.all_sent());
        assert_eq!(session.all_sent().by_name.len(), SENT_NAMES_MAX);
        // What is remembered is said once; a name that is forgotten says something new.
        for (name, inputs) in [(3, 0), (2, 1), (NAMES + 2, 0)] {
            let (told, again) = (
                session.handle(Timestamp(2), said(name)),
                replayed.handle(Timestamp(2), said(name)),
            );
            assert_eq!((accepted(&told), &told), (inputs, &again), "name {name}");
        }
    }

    #[test]
    fn d7_a_name_that_is_sent_once_more_takes_no_others_place() {
        let mut sent = SentInputs::default();
        let at = |seq| SentInput { input: InputId(1), seq, run: None };
        (1..=NAMES).for_each(|seq| sent.note_accepted(&format!("name {seq}"), at(seq)));
        sent.note_accepted("name 1", at(NAMES + 1));
        assert!((1..=NAMES).all(|seq| sent.find_input(&format!("name {seq}")).is_some()));
        // Now the second is the oldest.
        sent.note_accepted("another", at(NAMES + 2));
        assert!(sent.find_input("name 2").is_none() && sent.find_input("name 1").is_some());
        sent.note_run(RunId(4));
        assert!(sent.iter_inputs().all(|sent| sent.run == Some(RunId(4))));
    }
}
