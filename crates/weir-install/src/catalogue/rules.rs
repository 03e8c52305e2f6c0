//! Permission rules as a person adds and removes them. Not here: what a rule means
//! (`weir_core::governance::rules`), how a file of settings is edited (`crate::config`).

use weir_core::governance::rules::{Rule, RuleAction, RuleOrigin, RuleSet};

use crate::context::InstallationContext;
use crate::failure::usage;
use crate::wiring;

/// Rules that name a tool which does not exist.
///
/// # Errors
/// A usage error about the first of them.
pub fn check_rule_tools(rules: &RuleSet) -> anyhow::Result<()> {
    let tools = weir_tools::built_in_tools();
    let known: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    match rules.check_tools(&known).first() {
        Some(error) => Err(usage(error.to_string())),
        None => Ok(()),
    }
}

/// The rule, understood for this workspace; a rule that can never match is refused.
///
/// # Errors
/// A usage error: it cannot be understood, or never matches.
pub fn parse_checked_rule(
    cx: &InstallationContext,
    action: RuleAction,
    text: &str,
    origin: RuleOrigin,
) -> anyhow::Result<Rule> {
    let workspace = cx.open_workspace()?;
    let mut set = RuleSet::new(wiring::rule_context(cx, &workspace));
    let rule = set.parse_rule(action, text, origin).map_err(|error| usage(error.to_string()))?;
    set.add(rule.clone());
    check_rule_tools(&set)?;
    Ok(rule)
}

/// What calls that match a rule have of it.
pub fn describe_rule_action(action: RuleAction) -> &'static str {
    match action {
        RuleAction::Allow => "Calls that match it run without a question",
        RuleAction::Ask => "Calls that match it are asked about",
        RuleAction::Deny => "Calls that match it are denied",
    }
}
