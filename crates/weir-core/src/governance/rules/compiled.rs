//! The patterns of a set, compiled once, so that a call is judged in microseconds (Q12).

use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::parse::{Kind, Pattern};
use super::{Rule, RuleAction, RuleContext};

/// Patterns of one space and the rule that each belongs to.
#[derive(Debug, Default)]
struct Space {
    set: GlobSet,
    rules: Vec<usize>,
}

/// All path patterns of a set.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    /// Compared with paths relative to the workspace.
    relative: Space,
    /// Compared with absolute paths.
    absolute: Space,
    /// Rules whose patterns could not be compiled together: they match every path if they forbid.
    broken: Vec<usize>,
    /// Rules for every path.
    all: Vec<usize>,
}

/// The patterns of one rule.
#[derive(Default)]
struct Globs {
    relative: Vec<String>,
    absolute: Vec<String>,
}

/// A pattern and everything below what it matches.
fn with_below(pattern: String) -> [String; 2] {
    let below = if pattern == "**" || pattern.ends_with("/**") {
        pattern.clone()
    } else {
        format!("{pattern}/**")
    };
    [pattern, below]
}

fn globs(rule: &Rule, context: &RuleContext) -> Globs {
    let mut globs = Globs::default();
    let Kind::Path { pattern, .. } = &rule.kind else {
        return globs;
    };
    let forbids = rule.action != RuleAction::Allow;
    match pattern {
        Pattern::All => globs.relative.push("**".into()),
        Pattern::Anywhere(text) => {
            globs.relative.extend(with_below(text.clone()));
            globs.relative.extend(with_below(format!("**/{text}")));
            if forbids {
                globs.absolute.extend(with_below(format!("/**/{text}")));
            }
        }
        Pattern::Anchored(text) => {
            globs.relative.extend(with_below(text.clone()));
            // What is forbidden at any depth is forbidden outside too.
            if forbids && text.starts_with("**") {
                globs.absolute.extend(with_below(format!("/{text}")));
            }
        }
        Pattern::Absolute(text) => globs.absolute.extend(with_below(format!("/{text}"))),
        Pattern::Home(text) => match &context.home {
            Some(home) => {
                let home = globset::escape(home.trim_end_matches('/'));
                globs.absolute.extend(with_below(format!("{home}/{text}")));
            }
            None if forbids => globs.absolute.extend(with_below(format!("/**/{text}"))),
            None => {}
        },
    }
    globs
}

fn glob(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build()
}

/// Whether the patterns of `rule` can be compiled.
pub(super) fn check(rule: &Rule, context: &RuleContext) -> Result<(), String> {
    let Globs { relative, absolute } = globs(rule, context);
    let mut builder = GlobSetBuilder::new();
    for pattern in relative.iter().chain(&absolute) {
        let glob = glob(pattern).map_err(|e| format!("has a pattern that cannot be read: {e}"))?;
        builder.add(glob);
    }
    match builder.build() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("has a pattern that cannot be used: {error}")),
    }
}

impl Compiled {
    pub(super) fn new(rules: &[Rule], context: &RuleContext) -> Compiled {
        let mut compiled = Compiled::default();
        let mut relative = (GlobSetBuilder::new(), Vec::new());
        let mut absolute = (GlobSetBuilder::new(), Vec::new());
        for (index, rule) in rules.iter().enumerate() {
            let matches_all = matches!(rule.kind, Kind::Path { pattern: Pattern::All, .. });
            if matches_all && rule.action != RuleAction::Allow {
                compiled.all.push(index);
                continue;
            }
            let patterns = globs(rule, context);
            for (texts, space) in
                [(patterns.relative, &mut relative), (patterns.absolute, &mut absolute)]
            {
                for text in texts {
                    match glob(&text) {
                        Ok(glob) => {
                            space.0.add(glob);
                            space.1.push(index);
                        }
                        Err(_) => compiled.broken.push(index),
                    }
                }
            }
        }
        for (from, to) in
            [(relative, &mut compiled.relative), (absolute, &mut compiled.absolute)]
        {
            match from.0.build() {
                Ok(set) => *to = Space { set, rules: from.1 },
                Err(_) => compiled.broken.extend(from.1),
            }
        }
        compiled
    }

    /// The rules whose pattern matches a path, as places in the set. `relative` is absent for
    /// paths outside the workspace.
    pub(super) fn matching(
        &self,
        rules: &[Rule],
        relative: Option<&str>,
        absolute: &str,
    ) -> Vec<usize> {
        let mut found: Vec<usize> = self.all.clone();
        let forbidding = self.broken.iter().filter(|i| rules[**i].action != RuleAction::Allow);
        found.extend(forbidding);
        if let Some(path) = relative.filter(|_| !self.relative.set.is_empty()) {
            let hits = self.relative.set.matches_candidate(&Candidate::from_bytes(path));
            found.extend(hits.into_iter().map(|i| self.relative.rules[i]));
        }
        if !self.absolute.set.is_empty() {
            let hits = self.absolute.set.matches_candidate(&Candidate::from_bytes(absolute));
            found.extend(hits.into_iter().map(|i| self.absolute.rules[i]));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
