//! The remotes of a repository, as its own configuration names them, and the grants that they give (U13).
//!
//! Read by a list of what is understood: a section or key that is not on it could make git run a
//! program or go elsewhere than an address says, and then there is no grant. Not here: finding the file.

use std::collections::BTreeMap;

use crate::tool::NamedGrant;

/// Bytes of a configuration from which on it gives no grant.
const CONFIG_BYTES_MAX: usize = 64 << 10;
/// Remotes from which on a configuration gives no grant.
const REMOTES_MAX: usize = 16;
/// Longest address that a person is shown in a name.
const ADDRESS_CHARS_MAX: usize = 160;

/// Sections, and the keys of each, that change neither where git goes nor what it runs.
const UNDERSTOOD: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "quotepath",
            "untrackedcache",
            "longpaths",
            "abbrev",
        ],
    ),
    ("extensions", &["objectformat", "worktreeconfig", "refstorage"]),
    ("remote", &["url", "pushurl", "fetch", "tagopt", "prune", "gh-resolved"]),
    (
        "branch",
        &[
            "remote",
            "pushremote",
            "merge",
            "rebase",
            "description",
            "vscode-merge-base",
            "gh-merge-base",
            "github-pr-owner-number",
        ],
    ),
    ("submodule", &["active", "url"]),
    ("user", &["name", "email"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote", "followtags"]),
    ("fetch", &["prune", "prunetags"]),
    ("rebase", &["autostash", "autosquash"]),
    ("merge", &["ff", "conflictstyle"]),
    ("init", &["defaultbranch"]),
    ("gc", &["auto"]),
    ("rerere", &["enabled"]),
    ("color", &["ui"]),
];

/// Where one remote leads.
#[derive(Default)]
struct GitRemote {
    urls: Vec<String>,
    push_urls: Vec<String>,
}

/// An address of a remote.
struct RemoteAddress {
    /// The host, with its port where that is not the one of HTTPS.
    host: String,
    /// Host and path, as a person reads it.
    shown: String,
}

/// The grants that the text of a repository's configuration gives: for each remote one to fetch and
/// one to push. None where anything in it is not understood.
pub fn remote_grants(config: &str) -> Vec<NamedGrant> {
    let Some(remotes) = read_remotes(config) else { return Vec::new() };
    let alone = remotes.len() == 1;
    let mut grants = Vec::new();
    for (name, remote) in &remotes {
        let push = if remote.push_urls.is_empty() { &remote.urls } else { &remote.push_urls };
        grants.extend(remote_grant(
            name,
            &remote.urls,
            "git fetch and pull",
            &["git fetch", "git pull", "git ls-remote"],
            alone,
        ));
        grants.extend(remote_grant(name, push, "git push", &["git push"], alone));
    }
    grants
}

fn remote_grant(
    remote: &str,
    urls: &[String],
    use_of: &str,
    commands: &[&str],
    alone: bool,
) -> Option<NamedGrant> {
    let addresses: Vec<RemoteAddress> =
        urls.iter().map(|url| parse_address(url)).collect::<Option<_>>()?;
    let first = addresses.first()?;
    let mut shown: Vec<&str> = addresses.iter().map(|address| address.shown.as_str()).collect();
    shown.dedup();
    let mut hosts: Vec<String> = addresses.iter().map(|address| address.host.clone()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    // Without a name git goes to the only one that there is.
    let bare = commands.iter().filter(|_| alone).map(|command| (*command).to_owned());
    let named = commands.iter().map(|command| format!("{command} {remote}"));
    let commands = bare.chain(named).collect();
    let where_to = if shown.len() == 1 { first.shown.clone() } else { shown.join(", ") };
    Some(NamedGrant { name: format!("{remote} ({where_to}) for {use_of}"), hosts, commands })
}

/// The remotes; `None` where something is not understood.
fn read_remotes(config: &str) -> Option<BTreeMap<String, GitRemote>> {
    if config.len() > CONFIG_BYTES_MAX {
        return None;
    }
    let mut remotes: BTreeMap<String, GitRemote> = BTreeMap::new();
    let mut followed = Vec::new();
    let mut section: Option<(String, Option<String>)> = None;
    for line in config.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') {
            section = Some(parse_section(line)?);
            if let Some((kind, Some(name))) = &section
                && kind == "remote"
            {
                remotes.entry(name.clone()).or_default();
            }
            continue;
        }
        let (kind, name) = section.as_ref()?;
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        let keys = UNDERSTOOD.iter().find(|(known, _)| known == kind).map(|(_, keys)| keys)?;
        // Quotes, escapes and remarks are read by git alone.
        if !keys.contains(&key.as_str()) || value.contains(['"', '\\', '#', ';']) {
            return None;
        }
        match (kind.as_str(), key.as_str(), name) {
            ("remote", "url", Some(name)) => {
                remotes.entry(name.clone()).or_default().urls.push(value.to_owned());
            }
            ("remote", "pushurl", Some(name)) => {
                remotes.entry(name.clone()).or_default().push_urls.push(value.to_owned());
            }
            ("remote", _, None) => return None,
            ("branch", "remote" | "pushremote", _) => followed.push(value.to_owned()),
            _ => {}
        }
    }
    // A branch may follow an address instead of a name.
    let known = |name: &String| name == "." || remotes.contains_key(name);
    (remotes.len() <= REMOTES_MAX && followed.iter().all(known)).then_some(remotes)
}

/// `[core]`, `[remote "origin"]`, and nothing behind it.
fn parse_section(line: &str) -> Option<(String, Option<String>)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (kind, name) = match inner.split_once(char::is_whitespace) {
        None => (inner, None),
        Some((kind, name)) => {
            (kind, Some(name.trim().strip_prefix('"')?.strip_suffix('"')?.to_owned()))
        }
    };
    let kind = kind.to_ascii_lowercase();
    let plain = kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') && !kind.is_empty();
    let named = match (&name, kind.as_str()) {
        (Some(name), "remote") => is_remote_name(name),
        (Some(name), _) => !name.contains(['"', '\\']),
        (None, _) => true,
    };
    (plain && named).then_some((kind, name))
}

/// A name that is one word of a command and none of its options.
fn is_remote_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.contains("..")
}

/// `https://host/path`, `ssh://git@host/path`, `git@host:path`; `None`: another way, or no host.
fn parse_address(url: &str) -> Option<RemoteAddress> {
    let visible = |c: char| c.is_ascii_graphic();
    if url.len() > ADDRESS_CHARS_MAX || !url.chars().all(visible) || url.contains("::") {
        return None;
    }
    let (usual, rest) = match url.split_once("://") {
        Some(("https", rest)) => (443, rest),
        Some(("http", rest)) => (80, rest),
        Some(("ssh", rest)) => (22, rest),
        Some(_) => return None,
        None => {
            // `git@host:path`: a path of this machine has no colon before its first slash.
            let (place, path) = url.split_once(':')?;
            return address_of(place, path.trim_start_matches('/'), 22);
        }
    };
    let (place, path) = rest.split_once('/')?;
    address_of(place, path, usual)
}

fn address_of(place: &str, path: &str, usual: u16) -> Option<RemoteAddress> {
    let place = place.rsplit_once('@').map_or(place, |(_, host)| host).to_ascii_lowercase();
    let (host, port) = match place.split_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().ok()?),
        None => (place.as_str(), usual),
    };
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let named = host.contains('.') && host.split('.').all(label);
    let path = path.trim_end_matches('/').trim_end_matches(".git");
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./~".contains(&b);
    if !named || path.is_empty() || !path.bytes().all(plain) || path.contains("..") {
        return None;
    }
    let host = if port == 443 { host.to_owned() } else { format!("{host}:{port}") };
    Some(RemoteAddress { shown: format!("{host}/{path}"), host })
}
