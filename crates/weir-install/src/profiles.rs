//! Profiles: built in, the person's own, the workspace's (P7).
//!
//! A workspace that is not trusted may bring profiles, but none that takes the place of another,
//! widens what the person's settings let pass or chooses the model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use weir_core::model::Thinking;
use weir_core::profile::{PermissionMode, Profile, built_in_profiles};
use weir_core::tool::{PathAccess, PathPlace, ToolGroup};
use weir_engine::misspelling::name_what_was_meant;
use weir_engine::regular_file::read_regular_file;
use weir_engine::workspace::Workspace;

use crate::config::{Settings, exceeds_thinking};
use crate::context::InstallationContext;
use crate::failure::usage;
pub use crate::loaded_profile::{LoadedProfile, ProfileLimits, ProfileSource};

pub(crate) mod claude;
mod frontmatter;
#[cfg(test)]
mod fuzz;

/// Most profiles that are read from one folder.
const PROFILES_MAX: usize = 200;
/// Largest file of a profile, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// A profile as it stands in a file.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ProfileFile {
    name: Option<String>,
    description: String,
    role: Option<String>,
    instructions: String,
    groups: Option<Vec<ToolGroup>>,
    tools: ToolChoice,
    model: Option<String>,
    thinking: Option<Thinking>,
    permission: Option<PermissionMode>,
    skills: Vec<String>,
    mcp_servers: Vec<String>,
    limits: ProfileLimits,
    conventions: Option<String>,
    compact: bool,
}

/// Tools beside those of the groups.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ToolChoice {
    /// `tools = ["read_file"]`: added.
    Names(Vec<String>),
    /// `tools = { allow = […], deny = […] }`.
    Sets {
        #[serde(default)]
        allow: Vec<String>,
        #[serde(default)]
        deny: Vec<String>,
    },
}

impl Default for ToolChoice {
    fn default() -> ToolChoice {
        ToolChoice::Names(Vec::new())
    }
}

impl InstallationContext {
    /// All profiles of this folder. Read once; the person is told then what was left out.
    ///
    /// # Errors
    /// A file of the person's own that cannot be understood.
    pub fn loaded_profiles(&self) -> anyhow::Result<&[LoadedProfile]> {
        self.shared_profiles().map(|profiles| &**profiles)
    }

    /// The same, as all folders of the program hold them that have the same.
    ///
    /// # Errors
    /// As [`InstallationContext::loaded_profiles`].
    pub(crate) fn shared_profiles(&self) -> anyhow::Result<&Arc<[LoadedProfile]>> {
        if let Some(profiles) = self.profiles.get() {
            return Ok(profiles);
        }
        let read: Arc<[LoadedProfile]> = read_all(self)?.into();
        let profiles = self.settings_cache.profiles.share(read, |one, other| one == other);
        Ok(self.profiles.get_or_init(|| profiles))
    }
}

/// All profiles of this workspace, read once.
///
/// # Errors
/// As `read_all`.
pub fn load_all_profiles(cx: &InstallationContext) -> anyhow::Result<Vec<LoadedProfile>> {
    Ok(cx.loaded_profiles()?.to_vec())
}

/// Reads all profiles of this workspace. Later sources take the place of earlier ones of the same name,
/// except that a workspace which is not trusted replaces none.
///
/// # Errors
/// A file of the person's own that cannot be understood. A broken file of the workspace is left
/// out, and the person is told.
pub(crate) fn read_all(cx: &InstallationContext) -> anyhow::Result<Vec<LoadedProfile>> {
    read_files(cx, &mut |why| Err(usage(why)))
}

/// The profiles that can be read, for whoever only looks, and what is wrong with files of the person's own:
/// those are left out.
///
/// # Errors
/// The settings cannot be read.
pub fn read_usable_profiles(
    cx: &InstallationContext,
) -> anyhow::Result<(Vec<LoadedProfile>, Vec<String>)> {
    let mut problems = Vec::new();
    let profiles = read_files(cx, &mut |why| {
        problems.push(why);
        Ok(())
    })?;
    Ok((profiles, problems))
}

fn read_files(
    cx: &InstallationContext,
    on_broken: &mut dyn FnMut(String) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<LoadedProfile>> {
    let mut profiles: Vec<LoadedProfile> = built_in_profiles().into_iter().map(built_in).collect();
    for path in list_profile_files(&cx.dirs.config.join("profiles")) {
        match read_profile_file(&path) {
            Ok(loaded) => insert_or_replace_profile(
                &mut profiles,
                LoadedProfile { source: ProfileSource::User(path), ..loaded },
            ),
            Err(why) => on_broken(why)?,
        }
    }
    let mut foreign = list_profile_files(&cx.folder.join(".claude/agents"));
    foreign.extend(list_profile_files(&cx.folder.join(".weir/profiles")));
    for path in foreign {
        match read_profile_file(&path) {
            Ok(loaded) => {
                let loaded = LoadedProfile { source: ProfileSource::Project(path), ..loaded };
                add_foreign(cx, &mut profiles, loaded)?;
            }
            Err(why) => cx.notify(&format!("warning: {why}; the profile is left out")),
        }
    }
    Ok(profiles)
}

/// The profile of this name.
///
/// # Errors
/// There is none: those that exist are named.
pub fn find_profile(cx: &InstallationContext, name: &str) -> anyhow::Result<LoadedProfile> {
    choose_profile(cx.loaded_profiles()?, name)
}

/// The same of those that were read.
///
/// # Errors
/// There is none: those that exist are named.
pub fn choose_profile(profiles: &[LoadedProfile], name: &str) -> anyhow::Result<LoadedProfile> {
    match profiles.iter().find(|loaded| loaded.profile.name == name) {
        Some(found) => Ok(found.clone()),
        None => {
            let names: Vec<&str> = profiles.iter().map(|p| p.profile.name.as_str()).collect();
            let names = names.join(", ");
            Err(usage(format!("there is no profile {name:?}; there are {names}")))
        }
    }
}

/// Why a session gets nothing of a profile: a file of the workspace that is marked is foreign words, and
/// one that leads out may be anything of the person's own. `None`: it gets it.
pub(crate) fn closed_reason(
    cx: &InstallationContext,
    loaded: &LoadedProfile,
    workspace: &Workspace,
) -> Option<String> {
    let ProfileSource::Project(path) = &loaded.source else { return None };
    let Some(path) = path.strip_prefix(&cx.folder).unwrap_or(path).to_str() else {
        return Some("its name is no text".into());
    };
    let at = workspace.resolve(path, PathAccess::Read);
    if at.place != PathPlace::Inside {
        return Some("it leads out of the workspace".into());
    }
    let origin: String = at.marked?.chars().filter(|c| !c.is_control()).take(100).collect();
    Some(format!(
        "it was written while words from {origin} stood in the context; read it, and vouch for it with \
         `weir permissions unmark {}`",
        at.path
    ))
}

/// Refuses a profile of which a session gets nothing.
///
/// # Errors
/// It is one: a usage error that says why.
pub(crate) fn refuse_closed(
    cx: &InstallationContext,
    loaded: &LoadedProfile,
    workspace: &Workspace,
) -> anyhow::Result<()> {
    match closed_reason(cx, loaded, workspace) {
        Some(why) => Err(usage(format!(
            "{}: the profile {} cannot be used: {why}",
            loaded.source, loaded.profile.name
        ))),
        None => Ok(()),
    }
}

fn built_in(profile: Profile) -> LoadedProfile {
    let limits = ProfileLimits {
        max_iterations: profile.max_iterations,
        consecutive_mistake_limit: Some(3),
        ..ProfileLimits::default()
    };
    LoadedProfile {
        profile,
        source: ProfileSource::BuiltIn,
        limits,
        mcp_servers: Vec::new(),
        notes: Vec::new(),
    }
}

fn insert_or_replace_profile(profiles: &mut Vec<LoadedProfile>, loaded: LoadedProfile) {
    match profiles.iter_mut().find(|known| known.profile.name == loaded.profile.name) {
        Some(known) => *known = loaded,
        None => profiles.push(loaded),
    }
}

fn add_foreign(
    cx: &InstallationContext,
    profiles: &mut Vec<LoadedProfile>,
    mut loaded: LoadedProfile,
) -> anyhow::Result<()> {
    if cx.is_trusted() {
        insert_or_replace_profile(profiles, loaded);
        return Ok(());
    }
    let name = loaded.profile.name.clone();
    if profiles.iter().any(|known| known.profile.name == name && !known.is_foreign()) {
        let place = &loaded.source;
        cx.notify(&format!(
            "warning: {place}: the profile {name} is left out: a workspace that is not trusted \
             cannot replace one"
        ));
        return Ok(());
    }
    narrow_profile(&mut loaded, &cx.config()?.settings);
    insert_or_replace_profile(profiles, loaded);
    Ok(())
}

/// Takes out of a profile of a workspace that is not trusted what would allow, use or choose more than
/// the settings, and notes it.
fn narrow_profile(loaded: &mut LoadedProfile, settings: &Settings) {
    let (profile, notes) = (&mut loaded.profile, &mut loaded.notes);
    let rank = |mode| PermissionMode::ALL.iter().position(|m| *m == mode);
    let is_wider = |mode: &PermissionMode| rank(*mode) > rank(settings.permission);
    if let Some(mode) = profile.permission.take_if(|mode| is_wider(mode)) {
        notes.push(format!(
            "permission {mode} is ignored: it is wider than {}, and this workspace is not trusted",
            settings.permission
        ));
    }
    if let Some(model) = profile.model.take() {
        notes.push(format!(
            "model {model} is ignored: a workspace that is not trusted cannot choose the model"
        ));
    }
    if let Some(level) = profile.thinking.take_if(|level| exceeds_thinking(*level, settings)) {
        notes.push(format!(
            "thinking {} is ignored: it is more than what holds, and this workspace is not trusted",
            level.as_str()
        ));
    }
    let ours = &settings.limits;
    let iterations = &mut loaded.limits.max_iterations;
    *iterations = iterations.map(|value| value.min(ours.max_iterations));
    let mistakes = match ours.consecutive_mistake_limit {
        0 => u32::MAX,
        limit => limit,
    };
    loaded.limits.consecutive_mistake_limit =
        loaded.limits.consecutive_mistake_limit.filter(|limit| (1..=mistakes).contains(limit));
    profile.max_iterations = *iterations;
}

impl LoadedProfile {
    fn is_foreign(&self) -> bool {
        matches!(self.source, ProfileSource::Project(_))
    }
}

/// Files of profiles in a folder, by name.
fn list_profile_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_profile = |path: &PathBuf| {
        let extension = path.extension().and_then(|e| e.to_str());
        matches!(extension, Some("toml" | "md")) && path.is_file()
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_profile);
    let mut paths: Vec<PathBuf> = paths.take(PROFILES_MAX).collect();
    paths.sort();
    paths
}

/// Reads one file; the error names it.
fn read_profile_file(path: &Path) -> Result<LoadedProfile, String> {
    let place = path.display();
    let length = std::fs::metadata(path).map_err(|e| format!("{place}: {e}"))?.len();
    check_profile_length(length).map_err(|why| format!("{place}: {why}"))?;
    let bytes = read_regular_file(path, FILE_BYTES_MAX).map_err(|e| format!("{place}: {e}"))?;
    let text = String::from_utf8(bytes).map_err(|e| format!("{place}: {e}"))?;
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let (file, notes) = if is_toml {
        (from_toml(&text).map_err(|why| format!("{place}:{why}"))?, Vec::new())
    } else {
        from_markdown(path, &text).map_err(|why| format!("{place}:{why}"))?
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    finish_profile(file, stem, notes).map_err(|why| format!("{place}: {why}"))
}

/// Whether a Markdown file that says this would be a profile: what stops `weir run` for a file of
/// the person's own must not be written for them.
///
/// # Errors
/// Why it would be none.
pub(crate) fn check_profile_text(text: &str) -> Result<(), String> {
    check_profile_length(text.len() as u64)?;
    let (file, notes) = from_markdown(Path::new(""), text)?;
    finish_profile(file, String::new(), notes).map(drop)
}

fn check_profile_length(length: u64) -> Result<(), String> {
    match length > FILE_BYTES_MAX {
        true => Err(format!("has {length} bytes; at most {FILE_BYTES_MAX} are read")),
        false => Ok(()),
    }
}

fn from_toml(text: &str) -> Result<ProfileFile, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("{line}: {}", name_what_was_meant(&error.message().replace('\n', "; ")))
    })
}

fn from_markdown(path: &Path, text: &str) -> Result<(ProfileFile, Vec<String>), String> {
    let (fields, body) = frontmatter::split_frontmatter(text)?;
    let body = body.trim().to_owned();
    let is_claude = path.parent().is_some_and(|folder| folder.ends_with(".claude/agents"));
    let mut notes = Vec::new();
    let fields =
        if is_claude { claude::translate_agent_fields(fields, &mut notes) } else { fields };
    let mut file = ProfileFile::deserialize(&serde_json::Value::Object(fields))
        .map_err(|error| format!("1: in its frontmatter: {error}"))?;
    // The text below is what the profile is about; where the role is said above, it adds to it.
    match file.role {
        None => file.role = Some(body),
        Some(_) if file.instructions.is_empty() => file.instructions = body,
        Some(_) => {}
    }
    Ok((file, notes))
}

fn finish_profile(
    file: ProfileFile,
    stem: String,
    notes: Vec<String>,
) -> Result<LoadedProfile, String> {
    let name = file.name.unwrap_or(stem);
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.chars().count() > 64 || !name.chars().all(is_plain) {
        return Err(format!("{name:?} is no name of a profile; use letters, digits, - and _"));
    }
    // Whatever was spent is never more than what is no number: it would bound nothing.
    if file.limits.budget_usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
        return Err("limits.budget_usd must be an amount above 0; leave it out for no bound".into());
    }
    let role = file.role.filter(|role| !role.trim().is_empty());
    let role = role.ok_or("it has no role: say in `role` who the agent is and what it does")?;
    let (extra_tools, denied_tools) = match file.tools {
        ToolChoice::Names(names) => (names, Vec::new()),
        ToolChoice::Sets { allow, deny } => (allow, deny),
    };
    let profile = Profile {
        name,
        description: file.description,
        role,
        instructions: file.instructions,
        groups: file.groups.unwrap_or_else(every_group),
        extra_tools,
        denied_tools,
        permission: file.permission,
        model: file.model,
        thinking: file.thinking,
        max_iterations: file.limits.max_iterations,
        conventions: file.conventions,
        skills: file.skills,
        compact: file.compact,
    };
    Ok(LoadedProfile {
        profile,
        source: ProfileSource::BuiltIn,
        limits: file.limits,
        mcp_servers: file.mcp_servers,
        notes,
    })
}

fn every_group() -> Vec<ToolGroup> {
    use ToolGroup::{Agent, Edit, Mcp, Read, Skill, Vault, Web};
    vec![Read, Vault, Edit, Web, Agent, Mcp, Skill]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p7_l3_a_budget_of_a_profile_is_an_amount() {
        let read = |budget: &str| {
            let text = format!("role = \"You help.\"\n[limits]\nbudget_usd = {budget}\n");
            from_toml(&text).and_then(|file| finish_profile(file, "x".into(), Vec::new()))
        };
        for budget in ["nan", "inf", "-inf", "0.0", "-1.0"] {
            let refused = read(budget).expect_err(budget);
            assert!(refused.contains("limits.budget_usd must be an amount"), "{budget}: {refused}");
        }
        assert_eq!(read("0.5").expect("an amount").limits.budget_usd, Some(0.5));
    }
}
