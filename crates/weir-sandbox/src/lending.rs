//! What of the person's environment a command gets when a person agreed: secrets by name, and for a
//! command outside the sandbox everything that is no key. Not here: who asks, and the variables that
//! every command sees (`environment`).

use std::ffi::OsString;

use weir_core::governance::filter::redact_text;
use weir_core::secret::Secret;
use weir_engine::ports::Variables;

use crate::environment::{FIXED, looks_secret, names_session_bus};

/// What may be lent. Values stay in this process until a command starts that was given them.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentLending {
    /// Secrets that the settings name for commands.
    pub secrets: Vec<LentSecret>,
    /// The person's variables without keys: [`persons_environment`].
    pub variables: Vec<(OsString, OsString)>,
}

/// A secret for commands.
#[derive(Debug, Clone)]
pub struct LentSecret {
    /// Its name, and that of the variable.
    pub name: String,
    /// Its value, or why there is none and what to do.
    pub value: Result<Secret, String>,
}

impl EnvironmentLending {
    /// Whether a command can have this secret.
    ///
    /// # Errors
    /// Why not, and the way out.
    pub(crate) fn check_secret(&self, name: &str) -> Result<(), String> {
        self.find_secret(name).map(drop)
    }

    fn find_secret(&self, name: &str) -> Result<&Secret, String> {
        let Some(found) = self.secrets.iter().find(|secret| secret.name == name) else {
            let known: Vec<&str> = self.secrets.iter().map(|secret| secret.name.as_str()).collect();
            let known = match known.is_empty() {
                true => "none is named there".to_owned(),
                false => format!("there are {}", known.join(", ")),
            };
            return Err(format!(
                "{name:?} is no secret for commands ({known}). A person names it in the settings: \
                 weir config set commands.secrets '[\"{name}\"]'"
            ));
        };
        found.value.as_ref().map_err(|why| format!("{name} cannot be given: {why}"))
    }

    /// The variables of one command: `listed` are those that every command sees.
    pub(crate) fn command_environment(
        &self,
        listed: &[(OsString, OsString)],
        variables: Variables,
        secrets: &[String],
    ) -> Result<Vec<(OsString, OsString)>, String> {
        let mut all = match variables {
            Variables::Listed => listed.to_vec(),
            Variables::Persons => {
                let mut all = self.variables.clone();
                all.extend(listed.iter().cloned());
                all
            }
        };
        for name in secrets {
            all.push((name.into(), self.find_secret(name)?.reveal().into()));
        }
        Ok(all)
    }
}

/// What a command outside the sandbox sees of the person's variables: agents and displays, and nothing
/// that is a key by its name or its value, that is Weir's own, or that leads to the session bus: there
/// an unlocked keyring answers whoever asks. Where the settings name that for all commands, this one
/// has it too.
pub fn persons_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    secrets: &[String],
) -> Vec<(OsString, OsString)> {
    let is_own = |name: &str| name.starts_with("WEIR_");
    let is_key = |value: &str| matches!(redact_text(value, secrets), std::borrow::Cow::Owned(_));
    let kept = variables.into_iter().filter(|(name, value)| {
        !looks_secret(name)
            && name.to_str().is_some_and(|name| !is_own(name) && !names_session_bus(name))
            && value.to_str().is_some_and(|value| !is_key(value))
    });
    let fixed = FIXED.map(|(name, value)| (name.into(), value.into()));
    kept.chain(fixed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_a_command_outside_sees_agents_and_no_keys() {
        const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";
        let given = [
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("DISPLAY", ":0"),
            (BUS, "unix:path=/run/bus"),
            ("GH_TOKEN", "abcdefgh"),
            ("WEIR_MODEL", "x/y"),
            ("NOTE", "the key is sesame-4711"),
            ("TERM", "xterm"),
        ];
        let given = given.map(|(name, value)| (name.into(), value.into()));
        let seen = persons_environment(given, &["sesame-4711".to_owned()]);
        let find = |name: &str| {
            seen.iter().rev().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str())
        };
        assert_eq!(find("SSH_AUTH_SOCK"), Some("/run/agent"));
        assert_eq!(find("DISPLAY"), Some(":0"));
        assert_eq!(find("TERM"), Some("dumb"), "nobody sits at it");
        for name in ["GH_TOKEN", "WEIR_MODEL", "NOTE", BUS] {
            assert_eq!(find(name), None, "{name}");
        }
        // Unless the person named it for commands.
        let listed = [(BUS.into(), "unix:path=/run/bus".into())];
        let lending = EnvironmentLending { variables: seen, ..EnvironmentLending::default() };
        let given = lending.command_environment(&listed, Variables::Persons, &[]);
        assert!(given.expect("no secret").iter().any(|(name, _)| name == BUS));
    }

    #[test]
    fn z7_a_command_gets_the_secrets_that_it_was_given_and_no_others() {
        let secret = |name: &str, value: Result<&str, &str>| LentSecret {
            name: name.to_owned(),
            value: value.map(Secret::new).map_err(str::to_owned),
        };
        let lending = EnvironmentLending {
            secrets: vec![
                secret("GH_TOKEN", Ok("abcd-efgh")),
                secret("OTHER", Ok("ijkl-mnop")),
                secret("GONE", Err("the variable GONE is not set")),
            ],
            variables: Vec::new(),
        };
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let given = lending.command_environment(&[], Variables::Listed, &names(&["GH_TOKEN"]));
        assert_eq!(given, Ok(vec![("GH_TOKEN".into(), "abcd-efgh".into())]));
        assert_eq!(lending.command_environment(&[], Variables::Persons, &[]), Ok(Vec::new()));
        let why = lending.check_secret("NPM_TOKEN").expect_err("nobody named it");
        assert!(why.contains("commands.secrets '[\"NPM_TOKEN\"]'"), "{why}");
        assert!(why.contains("there are GH_TOKEN, OTHER, GONE"), "{why}");
        let why = lending.check_secret("GONE").expect_err("it has no value");
        assert!(why.contains("the variable GONE is not set"), "{why}");
    }
}
