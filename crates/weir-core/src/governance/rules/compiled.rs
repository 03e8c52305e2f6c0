//! The patterns of a set, compiled once, so that a call is judged in microseconds (Q12). They name a rule by its
//! place among the rules about paths, which no other rule that is added moves: what a lease allows of a command
//! leaves them as they are. What a match means is decided elsewhere.

use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::parse::{RuleKind, RulePathPattern};
use super::{Rule, RuleAction, RuleContext};

/// Patterns of one space and the rule that each belongs to.
#[derive(Debug, Default)]
struct PatternSpace {
    set: GlobSet,
    rules: Vec<usize>,
}

impl PatternSpace {
    fn new(patterns: Vec<(Glob, usize)>, broken: &mut Vec<usize>) -> PatternSpace {
        let mut builder = GlobSetBuilder::new();
        let (globs, rules): (Vec<Glob>, Vec<usize>) = patterns.into_iter().unzip();
        for glob in globs {
            builder.add(glob);
        }
        match builder.build() {
            Ok(set) => PatternSpace { set, rules },
            Err(_) => {
                broken.extend(rules);
                PatternSpace::default()
            }
        }
    }

    fn push_matches(&self, path: &str, found: &mut Vec<usize>) {
        if self.rules.is_empty() {
            return;
        }
        // Most paths match nothing, and to learn that is much cheaper than to list matches.
        let candidate = Candidate::from_bytes(path);
        if self.set.is_match_candidate(&candidate) {
            let hits = self.set.matches_candidate(&candidate);
            found.extend(hits.into_iter().map(|i| self.rules[i]));
        }
    }
}

/// The patterns of the rules that forbid, or of those that allow.
#[derive(Debug, Default)]
pub(super) struct CompiledPatterns {
    /// Compared with paths relative to the workspace.
    relative: PatternSpace,
    /// Compared with absolute paths.
    absolute: PatternSpace,
    /// Compared with absolute paths outside the workspace only.
    outside: PatternSpace,
    /// Rules for every path.
    all: Vec<usize>,
}

/// The patterns of one rule.
#[derive(Default)]
struct RuleGlobs {
    relative: Vec<String>,
    absolute: Vec<String>,
    outside: Vec<String>,
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

fn rule_globs(rule: &Rule, context: &RuleContext) -> RuleGlobs {
    let mut globs = RuleGlobs::default();
    let RuleKind::Path { pattern, .. } = &rule.kind else {
        return globs;
    };
    let forbids = rule.action != RuleAction::Allow;
    match pattern {
        RulePathPattern::All => {
            globs.relative.push("**".into());
            // What forbids everything is not asked for its patterns.
            for folder in &context.added_folders {
                globs.absolute.extend(with_below(globset::escape(folder)));
            }
        }
        RulePathPattern::Anywhere(text) => {
            globs.relative.extend(with_below(text.clone()));
            globs.relative.extend(with_below(format!("**/{text}")));
            if forbids {
                globs.outside.extend(with_below(format!("/**/{text}")));
            }
        }
        RulePathPattern::Anchored(text) => {
            globs.relative.extend(with_below(text.clone()));
            // What is forbidden at any depth is forbidden outside too.
            if forbids && text.starts_with("**") {
                globs.outside.extend(with_below(format!("/{text}")));
            }
        }
        RulePathPattern::Absolute(text) => globs.absolute.extend(with_below(format!("/{text}"))),
        RulePathPattern::Home(text) => match &context.home {
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

fn compile_glob(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build()
}

/// Whether the patterns of `rule` can be compiled.
pub(super) fn check_patterns(rule: &Rule, context: &RuleContext) -> Result<(), String> {
    let RuleGlobs { relative, absolute, outside } = rule_globs(rule, context);
    let mut builder = GlobSetBuilder::new();
    for pattern in relative.iter().chain(&absolute).chain(&outside) {
        let glob =
            compile_glob(pattern).map_err(|e| format!("has a pattern that cannot be read: {e}"))?;
        builder.add(glob);
    }
    match builder.build() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("has a pattern that cannot be used: {error}")),
    }
}

impl CompiledPatterns {
    /// The patterns of one side of `rules`, which are those about paths, strongest first.
    pub(super) fn new<'a>(
        side: WhichRules,
        rules: impl Iterator<Item = &'a Rule>,
        context: &RuleContext,
    ) -> CompiledPatterns {
        let forbids = side == WhichRules::Forbidding;
        let chosen = rules.enumerate().filter(|(_, rule)| WhichRules::of_rule(rule) == side);
        let mut compiled = CompiledPatterns::default();
        let (mut relative, mut absolute, mut outside) = (Vec::new(), Vec::new(), Vec::new());
        let mut broken = Vec::new();
        for (index, rule) in chosen {
            if forbids && matches!(rule.kind, RuleKind::Path { pattern: RulePathPattern::All, .. })
            {
                compiled.all.push(index);
                continue;
            }
            let patterns = rule_globs(rule, context);
            for (texts, space) in [
                (patterns.relative, &mut relative),
                (patterns.absolute, &mut absolute),
                (patterns.outside, &mut outside),
            ] {
                for text in texts {
                    match compile_glob(&text) {
                        Ok(glob) => space.push((glob, index)),
                        Err(_) => broken.push(index),
                    }
                }
            }
        }
        compiled.relative = PatternSpace::new(relative, &mut broken);
        compiled.absolute = PatternSpace::new(absolute, &mut broken);
        compiled.outside = PatternSpace::new(outside, &mut broken);
        // What cannot be compiled forbids everything rather than nothing.
        if forbids {
            compiled.all.extend(broken);
        }
        compiled
    }

    /// The rules whose pattern matches a path, as places among those about paths. `relative` is absent for
    /// paths outside the workspace.
    pub(super) fn matching_rules(&self, relative: Option<&str>, absolute: &str) -> Vec<usize> {
        let mut found: Vec<usize> = self.all.clone();
        match relative {
            Some(path) => self.relative.push_matches(path, &mut found),
            None => self.outside.push_matches(absolute, &mut found),
        }
        self.absolute.push_matches(absolute, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Deny and ask rules, or allow rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhichRules {
    Forbidding,
    Allowing,
}

impl WhichRules {
    pub(super) fn of_rule(rule: &Rule) -> WhichRules {
        match rule.action {
            RuleAction::Deny | RuleAction::Ask => WhichRules::Forbidding,
            RuleAction::Allow => WhichRules::Allowing,
        }
    }
}
