//! A journal as people read it in a scenario: one line a fact, what varies from run to run left
//! out.

use weir_core::event::{Event, LineTarget, MemoryProposed, MemoryWritten};
use weir_core::governance::GateName;
use weir_core::governance::label::Taint;
use weir_core::governance::way_out::WayOut;
use weir_core::ids::CallId;
use weir_core::message::{MessageBlock, plain_text};
use weir_core::tool::ResultEffect;
use weir_engine::hub::PublishedFact;

use crate::play::Played;

/// Characters of a text that are shown.
const TEXT_MAX: usize = 72;

/// The whole journal. Calls that ran beside each other are told one after the other, since the
/// order in which they came back is chance.
pub fn journal(played: &Played) -> String {
    let mut text = told(&played.facts);
    for (agent, left) in &played.agents {
        text.push_str(&format!("\n{agent}\n"));
        text.extend(told(&left.facts).lines().map(|line| format!("  {line}\n")));
    }
    text.replace(&played.folder, "…")
}

fn told(facts: &[PublishedFact]) -> String {
    in_order(facts).iter().map(|fact| format!("{}\n", line(&fact.event))).collect()
}

/// The facts in the one order that is no chance: those of calls that ran beside each other stand
/// call after call.
pub fn in_order(facts: &[PublishedFact]) -> Vec<&PublishedFact> {
    let mut ordered: Vec<&PublishedFact> = facts.iter().collect();
    for beside in ordered.chunk_by_mut(|a, b| call(&a.event).is_some() && call(&b.event).is_some())
    {
        beside.sort_by_key(|fact| call(&fact.event));
    }
    ordered
}

/// The call that a fact between proposal and result is about.
fn call(event: &Event) -> Option<CallId> {
    match event {
        Event::CallJudged(f) => Some(f.call),
        Event::ApprovalRequested(f) => Some(f.call),
        Event::ApprovalResolved(f) => Some(f.call),
        Event::CheckpointTaken(f) => Some(f.call),
        Event::CallStarted(f) => Some(f.call),
        Event::CallFinished(f) => Some(f.call),
        Event::AgentSpawned(f) => Some(f.call),
        Event::AgentAsked(f) => Some(f.call),
        Event::AgentAnswered(f) => Some(f.call),
        Event::AgentFinished(f) => Some(f.call),
        _ => None,
    }
}

fn short(text: &str) -> String {
    let flat = text.replace('\n', " ⏎ ");
    let cut: String = flat.chars().take(TEXT_MAX).collect();
    if cut.len() < flat.len() { format!("{cut}…") } else { cut }
}

/// The steps of a call that worked by other tools.
fn steps(news: &[ResultEffect]) -> String {
    let step = |news: &ResultEffect| match news {
        ResultEffect::Step { tool, ok, .. } => {
            Some(format!("{tool} {}", if *ok { "ok" } else { "error" }))
        }
        _ => None,
    };
    let steps: Vec<String> = news.iter().filter_map(step).collect();
    if steps.is_empty() { String::new() } else { format!(" · steps: {}", steps.join(", ")) }
}

fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// The kind of a way out, as the journal names it.
fn way_word(way: &WayOut) -> String {
    let change = serde_json::to_value(&way.change).unwrap_or_default();
    let asks = if way.asks { " (asks)" } else { "" };
    format!("{}{asks}", change["way"].as_str().unwrap_or_default())
}

fn calls(content: &[MessageBlock]) -> String {
    let call = |block: &MessageBlock| match block {
        MessageBlock::Call(call) => Some(format!("{} {}", call.call, call.tool)),
        MessageBlock::Image { .. } => Some("image".into()),
        _ => None,
    };
    content.iter().filter_map(call).collect::<Vec<_>>().join(", ")
}

/// One fact.
#[expect(clippy::too_many_lines, reason = "one exhaustive match, a line for each kind of fact")]
pub fn line(event: &Event) -> String {
    let rest = match event {
        Event::SessionOpened(f) => {
            format!("{} · {} · {} tools", f.profile, f.permission, f.tools.len())
        }
        Event::SessionConfigured(f) => f.reason.clone(),
        Event::SessionResumed(_) => String::new(),
        Event::InputAccepted(f) => {
            let mut line = format!("{} · {}", f.input, short(&plain_text(&f.content)));
            f.added.iter().for_each(|added| line.push_str(&format!(" · with {}", added.source)));
            line
        }
        Event::InputWithdrawn(f) => f.input.to_string(),
        Event::RunStarted(f) => format!("{} · {}", f.run, word(&f.trigger)),
        Event::SceneSeen(f) => {
            f.notes.iter().map(|note| note.section.clone()).collect::<Vec<_>>().join(", ")
        }
        Event::TurnStarted(f) => {
            let inputs: Vec<String> = f.inputs.iter().map(ToString::to_string).collect();
            let which = match f.recipe {
                true => "recipe".to_string(),
                false => format!("iteration {}", f.iteration),
            };
            format!("{} · {which} · {}", f.turn, inputs.join(", "))
        }
        Event::ModelRequested(f) => match &f.prefix_lost {
            Some(why) => format!("{} · prefix lost: {}", f.turn, short(why)),
            None => f.turn.to_string(),
        },
        Event::ModelRetried(f) => {
            format!(
                "{} · attempt {} · {} · {}",
                f.turn,
                f.attempt,
                word(&f.class),
                short(&f.message)
            )
        }
        Event::ModelFailed(f) => {
            let next: String = f.next.iter().map(|next| format!(" · next {next}")).collect();
            format!("{} · {} · {}{next}", f.turn, word(&f.class), short(&f.message))
        }
        Event::ModelSwitched(f) => match &f.refused {
            Some(why) => format!("{} refused · {}", f.model, short(why)),
            None => {
                format!("{} · from {} · {} · {}", f.model, f.from, word(&f.cause), short(&f.reason))
            }
        },
        Event::ModelReplied(f) => {
            let repaired: String =
                f.repaired.iter().map(|words| format!(" · {}", short(words))).collect();
            format!(
                "{} · {} · {} · {}{repaired}",
                f.turn,
                word(&f.stop),
                short(&plain_text(&f.content)),
                calls(&f.content)
            )
        }
        Event::ImageProduced(f) => {
            let path = f.path.as_deref().map(|path| format!(" · {path}"));
            format!("{} · {}{}", f.turn, f.media_type, path.unwrap_or_default())
        }
        Event::HistoryQuarantined(f) => format!("{} · {}", f.turn, short(&f.message)),
        Event::ToolsRefused(f) => format!("{} · {} · {}", f.turn, f.model, short(&f.message)),
        Event::CallProposed(f) => {
            let step = f.of.map(|of| format!(" · step {} of {of}", f.step.unwrap_or_default()));
            let step = step.unwrap_or_default();
            format!("{}{step} · {} {}", f.call, f.tool, short(&f.input.to_string()))
        }
        Event::CallJudged(f) => {
            let gate = f.gate.as_ref().map_or("", GateName::as_str);
            let rule = f.rule.as_deref().unwrap_or("");
            let leases: String =
                f.leases.iter().map(|lease| format!(" · uses lease {lease}")).collect();
            let ways: String =
                f.ways.iter().map(|way| format!(" · way {}", way_word(way))).collect();
            format!("{} · {} · {gate} · {}{leases}{ways}", f.call, word(&f.verdict), short(rule))
        }
        Event::ApprovalRequested(f) => {
            let told: Vec<String> = f.unknown.iter().map(ToString::to_string).collect();
            let told = match told.is_empty() {
                true => String::new(),
                false => format!(" · tells of {}", told.join(", ")),
            };
            let grant = f.grant.as_ref().map(|grant| format!(" · grants {}", grant.name));
            let often = if f.often { " · often" } else { "" };
            let offers = format!("{}{often}", grant.unwrap_or_default());
            let lines: String = f
                .lines
                .iter()
                .map(|line| {
                    let target = |one: &LineTarget| format!(" → {} ({})", one.to, word(&one.from));
                    let targets: String = line.reaches.iter().map(target).collect();
                    format!(" · {} {}{targets}", line.call, line.tool)
                })
                .collect();
            format!("{} · {}{told}{offers}{lines}", f.call, short(&f.summary))
        }
        Event::ApprovalResolved(f) => {
            let reason = f.reason.as_deref().unwrap_or("");
            format!("{} · {} · by {} · {reason}", f.call, word(&f.decision), f.by)
        }
        Event::LeaseRevoked(f) => format!("{} · by {}", f.lease, f.by),
        Event::CheckpointTaken(f) => format!("{} · {}", f.call, f.paths.join(", ")),
        Event::CheckpointRestored(f) => {
            format!("{} · {}", f.paths.join(", "), f.conflicts.join(", "))
        }
        Event::WorkspaceMerged(f) => f.paths.join(", "),
        Event::CallStarted(f) => f.call.to_string(),
        Event::CallReconciled(f) => format!("{} · {}", f.call, f.evidence),
        Event::CallFinished(f) => {
            let how = if f.ok { "ok" } else { "error" };
            let file = f.externalized.as_deref().map(|_| " · externalised").unwrap_or_default();
            let by = if f.confirmed { " · confirmed" } else { "" };
            let marks = f.marks.as_deref().map(|from| format!(" · marked: {from}"));
            let marks = marks.unwrap_or_default();
            let label = match f.label.taint() {
                Taint::Clean => String::new(),
                taint => format!(" · {}", taint.as_str()),
            };
            let steps = steps(&f.news);
            format!("{} · {how}{by}{file}{marks}{label} · {}{steps}", f.call, short(&f.summary))
        }
        Event::CallUnknown(f) => format!("{} · {}", f.call, short(&f.reason)),
        Event::QuestionAsked(f) => {
            format!("{} · {} · {}", f.call, short(&f.text), f.options.join(", "))
        }
        Event::QuestionAnswered(f) => {
            format!("{} · by {}", f.answer.as_deref().unwrap_or("nothing"), f.by)
        }
        Event::PlanUpdated(f) => f
            .items
            .iter()
            .map(|i| format!("{} {}", word(&i.status), i.text))
            .collect::<Vec<_>>()
            .join(", "),
        Event::OutputChecked(f) if f.kept_going.is_some() => {
            short(f.kept_going.as_deref().unwrap_or_default())
        }
        Event::OutputChecked(f) => match (&f.output, &f.mismatch) {
            (Some(output), _) => short(&output.to_string()),
            (None, mismatch) => short(mismatch.as_deref().unwrap_or("")),
        },
        Event::AgentSpawned(f) => {
            let place = if f.worktree.is_some() { " · worktree" } else { "" };
            let tools = f.tools.len();
            format!(
                "{} · {} · depth {} · {} · {tools} tools{place} · {}",
                f.call,
                f.profile,
                f.depth,
                f.permission,
                short(&f.task)
            )
        }
        Event::AgentAsked(f) => {
            format!("{} · {} · {}", f.call, f.path.join(" > "), short(&f.request.summary))
        }
        Event::AgentAnswered(f) => format!("{} · {} · by {}", f.call, word(&f.decision), f.by),
        Event::AgentFinished(f) => {
            let error = f.error.as_deref().map(|e| format!(" · error: {}", short(e)));
            let denied = f.denials.iter().map(|d| format!(" · denied {} by {}", d.call, d.by));
            format!(
                "{} · {} · {}{}{} · {}",
                f.call,
                weir_engine::ledger::status_text(f.status),
                short(&f.text),
                error.unwrap_or_default(),
                denied.collect::<String>(),
                f.changed_files.join(", ")
            )
        }
        Event::LimitReached(f) => {
            format!("{} · {} · {} of {}", f.limit, word(&f.level), f.value, f.max)
        }
        Event::AlertRaised(f) => format!("{} · {}", f.alert, short(&f.detail)),
        Event::CancelRequested(f) => format!("{} · by {}", word(&f.cause), f.by),
        Event::RunPaused(f) => format!("by {}", f.by),
        Event::RunResumed(f) => format!("by {}", f.by),
        Event::ProfileSwitched(f) => {
            format!("{} · from {} · {}", f.profile, f.from, short(&f.reason))
        }
        Event::ContextCondensing(f) if f.cut.is_some() => format!("{} · cut", word(&f.reason)),
        Event::ContextCondensing(f) => match &f.keep {
            Some(keep) => format!("{} · keep: {}", word(&f.reason), short(keep.as_str())),
            None => word(&f.reason),
        },
        Event::ContextSummarised(f) => match (&f.summary, &f.failed) {
            (Some(summary), _) => short(summary),
            (None, Some(why)) => format!("failed: {}", short(why)),
            (None, None) => String::new(),
        },
        Event::ContextCondensed(f) => {
            format!(
                "{} · pass {} · through {} · kept {}",
                word(&f.reason),
                f.pass,
                f.through,
                f.kept
            )
        }
        Event::ContextUncondensed(f) => format!("by {}", f.by),
        Event::ContextRecalled(f) => {
            format!("{} · {} · {} passages", f.call, short(&f.words), f.passages.len())
        }
        Event::RecipeMatched(f) => {
            let fast = if f.fast { " · fast" } else { "" };
            format!("{}{fast} · {} of {}", f.recipe, f.successes, f.successes + f.failures)
        }
        Event::RecipePlanned(f) => match &f.failed {
            Some(why) => format!("{} · failed: {}", f.recipe, short(why)),
            None => {
                let tools: Vec<&str> = f.calls.iter().map(|call| call.tool.as_str()).collect();
                format!("{} · {}", f.recipe, tools.join(", "))
            }
        },
        Event::RecipeStepped(f) => {
            let calls: Vec<String> =
                f.calls.iter().map(|call| format!("{} {}", call.call, call.tool)).collect();
            format!("{} · {} · step {} · {}", f.turn, f.recipe, f.step, calls.join(", "))
        }
        Event::RecipeFallback(f) => {
            let step = f.step.map(|step| format!(" · step {step}")).unwrap_or_default();
            format!("{}{step} · {}", f.recipe, short(&f.reason))
        }
        Event::SteeringReminded(f) => format!("iteration {} · {}", f.iteration, short(&f.text)),
        Event::SkillActivated(f) => format!("{} · {} · by {}", f.skill, f.source, f.by),
        Event::MemoryProposed(MemoryProposed { note })
        | Event::MemoryWritten(MemoryWritten { note }) => {
            let label = match note.label.taint() {
                Taint::Clean => String::new(),
                taint => format!(" · {}", taint.as_str()),
            };
            format!("{} · by {}{label} · {}", word(&note.kind), note.by, short(&note.text))
        }
        Event::HelperAsked(f) => f.work.clone(),
        Event::RunRemembered(f) => {
            format!(
                "{} facts{}",
                f.memories.len(),
                f.failed
                    .as_deref()
                    .map(|why| format!(" · failed: {}", short(why)))
                    .unwrap_or_default()
            )
        }
        Event::RunFinished(f) => {
            let error =
                f.error.as_deref().map(|e| format!(" · error: {}", short(e))).unwrap_or_default();
            let denials: Vec<String> =
                f.denials.iter().map(|d| format!(" · denied {} by {}", d.call, d.by)).collect();
            let changed = f.changed_files.join(", ");
            let status = weir_engine::ledger::status_text(f.status);
            let recipe = f.recipe.as_ref().map(|used| {
                let way = if used.fast { "fast " } else { "" };
                let how = if used.ok { "worked" } else { "did not work" };
                format!(" · {way}{} {how}", used.recipe)
            });
            format!(
                "{} · {status} · {}{error}{}{} · {changed}",
                f.run,
                short(&f.text),
                denials.join(""),
                recipe.unwrap_or_default()
            )
        }
    };
    let line = format!("{:<20} {rest}", event.kind());
    line.trim_end().trim_end_matches('·').trim_end().to_string()
}
