//! Labels: where what the model reads came from, and how private it is (Z1).
//!
//! Pure data and its join; the model never sets a label. Not here: which effect gives which label
//! (`governance::label`), and what a label means for the next call (`governance::flow`).

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Most origins or sources that one label names; what comes after is one word, `…`.
const NAMES_MAX: usize = 16;
/// Stands for the names that found no room.
const MORE: &str = "…";

/// Whose words these are, from the most trusted to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    /// The person's, or the program's own.
    #[default]
    Person,
    /// Made by the agent from such words.
    Generated,
    /// A file of the workspace that nothing marks as foreign.
    Workspace,
    /// From outside: anybody may have written it.
    External,
}

/// The readers that it is open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Privacy {
    /// Anybody.
    #[default]
    Public,
    /// The person's own.
    Private,
    /// A key or password.
    Secret,
}

/// Where something came from and how private it is. Joined over everything a request contains.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Label {
    /// The least trusted words in it.
    pub integrity: Integrity,
    /// Hosts, servers and files that the foreign words came from.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub origins: BTreeSet<String>,
    /// The most private of it.
    pub privacy: Privacy,
    /// What the private part is: `workspace`, `command`, an attachment, a server.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub sources: BTreeSet<String>,
}

/// The four columns of the flow table (Z2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Taint {
    /// Neither foreign nor private.
    Clean,
    /// Private.
    Private,
    /// Foreign.
    External,
    /// Both.
    Both,
}

impl Taint {
    /// All columns.
    pub const ALL: [Taint; 4] = [Taint::Clean, Taint::Private, Taint::External, Taint::Both];

    /// The column of what is foreign or not, private or not.
    pub fn of_parts(is_external: bool, is_private: bool) -> Taint {
        match (is_external, is_private) {
            (false, false) => Taint::Clean,
            (false, true) => Taint::Private,
            (true, false) => Taint::External,
            (true, true) => Taint::Both,
        }
    }

    /// The word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Taint::Clean => "clean",
            Taint::Private => "private",
            Taint::External => "external",
            Taint::Both => "external + private",
        }
    }
}

impl Label {
    /// Foreign words of this origin.
    pub fn external(origin: impl Into<String>) -> Label {
        Label {
            integrity: Integrity::External,
            origins: BTreeSet::from([origin.into()]),
            ..Label::default()
        }
    }

    /// The person's own data of this source.
    pub fn private(integrity: Integrity, source: impl Into<String>) -> Label {
        Label {
            integrity,
            privacy: Privacy::Private,
            sources: BTreeSet::from([source.into()]),
            ..Label::default()
        }
    }

    /// Takes `other` in: the result is at least as foreign and as private as both.
    pub fn join(&mut self, other: &Label) {
        self.integrity = self.integrity.max(other.integrity);
        self.privacy = self.privacy.max(other.privacy);
        add_names(&mut self.origins, &other.origins);
        add_names(&mut self.sources, &other.sources);
    }

    /// The same with `other` in it.
    #[must_use]
    pub fn joined_with(mut self, other: &Label) -> Label {
        self.join(other);
        self
    }

    /// The same where what came from these sources is known to be public: private only by others.
    #[must_use]
    pub fn without_sources(mut self, public: &[String]) -> Label {
        let is_other = |source: &String| !public.contains(source);
        if self.privacy == Privacy::Private && !self.sources.iter().any(is_other) {
            self.privacy = Privacy::Public;
            self.sources.clear();
        }
        self
    }

    /// Whether everything in `other` is in this too, by name: what has too many names to list contains
    /// nothing but itself as far as it is named.
    pub fn contains(&self, other: &Label) -> bool {
        let is_whole = |names: &BTreeSet<String>| !names.contains(MORE);
        other.integrity <= self.integrity
            && other.privacy <= self.privacy
            && is_whole(&other.origins)
            && is_whole(&other.sources)
            && other.origins.is_subset(&self.origins)
            && other.sources.is_subset(&self.sources)
    }

    /// The label of what a model wrote that had read this.
    #[must_use]
    pub fn told_by_model(mut self) -> Label {
        self.integrity = self.integrity.max(Integrity::Generated);
        self
    }

    /// Whether foreign words went into what the label belongs to.
    pub fn is_external(&self) -> bool {
        self.integrity == Integrity::External
    }

    /// Whether private data went into what the label belongs to.
    pub fn is_private(&self) -> bool {
        self.privacy > Privacy::Public
    }

    /// Its column of the flow table.
    pub fn taint(&self) -> Taint {
        Taint::of_parts(self.is_external(), self.is_private())
    }

    /// Whether there is nothing to tell a person of: nothing foreign, nothing private.
    pub fn is_plain(&self) -> bool {
        !self.is_external() && !self.is_private()
    }

    /// Whether the label is the default one: nothing foreign, nothing private, no sources.
    pub fn is_clean(&self) -> bool {
        *self == Label::default()
    }
}

fn add_names(names: &mut BTreeSet<String>, more: &BTreeSet<String>) {
    for name in more {
        if names.contains(name) {
            continue;
        }
        let full = names.len() >= NAMES_MAX;
        names.insert(if full { MORE.to_string() } else { name.clone() });
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(", ");
        match self.taint() {
            Taint::Clean => f.write_str("clean"),
            Taint::Private => write!(f, "private ({})", names(&self.sources)),
            Taint::External => write!(f, "external ({})", names(&self.origins)),
            Taint::Both => write!(
                f,
                "external ({}) and private ({})",
                names(&self.origins),
                names(&self.sources)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z1_a_join_is_never_cleaner_than_its_parts() {
        let parts = [
            Label::default(),
            Label::external("a.example"),
            Label::private(Integrity::Workspace, "workspace"),
            Label::external("b.example").joined_with(&Label::private(Integrity::External, "mail")),
        ];
        for a in &parts {
            for b in &parts {
                let joined = a.clone().joined_with(b);
                assert_eq!(joined, b.clone().joined_with(a));
                assert!(joined.integrity >= a.integrity && joined.privacy >= a.privacy);
                assert!(joined.origins.is_superset(&a.origins));
            }
        }
    }

    #[test]
    fn u02_what_a_source_calls_public_is_private_by_no_other() {
        let mail = || Label::private(Integrity::External, "mcp:mail");
        let public = |label: Label| label.without_sources(&["mcp:mail".to_owned()]);
        assert_eq!(public(mail()).privacy, Privacy::Public);
        assert_eq!(public(mail()).integrity, Integrity::External);
        let both = mail().joined_with(&Label::private(Integrity::Workspace, "workspace"));
        assert_eq!(public(both.clone()), both);
        let secret = Label { privacy: Privacy::Secret, ..mail() };
        assert_eq!(public(secret.clone()), secret);
    }

    #[test]
    fn z1_a_label_names_at_most_a_bounded_number_of_origins() {
        let mut label = Label::default();
        for n in 0..100 {
            label.join(&Label::external(format!("host{n}.example")));
        }
        assert_eq!(label.origins.len(), NAMES_MAX + 1);
        assert!(label.origins.contains(MORE));
    }
}
