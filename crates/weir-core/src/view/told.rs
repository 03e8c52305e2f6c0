//! Facts in words, for every face alike: what is told in passing, decisions, numbers. Pure. Not here:
//! calls and answers, which each face shows in its own way, and what steers a terminal or a page.

use crate::event::{
    ApprovalLine, ApprovalRequested, CheckpointRestored, CondenseReason, Decision, Event,
    LimitLevel, LimitReached, LineTarget, ModelReplied, ModelSwitched, RunFinished, RunStatus,
    SwitchCause,
};
use crate::model::StopReason;
use crate::safe_text::visible_text;
use crate::tool::NamedGrant;

/// How whoever sits at this machine is called where nobody signed in.
const PERSON: &str = "person";

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactTone {
    /// In passing.
    Quiet,
    /// Something was done.
    Good,
    /// A break in the conversation.
    Mark,
    /// Worth a look.
    Warn,
    /// Something went wrong.
    Bad,
}

/// A line with how loud it is.
pub type FactLine = (FactTone, String);

/// `text` in one line, with what hides or steers written out: breaks and runs of blanks are one
/// blank.
pub fn one_line(text: &str) -> String {
    visible_text(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// `text` as a sentence: with an end.
pub fn to_sentence(text: &str) -> String {
    let text = one_line(text);
    if text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

/// Whether "always" is offered: there are rules that it would add, and they are not bound to what was read in
/// this session (U8).
pub fn offers_always(asked: &ApprovalRequested) -> bool {
    !asked.rules.is_empty() && !asked.bound
}

/// The steps of a question about several, one line each: number, tool, what it does, and whom it reaches
/// with where that comes from (U8).
pub fn question_lines(asked: &ApprovalRequested) -> Vec<String> {
    asked.lines.iter().map(question_line).collect()
}

/// One step in a line.
pub fn question_line(line: &ApprovalLine) -> String {
    let target = |one: &LineTarget| format!("{} ({})", one_line(&one.to), one.from.as_words());
    let targets: Vec<String> = line.reaches.iter().map(target).collect();
    // Whom it reaches stands first: nothing that is written about it can push that out of sight.
    let to =
        if targets.is_empty() { String::new() } else { format!(" → {}", targets.join(", ")) };
    let careful = if line.warned { "Careful: " } else { "" };
    format!("{}. {careful}{}{to}: {}", line.step, one_line(&line.tool), one_line(&line.summary))
}

/// How the steps of such a question stand in it: `3 steps, allowed or refused together`.
pub fn lines_head(asked: &ApprovalRequested) -> String {
    format!("{}, allowed or refused together:", count_text(asked.lines.len(), "step"))
}

/// What an answer for the session adds where it is bound: `rules`, and how long that holds.
pub fn bound_rules_text(rules: &str) -> String {
    format!("{rules}, as long as nothing from elsewhere is read")
}

/// `1 file`, `2 files`.
pub fn count_text(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A number of tokens, short.
pub fn token_count_text(count: u64) -> String {
    match count {
        0..=999 => count.to_string(),
        1_000..=99_949 => format!("{:.1}k", count as f64 / 1e3),
        99_950..=999_499 => format!("{:.0}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// An amount of US dollars.
pub fn format_dollars(usd: f64) -> String {
    if usd > 0.0 && usd < 0.01 { format!("${usd:.4}") } else { format!("${usd:.2}") }
}

/// A decision in words: `Allowed once by ada`.
pub fn decision_text(decision: Decision, by: &str, reason: Option<&str>) -> String {
    let by = one_line(by);
    let what = match decision {
        Decision::Once => format!("Allowed once by {by}"),
        Decision::Session => format!("Allowed for this session by {by}"),
        Decision::Always => format!("Always allowed in this project by {by}"),
        Decision::Deny => format!("Denied by {by}"),
        Decision::Cancelled => "Not answered: the run was ended first".into(),
        Decision::Expired => "Not answered in time, which is a no".into(),
    };
    match reason.filter(|reason| !reason.trim().is_empty()) {
        Some(reason) => format!("{what}: {}", one_line(reason)),
        None => what,
    }
}

/// The command by which a person allows in every project what an answer allows in one.
pub fn permission_command(rule: &str) -> String {
    format!("weir permissions add allow '{}'", visible_text(&rule.replace('\'', "'\\''")))
}

/// What an answer for the session grants by its name, with the hosts that it is (U13).
pub fn grant_text(grant: &NamedGrant) -> String {
    format!("{} ({})", one_line(&grant.name), one_line(&grant.hosts.join(", ")))
}

/// Why an answer for the session stands first, where the question carries `often` (U13).
pub const OFTEN_ASKED: &str = "You said yes to this kind of question three times or more: an answer for \
                               this session saves the next.";

/// The mark of a reply that is only the beginning of one; `None`: it is whole.
pub fn cut_off(reply: &ModelReplied) -> Option<&'static str> {
    (reply.stop == StopReason::Interrupted).then_some("Cut off here: the run was ended.")
}

/// The person or bound that stopped a run, in words; `None`: it ended by itself, or for another
/// reason.
pub fn stopped_by(fact: &RunFinished) -> Option<String> {
    let by = fact.error.as_deref()?.strip_prefix("Cancelled by ")?;
    let by = by.strip_suffix('.').unwrap_or(by);
    (fact.status == RunStatus::Cancelled).then(|| match by {
        PERSON => "You stopped it".into(),
        by => format!("Stopped by {}", one_line(by)),
    })
}

/// What a fact tells in passing; `None`: nothing, or it is shown in another way. How a session
/// began, a request that is tried again and what waits in the inbox are each face's own.
pub fn describe_fact(event: &Event) -> Option<FactLine> {
    Some(match event {
        Event::SessionConfigured(f) => {
            (FactTone::Quiet, format!("Settings: {}", one_line(&f.reason)))
        }
        Event::SessionResumed(f) if f.run.is_some() => {
            (FactTone::Quiet, "Went on where the program had ended.".into())
        }
        Event::ModelFailed(f) => {
            let tone = if f.next.is_some() { FactTone::Warn } else { FactTone::Bad };
            (tone, one_line(&f.message))
        }
        Event::ModelReplied(f) if !f.repaired.is_empty() => {
            let repaired = f.repaired.iter().map(|words| one_line(words)).collect::<Vec<_>>();
            (FactTone::Quiet, format!("Calls written as text: {}.", repaired.join("; ")))
        }
        Event::HistoryQuarantined(f) => (
            FactTone::Warn,
            format!("An attachment is withheld from now on: {}", one_line(&f.message)),
        ),
        Event::ToolsRefused(f) => (
            FactTone::Warn,
            format!(
                "{} is told its tools in its prompt from now on: {}",
                one_line(&f.model),
                one_line(&f.message)
            ),
        ),
        Event::CheckpointRestored(f) => (FactTone::Mark, describe_restore(f)),
        Event::WorkspaceMerged(f) => {
            let (files, by) = (count_text(f.paths.len(), "file"), one_line(&f.by));
            (FactTone::Mark, format!("{by} took {files} over into {}.", one_line(&f.into)))
        }
        Event::LeaseRevoked(f) => {
            (FactTone::Quiet, format!("{} took right {} back.", one_line(&f.by), f.lease))
        }
        Event::LimitReached(f) => {
            let what = limit_text(f);
            match f.level {
                LimitLevel::Soft => (FactTone::Quiet, format!("Near a limit: {what}")),
                LimitLevel::Hard => (FactTone::Warn, format!("Limit reached: {what}")),
            }
        }
        Event::AlertRaised(f) => (
            FactTone::Bad,
            format!("Alert ({}): {}", one_line(f.alert.as_str()), one_line(&f.detail)),
        ),
        Event::CancelRequested(f) => {
            (FactTone::Quiet, format!("{} ends the run.", one_line(&f.by)))
        }
        Event::RunPaused(f) => (
            FactTone::Mark,
            format!(
                "Paused by {}. What is under way is finished, nothing new begins.",
                one_line(&f.by)
            ),
        ),
        Event::RunResumed(f) => {
            (FactTone::Mark, format!("{} lets the run go on.", one_line(&f.by)))
        }
        Event::MemoryWritten(f) => {
            (FactTone::Quiet, format!("Remembered: {}", one_line(&f.note.text)))
        }
        event => return about_context(event).or_else(|| about_recipe(event)),
    })
}

/// Parts of a dollar that are told where a limit is.
const MONEY_PARTS: f64 = 1_000_000.0;

/// Where a run is with a limit: `max_iterations: 6 of 10`.
pub fn limit_text(fact: &LimitReached) -> String {
    let name = one_line(fact.limit.as_str());
    // What has no price counts as all that there could be.
    let has_price = !fact.limit.is_money() || fact.value < f64::from(u32::MAX);
    // Sums of money have digits that nobody counts.
    let shown = |value: f64| match fact.limit.is_money() {
        true => (value * MONEY_PARTS).round() / MONEY_PARTS,
        false => value,
    };
    match has_price {
        true => format!("{name}: {} of {}", shown(fact.value), shown(fact.max)),
        false => format!("{name}: the price is unknown, and the budget is {}", fact.max),
    }
}

fn describe_restore(fact: &CheckpointRestored) -> String {
    let left = match fact.conflicts.len() {
        0 => String::new(),
        n => format!(
            " Left alone, because somebody changed {} since: {}.",
            if n == 1 { "it" } else { "them" },
            one_line(&fact.conflicts.join(", "))
        ),
    };
    let files = count_text(fact.paths.len(), "file");
    format!("{} took changes of {files} back.{left}", one_line(&fact.by))
}

/// Which model goes on, and why; or why it cannot.
fn describe_model_switch(f: &ModelSwitched) -> FactLine {
    let (model, from) = (one_line(&f.model), one_line(&f.from));
    if let Some(why) = &f.refused {
        return (FactTone::Warn, format!("{model} cannot go on: {}", to_sentence(why)));
    }
    match f.cause {
        SwitchCause::Failure => {
            (FactTone::Warn, format!("{model} goes on in place of {from} until this run ends."))
        }
        SwitchCause::Rule => {
            (FactTone::Quiet, format!("Model {model}: {}", to_sentence(&f.reason)))
        }
        SwitchCause::Chosen => (FactTone::Quiet, format!("Model {model} again, which was chosen.")),
    }
}

/// What happened to what the model is told.
fn about_context(event: &Event) -> Option<FactLine> {
    Some(match event {
        Event::SceneSeen(f) if !f.skills.is_empty() => {
            let names: Vec<String> = f.skills.iter().map(|skill| one_line(&skill.name)).collect();
            (FactTone::Quiet, format!("Skill: {}", names.join(", ")))
        }
        Event::SkillActivated(f) => (FactTone::Quiet, format!("Skill: {}", one_line(&f.skill))),
        Event::ProfileSwitched(f) => {
            let mut text = format!("Profile {}: {}", one_line(&f.profile), to_sentence(&f.reason));
            for note in &f.notes {
                text.push(' ');
                text.push_str(&to_sentence(note));
            }
            (FactTone::Quiet, text)
        }
        Event::ModelSwitched(f) => describe_model_switch(f),
        Event::ContextSummarised(f) => {
            (FactTone::Warn, format!("No summary was made: {}", one_line(f.failed.as_deref()?)))
        }
        Event::ContextCondensing(f) => {
            let keep = f.keep.as_ref()?;
            (FactTone::Quiet, format!("The summary is to keep: {}", to_sentence(keep.as_str())))
        }
        Event::ContextCondensed(f) => (
            FactTone::Mark,
            format!(
                "The model sees what is above in a shorter form{} ({} to {} tokens).",
                // Whoever said what a summary must keep is told that there is none.
                match f.reason {
                    CondenseReason::Asked if f.pass < 3 => ", without a summary",
                    _ => "",
                },
                token_count_text(f.tokens_before),
                token_count_text(f.tokens_after)
            ),
        ),
        Event::ContextUncondensed(_) => {
            (FactTone::Mark, "The model sees everything word for word again.".into())
        }
        Event::OutputChecked(f) => match (&f.mismatch, &f.kept_going) {
            (Some(why), _) => {
                (FactTone::Quiet, format!("The answer does not fit: {}", one_line(why)))
            }
            (None, Some(why)) => (FactTone::Quiet, format!("A hook goes on: {}", one_line(why))),
            (None, None) => return None,
        },
        _ => return None,
    })
}

/// A line about a recipe that is followed, or stopped.
fn about_recipe(event: &Event) -> Option<FactLine> {
    Some(match event {
        Event::RecipeMatched(f) => {
            let how = if f.fast { "is followed" } else { "fits" };
            let uses = f.successes.saturating_add(f.failures);
            let (name, stop, worked) = (one_line(&f.name), one_line(&f.stop), f.successes);
            let text = format!("Recipe {name} {how}; it worked {worked} of {uses} times. {stop}");
            (FactTone::Quiet, text)
        }
        Event::RecipeFallback(f) => {
            (FactTone::Quiet, format!("The recipe is left: {} Going on.", to_sentence(&f.reason)))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::LimitName;

    #[test]
    fn f1_s11_numbers_are_short() {
        let counts = [(0, "0"), (999, "999"), (1_000, "1.0k"), (99_949, "99.9k"), (99_950, "100k")];
        for (count, text) in counts.into_iter().chain([(999_500, "1.0M"), (12_345_678, "12.3M")]) {
            assert_eq!(token_count_text(count), text);
        }
        for (usd, text) in [(0.0, "$0.00"), (0.0042, "$0.0042"), (1.234, "$1.23")] {
            assert_eq!(format_dollars(usd), text);
        }
        assert_eq!([count_text(1, "file"), count_text(2, "file")], ["1 file", "2 files"]);
    }

    #[test]
    fn l4_a_budget_without_a_price_shows_no_sum() {
        let at = |limit, value, max| {
            limit_text(&LimitReached { limit, level: LimitLevel::Hard, value, max })
        };
        let unknown = at(LimitName::BudgetUsd, f64::from(u32::MAX), 0.5);
        assert_eq!(unknown, "budget_usd: the price is unknown, and the budget is 0.5");
        assert_eq!(at(LimitName::BudgetUsd, 0.75, 0.5), "budget_usd: 0.75 of 0.5");
        let day = at(LimitName::DayUsd, f64::from(u32::MAX), 5.0);
        assert_eq!(day, "day_usd: the price is unknown, and the budget is 5");
        assert_eq!(at(LimitName::MaxIterations, 6.0, 10.0), "max_iterations: 6 of 10");
    }

    #[test]
    fn z10_what_others_wrote_is_one_safe_line() {
        assert_eq!(one_line("a\u{1b}[2Jb\n\n c\u{202E}"), "a<U+001B>[2Jb c<U+202E>");
        assert_eq!(to_sentence("it broke"), "it broke.");
        assert_eq!(decision_text(Decision::Deny, "ada", Some(" \n")), "Denied by ada");
        let always = "Always allowed in this project by ada";
        assert_eq!(decision_text(Decision::Always, "ada", None), always);
        assert_eq!(decision_text(Decision::Deny, "a\u{7}", Some("no")), "Denied by a<U+0007>: no");
    }
}
