//! Plugins (T11): what a `plugin.toml` says, what must be true of it, and what it lets the agent do,
//! in words. Pure: not here are files, hashes, trust, and running anything.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::safe_text::{is_deceptive, visible_text};

pub mod address;
pub mod arguments;
mod check;
pub mod line;

pub use arguments::{ArgumentValues, ParamKind, ParamSpec};
pub use check::{ManifestProblem, ScriptPolicy, check_command, check_manifest};

/// Name of the file that makes a folder a plugin.
pub const PLUGIN_FILE: &str = "plugin.toml";
/// Largest `plugin.toml`, in bytes.
pub const PLUGIN_FILE_BYTES_MAX: u64 = 64 * 1024;
/// Longest description or name, in characters.
pub const TEXT_CHARS_MAX: usize = 500;

/// What a `plugin.toml` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginManifest {
    /// Its id: the name of its folder.
    pub id: String,
    /// Name that people read.
    pub name: String,
    /// Its version, as its author counts.
    pub version: String,
    /// One sentence: the purpose of the plugin.
    #[serde(default)]
    pub description: String,
    /// What a person must set up before it works: shown with it, and where a request fails.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub setup: String,
    /// The address that relative ones of its API begin with; a person may set another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Commands by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, NamedCommand>,
    /// Methods of its API by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub api: BTreeMap<String, ApiMethod>,
    /// Folder of skills, below its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<String>,
    /// Folder of slash commands and workflows, below its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<String>,
}

/// A named command: of a plugin, or of the person's configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NamedCommand {
    /// One sentence for the model: the purpose of the command.
    pub description: String,
    /// A command line with `{{argument}}` where arguments stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Or a file of the plugin, which gets the arguments as its words, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Its arguments, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<ParamSpec>,
    /// Hosts that it must reach; else there is no network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// A method of a plugin's API. Exactly one of `script`, `mcp` and `http` is there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApiMethod {
    /// One sentence for the model: the purpose of the method.
    pub description: String,
    /// Parameters that it takes, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<ParamSpec>,
    /// Or the JSON Schema of its arguments (not for `http`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// A file of the plugin, which gets all arguments as one word of JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Hosts that the script must reach; else there is no network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// A tool of an MCP server: `server/tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<String>,
    /// A request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<ApiRequest>,
}

/// A request of a plugin's API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiRequest {
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// The address, whole or from the plugin's `base_url` on, with `{{argument}}` behind its host.
    pub url: String,
    /// Headers that are always the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Name of the secret that is put in for the host (Z7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// What is sent: `json` for the arguments that stand nowhere else, as an object; or
    /// `{{argument}}` for one of them as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The media type of a text that is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// What a method is mapped to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MethodTarget<'a> {
    /// A file of the plugin.
    Script(&'a str),
    /// A tool of an MCP server.
    Mcp(&'a str),
    /// A request.
    Http(&'a ApiRequest),
}

impl ApiMethod {
    /// The target of the method; `None`: it has none, or several.
    pub fn method_target(&self) -> Option<MethodTarget<'_>> {
        match (&self.script, &self.mcp, &self.http) {
            (Some(script), None, None) => Some(MethodTarget::Script(script)),
            (None, Some(mcp), None) => Some(MethodTarget::Mcp(mcp)),
            (None, None, Some(http)) => Some(MethodTarget::Http(http)),
            _ => None,
        }
    }
}

impl ApiRequest {
    /// The whole address with its places for arguments: `base` is what relative ones begin with.
    pub fn address_template(&self, base: Option<&str>) -> String {
        match base {
            Some(base) if self.url.starts_with('/') => {
                format!("{}{}", base.trim_end_matches('/'), self.url)
            }
            _ => self.url.clone(),
        }
    }
}

/// The name under which the session knows a tool of an MCP server.
pub fn mcp_tool(mapped: &str) -> Option<String> {
    let (server, tool) = mapped.split_once('/')?;
    Some(format!("mcp__{server}__{tool}"))
}

impl PluginManifest {
    /// The address that relative ones begin with, where a person may have set another.
    pub fn base_address<'a>(&'a self, set: Option<&'a str>) -> Option<&'a str> {
        set.filter(|url| !url.is_empty()).or(self.base_url.as_deref())
    }

    /// Every file of its folder that it would run.
    pub fn scripts(&self) -> BTreeSet<&str> {
        let of_commands = self.commands.values().filter_map(|command| command.script.as_deref());
        let of_api = self.api.values().filter_map(|method| method.script.as_deref());
        of_commands.chain(of_api).collect()
    }

    /// The rights that it gives the agent, a line each: commands with their lines, hosts, scripts,
    /// skills, prompts. `skills` and `prompts` are the names that its folders hold. Safe to show.
    pub fn describe_powers(
        &self,
        base: Option<&str>,
        skills: &[String],
        prompts: &[String],
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |text: String| lines.push(visible_text(&text));
        for (name, command) in &self.commands {
            let what = match (&command.run, &command.script) {
                (Some(run), _) => format!("runs `{run}`"),
                (None, Some(script)) => format!("runs its script {script}"),
                (None, None) => "runs nothing".to_owned(),
            };
            line(format!("command {}:{name} {what}{}", self.id, network_text(&command.hosts)));
        }
        for (name, method) in &self.api {
            let what = match method.method_target() {
                Some(MethodTarget::Script(script)) => {
                    format!("runs its script {script}{}", network_text(&method.hosts))
                }
                Some(MethodTarget::Mcp(mcp)) => format!("calls the MCP tool {mcp}"),
                Some(MethodTarget::Http(http)) => {
                    let secret = http.secret.as_ref();
                    let with = secret.map(|name| format!(" with the secret {name}"));
                    let address = http.address_template(base);
                    format!("sends {} {address}{}", http.method, with.unwrap_or_default())
                }
                None => "does nothing".to_owned(),
            };
            line(format!("api {name} {what}"));
        }
        let hosts = self.hosts(base);
        if !hosts.is_empty() {
            line(format!("reaches {}", hosts.into_iter().collect::<Vec<_>>().join(", ")));
        }
        if !skills.is_empty() {
            line(format!("brings the skills {}", skills.join(", ")));
        }
        if !prompts.is_empty() {
            let names = prompts.iter().map(|name| format!("/{}:{name}", self.id));
            line(format!("brings the commands {}", names.collect::<Vec<_>>().join(", ")));
        }
        lines
    }

    /// Every host that it declares.
    pub fn hosts(&self, base: Option<&str>) -> BTreeSet<String> {
        let of_commands = self.commands.values().flat_map(|command| command.hosts.iter().cloned());
        let of_scripts = self.api.values().flat_map(|method| method.hosts.iter().cloned());
        let of_http = self.api.values().filter_map(|method| method.http.as_ref());
        let of_http = of_http.filter_map(|http| {
            address::address_authority(&http.address_template(base)).map(str::to_owned)
        });
        of_commands.chain(of_scripts).chain(of_http).collect()
    }
}

fn network_text(hosts: &[String]) -> String {
    if hosts.is_empty() {
        return String::new();
    }
    format!(" (network: {})", hosts.join(", "))
}

/// The first character of a text that hides or turns others round, with its line.
pub fn find_hidden_character(text: &str) -> Option<(usize, char)> {
    text.lines().enumerate().find_map(|(at, line)| {
        let bad = |c: &char| is_deceptive(*c) || (c.is_control() && *c != '\t' && *c != '\r');
        line.chars().find(bad).map(|c| (at + 1, c))
    })
}

/// The files of a plugin's folder as they were: path to SHA-256.
pub type PluginSnapshot = BTreeMap<String, String>;

/// What is different in `now`: a phrase, empty when nothing is.
pub fn describe_changes(before: &PluginSnapshot, now: &PluginSnapshot) -> String {
    const NAMED_MAX: usize = 6;
    let mut said = Vec::new();
    for (path, hash) in now {
        match before.get(path) {
            None => said.push(format!("{} added", visible_text(path))),
            Some(old) if old != hash => said.push(format!("{} changed", visible_text(path))),
            Some(_) => (),
        }
    }
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    said.extend(gone.map(|path| format!("{} removed", visible_text(path))));
    let more = said.len().saturating_sub(NAMED_MAX);
    said.truncate(NAMED_MAX);
    if more > 0 {
        said.push(format!("{more} more"));
    }
    said.join(", ")
}

/// One text for a snapshot: what its hash is made of.
pub fn snapshot_text(snapshot: &PluginSnapshot) -> String {
    snapshot.iter().map(|(path, hash)| format!("{hash}  {path}\0")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pairs: &[(&str, &str)]) -> PluginSnapshot {
        pairs.iter().map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned())).collect()
    }

    #[test]
    fn z9_what_changed_is_named_file_by_file() {
        let before = files(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = files(&[("b", "2"), ("c", "1"), ("d\u{202e}", "1")]);
        assert_eq!(describe_changes(&before, &now), "b changed, d<U+202E> added, a removed");
        assert_eq!(describe_changes(&before, &before), "");
        let many: PluginSnapshot = (0..9).map(|n| (format!("f{n}"), "1".into())).collect();
        assert!(describe_changes(&PluginSnapshot::new(), &many).ends_with("f5 added, 3 more"));
    }

    #[test]
    fn z9_two_folders_have_one_text_only_when_they_are_the_same() {
        let one = files(&[("a", "1"), ("b", "2")]);
        assert_ne!(snapshot_text(&one), snapshot_text(&files(&[("a", "1  b")])));
        assert_ne!(snapshot_text(&one), snapshot_text(&files(&[("b", "1"), ("a", "2")])));
    }

    #[test]
    fn z9_hidden_characters_are_found_with_their_line() {
        assert_eq!(find_hidden_character("a\nb\tc\r\nd"), None);
        assert_eq!(find_hidden_character("a\nb\u{200b}c"), Some((2, '\u{200b}')));
        assert_eq!(find_hidden_character("\u{1b}[2J"), Some((1, '\u{1b}')));
    }

    #[test]
    fn z9_what_a_plugin_may_do_is_said_before_it_does_it() {
        let manifest: PluginManifest = serde_json::from_value(serde_json::json!({
            "id": "demo", "name": "Demo", "version": "1",
            "base_url": "https://api.example.org/v1",
            "commands": {
                "build": { "run": "make {{target}}", "args": [{ "name": "target" }] },
                "sync": { "script": "sync.sh", "hosts": ["git.example.org"] },
            },
            "api": {
                "get": { "http": { "method": "GET", "url": "/items/{{id}}", "secret": "demo" } },
                "ask": { "mcp": "git/log" },
            },
        }))
        .expect("a manifest");
        let powers =
            manifest.describe_powers(manifest.base_address(None), &["a".into()], &["p".into()]);
        assert_eq!(
            powers,
            [
                "command demo:build runs `make {{target}}`",
                "command demo:sync runs its script sync.sh (network: git.example.org)",
                "api ask calls the MCP tool git/log",
                "api get sends GET https://api.example.org/v1/items/{{id}} with the secret demo",
                "reaches api.example.org, git.example.org",
                "brings the skills a",
                "brings the commands /demo:p",
            ]
        );
        let elsewhere = manifest.hosts(manifest.base_address(Some("http://127.0.0.1:1/")));
        assert!(elsewhere.contains("127.0.0.1:1"), "{elsewhere:?}");
    }
}
