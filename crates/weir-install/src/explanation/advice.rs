//! What would change a gate's opinion. Every change that is named was tried: the call was judged
//! again with it, and the gate's verdict became milder. Nothing here changes anything.

use weir_core::governance::label::Taint;
use weir_core::governance::rules::{Rule, RuleAction, RuleOrigin, RuleSet};
use weir_core::governance::{GateName, GateOpinion, Judgement, Verdict};
use weir_core::profile::PermissionMode;
use weir_core::tool::{PathEffect, Tier};

use super::case::{CallConditions, ExplanationCase, label_of_taint};

/// Rules that are taken away at once, at most.
const REMOVED_MAX: usize = 8;
/// Profiles that are named, at most.
const PROFILES_MAX: usize = 4;

/// What would help against one gate's opinion.
#[derive(Debug, Default)]
pub struct GateAdvice {
    /// What was tried and helps.
    pub changes: Vec<GateRemedy>,
    /// What is true besides: that nothing lifts it, that a person's answer does.
    pub note: Option<String>,
}

/// One change that helps.
#[derive(Debug)]
pub struct GateRemedy {
    /// What to do.
    pub what: String,
    /// What the gate says then.
    pub gate: Verdict,
    /// What all gates together say then.
    pub call: Judgement,
}

/// Finds out what would change `opinion`.
pub async fn find_gate_advice(
    case: &ExplanationCase,
    at: &CallConditions,
    opinion: &GateOpinion,
) -> GateAdvice {
    let trial = AdviceTrial { case, at, opinion };
    let mut changes = Vec::new();
    changes.extend(trial.without_rules());
    changes.extend(trial.with_rules());
    changes.extend(trial.wider_mode_changes().await);
    changes.extend(trial.other_profile_changes().await);
    changes.extend(trial.person_words_change());
    changes.extend(trial.milder_context_change());
    changes.extend(trial.path_list_change());
    changes.extend(trial.sandbox_tier_change());
    changes.extend(trial.call_limit_change());
    let note = advice_note(opinion, &changes);
    GateAdvice { changes, note }
}

struct AdviceTrial<'a> {
    case: &'a ExplanationCase,
    at: &'a CallConditions,
    opinion: &'a GateOpinion,
}

impl AdviceTrial<'_> {
    /// The change, if the gate becomes milder by it.
    fn tried_change(&self, what: impl Into<String>, with: &CallConditions) -> Option<GateRemedy> {
        let each = self.case.gate_opinions(with);
        let now = each.iter().find(|(gate, _)| *gate == self.opinion.gate)?;
        let gate = now.1.as_ref().map_or(Verdict::Allow, |opinion| opinion.verdict);
        let call = Judgement::from_opinions(each.into_iter().filter_map(|(_, opinion)| opinion));
        (gate < self.opinion.verdict).then(|| GateRemedy { what: what.into(), gate, call })
    }

    /// Taking away the rules that stand against it, one after the other.
    fn without_rules(&self) -> Option<GateRemedy> {
        let mut with = self.at.clone();
        let mut removed: Vec<Rule> = Vec::new();
        while removed.len() < REMOVED_MAX {
            let each = self.case.gate_opinions(&with);
            let opinion = each.into_iter().find(|(gate, _)| *gate == self.opinion.gate)?.1?;
            let text = opinion.rule?;
            let against =
                |rule: &&Rule| rule.action() != RuleAction::Allow && rule.to_string() == text;
            let rule = with.rules.iter().find(against)?.clone();
            with.rules = rules_without(&with.rules, &rule);
            removed.push(rule);
            let steps: Vec<String> = removed.iter().map(describe_rule_removal).collect();
            if let Some(change) = self.tried_change(steps.join(" and "), &with) {
                return Some(change);
            }
        }
        None
    }

    /// Adding allow rules: the narrowest there are, else one for the tool.
    fn with_rules(&self) -> Option<GateRemedy> {
        let origin = RuleOrigin::new("explain");
        let tool = self.case.call.tool.as_str();
        let effects = &self.at.inspection.effects;
        let mut rules = self.at.rules.offered_rules(tool, effects, &origin);
        let with = |rules: &[Rule]| {
            let mut with = self.at.clone();
            with.rules.extend(rules.iter().cloned());
            with
        };
        if let Some(mut best) = self.tried_change("", &with(&rules)).filter(|_| !rules.is_empty()) {
            // What does not help is not proposed.
            let mut at = 0;
            while at < rules.len() && rules.len() > 1 {
                let mut fewer = rules.clone();
                fewer.remove(at);
                let same = |change: &GateRemedy| {
                    change.gate <= best.gate && change.call.verdict <= best.call.verdict
                };
                match self.tried_change("", &with(&fewer)).filter(same) {
                    Some(change) => (best, rules) = (change, fewer),
                    None => at += 1,
                }
            }
            best.what = describe_rule_addition(&rules);
            return Some(best);
        }
        let broad = Rule::parse(RuleAction::Allow, tool, origin).ok()?;
        let what = format!(
            "{}, which covers every call of this tool",
            describe_rule_addition(std::slice::from_ref(&broad))
        );
        self.tried_change(what, &with(&[broad]))
    }

    /// Wider modes, each only if it helps more than those before.
    async fn wider_mode_changes(&self) -> Vec<GateRemedy> {
        let mut changes: Vec<GateRemedy> = Vec::new();
        let wider =
            PermissionMode::ALL.into_iter().skip_while(|mode| *mode != self.at.mode).skip(1);
        for mode in wider {
            let inspection = self.case.inspect_call(mode).await;
            let with = CallConditions { inspection, mode, ..self.at.clone() };
            let Some(change) = self.tried_change(format!("--permission {mode}"), &with) else {
                continue;
            };
            if changes.last().is_none_or(|last| change.gate < last.gate) {
                changes.push(change);
            }
        }
        changes
    }

    /// Other profiles, each with the mode that it brings.
    async fn other_profile_changes(&self) -> Vec<GateRemedy> {
        let mut changes = Vec::new();
        if self.opinion.gate != GateName::Visible {
            return changes;
        }
        for (profile, mode) in &self.case.profiles {
            let inspection = self.case.inspect_call(*mode).await;
            let (profile, mode) = (profile.clone(), *mode);
            let what = format!("--profile {}", profile.name);
            let with = CallConditions { inspection, profile, mode, ..self.at.clone() };
            changes.extend(self.tried_change(what, &with));
            if changes.len() == PROFILES_MAX {
                break;
            }
        }
        changes
    }

    /// The person writing the address or the recipient themselves.
    fn person_words_change(&self) -> Option<GateRemedy> {
        let effects = &self.at.inspection.effects;
        let hosts = effects.hosts.iter().flat_map(|host| [host.url.clone(), host.host.clone()]);
        let mut words: Vec<String> = hosts.collect();
        words.extend(effects.sends.iter().map(|send| send.recipient.clone()));
        let first = words.first()?.clone();
        let mut with = self.at.clone();
        with.said.extend(words);
        self.tried_change(format!("name it in your own message: {first}"), &with)
    }

    /// The contexts in which the gate would be milder, the mildest first.
    fn milder_context_change(&self) -> Option<GateRemedy> {
        let now = self.at.label.taint();
        let mut found: Vec<GateRemedy> = Vec::new();
        for taint in Taint::ALL {
            let label = label_of_taint(taint);
            let what = match label.taint() {
                taint if taint == now => continue,
                Taint::Clean => "a new session, in which nothing has been read yet",
                Taint::Private => "a session that has read no outside content",
                Taint::External => "a session that has read no private data",
                Taint::Both => continue,
            };
            let with = CallConditions { label, ..self.at.clone() };
            found.extend(self.tried_change(what, &with));
        }
        // The least that has to change stands last in the table.
        let best = found.iter().map(|change| change.gate).min()?;
        found.into_iter().rev().find(|change| change.gate == best)
    }

    /// Lines of ignore and protect lists.
    fn path_list_change(&self) -> Option<GateRemedy> {
        let mut lines: Vec<String> = Vec::new();
        let mut with = self.at.clone();
        for path in &mut with.inspection.effects.paths {
            for reason in closed_by(path) {
                let listed = reason.as_ref().filter(|text| {
                    text.contains(".weirignore:") || text.contains(".weirprotected:")
                });
                if let Some(line) = listed.cloned() {
                    *reason = None;
                    lines.push(line);
                }
            }
        }
        lines.sort_unstable();
        lines.dedup();
        let what = format!("remove the line, or add an exception below it: {}", lines.join(", "));
        self.tried_change(what, &with).filter(|_| !lines.is_empty())
    }

    /// Commands that are confined.
    fn sandbox_tier_change(&self) -> Option<GateRemedy> {
        let mut with = self.at.clone();
        let commands = &mut with.inspection.effects.commands;
        if commands.iter().all(|command| command.tier != Tier::None) {
            return None;
        }
        commands.iter_mut().for_each(|command| command.tier = Tier::Namespaces);
        let what = match &self.case.sandbox_off {
            Some(place) => format!("use the sandbox: sandbox.tier = \"auto\" in {place}"),
            None => "use the sandbox (`weir doctor` says what is missing)".to_owned(),
        };
        self.tried_change(what, &with)
    }

    fn call_limit_change(&self) -> Option<GateRemedy> {
        let mut with = self.at.clone();
        let max = with.limits.max_tool_calls.take()?;
        self.tried_change(format!("allow more than {max} calls: --max-tool-calls NUMBER"), &with)
    }
}

fn closed_by(path: &mut PathEffect) -> [&mut Option<String>; 2] {
    [&mut path.ignored, &mut path.protected]
}

fn rules_without(rules: &RuleSet, gone: &Rule) -> RuleSet {
    let mut left = RuleSet::new(rules.context().clone());
    left.extend(rules.iter().filter(|rule| *rule != gone).cloned());
    left
}

/// How a rule is taken away: by the command where it stands in a file.
fn describe_rule_removal(rule: &Rule) -> String {
    let (text, origin) = (shell_quoted(rule.text()), rule.origin());
    match origin.line {
        Some(_) => format!("`weir permissions remove {text}` (it is in {origin})"),
        None => format!("remove {} {text} ({origin})", rule.action()),
    }
}

fn describe_rule_addition(rules: &[Rule]) -> String {
    let command =
        |rule: &Rule| format!("`weir permissions add allow {}`", shell_quoted(rule.text()));
    let commands: Vec<String> = rules.iter().map(command).collect();
    let text = commands.join(" and ");
    let only_hosts = rules.iter().all(|rule| rule.text().starts_with("Web("));
    if only_hosts { format!("{text}, or list the host in web.allow_hosts") } else { text }
}

/// A text as one word of a shell.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What is true whatever is changed.
fn advice_note(opinion: &GateOpinion, changes: &[GateRemedy]) -> Option<String> {
    let helps = !changes.is_empty();
    // Listing a host can turn an address that was only asked for into one that may be fetched.
    let by_rule = changes.iter().any(|change| change.what.starts_with("`weir permissions add"));
    let rule = opinion.rule.as_deref().unwrap_or_default();
    let text = match (&opinion.gate, opinion.verdict) {
        (_, _) if opinion.exact && by_rule => {
            "without that change, only a person's approval of this very call allows it"
        }
        (_, _) if opinion.exact => {
            "only a person's approval of this very call allows it; no rule, lease or mode does"
        }
        (GateName::Canary, _) => {
            "nothing allows it: the secret word of the session must not leave it"
        }
        (GateName::Known, _) => "`weir tools list` lists all tools",
        (GateName::Visible, _) if !helps => "no profile or mode has this tool",
        (GateName::Arguments, _) => "`weir tools show NAME` shows the arguments that a tool takes",
        (GateName::Floor, Verdict::Ask) if rule.ends_with("unreadable") => {
            "a person must approve it each time; or write the command in a plainer form"
        }
        (GateName::Floor, Verdict::Ask) => {
            "a person must approve it each time; no rule and no mode allows it"
        }
        (GateName::Floor, _) => {
            "nothing allows it: the hard floor applies in every mode; do it yourself"
        }
        (GateName::Paths, Verdict::Deny) if !helps => {
            "nothing allows it: Weir's own folders, repository internals, key stores and paths \
             that lead out of the workspace stay closed"
        }
        (GateName::Repetition, _) => {
            "use other arguments, or change something that leads to another result"
        }
        (GateName::Unknown, _) => {
            "a person must approve it; check first whether the earlier call took effect"
        }
        (GateName::Confirm, _) => {
            "a person must approve it: the tool itself requires it for these arguments"
        }
        (GateName::Own, _) => "the program around the engine decides; it can only make it stricter",
        (GateName::Hooks | GateName::Intent, _) => {
            "the hook or the judge decides; they can only make it stricter"
        }
        (_, Verdict::Ask) => "a person can approve it when asked",
        (_, Verdict::Deny) if !helps => "nothing that was tried allows it",
        (_, Verdict::Deny | Verdict::Allow) => return None,
    };
    Some(text.to_owned())
}
