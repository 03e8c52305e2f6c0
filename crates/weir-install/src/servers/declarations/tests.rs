//! The shipped declarations: each file is understood whole, and belongs to its own server alone.

use std::collections::BTreeSet;

use weir_core::tool::{ActKind, ArgumentPath};
use weir_mcp::declaration_toml;

use super::*;
use crate::config::McpServerSettings;
use crate::servers::packages::package_of_server;

/// What is shipped for one tool of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShippedMatch {
    /// This very tool was looked at.
    Declared {
        /// What it does.
        declaration: &'static ToolDeclaration,
        /// What was looked at.
        looked_at: ShippedVersion<'static>,
    },
    /// The server was looked at in another version, in which the tool was not there or was described
    /// otherwise. What was said of it then counts for nothing now.
    OtherVersion {
        /// What was looked at.
        looked_at: ShippedVersion<'static>,
    },
    /// Nobody looked at the server.
    None,
}

/// What is shipped for a tool: `hash` is that of its pin.
fn find_shipped(origin: &ServerOrigin, tool: &str, hash: &str) -> ShippedMatch {
    let Some(server) = find_server(origin) else { return ShippedMatch::None };
    let looked_at = server.shipped_version();
    match server.shipped_tools().find(|(name, is, _)| *name == tool && *is == hash) {
        Some((.., declaration)) => ShippedMatch::Declared { declaration, looked_at },
        None => ShippedMatch::OtherVersion { looked_at },
    }
}

fn parsed() -> Vec<(&'static str, ShippedServer)> {
    let parse = |(name, text): &(&'static str, &str)| {
        let server: ShippedServer = read_server(text).unwrap_or_else(|why| panic!("{name}: {why}"));
        (*name, server)
    };
    FILES.iter().map(parse).collect()
}

fn arguments(declaration: &ToolDeclaration) -> Vec<&ArgumentPath> {
    let sends = declaration.sends.iter().flat_map(|sends| sends.to.iter().chain(&sends.content));
    let commits = declaration.commits.iter().flat_map(|one| one.to.iter().chain(&one.amount));
    sends.chain(commits).chain(&declaration.control).chain(&declaration.content).collect()
}

#[test]
fn u2_every_file_is_in_the_list_and_understood_whole() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("declarations");
    let files = std::fs::read_dir(folder).expect("the folder").map(|file| {
        let name = file.expect("a file").file_name().to_string_lossy().into_owned();
        name.strip_suffix(".toml").map(str::to_owned).unwrap_or(name)
    });
    let listed: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), listed);
    let parsed = parsed();
    assert_eq!(parsed.len(), FILES.len());
    assert!(parsed.len() >= 20, "U2 promises twenty");
    for (name, server) in &parsed {
        assert_eq!(server.server, *name);
        assert!(!server.version.is_empty() && !server.tools.is_empty(), "{name}");
        assert!(!server.packages.is_empty() || !server.hosts.is_empty(), "{name} matches nothing");
        assert_eq!(server.registry.is_some(), !server.packages.is_empty(), "{name}");
    }
}

#[test]
fn u2_every_shipped_declaration_says_one_thing_and_names_each_argument_once() {
    for (name, server) in parsed() {
        for (tool, shipped) in &server.tools {
            let what = format!("{name}: {tool}");
            let hash = &shipped.schema;
            let is_hash =
                hash.len() == 64 && hash.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
            assert!(is_hash, "{what}: {hash}");
            let declaration = &shipped.declaration;
            let kind = declaration.act_kind().unwrap_or_else(|why| panic!("{what} {why}"));
            let named = arguments(declaration);
            let once: BTreeSet<_> = named.iter().collect();
            assert_eq!(once.len(), named.len(), "{what} names an argument twice");
            // What lies in another one that is named is covered by it, in whichever list that stands.
            for path in &named {
                let inside = |other: &&&ArgumentPath| {
                    let rest = other.to_string();
                    rest.strip_prefix(&path.to_string())
                        .is_some_and(|rest| rest.starts_with(['.', '[']))
                };
                let inner = named.iter().find(inside);
                assert!(inner.is_none(), "{what}: {path} and {}", inner.expect("it is one"));
            }
            match kind {
                None => assert!(named.is_empty(), "{what} reads: its arguments need no list"),
                Some(ActKind::Send) => {
                    let sends = declaration.sends.as_ref().expect("it sends");
                    assert!(!sends.to.is_empty(), "{what} sends to nobody");
                }
                Some(ActKind::Own | ActKind::Destroy | ActKind::Identity | ActKind::Commit) => {}
            }
        }
    }
}

/// A word of a name that says that something is changed, on a tool that is declared to read, is a slip of
/// whoever looked at it. These were looked at again.
#[test]
fn u2_no_shipped_tool_that_writes_by_its_name_is_declared_to_read() {
    let verbs =
        ["create", "send", "delete", "update", "add", "remove", "post", "reply", "edit", "write"];
    let mut reading = Vec::new();
    for (_, server) in parsed() {
        for (tool, shipped) in server.tools {
            let words: Vec<String> =
                tool.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
            let writes = words.iter().any(|word| verbs.contains(&word.as_str()));
            if writes && shipped.declaration.reads {
                reading.push(tool);
            }
        }
    }
    let looked_at_again = ["jira_get_create_fields", "discord_get_forum_post", "API-post-search"];
    assert_eq!(reading, looked_at_again);
}

#[test]
fn u2_no_two_files_are_of_the_same_server() {
    let mut seen = BTreeSet::new();
    for (name, server) in parsed() {
        for package in &server.packages {
            let key = match server.registry {
                Some(PackageRegistry::PyPi) => format!("PyPI {}", pypi_name(package)),
                Some(PackageRegistry::Npm) => format!("npm {package}"),
                None => panic!("{name}: packages of no registry"),
            };
            assert!(seen.insert(key), "{name}: {package}");
        }
        for host in server.hosts {
            assert!(seen.insert(host.clone()), "{name}: {host}");
        }
    }
}

#[test]
fn u2_a_declaration_is_written_as_it_is_read() {
    for (name, server) in parsed() {
        for (tool, shipped) in server.tools {
            let text = declaration_toml(&shipped.declaration);
            let again: ToolDeclaration =
                toml::from_str(&text).unwrap_or_else(|why| panic!("{name}: {tool}: {why}\n{text}"));
            assert_eq!(again, shipped.declaration, "{name}: {tool}");
        }
    }
}

#[test]
fn u2_what_a_file_says_beyond_its_words_is_refused() {
    let head = "server = \"s\"\nregistry = \"npm\"\npackages = [\"s\"]\nversion = \"1\"\n";
    for (tool, word) in [
        ("[tools.t]\nschema = \"0\"\nreads = true\nread = true\n", "`read`"),
        ("[tools.t]\nschema = \"0\"\nreads = true\nown = true\n", "more than one"),
        ("[tools.t]\nschema = \"0\"\n", "nothing"),
        ("[tools.t]\nreads = true\n", "schema"),
        ("[tools.t]\nschema = \"0\"\nsends = { to = [\"\"] }\n", "path"),
        ("surprise = 1\n[tools.t]\nschema = \"0\"\nreads = true\n", "surprise"),
    ] {
        let error = read_server(&format!("{head}{tool}"));
        let error = error.expect_err(tool);
        assert!(error.contains(word), "{tool}: {error}");
    }
}

/// The tool `slack_post_message` of a server with this command line or address, under its true hash.
fn found_for(command: &str, url: &str, hash: Option<&str>) -> ShippedMatch {
    let mut words = command.split(' ').map(str::to_owned);
    let settings = McpServerSettings {
        command: words.next().unwrap_or_default(),
        args: words.collect(),
        url: url.to_owned(),
        ..McpServerSettings::default()
    };
    let package = package_of_server(&settings);
    let Some(origin) = ServerOrigin::of_server(&settings.url, package.as_ref()) else {
        return ShippedMatch::None;
    };
    let slack = parsed().into_iter().find(|(name, _)| *name == "slack").expect("it is shipped").1;
    let tool = "slack_post_message";
    let hash = hash.unwrap_or(&slack.tools[tool].schema).to_owned();
    find_shipped(&origin, tool, &hash)
}

#[test]
fn u2_a_server_is_known_by_its_package_and_the_hash_of_its_tool() {
    let package = "@modelcontextprotocol/server-slack";
    for line in [
        format!("npx -y {package}"),
        format!("npx -y {package}@2025.4.25"),
        format!("npx -y {package}@latest --flag"),
        format!("bunx {package}"),
        format!("pnpm dlx {package}"),
        format!("npm exec --yes --package={package} -- mcp-server-slack"),
    ] {
        let found = found_for(&line, "", None);
        let ShippedMatch::Declared { declaration, looked_at } = found else {
            panic!("{line}: {found:?}")
        };
        assert_eq!(looked_at.to_string(), "slack 2025.4.25");
        assert_eq!(
            declaration_toml(declaration),
            "sends = { to = [\"channel_id\"], content = [\"text\"] }\n"
        );
    }
    let other = found_for(&format!("npx -y {package}"), "", Some("0"));
    let looked_at = ShippedVersion { server: "slack", version: "2025.4.25" };
    assert_eq!(other, ShippedMatch::OtherVersion { looked_at });
}

#[test]
fn u2_everything_that_is_shipped_for_a_server_is_found_again_tool_by_tool() {
    for (name, server) in parsed() {
        let registry = server.registry.expect("every file so far names packages");
        for package in &server.packages {
            let origin = ServerOrigin::Package { registry, name: package.clone() };
            let found = find_server(&origin).expect(name);
            assert_eq!(found.shipped_tools().count(), server.tools.len(), "{name}");
            for (tool, hash, declaration) in found.shipped_tools() {
                let found = find_shipped(&origin, tool, hash);
                let same = |found: &ToolDeclaration| std::ptr::eq(found, declaration);
                let is_found = matches!(
                    found,
                    ShippedMatch::Declared { declaration, .. } if same(declaration)
                );
                assert!(is_found, "{name}: {tool}: {found:?}");
            }
        }
    }
    let unknown = ServerOrigin::Host("nobody.example".into());
    assert!(find_server(&unknown).is_none());
}

#[test]
fn u2_a_server_that_is_only_called_like_a_shipped_one_is_nobody() {
    for line in [
        "slack",
        "mcp-server-slack",
        "node ./slack/index.js",
        "node node_modules/@modelcontextprotocol/server-slack/dist/index.js",
        "npx -y server-slack",
        "npx -y slack",
        "npx -y @evil/server-slack",
        "npx -y @modelcontextprotocol/server-slack-2",
        "npx -y @ModelContextProtocol/server-slack",
        "npx -y github:modelcontextprotocol/server-slack",
        "npx --registry http://evil.example @modelcontextprotocol/server-slack",
        "uvx server-slack",
        "docker run mcp/slack",
    ] {
        assert_eq!(found_for(line, "", None), ShippedMatch::None, "{line}");
    }
}

/// A package of the same name at another registry is another package.
#[test]
fn u2_a_package_belongs_to_its_registry() {
    let at = |registry, name: &str| {
        let origin = ServerOrigin::Package { registry, name: name.to_owned() };
        find_shipped(&origin, "fetch", "0")
    };
    let looked_at = ShippedVersion { server: "fetch", version: "2026.10.24" };
    let known = ShippedMatch::OtherVersion { looked_at };
    assert_eq!(at(PackageRegistry::PyPi, "mcp-server-fetch"), known);
    assert_eq!(at(PackageRegistry::PyPi, "MCP_Server.fetch"), known);
    assert_eq!(at(PackageRegistry::Npm, "mcp-server-fetch"), ShippedMatch::None);
}

#[test]
fn u2_an_address_is_known_by_its_host_and_by_tls() {
    for (url, known) in [
        ("https://mcp.stripe.com", true),
        ("https://MCP.stripe.com/any/path", true),
        ("http://mcp.stripe.com", false),
        ("https://mcp.stripe.com:8443", false),
        ("https://mcp.stripe.com.evil.example", false),
        ("https://mcp.stripe.com@evil.example", false),
        ("https://user@mcp.stripe.com", false),
        ("https://evil.example/mcp.stripe.com", false),
        ("no address", false),
    ] {
        let origin = ServerOrigin::of_server(url, None);
        let found = origin.map(|origin| find_shipped(&origin, "create_refund", "0"));
        let is_known = matches!(found, Some(ShippedMatch::OtherVersion { .. }));
        assert_eq!(is_known, known, "{url}: {found:?}");
    }
}
