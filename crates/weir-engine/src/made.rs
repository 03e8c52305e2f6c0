//! Tools that somebody made (T5, Z9): which a session has, and why it does not have others. Not here:
//! running them, and how a person agrees to one.
//!
//! What is kept counts only as long as its text is the one that was agreed to. A definition in a
//! file of the workspace counts only where the workspace is trusted and its text was accepted by
//! name; a change ends that.

use weir_core::dynamic::ToolDefinition;
use weir_core::governance::label::Label;
use weir_core::ids::Timestamp;
use weir_core::tool::PathAccess;

use crate::ports::{FileContent, Store, StoreError, StoredItem};
use crate::workspace::{WalkOptions, Workspace};

/// What a kept tool is called in the store.
pub const TOOL: &str = "tool";
/// What the acceptance of a workspace's file is called in the store.
pub const PIN: &str = "tool-pin";
/// It may be used.
pub const ACTIVE: &str = "active";
/// It may not.
pub const DISABLED: &str = "disabled";
/// Where a workspace keeps its tools.
pub const FOLDER: &str = ".weir/tools";
/// Most files that are looked at there.
const FILES_MAX: usize = 64;
/// Largest of them.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// A tool that may be used.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeTool {
    /// The definition of the tool.
    pub definition: ToolDefinition,
    /// Whose words it was made from.
    pub label: Label,
}

/// A tool that somebody made, usable or not.
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicToolFinding {
    /// Its name, as file or store says.
    pub name: String,
    /// Where it is from: `kept`, or a path in the workspace.
    pub source: String,
    /// As it stands there, where it can be understood.
    pub definition: Option<ToolDefinition>,
    /// As it is kept: who made or accepted it, when.
    pub kept: Option<StoredItem>,
    /// Whose words it was made from.
    pub label: Label,
    /// Why it cannot be used; none: it can.
    pub why_not: Option<String>,
}

/// The part of the tools made at run time that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct ToolSurveyScope<'a> {
    /// Whose files count.
    pub workspace: &'a Workspace,
    /// Whether they do.
    pub trusted: bool,
    /// Names that no such tool may have.
    pub built_in: &'a [&'a str],
}

/// The person who accepted a definition, and when.
#[derive(Debug, Clone)]
pub struct Acceptance {
    /// Their name, for people.
    pub by: String,
    /// Whose words stand in the definition.
    pub label: Label,
    /// When it was accepted, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
}

/// A definition as it is kept.
pub fn stored_definition(definition: &ToolDefinition, acceptance: Acceptance) -> StoredItem {
    let Acceptance { by, label, ts } = acceptance;
    StoredItem {
        what: TOOL.into(),
        name: definition.name.clone(),
        text: definition.to_json_text(),
        state: ACTIVE.into(),
        hash: definition.hash(),
        version: 1,
        label,
        by,
        ts,
    }
}

/// The acceptance of a definition that stands in a file of `workspace`.
pub fn pin_definition(
    workspace: &Workspace,
    definition: &ToolDefinition,
    acceptance: Acceptance,
) -> StoredItem {
    let name = pin_name(workspace, &definition.name);
    StoredItem { what: PIN.into(), name, ..stored_definition(definition, acceptance) }
}

/// Under which name the acceptance of `tool` is kept.
pub fn pin_name(workspace: &Workspace, tool: &str) -> String {
    format!("{tool} in {}", workspace.root().display())
}

/// All tools that are kept.
///
/// # Errors
/// The store refuses.
pub async fn list_dynamic_tools(store: &dyn Store) -> Result<Vec<StoredItem>, StoreError> {
    store.stored_items(TOOL).await
}

/// Every tool that somebody made, usable or not: those that are kept, then those of the workspace.
///
/// # Errors
/// The store refuses.
pub async fn find_dynamic_tools(
    store: &dyn Store,
    look: ToolSurveyScope<'_>,
) -> Result<Vec<DynamicToolFinding>, StoreError> {
    let mut found: Vec<DynamicToolFinding> = list_dynamic_tools(store)
        .await?
        .into_iter()
        .map(|kept| of_store(kept, look.built_in))
        .collect();
    let pins = store.stored_items(PIN).await?;
    for mut file in of_workspace(look, &pins) {
        let other = found.iter().any(|known| known.name == file.name && known.why_not.is_none());
        if other && file.why_not.is_none() {
            file.why_not = Some(format!("you have a tool {} of your own", file.name));
        }
        found.push(file);
    }
    Ok(found)
}

/// The tools that a session here has, and a sentence for each that it does not have although it is
/// not switched off.
///
/// # Errors
/// The store refuses.
pub async fn usable_dynamic_tools(
    store: &dyn Store,
    look: ToolSurveyScope<'_>,
) -> Result<(Vec<MadeTool>, Vec<String>), StoreError> {
    let (mut tools, mut notes) = (Vec::new(), Vec::new());
    for found in find_dynamic_tools(store, look).await? {
        match (found.why_not, found.definition) {
            (None, Some(definition)) => tools.push(MadeTool { definition, label: found.label }),
            (Some(why), _) if why != DISABLED => {
                notes.push(format!("the tool {} ({}) is off: {why}", found.name, found.source));
            }
            (_, _) => (),
        }
    }
    Ok((tools, notes))
}

fn of_store(kept: StoredItem, built_in: &[&str]) -> DynamicToolFinding {
    let parsed = ToolDefinition::parse(&kept.text);
    let why_not = match &parsed {
        Err(why) => Some(why.clone()),
        Ok(definition) if definition.hash() != kept.hash || definition.name != kept.name => {
            Some("its text is not the one that was agreed to".into())
        }
        Ok(_) if kept.state != ACTIVE => Some(DISABLED.into()),
        Ok(definition) => first_finding(definition, built_in),
    };
    DynamicToolFinding {
        name: kept.name.clone(),
        source: "kept".into(),
        definition: parsed.ok(),
        label: kept.label.clone(),
        kept: Some(kept),
        why_not,
    }
}

fn first_finding(definition: &ToolDefinition, built_in: &[&str]) -> Option<String> {
    definition.findings(built_in).into_iter().next()
}

/// The definitions in files of the workspace, by path.
fn of_workspace(look: ToolSurveyScope<'_>, pins: &[StoredItem]) -> Vec<DynamicToolFinding> {
    let workspace = look.workspace;
    let at = workspace.resolve(FOLDER, PathAccess::List);
    let options = WalkOptions {
        recursive: false,
        respect_gitignore: false,
        hidden: true,
        max_entries: FILES_MAX,
    };
    let Ok(walk) = workspace.walk(&at, options) else { return Vec::new() };
    let paths = walk.entries.into_iter().map(|entry| entry.path);
    let paths = paths.filter(|path| path.ends_with(".json"));
    paths.map(|path| of_file(look, path, pins)).collect()
}

fn of_file(look: ToolSurveyScope<'_>, path: String, pins: &[StoredItem]) -> DynamicToolFinding {
    let ToolSurveyScope { workspace, trusted, built_in } = look;
    let at = workspace.resolve(&path, PathAccess::Read);
    let label = match &at.marked {
        Some(origin) => Label::external(origin.as_str()),
        None => Label::default(),
    };
    let text = match workspace.read(&at, FILE_BYTES_MAX) {
        Ok(FileContent::File { bytes, .. }) => {
            String::from_utf8(bytes.to_vec()).map_err(|_| "it is not valid UTF-8".to_string())
        }
        Ok(_) => Err("it is no file".into()),
        Err(why) => Err(why.to_string()),
    };
    let parsed = text.and_then(|text| ToolDefinition::parse(&text));
    let stem = path.rsplit('/').next().unwrap_or(&path).trim_end_matches(".json").to_owned();
    let name = parsed.as_ref().map_or(stem, |definition| definition.name.clone());
    let pin = pins.iter().find(|pin| pin.name == pin_name(workspace, &name)).cloned();
    let why_not = match (&parsed, &pin) {
        (Err(why), _) => Some(why.clone()),
        (Ok(_), _) if !trusted => Some(
            "this workspace is not trusted; `weir trust` shows what that would switch on".into(),
        ),
        (Ok(definition), _) if first_finding(definition, built_in).is_some() => {
            first_finding(definition, built_in)
        }
        (Ok(_), None) => Some(format!(
            "nobody accepted it; `weir tools show {name}` shows it, `weir tools accept {name}` \
             accepts it"
        )),
        (Ok(definition), Some(pin)) if pin.hash != definition.hash() => Some(format!(
            "it changed since it was accepted; `weir tools accept {name}` shows it again"
        )),
        (Ok(_), Some(pin)) if pin.state != ACTIVE => Some(DISABLED.into()),
        (Ok(_), Some(_)) => None,
    };
    let label = pin.as_ref().map(|pin| pin.label.clone()).unwrap_or_default().joined_with(&label);
    DynamicToolFinding { name, source: path, definition: parsed.ok(), kept: pin, label, why_not }
}
