//! Which environment variables a command sees: an allow-list, and never a key (T8, Z7).
//!
//! Pure: the variables come in as an argument, nothing here reads the environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Passed on by name when they are set.
const ALLOWED: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
];

/// Passed on when their name begins like this.
const ALLOWED_PREFIXES: [&str; 2] = ["LC_", "PYENV_"];

/// A name that contains one of these is never passed on, not even when it was asked for: whoever
/// needs a secret in a command lets the engine insert it for its declared host (Z7).
const SECRET_WORDS: [&str; 7] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "PASSPHRASE"];

/// Where programs are asked that act for the person: buses at which an unlocked keyring answers
/// everybody, agents, container engines. Passed on where the settings name them letter by letter; a
/// prefix never means them (R9). That they cannot be reached is the sandbox's business.
const ADDRESSES: [&str; 12] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_STARTER_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "AT_SPI_BUS_ADDRESS",
    "IBUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "WAYLAND_DISPLAY",
    "DISPLAY",
];

/// The session bus among them, which no command has by itself, not even outside the sandbox.
const SESSION_BUS: [&str; 2] = ["DBUS_SESSION_BUS_ADDRESS", "DBUS_STARTER_ADDRESS"];

/// The same for every command: there is no terminal, nobody can answer a prompt, and a pager
/// would wait for a key that never comes.
pub(crate) const FIXED: [(&str, &str); 4] =
    [("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Used when the engine itself was started without a search path.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables that a command gets, out of `variables`: those on the built-in allow-list and
/// those named in `extra`, without any whose name looks like a secret's, and with a few fixed ones.
///
/// An entry of `extra` is a name, or a prefix that ends in `*`; a prefix does not mean the addresses of
/// buses and agents.
pub fn filtered_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    extra: &[String],
) -> Vec<(OsString, OsString)> {
    let mut kept: BTreeMap<OsString, OsString> = variables
        .into_iter()
        .filter(|(name, _)| is_passed(name, extra) && !looks_secret(name))
        .collect();
    kept.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
    for (name, value) in FIXED {
        kept.insert(name.into(), value.into());
    }
    kept.into_iter().collect()
}

/// Whether a variable of this name may hold a key. Names that are not UTF-8 are not trusted.
pub(crate) fn looks_secret(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether a variable of this name says where the session bus is.
pub(crate) fn names_session_bus(name: &str) -> bool {
    SESSION_BUS.contains(&name)
}

fn is_passed(name: &OsStr, extra: &[String]) -> bool {
    let Some(name) = name.to_str() else { return false };
    ALLOWED.contains(&name)
        || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || extra.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix) && !ADDRESSES.contains(&name),
            None => name == pattern,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(variables: &[(&str, &str)], extra: &[&str]) -> Vec<String> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let extra: Vec<String> = extra.iter().map(ToString::to_string).collect();
        filtered_environment(variables, &extra)
            .into_iter()
            .map(|(name, _)| name.into_string().expect("names of this test are UTF-8"))
            .collect()
    }

    #[test]
    fn z7_environment_is_an_allow_list() {
        let given = [("HOME", "/h"), ("LC_ALL", "C"), ("PYENV_ROOT", "/p"), ("EDITOR", "vi")];
        assert_eq!(
            names(&given, &[]),
            [
                "GIT_PAGER",
                "GIT_TERMINAL_PROMPT",
                "HOME",
                "LC_ALL",
                "PAGER",
                "PATH",
                "PYENV_ROOT",
                "TERM"
            ]
        );
        assert!(names(&given, &["EDITOR"]).contains(&"EDITOR".to_string()));
        assert!(names(&given, &["EDI*"]).contains(&"EDITOR".to_string()));
    }

    #[test]
    fn z7_environment_never_passes_what_looks_like_a_secret() {
        let given = [
            ("OPENAI_API_KEY", "x"),
            ("github_token", "x"),
            ("LC_SECRET", "x"),
            ("DbPassword", "x"),
            ("PYENV_CREDENTIALS", "x"),
        ];
        let asked = ["OPENAI_API_KEY", "github_token", "DbPassword", "*"];
        assert_eq!(
            names(&given, &asked),
            ["GIT_PAGER", "GIT_TERMINAL_PROMPT", "PAGER", "PATH", "TERM"]
        );
    }

    #[test]
    fn r9_where_buses_and_agents_are_is_passed_on_by_name_alone() {
        let given = ADDRESSES.map(|name| (name, "unix:path=/run/user/1000/bus"));
        let none = names(&[], &[]);
        for extra in [&[][..], &["*"], &["DBUS_*", "XDG_*", "SSH_*", "D*"], &["DBUS_SESSION_BUS"]] {
            assert_eq!(names(&given, extra), none, "{extra:?}");
        }
        for name in ADDRESSES {
            assert!(names(&given, &[name]).contains(&name.to_owned()), "the person named {name}");
        }
        assert!(SESSION_BUS.iter().all(|name| ADDRESSES.contains(name)));
    }
}
