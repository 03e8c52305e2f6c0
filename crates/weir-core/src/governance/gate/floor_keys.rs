//! Stores of keys as the hard floor knows them, by their paths (Z3). Not here: which command opens one.

/// Stores of keys and credentials, as parts of a path; one that ends in `*` stands for every
/// ending.
const KEY_STORES: &[&str] = &[
    "/.ssh",
    "/.gnupg",
    "/.aws/credentials",
    "/.aws/sso",
    "/.aws/cli/cache",
    "/.azure",
    "/.config/gcloud",
    "/.kube/config",
    "/.docker/config.json",
    "/.netrc",
    "/_netrc",
    "/.git-credentials",
    "/.config/git/credentials",
    "/.config/gh/hosts.yml",
    "/.npmrc",
    "/.pypirc",
    "/.cargo/credentials*",
    "/.password-store",
    "/.local/share/keyrings",
    "/.local/share/kwalletd",
    "/.mozilla/firefox",
    "/.config/google-chrome",
    "/.config/chromium",
    "/Library/Keychains",
    "/.vault-token",
    "/.terraform.d/credentials*",
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers*",
    "/id_rsa",
    "/id_ed25519",
    "/id_ecdsa",
    "/id_dsa",
];

/// Names of files in those folders that are no secret.
const NO_KEYS: &[&str] = &["known_hosts", "config", "authorized_keys"];

/// The store of keys to which `path` belongs.
pub(super) fn key_store(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.ends_with(".pub") || (path.contains("/.ssh/") && NO_KEYS.contains(&name)) {
        return None;
    }
    if path.starts_with("/proc/") && name == "environ" {
        return Some("/proc/*/environ");
    }
    // Every store begins with a slash and one of few letters, so few places are looked at.
    let places = || {
        path.match_indices('/')
            .map(|(at, _)| &path[at..])
            .filter(|rest| rest.as_bytes().get(1).is_some_and(|letter| b"._eLi".contains(letter)))
    };
    places().next()?;
    KEY_STORES.iter().copied().find(|store| {
        let part = store.trim_end_matches('*');
        places().any(|place| {
            place.strip_prefix(part).is_some_and(|rest| {
                store.ends_with('*') || rest.is_empty() || rest.starts_with('/')
            })
        })
    })
}

/// The same for a path that may be relative.
pub(super) fn key_store_at(path: &str) -> bool {
    if path.starts_with('/') {
        key_store(path.strip_prefix('/').filter(|p| p.starts_with('/')).unwrap_or(path)).is_some()
    } else {
        key_store(&format!("/{path}")).is_some()
    }
}
