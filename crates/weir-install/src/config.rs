//! Settings: built in, user file, what was made in the browser for everybody and for one person,
//! project file, environment, in rising order (C8). Flags come on top in `wiring`.
//!
//! Every value keeps its origin. Rules and hooks of all files add up. A project's file cannot widen
//! what the person allowed unless the workspace is trusted (`narrow`). Nothing here asks anyone or
//! opens anything but the two files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::Value;
use weir_core::governance::rules::{RuleAction, RuleOrigin};
use weir_core::profile::PermissionMode;
use weir_core::record::sha256_hex;

use crate::environment::{ProcessEnvironment, WeirFolders};
use crate::failure::usage;

mod adopt;
mod catalogue;
mod check;
#[cfg(test)]
mod claims;
mod config_file;
mod declare;
mod edit;
mod file;
#[cfg(test)]
mod fuzz;
mod guest;
mod hook;
mod idle;
mod inputs;
mod made;
mod mismatch;
mod narrow;
mod plugins;
mod proposed;
mod readable;
#[cfg(test)]
mod reference;
mod search;
mod secrets;
mod serve_mcp;
mod servers;
mod settings;

pub use adopt::{
    ConfigAdditions, add_to_config_file, config_text_with, remove_endpoint, remove_server,
};
pub use catalogue::{SettingEntry, setting_entries, setting_value_schemas, settings_schema};
pub use config_file::ConfigFile;
pub use declare::{add_tool_declarations, tool_declaration_lines};
pub use edit::{
    ConfigDraft, add_rule, allow_here, draft_with_value, draft_without_value, find_rules,
    keys_set_by, listed_key, remove_rule, set_value, set_values, setting_value_as_json,
    unset_value, unset_values,
};
pub use file::{insert, key_text, read_text};
pub(crate) use guest::{narrower_mode, restrict_guest_config};
pub use hook::ConfiguredHook;
pub(crate) use inputs::ConfigInputs;
pub use made::{
    BrowserSettings, MadeValue, MadeValues, SettingScope, check_browser_value as check_made,
};
pub(crate) use narrow::exceeds_thinking;
pub use narrow::{WithheldPart, WithheldSetting};
pub use plugins::PluginSettings;
pub use proposed::{AcceptanceBounds, check_proposed_setting};
pub use readable::ReadableConfig;
pub(crate) use search::search_engine_address;
pub use serve_mcp::{ApprovalWay, ClientRoots, ClientTrust, McpServeSettings};
pub use servers::{
    McpOauthSettings, McpServerSettings, find_server_problem, name_problem, server_complaint,
};
pub use settings::{
    HandleSetting, HookSettings, KeyStore, OnFailure, SandboxTier, SearchSettings, SecretSettings,
    ServerSettings, Settings,
};

use file::ConfigLayer;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The program.
    BuiltIn,
    /// The person's own file.
    User(PathBuf, u32),
    /// The workspace's file.
    Project(PathBuf, u32),
    /// A variable.
    Environment(&'static str),
    /// Somebody set it on a page of the server.
    Browser {
        /// Name of the person who set it.
        by: String,
        /// It holds for everybody, and not for them alone.
        for_all: bool,
    },
}

impl SettingOrigin {
    /// The line of a value that stands in a file.
    pub fn line(&self) -> Option<u32> {
        match self {
            SettingOrigin::User(_, line) | SettingOrigin::Project(_, line) => Some(*line),
            SettingOrigin::BuiltIn
            | SettingOrigin::Environment(_)
            | SettingOrigin::Browser { .. } => None,
        }
    }
}

impl std::fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SettingOrigin::BuiltIn => f.write_str("built in"),
            SettingOrigin::User(path, line) | SettingOrigin::Project(path, line) => {
                write!(f, "{}:{line}", path.display())
            }
            SettingOrigin::Environment(name) => f.write_str(name),
            SettingOrigin::Browser { by, for_all: false } => {
                write!(f, "set in the browser by {by}")
            }
            SettingOrigin::Browser { by, for_all: true } => {
                write!(f, "set in the browser for everybody by {by}")
            }
        }
    }
}

/// A rule as it stands in a file, not yet understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRule {
    /// The list that it belongs to: deny, ask or allow.
    pub action: RuleAction,
    /// Text of the rule as it stands in the file.
    pub text: String,
    /// File and line of the rule.
    pub origin: RuleOrigin,
}

/// A hook as it stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct RawHook {
    /// When it is called.
    pub event: String,
    /// The how manyth of its file for that event.
    pub index: usize,
    /// Settings of the hook as they stand in the file.
    pub settings: HookSettings,
    /// File and line of the hook.
    pub origin: SettingOrigin,
}

impl RawHook {
    /// Its name in its file.
    pub fn name(&self) -> String {
        format!("hooks.{}[{}]", self.event, self.index)
    }
}

/// The two files, and the person's own rules for this one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFiles {
    /// The person's own.
    pub user: PathBuf,
    /// The workspace's.
    pub project: PathBuf,
    /// What the person allowed for always in this project: rules alone. It lies with their own file:
    /// nothing that works in the project, and nobody who shares it, writes it.
    pub here: PathBuf,
    /// One of them as it is to be written: read in the place of what stands on the disk.
    pub draft: Option<ConfigDraft>,
    /// Where whoever changes a workspace's file holds a lock: nothing of it belongs into somebody's
    /// repository.
    pub(crate) state: PathBuf,
}

/// Characters of a folder's name that stand in the name of its file of rules.
const FOLDER_NAME_CHARS_MAX: usize = 40;

/// The person's own rules for the project in `workspace`: `projects/NAME-HASH.toml`.
fn rules_of_project(own: &WeirFolders, workspace: &Path) -> PathBuf {
    let name = workspace.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let plain = |c: char| if c.is_alphanumeric() || c == '.' { c } else { '-' };
    let name: String = name.chars().map(plain).take(FOLDER_NAME_CHARS_MAX).collect();
    let hash = sha256_hex(workspace.as_os_str().as_encoded_bytes());
    own.config.join("projects").join(format!("{name}-{}.toml", &hash[..16]))
}

impl ConfigFiles {
    /// Where they lie for a workspace. `dirs`: whose settings count; `own`: whose rules.
    pub fn for_workspace(dirs: &WeirFolders, own: &WeirFolders, workspace: &Path) -> ConfigFiles {
        ConfigFiles {
            user: dirs.config.join("config.toml"),
            project: workspace.join(".weir").join("config.toml"),
            here: rules_of_project(own, workspace),
            draft: None,
            state: own.state.clone(),
        }
    }

    /// The file at `path`, to be changed: one of these, or that of another workspace.
    pub fn file_at(&self, path: &Path) -> ConfigFile {
        // The rules for one project lie in a folder below that of the person's own file.
        let own = if path == self.user {
            path.parent()
        } else if path == self.here {
            path.parent().and_then(Path::parent)
        } else {
            None
        };
        ConfigFile::with_lock_in(own.unwrap_or(&self.state), path)
    }

    /// What the file at `path` sets, or would set once the draft is written; `None`: there is no file.
    fn read_layer(
        &self,
        path: &Path,
        origin: fn(PathBuf, u32) -> SettingOrigin,
    ) -> anyhow::Result<Option<ConfigLayer>> {
        let text = self.read_text_of(path)?;
        text.map(|text| ConfigLayer::parse(path, &text, origin).map_err(usage)).transpose()
    }

    /// The text of the file at `path`, or what it would be once the draft is written; `None`: there is no
    /// file.
    fn read_text_of(&self, path: &Path) -> anyhow::Result<Option<String>> {
        match self.draft.as_ref().filter(|draft| draft.path == path) {
            Some(draft) => Ok(Some(draft.text.clone())),
            None => read_text(path).map_err(|why| usage(format!("{}: {why}", path.display()))),
        }
    }

    /// The person's own rules for this workspace: whatever else stands in that file is not what it is for.
    fn read_here(&self) -> anyhow::Result<Option<ConfigLayer>> {
        let layer = self.read_layer(&self.here, SettingOrigin::User)?;
        Ok(layer.map(ConfigLayer::into_rules_alone))
    }

    /// What the workspace's file and the person's own rules for it forbid or ask about: all that counts
    /// of them where their folder was added to another workspace (R7).
    ///
    /// # Errors
    /// A usage error that names the file which cannot be understood.
    pub fn forbidding_rules(&self) -> anyhow::Result<Vec<RawRule>> {
        let project = self.read_layer(&self.project, SettingOrigin::Project)?;
        let here = self.read_here()?;
        let rules = project.into_iter().chain(here).flat_map(|layer| layer.rules);
        Ok(rules.filter(|rule| rule.action != RuleAction::Allow).collect())
    }

    /// The workspace's file, to be changed: only where it is what it looks like. A link in a
    /// repository could lead to any file of the person's.
    ///
    /// # Errors
    /// A usage error that names the link.
    pub fn project_for_writing(&self) -> anyhow::Result<&Path> {
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let folder = self.project.parent().unwrap_or(&self.project);
        match [folder, &self.project].into_iter().find(|path| is_link(path)) {
            None => Ok(&self.project),
            Some(link) => {
                let link = link.display();
                Err(usage(format!("{link} is a link; put a folder or file in its place first")))
            }
        }
    }
}

/// Calls of tools in a run.
const CALLS: [&str; 2] = ["limits", "max_tool_calls"];

/// All settings that hold in one workspace.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceConfig {
    /// The values.
    pub settings: Settings,
    /// Rules of all files.
    pub rules: Vec<RawRule>,
    /// Hooks of all files.
    pub hooks: Vec<RawHook>,
    /// What was left out or has no effect, for the person: one line each.
    pub warnings: Vec<String>,
    /// What the project's file sets and only trust lets in.
    pub withheld: Vec<WithheldSetting>,
    /// The most that a workspace which is not trusted lets pass, when its file says so.
    pub(crate) permission_ceiling: Option<PermissionMode>,
    /// The workspace is not trusted: what its file sets narrows, and takes the place of nothing.
    is_narrowed: bool,
    origins: BTreeMap<String, SettingOrigin>,
}

/// What files and variables set, each by itself.
#[derive(Debug, Clone, Default)]
struct SourceLayers {
    user: Option<ConfigLayer>,
    environment: Option<ConfigLayer>,
    project: Option<ConfigLayer>,
    here: Option<ConfigLayer>,
}

/// What the sources of settings say.
#[derive(Debug, Default)]
pub(crate) struct ConfigSources {
    /// Each that can be worked with, by itself.
    pub(crate) alone: Vec<WorkspaceConfig>,
    /// All of those together; `None`: there is none.
    pub(crate) together: Option<WorkspaceConfig>,
    /// What is wrong with each of the others: file and line, where it is a file.
    pub(crate) problems: Vec<anyhow::Error>,
}

impl WorkspaceConfig {
    /// Reads and merges everything for a workspace.
    ///
    /// # Errors
    /// A file that cannot be read or has a mistake: file, line, what is wrong.
    pub fn load(
        files: &ConfigFiles,
        environment: &ProcessEnvironment,
        trusted: bool,
    ) -> anyhow::Result<WorkspaceConfig> {
        WorkspaceConfig::load_with(files, environment, trusted, &BrowserSettings::default())
    }

    /// The same with what was made in the browser of a server.
    ///
    /// # Errors
    /// As [`WorkspaceConfig::load`]. What was made and no longer fits is a warning.
    pub fn load_with(
        files: &ConfigFiles,
        environment: &ProcessEnvironment,
        trusted: bool,
        made: &BrowserSettings,
    ) -> anyhow::Result<WorkspaceConfig> {
        ConfigInputs::read(files, environment, trusted, made)?.combine()
    }

    fn combine_sources(
        sources: SourceLayers,
        trusted: bool,
        made: &BrowserSettings,
    ) -> anyhow::Result<WorkspaceConfig> {
        let SourceLayers { user, mut environment, project, here } = sources;
        // The variable is the installation's: nobody sets more for themselves.
        let bounds = made::stack_layers([user.as_ref(), environment.as_ref()]);
        let made = made::browser_layers(made, Some(&bounds))?;
        // What was stored for calls of tools beats the variable (L4).
        let is_stored =
            [&made.installation, &made.person].iter().any(|of| of.get(&CALLS).is_some());
        if let Some(layer) = environment.as_mut().filter(|_| is_stored) {
            layer.values.remove(CALLS.map(String::from).as_slice());
        }
        let mut config = WorkspaceConfig { is_narrowed: !trusted, ..WorkspaceConfig::default() };
        let project = match (project, trusted) {
            (Some(project), false) => {
                let below = made::stack_layers([
                    user.as_ref(),
                    Some(&made.installation),
                    Some(&made.person),
                ]);
                let narrowed = narrow::narrow_project_layer(project, Some(&below))?;
                config.withheld = narrowed.withheld;
                config.permission_ceiling = narrowed.permission;
                Some(narrowed.layer)
            }
            (Some(mut project), true) => {
                config
                    .warnings
                    .extend(made::hold_security_settings(&made.installation, &mut project));
                Some(project)
            }
            (None, _) => None,
        };
        config.warnings.extend(made.notes);
        let layers = [user, Some(made.installation), Some(made.person), project, here, environment];
        let layers: Vec<ConfigLayer> = layers.into_iter().flatten().collect();
        if !layers.is_empty() {
            config.merge_layers(&layers)?;
        }
        check::check_values(&config).map_err(usage)?;
        check::check_merged_files(&config).map_err(usage)?;
        config.warnings.extend(idle::idle_setting_warnings(&config));
        Ok(config)
    }

    /// What each source says, the lowest first: the files, what was made in the browser, the environment.
    /// What a source sets must hold over those below it, which may set the rest of a table.
    pub(crate) fn each_source(
        files: &ConfigFiles,
        environment: &ProcessEnvironment,
        made: &BrowserSettings,
    ) -> ConfigSources {
        let (installation, person) = match made::browser_layers(made, None) {
            Ok(layers) => (Ok(Some(layers.installation)), Ok(Some(layers.person))),
            Err(error) => (Err(error), Ok(None)),
        };
        let sources = [
            files.read_layer(&files.user, SettingOrigin::User),
            installation,
            person,
            files.read_layer(&files.project, SettingOrigin::Project),
            files.read_here(),
            ConfigLayer::of_environment(environment),
        ];
        let mut found = ConfigSources::default();
        let mut layers: Vec<ConfigLayer> = Vec::new();
        for layer in sources.into_iter().filter_map(Result::transpose) {
            let usable = layer.and_then(|layer| {
                let alone = WorkspaceConfig::merge_unchecked(std::slice::from_ref(&layer))?;
                layers.push(layer);
                let together = WorkspaceConfig::merge_unchecked(&layers)
                    .and_then(WorkspaceConfig::check_merged);
                if together.is_err() {
                    layers.pop();
                }
                Ok((alone, together?))
            });
            match usable {
                Ok((alone, together)) => {
                    found.alone.push(alone);
                    found.together = Some(together);
                }
                Err(error) => found.problems.push(error),
            }
        }
        found
    }

    /// The settings that hold for somebody wherever they work: without the file of a workspace and
    /// without the environment.
    ///
    /// # Errors
    /// A file that cannot be read or has a mistake.
    pub(crate) fn own_settings(
        files: &ConfigFiles,
        made: &BrowserSettings,
    ) -> anyhow::Result<Settings> {
        let user = files.read_layer(&files.user, SettingOrigin::User)?;
        let made = made::browser_layers(made, user.as_ref())?;
        let layers = [user.as_ref(), Some(&made.installation), Some(&made.person)];
        narrow::settings_of(Some(&made::stack_layers(layers)))
    }

    /// Later layers win, key by key.
    fn merge_layers(&mut self, layers: &[ConfigLayer]) -> anyhow::Result<()> {
        let mut merged = Value::Object(serde_json::Map::new());
        for layer in layers {
            for (key, value) in &layer.values {
                file::insert(&mut merged, key, value.json.clone());
                self.origins.insert(file::key_text(key), value.origin.clone());
            }
            self.rules.extend(layer.rules.iter().cloned());
            self.hooks.extend(layer.hooks.iter().cloned());
        }
        self.settings = Settings::deserialize(&merged)
            .map_err(|error| usage(self.describe_misfit(&merged, &error)))?;
        // One file's hooks must not push out another's: they guard.
        self.settings.hooks.clear();
        for hook in &self.hooks {
            let hooks = self.settings.hooks.entry(hook.event.clone()).or_default();
            hooks.push(hook.settings.clone());
        }
        Ok(())
    }

    /// Checks what one file says, before it is written, which may be a part of what several say together.
    fn check_part(layer: ConfigLayer) -> anyhow::Result<()> {
        let mut config = WorkspaceConfig::merge_unchecked(&[layer])?;
        check::leave_out_parts(&mut config);
        config.check_merged().map(drop)
    }

    /// Why these values are no settings: where the one stands that does not fit.
    fn describe_misfit(&self, merged: &Value, error: &serde_json::Error) -> String {
        match mismatch::describe_merged_mismatch(merged, error) {
            Some((key, problem)) => match check::origin_of_setting(self, &key) {
                SettingOrigin::BuiltIn => format!("{key} {problem}"),
                origin => format!("{origin}: {key} {problem}"),
            },
            None => format!("the settings do not fit together: {error}"),
        }
    }

    /// What one source alone would say.
    fn of_layer(layer: ConfigLayer) -> anyhow::Result<WorkspaceConfig> {
        WorkspaceConfig::merge_unchecked(&[layer]).and_then(WorkspaceConfig::check_merged)
    }

    /// What these say together, later ones over earlier ones, whether or not anybody can work with it.
    fn merge_unchecked(layers: &[ConfigLayer]) -> anyhow::Result<WorkspaceConfig> {
        let mut config = WorkspaceConfig::default();
        config.merge_layers(layers)?;
        Ok(config)
    }

    fn check_merged(self) -> anyhow::Result<WorkspaceConfig> {
        check::check_values(&self).map_err(usage)?;
        Ok(self)
    }

    /// Where the value of `key` came from.
    pub fn origin_of_key(&self, key: &str) -> SettingOrigin {
        self.origins.get(key).cloned().unwrap_or(SettingOrigin::BuiltIn)
    }

    /// Whether any layer sets `key`.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.origins.contains_key(key)
    }

    /// What holds of a bound that settings and somebody else name: the settings' `written`, else
    /// `other`. What the file of a workspace that is not trusted says counts where it is less, and
    /// takes the place of no stricter one.
    pub(crate) fn bound_or<T: PartialOrd>(
        &self,
        key: &str,
        written: Option<T>,
        other: Option<T>,
    ) -> Option<T> {
        let only_narrows =
            self.is_narrowed && matches!(self.origins.get(key), Some(SettingOrigin::Project(..)));
        match (written, other) {
            (Some(written), Some(other)) if only_narrows && other < written => Some(other),
            (Some(written), _) => Some(written),
            (None, other) => other,
        }
    }

    /// Keys that a layer sets, with their origins.
    pub(crate) fn set_keys(&self) -> impl Iterator<Item = (&str, &SettingOrigin)> {
        self.origins.iter().map(|(key, origin)| (key.as_str(), origin))
    }
}
