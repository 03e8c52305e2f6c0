//! A server of another agent as one of ours. Values that look secret are never copied into a file
//! of settings: for an address they become a secret of their own, else the person is told what to
//! do.

use std::collections::BTreeMap;

use url::Url;
use weir_sandbox::filtered_environment;

use super::ImportMapping;
use crate::config::{McpServerSettings, SecretSettings, name_problem};
use crate::environment::ProcessEnvironment;
use crate::keys::looks_secret;
use crate::servers::{TemplatePart, packages, split_template};

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
