//! The ways out in plain words, as they end the answer to a refused call. Not here: which there are.

use super::{WayChange, WayOut};
use crate::governance::filter::one_line;

/// Names of one way that are written out.
const NAMES_SHOWN: usize = 3;

/// The lines below a refusal that say what would pass; empty where nothing would. The first line of the
/// refusal stays as it is.
pub fn ways_text(ways: &[WayOut]) -> String {
    if ways.is_empty() {
        return String::new();
    }
    let lines = ways.iter().map(|way| format!("\n- {}", way.as_words()));
    format!("\nWhat would pass, tried by the same gates:{}", lines.collect::<String>())
}

impl WayOut {
    /// It as a clause, for people and the model.
    pub fn as_words(&self) -> String {
        let asks = if self.asks { "; a person is asked then" } else { "" };
        let change = match &self.change {
            WayChange::Recipient { to } => format!("the same, sent to {} alone", one_line(to)),
            WayChange::Program { before } => format!(
                "in a new session, a program that asks for this before it asks for what reads {}, or \
                 together with that (Promise.all)",
                name_some(before)
            ),
            WayChange::Session { without, program } => {
                let together = match program {
                    true => {
                        "; there a program (run_program) can ask for this together with the reading"
                    }
                    false => "",
                };
                format!("in a new session that has not read {}{together}", name_some(without))
            }
            WayChange::Endorsement { values } => {
                format!("once the person has named {} in words of their own", name_some(values))
            }
            WayChange::Rule { rules } => {
                format!("with the rule {}, which only the person adds", rules.join(" and "))
            }
            WayChange::Mode { mode } => format!("in the mode {mode}, which only the person sets"),
        };
        format!("{change}{asks}")
    }
}

fn name_some(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| one_line(name)).collect();
    match names.len().saturating_sub(NAMES_SHOWN) {
        0 if shown.is_empty() => "what this one has read".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
