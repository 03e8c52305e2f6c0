//! What trust would switch on: every hook, server, rule, endpoint, setting and program of the
//! workspace's own files, with the place where it stands. Nothing is started or loaded here.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use weir_core::sorting::sort_stably;
use weir_core::view::plain::visible_text;

use super::governed::{GovernedFile, read_first_bytes, read_governed_text};
use crate::config::{WithheldPart, WithheldSetting};
use crate::keys::looks_secret;

/// The settings of a workspace.
const CONFIG: &str = ".weir/config.toml";
/// The servers that other agents read too.
const MCP: &str = ".mcp.json";
/// Longest list of servers that is read, in bytes.
const MCP_BYTES_MAX: u64 = 1 << 20;

/// Endings of files that are programs even where nobody may execute them.
const SCRIPT_ENDINGS: [&str; 22] = [
    "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "py", "js", "mjs", "cjs", "jsx", "ts", "mts",
    "tsx", "rb", "pl", "php", "lua", "awk", "wasm", "so",
];

/// What kind of thing it is. The order is that of the list a person reads: the longest lists come
/// first, so that what matters most stands next to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OfferKind {
    /// A file that may be run.
    Script,
    /// A file of a plugin, workflow, hook or tool.
    File,
    /// A profile, which may take the place of the person's own.
    Profile,
    /// Another value that is wider than the person's.
    Setting,
    /// Where a provider of models is, and which key it gets.
    Endpoint,
    /// What passes without asking.
    AllowRule,
    /// A server that is started or spoken to.
    McpServer,
    /// A command that runs by itself.
    Hook,
}

impl OfferKind {
    /// Its name for one and for several.
    pub fn singular_and_plural(self) -> (&'static str, &'static str) {
        match self {
            OfferKind::Script => ("script", "scripts"),
            OfferKind::File => ("file", "files"),
            OfferKind::Profile => ("profile", "profiles"),
            OfferKind::Setting => ("setting", "settings"),
            OfferKind::Endpoint => ("endpoint", "endpoints"),
            OfferKind::AllowRule => ("allow rule", "allow rules"),
            OfferKind::McpServer => ("MCP server", "MCP servers"),
            OfferKind::Hook => ("hook", "hooks"),
        }
    }
}

/// One thing that trust would switch on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrustOffer {
    /// What kind of thing.
    pub kind: OfferKind,
    /// What it is, as it would be used: a command with its arguments, a rule, a value.
    pub text: String,
    /// The file it stands in.
    pub file: String,
    /// The line, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The governed place of that file.
    #[serde(skip)]
    place: &'static str,
}

/// Everything that `withheld` and the governed files hold.
///
/// # Errors
/// A file of theirs that cannot be understood: what cannot be shown cannot be trusted.
pub fn collect_trust_offers(
    withheld: &[WithheldSetting],
    found: &[GovernedFile],
) -> Result<Vec<TrustOffer>, String> {
    let mut offers = of_settings(withheld);
    for file in found {
        if file.place == MCP {
            offers.extend(of_mcp(file)?);
        } else if let Some(kind) = kind_of(file) {
            let (path, place) = (&file.path, file.place);
            offers.push(TrustOffer {
                kind,
                text: path.clone(),
                file: path.clone(),
                line: None,
                place,
            });
        }
    }
    sort_stably(&mut offers, |a, b| {
        a.kind.cmp(&b.kind).then_with(|| a.file.cmp(&b.file)).then_with(|| a.line.cmp(&b.line))
    });
    Ok(offers)
}

/// How many of what, and of which files: `2 hooks, 1 allow rule of .weir/config.toml`; and how many
/// in all. Profiles are left out: they are loaded without trust too, held to the person's bounds.
pub fn summarize_offers(offers: &[TrustOffer]) -> (String, usize) {
    let mut counts: BTreeMap<&str, BTreeMap<OfferKind, usize>> = BTreeMap::new();
    let counted = offers.iter().filter(|offer| offer.kind != OfferKind::Profile);
    for offer in counted.clone() {
        *counts.entry(offer.place).or_default().entry(offer.kind).or_default() += 1;
    }
    let places = counts.iter().map(|(place, kinds)| {
        let kinds = kinds.iter().rev().map(|(kind, count)| {
            let (one, several) = kind.singular_and_plural();
            format!("{count} {}", if *count == 1 { one } else { several })
        });
        format!("{} of {place}", kinds.collect::<Vec<_>>().join(", "))
    });
    (places.collect::<Vec<_>>().join(", "), counted.count())
}

/// Keys and values of one table, and its first line.
type SettingTable<'a> = (BTreeMap<&'a [String], &'a Value>, Option<u32>);

fn of_settings(withheld: &[WithheldSetting]) -> Vec<TrustOffer> {
    let mut offers = Vec::new();
    let mut tables: BTreeMap<(OfferKind, &str), SettingTable<'_>> = BTreeMap::new();
    let offer =
        |kind, text, line| TrustOffer { kind, text, file: CONFIG.into(), line, place: CONFIG };
    for one in withheld {
        let (key, value) = match &one.what {
            WithheldPart::AllowRule(text) => {
                offers.push(offer(OfferKind::AllowRule, text.clone(), one.line));
                continue;
            }
            WithheldPart::Setting(key, value) => (key, value),
        };
        let parts: Vec<&str> = key.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["hooks", event, ..] => {
                let hooks = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let texts = hooks.iter().map(|hook| hook_text(event, hook));
                offers.extend(texts.map(|text| offer(OfferKind::Hook, text, one.line)));
            }
            ["mcp_servers" | "providers", name, _, ..] => {
                let is_server = parts[0] == "mcp_servers";
                let kind = if is_server { OfferKind::McpServer } else { OfferKind::Endpoint };
                let (table, line) = tables.entry((kind, name)).or_default();
                table.insert(&key[2..], value);
                *line = (*line).into_iter().chain(one.line).min();
            }
            _ => {
                let name = parts.join(".");
                let text = format!("{name} = {}", redacted_json_value(&parts, value));
                offers.push(offer(OfferKind::Setting, text, one.line));
            }
        }
    }
    for ((kind, name), (table, line)) in tables {
        let mut json = Value::Object(serde_json::Map::new());
        for (key, value) in table {
            crate::config::insert(&mut json, key, value.clone());
        }
        let text = match kind {
            OfferKind::McpServer => server_text(name, &json),
            _ => format!("{name}: {}", describe_fields(&json, &[])),
        };
        offers.push(offer(kind, text, line));
    }
    offers
}

/// The servers of `.mcp.json`.
fn of_mcp(file: &GovernedFile) -> Result<Vec<TrustOffer>, String> {
    let wrong = |why: &str| format!("{} cannot be understood: {why}", file.path);
    let text = read_governed_text(file, MCP_BYTES_MAX)?;
    // As strict as when it is used: what is trusted here is not refused there.
    crate::mcp_json::parse_mcp_json(&text).map_err(|why| wrong(&format!("line {why}")))?;
    let json: Value = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    let servers = match json.get("mcpServers") {
        None => return Ok(Vec::new()),
        Some(servers) => servers.as_object().ok_or_else(|| wrong("mcpServers is no object"))?,
    };
    let offers = servers.iter().map(|(name, server)| {
        if !server.is_object() {
            return Err(wrong(&format!("the server {name:?} is no object")));
        }
        let text = server_text(name, server);
        let (kind, file) = (OfferKind::McpServer, file.path.clone());
        Ok(TrustOffer { kind, text, file, line: None, place: MCP })
    });
    offers.collect()
}

/// What a file that is no settings would be used for; `None`: it is only read.
fn kind_of(file: &GovernedFile) -> Option<OfferKind> {
    match file.place {
        CONFIG | MCP | ".weir/rules" => None,
        ".weir/profiles" | ".claude/agents" => Some(OfferKind::Profile),
        ".weir/skills" | ".agents/skills" | ".claude/skills" => {
            is_script(file).then_some(OfferKind::Script)
        }
        _ => Some(OfferKind::File),
    }
}

fn is_script(file: &GovernedFile) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    file.is_executable
        || ending.is_some_and(|ending| SCRIPT_ENDINGS.contains(&ending.as_str()))
        || read_first_bytes(file, 2) == b"#!"
}

fn hook_text(event: &str, hook: &Value) -> String {
    let word = |name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default();
    let on = match word("matcher") {
        "" => String::new(),
        matcher => format!(" on {matcher}"),
    };
    format!("{event}{on}: {}", word("command"))
}

/// A server as it would be started, and whatever else is said of it.
fn server_text(name: &str, server: &Value) -> String {
    let words = server.get("args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let command = server.get("command").and_then(Value::as_str).into_iter();
    let words =
        command.chain(words.iter().map(|word| word.as_str().unwrap_or("?"))).map(shell_quoted);
    let started = words.collect::<Vec<_>>().join(" ");
    let rest = describe_fields(server, &["command", "args"]);
    let parts = [started, rest].into_iter().filter(|part| !part.is_empty());
    format!("{name}: {}", parts.collect::<Vec<_>>().join("  "))
}

/// A word as a shell would need it, so that one argument with a blank is not taken for two.
fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn describe_fields(table: &Value, without: &[&str]) -> String {
    let fields = table.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| !without.contains(&name.as_str()));
    let fields =
        fields.map(|(name, value)| format!("{name} = {}", redacted_json_value(&[name], value)));
    fields.collect::<Vec<_>>().join(", ")
}

/// A value as JSON without what may be a secret: headers, passwords in addresses, and whatever has
/// the name of a key. Other variables are shown, because they can make a program do anything.
fn redacted_json_value(key: &[&str], value: &Value) -> String {
    match value {
        _ if key.contains(&"headers") || key.last().is_some_and(|name| looks_secret(name)) => {
            "***".to_owned()
        }
        Value::Object(map) => {
            let inner = map.iter().map(|(name, value)| {
                let below: Vec<&str> = key.iter().copied().chain([name.as_str()]).collect();
                format!("{name} = {}", redacted_json_value(&below, value))
            });
            format!("{{ {} }}", inner.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => match text.split_once("://") {
            Some((scheme, rest)) if rest.split('/').next().is_some_and(|h| h.contains('@')) => {
                let after = rest.split_once('@').map(|(_, after)| after).unwrap_or_default();
                format!("\"{scheme}://***@{after}\"")
            }
            _ => value.to_string(),
        },
        value => value.to_string(),
    }
}

/// The columns of an offer for a person: kind, what, where.
pub fn offer_row(offer: &TrustOffer) -> Vec<String> {
    let place = match offer.line {
        Some(line) => format!("{}:{line}", offer.file),
        None if offer.text == offer.file => String::new(),
        None => offer.file.clone(),
    };
    vec![
        offer.kind.singular_and_plural().0.to_owned(),
        visible_text(&offer.text),
        visible_text(&place),
    ]
}
