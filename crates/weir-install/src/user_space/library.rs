//! What a person's agents can use beyond the built-in tools, as pages show it and a person decides
//! about it: the same things that `weir skills`, `recipes`, `tools`, `plugins`, `profiles` and
//! `mcp-servers` show and change. One shape for all of them, so that a page shows each alike.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::UserSpace;
use crate::catalogue::own_words::OwnWords;
use crate::context::InstallationContext;
use crate::failure::{InstallationError, refused, stale, usage};

mod given;
mod made;
mod plugins;
mod proposed;
mod recipes;
mod servers;
mod skills;

/// A shelf of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LibraryShelf {
    /// Instructions that an agent reads when they fit.
    Skills,
    /// Known ways to do a kind of task.
    Recipes,
    /// Tools that somebody made at run time.
    Made,
    /// Which tools, instructions and limits an agent has.
    Profiles,
    /// Commands and methods of other programs.
    Plugins,
    /// Foreign servers (MCP).
    Servers,
    /// Every built-in tool with its schema.
    Tools,
    /// Settings that an agent proposed.
    Settings,
}

impl LibraryShelf {
    /// All of them, in the order in which they are shown.
    pub const ALL: [LibraryShelf; 8] = [
        LibraryShelf::Skills,
        LibraryShelf::Recipes,
        LibraryShelf::Made,
        LibraryShelf::Servers,
        LibraryShelf::Plugins,
        LibraryShelf::Profiles,
        LibraryShelf::Tools,
        LibraryShelf::Settings,
    ];

    /// The word in addresses.
    pub fn path_word(self) -> &'static str {
        match self {
            LibraryShelf::Skills => "skills",
            LibraryShelf::Recipes => "recipes",
            LibraryShelf::Made => "made",
            LibraryShelf::Profiles => "profiles",
            LibraryShelf::Plugins => "plugins",
            LibraryShelf::Servers => "servers",
            LibraryShelf::Tools => "tools",
            LibraryShelf::Settings => "settings",
        }
    }

    /// The shelf of a word.
    pub fn from_word(word: &str) -> Option<LibraryShelf> {
        LibraryShelf::ALL.into_iter().find(|shelf| shelf.path_word() == word)
    }
}

/// What a person can do about a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LibraryAction {
    /// What waits is accepted as it was shown, or what was rejected counts again.
    Accept,
    /// It is neither used nor proposed again.
    Reject,
    /// It is switched on, as it was shown.
    Enable,
    /// It is switched off.
    Disable,
    /// It is taken away.
    Remove,
    /// What a foreign server is and offers is approved, as it was shown.
    Approve,
}

impl LibraryAction {
    const ALL: [LibraryAction; 6] = [
        LibraryAction::Accept,
        LibraryAction::Reject,
        LibraryAction::Enable,
        LibraryAction::Disable,
        LibraryAction::Remove,
        LibraryAction::Approve,
    ];

    /// The word in addresses.
    pub fn path_word(self) -> &'static str {
        match self {
            LibraryAction::Accept => "accept",
            LibraryAction::Reject => "reject",
            LibraryAction::Enable => "enable",
            LibraryAction::Disable => "disable",
            LibraryAction::Remove => "remove",
            LibraryAction::Approve => "approve",
        }
    }

    /// The deed of a word.
    pub fn from_word(word: &str) -> Option<LibraryAction> {
        LibraryAction::ALL.into_iter().find(|deed| deed.path_word() == word)
    }
}

/// One thing on a shelf, in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LibraryLine {
    /// Its name, unique on its shelf.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// Where it comes from.
    pub origin: String,
    /// How it stands: `used`, `off`, `waits`, …
    pub state: String,
    /// It waits for the person.
    pub waits: bool,
    /// Words from outside went into it.
    pub untrusted: bool,
}

/// What stands on a shelf, and what is to be known of the rest.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LibraryListing {
    /// The things.
    pub lines: Vec<LibraryLine>,
    /// What was left out and why.
    pub notes: Vec<String>,
}

/// How a text is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// As it is.
    Plain,
    /// Markdown.
    Markdown,
    /// JSON.
    Json,
}

/// Something that waits for the person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PendingLibraryChange {
    /// What would become of it, in words.
    pub what: String,
    /// All of it.
    pub text: String,
    /// What differs from what is there, as a unified diff; empty: nothing is there.
    pub diff: String,
    /// Whose words went into it.
    pub whose: String,
    /// Words from outside went into it: it is accepted only by who says that they read it.
    pub untrusted: bool,
    /// Names exactly this: a word about another one is refused.
    pub hash: String,
    /// The words that a person may change before they accept it; `None`: they cannot be changed here.
    pub editable: Option<String>,
}

/// One thing with everything that there is to know of it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LibraryItem {
    /// The line of the item in the list of its shelf.
    pub line: LibraryLine,
    /// More of it: what and value.
    pub facts: Vec<(String, String)>,
    /// Text by which a person judges it: a skill's file, what a plugin may do.
    pub text: String,
    /// How that is to be shown.
    pub text_kind: TextKind,
    /// Names exactly this, for deeds that need it; empty: none does.
    pub hash: String,
    /// What waits.
    pub waiting: Option<PendingLibraryChange>,
    /// What can be done.
    pub deeds: Vec<LibraryAction>,
}

/// A person's word about a thing.
#[derive(Debug, Clone)]
pub struct LibraryDecision<'a> {
    /// The action that the person chose.
    pub deed: LibraryAction,
    /// The hash of what they saw; empty: the deed needs none.
    pub hash: &'a str,
    /// They read what has words from outside.
    pub untrusted: bool,
    /// Words of theirs in place of those that were proposed.
    pub own_words: Option<&'a str>,
    /// Who they are, by the name that is kept.
    pub by: &'a str,
}

impl LibraryDecision<'_> {
    fn own_words(&self) -> Option<OwnWords<'_>> {
        self.own_words.map(|text| OwnWords { text, by: self.by })
    }
}

/// An MCP server, as an admin declares it: a program or an address.
#[derive(Debug, Clone, Default)]
pub struct NewServer {
    /// Name of the server.
    pub name: String,
    /// The program and its arguments, in one line; empty: it has an address.
    pub command: String,
    /// Its address; empty: it is a program.
    pub url: String,
    /// Folders that the program may change; `.` is the folder that is worked in.
    pub writes: Vec<String>,
    /// Hosts that the program may reach.
    pub hosts: Vec<String>,
}

impl UserSpace {
    async fn read_shelf(&self, shelf: LibraryShelf) -> anyhow::Result<LibraryListing> {
        let cx = self.at(None)?;
        match shelf {
            LibraryShelf::Skills => skills::list_skills(&cx).await,
            LibraryShelf::Recipes => recipes::list_recipes(&cx).await,
            LibraryShelf::Made => made::list_dynamic_tools(&cx).await,
            LibraryShelf::Profiles => given::list_profiles(&cx),
            LibraryShelf::Plugins => plugins::list_plugins(&cx).await,
            LibraryShelf::Servers => servers::list_servers(&cx).await,
            LibraryShelf::Tools => Ok(given::list_tools(&cx)?),
            LibraryShelf::Settings => proposed::list_proposed_settings(&cx).await,
        }
    }

    async fn read_item(&self, shelf: LibraryShelf, name: &str) -> anyhow::Result<LibraryItem> {
        let cx = self.at(None)?;
        match shelf {
            LibraryShelf::Skills => skills::skill_item(&cx, name).await,
            LibraryShelf::Recipes => recipes::recipe_item(&cx, name).await,
            LibraryShelf::Made => made::dynamic_tool_item(&cx, name).await,
            LibraryShelf::Profiles => given::profile_item(&cx, name),
            LibraryShelf::Plugins => plugins::plugin_item(&cx, name).await,
            LibraryShelf::Servers => {
                servers::server_item(&cx, name, servers::ServerProbe::No).await
            }
            LibraryShelf::Tools => given::tool_item(name),
            LibraryShelf::Settings => proposed::proposed_setting_item(&cx, name).await,
        }
    }

    async fn perform_action(
        &self,
        shelf: LibraryShelf,
        name: &str,
        word: LibraryDecision<'_>,
    ) -> anyhow::Result<String> {
        let cx = self.at(None)?;
        let by = self.person.name.as_str();
        match shelf {
            LibraryShelf::Skills => skills::act_on_skill(&cx, name, &word).await,
            LibraryShelf::Recipes => recipes::act_on_recipe(&cx, name, &word).await,
            LibraryShelf::Made => made::act_on_dynamic_tool(&cx, name, &word).await,
            LibraryShelf::Plugins => plugins::act_on_plugin(&cx, name, &word, by).await,
            LibraryShelf::Servers => servers::act_on_server(&cx, name, &word).await,
            LibraryShelf::Settings => {
                proposed::act_on_proposed_setting(self, &cx, name, &word).await
            }
            LibraryShelf::Profiles | LibraryShelf::Tools => Err(unsupported_action(word.deed)),
        }
    }
}

impl UserSpace {
    /// What stands on a shelf.
    ///
    /// # Errors
    /// Settings, files or the store cannot be read.
    pub async fn list_shelf(
        &self,
        shelf: LibraryShelf,
    ) -> Result<LibraryListing, InstallationError> {
        self.look_up_made().await?;
        Box::pin(self.read_shelf(shelf)).await.map_err(|error| refused(&error))
    }

    /// One thing.
    ///
    /// # Errors
    /// There is none of this name.
    pub async fn find_item(
        &self,
        shelf: LibraryShelf,
        name: &str,
    ) -> Result<LibraryItem, InstallationError> {
        self.look_up_made().await?;
        // Whatever the reason, there is nothing of that name to be shown; a list says more.
        let named = Box::pin(self.read_shelf(shelf)).await.map_err(|error| refused(&error))?;
        if !named.lines.iter().any(|line| line.name == name) {
            return Err(InstallationError::Missing(format!(
                "{name:?} among {}",
                shelf.path_word()
            )));
        }
        Box::pin(self.read_item(shelf, name)).await.map_err(|error| refused(&error))
    }

    /// The same with what is there now: a foreign server is started and asked, and what differs from
    /// what was approved waits for the person's word. Of other things: as they are.
    ///
    /// # Errors
    /// There is none of this name, or it does not answer.
    pub async fn inspect_item(
        &self,
        shelf: LibraryShelf,
        name: &str,
    ) -> Result<LibraryItem, InstallationError> {
        let item = self.find_item(shelf, name).await?;
        if shelf != LibraryShelf::Servers {
            return Ok(item);
        }
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let asked = servers::server_item(&cx, name, servers::ServerProbe::Yes).await;
        asked.map_err(|error| refused(&error))
    }

    /// Declares an MCP server in the installation's settings. It is neither started nor approved. Only
    /// for admins.
    ///
    /// # Errors
    /// [`InstallationError::Refused`] with the reason; nothing is kept then.
    pub async fn declare_server(&self, new: &NewServer) -> Result<(), InstallationError> {
        if !self.person.is_admin() {
            return Err(InstallationError::Refused("only an admin adds servers".into()));
        }
        let declared = self.at(None).and_then(|cx| servers::declare_server(&cx, new));
        declared.map_err(|error| refused(&error))?;
        self.renew();
        Ok(())
    }

    /// Does what a person says, and tells what was done. Sessions have it from their next run on.
    ///
    /// # Errors
    /// It cannot be done, or what they saw is another one meanwhile; nothing was changed then.
    pub async fn apply_decision(
        &self,
        shelf: LibraryShelf,
        name: &str,
        word: LibraryDecision<'_>,
    ) -> Result<String, InstallationError> {
        self.find_item(shelf, name).await?;
        let is_editable = matches!(shelf, LibraryShelf::Skills | LibraryShelf::Recipes);
        if word.own_words.is_some() && !(is_editable && word.deed == LibraryAction::Accept) {
            return Err(InstallationError::Refused(
                "other words go with accepting a skill or a recipe alone; nothing was changed"
                    .into(),
            ));
        }
        let done = Box::pin(self.perform_action(shelf, name, word))
            .await
            .map_err(|error| refused(&error))?;
        self.renew();
        Ok(done)
    }
}

fn unsupported_action(deed: LibraryAction) -> anyhow::Error {
    usage(format!("{} is nothing that can be done here", deed.path_word()))
}

/// What was seen is what is there.
fn check_unchanged(seen: &str, hash: &str) -> anyhow::Result<()> {
    match seen == hash {
        true => Ok(()),
        false => Err(stale("it changed meanwhile, so nothing was changed; look at it again")),
    }
}

/// The same of a no: what takes nothing into use may be said of it unseen.
fn check_unchanged_if_seen(seen: &str, hash: &str) -> anyhow::Result<()> {
    if seen.is_empty() { Ok(()) } else { check_unchanged(seen, hash) }
}

fn hash_of(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the surroundings once more: for a check right before something is done.
fn reload_context(cx: &InstallationContext) -> anyhow::Result<InstallationContext> {
    cx.reloaded_in_folder(&cx.folder)
}
