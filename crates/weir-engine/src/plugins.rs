//! The plugins of a session (T11): found in the program, in the person's folder and in a trusted
//! workspace, and usable only as what a person switched on, byte for byte (Z9). Not here: whether a
//! call may do what they say, which the gate judges like any other.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use weir_core::governance::label::Label;
use weir_core::ids::SessionId;
use weir_core::plugin::{
    ApiMethod, NamedCommand, PluginManifest, PluginSnapshot, describe_changes,
};
use weir_core::view::plain::visible_text;

use crate::blocking::run_blocking;
use crate::ports::{
    Callable, Clock, CommandCall, MethodCall, PluginFolder, PluginLine, PluginOffer, PluginPlace,
    PluginState, Plugins, Store, StoredItem,
};
use crate::workspace::Workspace;

mod calls;
mod found;
mod parse;
#[cfg(test)]
mod tests;

use found::{
    LoadedPlugin, OBSIDIAN, OF_WORKSPACE, PLUGINS_MAX, PluginLocation, load_plugin_files,
    read_plugin_files,
};

/// The kind under which the store keeps what was switched on.
const KIND: &str = "plugin";
/// A plugin that a person switched on.
const ACTIVE: &str = "active";
/// One that they switched off again.
const DISABLED: &str = "disabled";

/// What a person set for a plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginSettings {
    /// The address that its API begins with; its host may be a private one then.
    pub url: Option<String>,
    /// The file of the one certificate that this host may show.
    pub certificate: Option<PathBuf>,
}

/// Where plugins are looked for, and what was set for them.
#[derive(Clone)]
pub struct PluginOptions {
    /// The folder that is worked in.
    pub workspace: Arc<Workspace>,
    /// It is trusted: its plugins may be used.
    pub trusted: bool,
    /// The person's own folder of plugins.
    pub own: Option<PathBuf>,
    /// Those that come with the program are there too.
    pub built_in: bool,
    /// What was set, by id.
    pub settings: BTreeMap<String, PluginSettings>,
    /// Commands of the configuration, by name.
    pub commands: BTreeMap<String, NamedCommand>,
    /// What persons switched on.
    pub store: Arc<dyn Store>,
    /// The clock that tells the time.
    pub clock: Arc<dyn Clock>,
}

/// The port [`Plugins`] over folders and store.
#[derive(Clone)]
pub struct InstalledPlugins {
    inner: Arc<PluginRegistry>,
}

struct PluginRegistry {
    options: PluginOptions,
    /// What persons switched on, as the store said last.
    records: RwLock<BTreeMap<String, StoredItem>>,
}

impl std::fmt::Debug for InstalledPlugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let own = &self.inner.options.own;
        f.debug_struct("InstalledPlugins").field("own", own).finish_non_exhaustive()
    }
}

/// A plugin that was found.
struct FoundPlugin {
    id: String,
    place: PluginLocation,
    loaded: Result<LoadedPlugin, String>,
}

impl InstalledPlugins {
    /// The plugins of these places.
    pub fn new(options: PluginOptions) -> InstalledPlugins {
        InstalledPlugins { inner: Arc::new(PluginRegistry { options, records: RwLock::default() }) }
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&PluginRegistry) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        self.refresh().await;
        let inner = self.inner.clone();
        let done = run_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|_| Err("looking for plugins failed; try again".into()))
    }

    async fn save_record(&self, kept: &StoredItem) -> Result<(), String> {
        let stored = self.inner.options.store.store_item(kept).await;
        stored.map_err(|error| format!("it could not be kept: {error}"))?;
        self.refresh().await;
        Ok(())
    }
}

impl PluginRegistry {
    /// Where it is from, for people, and as a part of the name under which it is kept.
    fn origin_text(&self, place: &PluginLocation) -> String {
        match place {
            PluginLocation::BuiltIn(_) => "built in".into(),
            PluginLocation::Own(folder) => folder.display().to_string(),
            PluginLocation::Workspace(_) => self.options.workspace.root().display().to_string(),
        }
    }

    fn record_key(&self, id: &str, place: &PluginLocation) -> String {
        match place {
            PluginLocation::Own(_) => format!("{id} (yours)"),
            PluginLocation::BuiltIn(_) | PluginLocation::Workspace(_) => {
                format!("{id} ({})", self.origin_text(place))
            }
        }
    }

    fn configured_url(&self, id: &str) -> Option<&str> {
        self.options.settings.get(id)?.url.as_deref()
    }

    /// Ids and places of all that are there, those that count before others of the same id first.
    fn list_places(&self) -> Vec<(String, PluginLocation)> {
        let mut places = Vec::new();
        if self.options.built_in {
            places.push(("obsidian".to_owned(), PluginLocation::BuiltIn(OBSIDIAN)));
        }
        if let Some(own) = &self.options.own {
            let own = |id: String| (id.clone(), PluginLocation::Own(own.join(id)));
            let root = self.options.own.as_deref().unwrap_or(std::path::Path::new(""));
            places.extend(folders_of(root).into_iter().map(own));
        }
        let root = self.options.workspace.root().join(OF_WORKSPACE);
        let of_workspace =
            |id: String| (id.clone(), PluginLocation::Workspace(format!("{OF_WORKSPACE}/{id}")));
        places.extend(folders_of(&root).into_iter().map(of_workspace));
        places
    }

    fn load_plugin(&self, id: &str, place: &PluginLocation) -> Result<LoadedPlugin, String> {
        let shown = match place {
            PluginLocation::BuiltIn(_) => "plugin.toml".to_owned(),
            PluginLocation::Own(folder) => folder.join("plugin.toml").display().to_string(),
            PluginLocation::Workspace(_) if !self.options.trusted => {
                return Err(
                    "the workspace is not trusted; a person reads it and runs `weir trust`".into(),
                );
            }
            PluginLocation::Workspace(folder) => format!("{folder}/plugin.toml"),
        };
        load_plugin_files(
            &read_plugin_files(&self.options.workspace, place)?,
            id,
            &visible_text(&shown),
            self.configured_url(id),
        )
    }

    /// All of them; of several with one id the first counts, and the others are broken.
    fn all_plugins(&self) -> Vec<FoundPlugin> {
        let mut all: Vec<FoundPlugin> = Vec::new();
        for (id, place) in self.list_places() {
            let first = all.iter().find(|other| other.id == id);
            let loaded = match first {
                Some(first) => Err(format!(
                    "there is another plugin {id} ({}), which counts instead",
                    self.origin_text(&first.place)
                )),
                None => self.load_plugin(&id, &place),
            };
            all.push(FoundPlugin { id, place, loaded });
        }
        all
    }

    /// The plugin of this id that counts.
    fn find_plugin(&self, id: &str) -> Result<FoundPlugin, String> {
        let places = self.list_places();
        let Some((_, place)) = places.iter().find(|(other, _)| other == id) else {
            let mut ids: Vec<&str> = places.iter().map(|(id, _)| id.as_str()).collect();
            ids.dedup();
            let id: String = visible_text(id).chars().take(64).collect();
            return Err(format!("there is no plugin {id:?}; there are: {}", ids.join(", ")));
        };
        let (id, place) = (id.to_owned(), place.clone());
        Ok(FoundPlugin { loaded: self.load_plugin(&id, &place), id, place })
    }

    fn stored_record(&self, found: &FoundPlugin) -> Option<StoredItem> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        records.get(&self.record_key(&found.id, &found.place)).cloned()
    }

    fn plugin_state(&self, found: &FoundPlugin) -> PluginState {
        let loaded = match &found.loaded {
            Ok(loaded) => loaded,
            Err(why) => return PluginState::Broken(why.clone()),
        };
        match self.stored_record(found) {
            Some(kept) if kept.state == ACTIVE && kept.hash == loaded.hash => PluginState::Enabled,
            Some(kept) if kept.state == ACTIVE => {
                PluginState::Changed(describe_changes(&snapshot_of(&kept), &loaded.snapshot))
            }
            _ => PluginState::Disabled,
        }
    }

    /// A plugin that is on.
    fn require_enabled(&self, id: &str) -> Result<(FoundPlugin, LoadedPlugin), String> {
        let found = self.find_plugin(id)?;
        match self.plugin_state(&found) {
            PluginState::Enabled => {
                let loaded = found.loaded.clone()?;
                Ok((found, loaded))
            }
            PluginState::Disabled => Err(format!(
                "the plugin {id} is not switched on; enable_plugin proposes it to the person, or \
                 they run `weir plugins enable {id}`"
            )),
            PluginState::Changed(what) => Err(format!(
                "the plugin {id} changed since it was switched on ({what}), so it is off until a \
                 person has seen it again: enable_plugin proposes that"
            )),
            PluginState::Broken(why) => Err(format!("the plugin {id} cannot be used: {why}")),
        }
    }

    fn plugin_line(&self, found: FoundPlugin) -> PluginLine {
        let state = self.plugin_state(&found);
        let origin = self.origin_text(&found.place);
        let FoundPlugin { id, loaded, .. } = found;
        let Ok(LoadedPlugin { manifest, .. }) = loaded else {
            let (name, version, description) = (id.clone(), String::new(), String::new());
            let (commands, methods) = (Vec::new(), Vec::new());
            return PluginLine { id, name, version, description, origin, state, commands, methods };
        };
        let commands = manifest.commands.iter();
        let commands = commands.map(|(name, command)| of_command(&format!("{id}:{name}"), command));
        let methods = manifest.api.iter().map(|(name, method)| of_method(name, method));
        PluginLine {
            commands: commands.collect(),
            methods: methods.collect(),
            name: manifest.name,
            version: manifest.version,
            description: manifest.description,
            id,
            origin,
            state,
        }
    }

    fn plugin_offer(&self, id: &str) -> Result<PluginOffer, String> {
        let found = self.find_plugin(id)?;
        let loaded =
            found.loaded.clone().map_err(|why| format!("the plugin {id} cannot be used: {why}"))?;
        let PluginManifest { name, version, setup, .. } = &loaded.manifest;
        let mut notes = loaded.notes.clone();
        let state = self.plugin_state(&found);
        if let PluginState::Changed(what) = &state {
            notes.insert(0, format!("changed since it was switched on: {what}"));
        }
        if !setup.is_empty() {
            notes.push(format!("to be set up: {}", visible_text(setup)));
        }
        let base = loaded.manifest.base_address(self.configured_url(id));
        Ok(PluginOffer {
            title: visible_text(&format!("{name} {version}")),
            origin: self.origin_text(&found.place),
            powers: loaded.manifest.describe_powers(base, &loaded.skills, &loaded.prompts),
            notes,
            files: loaded.snapshot.keys().map(|path| visible_text(path)).collect(),
            hash: loaded.hash,
            enabled: state == PluginState::Enabled,
            id: found.id,
        })
    }
}

/// Names of the folders of a place, in order.
fn folders_of(root: &std::path::Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .take(PLUGINS_MAX)
        .collect();
    names.sort_unstable();
    names
}

fn of_command(name: &str, command: &NamedCommand) -> Callable {
    let (description, params) = (command.description.clone(), command.args.clone());
    Callable { name: name.into(), description, params, schema: None }
}

fn of_method(name: &str, method: &ApiMethod) -> Callable {
    let (description, params) = (method.description.clone(), method.params.clone());
    Callable { name: name.into(), description, params, schema: method.input_schema.clone() }
}

/// The files as they were when a person saw them.
fn snapshot_of(kept: &StoredItem) -> PluginSnapshot {
    let text: Value = serde_json::from_str(&kept.text).unwrap_or_default();
    serde_json::from_value(text["files"].clone()).unwrap_or_default()
}

#[async_trait]
impl Plugins for InstalledPlugins {
    async fn refresh(&self) {
        let kept = self.inner.options.store.stored_items(KIND).await;
        // What cannot be read was never switched on.
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(%error, "which plugins are on cannot be read: none is");
            Vec::new()
        });
        let kept = kept.into_iter().map(|kept| (kept.name.clone(), kept)).collect();
        *self.inner.records.write().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    fn list(&self) -> Vec<PluginLine> {
        self.inner.all_plugins().into_iter().map(|found| self.inner.plugin_line(found)).collect()
    }

    fn configured_commands(&self) -> Vec<Callable> {
        let commands = self.inner.options.commands.iter();
        commands.map(|(name, command)| of_command(name, command)).collect()
    }

    fn folders(&self) -> Vec<PluginFolder> {
        let known = |id: &str, place: &PluginLocation| {
            let records = self.inner.records.read().unwrap_or_else(PoisonError::into_inner);
            records.get(&self.inner.record_key(id, place)).is_some_and(|kept| kept.state == ACTIVE)
        };
        // What was never switched on need not be read.
        if !self.inner.list_places().iter().any(|(id, place)| known(id, place)) {
            return Vec::new();
        }
        let enabled = |found: FoundPlugin| {
            if self.inner.plugin_state(&found) != PluginState::Enabled {
                return None;
            }
            let PluginManifest { skills, prompts, .. } = found.loaded.ok()?.manifest;
            let place = match found.place {
                PluginLocation::BuiltIn(_) => return None,
                PluginLocation::Own(folder) => PluginPlace::Own(folder),
                PluginLocation::Workspace(folder) => PluginPlace::Workspace(folder),
            };
            Some(PluginFolder { id: found.id, place, skills, prompts })
        };
        self.inner.all_plugins().into_iter().filter_map(enabled).collect()
    }

    async fn resolve_command(
        &self,
        session: &SessionId,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CommandCall, String> {
        let (session, name, given) = (session.clone(), name.to_owned(), arguments.clone());
        self.run_blocking(move |inner| inner.command_call(&session, &name, &given)).await
    }

    async fn resolve_method(
        &self,
        session: &SessionId,
        plugin: &str,
        method: &str,
        arguments: &Map<String, Value>,
    ) -> Result<MethodCall, String> {
        let (session, given) = (session.clone(), arguments.clone());
        let (plugin, method) = (plugin.to_owned(), method.to_owned());
        self.run_blocking(move |inner| inner.method_call(&session, &plugin, &method, &given)).await
    }

    async fn prepare_plugin(&self, session: &SessionId, plugin: &str) -> Result<(), String> {
        let (session, plugin) = (session.clone(), plugin.to_owned());
        self.run_blocking(move |inner| inner.prepare_files(&session, &plugin)).await
    }

    async fn plugin_offer(&self, id: &str) -> Result<PluginOffer, String> {
        let id = id.to_owned();
        self.run_blocking(move |inner| inner.plugin_offer(&id)).await
    }

    async fn enable(&self, id: &str, hash: &str, by: &str) -> Result<(), String> {
        let wanted = id.to_owned();
        let looked = self.run_blocking(move |inner| {
            let found = inner.find_plugin(&wanted)?;
            let key = inner.record_key(&found.id, &found.place);
            Ok((key, found.loaded?))
        });
        let (name, loaded) = looked.await?;
        if loaded.hash != hash {
            return Err(format!("the plugin {id} changed since it was shown; look at it again"));
        }
        let text = json!({ "files": loaded.snapshot, "version": loaded.manifest.version });
        let kept = StoredItem {
            what: KIND.into(),
            name,
            text: text.to_string(),
            state: ACTIVE.into(),
            hash: loaded.hash,
            version: 1,
            label: Label::default(),
            by: by.into(),
            ts: self.inner.options.clock.now(),
        };
        self.save_record(&kept).await
    }

    async fn disable(&self, id: &str, by: &str) -> Result<bool, String> {
        let wanted = id.to_owned();
        let record = self
            .run_blocking(move |inner| Ok(inner.stored_record(&inner.find_plugin(&wanted)?)))
            .await?;
        let Some(kept) = record.filter(|kept| kept.state == ACTIVE) else { return Ok(false) };
        let ts = self.inner.options.clock.now();
        self.save_record(&StoredItem { state: DISABLED.into(), by: by.into(), ts, ..kept }).await?;
        Ok(true)
    }
}
