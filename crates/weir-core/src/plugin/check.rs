//! What must be true of a `plugin.toml` beside its form. Each problem names the key at which it
//! stands. Not here: reading it.

use super::arguments::{ParamSpec, is_name};
use super::{
    ApiMethod, ApiRequest, MethodTarget, NamedCommand, PluginManifest, TEXT_CHARS_MAX, address,
    line,
};

/// Most commands, methods, arguments or headers of one table.
const ENTRIES_MAX: usize = 64;
/// Ids that would be taken for something else.
const RESERVED: [&str; 4] = ["weir", "config", "mcp", "builtin"];
/// Headers that say who asks, where to, or how much: none of a plugin's business.
const HEADERS_REFUSED: [&str; 12] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "expect",
];

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestProblem {
    /// The key, with its tables: `commands.build.run`.
    pub key: String,
    /// What is wrong, in words that follow it.
    pub what: String,
}

impl std::fmt::Display for ManifestProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.key, self.what)
    }
}

/// The first problem of a plugin that stands in a folder of this name. `base` is the address that
/// relative ones begin with, where a person set another than the plugin's own.
///
/// # Errors
/// The problem.
pub fn check_manifest(
    manifest: &PluginManifest,
    folder: &str,
    base: Option<&str>,
) -> Result<(), ManifestProblem> {
    let wrong = |key: &str, what: &str| Err(ManifestProblem { key: key.into(), what: what.into() });
    if !is_id(&manifest.id) {
        return wrong("id", "is no id: lower-case letters, digits and single hyphens, at most 40");
    }
    if RESERVED.contains(&manifest.id.as_str()) {
        return wrong("id", "is reserved; choose another");
    }
    if manifest.id != folder {
        return wrong("id", &format!("is {}, and its folder is called {folder}", manifest.id));
    }
    for (key, text) in [
        ("name", &manifest.name),
        ("version", &manifest.version),
        ("description", &manifest.description),
        ("setup", &manifest.setup),
    ] {
        check_text_length(key, text)?;
    }
    if manifest.name.trim().is_empty() || manifest.version.trim().is_empty() {
        return wrong("name", "or version is empty");
    }
    let tables = [("commands", manifest.commands.len()), ("api", manifest.api.len())];
    if let Some((key, _)) = tables.iter().find(|(_, count)| *count > ENTRIES_MAX) {
        return wrong(key, &format!("has more than {ENTRIES_MAX} entries"));
    }
    for (name, command) in &manifest.commands {
        let key = format!("commands.{name}");
        check_name(&key, name)?;
        check_command(&key, command, ScriptPolicy::Allowed)?;
    }
    let base = manifest.base_address(base);
    for (name, method) in &manifest.api {
        let key = format!("api.{name}");
        check_name(&key, name)?;
        check_method(&key, method, base)?;
    }
    for (key, folder) in [("skills", &manifest.skills), ("prompts", &manifest.prompts)] {
        if let Some(folder) = folder {
            check_inner_path(key, folder.trim_end_matches('/'))?;
        }
    }
    Ok(())
}

/// Whether a named command may be a file of its plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptPolicy {
    /// It has a plugin.
    Allowed,
    /// It stands in a configuration.
    Refused,
}

/// The first problem of a named command at `key`.
///
/// # Errors
/// The problem.
pub fn check_command(
    key: &str,
    command: &NamedCommand,
    scripts: ScriptPolicy,
) -> Result<(), ManifestProblem> {
    let at = |field: &str, what: String| ManifestProblem { key: format!("{key}.{field}"), what };
    check_text_length(&format!("{key}.description"), &command.description)?;
    check_params(&format!("{key}.args"), &command.args)?;
    check_hosts(&format!("{key}.hosts"), &command.hosts)?;
    match (&command.run, &command.script) {
        (Some(run), None) if run.trim().is_empty() => Err(at("run", "is empty".into())),
        (Some(run), None) if run.len() > line::LINE_BYTES_MAX / 2 => {
            Err(at("run", "is too long".into()))
        }
        (Some(run), None) => {
            line::check_line_template(run, &command.args).map_err(|what| at("run", what))
        }
        (None, Some(_)) if scripts == ScriptPolicy::Refused => {
            Err(at("script", "belongs to plugins; write run".into()))
        }
        (None, Some(script)) => check_inner_path(&format!("{key}.script"), script),
        (Some(_), Some(_)) => Err(at("run", "and script exclude each other".into())),
        (None, None) => {
            Err(ManifestProblem { key: key.into(), what: "has neither run nor script".into() })
        }
    }
}

fn check_method(key: &str, method: &ApiMethod, base: Option<&str>) -> Result<(), ManifestProblem> {
    let at = |field: &str, what: &str| ManifestProblem {
        key: format!("{key}.{field}"),
        what: what.into(),
    };
    check_text_length(&format!("{key}.description"), &method.description)?;
    check_params(&format!("{key}.params"), &method.params)?;
    check_hosts(&format!("{key}.hosts"), &method.hosts)?;
    if method.input_schema.is_some() && !method.params.is_empty() {
        return Err(at("input_schema", "and params exclude each other"));
    }
    let way = method.method_target().ok_or_else(|| ManifestProblem {
        key: key.into(),
        what: "must have exactly one of script, mcp and http".into(),
    })?;
    if !method.hosts.is_empty() && !matches!(way, MethodTarget::Script(_)) {
        return Err(at("hosts", "is for scripts; an address names its host itself"));
    }
    match way {
        MethodTarget::Script(script) => check_inner_path(&format!("{key}.script"), script),
        MethodTarget::Mcp(mcp) => {
            let parts: Vec<&str> = mcp.split('/').collect();
            let good = |part: &&str| is_name(part) && !part.contains("__");
            let fine = parts.len() == 2 && parts.iter().all(good);
            if fine { Ok(()) } else { Err(at("mcp", "is no `server/tool`")) }
        }
        MethodTarget::Http(_) if method.input_schema.is_some() => {
            Err(at("input_schema", "is not for http; declare params"))
        }
        MethodTarget::Http(http) => check_http(&format!("{key}.http"), http, &method.params, base),
    }
}

fn check_http(
    key: &str,
    http: &ApiRequest,
    params: &[ParamSpec],
    base: Option<&str>,
) -> Result<(), ManifestProblem> {
    let at = |field: &str, what: String| ManifestProblem { key: format!("{key}.{field}"), what };
    if !["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].contains(&http.method.as_str()) {
        return Err(at("method", format!("is {:?}, which is none", http.method)));
    }
    let template = http.address_template(base);
    address::check_address_template(&template, params).map_err(|what| at("url", what))?;
    if http.headers.len() > ENTRIES_MAX {
        return Err(at("headers", format!("has more than {ENTRIES_MAX} entries")));
    }
    for (name, value) in &http.headers {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        let printable = |b: u8| b == b' ' || b.is_ascii_graphic();
        let named = !name.is_empty() && name.bytes().all(plain);
        if !named || !value.bytes().all(printable) || value.len() > TEXT_CHARS_MAX {
            return Err(at("headers", format!("has {name:?}, which cannot be sent")));
        }
        if HEADERS_REFUSED.contains(&name.to_ascii_lowercase().as_str()) {
            let what =
                format!("has {name:?}, which is not for a plugin to set; use secret or body");
            return Err(at("headers", what));
        }
    }
    let in_url = address::argument_names(&template);
    let in_body: Vec<&ParamSpec> = match http.body.as_deref() {
        None => Vec::new(),
        Some(_) if matches!(http.method.as_str(), "GET" | "HEAD") => {
            return Err(at("body", format!("is not sent with {}", http.method)));
        }
        Some("json") => params.iter().filter(|param| !in_url.contains(&param.name)).collect(),
        Some(text) => {
            let one = params.iter().find(|param| text == format!("{{{{{}}}}}", param.name));
            let what = || "is neither \"json\" nor one argument as {{name}}".to_owned();
            vec![one.ok_or_else(|| at("body", what()))?]
        }
    };
    let used = |param: &&ParamSpec| {
        in_url.contains(&param.name) || in_body.iter().any(|other| other.name == param.name)
    };
    match params.iter().find(|param| !used(param)) {
        Some(param) => Err(at("url", format!("has no place for the argument {}", param.name))),
        None => Ok(()),
    }
}

fn check_name(key: &str, name: &str) -> Result<(), ManifestProblem> {
    if is_name(name) {
        return Ok(());
    }
    let what = "is no name: letters, digits, - and _, a letter first, at most 64".into();
    Err(ManifestProblem { key: key.into(), what })
}

fn check_params(key: &str, params: &[ParamSpec]) -> Result<(), ManifestProblem> {
    let wrong = |what: String| Err(ManifestProblem { key: key.into(), what });
    if params.len() > ENTRIES_MAX {
        return wrong(format!("has more than {ENTRIES_MAX} entries"));
    }
    for (at, param) in params.iter().enumerate() {
        if !is_name(&param.name) {
            return wrong(format!("has {:?}, which is no name of an argument", param.name));
        }
        if params[..at].iter().any(|other| other.name == param.name) {
            return wrong(format!("has {} twice", param.name));
        }
        check_text_length(key, &param.description)?;
    }
    Ok(())
}

fn check_hosts(key: &str, hosts: &[String]) -> Result<(), ManifestProblem> {
    let wrong =
        |host: &String| host.is_empty() || host.contains(['/', '@', '*', ' ', '?', '#', '\\', '{']);
    match hosts.iter().find(|host| wrong(host)) {
        Some(host) => {
            let what = format!("has {host:?}, which is no host; write example.org");
            Err(ManifestProblem { key: key.into(), what })
        }
        None => Ok(()),
    }
}

/// Texts for people: bounded.
fn check_text_length(key: &str, text: &str) -> Result<(), ManifestProblem> {
    if text.chars().count() <= TEXT_CHARS_MAX {
        return Ok(());
    }
    Err(ManifestProblem {
        key: key.into(),
        what: format!("is longer than {TEXT_CHARS_MAX} characters"),
    })
}

/// A path that stays in the plugin's folder.
fn check_inner_path(key: &str, path: &str) -> Result<(), ManifestProblem> {
    let plain = !path.is_empty()
        && path.len() <= 200
        && !path.starts_with(['/', '-'])
        && !path.contains(['\\', '\0', '\n', ':', '~'])
        && path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if plain {
        return Ok(());
    }
    let what = format!("is {path:?}, which is no path below the plugin's folder");
    Err(ManifestProblem { key: key.into(), what })
}

fn is_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.len() <= 40
        && id.chars().all(plain)
        && !id.ends_with('-')
        && !id.contains("--")
}

#[cfg(test)]
mod tests;
