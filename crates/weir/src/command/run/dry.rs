//! `weir run --dry-run`: exactly what would be sent, by section with sizes (P6), and which files the
//! instructions come from (M2). Nothing is sent, journaled or run; what `SessionStart` hooks would
//! add is therefore not known.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;
use weir_core::prompt::{self, BYTES_PER_TOKEN, PromptScene, Stability};
use weir_core::session::{Session, SessionConfig};
use weir_core::view::visible::grouped_number;
use weir_engine::engine::SessionOptions;
use weir_engine::ports::HookMoment;
use weir_engine::scene::{InstructionFile, InstructionSet, SceneRequest};
use weir_install::context::InstallationContext;
use weir_install::wiring::{self, PromptWish, SessionOverrides};

use crate::command::approvals::fold;
use crate::failure::usage;
use crate::options::{OutputFormat, RunArgs};
use crate::terminal::{out_json, out_line};

use super::{RunTarget, input, resolve_run_target};

/// A part of the request.
#[derive(Debug, Serialize)]
struct RequestPart {
    /// `system`, `tool`, `history`, `note`, `attachment`, `prompt`.
    kind: &'static str,
    /// Its section or tool.
    name: String,
    /// Its size, roughly.
    tokens: usize,
    /// Its text; absent where that stands elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl RequestPart {
    fn new(kind: &'static str, name: &str, text: &str) -> RequestPart {
        let tokens = text.len() / BYTES_PER_TOKEN;
        RequestPart { kind, name: name.into(), tokens, text: Some(text.into()) }
    }

    fn part_text(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!(" · {}", self.name) };
        let head = format!("== {}{name} (~{} tokens)", self.kind, grouped_number(self.tokens));
        match &self.text {
            Some(text) => format!("{head}\n{}\n", text.trim_end()),
            None => head,
        }
    }
}

pub(super) async fn dry_run(cx: &InstallationContext, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let session = match args.resume.is_some() || args.continue_last {
        false => None,
        true => match resolve_run_target(cx, args, &cx.local_store()?, None).await? {
            RunTarget::New => None,
            RunTarget::Existing(id) => {
                Some(fold::load_session(cx.local_store()?.as_ref(), &id).await?)
            }
        },
    };
    let kept = session.as_ref().and_then(Session::config).cloned();
    if session.is_some() && kept.is_none() {
        return Err(usage("this session was never opened"));
    }
    let there = match &kept {
        Some(kept) => cx.in_folder(Path::new(&kept.workspace))?,
        None => cx.in_folder(&cx.folder)?,
    };
    let wishes = super::wishes::wishes_of_run(args, false)?;
    let options = wiring::session_options(&there, &wishes, kept.as_deref()).await?;
    let engine = wiring::open_engine(&there, "weir run --dry-run").await?;
    let text = input::read_optional_prompt(args)?.unwrap_or_default();
    let saying = input::build_user_input(&engine, &options.workspace, args, text.clone()).await?;
    let glance = match &session {
        Some(session) => SceneRequest::for_session(session, &text),
        None => SceneRequest {
            said: text.clone(),
            named: options.config.profile.skills.clone(),
            ..SceneRequest::default()
        },
    };
    let scene = engine.preview_scene(&options, glance).await;

    let mut parts = system_prompt_parts(&options, &scene, &wishes);
    parts.extend(options.config.tools.iter().map(tool_part));
    parts.extend(session.as_ref().map(history_part));
    let told = session.as_ref().map(|session| session.told_sections().clone()).unwrap_or_default();
    let (notes, again) = split_new_notes(&scene, &told);
    parts.extend(notes);
    let attached = saying.attachments.iter();
    parts.extend(attached.map(|one| RequestPart {
        kind: "attachment",
        name: one.name().into(),
        tokens: 0,
        text: None,
    }));
    if !text.is_empty() {
        parts.push(RequestPart::new("prompt", "", &text));
    }
    let person = options.scene.config_dir.as_deref();
    let found = InstructionSet::for_workspace(&options.workspace, person);
    let hooks = engine.parts().hooks.has_listener(HookMoment::SessionStart);
    let shown =
        DryRunReport { config: &options.config, kept: kept.as_deref(), parts, found, again, hooks };
    match args.output {
        OutputFormat::Text => out_line(&shown.report_text())?,
        OutputFormat::Json | OutputFormat::Jsonl => out_json(&shown.json())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The system prompt by section, where it is made of sections.
fn system_prompt_parts(
    options: &SessionOptions,
    scene: &PromptScene,
    wishes: &SessionOverrides,
) -> Vec<RequestPart> {
    let config = &options.config;
    let own = prompt::system_prompt(&options.scene.base);
    let Some(before) = config.system.strip_suffix(&own).filter(|_| !own.is_empty()) else {
        let name = match wishes.prompt {
            PromptWish::Own => "from the session",
            PromptWish::Replaced(_) | PromptWish::Preceded(_) => "as given",
        };
        return vec![RequestPart::new("system", name, &config.system)];
    };
    let mut parts = Vec::new();
    if !before.trim().is_empty() {
        parts.push(RequestPart::new("system", "appended", before.trim()));
    }
    let base = PromptScene { window: scene.window, ..options.scene.base.clone() };
    let sections = prompt::fitted_sections(&base).into_iter();
    let session = sections.filter(|section| section.stability == Stability::Session);
    parts.extend(
        session.map(|section| RequestPart::new("system", section.name.as_str(), &section.text)),
    );
    parts
}

fn tool_part(tool: &weir_core::tool::ToolSpec) -> RequestPart {
    let bytes = prompt::tool_bytes(std::slice::from_ref(tool));
    let tokens = bytes / BYTES_PER_TOKEN;
    RequestPart { kind: "tool", name: tool.name.clone(), tokens, text: None }
}

fn history_part(session: &Session) -> RequestPart {
    let meter = session.meter();
    let tokens = meter.notes + meter.history + meter.results;
    RequestPart {
        kind: "history",
        name: format!("{} messages of session {}", meter.messages, session.id()),
        tokens: usize::try_from(tokens).unwrap_or(usize::MAX),
        text: None,
    }
}

/// The notes that are new, and the names of those that the model has been told.
fn split_new_notes(
    scene: &PromptScene,
    told: &BTreeMap<String, String>,
) -> (Vec<RequestPart>, Vec<String>) {
    let (mut new, mut again) = (Vec::new(), Vec::new());
    for note in prompt::prompt_notes(scene) {
        match told.get(&note.section) == Some(&note.text) {
            true => again.push(note.section),
            false => new.push(RequestPart::new("note", &note.section, &note.text)),
        }
    }
    (new, again)
}

/// All that is shown.
struct DryRunReport<'a> {
    config: &'a SessionConfig,
    kept: Option<&'a SessionConfig>,
    parts: Vec<RequestPart>,
    found: InstructionSet,
    again: Vec<String>,
    hooks: bool,
}

impl DryRunReport<'_> {
    fn count_tokens(&self, kinds: &[&str]) -> usize {
        self.parts.iter().filter(|part| kinds.contains(&part.kind)).map(|part| part.tokens).sum()
    }

    fn deferred_tool_names(&self) -> Vec<&str> {
        self.config.deferred.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// Whether the provider's cache of the session still serves.
    fn is_rebuilt(&self) -> bool {
        self.kept.is_some_and(|kept| {
            kept.system != self.config.system || kept.tools != self.config.tools
        })
    }

    fn report_text(&self) -> String {
        let config = self.config;
        let window = match config.model.window {
            0 => "not known".to_owned(),
            window => grouped_number(usize::try_from(window).unwrap_or(usize::MAX)),
        };
        let mut lines = vec![format!(
            "model {} · window {window} · profile {} · permission {}\n",
            config.model.model, config.profile.name, config.permission
        )];
        if self.is_rebuilt() {
            lines.push("the prompt of the session has changed: its cache is lost once\n".into());
        }
        let of = |kinds: &[&str]| -> Vec<String> {
            self.parts
                .iter()
                .filter(|p| kinds.contains(&p.kind))
                .map(RequestPart::part_text)
                .collect()
        };
        lines.extend(of(&["system"]));
        lines.extend(of(&["tool"]));
        let deferred = self.deferred_tool_names();
        if !deferred.is_empty() {
            lines.push(format!(
                "== {} tools listed by name only: {}",
                deferred.len(),
                deferred.join(", ")
            ));
        }
        lines.push(String::new());
        lines.extend(of(&["history"]));
        lines.extend(of(&["note"]));
        if !self.again.is_empty() {
            lines
                .push(format!("== notes sent before, not sent again: {}\n", self.again.join(", ")));
        }
        if self.hooks {
            lines.push(
                "== the output of SessionStart hooks is sent too; they are not run here\n".into(),
            );
        }
        lines.extend(of(&["attachment", "prompt"]));
        lines.extend(self.instruction_source_lines());
        let (system, tools) = (self.count_tokens(&["system"]), self.count_tokens(&["tool"]));
        let rest = self.count_tokens(&["history", "note", "prompt"]);
        lines.push(format!(
            "system ~{} · tools ~{} · rest ~{} · total ~{} tokens ({} bytes of system and tools)",
            grouped_number(system),
            grouped_number(tools),
            grouped_number(rest),
            grouped_number(system + tools + rest),
            grouped_number(config.system.len() + prompt::tool_bytes(&config.tools)),
        ));
        lines.join("\n")
    }

    /// Where the instructions come from, and what of it was left out and why.
    fn instruction_source_lines(&self) -> Vec<String> {
        let line = |one: &InstructionFile| {
            let size = match one.bytes {
                0 => "-".to_owned(),
                bytes => {
                    format!(
                        "{} bytes",
                        grouped_number(usize::try_from(bytes).unwrap_or(usize::MAX))
                    )
                }
            };
            let told = one.text.len() / BYTES_PER_TOKEN;
            let state = match (&one.left_out, one.bytes) {
                (None, _) => format!("~{} tokens", grouped_number(told)),
                (Some(why), 0) => format!("left out: {why}"),
                (Some(why), _) => {
                    format!("~{} tokens, the rest left out: {why}", grouped_number(told))
                }
            };
            format!("  {:<44} {size:>16}  {state}", one.name)
        };
        let found = self.found.rules.iter().chain(&self.found.chain);
        let lines: Vec<String> = found.map(line).collect();
        match lines.is_empty() {
            true => vec!["== no rules, no instruction files\n".into()],
            false => {
                let mut all = vec!["== rules and instruction files, nearest last".to_owned()];
                all.extend(lines);
                all.push(String::new());
                all
            }
        }
    }

    fn json(&self) -> serde_json::Value {
        let config = self.config;
        let file = |one: &InstructionFile| {
            json!({
                "name": one.name,
                "bytes": one.bytes,
                "tokens": one.text.len() / BYTES_PER_TOKEN,
                "left_out": one.left_out,
            })
        };
        let found = self.found.rules.iter().chain(&self.found.chain);
        json!({
            "model": config.model.model.to_string(),
            "window": config.model.window,
            "profile": config.profile.name,
            "permission": config.permission,
            "rebuilt": self.is_rebuilt(),
            "parts": self.parts,
            "deferred": self.deferred_tool_names(),
            "told_before": self.again,
            "instruction_files": found.map(file).collect::<Vec<_>>(),
            "system_and_tools_bytes": config.system.len() + prompt::tool_bytes(&config.tools),
        })
    }
}
