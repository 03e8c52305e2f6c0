//! What a declaration of a secret may say. Not here: its value (`crate::secrets`).

use std::collections::BTreeMap;

use weir_web::WebSecret;

use super::{SecretSettings, key_text};

/// Longest name of a secret, in characters.
const NAME_CHARS_MAX: usize = 64;
/// Most secrets.
const SECRETS_MAX: usize = 100;

/// The first thing that is wrong with a declaration: its key and what.
pub(crate) fn find_secret_complaint(
    secrets: &BTreeMap<String, SecretSettings>,
) -> Option<(String, String)> {
    if secrets.len() > SECRETS_MAX {
        return Some(("secrets".into(), format!("has more than {SECRETS_MAX} entries")));
    }
    secrets.iter().find_map(|(name, settings)| {
        let key = |field: &str| match field {
            "" => key_text(&["secrets", name]),
            field => key_text(&["secrets", name, field]),
        };
        let is_name = (1..=NAME_CHARS_MAX).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
        if !is_name {
            return Some((key(""), "is no name: use letters, digits, - and _".into()));
        }
        let (field, problem) = find_secret_problem(name, settings)?;
        Some((key(field), problem))
    })
}

fn find_secret_problem(name: &str, settings: &SecretSettings) -> Option<(&'static str, String)> {
    match (&settings.env, &settings.file) {
        (Some(_), Some(_)) => return Some(("", "has both env and file; keep one".into())),
        (None, None) => {
            let why = "says neither env (a variable) nor file (a file that only you can read)";
            return Some(("", why.into()));
        }
        (Some(variable), None) if variable.is_empty() || variable.contains(['=', '\0']) => {
            // It may be the secret itself, written at the wrong place: it is not repeated.
            return Some(("env", "is no name of a variable".into()));
        }
        (None, Some(file)) if !file.starts_with('/') && !file.starts_with("~/") => {
            return Some(("file", "is no absolute path; write /… or ~/…".into()));
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    if settings.hosts.is_empty() {
        let why = "has no hosts; write those that it may be sent to: hosts = [\"api.example.org\"]";
        return Some(("", why.into()));
    }
    let web = WebSecret {
        name: name.to_owned(),
        hosts: settings.hosts.clone(),
        header: settings.header.clone(),
        format: settings.format.clone(),
        value: Err(String::new()),
    };
    web.check_declaration().err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(env: Option<&str>, file: Option<&str>) -> SecretSettings {
        SecretSettings {
            env: env.map(String::from),
            file: file.map(String::from),
            hosts: vec!["api.example.org".into()],
            ..SecretSettings::default()
        }
    }

    fn key(name: &str, settings: SecretSettings) -> Option<String> {
        let secrets = BTreeMap::from([(name.to_owned(), settings)]);
        find_secret_complaint(&secrets).map(|(key, _)| key)
    }

    #[test]
    fn z7_declarations_that_cannot_hold_are_named() {
        assert_eq!(key("github", settings(Some("T"), None)), None);
        assert_eq!(key("github", settings(None, Some("~/.token"))), None);
        let field = |name: &str| Some(format!("secrets.github{name}"));
        assert_eq!(key("github", settings(None, None)), field(""));
        assert_eq!(key("github", settings(Some("A"), Some("/b"))), field(""));
        assert_eq!(key("github", settings(Some(""), None)), field(".env"));
        assert_eq!(key("github", settings(None, Some("relative"))), field(".file"));
        let hosts = |hosts: &[&str]| SecretSettings {
            hosts: hosts.iter().map(ToString::to_string).collect(),
            ..settings(Some("T"), None)
        };
        assert_eq!(key("github", hosts(&[])), field(""));
        assert_eq!(key("github", hosts(&["*"])), field(".hosts"));
        let format = SecretSettings { format: "token".into(), ..settings(Some("T"), None) };
        assert_eq!(key("github", format), field(".format"));
        for name in ["", "a b", "ä", &"x".repeat(65)] {
            assert!(key(name, settings(Some("T"), None)).is_some(), "{name}");
        }
    }
}
