//! `weir context`: what a request is made of, how full the window is, and the context made shorter
//! or longer by hand (P6, X2, X6). Not here: when the engine does it by itself.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::event::{CondenseReason, ContextCondensed, Event, MessageOrigin};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::input::PersonCommand;
use weir_core::prompt::{self, RenderedSection};
use weir_core::session::condense::{CondensePreview, KeepRequest};
use weir_core::session::meter::ContextMeter;
use weir_core::session::{Session, SessionConfig};
use weir_core::view::plain::visible_text;
use weir_core::view::visible::grouped_number;
use weir_engine::engine::visit_records;
use weir_engine::hub::SessionUpdate;
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;
use weir_engine::scene::{self, SceneRequest};
use weir_install::context::InstallationContext;
use weir_install::session_ids;
use weir_install::wiring::{self, SessionOverrides};

use crate::command::approvals::fold::load_session;
use crate::command::current_timestamp;
use crate::failure::{engine_failure, exit, failure_with_status, usage};
use crate::options::ContextArgs;
use crate::terminal::{out_json, out_line};

/// Bytes of a token, roughly, where no vendor has counted yet.
const BYTES_PER_TOKEN: usize = 4;
/// Cells of the bar.
const BAR: u64 = 48;

/// Shows, previews, condenses or takes back.
pub(crate) async fn run_context_command(
    cx: &InstallationContext,
    args: ContextArgs,
) -> anyhow::Result<ExitCode> {
    let Some(text) = &args.session else {
        if args.preview || args.condense || args.undo {
            return Err(usage("name a session: weir context SESSION (or `last`)"));
        }
        return show_new_session_context(cx, &args).await;
    };
    let store = cx.local_store()?;
    let id = session_ids::find_session_id(store.as_ref(), text).await?;
    if args.condense || args.undo {
        return change_session_context(cx, store.as_ref(), id, &args).await;
    }
    let story = CondensingHistory::read_from_store(store.as_ref(), &id).await?;
    if args.preview {
        let preview = story.session.condense_preview();
        let preview = preview.ok_or_else(|| usage(NOTHING_OLD))?;
        if args.json {
            out_json(&preview_json(&preview))?;
        } else {
            out_line(&preview_text(&preview))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let meter = story.session.meter();
    if args.json {
        out_json(&story.json(&meter))?;
    } else {
        out_line(&story.context_text(&meter))?;
    }
    Ok(ExitCode::SUCCESS)
}

const NOTHING_OLD: &str =
    "there is nothing to condense: the last two turns are always kept unchanged";

/// The prompt that a new session of this folder would begin with.
async fn show_new_session_context(
    cx: &InstallationContext,
    args: &ContextArgs,
) -> anyhow::Result<ExitCode> {
    let wishes = SessionOverrides {
        model: args.model.clone(),
        profile: args.profile.clone(),
        ..SessionOverrides::default()
    };
    let options = wiring::session_options(cx, &wishes, None).await?;
    let now = current_timestamp();
    let scene =
        scene::gather_scene(&options.scene, &options.workspace, now, &SceneRequest::default());
    let sections = prompt::fitted_sections(&scene);
    let config = &options.config;
    let tokens = |text: &str| text.len() / BYTES_PER_TOKEN;
    let tools = prompt::tool_bytes(&config.tools) / BYTES_PER_TOKEN;
    if args.json {
        let row = |section: &RenderedSection| json!({ "section": section.name, "tokens": tokens(&section.text) });
        out_json(&json!({
            "model": config.model.model.to_string(),
            "window": config.model.window,
            "profile": config.profile.name,
            "sections": sections.iter().map(row).collect::<Vec<_>>(),
            "tools": tools,
            "loaded": config.tools.len(),
            "deferred": config.deferred.len(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!(
        "A new session in this folder: model {}, window {}, profile {}\n\n",
        config.model.model,
        window_text(config.model.window),
        config.profile.name
    );
    let mut all = tools;
    for section in &sections {
        all += tokens(&section.text);
        let _ = writeln!(
            text,
            "{:<16} {:>8}",
            section.name,
            format_token_count(tokens(&section.text) as u64)
        );
    }
    let _ = writeln!(
        text,
        "{:<16} {:>8}  ({} loaded, {} by name)",
        "tool schemas",
        format_token_count(tools as u64),
        config.tools.len(),
        config.deferred.len()
    );
    let _ =
        writeln!(text, "{:<16} {:>8} tokens, about", "together", format_token_count(all as u64));
    text.push_str("\n`weir run --dry-run` prints the texts; `weir context last` shows a session.");
    out_line(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn window_text(window: u64) -> String {
    if window == 0 { "not known".into() } else { format!("{} tokens", format_token_count(window)) }
}

fn format_token_count(number: u64) -> String {
    grouped_number(usize::try_from(number).unwrap_or(usize::MAX))
}

/// A session and what was condensed in it.
struct CondensingHistory {
    session: Session,
    condensed: Vec<(Seq, Timestamp, ContextCondensed)>,
    taken_back: usize,
}

impl CondensingHistory {
    async fn read_from_store(
        store: &dyn Store,
        id: &SessionId,
    ) -> anyhow::Result<CondensingHistory> {
        let session = load_session(store, id).await?;
        let mut story = CondensingHistory { session, condensed: Vec::new(), taken_back: 0 };
        let read = visit_records(store, id, 1, |record| {
            if !matches!(record.kind.as_str(), "context.condensed" | "context.uncondensed") {
                return Ok(ControlFlow::Continue(()));
            }
            let fact = fact_of(record)?;
            match fact.event.as_ref() {
                Event::ContextCondensed(f) => story.condensed.push((fact.seq, fact.ts, f.clone())),
                Event::ContextUncondensed(_) => story.taken_back += 1,
                _ => (),
            }
            Ok(ControlFlow::<()>::Continue(()))
        });
        read.await?;
        Ok(story)
    }

    fn session_config(&self) -> Option<&SessionConfig> {
        self.session.config().map(AsRef::as_ref)
    }

    fn json(&self, meter: &ContextMeter) -> Value {
        let row = |(seq, ts, f): &(Seq, Timestamp, ContextCondensed)| {
            json!({
                "seq": seq, "ts": ts, "reason": f.reason, "pass": f.pass, "hidden": f.hidden,
                "through": f.through, "tokens_before": f.tokens_before,
                "tokens_after": f.tokens_after,
            })
        };
        let told = self.session.told_sections();
        let section = |(name, text): (&String, &String)| json!({ "section": name, "tokens": text.len() / BYTES_PER_TOKEN });
        json!({
            "session": self.session.id(),
            "model": self.session_config().map(|config| config.model.model.to_string()),
            "meter": meter,
            "told": told.iter().map(section).collect::<Vec<_>>(),
            "skills": self.session.active_skills().keys().collect::<Vec<_>>(),
            "condensed": self.condensed.iter().map(row).collect::<Vec<_>>(),
            "taken_back": self.taken_back,
        })
    }

    fn context_text(&self, meter: &ContextMeter) -> String {
        let model =
            self.session_config().map(|config| config.model.model.to_string()).unwrap_or_default();
        let mut text = format!(
            "Session {} · {model} · window {}\n\n",
            self.session.id(),
            window_text(meter.window)
        );
        let parts = [
            ("system", meter.system),
            ("tools", meter.tools),
            ("notes", meter.notes),
            ("history", meter.history),
            ("results", meter.results),
            ("free", meter.free),
        ];
        for (name, tokens) in
            parts.into_iter().filter(|(name, _)| *name != "free" || meter.window > 0)
        {
            let _ = writeln!(
                text,
                "{name:<10} {:>9}  {}",
                format_token_count(tokens),
                render_token_bar(tokens, meter.window)
            );
        }
        if let Some(at) = meter.condense_at {
            let _ = writeln!(
                text,
                "\ncondensed when a request would exceed {} tokens",
                format_token_count(at)
            );
        } else {
            text.push_str(
                "\nnot condensed automatically, except when a request is refused as too long\n",
            );
        }
        if meter.last_bytes > 0 {
            let share = meter.last_kept as f64 * 100.0 / meter.last_bytes as f64;
            let _ = write!(
                text,
                "last request {} bytes, {share:.0} % of it unchanged since the one before",
                format_token_count(meter.last_bytes)
            );
            match meter.cache_share {
                Some(share) => {
                    let _ = writeln!(text, "; {:.0} % came from the vendor's cache", share * 100.0);
                }
                None => text.push('\n'),
            }
        }
        self.push_notes_text(&mut text);
        self.what_was_condensed(meter, &mut text);
        text.trim_end().to_string()
    }

    fn push_notes_text(&self, text: &mut String) {
        if !self.session.told_sections().is_empty() {
            text.push_str("\nnotes in effect:\n");
            for (name, told) in self.session.told_sections() {
                let size = format_token_count((told.len() / BYTES_PER_TOKEN) as u64);
                let _ = writeln!(text, "  {:<28} {size:>7}", visible_text(name));
            }
        }
        let skills: Vec<&str> = self.session.active_skills().keys().map(String::as_str).collect();
        if !skills.is_empty() {
            let _ = writeln!(text, "active skills: {}", skills.join(", "));
        }
    }

    fn what_was_condensed(&self, meter: &ContextMeter, text: &mut String) {
        if self.condensed.is_empty() {
            text.push_str("\nnothing was condensed\n");
        }
        for (seq, _, f) in &self.condensed {
            let why = match f.reason {
                CondenseReason::Threshold => "the window filled",
                CondenseReason::Overflow => "the vendor refused a request as too long",
                CondenseReason::Asked => "requested by a person",
            };
            let how = match f.pass {
                1 => "long results shortened",
                2 => "results shortened, noise dropped",
                _ => "summarised",
            };
            let _ = writeln!(
                text,
                "\ncondensed at event {seq} ({why}): {} messages up to {} {how}; {} → {} tokens",
                f.hidden,
                f.through,
                format_token_count(f.tokens_before),
                format_token_count(f.tokens_after)
            );
        }
        let _ = writeln!(
            text,
            "visible to the model: {} messages. {} calls and everything that was said can be found \
             again: by the agent with `recall`, by you with `weir sessions search`",
            meter.messages,
            format_token_count(meter.calls)
        );
        if meter.can_uncondense {
            text.push_str("`weir context SESSION --undo` undoes the last condensing\n");
        }
    }
}

fn render_token_bar(tokens: u64, window: u64) -> String {
    let cells = if window == 0 { 0 } else { (tokens * BAR).div_ceil(window).min(BAR) };
    "█".repeat(usize::try_from(cells).unwrap_or(0))
}

fn preview_json(preview: &CondensePreview) -> Value {
    json!({
        "pass": preview.pass, "hidden": preview.hidden, "kept": preview.kept,
        "tokens_before": preview.tokens_before, "tokens_after": preview.tokens_after,
        "head": preview.head,
    })
}

fn preview_text(preview: &CondensePreview) -> String {
    let mut text = format!(
        "Condensing would hide or shorten {} messages and keep {} word for word: about {} → {} \
         tokens.\n",
        preview.hidden,
        preview.kept,
        format_token_count(preview.tokens_before),
        format_token_count(preview.tokens_after)
    );
    if preview.pass == 3 {
        text.push_str("A model would write the summary, which costs tokens.\n");
    }
    text.push_str("This would come before the kept messages:\n");
    for held in &preview.head {
        let who = match held.origin {
            MessageOrigin::Person => "person",
            MessageOrigin::Model => "agent",
            MessageOrigin::Told => "told",
            MessageOrigin::Summary => "summary",
        };
        let _ = writeln!(text, "\n[{who}]");
        for line in held.message.plain_text().lines() {
            let _ = writeln!(text, "{}", visible_text(line));
        }
    }
    text.trim_end().to_string()
}

/// Condenses, or takes the last condensing back, in the session itself.
async fn change_session_context(
    cx: &InstallationContext,
    store: &dyn Store,
    id: SessionId,
    args: &ContextArgs,
) -> anyhow::Result<ExitCode> {
    let keep = KeepRequest::parse(args.keep.as_deref().unwrap_or_default()).map_err(usage)?;
    let loaded = weir_engine::engine::load(store, &id).await.map_err(engine_failure)?;
    let kept = loaded.session.config().cloned();
    let kept = kept.ok_or_else(|| usage(format!("{id} was never opened")))?;
    if loaded.session.run().is_some() {
        return Err(usage(format!(
            "session {id} has an unfinished run; `weir run --resume {id}` continues it"
        )));
    }
    let known = loaded.session.fact_count();
    let there = cx.in_folder(Path::new(&kept.workspace))?;
    let wishes = SessionOverrides { model: args.model.clone(), ..SessionOverrides::default() };
    let options = wiring::session_options(&there, &wishes, Some(&kept)).await?;
    let engine = wiring::open_engine(&there, "weir context").await?;
    let handle = engine.resume(id.clone(), options).await.map_err(engine_failure)?;
    let mut updates = handle.listen_to_updates(known);
    let command = match args.undo {
        true => PersonCommand::Uncondense,
        false => PersonCommand::Condense { keep },
    };
    if let Err(error) = handle.tell_session(&wiring::principal_name(cx), command).await {
        let _ = handle.close().await;
        return Err(match error {
            weir_engine::engine::EngineError::Refused(_) if args.undo => {
                usage("there is no condensing to undo; only the last one can be undone")
            }
            weir_engine::engine::EngineError::Refused(_) => usage(NOTHING_OLD),
            other => engine_failure(other),
        });
    }
    let mut failed = None;
    let done = loop {
        let Some(update) = updates.next().await? else { break None };
        let SessionUpdate::Fact(fact) = update else { continue };
        match fact.event.as_ref() {
            Event::ContextSummarised(f) => failed = f.failed.clone().or(failed),
            Event::ContextCondensed(f) => break Some(condensed_line(f)),
            Event::ContextUncondensed(_) => {
                break Some("undone: the agent sees the hidden messages again".into());
            }
            _ => (),
        }
    };
    handle.close().await.map_err(engine_failure)?;
    let Some(done) = done else {
        return Err(failure_with_status(exit::FAILED, "the session ended before this was done"));
    };
    if let Some(why) = failed {
        crate::terminal::err_message(&format!("warning: no summary was made: {why}"));
    }
    if args.json {
        out_json(&json!({ "session": id, "done": done }))?;
    } else {
        out_line(&done)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn condensed_line(f: &ContextCondensed) -> String {
    format!(
        "condensed: {} messages up to {} ({} → {} tokens); `weir context SESSION --undo` undoes it",
        f.hidden,
        f.through,
        format_token_count(f.tokens_before),
        format_token_count(f.tokens_after)
    )
}
