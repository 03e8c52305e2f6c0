//! `weir run --dry-run`: exactly what would be sent, by section with sizes (P6), and which files the
//! instructions come from (M2). Nothing is sent, journaled or run; what `SessionStart` hooks would
//! add is therefore not known.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;
use weir_core::prompt::{self, BYTES_PER_TOKEN, Scene, Stability};
use weir_core::session::{Session, SessionConfig};
use weir_core::view::visible::thousands;
use weir_engine::engine::SessionOptions;
use weir_engine::ports::HookMoment;
use weir_engine::scene::{Glance, Instruction, Instructions};
use weir_install::cx::Cx;
use weir_install::wiring::{self, PromptWish, Wishes};

use crate::command::approvals::fold;
use crate::failure::usage;
use crate::options::{OutputFormat, RunArgs};
use crate::terminal::{out, out_json};

use super::{Target, input, target};

/// A part of the request.
#[derive(Debug, Serialize)]
struct Part {
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

impl Part {
    fn new(kind: &'static str, name: &str, text: &str) -> Part {
        let tokens = text.len() / BYTES_PER_TOKEN;
        Part { kind, name: name.into(), tokens, text: Some(text.into()) }
    }

    fn line(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!(" · {}", self.name) };
        let head = format!("== {}{name} (~{} tokens)", self.kind, thousands(self.tokens));
        match &self.text {
            Some(text) => format!("{head}\n{}\n", text.trim_end()),
            None => head,
        }
    }
}

pub(super) async fn dry_run(cx: &Cx, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let session = match args.resume.is_some() || args.continue_last {
        false => None,
        true => match target(cx, args, &cx.store()?).await? {
            Target::New => None,
            Target::Existing(id) => Some(fold::load(cx.store()?.as_ref(), &id).await?.session),
        },
    };
    let kept = session.as_ref().and_then(Session::config).cloned();
    if session.is_some() && kept.is_none() {
        return Err(usage("this session was never opened"));
    }
    let there = match &kept {
        Some(kept) => cx.at(Path::new(&kept.workspace))?,
        None => cx.at(&cx.folder)?,
    };
    let wishes = super::wishes::wishes_of_run(args, false)?;
    let options = wiring::session_options(&there, &wishes, kept.as_deref()).await?;
    let engine = wiring::engine(&there, "weir run --dry-run")?;
    let text = input::optional(args)?.unwrap_or_default();
    let saying = input::saying(&engine, &options.workspace, args, text.clone()).await?;
    let glance = match &session {
        Some(session) => Glance::of(session, &text),
        None => Glance {
            said: text.clone(),
            named: options.config.profile.skills.clone(),
            ..Glance::default()
        },
    };
    let scene = engine.preview(&options, glance).await;

    let mut parts = system(&options, &scene, &wishes);
    parts.extend(options.config.tools.iter().map(tool));
    parts.extend(session.as_ref().map(history));
    let told = session.as_ref().map(|session| session.told().clone()).unwrap_or_default();
    let (notes, again) = notes(&scene, &told);
    parts.extend(notes);
    let attached = saying.attachments.iter();
    parts.extend(attached.map(|one| Part {
        kind: "attachment",
        name: one.name().into(),
        tokens: 0,
        text: None,
    }));
    if !text.is_empty() {
        parts.push(Part::new("prompt", "", &text));
    }
    let person = options.scene.config_dir.as_deref();
    let found = Instructions::of(&options.workspace, person);
    let hooks = engine.parts().hooks.listens(HookMoment::SessionStart);
    let shown =
        Shown { config: &options.config, kept: kept.as_deref(), parts, found, again, hooks };
    match args.output {
        OutputFormat::Text => out(&shown.text())?,
        OutputFormat::Json | OutputFormat::Jsonl => out_json(&shown.json())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The system prompt by section, where it is made of sections.
fn system(options: &SessionOptions, scene: &Scene, wishes: &Wishes) -> Vec<Part> {
    let config = &options.config;
    let own = prompt::system(&options.scene.base);
    let Some(before) = config.system.strip_suffix(&own).filter(|_| !own.is_empty()) else {
        let name = match wishes.prompt {
            PromptWish::Own => "from the session",
            PromptWish::Replaced(_) | PromptWish::Preceded(_) => "as given",
        };
        return vec![Part::new("system", name, &config.system)];
    };
    let mut parts = Vec::new();
    if !before.trim().is_empty() {
        parts.push(Part::new("system", "appended", before.trim()));
    }
    let base = Scene { window: scene.window, ..options.scene.base.clone() };
    let sections = prompt::sections(&base).into_iter();
    let session = sections.filter(|section| section.stability == Stability::Session);
    parts.extend(session.map(|section| Part::new("system", section.name.as_str(), &section.text)));
    parts
}

fn tool(tool: &weir_core::tool::ToolSpec) -> Part {
    let bytes = prompt::tool_bytes(std::slice::from_ref(tool));
    let tokens = bytes / BYTES_PER_TOKEN;
    Part { kind: "tool", name: tool.name.clone(), tokens, text: None }
}

fn history(session: &Session) -> Part {
    let meter = session.meter();
    let tokens = meter.notes + meter.history + meter.results;
    Part {
        kind: "history",
        name: format!("{} messages of session {}", meter.messages, session.id()),
        tokens: usize::try_from(tokens).unwrap_or(usize::MAX),
        text: None,
    }
}

/// The notes that are new, and the names of those that the model has been told.
fn notes(scene: &Scene, told: &BTreeMap<String, String>) -> (Vec<Part>, Vec<String>) {
    let (mut new, mut again) = (Vec::new(), Vec::new());
    for note in prompt::notes(scene) {
        match told.get(&note.section) == Some(&note.text) {
            true => again.push(note.section),
            false => new.push(Part::new("note", &note.section, &note.text)),
        }
    }
    (new, again)
}

/// All that is shown.
struct Shown<'a> {
    config: &'a SessionConfig,
    kept: Option<&'a SessionConfig>,
    parts: Vec<Part>,
    found: Instructions,
    again: Vec<String>,
    hooks: bool,
}

impl Shown<'_> {
    fn tokens(&self, kinds: &[&str]) -> usize {
        self.parts.iter().filter(|part| kinds.contains(&part.kind)).map(|part| part.tokens).sum()
    }

    fn deferred(&self) -> Vec<&str> {
        self.config.deferred.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// Whether the provider's cache of the session still serves.
    fn is_rebuilt(&self) -> bool {
        self.kept.is_some_and(|kept| {
            kept.system != self.config.system || kept.tools != self.config.tools
        })
    }

    fn text(&self) -> String {
        let config = self.config;
        let window = match config.model.window {
            0 => "not known".to_owned(),
            window => thousands(usize::try_from(window).unwrap_or(usize::MAX)),
        };
        let mut lines = vec![format!(
            "model {} · window {window} · profile {} · permission {}\n",
            config.model.model, config.profile.name, config.permission
        )];
        if self.is_rebuilt() {
            lines.push("the prompt of the session has changed: its cache is lost once\n".into());
        }
        let of = |kinds: &[&str]| -> Vec<String> {
            self.parts.iter().filter(|p| kinds.contains(&p.kind)).map(Part::line).collect()
        };
        lines.extend(of(&["system"]));
        lines.extend(of(&["tool"]));
        let deferred = self.deferred();
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
        lines.extend(self.chain());
        let (system, tools) = (self.tokens(&["system"]), self.tokens(&["tool"]));
        let rest = self.tokens(&["history", "note", "prompt"]);
        lines.push(format!(
            "system ~{} · tools ~{} · rest ~{} · total ~{} tokens ({} bytes of system and tools)",
            thousands(system),
            thousands(tools),
            thousands(rest),
            thousands(system + tools + rest),
            thousands(config.system.len() + prompt::tool_bytes(&config.tools)),
        ));
        lines.join("\n")
    }

    /// Where the instructions come from, and what of it was left out and why.
    fn chain(&self) -> Vec<String> {
        let line = |one: &Instruction| {
            let size = match one.bytes {
                0 => "-".to_owned(),
                bytes => {
                    format!("{} bytes", thousands(usize::try_from(bytes).unwrap_or(usize::MAX)))
                }
            };
            let told = one.text.len() / BYTES_PER_TOKEN;
            let state = match (&one.left_out, one.bytes) {
                (None, _) => format!("~{} tokens", thousands(told)),
                (Some(why), 0) => format!("left out: {why}"),
                (Some(why), _) => format!("~{} tokens, the rest left out: {why}", thousands(told)),
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
        let file = |one: &Instruction| {
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
            "deferred": self.deferred(),
            "told_before": self.again,
            "instruction_files": found.map(file).collect::<Vec<_>>(),
            "system_and_tools_bytes": config.system.len() + prompt::tool_bytes(&config.tools),
        })
    }
}
