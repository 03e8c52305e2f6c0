//! Tools that somebody made (T5): listed, shown, accepted, switched off, taken away. A person is
//! shown all of one before it counts (Z9). Not here: which of them a session has
//! (`weir_engine::made`).

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_core::dynamic::ToolDefinition;
use weir_core::governance::label::Label;
use weir_core::tool::Access;
use weir_core::view::plain::visible;
use weir_engine::made::{self, ACTIVE, Acceptance, DISABLED, Found, Look};
use weir_engine::ports::{Clock as _, Kept, NoHost, Script, ScriptKind};
use weir_engine::workspace::Workspace;
use weir_install::cx::Cx;
use weir_install::wiring;

use crate::failure::{exit, usage};
use crate::options::{ToolNameArgs, ToolsAcceptArgs, ToolsAddArgs};
use crate::terminal::{confirm, is_attended, out, out_json};

/// Time in which code must have said whether it is a module.
const CHECK_TIME: std::time::Duration = std::time::Duration::from_secs(15);
/// Largest file of a definition or its code.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// Every made tool of this folder.
pub(crate) async fn survey(cx: &Cx) -> anyhow::Result<(Arc<Workspace>, Vec<Found>)> {
    let workspace = cx.workspace()?;
    let store = cx.journal()?;
    let root = workspace.root().display().to_string();
    let marks = store.marks(&root).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    let names = weir_tools::names();
    let built_in: Vec<&str> = names.iter().map(String::as_str).collect();
    let look = Look { workspace: &workspace, trusted: cx.is_trusted(), built_in: &built_in };
    let found = made::survey(store.as_ref(), look).await?;
    Ok((workspace, found))
}

/// A line of the list.
pub(super) fn row(found: &Found) -> Vec<String> {
    let about = found.definition.as_ref().map(|definition| definition.description.as_str());
    let about = about.unwrap_or_default().lines().next().unwrap_or_default();
    let state = found.why_not.clone().unwrap_or_else(|| ACTIVE.into());
    let whose = if found.label.is_external() { ", outside content" } else { "" };
    vec![
        visible(&found.name),
        format!("custom ({}{whose})", visible(&found.source)),
        visible(&state),
        visible(about),
    ]
}

pub(super) fn as_json(found: &Found) -> Value {
    let kept = found.kept.as_ref();
    json!({
        "name": found.name,
        "group": "skill",
        "description": found.definition.as_ref().map(|d| d.description.clone()),
        "deferred": true,
        "parallel_safe": false,
        "made": {
            "source": found.source,
            "state": if found.why_not.is_none() { ACTIVE } else { "off" },
            "why_off": found.why_not,
            "sha256": found.definition.as_ref().map(ToolDefinition::hash),
            "accepted_sha256": kept.map(|kept| kept.hash.clone()),
            "version": kept.map(|kept| kept.version),
            "by": kept.map(|kept| kept.by.clone()),
            "ts": kept.map(|kept| kept.ts),
            "untrusted": found.label.is_external(),
            "label": found.label,
            "definition": found.definition,
        },
    })
}

/// All of it, as a person has to read it.
pub(crate) fn described(found: &Found) -> String {
    let mut text = String::new();
    let state = found.why_not.as_deref().unwrap_or("in use");
    let _ = writeln!(text, "From: {}\nState: {}", visible(&found.source), visible(state));
    if let Some(kept) = &found.kept {
        let by = visible(&kept.by);
        let _ = writeln!(text, "Version {}, {}, by {by}", kept.version, kept.ts);
    }
    let whose = match found.label.is_clean() {
        true => "only the person's own words".to_owned(),
        false => found.label.to_string(),
    };
    let _ = writeln!(text, "Its author had read: {}", visible(&whose));
    match &found.definition {
        Some(definition) => {
            let _ = writeln!(text, "SHA-256: {}\n", definition.hash());
            text.push_str(&plain(&definition.shown()));
        }
        None => {
            let kept = found.kept.as_ref().map(|kept| plain(&kept.text)).unwrap_or_default();
            let _ = writeln!(text, "\n{kept}");
        }
    }
    text
}

fn plain(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(visible).collect();
    format!("{}\n", lines.join("\n"))
}

/// Makes a tool from a file.
pub(super) async fn add(cx: &Cx, args: &ToolsAddArgs) -> anyhow::Result<ExitCode> {
    let definition = read(&args.file)?;
    check(&definition).await?;
    let (workspace, known) = survey(cx).await?;
    let at = workspace.resolve(&args.file.to_string_lossy(), Access::Read);
    let label = at.marked.map(Label::external).unwrap_or_default();
    let same = known.iter().find(|found| found.name == definition.name && found.source == "kept");
    if !args.json.json {
        out(&plain(&definition.shown()))?;
        if same.is_some() {
            out("It replaces your tool of the same name.")?;
        }
    }
    if !agreed("Add it?", args.yes)? {
        return Ok(ExitCode::from(exit::FAILED));
    }
    let kept = cx.journal()?.keep(&made::kept(&definition, acceptance(cx, label))).await?;
    said(&kept, args.json.json, &format!("Added {}; new sessions can use it.", kept.name))
}

/// The definition of a tool, if it can be used at all.
async fn usable(found: &Found) -> anyhow::Result<&ToolDefinition> {
    let Some(definition) = &found.definition else {
        let why = found.why_not.clone().unwrap_or_default();
        return Err(usage(format!("{} cannot be used: {}", found.name, visible(&why))));
    };
    check(definition).await?;
    Ok(definition)
}

fn trusted(found: &Found, untrusted: bool) -> anyhow::Result<()> {
    if !found.label.is_external() || untrusted {
        return Ok(());
    }
    Err(usage(format!(
        "the author of {} had read outside content ({}), which may have influenced this code. Read \
         it; if it does what you want, accept it with `weir tools accept {} --untrusted`",
        found.name,
        visible(&found.label.to_string()),
        found.name
    )))
}

/// Lets a tool that a person read be used.
///
/// # Errors
/// It cannot be used, it has words from outside and nobody said that they were read, or it is
/// another one meanwhile.
pub(crate) async fn accepted(cx: &Cx, found: &Found, untrusted: bool) -> anyhow::Result<Kept> {
    let definition = usable(found).await?;
    trusted(found, untrusted)?;
    // Between reading and accepting it may have become another one.
    let (workspace, again) = survey(cx).await?;
    if one(again, &found.name)?.definition.as_ref() != Some(definition) {
        return Err(usage("the tool has changed meanwhile; review it again"));
    }
    let made = acceptance(cx, found.label.clone());
    let kept = match found.source.as_str() {
        "kept" => made::kept(definition, made),
        _ => made::pin(&workspace, definition, made),
    };
    Ok(cx.journal()?.keep(&kept).await?)
}

/// Switches a tool off that was accepted.
///
/// # Errors
/// Nobody made or accepted one of this name.
pub(crate) async fn disabled(cx: &Cx, name: &str) -> anyhow::Result<Kept> {
    let (_, found) = survey(cx).await?;
    let Some(kept) = one(found, name)?.kept else {
        return Err(usage(format!("{name} is not enabled: nobody has accepted it")));
    };
    Ok(cx.journal()?.keep(&Kept { state: DISABLED.into(), ..kept }).await?)
}

/// Takes a tool away; what was kept of it, and where it came from.
///
/// # Errors
/// Nobody made or accepted one of this name.
pub(crate) async fn removed(cx: &Cx, name: &str) -> anyhow::Result<(Kept, String)> {
    let (_, found) = survey(cx).await?;
    let found = one(found, name)?;
    let Some(kept) = found.kept else {
        return Err(usage(format!(
            "{name} is a file of the workspace that nobody has accepted; delete {} to remove it",
            visible(&found.source)
        )));
    };
    cx.journal()?.unkeep(&kept.what, &kept.name).await?;
    Ok((kept, found.source))
}

/// Lets a tool be used.
pub(super) async fn accept(cx: &Cx, args: &ToolsAcceptArgs) -> anyhow::Result<ExitCode> {
    let (_, found) = survey(cx).await?;
    let found = one(found, &args.name)?;
    usable(&found).await?;
    if !args.json.json {
        out(&described(&found))?;
    }
    trusted(&found, args.untrusted)?;
    if !agreed("Accept it?", args.yes)? {
        return Ok(ExitCode::from(exit::FAILED));
    }
    let kept = accepted(cx, &found, args.untrusted).await?;
    let trust = match cx.is_trusted() || found.source == "kept" {
        true => "",
        false => " It is used once the workspace is trusted (`weir trust`).",
    };
    said(&kept, args.json.json, &format!("Accepted {}.{trust}", args.name))
}

/// Switches a tool off.
pub(super) async fn disable(cx: &Cx, args: &ToolNameArgs) -> anyhow::Result<ExitCode> {
    let kept = disabled(cx, &args.name).await?;
    let text =
        format!("{} is disabled; `weir tools accept {}` enables it again.", args.name, args.name);
    said(&kept, args.json.json, &text)
}

/// Takes a tool away.
pub(super) async fn remove(cx: &Cx, args: &ToolNameArgs) -> anyhow::Result<ExitCode> {
    let (kept, source) = removed(cx, &args.name).await?;
    let text = match source.as_str() {
        "kept" => format!("Removed {}.", args.name),
        file => format!("{} is no longer accepted; its file is kept: {}", args.name, visible(file)),
    };
    said(&kept, args.json.json, &text)
}

/// The made tool of this name: the one in use, else the first.
pub(crate) fn one(found: Vec<Found>, name: &str) -> anyhow::Result<Found> {
    let mut named: Vec<Found> = found.into_iter().filter(|found| found.name == name).collect();
    named.sort_by_key(|found| found.why_not.is_some());
    let first = named.into_iter().next();
    first.ok_or_else(|| {
        let name = visible(name);
        usage(format!("there is no custom tool {name}; `weir tools list` lists all tools"))
    })
}

fn acceptance(cx: &Cx, label: Label) -> Acceptance {
    let (by, ts) = (wiring::principal(cx), wiring::SystemClock::default().now());
    Acceptance { by, label, ts }
}

/// Whether the person agrees; without a terminal only a flag does.
fn agreed(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !is_attended() {
        return Err(usage("nobody can be asked here; read it, then confirm with --yes"));
    }
    let agreed = confirm(question)?;
    if !agreed {
        out("Nothing was changed.")?;
    }
    Ok(agreed)
}

fn said(kept: &Kept, as_json: bool, text: &str) -> anyhow::Result<ExitCode> {
    match as_json {
        true => out_json(kept)?,
        false => out(text)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text_of(path: &Path) -> anyhow::Result<String> {
    use std::io::Read as _;
    let doing = || format!("reading {}", path.display());
    let mut text = String::new();
    let file = std::fs::File::open(path).with_context(doing)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).with_context(doing)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(usage(format!("{} is longer than {FILE_BYTES_MAX} bytes", path.display())));
    }
    Ok(text)
}

/// The definition in a file, with the code of the file that it names.
fn read(path: &Path) -> anyhow::Result<ToolDefinition> {
    let wrong = |why: String| usage(format!("{}: {why}", path.display()));
    let mut value: Value =
        serde_json::from_str(&text_of(path)?).map_err(|why| wrong(why.to_string()))?;
    if let Some(fields) = value.as_object_mut()
        && let Some(file) = fields.remove("code_file")
    {
        if fields.contains_key("code") {
            return Err(wrong("it has both code and code_file".into()));
        }
        let file = file.as_str().ok_or_else(|| wrong("code_file is not a string".into()))?;
        let beside = path.parent().unwrap_or(Path::new("")).join(file);
        fields.insert("code".into(), json!(text_of(&beside)?));
    }
    serde_json::from_value(value).map_err(|why| wrong(why.to_string()))
}

/// What can be said of a definition without anybody's judgement.
async fn check(definition: &ToolDefinition) -> anyhow::Result<()> {
    let names = weir_tools::names();
    let built_in: Vec<&str> = names.iter().map(String::as_str).collect();
    let findings = definition.findings(&built_in);
    if !findings.is_empty() {
        return Err(usage(format!("it cannot be used: {}", visible(&findings.join("; ")))));
    }
    weir_engine::toolbox::check_schema(&definition.input_schema).map_err(usage)?;
    let script = Script {
        kind: ScriptKind::Check,
        code: definition.code.clone(),
        input: Value::Null,
        time: CHECK_TIME,
    };
    let ran = wiring::scripts()?.run(script, &NoHost, &CancellationToken::new()).await;
    let wrong = |why: String| usage(format!("its code cannot be used: {}", visible(&why)));
    ran.map(|_| ()).map_err(wrong)
}
