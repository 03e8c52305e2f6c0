//! What the tools of a server are declared to do (U2): by the person, else as Weir ships it for that very
//! tool; and which of it counts: what a person saw when they approved the server. Pure. Not here: what
//! a declaration means for a call (`weir_core::tool::ToolDeclaration`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::tool::ToolDeclaration;

use crate::listing::{ListedTool, ServerListing};

/// What is said of a server's tools. What nobody said is unknown (G2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolDeclarations {
    /// A tool that calls itself read-only is one.
    pub trust_annotations: bool,
    /// What the server says with an answer of who may read it is believed where it says: everybody. It never
    /// makes its words anything but foreign.
    pub trust_labels: bool,
    /// Tools that only read, as globs over their own names: `list_*`.
    pub reads: Vec<String>,
    /// Tools that send something and answer that it was sent: an acknowledgement of theirs is not
    /// foreign text.
    pub sends: Vec<String>,
    /// What the person says of tools, argument by argument, by names or globs. The longest pattern that
    /// fits counts, a name before any.
    pub tools: BTreeMap<String, ToolDeclaration>,
    /// What Weir knows of the tools of this server, by name.
    pub shipped: BTreeMap<String, ShippedDeclaration>,
}

/// What Weir knows of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippedDeclaration {
    /// The hash of the tool that was looked at ([`ListedTool::hash`]): of any other nothing is known.
    pub hash: String,
    /// The server and version that were looked at: `slack 2025.4.25`.
    pub looked_at: String,
    /// What it does.
    pub declaration: ToolDeclaration,
}

/// Who says what a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclarationSource {
    /// The person, in their configuration.
    Person,
    /// Weir, for this very tool.
    Shipped,
}

impl DeclarationSource {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            DeclarationSource::Person => "yours",
            DeclarationSource::Shipped => "comes with Weir",
        }
    }
}

/// What is declared of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredTool {
    /// What it does.
    pub declaration: ToolDeclaration,
    /// Who says so.
    pub source: DeclarationSource,
    /// Why the declaration cannot hold for this tool; then nobody knows what it does.
    pub problem: Option<String>,
}

impl ToolDeclarations {
    /// Whether this tool is declared to only read: by its name or a pattern of the person's, else as it
    /// comes with Weir, else by the patterns of tools that read, else by what it says of itself.
    pub fn is_read_only(&self, name: &str, listed: &ListedTool) -> bool {
        match self.find_declaration(name, listed) {
            Some(found) => found.problem.is_none() && found.declaration.reads,
            None => self.is_read_by_pattern(name, listed),
        }
    }

    /// The same for a tool of which nothing is declared by its arguments.
    pub(crate) fn is_read_by_pattern(&self, name: &str, listed: &ListedTool) -> bool {
        matches_glob(&self.reads, name) || (self.trust_annotations && listed.says_read_only)
    }

    /// Whether a person said of this tool that it sends.
    pub fn is_sending(&self, name: &str) -> bool {
        matches_glob(&self.sends, name)
    }

    /// What is declared of this tool, argument by argument.
    pub fn find_declaration(&self, name: &str, listed: &ListedTool) -> Option<DeclaredTool> {
        let by_person = || {
            let exact = self.tools.get(name);
            exact.or_else(|| {
                let fits = self.tools.iter().filter(|(glob, _)| fits_glob(glob, name));
                fits.max_by_key(|(glob, _)| glob.chars().count()).map(|(_, declared)| declared)
            })
        };
        let shipped = || self.shipped.get(name).filter(|known| known.hash == listed.hash);
        let (declaration, source) = match by_person() {
            Some(declared) => (declared.clone(), DeclarationSource::Person),
            None => (shipped()?.declaration.clone(), DeclarationSource::Shipped),
        };
        let problem = declaration.find_problem(&listed.input_schema);
        Some(DeclaredTool { declaration, source, problem })
    }

    /// What is declared of the tools of this listing and can hold: what a person sees and a pin keeps.
    pub fn declared_tools(&self, listing: &ServerListing) -> BTreeMap<String, ToolDeclaration> {
        let found = listing.tools.iter().filter_map(|(name, listed)| {
            let found = self.find_declaration(name, listed)?;
            found.problem.is_none().then(|| (name.clone(), found.declaration))
        });
        found.collect()
    }
}

/// Whether `pattern` is one of tools' names.
///
/// # Errors
/// What is wrong with it.
pub fn check_tool_pattern(pattern: &str) -> Result<(), String> {
    globset::Glob::new(pattern).map(|_| ()).map_err(|error| error.kind().to_string())
}

/// Whether a name stands for itself alone where patterns stand too: a server chooses the names of its
/// tools, and one called `*` must not be written where it would be read as all of them.
pub fn is_literal_tool_name(name: &str) -> bool {
    !name.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

fn matches_glob(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| fits_glob(pattern, name))
}

fn fits_glob(pattern: &str, name: &str) -> bool {
    if is_literal_tool_name(pattern) {
        return pattern == name;
    }
    is_glob_of(pattern, name)
}

fn is_glob_of(pattern: &str, name: &str) -> bool {
    globset::Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listing() -> ServerListing {
        let tool = |name: &str| {
            json!({ "name": name, "inputSchema": { "type": "object", "properties": {
                "to": { "type": "string" }, "body": { "type": "string" } } } })
        };
        let tools = vec![tool("send_mail"), tool("send_all"), tool("list_mail")];
        ServerListing::from_tools("s", "1", "x", tools)
    }

    fn declared(text: &str) -> ToolDeclarations {
        serde_json::from_str(text).expect("declarations")
    }

    #[test]
    fn u2_the_name_counts_before_a_pattern_and_the_longer_pattern_before_the_shorter() {
        let of = declared(
            r#"{ "tools": { "*": { "destroys": true }, "send_*": { "identity": true },
                "send_mail": { "sends": { "to": ["to"], "content": ["body"] } } } }"#,
        );
        let found = of.declared_tools(&listing());
        assert!(found["send_mail"].sends.is_some() && found["send_all"].identity);
        assert!(found["list_mail"].destroys);
    }

    #[test]
    fn u2_a_name_that_is_literal_fits_itself_alone() {
        for name in ["send_mail", "send-mail", "a.b/c", "!x", "x,y", "a b", "^$+()|"] {
            assert!(is_literal_tool_name(name) && is_glob_of(name, name), "{name}");
            assert!(
                !is_glob_of(name, &format!("{name}x")) && !is_glob_of(name, "send_all"),
                "{name}"
            );
        }
        for name in ["*", "send_?", "[a-z]", "{a,b}", "a\\b"] {
            assert!(!is_literal_tool_name(name), "{name}");
        }
    }

    #[test]
    fn u2_what_is_shipped_is_for_that_very_tool() {
        let listing = listing();
        let hash = listing.tools["send_mail"].hash.clone();
        let own = ToolDeclaration { own: true, ..ToolDeclaration::default() };
        let mut of = ToolDeclarations::default();
        for (name, hash) in [("send_mail", hash), ("send_all", "0".repeat(64))] {
            let shipped =
                ShippedDeclaration { hash, looked_at: "s 1".into(), declaration: own.clone() };
            of.shipped.insert(name.to_owned(), shipped);
        }
        assert_eq!(of.declared_tools(&listing).into_keys().collect::<Vec<_>>(), ["send_mail"]);
        // The person's word is the last.
        of.tools.insert("send_mail".into(), ToolDeclaration::reading());
        let found = of.find_declaration("send_mail", &listing.tools["send_mail"]);
        assert_eq!(found.map(|found| found.source), Some(DeclarationSource::Person));
    }

    #[test]
    fn u2_what_cannot_hold_is_none_and_reads_nothing() {
        let of = declared(
            r#"{ "reads": ["*"], "tools": { "list_mail": { "sends": { "to": ["nobody"] } } } }"#,
        );
        let listing = listing();
        assert!(!of.declared_tools(&listing).contains_key("list_mail"));
        let listed = &listing.tools["list_mail"];
        let problem = of.find_declaration("list_mail", listed).and_then(|found| found.problem);
        assert!(problem.is_some_and(|why| why.contains("nobody")));
        assert!(!of.is_read_only("list_mail", listed));
        assert!(of.is_read_only("send_all", &listing.tools["send_all"]));
    }
}
