//! Refuses what no mode may touch: ignored and protected paths, what leads out of the workspace by
//! a link, deletions outside it or of its root; asks for sensitive files (G6, Z3, Z6).

use super::deletions::is_vital;
use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, Verdict, asking_opinion, denying_opinion,
    quote_model_text,
};
use crate::governance::rules::{RuleSet, Ruling, resolve_word};
use crate::tool::{Effects, PathAccess, PathEffect, PathPlace};

pub(super) struct PathsGate;

impl Gate for PathsGate {
    fn name(&self) -> GateName {
        GateName::Paths
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let effects = &call.inspection.effects;
        let mut found: Option<GateOpinion> = None;
        let opinions = effects.paths.iter().filter_map(|path| self.judge_path(path, context.rules));
        let others = self
            .judge_named_env_files(call, context.rules)
            .into_iter()
            .chain(self.judge_uncovered_files(effects));
        for opinion in opinions.chain(others) {
            if opinion.verdict == Verdict::Deny {
                return Some(opinion);
            }
            found.get_or_insert(opinion);
        }
        found
    }
}

impl PathsGate {
    fn judge_path(&self, at: &PathEffect, rules: &RuleSet) -> Option<GateOpinion> {
        let path = quote_model_text(&at.path);
        if let Some(why) = &at.ignored {
            return Some(denying_opinion(
                self,
                Some(why.clone()),
                format!(
                    "{path} is invisible to this agent ({why}). Work without it{}.",
                    way_out(why)
                ),
            ));
        }
        let writes = at.access.is_write();
        if let Some(why) = at.protected.as_ref().filter(|_| writes) {
            return Some(denying_opinion(
                self,
                Some(why.clone()),
                format!("{path} may be read but never changed ({why}). Leave it as it is."),
            ));
        }
        if at.place == PathPlace::Escapes {
            return Some(denying_opinion(
                self,
                Some("hard floor: a link out of the workspace".into()),
                format!(
                    "The path leads out of the workspace by a link, which no mode follows. It leads to \
                     {path}: name that instead, and what lies outside is judged, and asked about, by its \
                     own path."
                ),
            ));
        }
        let takes_away = matches!(at.access, PathAccess::Delete | PathAccess::MoveFrom);
        if takes_away && at.place == PathPlace::Outside && is_vital(rules, &at.path) {
            return Some(denying_opinion(
                self,
                Some("hard floor: deleting outside the workspace".into()),
                format!(
                    "{path} belongs to the system, is a home or lies above the workspace: it is not \
                     deleted or moved away in any mode."
                ),
            ));
        }
        if takes_away && matches!(at.path.as_str(), "" | "." | "/") {
            return Some(denying_opinion(
                self,
                Some("hard floor: deleting the workspace".into()),
                "The root of the workspace itself may not be deleted or moved in any mode. Name \
                 what should go.",
            ));
        }
        if takes_away && at.place == PathPlace::Outside {
            let what = if at.recursive { " with all in it" } else { "" };
            let rule = Some("deleting outside the workspace".into());
            let reason = format!(
                "{path}{what} lies outside the workspace and is to be deleted or moved away, so a \
                 person must agree to exactly this. A copy is kept: undo brings it back."
            );
            return Some(GateOpinion { exact: true, ..asking_opinion(self, rule, reason) });
        }
        let why = at.sensitive.as_ref()?;
        // Only a rule that names paths is explicit; `*` and a tool's name are not.
        match rules.rule_path(at) {
            Ruling::Allow(_) => None,
            Ruling::Deny(_) | Ruling::Ask(_) | Ruling::Silent => Some(asking_opinion(
                self,
                Some(why.clone()),
                format!("{path}: {why}, so a person must agree."),
            )),
        }
    }

    /// Hidden files that git has a copy of (A13).
    fn judge_uncovered_files(&self, effects: &Effects) -> Option<GateOpinion> {
        /// Files that are named.
        const NAMED: usize = 3;
        let command = effects.commands.iter().find(|command| !command.uncovers.is_empty())?;
        let files: Vec<String> =
            command.uncovers.iter().take(NAMED).map(|path| quote_model_text(path)).collect();
        let more = command.uncovers.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(asking_opinion(
            self,
            Some("hidden files in the history of git".into()),
            format!(
                "The command can read in git's history what is hidden from this agent ({}{more}), so \
                 a person must agree. What shows names only (git status, git log --stat, git commit) \
                 asks nothing.",
                files.join(", ")
            ),
        ))
    }

    /// `.env` files that a command names.
    fn judge_named_env_files(&self, call: &JudgedCall<'_>, rules: &RuleSet) -> Option<GateOpinion> {
        // Without these letters, and without quotes between them, no word can name such a file.
        let may_name =
            |text: &str| text.contains(".env") || text.contains(['\'', '"', '\\', '$', '`']);
        for (command, read) in call.read_commands().filter(|(c, _)| may_name(&c.command)) {
            let targets = read.reach.parts.iter().flat_map(|part| {
                let words = part.words.iter().skip(1);
                words.chain(part.redirections.iter().filter(|r| r.is_file()).map(|r| &r.target))
            });
            for word in targets.filter(|word| word.text.contains(".env")) {
                let sensitive = resolve_word(rules, &command.cwd, &word.text)
                    .find(|at| is_environment_file(&at.path));
                let Some(at) = sensitive else {
                    continue;
                };
                let read = crate::governance::rules::PathUse::Read;
                if !matches!(rules.rule_path_use(&at.path, read), Ruling::Allow(_)) {
                    return Some(asking_opinion(
                        self,
                        Some(".env files ask".into()),
                        format!(
                            "The command names {}, which is likely to hold secrets, so a person \
                             must agree.",
                            quote_model_text(&at.path)
                        ),
                    ));
                }
            }
        }
        None
    }
}

/// What else a person can allow for what is hidden.
fn way_out(why: &str) -> &'static str {
    const KEY: &str = "key or credential file";
    const GIT: &str = "the internals of .git";
    match () {
        () if why.starts_with(KEY) => {
            "; a command that cannot do without it runs with outside_sandbox: true, if a person agrees"
        }
        () if why.starts_with(GIT) => {
            "; git changes them, and what a command must change there (a stale lock, settings, hooks) \
             runs with outside_sandbox: true, if a person agrees"
        }
        () => "",
    }
}

fn is_environment_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let template = [".example", ".sample", ".template", ".dist"];
    (name == ".env" || name.starts_with(".env.")) && !template.iter().any(|end| name.ends_with(end))
}
