//! A file of settings as one program after the other changes it: whoever writes it holds its lock from before
//! it is read until it is written, since there is no other way to write one (C8). Not here: what is changed in
//! it (`edit`, `adopt`, `declare`).

use std::fs::File;
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

use super::edit::{check_config_text, open_config_document};
use crate::files::{hold_lock, replace_file};

/// Name of the lock, in the folder where it lies.
const LOCK: &str = "config.lock";

/// A file of settings that can be changed. [`super::ConfigFiles::file_at`] gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    path: PathBuf,
    lock: PathBuf,
}

impl ConfigFile {
    /// The file at `path`, whose lock lies in `folder`.
    pub(super) fn with_lock_in(folder: &Path, path: &Path) -> ConfigFile {
        ConfigFile { path: path.to_path_buf(), lock: folder.join(LOCK) }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Holds it until what is returned is dropped. Who holds one must not take another one meanwhile: they
    /// may have the same lock.
    ///
    /// # Errors
    /// The lock cannot be made, or another program has held it for ten seconds.
    pub(crate) fn hold_file(&self) -> anyhow::Result<HeldConfigFile<'_>> {
        Ok(HeldConfigFile { path: &self.path, _lock: hold_lock(&self.lock)? })
    }
}

/// A file of settings that nobody else changes meanwhile.
pub(crate) struct HeldConfigFile<'a> {
    path: &'a Path,
    _lock: File,
}

impl HeldConfigFile<'_> {
    /// What it says now, to be changed; nothing where there is none.
    pub(super) fn open_document(&self) -> anyhow::Result<DocumentMut> {
        open_config_document(self.path)
    }

    /// Puts `text` in its place, where it can be read back.
    ///
    /// # Errors
    /// It cannot be read back, or not be written.
    pub(crate) fn replace_text(&self, text: &str) -> anyhow::Result<()> {
        check_config_text(self.path, text)?;
        self.replace_unchecked(text)
    }

    /// The same where a file that is wrong elsewhere is to be changed all the same.
    pub(super) fn replace_unchecked(&self, text: &str) -> anyhow::Result<()> {
        replace_file(self.path, text.as_bytes(), 0o644)
    }

    /// Puts back what stood there once; `None`: there was no file.
    ///
    /// # Errors
    /// It cannot be written or removed.
    pub(crate) fn put_back(&self, before: Option<&str>) -> anyhow::Result<()> {
        match before {
            Some(text) => self.replace_unchecked(text),
            None => Ok(std::fs::remove_file(self.path)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::governance::rules::RuleAction;

    use super::*;
    use crate::config::{
        ConfigAdditions, McpServerSettings, add_rule, add_to_config_file, allow_here,
        remove_endpoint, remove_rule, remove_server, set_value, set_values, unset_value,
    };

    /// How often each writer writes.
    const ROUNDS: u32 = 6;

    #[test]
    fn c8_a_file_may_say_a_part_of_what_another_has_the_rest_of_and_nothing_that_is_wrong() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = ConfigFile::with_lock_in(folder.path(), &folder.path().join("config.toml"));
        for part in [
            "[mcp_servers.git]\nenabled = false\n",
            "[secrets.forge]\nhosts = [\"api.example.org\"]\n",
            "[commands.lint]\nhosts = [\"h.example.org\"]\n",
            "[plugins.notes]\ncertificate = \"/etc/notes.pem\"\n",
            "[web.search]\nmodel = \"anthropic/x\"\n",
            "[providers.acme]\nbase_url = \"https://h.example.org/v1\"\n",
        ] {
            file.hold_file().expect("nobody holds it").replace_text(part).expect(part);
            assert_eq!(std::fs::read_to_string(file.path()).expect("written"), part);
        }
        let before = std::fs::read_to_string(file.path()).expect("written");
        for wrong in [
            "modle = 1\n",
            "[limits]\nmax_iterations = 0\n",
            "[mcp_servers.git]\ncommand = \"x\"\nurl = \"https://h.example.org\"\n",
            "[secrets.forge]\nenv = \"A=B\"\nhosts = [\"api.example.org\"]\n",
            "[web.search]\nkind = \"brave\"\nmodel = \"anthropic/x\"\n",
            "[providers.acme]\nbase_url = \"nowhere\"\n",
        ] {
            let refused = file.hold_file().expect("nobody holds it").replace_text(wrong);
            let why = refused.expect_err(wrong).to_string();
            assert!(why.contains("not changed"), "{wrong}: {why}");
            assert_eq!(std::fs::read_to_string(file.path()).expect("written"), before);
        }
    }

    #[test]
    fn c8_of_writers_of_every_kind_at_once_none_loses_what_another_wrote() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = ConfigFile::with_lock_in(folder.path(), &folder.path().join("config.toml"));
        let before = "profile = \"code\"\n[permissions]\nallow = [\"Shell(old)\"]\n\
                      [mcp_servers.old]\ncommand = \"x\"\n\
                      [providers.old]\ndialect = \"openai-chat\"\nbase_url = \"https://h/v1\"\n";
        std::fs::write(file.path(), before).expect("writable");
        let server = |round: u32| {
            let server = McpServerSettings { command: "x".into(), ..Default::default() };
            let servers = vec![(format!("s{round}"), server)];
            ConfigAdditions { servers, ..ConfigAdditions::default() }
        };
        let change = |kind: u32, round: u32| -> anyhow::Result<()> {
            let number = (round + 1).to_string();
            let number = number.as_str();
            match kind {
                0 => set_value(&file, "limits.max_iterations", number),
                1 => add_rule(&file, RuleAction::Deny, &format!("Shell(a{round})")).map(drop),
                2 => allow_here(&file, folder.path(), &format!("Shell(b{round})")),
                3 => add_to_config_file(&file, &server(round)),
                4 => set_values(
                    &file,
                    &[("limits.parallel_calls", number), ("limits.program_steps", number)],
                ),
                5 => unset_value(&file, "profile").map(drop),
                6 => remove_rule(&file, "Shell(old)").map(drop),
                7 => remove_server(&file, "old").map(drop),
                _ => remove_endpoint(&file, "old").map(drop),
            }
        };
        std::thread::scope(|scope| {
            for kind in 0..=8 {
                let change = &change;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        change(kind, round).expect("it is changed");
                    }
                });
            }
        });
        let text = std::fs::read_to_string(file.path()).expect("it is there");
        let read: crate::config::Settings = toml::from_str(&text).expect("it is read back");
        let rules = |letter: &str| -> Vec<String> {
            (0..ROUNDS).map(|round| format!("Shell({letter}{round})")).collect()
        };
        assert_eq!(read.permissions.deny, rules("a"), "{text}");
        assert_eq!(read.permissions.allow, rules("b"), "{text}");
        let servers: Vec<&str> = read.mcp_servers.keys().map(String::as_str).collect();
        assert_eq!(servers, ["s0", "s1", "s2", "s3", "s4", "s5"], "{text}");
        assert!(read.providers.is_empty(), "{text}");
        let limits = &read.limits;
        assert_eq!(limits.max_iterations, ROUNDS, "{text}");
        assert_eq!((limits.parallel_calls, limits.program_steps), (ROUNDS, ROUNDS), "{text}");
        assert!(!text.contains("profile"), "{text}");
    }
}
