//! Which rules of a set a question is about: a call of a tool is compared with no rule about paths, and a path with
//! none about commands (Q12). What a rule says is decided elsewhere.

use super::Rule;
use super::parse::RuleKind;

/// What rules are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleSubject {
    /// A tool as a whole, its server and its arguments: a bare name, `Mcp(…)` and `*`.
    Tool,
    /// A path: `Read(…)`, `Edit(…)`.
    Path,
    /// A command.
    Command,
    /// A host.
    Host,
    /// Somebody who is sent something.
    Recipient,
    /// An agent that is spawned.
    Agent,
}

impl RuleKind {
    pub(super) fn rule_subject(&self) -> RuleSubject {
        match self {
            RuleKind::Everything | RuleKind::Tool(_) | RuleKind::Mcp { .. } => RuleSubject::Tool,
            RuleKind::Path { .. } => RuleSubject::Path,
            RuleKind::Shell(_) => RuleSubject::Command,
            RuleKind::Web(_) => RuleSubject::Host,
            RuleKind::Mail(_) => RuleSubject::Recipient,
            RuleKind::Agent(_) => RuleSubject::Agent,
        }
    }
}

/// Places in a set of the rules about each subject, in the order of the set.
#[derive(Debug, Default)]
pub(super) struct RulePlaces {
    tools: Vec<usize>,
    paths: Vec<usize>,
    commands: Vec<usize>,
    hosts: Vec<usize>,
    recipients: Vec<usize>,
    agents: Vec<usize>,
}

impl RulePlaces {
    pub(super) fn of_rules(rules: &[Rule]) -> RulePlaces {
        let mut places = RulePlaces::default();
        for (place, rule) in rules.iter().enumerate() {
            let of_subject = match rule.kind.rule_subject() {
                RuleSubject::Tool => &mut places.tools,
                RuleSubject::Path => &mut places.paths,
                RuleSubject::Command => &mut places.commands,
                RuleSubject::Host => &mut places.hosts,
                RuleSubject::Recipient => &mut places.recipients,
                RuleSubject::Agent => &mut places.agents,
            };
            of_subject.push(place);
        }
        places
    }

    pub(super) fn places_about(&self, subject: RuleSubject) -> &[usize] {
        match subject {
            RuleSubject::Tool => &self.tools,
            RuleSubject::Path => &self.paths,
            RuleSubject::Command => &self.commands,
            RuleSubject::Host => &self.hosts,
            RuleSubject::Recipient => &self.recipients,
            RuleSubject::Agent => &self.agents,
        }
    }
}
