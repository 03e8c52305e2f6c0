//! Settings of plugins and of named commands (T11), and what is wrong with them. Not here: plugins
//! themselves, which stand in folders of their own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::plugin::{NamedCommand, ParamSpec, ScriptPolicy, check_command};

use super::Settings;
use super::file::key_text;

/// What commands see, and commands that have a name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommandsSettings {
    /// Variables of your environment that commands see besides the usual ones, by name; a `*` at the
    /// end stands for anything. Names that look like a key's are never passed on.
    pub env: Vec<String>,
    /// Variables with a secret that a command may be given, by name: it asks for one, and you are asked
    /// about each such command. The value is your variable's, or that of `weir auth set NAME`, or that
    /// of [secrets.NAME]. The agent never sees it.
    pub secrets: Vec<String>,
    /// Commands that have a name.
    #[serde(flatten)]
    pub named: BTreeMap<String, CommandSettings>,
}

/// A command that has a name: the agent runs it by that name alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CommandSettings {
    /// What it does, for the agent.
    pub description: String,
    /// The command line, with {{name}} where arguments stand.
    pub run: String,
    /// Its arguments.
    pub args: Vec<ParamSpec>,
    /// Hosts that it must reach; else it has no network.
    pub hosts: Vec<String>,
}

/// What is set for a plugin.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PluginSettings {
    /// The address that its API begins with; its host may then be this machine or a private one.
    pub url: String,
    /// A file with the one certificate that this host may show, in PEM.
    pub certificate: String,
}

impl CommandSettings {
    /// The command as the engine knows it.
    pub fn to_named_command(&self) -> NamedCommand {
        NamedCommand {
            description: self.description.clone(),
            run: Some(self.run.clone()),
            script: None,
            args: self.args.clone(),
            hosts: self.hosts.clone(),
        }
    }
}

/// The first thing that is wrong: its key and what.
pub(super) fn find_plugin_complaint(settings: &Settings) -> Option<(String, String)> {
    of_variables(&settings.commands)
        .or_else(|| of_commands(&settings.commands.named))
        .or_else(|| of_plugins(&settings.plugins))
}

/// Most names of either list.
const VARIABLES_MAX: usize = 100;

fn of_variables(commands: &CommandsSettings) -> Option<(String, String)> {
    let is_name = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
    };
    let is_pattern = |name: &str| is_name(name.strip_suffix('*').unwrap_or(name)) || name == "*";
    let lists = [
        ("env", &commands.env, commands.env.iter().find(|name| !is_pattern(name))),
        ("secrets", &commands.secrets, commands.secrets.iter().find(|name| !is_name(name))),
    ];
    lists.into_iter().find_map(|(key, list, wrong)| {
        let key = key_text(&["commands", key]);
        if list.len() > VARIABLES_MAX {
            return Some((key, format!("has more than {VARIABLES_MAX} names")));
        }
        // It may be the secret itself, written at the wrong place: it is not repeated.
        let why = "has an entry that is no name of a variable: use letters, digits and _";
        wrong.map(|_| (key, why.to_owned()))
    })
}

fn of_commands(commands: &BTreeMap<String, CommandSettings>) -> Option<(String, String)> {
    commands.iter().find_map(|(name, command)| {
        let key = key_text(&["commands", name]);
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            return Some((key, "is no name: use letters, digits, - and _".into()));
        }
        let problem =
            check_command(&key, &command.to_named_command(), ScriptPolicy::Refused).err()?;
        Some((problem.key, problem.what))
    })
}

fn of_plugins(plugins: &BTreeMap<String, PluginSettings>) -> Option<(String, String)> {
    plugins.iter().find_map(|(id, plugin)| {
        let key = |field: &str| key_text(&["plugins", id, field]);
        if !plugin.url.is_empty() {
            let parsed = url::Url::parse(&plugin.url);
            let fits = parsed.is_ok_and(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.host().is_some()
                    && url.username().is_empty()
                    && url.password().is_none()
                    && url.query().is_none()
                    && url.fragment().is_none()
            });
            if !fits || plugin.url.contains(['{', '}', '\\', ' ']) {
                let problem = "is no address; write http://HOST:PORT or https://HOST:PORT";
                return Some((key("url"), problem.into()));
            }
        }
        let certificate = &plugin.certificate;
        if certificate.is_empty() {
            return None;
        }
        if !certificate.starts_with('/') && !certificate.starts_with("~/") {
            return Some((key("certificate"), "is no absolute path; write /… or ~/…".into()));
        }
        let secure = plugin.url.starts_with("https://");
        (!secure).then(|| (key("certificate"), "needs a url that begins with https://".into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        let settings: Settings = toml::from_str(text).expect("settings");
        find_plugin_complaint(&settings).map(|(key, problem)| format!("{key} {problem}"))
    }

    #[test]
    fn t11_settings_that_cannot_hold_are_named() {
        for (text, begins) in [
            ("[commands.test]\nrun = \"cargo test {{name}}\"\nargs = [{ name = \"name\" }]", ""),
            ("[commands.test]\nrun = \"\"", "commands.test.run is empty"),
            ("[commands.test]\ndescription = \"x\"", "commands.test.run is empty"),
            ("[commands.\"a:b\"]\nrun = \"ls\"", "commands.\"a:b\" is no name"),
            (
                "[commands.test]\nrun = \"sh -c '{{x}}'\"\nargs = [{ name = \"x\" }]",
                "commands.test.run has {{x}} within quotes",
            ),
            ("[plugins.obsidian]\nurl = \"http://127.0.0.1:27123\"", ""),
            ("[plugins.obsidian]\nurl = \"127.0.0.1:27123\"", "plugins.obsidian.url is no address"),
            ("[plugins.obsidian]\nurl = \"http://a:b@x/\"", "plugins.obsidian.url is no address"),
            ("[plugins.obsidian]\nurl = \"https://x/{{a}}\"", "plugins.obsidian.url is no address"),
            (
                "[plugins.obsidian]\nurl = \"http://x\"\ncertificate = \"/c.pem\"",
                "plugins.obsidian.certificate needs a url",
            ),
            (
                "[plugins.obsidian]\nurl = \"https://x\"\ncertificate = \"c.pem\"",
                "plugins.obsidian.certificate is no absolute path",
            ),
            ("[plugins.obsidian]\nurl = \"https://x\"\ncertificate = \"~/c.pem\"", ""),
        ] {
            let problem = found(text).unwrap_or_default();
            assert!(problem.starts_with(begins), "{text}\n  {problem}");
            assert_eq!(problem.is_empty(), begins.is_empty(), "{text}\n  {problem}");
        }
    }
}
