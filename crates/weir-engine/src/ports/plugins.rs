//! Plugins (T11): named commands, API methods, skills and prompts of others, which count only as
//! long as they are what a person switched on (Z9). Not here: any plugin, and what may be run.

use std::path::PathBuf;

use async_trait::async_trait;
use serde_json::{Map, Value};
use weir_core::governance::label::Label;
use weir_core::ids::SessionId;
use weir_core::plugin::ParamSpec;

/// What holds of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginState {
    /// A person switched it on, and it is as it was then.
    Enabled,
    /// Nobody switched it on, or somebody switched it off.
    Disabled,
    /// It was switched on and is another one now: what changed.
    Changed(String),
    /// It cannot be used: why.
    Broken(String),
}

impl PluginState {
    /// The state as one word, for programs.
    pub fn state_word(&self) -> &'static str {
        match self {
            PluginState::Enabled => "enabled",
            PluginState::Disabled => "disabled",
            PluginState::Changed(_) => "changed",
            PluginState::Broken(_) => "broken",
        }
    }
}

/// Something of a plugin that can be called: its name, what it does, its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Callable {
    /// Its name: `plugin:command`, or of a method the name alone.
    pub name: String,
    /// One sentence for the model: its purpose.
    pub description: String,
    /// Parameters that it takes, in order.
    pub params: Vec<ParamSpec>,
    /// The JSON Schema of its arguments, where it has one instead.
    pub schema: Option<Value>,
}

/// A plugin that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginLine {
    /// Id of the plugin, by which settings and commands name it.
    pub id: String,
    /// Name that people read.
    pub name: String,
    /// Version that the plugin says of itself.
    pub version: String,
    /// One sentence: the purpose of the plugin.
    pub description: String,
    /// Where it is from: `built in`, or its folder.
    pub origin: String,
    /// What holds of it.
    pub state: PluginState,
    /// Commands that the plugin brings.
    pub commands: Vec<Callable>,
    /// The methods of its API.
    pub methods: Vec<Callable>,
}

/// What a person is shown before a plugin is switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginOffer {
    /// Id of the plugin, by which settings and commands name it.
    pub id: String,
    /// Its name and version, for people.
    pub title: String,
    /// Folder or archive that it comes from.
    pub origin: String,
    /// SHA-256 over all of its files.
    pub hash: String,
    /// The rights that the plugin has from then on, a line each.
    pub powers: Vec<String>,
    /// What to look at twice: hidden characters, changes since it was on before.
    pub notes: Vec<String>,
    /// Paths of its files, relative to its folder.
    pub files: Vec<String>,
    /// It is on already.
    pub enabled: bool,
}

/// The folder of a plugin that is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFolder {
    /// Id of the plugin, by which settings and commands name it.
    pub id: String,
    /// Folder of its skills and prompts.
    pub place: PluginPlace,
    /// The folder of its skills, below it.
    pub skills: Option<String>,
    /// The folder of its prompts, below it.
    pub prompts: Option<String>,
}

/// Where a plugin lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginPlace {
    /// In the workspace: its folder there.
    Workspace(String),
    /// In the person's own folder.
    Own(PathBuf),
}

/// A named command with its arguments put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCall {
    /// The plugin whose files must be ready before it runs; `None`: it needs none.
    pub plugin: Option<String>,
    /// The command line.
    pub command: String,
    /// Hosts that it declares.
    pub hosts: Vec<String>,
    /// Whose words its script is.
    pub label: Label,
}

/// A request of a plugin with its arguments put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestCall {
    /// `GET`, `POST`, …
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Hosts that may be private ones, because the person set them for this plugin.
    pub listed: Vec<String>,
    /// What a person must set up before it works; empty: nothing is said.
    pub setup: String,
    /// Headers beside those that every request has.
    pub headers: Vec<(String, String)>,
    /// What is sent, with its media type.
    pub body: Option<(String, String)>,
    /// Name of the secret that is put in.
    pub secret: Option<String>,
    /// The certificate that the host must show, in PEM: none other is accepted then.
    pub certificate: Option<Vec<u8>>,
}

/// What a method of a plugin's API comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum MethodCall {
    /// A command.
    Command(CommandCall),
    /// A call of another tool.
    Tool {
        /// Name of the tool.
        tool: String,
        /// Arguments of the call, as a JSON object.
        input: Value,
    },
    /// A request.
    Request(RequestCall),
}

/// The plugins of one session. What cannot be used is an error in words for the model.
#[async_trait]
pub trait Plugins: std::fmt::Debug + Send + Sync {
    /// Reads anew what persons switched on. Called before a run and before each call.
    async fn refresh(&self);
    /// All of them. Blocks.
    fn list(&self) -> Vec<PluginLine>;
    /// Commands of the configuration.
    fn configured_commands(&self) -> Vec<Callable>;
    /// The folders of those that are on. Blocks.
    fn folders(&self) -> Vec<PluginFolder>;
    /// A named command: `plugin:name`, or a name of the configuration.
    ///
    /// # Errors
    /// There is none, it is not switched on, or the arguments do not fit.
    async fn resolve_command(
        &self,
        session: &SessionId,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CommandCall, String>;
    /// A method of a plugin's API.
    ///
    /// # Errors
    /// As [`Plugins::resolve_command`].
    async fn resolve_method(
        &self,
        session: &SessionId,
        plugin: &str,
        method: &str,
        arguments: &Map<String, Value>,
    ) -> Result<MethodCall, String>;
    /// Makes sure once more that a plugin is what a person switched on, and puts its files where
    /// commands see them. Called once the call has its permit.
    ///
    /// # Errors
    /// It changed, or cannot be read.
    async fn prepare_plugin(&self, session: &SessionId, plugin: &str) -> Result<(), String>;
    /// What a person would be shown before it is switched on.
    ///
    /// # Errors
    /// There is none, or it is broken.
    async fn plugin_offer(&self, id: &str) -> Result<PluginOffer, String>;
    /// Switches a plugin on, if it still has this hash.
    ///
    /// # Errors
    /// It changed meanwhile, or the store refuses.
    async fn enable(&self, id: &str, hash: &str, by: &str) -> Result<(), String>;
    /// Switches a plugin off. `false`: it was not on.
    ///
    /// # Errors
    /// There is none, or the store refuses.
    async fn disable(&self, id: &str, by: &str) -> Result<bool, String>;
}

/// There are no plugins.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPlugins;

const NONE: &str = "there are no plugins here";

#[async_trait]
impl Plugins for NoPlugins {
    async fn refresh(&self) {}
    fn list(&self) -> Vec<PluginLine> {
        Vec::new()
    }
    fn configured_commands(&self) -> Vec<Callable> {
        Vec::new()
    }
    fn folders(&self) -> Vec<PluginFolder> {
        Vec::new()
    }
    async fn resolve_command(
        &self,
        _: &SessionId,
        _: &str,
        _: &Map<String, Value>,
    ) -> Result<CommandCall, String> {
        Err(NONE.into())
    }
    async fn resolve_method(
        &self,
        _: &SessionId,
        _: &str,
        _: &str,
        _: &Map<String, Value>,
    ) -> Result<MethodCall, String> {
        Err(NONE.into())
    }
    async fn prepare_plugin(&self, _: &SessionId, _: &str) -> Result<(), String> {
        Err(NONE.into())
    }
    async fn plugin_offer(&self, _: &str) -> Result<PluginOffer, String> {
        Err(NONE.into())
    }
    async fn enable(&self, _: &str, _: &str, _: &str) -> Result<(), String> {
        Err(NONE.into())
    }
    async fn disable(&self, _: &str, _: &str) -> Result<bool, String> {
        Err(NONE.into())
    }
}
