//! A server of another agent as one of ours. Values that look secret are never copied into a file
//! of settings: for an address they become a secret of their own, else the person is told what to
//! do. Not here: which values look so, and what a workspace's file may not say (`plain`).

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;
use weir_sandbox::filtered_environment;

use super::files::ImportPlaces;
use super::marked::MarkedField;
use super::{ImportFindings, ImportMapping, ImportTarget};
use crate::config::{McpServerSettings, SecretSettings, name_problem};
use crate::duration::TimeSpan;
use crate::environment::ProcessEnvironment;
use crate::keys::looks_secret;
use crate::servers::{TemplatePart, packages, split_template};

pub(super) use plain::is_secret;

mod plain;

/// Bytes of a value with its variables filled in.
const FILLED_BYTES_MAX: usize = 64 * 1024;

/// Of a server that was for one folder: here a server is the person's own.
pub(super) const FOLDER_ONLY: &str = "it was for this folder only; here it holds everywhere";
/// Why a server of the old transport is left.
pub(super) const OLD_TRANSPORT: &str = "uses the transport sse, which is gone from the protocol";

/// A server as another agent's file has it, variables as `${NAME}`.
#[derive(Debug, Clone, Default)]
pub(super) struct ImportedServer {
    /// Program and arguments.
    pub(super) command: Vec<String>,
    /// Its variables.
    pub(super) env: BTreeMap<String, String>,
    /// Its address.
    pub(super) url: String,
    /// Headers of its requests.
    pub(super) headers: BTreeMap<String, String>,
    /// The rest.
    pub(super) rest: McpServerSettings,
}

/// How another agent writes a table of servers down that has the shape of `.mcp.json`.
#[derive(Clone, Copy)]
pub(super) struct ServerDialect {
    /// An address without a kind is one of the old transport.
    pub(super) sse_addresses: bool,
    /// Its words for variables as `${NAME}`.
    pub(super) to_variables: fn(&str) -> String,
    /// What is not the same for each of them.
    pub(super) note: Option<&'static str>,
}

/// Each server of such a table. Those of a workspace's file become the person's own too: their
/// variables are theirs.
pub(super) fn collect_servers(
    servers: &MarkedField<'_>,
    dialect: &ServerDialect,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    for server in servers.table_fields() {
        let (becomes, mut notes) = match parse_server(server.take_value(), dialect) {
            Ok((foreign, mut notes)) => {
                let (becomes, more) = map_server(&server.key, foreign, places.environment);
                notes.extend(more);
                (becomes, notes)
            }
            Err(why) => (ImportMapping::Nothing(why), Vec::new()),
        };
        notes.extend(dialect.note.map(str::to_owned));
        let mapped = MappedServer { name: &server.key, becomes, notes };
        put_server(&server, mapped, places, found);
    }
}

/// A server that was read.
pub(super) struct MappedServer<'a> {
    /// Its name there.
    pub(super) name: &'a str,
    /// What it becomes.
    pub(super) becomes: ImportMapping,
    /// What is not the same.
    pub(super) notes: Vec<String>,
}

/// Takes a server over. It becomes the person's own, so one that was for a
/// workspace brings no secret and no program of that workspace.
pub(super) fn put_server(
    field: &MarkedField<'_>,
    server: MappedServer<'_>,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    let MappedServer { name, mut becomes, mut notes } = server;
    let of_workspace = field.import_target() == ImportTarget::Project;
    if of_workspace {
        notes.extend(plain::drop_secrets(&mut becomes));
    }
    if of_workspace && !notes.iter().any(|note| note == FOLDER_ONLY) {
        notes.push(FOLDER_ONLY.to_owned());
    }
    if notes.iter().any(|note| note == FOLDER_ONLY)
        && let ImportMapping::Server(_, server, _) = &becomes
        && let Err(why) = plain::check_no_path_within(server, places.workspace)
    {
        becomes = ImportMapping::Nothing(why);
    }
    let item = field.settle_value(format!("server {name}"), becomes, notes, found);
    item.target = ImportTarget::User;
}

/// A server in the shape of `.mcp.json`, and which of its fields are not known here.
fn parse_server(
    value: &Value,
    dialect: &ServerDialect,
) -> Result<(ImportedServer, Vec<String>), String> {
    let fields = value.as_object().ok_or("is no object")?;
    let mut foreign = ImportedServer::default();
    let mut notes = Vec::new();
    let plain = |text: &str| (dialect.to_variables)(text);
    let sse = || Err(OLD_TRANSPORT.to_owned());
    let kind = fields.get("type").and_then(Value::as_str);
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("type", Value::String(kind)) if kind == "sse" => return sse(),
            ("url", Value::String(_)) if dialect.sse_addresses && kind.is_none() => return sse(),
            ("type" | "description", _) => {}
            ("command", Value::String(command)) => foreign.command.insert(0, plain(command)),
            ("args", Value::Array(args)) => {
                foreign.command.extend(args.iter().filter_map(Value::as_str).map(plain));
            }
            ("env", Value::Object(_)) => foreign.env = text_table(value, plain),
            ("url" | "httpUrl", Value::String(url)) => foreign.url = plain(url),
            ("headers", Value::Object(_)) => foreign.headers = text_table(value, plain),
            ("cwd", Value::String(cwd)) => foreign.rest.cwd = plain(cwd),
            ("timeout", Value::Number(ms)) => {
                let ms = ms.as_u64().filter(|ms| *ms > 0);
                foreign.rest.timeout = ms.map(|ms| TimeSpan { ms });
            }
            ("disabled", Value::Bool(disabled)) => foreign.rest.enabled = !disabled,
            ("trust", Value::Bool(_)) => {
                notes.push("trust is not taken over: its calls are judged like all".into());
            }
            _ => notes.push(format!("{field} is not taken over")),
        }
    }
    Ok((foreign, notes))
}

/// Names with texts; numbers and truths as they are written.
pub(super) fn text_table(
    value: &Value,
    plain: impl Fn(&str) -> String,
) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    let text = |value: &Value| match value {
        Value::String(text) => plain(text),
        value => value.to_string(),
    };
    fields.map(|(name, value)| (name.clone(), text(value))).collect()
}

/// The name that a server has here: its own, as far as it can be one.
pub(super) fn name_here(name: &str) -> String {
    let mut here = String::new();
    for sign in name.chars() {
        let plain = sign.is_ascii_alphanumeric() || sign == '-' || sign == '_';
        let sign = if plain { sign } else { '-' };
        if !(sign == '_' && here.ends_with('_')) {
            here.push(sign);
        }
    }
    here.truncate(24);
    let here = here.trim_matches('_');
    if name_problem(here).is_some() { "server".to_owned() } else { here.to_owned() }
}

/// What it becomes, and what a person should know.
pub(super) fn map_server(
    name: &str,
    foreign: ImportedServer,
    environment: &ProcessEnvironment,
) -> (ImportMapping, Vec<String>) {
    let here = name_here(name);
    let mut notes = Vec::new();
    if here != name {
        notes.push(format!("it is called {here} here"));
    }
    let mut fill = VariableFiller::new(environment);
    let mut secrets = Vec::new();
    let made = build_server_settings(&here, foreign, &mut fill, &mut secrets);
    let variables = std::mem::take(&mut fill.used);
    if !variables.is_empty() {
        let variables: Vec<String> = variables.into_iter().collect();
        notes.push(format!("filled in as it is now: {}", variables.join(", ")));
    }
    notes.append(&mut fill.notes);
    if let Some(package) = made.as_ref().ok().and_then(packages::package_of_server) {
        notes.push(format!(
            "to be installed once ({}): `weir mcp-servers install {here}`",
            package.display_name()
        ));
    }
    match made {
        Ok(settings) => (ImportMapping::Server(here, Box::new(settings), secrets), notes),
        Err(why) => (ImportMapping::Nothing(why), notes),
    }
}

fn build_server_settings(
    name: &str,
    foreign: ImportedServer,
    fill: &mut VariableFiller,
    secrets: &mut Vec<(String, SecretSettings)>,
) -> Result<McpServerSettings, String> {
    let mut words = foreign.command.iter().map(|word| fill.fill_plain_text(word));
    let command = words.next().transpose()?.unwrap_or_default();
    let args = words.collect::<Result<Vec<String>, String>>()?;
    let mut settings = McpServerSettings {
        command,
        args,
        url: fill.fill_plain_text(&foreign.url)?,
        ..foreign.rest
    };
    for (variable, value) in foreign.env {
        if looks_secret(&variable) || fill.has_secret(&value) {
            fill.notes.push(format!(
                "{variable} is not taken over, it looks secret: declare [secrets.NAME] with the \
                 hosts that it is for, and say secrets = {{ {variable} = \"NAME\" }}"
            ));
            continue;
        }
        settings.env.insert(variable, fill.fill_plain_text(&value)?);
    }
    let host = Url::parse(&settings.url).ok().and_then(|url| {
        let host = url.host_str()?.to_owned();
        Some(url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
    });
    for (header, value) in foreign.headers {
        match (fill.secret_format(&value), &host) {
            (Some((variable, format)), Some(host)) => {
                let secret = format!("{name}-{}", header.to_ascii_lowercase());
                settings.secrets.insert(header.clone(), secret.clone());
                let hosts = vec![host.clone()];
                let env = Some(variable);
                secrets.push((secret, SecretSettings { env, file: None, hosts, header, format }));
            }
            _ if looks_secret(&header) || fill.has_secret(&value) => fill.notes.push(format!(
                "the header {header} is not taken over, it looks secret: put its value into a \
                 variable and declare [secrets.NAME] for it"
            )),
            _ => {
                settings.headers.insert(header, fill.fill_plain_text(&value)?);
            }
        }
    }
    plain::check_no_secret(&settings)?;
    Ok(settings)
}

/// Fills in variables as they are now: settings have none.
struct VariableFiller {
    values: BTreeMap<String, String>,
    used: std::collections::BTreeSet<String>,
    notes: Vec<String>,
}

impl VariableFiller {
    fn new(environment: &ProcessEnvironment) -> VariableFiller {
        let values = filtered_environment(environment.all_variables(), &[]);
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let values = values.into_iter().filter_map(text).collect();
        VariableFiller { values, used: Default::default(), notes: Vec::new() }
    }

    fn fill_plain_text(&mut self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        for piece in split_template(text) {
            match piece {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Variable(name, default) => {
                    let value = self.values.get(name).map(String::as_str).or(default);
                    let value = value.ok_or_else(|| {
                        format!("the variable {name} in it is not one that is handed on")
                    })?;
                    filled.push_str(value);
                    self.used.insert(name.to_owned());
                }
            }
            if filled.len() > FILLED_BYTES_MAX {
                return Err(format!("has a value of more than {FILLED_BYTES_MAX} bytes"));
            }
        }
        Ok(filled)
    }

    fn has_secret(&self, text: &str) -> bool {
        split_template(text).iter().any(|piece| {
            matches!(piece, TemplatePart::Variable(name, _) if !self.values.contains_key(*name) && looks_secret(name))
        })
    }

    /// `Bearer ${TOKEN}` as the variable and `Bearer {}`.
    fn secret_format(&self, text: &str) -> Option<(String, String)> {
        let pieces = split_template(text);
        let mut names = pieces.iter().filter_map(|piece| match piece {
            TemplatePart::Variable(name, None) if !self.values.contains_key(*name) => Some(*name),
            TemplatePart::Variable(..) | TemplatePart::Text(_) => None,
        });
        let (name, None) = (names.next()?, names.next()) else { return None };
        let mut format = String::new();
        for piece in &pieces {
            match piece {
                TemplatePart::Text(text) if text.contains(['{', '}']) => return None,
                TemplatePart::Text(text) => format.push_str(text),
                TemplatePart::Variable(found, _) if *found == name => format.push_str("{}"),
                TemplatePart::Variable(..) => return None,
            }
        }
        Some((name.to_owned(), format))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_names_are_made_to_fit() {
        for (name, here) in [
            ("github", "github"),
            ("my server", "my-server"),
            ("a__b___c", "a_b_c"),
            ("@scope/x", "-scope-x"),
            ("", "server"),
        ] {
            assert_eq!(name_here(name), here);
        }
        assert_eq!(name_here(&"x".repeat(50)).len(), 24);
    }

    #[test]
    fn z7_c1_import_copies_no_secret() {
        let environment = ProcessEnvironment::of(&[("HOME", "/h"), ("TOKEN", "marker-2")]);
        let table = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        let foreign = ImportedServer {
            command: vec!["srv".into(), "${HOME}/x".into()],
            env: table(&[("API_KEY", "marker-1"), ("LEVEL", "warn"), ("T", "${TOKEN}")]),
            ..ImportedServer::default()
        };
        let (becomes, notes) = map_server("a", foreign, &environment);
        let told = format!("{becomes:?}{notes:?}");
        assert!(!told.contains("marker"), "{told}");
        let ImportMapping::Server(_, settings, _) = becomes else { panic!("a server") };
        assert_eq!(settings.args, ["/h/x"]);
        assert_eq!(settings.env.keys().collect::<Vec<_>>(), ["LEVEL"]);
        let foreign = ImportedServer {
            url: "https://mcp.example:8443/mcp".into(),
            headers: table(&[("Authorization", "Bearer ${TOKEN}"), ("X-Key", "marker-1")]),
            ..ImportedServer::default()
        };
        let (becomes, _) = map_server("a", foreign, &environment);
        let ImportMapping::Server(_, settings, secrets) = becomes else { panic!("a server") };
        assert_eq!(settings.secrets["Authorization"], "a-authorization");
        assert!(settings.headers.is_empty());
        let secret = &secrets[0].1;
        assert_eq!((secret.env.as_deref(), secret.format.as_str()), (Some("TOKEN"), "Bearer {}"));
        assert_eq!(secret.hosts, ["mcp.example:8443"]);
    }
}
