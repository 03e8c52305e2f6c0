//! Tools that somebody made (T5): listed, shown, accepted, switched off, taken away. A person is
//! shown all of one before it counts (Z9). Not here: what that changes
//! (`weir_install::catalogue::made`).

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};
use weir_core::dynamic::ToolDefinition;
use weir_core::governance::label::Label;
use weir_core::tool::PathAccess;
use weir_core::view::plain::visible_text;
use weir_engine::made::{self, ACTIVE, DynamicToolFinding};
use weir_engine::ports::StoredItem;
use weir_install::catalogue::made::{
    acceptance, accepted, check, described, disable_tool_by_name, one, plain, removed,
    require_usable, survey, trusted,
};
use weir_install::context::InstallationContext;

use crate::failure::{exit, usage};
use crate::options::{ToolNameArgs, ToolsAcceptArgs, ToolsAddArgs};
use crate::review::{ReviewOutcome, ReviewSubject, settle_review};
use crate::terminal::{confirm_by_person, is_attended, out_json, out_line};

/// Largest file of a definition or its code.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// A line of the list.
pub(super) fn dynamic_tool_row(found: &DynamicToolFinding) -> Vec<String> {
    let about = found.definition.as_ref().map(|definition| definition.description.as_str());
    let about = about.unwrap_or_default().lines().next().unwrap_or_default();
    let state = found.why_not.clone().unwrap_or_else(|| ACTIVE.into());
    let whose = if found.label.is_external() { ", outside content" } else { "" };
    vec![
        visible_text(&found.name),
        format!("custom ({}{whose})", visible_text(&found.source)),
        visible_text(&state),
        visible_text(about),
    ]
}

pub(super) fn as_json(found: &DynamicToolFinding) -> Value {
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

/// Makes a tool from a file.
pub(super) async fn add_tool(
    cx: &InstallationContext,
    args: &ToolsAddArgs,
) -> anyhow::Result<ExitCode> {
    let definition = read_tool_definition(&args.file)?;
    check(&definition).await?;
    let (workspace, known) = survey(cx).await?;
    let at = workspace.resolve(&args.file.to_string_lossy(), PathAccess::Read);
    let label = at.marked.map(Label::external).unwrap_or_default();
    let same = known.iter().find(|found| found.name == definition.name && found.source == "kept");
    if !args.json.json {
        out_line(&plain(&definition.describe_definition()))?;
        if same.is_some() {
            out_line("It replaces your tool of the same name.")?;
        }
    }
    if !confirm_or_flag("Add it?", args.yes)? {
        return Ok(ExitCode::from(exit::FAILED));
    }
    let kept = cx
        .session_store()?
        .store_item(&made::stored_definition(&definition, acceptance(cx, label)))
        .await?;
    print_kept_tool(
        &kept,
        args.json.json,
        &format!("Added {}; new sessions can use it.", kept.name),
    )
}

/// Lets a tool be used.
pub(super) async fn accept_tool(
    cx: &InstallationContext,
    args: &ToolsAcceptArgs,
) -> anyhow::Result<ExitCode> {
    let (_, found) = survey(cx).await?;
    let found = one(found, &args.name)?;
    require_usable(&found).await?;
    let text = described(&found);
    if !args.json.json && !args.review.is_given() {
        out_line(&text)?;
    }
    trusted(&found, args.untrusted)?;
    let identity = as_json(&found).to_string();
    let (deed, question) = ("tools accept", "Accept it?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &identity, editable: None };
    let agreed = match settle_review(&args.review, &reviewed, args.json.json)? {
        ReviewOutcome::Previewed => return Ok(ExitCode::SUCCESS),
        ReviewOutcome::Agreed => true,
        ReviewOutcome::Unsaid => false,
    };
    if !agreed && !confirm_or_flag(question, args.yes)? {
        return Ok(ExitCode::from(exit::FAILED));
    }
    let kept = accepted(cx, &found, args.untrusted).await?;
    let trust = match cx.is_trusted() || found.source == "kept" {
        true => "",
        false => " It is used once the workspace is trusted (`weir trust`).",
    };
    print_kept_tool(&kept, args.json.json, &format!("Accepted {}.{trust}", args.name))
}

/// Switches a tool off.
pub(super) async fn disable_tool(
    cx: &InstallationContext,
    args: &ToolNameArgs,
) -> anyhow::Result<ExitCode> {
    let kept = disable_tool_by_name(cx, &args.name).await?;
    let text =
        format!("{} is disabled; `weir tools accept {}` enables it again.", args.name, args.name);
    print_kept_tool(&kept, args.json.json, &text)
}

/// Takes a tool away.
pub(super) async fn remove(
    cx: &InstallationContext,
    args: &ToolNameArgs,
) -> anyhow::Result<ExitCode> {
    let (kept, source) = removed(cx, &args.name).await?;
    let text = match source.as_str() {
        "kept" => format!("Removed {}.", args.name),
        file => {
            format!("{} is no longer accepted; its file is kept: {}", args.name, visible_text(file))
        }
    };
    print_kept_tool(&kept, args.json.json, &text)
}

/// Whether the person agrees; without a terminal only a flag does.
fn confirm_or_flag(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !is_attended() {
        return Err(usage("nobody can be asked here; read it, then confirm with --yes"));
    }
    let agreed = confirm_by_person(question)?;
    if !agreed {
        out_line("Nothing was changed.")?;
    }
    Ok(agreed)
}

fn print_kept_tool(kept: &StoredItem, as_json: bool, text: &str) -> anyhow::Result<ExitCode> {
    match as_json {
        true => out_json(kept)?,
        false => out_line(text)?,
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
fn read_tool_definition(path: &Path) -> anyhow::Result<ToolDefinition> {
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
