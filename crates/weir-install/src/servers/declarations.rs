//! Declarations that Weir brings along: what the tools of widely used servers do, each looked at in
//! one version (U2). They are data, a file for each server. Pure.
//!
//! Not here: what a person declares themselves, which wins (`mcp_servers.NAME.tools`), and what only
//! names suggest (`weir_mcp::propose_declaration`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::tool::ToolDeclaration;

use super::packages::{PackageRegistry, ServerPackage};

/// The files, one for each server. Adding a server is a file and a line.
const FILES: &[(&str, &str)] = &[
    ("airtable", include_str!("../../declarations/airtable.toml")),
    ("asana", include_str!("../../declarations/asana.toml")),
    ("atlassian", include_str!("../../declarations/atlassian.toml")),
    ("caldav", include_str!("../../declarations/caldav.toml")),
    ("discord", include_str!("../../declarations/discord.toml")),
    ("email", include_str!("../../declarations/email.toml")),
    ("fetch", include_str!("../../declarations/fetch.toml")),
    ("filesystem", include_str!("../../declarations/filesystem.toml")),
    ("gdrive", include_str!("../../declarations/gdrive.toml")),
    ("git", include_str!("../../declarations/git.toml")),
    ("github", include_str!("../../declarations/github.toml")),
    ("gitlab", include_str!("../../declarations/gitlab.toml")),
    ("gmail", include_str!("../../declarations/gmail.toml")),
    ("google-calendar", include_str!("../../declarations/google-calendar.toml")),
    ("linear", include_str!("../../declarations/linear.toml")),
    ("memory", include_str!("../../declarations/memory.toml")),
    ("notion", include_str!("../../declarations/notion.toml")),
    ("postgres", include_str!("../../declarations/postgres.toml")),
    ("sentry", include_str!("../../declarations/sentry.toml")),
    ("slack", include_str!("../../declarations/slack.toml")),
    ("stripe", include_str!("../../declarations/stripe.toml")),
    ("teams", include_str!("../../declarations/teams.toml")),
    ("todoist", include_str!("../../declarations/todoist.toml")),
    ("trello", include_str!("../../declarations/trello.toml")),
];

/// The servers of the files that were read: one is when its server is first declared. A file that cannot be
/// understood declares nothing: then nobody knows what its tools do. A test holds that there is none.
static SHIPPED: [OnceLock<Option<ShippedServer>>; FILES.len()] =
    [const { OnceLock::new() }; FILES.len()];

/// What stands above the tools in each file: whose they are.
static HEADS: LazyLock<Vec<Option<ShippedServer>>> = LazyLock::new(|| {
    let heads = FILES.iter().map(|(_, text)| text.split("\n[tools.").next().unwrap_or(text));
    heads.map(parse).collect()
});

fn parse(text: &str) -> Option<ShippedServer> {
    read_server(text).ok()
}

/// By way of values, for which declarations have a reader already: those of the settings are read by it (Q23).
fn read_server(text: &str) -> Result<ShippedServer, String> {
    let values: Value = toml::from_str(text).map_err(|why| why.to_string())?;
    ShippedServer::deserialize(&values).map_err(|why| why.to_string())
}

/// What a server is, whatever a person calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerOrigin {
    /// A package that Weir installed from a registry.
    Package {
        /// The registry.
        registry: PackageRegistry,
        /// Its name there.
        name: String,
    },
    /// A host that is reached by TLS.
    Host(String),
}

/// A server in the version that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShippedVersion<'a> {
    /// Its name for people.
    pub server: &'a str,
    /// The version, as its registry has it.
    pub version: &'a str,
}

impl fmt::Display for ShippedVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.server, self.version)
    }
}

impl ServerOrigin {
    /// What a server is that is declared with this address, or is started from this package of a
    /// registry. `None`: a program that stands somewhere on the machine, or an address at which anybody
    /// could answer; what such a server is called says nothing.
    pub(super) fn of_server(url: &str, package: Option<&ServerPackage>) -> Option<ServerOrigin> {
        if url.is_empty() {
            let package = package?;
            let (registry, name) = (package.registry, package.name.clone());
            return Some(ServerOrigin::Package { registry, name });
        }
        let url = url::Url::parse(url).ok()?;
        let is_plain = url.scheme() == "https"
            && url.port().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        let host = url.host_str().filter(|_| is_plain)?;
        Some(ServerOrigin::Host(host.to_owned()))
    }
}

/// The server that this is, where somebody looked at it.
pub(super) fn find_server(origin: &ServerOrigin) -> Option<&'static ShippedServer> {
    let fits = |head: &Option<ShippedServer>| head.as_ref().is_some_and(|one| one.is_at(origin));
    let at = HEADS.iter().position(fits)?;
    SHIPPED[at].get_or_init(|| parse(FILES[at].1)).as_ref()
}

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShippedServer {
    /// A short name for people; nothing is matched by it.
    server: String,
    /// Where its packages come from; none: it is reached by hosts only.
    registry: Option<PackageRegistry>,
    #[serde(default)]
    packages: Vec<String>,
    #[serde(default)]
    hosts: Vec<String>,
    version: String,
    #[serde(default)]
    tools: BTreeMap<String, ShippedTool>,
}

/// A declaration, and the tool that was looked at.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
struct ShippedTool {
    /// SHA-256 over everything that the server said of the tool.
    schema: String,
    declaration: ToolDeclaration,
}

impl TryFrom<Map<String, Value>> for ShippedTool {
    type Error = String;
    // By hand: beside a flattened struct, serde takes unknown keys in silence.
    fn try_from(mut table: Map<String, Value>) -> Result<ShippedTool, String> {
        let Some(Value::String(schema)) = table.remove("schema") else {
            return Err("a shipped declaration says which `schema` it is of".into());
        };
        let declaration = ToolDeclaration::deserialize(&Value::Object(table));
        let declaration = declaration.map_err(|why| why.to_string())?;
        declaration.act_kind()?;
        Ok(ShippedTool { schema, declaration })
    }
}

impl ShippedServer {
    /// Everything that is shipped for it: each tool that was looked at by its name, with the hash of its pin.
    pub(super) fn shipped_tools(&self) -> impl Iterator<Item = (&str, &str, &ToolDeclaration)> {
        let tools = self.tools.iter();
        tools.map(|(name, shipped)| (name.as_str(), shipped.schema.as_str(), &shipped.declaration))
    }

    /// The version in which somebody looked at it.
    pub(super) fn shipped_version(&self) -> ShippedVersion<'_> {
        ShippedVersion { server: &self.server, version: &self.version }
    }

    fn is_at(&self, origin: &ServerOrigin) -> bool {
        match origin {
            ServerOrigin::Package { registry, name } => {
                let same = |package: &String| match registry {
                    PackageRegistry::Npm => package == name,
                    PackageRegistry::PyPi => pypi_name(package) == pypi_name(name),
                };
                self.registry == Some(*registry) && self.packages.iter().any(same)
            }
            ServerOrigin::Host(host) => self.hosts.contains(host),
        }
    }
}

/// A name as PyPI compares names (PEP 503).
fn pypi_name(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
