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
use weir_core::plugin::{Manifest, Method, NamedCommand, Snapshot, changed};
use weir_core::view::plain::visible;

use crate::ports::{
    Callable, Clock, CommandCall, Kept, MethodCall, PluginFolder, PluginLine, PluginOffer,
    PluginPlace, PluginState, Plugins, Store,
};
use crate::workspace::Workspace;

mod calls;
mod found;
mod parse;
#[cfg(test)]
mod tests;

use found::{Loaded, OBSIDIAN, OF_WORKSPACE, PLUGINS_MAX, Place, files, load};

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
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// The port [`Plugins`] over folders and store.
#[derive(Clone)]
pub struct InstalledPlugins {
    inner: Arc<Inner>,
}

struct Inner {
    options: PluginOptions,
    /// What persons switched on, as the store said last.
    records: RwLock<BTreeMap<String, Kept>>,
}

impl std::fmt::Debug for InstalledPlugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let own = &self.inner.options.own;
        f.debug_struct("InstalledPlugins").field("own", own).finish_non_exhaustive()
    }
}

/// A plugin that was found.
struct Found {
    id: String,
    place: Place,
    loaded: Result<Loaded, String>,
}

impl InstalledPlugins {
    /// The plugins of these places.
    pub fn new(options: PluginOptions) -> InstalledPlugins {
        InstalledPlugins { inner: Arc::new(Inner { options, records: RwLock::default() }) }
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        self.refresh().await;
        let inner = self.inner.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|_| Err("looking for plugins failed; try again".into()))
    }

    async fn keep(&self, kept: &Kept) -> Result<(), String> {
        let stored = self.inner.options.store.keep(kept).await;
        stored.map_err(|error| format!("it could not be kept: {error}"))?;
        self.refresh().await;
        Ok(())
    }
}

impl Inner {
    /// Where it is from, for people, and as a part of the name under which it is kept.
    fn origin(&self, place: &Place) -> String {
        match place {
            Place::BuiltIn(_) => "built in".into(),
            Place::Own(folder) => folder.display().to_string(),
            Place::Workspace(_) => self.options.workspace.root().display().to_string(),
        }
    }

    fn key(&self, id: &str, place: &Place) -> String {
        match place {
            Place::Own(_) => format!("{id} (yours)"),
            Place::BuiltIn(_) | Place::Workspace(_) => format!("{id} ({})", self.origin(place)),
        }
    }

    fn url(&self, id: &str) -> Option<&str> {
        self.options.settings.get(id)?.url.as_deref()
    }

    /// Ids and places of all that are there, those that count before others of the same id first.
    fn places(&self) -> Vec<(String, Place)> {
        let mut places = Vec::new();
        if self.options.built_in {
            places.push(("obsidian".to_owned(), Place::BuiltIn(OBSIDIAN)));
        }
        if let Some(own) = &self.options.own {
            let own = |id: String| (id.clone(), Place::Own(own.join(id)));
            let root = self.options.own.as_deref().unwrap_or(std::path::Path::new(""));
            places.extend(folders_of(root).into_iter().map(own));
        }
        let root = self.options.workspace.root().join(OF_WORKSPACE);
        let of_workspace =
            |id: String| (id.clone(), Place::Workspace(format!("{OF_WORKSPACE}/{id}")));
        places.extend(folders_of(&root).into_iter().map(of_workspace));
        places
    }

    fn load(&self, id: &str, place: &Place) -> Result<Loaded, String> {
        let shown = match place {
            Place::BuiltIn(_) => "plugin.toml".to_owned(),
            Place::Own(folder) => folder.join("plugin.toml").display().to_string(),
            Place::Workspace(_) if !self.options.trusted => {
                return Err(
                    "the workspace is not trusted; a person reads it and runs `weir trust`".into(),
                );
            }
            Place::Workspace(folder) => format!("{folder}/plugin.toml"),
        };
        load(&files(&self.options.workspace, place)?, id, &visible(&shown), self.url(id))
    }

    /// All of them; of several with one id the first counts, and the others are broken.
    fn all(&self) -> Vec<Found> {
        let mut all: Vec<Found> = Vec::new();
        for (id, place) in self.places() {
            let first = all.iter().find(|other| other.id == id);
            let loaded = match first {
                Some(first) => Err(format!(
                    "there is another plugin {id} ({}), which counts instead",
                    self.origin(&first.place)
                )),
                None => self.load(&id, &place),
            };
            all.push(Found { id, place, loaded });
        }
        all
    }

    /// The plugin of this id that counts.
    fn one(&self, id: &str) -> Result<Found, String> {
        let places = self.places();
        let Some((_, place)) = places.iter().find(|(other, _)| other == id) else {
            let mut ids: Vec<&str> = places.iter().map(|(id, _)| id.as_str()).collect();
            ids.dedup();
            let id: String = visible(id).chars().take(64).collect();
            return Err(format!("there is no plugin {id:?}; there are: {}", ids.join(", ")));
        };
        let (id, place) = (id.to_owned(), place.clone());
        Ok(Found { loaded: self.load(&id, &place), id, place })
    }

    fn record(&self, found: &Found) -> Option<Kept> {
        let records = self.records.read().unwrap_or_else(PoisonError::into_inner);
        records.get(&self.key(&found.id, &found.place)).cloned()
    }

    fn state(&self, found: &Found) -> PluginState {
        let loaded = match &found.loaded {
            Ok(loaded) => loaded,
            Err(why) => return PluginState::Broken(why.clone()),
        };
        match self.record(found) {
            Some(kept) if kept.state == ACTIVE && kept.hash == loaded.hash => PluginState::Enabled,
            Some(kept) if kept.state == ACTIVE => {
                PluginState::Changed(changed(&snapshot_of(&kept), &loaded.snapshot))
            }
            _ => PluginState::Disabled,
        }
    }

    /// A plugin that is on.
    fn enabled(&self, id: &str) -> Result<(Found, Loaded), String> {
        let found = self.one(id)?;
        match self.state(&found) {
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

    fn line(&self, found: Found) -> PluginLine {
        let state = self.state(&found);
        let origin = self.origin(&found.place);
        let Found { id, loaded, .. } = found;
        let Ok(Loaded { manifest, .. }) = loaded else {
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

    fn offer(&self, id: &str) -> Result<PluginOffer, String> {
        let found = self.one(id)?;
        let loaded =
            found.loaded.clone().map_err(|why| format!("the plugin {id} cannot be used: {why}"))?;
        let Manifest { name, version, setup, .. } = &loaded.manifest;
        let mut notes = loaded.notes.clone();
        let state = self.state(&found);
        if let PluginState::Changed(what) = &state {
            notes.insert(0, format!("changed since it was switched on: {what}"));
        }
        if !setup.is_empty() {
            notes.push(format!("to be set up: {}", visible(setup)));
        }
        let base = loaded.manifest.base(self.url(id));
        Ok(PluginOffer {
            title: visible(&format!("{name} {version}")),
            origin: self.origin(&found.place),
            powers: loaded.manifest.powers(base, &loaded.skills, &loaded.prompts),
            notes,
            files: loaded.snapshot.keys().map(|path| visible(path)).collect(),
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

fn of_method(name: &str, method: &Method) -> Callable {
    let (description, params) = (method.description.clone(), method.params.clone());
    Callable { name: name.into(), description, params, schema: method.input_schema.clone() }
}

/// The files as they were when a person saw them.
fn snapshot_of(kept: &Kept) -> Snapshot {
    let text: Value = serde_json::from_str(&kept.text).unwrap_or_default();
    serde_json::from_value(text["files"].clone()).unwrap_or_default()
}

#[async_trait]
impl Plugins for InstalledPlugins {
    async fn refresh(&self) {
        let kept = self.inner.options.store.kept(KIND).await;
        // What cannot be read was never switched on.
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(%error, "which plugins are on cannot be read: none is");
            Vec::new()
        });
        let kept = kept.into_iter().map(|kept| (kept.name.clone(), kept)).collect();
        *self.inner.records.write().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    fn list(&self) -> Vec<PluginLine> {
        self.inner.all().into_iter().map(|found| self.inner.line(found)).collect()
    }

    fn commands(&self) -> Vec<Callable> {
        let commands = self.inner.options.commands.iter();
        commands.map(|(name, command)| of_command(name, command)).collect()
    }

    fn folders(&self) -> Vec<PluginFolder> {
        let known = |id: &str, place: &Place| {
            let records = self.inner.records.read().unwrap_or_else(PoisonError::into_inner);
            records.get(&self.inner.key(id, place)).is_some_and(|kept| kept.state == ACTIVE)
        };
        // What was never switched on need not be read.
        if !self.inner.places().iter().any(|(id, place)| known(id, place)) {
            return Vec::new();
        }
        let enabled = |found: Found| {
            if self.inner.state(&found) != PluginState::Enabled {
                return None;
            }
            let Manifest { skills, prompts, .. } = found.loaded.ok()?.manifest;
            let place = match found.place {
                Place::BuiltIn(_) => return None,
                Place::Own(folder) => PluginPlace::Own(folder),
                Place::Workspace(folder) => PluginPlace::Workspace(folder),
            };
            Some(PluginFolder { id: found.id, place, skills, prompts })
        };
        self.inner.all().into_iter().filter_map(enabled).collect()
    }

    async fn command(
        &self,
        session: &SessionId,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CommandCall, String> {
        let (session, name, given) = (session.clone(), name.to_owned(), arguments.clone());
        self.work(move |inner| inner.command(&session, &name, &given)).await
    }

    async fn method(
        &self,
        session: &SessionId,
        plugin: &str,
        method: &str,
        arguments: &Map<String, Value>,
    ) -> Result<MethodCall, String> {
        let (session, given) = (session.clone(), arguments.clone());
        let (plugin, method) = (plugin.to_owned(), method.to_owned());
        self.work(move |inner| inner.method(&session, &plugin, &method, &given)).await
    }

    async fn ready(&self, session: &SessionId, plugin: &str) -> Result<(), String> {
        let (session, plugin) = (session.clone(), plugin.to_owned());
        self.work(move |inner| inner.ready(&session, &plugin)).await
    }

    async fn offer(&self, id: &str) -> Result<PluginOffer, String> {
        let id = id.to_owned();
        self.work(move |inner| inner.offer(&id)).await
    }

    async fn enable(&self, id: &str, hash: &str, by: &str) -> Result<(), String> {
        let wanted = id.to_owned();
        let looked = self.work(move |inner| {
            let found = inner.one(&wanted)?;
            let key = inner.key(&found.id, &found.place);
            Ok((key, found.loaded?))
        });
        let (name, loaded) = looked.await?;
        if loaded.hash != hash {
            return Err(format!("the plugin {id} changed since it was shown; look at it again"));
        }
        let text = json!({ "files": loaded.snapshot, "version": loaded.manifest.version });
        let kept = Kept {
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
        self.keep(&kept).await
    }

    async fn disable(&self, id: &str, by: &str) -> Result<bool, String> {
        let wanted = id.to_owned();
        let record = self.work(move |inner| Ok(inner.record(&inner.one(&wanted)?))).await?;
        let Some(kept) = record.filter(|kept| kept.state == ACTIVE) else { return Ok(false) };
        let ts = self.inner.options.clock.now();
        self.keep(&Kept { state: DISABLED.into(), by: by.into(), ts, ..kept }).await?;
        Ok(true)
    }
}
