//! Denials and questions of another agent that no rule here can say. What they are about is not
//! allowed either: with the denial gone, an allow rule beside it would let more pass than there.
//! Not here: which denials those are, which each reader knows.

use std::collections::BTreeMap;

/// Different ones that are told apart; beyond that, all of them are about everything.
const DENIALS_MAX: usize = 1_000;

/// Such denials, by what they are about, each with the place where it stands.
#[derive(Debug, Default)]
pub(super) struct UnsaidDenials(BTreeMap<String, String>);

impl UnsaidDenials {
    /// One about a kind of rule (`Shell`), tools of servers (`Mcp(*:delete)`), or everything (`*`).
    pub(super) fn add_denial(&mut self, about: &str, place: &str) {
        let about = if self.0.len() < DENIALS_MAX { about } else { "*" };
        self.0.entry(about.to_owned()).or_insert_with(|| place.to_owned());
    }

    /// Where a denial stands that may be about what this rule allows.
    pub(super) fn denial_against(&self, allowed: &str) -> Option<&str> {
        let against = self.0.iter().find(|(about, _)| may_be_about(about, allowed));
        against.map(|(_, place)| place.as_str())
    }
}

fn may_be_about(about: &str, allowed: &str) -> bool {
    if about == "*" {
        return true;
    }
    let (kind, of) = about.split_once('(').unwrap_or((about, ""));
    let (allowed_kind, allowed_of) = allowed.split_once('(').unwrap_or((allowed, ""));
    if kind != allowed_kind {
        return false;
    }
    if kind != "Mcp" {
        // Commands and paths have too many spellings to be told apart.
        return true;
    }
    let (server, tool) = server_and_tool(of);
    let (allowed_server, allowed_tool) = server_and_tool(allowed_of);
    overlaps(server, allowed_server) && overlaps(tool, allowed_tool)
}

/// `hub:delete)`; what is missing is everything.
fn server_and_tool(text: &str) -> (&str, &str) {
    let text = text.trim_end_matches(')');
    let (server, tool) = text.split_once(':').unwrap_or((text, "*"));
    (or_all(server), or_all(tool))
}

fn or_all(part: &str) -> &str {
    if part.is_empty() { "*" } else { part }
}

fn overlaps(one: &str, other: &str) -> bool {
    one.contains('*') || other.contains('*') || one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_what_an_unsaid_denial_may_be_about_is_not_allowed() {
        for (about, allowed, hits) in [
            ("Shell", "Shell(git:*)", true),
            ("Shell(*push*)", "Shell", true),
            ("Shell", "Edit(**)", false),
            ("*", "Web(docs.rs)", true),
            ("Mcp(*:delete)", "Mcp(hub:delete)", true),
            ("Mcp(*:delete)", "Mcp(hub:*)", true),
            ("Mcp(*:delete)", "Mcp(hub:search)", false),
            ("Mcp(hub:get_*)", "Mcp(hub:x)", true),
            ("Mcp(hub:get_*)", "Mcp(other:x)", false),
            ("Mcp", "Mcp(hub:x)", true),
        ] {
            let mut unsaid = UnsaidDenials::default();
            unsaid.add_denial(about, "f:1");
            assert_eq!(unsaid.denial_against(allowed).is_some(), hits, "{about} {allowed}");
        }
    }

    #[test]
    fn r8_countless_unsaid_denials_are_about_everything() {
        let mut unsaid = UnsaidDenials::default();
        for at in 0..DENIALS_MAX * 3 {
            unsaid.add_denial(&format!("Mcp(s:{at})"), "f");
        }
        assert!(unsaid.0.len() <= DENIALS_MAX + 1);
        assert!(unsaid.denial_against("Shell").is_some());
    }
}
