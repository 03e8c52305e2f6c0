//! What must not become a server of the person's own by an import: values that are secrets, written
//! where no name says so, and what a workspace's file may not say for every other one. Not here: how
//! a server is read, and secrets that a variable's name tells.

use std::borrow::Cow;
use std::path::Path;

use url::Url;
use weir_core::governance::filter::redact_text;

use super::super::ImportMapping;
use crate::config::McpServerSettings;
use crate::keys::looks_secret;

/// Why a server of a foreign file is not copied: it has a secret in a value.
///
/// # Errors
/// Which part of it, never the value.
pub(super) fn check_no_secret(server: &McpServerSettings) -> Result<(), String> {
    let told = |part: &str| {
        Err(format!(
            "has what looks like a secret in {part}: put it into a variable and declare \
             [secrets.NAME], then declare the server yourself"
        ))
    };
    if is_secret(&server.command) || has_secret_word(&server.args) {
        return told("its words");
    }
    if is_secret(&server.url) || has_secret_address(&server.url) {
        return told("its address");
    }
    if let Some((name, _)) = server.env.iter().find(|(_, value)| is_secret(value)) {
        return told(&format!("the variable {name}"));
    }
    match server.headers.iter().find(|(_, value)| is_secret(value)) {
        Some((name, _)) => told(&format!("the header {name}")),
        None => Ok(()),
    }
}

/// The shape of a token or key, or an address with a password.
pub(in crate::import) fn is_secret(value: &str) -> bool {
    matches!(redact_text(value, &[]), Cow::Owned(_)) || has_password(value)
}

fn has_password(value: &str) -> bool {
    Url::parse(value).is_ok_and(|url| {
        let is_web = matches!(url.scheme(), "http" | "https");
        url.password().is_some() || is_web && !url.username().is_empty()
    })
}

/// Userinfo was looked at; a part of the query may be named like a secret.
fn has_secret_address(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        url.query_pairs().any(|(name, value)| looks_secret(&name) && !value.is_empty())
    })
}

/// `--token VALUE`, `--api-key=VALUE`, `KEY=VALUE`, `Authorization: VALUE`.
fn has_secret_word(words: &[String]) -> bool {
    let named = |word: &str| {
        ['=', ':'].into_iter().filter_map(|sign| word.split_once(sign)).any(|(name, value)| {
            let value = value.trim();
            looks_secret(name.trim()) && !value.is_empty() || is_secret(value)
        })
    };
    let after_flag = words.windows(2).any(|pair| {
        let [flag, value] = pair else { return false };
        flag.starts_with('-') && looks_secret(flag) && !value.starts_with('-')
    });
    after_flag
        || words.iter().any(|word| is_secret(word) || named(word) || has_secret_address(word))
}

/// A server that a workspace's file declares, or that was for one workspace only: as one of the
/// person's own it would run everywhere, so it must not name a program by a path in a workspace.
///
/// # Errors
/// Which part of it does.
pub(super) fn check_no_path_within(
    server: &McpServerSettings,
    workspace: &Path,
) -> Result<(), String> {
    let told = |part: &str, text: &str| {
        Err(format!(
            "names {part} {text} by its path in the workspace, and here it would hold in every \
             workspace: write the full path, or declare it in this workspace's .mcp.json"
        ))
    };
    let is_full = |text: &str| text.starts_with('/') || text.starts_with("~/");
    if server.command.contains('/') && !server.command.starts_with('/') {
        return told("the program", &server.command);
    }
    if !server.cwd.is_empty() && !is_full(&server.cwd) {
        return told("the folder", &server.cwd);
    }
    // A program may be the argument of another: `node ./server.js`, `sh --file=./x`, `node .`.
    let is_within = |word: &str| {
        word.starts_with("./") || word.starts_with("../") || {
            !word.is_empty()
                && !is_full(word)
                && !word.starts_with('-')
                && workspace.join(word).exists()
        }
    };
    let mut words = server.args.iter().flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value);
        std::iter::once(word.as_str()).chain(value)
    });
    match words.find(|word| is_within(word)) {
        Some(word) => told("the file", word),
        None => Ok(()),
    }
}

/// Takes out what a workspace's file would send of the person's secrets: which variable goes to
/// which host is theirs to say. What was taken out, as notes.
pub(super) fn drop_secrets(becomes: &mut ImportMapping) -> Vec<String> {
    let ImportMapping::Server(_, server, secrets) = becomes else { return Vec::new() };
    server.secrets.clear();
    let told = |(_, secret): (String, crate::config::SecretSettings)| {
        format!(
            "the header {} is not taken over: a workspace's file must not choose that {} is sent \
             to {}; declare [secrets.NAME] yourself if you want that",
            secret.header,
            secret.env.unwrap_or_default(),
            secret.hosts.join(", ")
        )
    };
    secrets.drain(..).map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(words: &[&str]) -> McpServerSettings {
        let mut words = words.iter().map(|word| (*word).to_owned());
        McpServerSettings {
            command: words.next().unwrap_or_default(),
            args: words.collect(),
            ..McpServerSettings::default()
        }
    }

    fn address(url: &str) -> McpServerSettings {
        McpServerSettings { url: url.to_owned(), ..McpServerSettings::default() }
    }

    #[test]
    fn r8_a_server_of_a_workspace_names_nothing_in_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("server.js"), "").expect("written");
        std::fs::create_dir(folder.path().join("tool")).expect("made");
        for (words, is_plain) in [
            (&["srv", "--root", "/srv", "https://a.example/mcp", ""][..], true),
            (&["npx", "-y", "@scope/pkg"], true),
            (&["/opt/srv", "~/notes"], true),
            (&["./srv"], false),
            (&["bin/srv"], false),
            (&["~/bin/srv"], false),
            (&["node", "./gone.js"], false),
            (&["node", "../x/server.js"], false),
            (&["node", "server.js"], false),
            (&["node", "."], false),
            (&["node", "tool"], false),
            (&["node", "--require=./x"], false),
        ] {
            let found = check_no_path_within(&program(words), folder.path());
            assert_eq!(found.is_ok(), is_plain, "{words:?}: {found:?}");
        }
        for (cwd, is_plain) in [("", true), ("/srv", true), ("~/x", true), ("sub", false)] {
            let server = McpServerSettings { cwd: cwd.to_owned(), ..program(&["srv"]) };
            assert_eq!(check_no_path_within(&server, folder.path()).is_ok(), is_plain, "{cwd}");
        }
    }

    #[test]
    fn r8_secrets_in_values_are_known_by_their_shape() {
        let token = format!("ghp_{}", "a1B2c3D4e5".repeat(3));
        for (server, is_plain) in [
            (program(&["srv", "--root", "/srv"]), true),
            (program(&["npx", "@scope/pkg@1.2.3", "--port=80", "https://a.example/mcp"]), true),
            (program(&["srv", "--verbose", "--token-file", "/run/t"]), true),
            (program(&["srv", &token]), false),
            (program(&["srv", &format!("--x={token}")]), false),
            (program(&["srv", "--api-key", "hunter2"]), false),
            (program(&["srv", "--token=hunter2"]), false),
            (program(&["env", "API_KEY=hunter2", "srv"]), false),
            (program(&["mcp-remote", "https://a.example", "--header", "Authorization: x"]), false),
            (program(&["srv", "postgres://u:hunter2@db/x"]), false),
            (program(&["srv", "--db=postgres://u:hunter2@db/x"]), false),
            (address("https://a.example/mcp?page=1"), true),
            (address("https://hunter2@a.example/mcp"), false),
            (address("https://u:hunter2@a.example/mcp"), false),
            (address("https://a.example/mcp?api_key=hunter2"), false),
            (address(&format!("https://a.example/{token}/mcp")), false),
        ] {
            let found = check_no_secret(&server);
            assert_eq!(found.is_ok(), is_plain, "{server:?}: {found:?}");
            assert!(found.err().is_none_or(|why| !why.contains("hunter2")));
        }
    }
}
