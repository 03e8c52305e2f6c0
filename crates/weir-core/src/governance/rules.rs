//! Rules of people: `Tool(specifier)` in the sets deny, ask, allow (C3).
//!
//! A rule is text that was understood; a [`RuleSet`] is all rules of a session, from every source,
//! with their patterns compiled once. Rules decide about effects; which mode holds where no rule
//! does is the business of the gate `rules`. Nothing here reads a file.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

mod compiled;
mod decide;
mod offer;
mod parse;
mod subjects;
#[cfg(test)]
mod tests;

pub use decide::{EffectPresence, MAIL, PathUse, Ruling};
pub(crate) use decide::{WRITERS, resolve_path, resolve_word};
pub(in crate::governance) use offer::can_offer_act;

use super::shell::ShellWord;
use compiled::{CompiledPatterns, WhichRules};
use parse::{RuleKind, RulePathPattern};
use subjects::{RulePlaces, RuleSubject};

/// Longest text of a rule, in characters.
pub const RULE_CHARS_MAX: usize = 2_000;

/// The set a rule belongs to. Ordered by strength: deny beats ask beats allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RuleAction {
    /// It may not be done.
    Deny,
    /// A person must say.
    Ask,
    /// It may be done.
    Allow,
}

impl RuleAction {
    /// All of them, strongest first.
    pub const ALL: [RuleAction; 3] = [RuleAction::Deny, RuleAction::Ask, RuleAction::Allow];

    /// The word people write.
    pub fn as_str(self) -> &'static str {
        match self {
            RuleAction::Deny => "deny",
            RuleAction::Ask => "ask",
            RuleAction::Allow => "allow",
        }
    }
}

impl fmt::Display for RuleAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a rule came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleOrigin {
    /// `flag --allow`, `.weir/config.toml`, `user config`, `session`, …
    pub source: String,
    /// Line in that file.
    pub line: Option<u32>,
}

impl RuleOrigin {
    /// An origin without a line.
    pub fn new(source: impl Into<String>) -> RuleOrigin {
        RuleOrigin { source: source.into(), line: None }
    }
    /// The same at `line`.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> RuleOrigin {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

/// What rules are relative to. Part of the set, so that a journal tells what its rules meant.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RuleContext {
    /// Root of the workspace: absolute, without links, without a slash at its end.
    pub workspace: String,
    /// Home folder of the person, absolute, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// Weir's own folders (state, configuration), absolute: no command may name them (G5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_folders: Vec<String>,
    /// Folders that a person added to the workspace (R7): absolute, without links, without a slash at
    /// their end. What lies in one counts as inside; paths in it are written in full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added_folders: Vec<String>,
}

impl RuleContext {
    /// The words of a command with whole paths of the workspace as they are written from its top: who names what
    /// lies in it so leads nowhere else.
    fn written_from_top(&self, words: &[ShellWord]) -> Vec<ShellWord> {
        let roots = std::iter::once(&self.workspace).chain(&self.added_folders);
        let roots = roots.map(|root| root.trim_end_matches('/')).filter(|root| !root.is_empty());
        let roots: Vec<&str> = roots.collect();
        let written = |word: &ShellWord| {
            // Most words name no whole path.
            let mut text = Cow::Borrowed(word.text.as_str());
            for root in &roots {
                if text.contains(root) {
                    text = Cow::Owned(shorten_root(&text, root));
                }
            }
            let ShellWord { expands, splits, .. } = *word;
            ShellWord { text: text.into_owned(), expands, splits }
        };
        words.iter().map(written).collect()
    }

    /// The part of an absolute `path` below the added folder that it lies in, the innermost one; empty
    /// for that folder itself, `None` where it lies in none.
    pub fn below_added_folder<'p>(&self, path: &'p str) -> Option<&'p str> {
        let below = |folder: &String| {
            let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
        };
        self.added_folders.iter().filter_map(below).min_by_key(|rest| rest.len())
    }
}

/// `text` with a dot for `root` wherever a path begins with it: alone, behind a sign, behind letters of an option.
fn shorten_root(text: &str, root: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(root) {
        let behind = &rest[at + root.len()..];
        out.push_str(&rest[..at]);
        let is_option = out.strip_prefix('-').is_some_and(|letters| {
            !letters.is_empty() && letters.chars().all(|letter| letter.is_ascii_alphabetic())
        });
        // Behind anything else it is a part of another path: `../work` of a root `/work`.
        let begins = out.is_empty() || out.ends_with(['=', ';', ',']) || is_option;
        let ends = behind.is_empty() || behind.starts_with(['/', ';', ',']);
        out.push_str(if begins && ends { "." } else { root });
        rest = behind;
    }
    out + rest
}

/// A rule that cannot be used: where it stands, what it says, what is wrong, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: the {action} rule {rule:?} {problem}")]
pub struct RuleError {
    /// File and line of the rule.
    pub origin: RuleOrigin,
    /// The list that it belongs to: deny, ask or allow.
    pub action: RuleAction,
    /// Text of the rule as it stands in the file.
    pub rule: String,
    /// The mistake, and what to write instead.
    pub problem: String,
}

/// One rule, understood. In JSON it is `{action, rule, source, line}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RuleRecord", into = "RuleRecord")]
pub struct Rule {
    action: RuleAction,
    text: String,
    origin: RuleOrigin,
    kind: RuleKind,
    /// It comes from a lease. Set while that holds, never written down.
    lent: bool,
    /// The lease lifts what is asked exactly.
    bound: bool,
}

impl Rule {
    /// Understands `text`.
    ///
    /// # Errors
    /// When it is no rule, or one that can never match.
    pub fn parse(action: RuleAction, text: &str, origin: RuleOrigin) -> Result<Rule, RuleError> {
        let text = text.trim();
        match parse::parse_kind(text) {
            Ok(kind) => {
                Ok(Rule { action, text: text.to_string(), origin, kind, lent: false, bound: false })
            }
            Err(problem) => Err(RuleError { origin, action, rule: text.to_string(), problem }),
        }
    }
    /// The list that it belongs to: deny, ask or allow.
    pub fn action(&self) -> RuleAction {
        self.action
    }
    /// Its text: `Edit(src/**)`.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// The file and line, or the session, that the rule comes from.
    pub fn origin(&self) -> &RuleOrigin {
        &self.origin
    }
    /// A rule of the files of another folder than the workspace, as it counts here: what its pattern of
    /// paths is relative to is `folder`, an absolute path. A rule about anything else stays as it is.
    ///
    /// # Errors
    /// As [`Rule::parse`].
    pub fn parse_anchored(
        action: RuleAction,
        text: &str,
        origin: RuleOrigin,
        folder: &str,
    ) -> Result<Rule, RuleError> {
        let rule = Rule::parse(action, text, origin)?;
        let RuleKind::Path { edits, pattern } = &rule.kind else { return Ok(rule) };
        let below = match pattern {
            RulePathPattern::All => "**".to_owned(),
            RulePathPattern::Anywhere(text) => format!("**/{text}"),
            RulePathPattern::Anchored(text) => text.clone(),
            RulePathPattern::Absolute(_) | RulePathPattern::Home(_) => return Ok(rule),
        };
        let kind = if *edits { "Edit" } else { "Read" };
        let folder = globset::escape(folder.trim_end_matches('/'));
        Rule::parse(action, &format!("{kind}({folder}/{below})"), rule.origin)
    }
    /// The same rule from another place.
    #[must_use]
    pub fn with_origin(mut self, origin: RuleOrigin) -> Rule {
        self.origin = origin;
        self
    }
    /// The same rule, as a lease lends it that lifts what is asked exactly, or does not.
    #[must_use]
    pub(crate) fn lend(mut self, bound: bool) -> Rule {
        (self.lent, self.bound) = (true, bound);
        self
    }
    /// Whether it comes from a lease.
    pub(crate) fn is_lent(&self) -> bool {
        self.lent
    }
    /// Whether a lease that it comes from lifts what is asked exactly.
    pub(crate) fn is_bound(&self) -> bool {
        self.bound
    }
    /// Whether it is about this agent and no other: `Agent(NAME)`.
    pub(crate) fn names_agent(&self, agent: &str) -> bool {
        matches!(&self.kind, RuleKind::Agent(name) if name == agent && name != "*")
    }
    fn error(&self, problem: String) -> RuleError {
        let (origin, rule) = (self.origin.clone(), self.text.clone());
        RuleError { origin, action: self.action, rule, problem }
    }
    /// Order in a set: by strength, then by text and origin, so that it never depends on the order
    /// in which files were read.
    fn key(&self) -> (RuleAction, &str, &RuleOrigin) {
        (self.action, &self.text, &self.origin)
    }
}

/// `deny Read(**/.env) (.weir/config.toml:7)`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.action, self.text, self.origin)
    }
}

/// A rule as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
struct RuleRecord {
    /// The list that it belongs to: deny, ask or allow.
    action: RuleAction,
    /// Its text: `Edit(src/**)`.
    rule: String,
    /// Where it came from.
    source: String,
    /// Line in that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl From<Rule> for RuleRecord {
    fn from(rule: Rule) -> RuleRecord {
        let RuleOrigin { source, line } = rule.origin;
        RuleRecord { action: rule.action, rule: rule.text, source, line }
    }
}

impl TryFrom<RuleRecord> for Rule {
    type Error = RuleError;
    fn try_from(record: RuleRecord) -> Result<Rule, RuleError> {
        let origin = RuleOrigin { source: record.source, line: record.line };
        Rule::parse(record.action, &record.rule, origin)
    }
}

#[cfg(any(test, feature = "schema"))]
impl schemars::JsonSchema for Rule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rule".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        <RuleRecord as schemars::JsonSchema>::json_schema(generator)
    }
}

/// All rules of a session, from every source. Two sets with the same rules are equal, whatever the
/// order in which they were added.
#[derive(Clone, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(from = "RuleSetRecord", into = "RuleSetRecord")]
#[cfg_attr(any(test, feature = "schema"), schemars(with = "RuleSetRecord"))]
pub struct RuleSet {
    context: RuleContext,
    rules: Arc<Vec<Rule>>,
    places: Arc<RulePlaces>,
    // Copies share what is compiled, whichever of them needs it first: the gate has one, and so has the workspace.
    forbidding: Arc<OnceLock<CompiledPatterns>>,
    allowing: Arc<OnceLock<CompiledPatterns>>,
}

/// What was compiled of the rules is left out: it says nothing about the set, only whether it was used.
impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RuleSet");
        shown.field("context", &self.context).field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl PartialEq for RuleSet {
    fn eq(&self, other: &RuleSet) -> bool {
        self.context == other.context && self.rules == other.rules
    }
}

/// A set as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
struct RuleSetRecord {
    /// The folders that its rules are relative to.
    #[serde(default)]
    context: RuleContext,
    /// Its rules, strongest first.
    #[serde(default)]
    rules: Vec<Rule>,
}

impl From<RuleSet> for RuleSetRecord {
    fn from(set: RuleSet) -> RuleSetRecord {
        RuleSetRecord { context: set.context, rules: set.rules.to_vec() }
    }
}

impl From<RuleSetRecord> for RuleSet {
    fn from(record: RuleSetRecord) -> RuleSet {
        let mut set = RuleSet::new(record.context);
        set.extend(record.rules);
        set
    }
}

impl RuleSet {
    /// A set without rules.
    pub fn new(context: RuleContext) -> RuleSet {
        RuleSet { context, ..RuleSet::default() }
    }
    /// Workspace, home and own folders that paths in the rules are relative to.
    pub fn context(&self) -> &RuleContext {
        &self.context
    }
    /// The same rules where no folder was added to the workspace.
    #[must_use]
    pub fn without_added_folders(&self) -> RuleSet {
        let context = RuleContext { added_folders: Vec::new(), ..self.context.clone() };
        let (rules, places) = (self.rules.clone(), self.places.clone());
        RuleSet { context, rules, places, ..RuleSet::default() }
    }
    /// Understands `text` for this set's workspace and home. Does not add it.
    ///
    /// # Errors
    /// When it is no rule, or one that can never match here; the error names file and line.
    pub fn parse_rule(
        &self,
        action: RuleAction,
        text: &str,
        origin: RuleOrigin,
    ) -> Result<Rule, RuleError> {
        let rule = Rule::parse(action, text, origin)?;
        if rule.kind.needs_home() && self.context.home.is_none() {
            let problem = "begins with ~/ but no home folder is known; write the path in full";
            return Err(rule.error(problem.to_string()));
        }
        compiled::check_patterns(&rule, &self.context).map_err(|problem| rule.error(problem))?;
        Ok(rule)
    }
    /// Adds a rule. A rule that is already there changes nothing.
    pub fn add(&mut self, rule: Rule) {
        self.extend([rule]);
    }
    /// Adds rules.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Rule>) {
        let rules = Arc::make_mut(&mut self.rules);
        let old = rules.len();
        rules.extend(more);
        for rule in rules[old..].iter().filter(|rule| matches!(rule.kind, RuleKind::Path { .. })) {
            // Rules that allow stand behind those that forbid, and do not move them.
            self.allowing = Arc::default();
            if WhichRules::of_rule(rule) == WhichRules::Forbidding {
                self.forbidding = Arc::default();
            }
        }
        rules.sort_by(|a, b| a.key().cmp(&b.key()));
        rules.dedup();
        self.places = Arc::new(RulePlaces::of_rules(rules));
    }
    /// The rules, strongest first.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
    /// The rules that name a tool which is not in `known`: they can never match.
    pub fn check_tools(&self, known: &[&str]) -> Vec<RuleError> {
        let unknown = |rule: &Rule| match &rule.kind {
            RuleKind::Tool(name) if !known.contains(&name.as_str()) => Some(name.clone()),
            RuleKind::Tool(_)
            | RuleKind::Everything
            | RuleKind::Path { .. }
            | RuleKind::Shell(_)
            | RuleKind::Web(_)
            | RuleKind::Mail(_)
            | RuleKind::Mcp { .. }
            | RuleKind::Agent(_) => None,
        };
        let hint = |name: &str| {
            let near = known.iter().find(|k| k.eq_ignore_ascii_case(name));
            near.map_or(String::new(), |k| format!("; did you mean {k}?"))
        };
        self.iter()
            .filter_map(|rule| {
                let name = unknown(rule)?;
                let hint = hint(&name);
                Some(rule.error(format!(
                    "can never match: there is no tool {name}{hint} (`weir tools list` shows the \
                     tools; kinds of effects are Read, Edit, Shell, Web, Mail, Mcp, Agent)"
                )))
            })
            .collect()
    }
    /// Those about `subject`, strongest first.
    fn rules_about(&self, subject: RuleSubject) -> impl Iterator<Item = &Rule> {
        self.places.places_about(subject).iter().map(move |place| &self.rules[*place])
    }
    fn compiled_patterns(&self, side: WhichRules) -> &CompiledPatterns {
        let compiled = match side {
            WhichRules::Forbidding => &self.forbidding,
            WhichRules::Allowing => &self.allowing,
        };
        compiled.get_or_init(|| {
            let rules = self.rules_about(RuleSubject::Path);
            CompiledPatterns::new(side, rules, &self.context)
        })
    }
}
