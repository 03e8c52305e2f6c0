//! The system's keyring (Secret Service), spoken to through the system's own programs: `secret-tool`
//! of libsecret and `dbus-send`. No key is ever in an argument, and nothing here opens a prompt: a
//! locked keyring is one that cannot be used. Not here: which keys are kept in it (`keys`), how its
//! programs are run (`keyring/dialogue`), and what it said a moment ago (`keyring/memory`).

mod dialogue;
mod memory;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_core::secret::Secret;

use crate::environment::ProcessEnvironment;
use dialogue::{AskError, ask_program};

pub(crate) use memory::{forget_answers, read_remembered_keys};

/// Folders that belong to the system: a PATH could name one that a workspace can write.
const PROGRAM_FOLDERS: [&str; 3] = ["/usr/bin", "/bin", "/run/current-system/sw/bin"];
/// Longest wait for one answer. A keyring that is there answers in a twentieth of a second.
const ANSWER_TIME: Duration = Duration::from_secs(2);
/// Longest wait for all answers from opening on, however many keys are asked for.
const TOTAL_TIME: Duration = Duration::from_secs(4);
/// Keys that are asked for at the same time.
const ASKED_AT_ONCE: usize = 8;
/// The attribute that all items of Weir have.
const SERVICE: &str = "weir";

/// A keyring that may answer. Making one asks nothing and looks at nothing.
#[derive(Debug, Clone)]
pub(crate) struct Keyring {
    /// Where its programs are looked for.
    program_folders: Vec<PathBuf>,
    /// Whose keys: two configuration folders of a person do not share them.
    folder: String,
    /// What its programs are told of the surroundings; nothing else.
    variables: Vec<(&'static str, String)>,
}

/// One key in the keyring. The id is new each time a key is kept: an older one of the same name, in
/// whatever collection it was left, is another item and never found in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyringItem {
    /// Whose key.
    pub(crate) name: String,
    /// Which of those that were ever kept under this name.
    pub(crate) id: String,
}

impl KeyringItem {
    /// A new one of this name.
    pub(crate) fn new_of(name: &str) -> KeyringItem {
        KeyringItem { name: name.to_owned(), id: uuid::Uuid::now_v7().simple().to_string() }
    }
}

/// One that was asked and is unlocked, until its time is over.
#[derive(Debug)]
pub(crate) struct OpenKeyring<'a> {
    keyring: &'a Keyring,
    secret_tool: PathBuf,
    until: Instant,
}

impl Keyring {
    /// The keyring of this session for the keys of a configuration folder.
    ///
    /// # Errors
    /// Why there can be none: another system than Linux, a folder that cannot be named to it.
    pub(crate) fn of_session(
        environment: &ProcessEnvironment,
        folder: &Path,
    ) -> Result<Keyring, String> {
        if !cfg!(target_os = "linux") {
            return Err("Weir uses none on this system".into());
        }
        let folder = folder.to_str().ok_or("the configuration folder's name is not UTF-8")?;
        let variables = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "HOME"]
            .into_iter()
            .filter_map(|name| Some((name, environment.text_variable(name)?.to_owned())));
        Ok(Keyring {
            program_folders: PROGRAM_FOLDERS.iter().map(PathBuf::from).collect(),
            folder: folder.to_owned(),
            variables: variables.collect(),
        })
    }

    /// Asks whether its default collection can be used now, before every other question: those would
    /// open a prompt of the desktop where it is locked. The time for all questions begins.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn open_default(&self) -> Result<OpenKeyring<'_>, String> {
        let question = [
            "--session",
            "--print-reply=literal",
            "--reply-timeout=1500",
            "--dest=org.freedesktop.secrets",
            "/org/freedesktop/secrets/aliases/default",
            "org.freedesktop.DBus.Properties.Get",
            "string:org.freedesktop.Secret.Collection",
            "string:Locked",
        ];
        if !self.has_bus() {
            return Err("there is no session bus".into());
        }
        let secret_tool = self
            .find_program("secret-tool")
            .ok_or("the program secret-tool is missing (package libsecret-tools or libsecret)")?;
        let dbus_send = self
            .find_program("dbus-send")
            .ok_or("the program dbus-send is missing (package dbus-bin or dbus)")?;
        let open = OpenKeyring { keyring: self, secret_tool, until: Instant::now() + TOTAL_TIME };
        let said = open.ask_of(&dbus_send, &question, "").map_err(|why| match why {
            AskError::Failed(_) => "no keyring answers at the session bus".into(),
            other => other.to_string(),
        })?;
        match said.split_whitespace().collect::<Vec<_>>()[..] {
            ["variant", "boolean", "false"] => Ok(open),
            ["variant", "boolean", "true"] => Err("it is locked".into()),
            _ => Err("it does not say whether it is locked".into()),
        }
    }

    /// Without an address the programs look for the usual socket; where that is missing too, starting
    /// them would only cost time.
    fn has_bus(&self) -> bool {
        self.variables.iter().any(|(name, value)| match *name {
            "DBUS_SESSION_BUS_ADDRESS" => true,
            "XDG_RUNTIME_DIR" => Path::new(value).join("bus").exists(),
            _ => false,
        })
    }

    fn find_program(&self, name: &str) -> Option<PathBuf> {
        self.program_folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
    }
}

impl OpenKeyring<'_> {
    /// The keys of these items, in their order. Several are asked for at the same time.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn read_keys(&self, items: &[KeyringItem]) -> Result<Vec<Option<Secret>>, String> {
        let mut found = Vec::with_capacity(items.len());
        for part in items.chunks(ASKED_AT_ONCE) {
            let answers = std::thread::scope(|scope| {
                let asked: Vec<_> =
                    part.iter().map(|item| scope.spawn(move || self.read_key(item))).collect();
                asked.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
            });
            for answer in answers {
                found.push(answer.map_err(|_| "it could not be asked".to_owned())??);
            }
        }
        Ok(found)
    }

    /// The key of this item. `search` is used because, unlike `lookup`, it never asks to unlock.
    fn read_key(&self, item: &KeyringItem) -> Result<Option<Secret>, String> {
        let answer = self.ask_secret_tool("search", &[], item, "");
        Ok(secret_in_answer(&answer.map_err(|why| why.to_string())?))
    }

    /// Keeps a key under an id that nothing has, and makes sure that it can be read again.
    ///
    /// # Errors
    /// It does not answer, or does not give back what was kept.
    pub(crate) fn store_key(&self, item: &KeyringItem, key: &Secret) -> Result<(), String> {
        let label = format!("--label=Weir: {}", item.name);
        let stored = self.ask_secret_tool("store", &[&label], item, key.reveal());
        stored.map_err(|why| why.to_string())?;
        match self.read_key(item)? {
            Some(kept) if kept == *key => Ok(()),
            _ => Err("it did not keep the key".into()),
        }
    }

    /// Forgets a key.
    ///
    /// # Errors
    /// It does not answer, or still has the key.
    pub(crate) fn clear_key(&self, item: &KeyringItem) -> Result<(), String> {
        // It ends with a failure where there was nothing; what counts is that nothing is left.
        let cleared = self.ask_secret_tool("clear", &[], item, "");
        match self.read_key(item)? {
            None => Ok(()),
            Some(_) => {
                Err(cleared.err().map_or("it still has the key".into(), |why| why.to_string()))
            }
        }
    }

    /// The attributes stand behind `--`: a name that begins with a hyphen is no option.
    fn ask_secret_tool(
        &self,
        verb: &str,
        options: &[&str],
        item: &KeyringItem,
        input: &str,
    ) -> Result<String, AskError> {
        let attributes = [
            "--",
            "service",
            SERVICE,
            "account",
            &item.name,
            "folder",
            &self.keyring.folder,
            "id",
            &item.id,
        ];
        let args = [&[verb][..], options, &attributes[..]].concat();
        self.ask_of(&self.secret_tool, &args, input)
    }

    fn ask_of(&self, program: &Path, args: &[&str], input: &str) -> Result<String, AskError> {
        let until = self.until.min(Instant::now() + ANSWER_TIME);
        let mut command = std::process::Command::new(program);
        let variables = self.keyring.variables.iter().map(|(name, value)| (*name, value.as_str()));
        // secret-tool takes its arguments for text of the locale: without one, a folder with a letter
        // outside ASCII is an error.
        command.args(args).env_clear().envs(variables).env("LC_ALL", "C.UTF-8").current_dir("/");
        ask_program(command, input, until)
    }
}

/// The secret in an answer of `secret-tool search`; the item of a locked collection has none.
fn secret_in_answer(answer: &str) -> Option<Secret> {
    let value = answer.lines().find_map(|line| line.strip_prefix("secret = "))?;
    (!value.is_empty()).then(|| Secret::new(value))
}
