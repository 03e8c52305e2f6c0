//! What a headless run shows: progress on standard error, the answer or the events on standard
//! output (C2, L17). Folds events and holds nothing else.

use serde_json::json;
use weir_core::event::{Event, RunFinished, RunStatus};
use weir_core::governance::GateName;
use weir_core::governance::filter::one_line;
use weir_core::ids::SessionId;
use weir_core::view::plain::visible_text;
use weir_core::view::told::{describe_fact, limit_text, stopped_by};
use weir_core::view::transcript::{CallStage, PlacedFact, Transcript};
use weir_core::view::wire;
use weir_engine::engine::EngineError;
use weir_engine::hub::{PublishedFact, SignalKind};
use weir_engine::ledger::status_text;

use crate::command::current_timestamp;
use crate::options::OutputFormat;
use crate::terminal;

/// Changed files that are named.
const CHANGED_NAMED_MAX: usize = 8;

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub(in crate::command) struct OutputOptions {
    /// What stands on standard output.
    pub(in crate::command) output: OutputFormat,
    /// Signals too.
    pub(in crate::command) deltas: bool,
    /// No progress.
    pub(in crate::command) quiet: bool,
    /// The session is still there afterwards.
    pub(in crate::command) resumable: bool,
}

/// The face of one run.
pub(in crate::command) struct HeadlessOutput {
    shown: OutputOptions,
    session: SessionId,
    seen: Transcript,
}

impl HeadlessOutput {
    /// `seen`: what was there before.
    pub(in crate::command) fn new(
        shown: OutputOptions,
        session: SessionId,
        seen: Transcript,
    ) -> HeadlessOutput {
        HeadlessOutput { shown, session, seen }
    }

    fn print_progress(&self, text: &str) {
        if !self.shown.quiet {
            terminal::err_line(text);
        }
    }

    /// Says which session it is.
    pub(in crate::command) fn announce_session(&self) {
        self.print_progress(&format!("session {}", self.session));
    }

    /// Shows a durable fact.
    pub(in crate::command) fn show_fact(&mut self, fact: &PublishedFact) -> anyhow::Result<()> {
        let at = PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() };
        self.seen.apply(&at);
        if self.shown.output == OutputFormat::Jsonl {
            let ended = match fact.event.as_ref() {
                Event::RunFinished(_) => self.seen.last_run_end(),
                _ => None,
            };
            let event = ended.map_or(&fact.event, |end| end.fact.shared_event());
            return terminal::out_line(&wire::fact_text(&self.session, fact.seq, fact.ts, event));
        }
        if let Some(line) = progress_line(&fact.event, &self.seen) {
            self.print_progress(&line);
        }
        Ok(())
    }

    /// Shows a signal, where signals are wanted.
    pub(in crate::command) fn show_signal(
        &self,
        kind: SignalKind,
        subject: &str,
        text: &str,
    ) -> anyhow::Result<()> {
        if self.shown.output != OutputFormat::Jsonl || !self.shown.deltas {
            return Ok(());
        }
        let (kind, subject_field) = kind.wire_names();
        terminal::out_line(&wire::streamed_signal_text(&wire::StreamedSignal {
            session: &self.session,
            // It carries no moment of its own: it is shown when it comes.
            ts: current_timestamp(),
            kind,
            subject_field,
            subject,
            text,
        }))
    }

    /// The run's end, once nothing waits to be taken any more.
    pub(in crate::command) fn at_rest(&self) -> Option<RunFinished> {
        let end = self.seen.last_run_end().filter(|_| !self.seen.has_untold_input())?;
        Some((*end.fact).clone())
    }

    /// Shows that the session went down and its end could not be written down: programs are told
    /// with the object that they wait for, which has no number because no journal has it (C2).
    pub(in crate::command) fn show_engine_error(&self, error: &EngineError) -> anyhow::Result<()> {
        if self.shown.resumable && matches!(error, EngineError::Store(_)) {
            self.print_progress(&format!(
                "everything confirmed so far is saved; once that is fixed: weir run --resume {}",
                self.session
            ));
        }
        if matches!(self.shown.output, OutputFormat::Text) || self.seen.last_run_end().is_some() {
            return Ok(());
        }
        let fields = json!({
            "status": "failed", "text": "", "error": error.to_string(), "denials": [],
            "changed_files": [],
        });
        terminal::out_line(
            &wire::signal_json(&self.session, current_timestamp(), "run.finished", fields)
                .to_string(),
        )
    }

    /// Shows how it ended.
    pub(in crate::command) fn show_run_end(
        &mut self,
        finished: &RunFinished,
    ) -> anyhow::Result<()> {
        if let Some(error) = &finished.error {
            // A failure is told also when progress is not wanted.
            terminal::err_message(&stopped_by(finished).unwrap_or_else(|| error.clone()));
        }
        let cost = finished.cost_usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
        self.print_progress(&format!(
            "{}: {} model calls, {} tool calls, {} tokens{cost}",
            status_text(finished.status),
            finished.iterations,
            finished.tool_calls,
            finished.usage.total_tokens(),
        ));
        if !finished.changed_files.is_empty() {
            let session = self.shown.resumable.then_some(&self.session);
            self.print_progress(&changed_files_line(&finished.changed_files, session));
        }
        if !finished.marked_files.is_empty() {
            let files = finished.marked_files.join(", ");
            self.print_progress(&format!(
                "check these files before you use them; they were written while outside content \
                 and private data were in the context: {files} (weir permissions marks)"
            ));
        }
        for denial in &finished.denials {
            let what = if denial.summary.is_empty() { &denial.tool } else { &denial.summary };
            self.print_progress(&format!("denied: {what} (by {}: {})", denial.by, denial.reason));
        }
        if self.shown.resumable {
            let how = match finished.status {
                RunStatus::NeedsInput => "answer or allow it, and continue",
                _ => "continue",
            };
            self.print_progress(&format!("{how}: weir run --resume {} \"…\"", self.session));
        }
        match self.shown.output {
            OutputFormat::Text if finished.text.is_empty() => Ok(()),
            OutputFormat::Text => terminal::out_line(&finished.text),
            OutputFormat::Jsonl => Ok(()),
            OutputFormat::Json => match self.seen.last_run_end() {
                Some(at) => {
                    let line =
                        wire::fact_json(&self.session, at.seq, at.ts, at.fact.shared_event());
                    terminal::out_line(&line.to_string())
                }
                None => Ok(()),
            },
        }
    }
}

/// The line about changed files: some of them, how many more, and how they are taken back where the
/// session is there to do it.
fn changed_files_line(files: &[String], session: Option<&SessionId>) -> String {
    let named: Vec<String> =
        files.iter().take(CHANGED_NAMED_MAX).map(|one| visible_text(one)).collect();
    let more = files.len() - named.len();
    let mut text = format!("changed: {}", named.join(", "));
    match (more, session) {
        (0, Some(session)) => text += &format!(" (to undo: weir undo {session})"),
        (0, None) => (),
        (more, None) => text += &format!(" and {more} more"),
        (more, Some(session)) => {
            text +=
                &format!(" and {more} more (to undo: weir undo {session}; --dry-run lists them)");
        }
    }
    text
}

/// One line of progress, where a fact deserves one. Everything that a model or file wrote is
/// stripped of control characters.
fn progress_line(event: &Event, seen: &Transcript) -> Option<String> {
    Some(match event {
        Event::ModelReplied(f) => {
            let text = weir_core::message::plain_text(&f.content);
            let calls =
                f.content.iter().any(|b| matches!(b, weir_core::message::MessageBlock::Call(_)));
            if text.trim().is_empty() || !calls {
                return None;
            }
            one_line(&text)
        }
        Event::ModelRetried(f) => {
            format!("retry {} in {} ms: {}", f.attempt, f.wait_ms, one_line(&f.message))
        }
        // The end of the run carries the words of a failure that nobody goes on after.
        Event::ModelFailed(f) if f.next.is_some() => format!("model: {}", one_line(&f.message)),
        Event::CallJudged(f) => match f.verdict {
            weir_core::governance::Verdict::Allow => return None,
            verdict => {
                let verdict =
                    if verdict == weir_core::governance::Verdict::Ask { "ask" } else { "deny" };
                let gate = f.gate.as_ref().map_or("", GateName::as_str);
                let rule = f.rule.as_deref().unwrap_or("");
                format!("  {} {verdict} by {gate} {}", f.call, one_line(rule))
            }
        },
        Event::CallProposed(f) => {
            let step = f.of.map(|of| format!("step {} of {of}: ", f.step.unwrap_or_default()));
            let step = step.unwrap_or_default();
            format!("  {} {step}{} {}", f.call, f.tool, one_line(&f.input.to_string()))
        }
        // What a command will change is known afterwards.
        Event::CheckpointTaken(f) if f.paths.is_empty() => {
            format!("  {} saved first: the workspace", f.call)
        }
        Event::CheckpointTaken(f) => {
            format!("  {} saved first: {}", f.call, one_line(&f.paths.join(", ")))
        }
        Event::CallFinished(f) => {
            let mark = match seen.find_call(f.call).map(|entry| entry.stage) {
                Some(CallStage::Done) => "ok",
                Some(stage) => stage.stage_words(),
                // It was asked for before this run.
                None if f.ok => "ok",
                None => CallStage::Failed.stage_words(),
            };
            format!("  {} {mark}: {}", f.call, one_line(&f.summary))
        }
        Event::CallUnknown(f) => format!("  {} outcome unknown: {}", f.call, one_line(&f.reason)),
        Event::QuestionAsked(f) => format!("question: {}", one_line(&f.text)),
        Event::AgentSpawned(_)
        | Event::AgentAsked(_)
        | Event::AgentAnswered(_)
        | Event::AgentFinished(_) => return about_agent(event),
        Event::LimitReached(f) => format!("limit {}", limit_text(f)),
        Event::HistoryQuarantined(f) => {
            format!("an attachment was withheld: {}", one_line(&f.message))
        }
        Event::ToolsRefused(_) => format!("model: {}", describe_fact(event)?.1),
        Event::PlanUpdated(f) => {
            let done = f.items.iter().filter(|i| i.status == weir_core::tool::PlanStatus::Done);
            format!("  tasks: {} of {} done", done.count(), f.items.len())
        }
        Event::SessionResumed(f) if f.run.is_some() => "continuing where it stopped".into(),
        event => return about_context(event),
    })
}

/// What happened to what the model is told: never silent, because it costs or changes answers.
fn about_context(event: &Event) -> Option<String> {
    Some(match event {
        Event::ContextCondensing(f) => {
            let keep = f.keep.as_ref().map(|keep| one_line(keep.as_str()));
            let keep = keep.map_or_else(String::new, |keep| format!("; keeping: {keep}"));
            format!("condensing: the next request would have about {} tokens{keep}", f.tokens)
        }
        Event::ContextSummarised(f) => {
            format!("  no summary: {}", one_line(f.failed.as_deref()?))
        }
        Event::ContextCondensed(f) => format!(
            "  condensed: {} messages up to {} ({} to {} tokens)",
            f.hidden, f.through, f.tokens_before, f.tokens_after
        ),
        Event::ProfileSwitched(f) => format!("profile {} ({})", f.profile, one_line(&f.reason)),
        Event::ModelSwitched(_) => format!("model: {}", describe_fact(event)?.1),
        Event::RunPaused(_) | Event::RunResumed(_) => describe_fact(event)?.1,
        Event::SkillActivated(f) => format!("skill {} ({}) by {}", f.skill, f.source, f.by),
        Event::MemoryProposed(f) => {
            format!("  memory {} waits in the inbox: {}", f.note.memory, one_line(&f.note.text))
        }
        Event::MemoryWritten(f) => format!("  remembered: {}", one_line(&f.note.text)),
        event => return about_recipe(event),
    })
}

/// What sub-agents do (M6). Their own journals have the rest.
fn about_agent(event: &Event) -> Option<String> {
    Some(match event {
        Event::AgentSpawned(f) => {
            format!("  {} agent {}: {}", f.call, f.profile, one_line(&f.task))
        }
        Event::AgentAsked(f) => {
            let path = f.path.join(" > ");
            format!("  {} agent {path} asks: {}", f.call, one_line(&f.request.summary))
        }
        Event::AgentFinished(f) => format!(
            "  {} agent {}: {} tokens (weir sessions show {})",
            f.call,
            status_text(f.status),
            f.usage.total_tokens(),
            f.agent
        ),
        _ => return None,
    })
}

/// Which recipe runs and how to stop it (L16).
fn about_recipe(event: &Event) -> Option<String> {
    Some(match event {
        Event::RecipeMatched(f) => {
            let uses = f.successes.saturating_add(f.failures);
            let how = if f.fast { "is used" } else { "fits" };
            let (name, stop) = (one_line(&f.name), one_line(&f.stop));
            format!("recipe {name} {how} (worked {} of {uses} times). {stop}", f.successes)
        }
        Event::RecipePlanned(f) if f.failed.is_none() => {
            let tools: Vec<&str> = f.calls.iter().map(|call| call.tool.as_str()).collect();
            format!("  steps: {}", one_line(&tools.join(", ")))
        }
        Event::RecipeFallback(f) => {
            let step = f.step.map(|step| format!(" at step {step}")).unwrap_or_default();
            let reason = one_line(&f.reason);
            format!("recipe {} is abandoned{step}: {reason}. Continuing without it.", f.recipe)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use weir_core::event::{RecipeFallback, RecipeMatched, RecipePlanned};
    use weir_core::model::Usage;

    use super::*;

    #[test]
    fn c2_many_changed_files_are_counted_and_not_listed() {
        let files = |count: usize| (0..count).map(|n| format!("f{n}")).collect::<Vec<_>>();
        let session = SessionId::new("0198");
        assert_eq!(
            changed_files_line(&files(2), Some(&session)),
            "changed: f0, f1 (to undo: weir undo 0198)"
        );
        assert_eq!(changed_files_line(&files(2), None), "changed: f0, f1");
        let eight = "changed: f0, f1, f2, f3, f4, f5, f6, f7";
        assert_eq!(changed_files_line(&files(8), None), eight);
        assert_eq!(changed_files_line(&files(60), None), format!("{eight} and 52 more"));
        assert_eq!(
            changed_files_line(&files(60), Some(&session)),
            format!("{eight} and 52 more (to undo: weir undo 0198; --dry-run lists them)")
        );
    }

    #[test]
    fn z10_a_changed_file_is_named_with_every_letter_that_it_has() {
        let files = ["a\u{200b}b\u{202e}c".to_owned(), "x\ny".to_owned()];
        assert_eq!(changed_files_line(&files, None), "changed: a<U+200B>b<U+202E>c, x<U+000A>y");
    }

    #[test]
    fn l16_it_says_which_recipe_runs_and_how_to_stop_it() {
        let seen = Transcript::default();
        let matched = |fast| RecipeMatched {
            recipe: "weekly".into(),
            name: "Weekly\u{1b}[31m review".into(),
            score: 0.9,
            fast,
            successes: 3,
            failures: 1,
            stop: "To stop it, cancel the run.".into(),
        };
        let line = progress_line(&matched(true).into(), &seen).expect("a line");
        assert!(line.contains("is used (worked 3 of 4 times). To stop it, cancel"), "{line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
        assert!(
            progress_line(&matched(false).into(), &seen)
                .expect("a line")
                .contains("review fits (worked 3")
        );
        let fallback =
            RecipeFallback { recipe: "weekly".into(), step: Some(2), reason: "no\nfile".into() };
        let line = progress_line(&fallback.into(), &seen).expect("a line");
        assert_eq!(line, "recipe weekly is abandoned at step 2: no file. Continuing without it.");
        let failed = RecipePlanned {
            recipe: "weekly".into(),
            calls: Vec::new(),
            failed: Some("no plan".into()),
            usage: Usage::default(),
            cost_usd: None,
        };
        assert_eq!(progress_line(&failed.into(), &seen), None, "the fallback says why");
    }
}
