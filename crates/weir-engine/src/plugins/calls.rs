//! What a call of a plugin comes to: a command line, a request, another tool. Everything is checked
//! against what the plugin declares; nothing is run or sent.

use std::path::Path;

use serde_json::{Map, Value};
use weir_core::governance::label::Label;
use weir_core::ids::SessionId;
use weir_core::plugin::{
    ApiMethod, ApiRequest, MethodTarget, NamedCommand, address, arguments, line, mcp_tool,
};
use weir_core::view::plain::visible_text;

use super::found::{LoadedPlugin, PluginLocation, load_plugin_files, read_plugin_files};
use super::{FoundPlugin, PluginRegistry};
use crate::ports::{CommandCall, MethodCall, PluginState, RequestCall};
use crate::regular_file::read_regular_file;

/// Largest certificate, in bytes.
const CERTIFICATE_BYTES_MAX: u64 = 64 * 1024;

impl PluginRegistry {
    /// The folder in which commands see the files of a plugin.
    fn run_folder(session: &SessionId, found: &FoundPlugin) -> String {
        match &found.place {
            PluginLocation::Workspace(folder) => folder.clone(),
            PluginLocation::BuiltIn(_) | PluginLocation::Own(_) => {
                format!(".weir/tmp/{session}/plugins/{}", found.id)
            }
        }
    }

    pub(super) fn command_call(
        &self,
        session: &SessionId,
        name: &str,
        given: &Map<String, Value>,
    ) -> Result<CommandCall, String> {
        let Some((id, short)) = name.split_once(':') else {
            let found = self.options.commands.get(name);
            let command = found.ok_or_else(|| self.no_command(name))?;
            return fill_command(command, given);
        };
        let (found, loaded) = self.require_enabled(id)?;
        let Some(command) = loaded.manifest.commands.get(short) else {
            let names: Vec<&str> = loaded.manifest.commands.keys().map(String::as_str).collect();
            let there = if names.is_empty() { "it has none".into() } else { names.join(", ") };
            return Err(format!("the plugin {id} has no such command; its commands: {there}"));
        };
        let Some(script) = &command.script else { return fill_command(command, given) };
        let values = arguments::argument_values(&command.args, given)?;
        let words = line::script_words(&command.args, &values)?;
        let script = ScriptUse { script, words, hosts: command.hosts.clone() };
        script_call(session, &found, &loaded, script)
    }

    fn no_command(&self, name: &str) -> String {
        let name: String = visible_text(name).chars().take(64).collect();
        let mut names: Vec<String> = self.options.commands.keys().cloned().collect();
        for found in self.all_plugins() {
            if self.plugin_state(&found) == PluginState::Enabled
                && let Ok(loaded) = &found.loaded
            {
                let commands = loaded.manifest.commands.keys();
                names.extend(commands.map(|command| format!("{}:{command}", found.id)));
            }
        }
        let there = match names.as_slice() {
            [] => "there are none: a person defines them under [commands.NAME], plugins bring them",
            _ => &format!("there are: {}", names.join(", ")),
        };
        format!("there is no command {name:?}; {there}")
    }

    pub(super) fn method_call(
        &self,
        session: &SessionId,
        id: &str,
        name: &str,
        given: &Map<String, Value>,
    ) -> Result<MethodCall, String> {
        let (found, loaded) = self.require_enabled(id)?;
        let Some(method) = loaded.manifest.api.get(name) else {
            let names: Vec<&str> = loaded.manifest.api.keys().map(String::as_str).collect();
            let there = if names.is_empty() { "it has none".into() } else { names.join(", ") };
            return Err(format!("the plugin {id} has no such method; its methods: {there}"));
        };
        let way = method.method_target().ok_or("the method is mapped to nothing")?;
        match way {
            MethodTarget::Http(http) => {
                self.request_call(&loaded, method, http, given).map(MethodCall::Request)
            }
            MethodTarget::Mcp(mcp) => {
                let input = check_arguments(method, given)?;
                let tool = mcp_tool(mcp).ok_or("the method is mapped to no tool")?;
                Ok(MethodCall::Tool { tool, input })
            }
            MethodTarget::Script(script) => {
                let input = check_arguments(method, given)?;
                let words = vec![input.to_string()];
                let script = ScriptUse { script, words, hosts: method.hosts.clone() };
                script_call(session, &found, &loaded, script).map(MethodCall::Command)
            }
        }
    }

    /// A request with its arguments put in.
    fn request_call(
        &self,
        loaded: &LoadedPlugin,
        method: &ApiMethod,
        http: &ApiRequest,
        given: &Map<String, Value>,
    ) -> Result<RequestCall, String> {
        let manifest = &loaded.manifest;
        let template =
            http.address_template(manifest.base_address(self.configured_url(&manifest.id)));
        let values = arguments::argument_values(&method.params, given)?;
        let url = address::fill_address(&template, &method.params, &values)?;
        let in_url = address::argument_names(&template);
        let body = http.body.as_deref().map(|body| match body {
            "json" => {
                let rest = given.iter().filter(|(name, _)| !in_url.contains(name));
                let rest: Map<String, Value> =
                    rest.map(|(name, value)| (name.clone(), value.clone())).collect();
                ("application/json".to_owned(), Value::Object(rest).to_string())
            }
            one => {
                let name = one.trim_start_matches("{{").trim_end_matches("}}");
                let media = http.content_type.clone().unwrap_or_else(|| "text/plain".into());
                (media, values.get(name).cloned().unwrap_or_default())
            }
        });
        let set = self.options.settings.get(&manifest.id);
        let host = address::address_authority(&template).unwrap_or_default();
        let of_person = set.and_then(|set| set.url.as_deref()).and_then(address::address_authority);
        // What a person set for this plugin holds for that address and for no other of it.
        let is_set = of_person == Some(host);
        Ok(RequestCall {
            method: http.method.clone(),
            url,
            listed: if is_set { vec![without_port(host)] } else { Vec::new() },
            setup: manifest.setup.clone(),
            headers: http.headers.clone().into_iter().collect(),
            body,
            secret: http.secret.clone(),
            certificate: match set.and_then(|set| set.certificate.as_ref()) {
                Some(path) if is_set => Some(read_certificate(path)?),
                _ => None,
            },
        })
    }

    /// Reads the files once more, and puts exactly these where commands see them.
    pub(super) fn prepare_files(&self, session: &SessionId, id: &str) -> Result<(), String> {
        let (found, _) = self.require_enabled(id)?;
        if let PluginLocation::Workspace(_) = found.place {
            return Ok(());
        }
        let read = read_plugin_files(&self.options.workspace, &found.place)?;
        let now = load_plugin_files(&read, id, "plugin.toml", self.configured_url(id))?;
        if self.stored_record(&found).is_none_or(|kept| kept.hash != now.hash) {
            return Err(format!("the plugin {id} changed while it was called"));
        }
        let to = PluginRegistry::run_folder(session, &found);
        for file in read {
            let path = format!("{to}/{}", file.path);
            let written = self.options.workspace.write_own_bytes(&path, &file.bytes);
            written.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// A command line that is not a script.
fn fill_command(command: &NamedCommand, given: &Map<String, Value>) -> Result<CommandCall, String> {
    let run = command.run.as_deref().ok_or("the command runs nothing")?;
    let values = arguments::argument_values(&command.args, given)?;
    let command_line = line::fill_command_line(run, &command.args, &values)?;
    let hosts = command.hosts.clone();
    Ok(CommandCall { plugin: None, command: command_line, hosts, label: Label::default() })
}

/// What a script of a plugin is run with.
struct ScriptUse<'a> {
    /// Name of the script.
    script: &'a str,
    /// Arguments after the program, one word each.
    words: Vec<String>,
    /// Hosts that it may reach.
    hosts: Vec<String>,
}

fn script_call(
    session: &SessionId,
    found: &FoundPlugin,
    loaded: &LoadedPlugin,
    script: ScriptUse<'_>,
) -> Result<CommandCall, String> {
    let ScriptUse { script, words, hosts } = script;
    let interpreter = loaded.interpreters.iter().find(|(name, _)| name == script);
    let mut all = interpreter.map(|(_, words)| words.clone()).ok_or("the script is not there")?;
    all.push(format!("{}/{script}", PluginRegistry::run_folder(session, found)));
    all.extend(words);
    let (plugin, command) = (Some(found.id.clone()), line::of_words(&all)?);
    Ok(CommandCall { plugin, command, hosts, label: Label::default() })
}

/// The arguments of a method that is no request, held to what it declares.
fn check_arguments(method: &ApiMethod, given: &Map<String, Value>) -> Result<Value, String> {
    let input = Value::Object(given.clone());
    let Some(schema) = &method.input_schema else {
        arguments::argument_values(&method.params, given)?;
        return Ok(input);
    };
    let validator = jsonschema::draft202012::new(schema).map_err(|why| why.to_string())?;
    let wrong = validator.iter_errors(&input).next().map(|error| error.to_string());
    match wrong {
        Some(error) => Err(format!("the arguments do not fit: {error}")),
        None => Ok(input),
    }
}

fn without_port(authority: &str) -> String {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host.to_owned(),
        _ => authority.to_owned(),
    }
}

fn read_certificate(path: &Path) -> Result<Vec<u8>, String> {
    let wrong = |why: String| format!("the certificate {} cannot be used: {why}", path.display());
    let size = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if size > CERTIFICATE_BYTES_MAX {
        return Err(wrong(format!("it has more than {CERTIFICATE_BYTES_MAX} bytes")));
    }
    read_regular_file(path, CERTIFICATE_BYTES_MAX).map_err(|error| wrong(error.to_string()))
}
