//! What the facts of a session say was told by following links (K10): a copy of a session has told that
//! too. Not here: what one choice tells (`governance::trail`).

use std::collections::BTreeMap;

use super::Session;
use crate::event::{CallFinished, Event};
use crate::tool::ResultEffect;

/// Bits that these facts of one session say were told. A sub-agent of which they know no end has told all
/// that it was lent.
pub fn told_link_bits<'a>(facts: impl IntoIterator<Item = &'a Event>) -> u32 {
    let mut told = 0_u32;
    let mut lent = BTreeMap::new();
    for fact in facts {
        if let Event::CallJudged(f) = fact {
            told = told.saturating_add(f.link_bits.unwrap_or(0));
        } else if let Event::AgentSpawned(f) = fact {
            lent.insert(f.call, f.share.link_bits);
        } else if let Event::AgentFinished(f) = fact {
            lent.remove(&f.call);
            told = told.saturating_add(f.link_bits);
        }
    }
    lent.into_values().fold(told, u32::saturating_add)
}

/// Takes the links that a call brought, where it ran and the model is told what it brought.
pub(super) fn take_links(s: &mut Session, f: &CallFinished, ran: bool) {
    let links = f.news.iter().filter_map(|news| match news {
        ResultEffect::Links { links } if ran && f.withheld.is_none() => Some(links),
        _ => None,
    });
    s.trail.take_links(f.call, links.flatten());
}

#[cfg(test)]
mod tests {
    use super::told_link_bits;
    use crate::event::{AgentFinished, AgentSpawned, Event, RunStatus};
    use crate::ids::{CallId, RunId, SessionId};
    use crate::model::Usage;
    use crate::profile::PermissionMode;
    use crate::session::child::BudgetShare;

    #[test]
    fn k10_a_copy_of_a_session_has_told_what_its_source_told() {
        let spawned = |call: u32, link_bits: u32| {
            Event::from(AgentSpawned {
                agent: SessionId::new(format!("s_{call}")),
                call: CallId(call),
                run: RunId(1),
                profile: "agent".into(),
                task: String::new(),
                depth: 1,
                permission: PermissionMode::Ask,
                model: String::new(),
                tools: Vec::new(),
                share: BudgetShare { link_bits, ..BudgetShare::default() },
                writes: false,
                worktree: None,
            })
        };
        let finished = Event::from(AgentFinished {
            agent: SessionId::new("s_1"),
            call: CallId(1),
            status: RunStatus::Completed,
            text: String::new(),
            usage: Usage::default(),
            cost_usd: None,
            changed_files: Vec::new(),
            denials: Vec::new(),
            error: None,
            link_bits: 3,
        });
        let facts = [spawned(1, 40), finished, spawned(2, 20)];
        assert_eq!(told_link_bits(&facts), 23, "one came to rest, of the other nothing is known");
        assert_eq!(told_link_bits([]), 0);
    }
}
