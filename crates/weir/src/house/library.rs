//! What a person's agents can use: the same things that `weir skills`, `recipes`, `tools`,
//! `plugins`, `profiles` and `mcp-servers` show and change.

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use weir_install::cx::Cx;
use weir_server::ports::{Deed, HouseError, Library, LibraryItem, NewServer, Shelf, Shelved, Word};

use super::home::PersonHome;
use super::refused;
use crate::failure::usage;

mod given;
mod made;
mod plugins;
mod recipes;
mod servers;
mod skills;

impl PersonHome {
    async fn on(&self, shelf: Shelf) -> anyhow::Result<Shelved> {
        let cx = self.at(None)?;
        match shelf {
            Shelf::Skills => skills::all(&cx).await,
            Shelf::Recipes => recipes::all(&cx).await,
            Shelf::Made => made::all(&cx).await,
            Shelf::Profiles => given::profiles(&cx),
            Shelf::Plugins => plugins::all(&cx).await,
            Shelf::Servers => servers::all(&cx).await,
            Shelf::Tools => Ok(given::tools(&cx)?),
        }
    }

    async fn thing(&self, shelf: Shelf, name: &str) -> anyhow::Result<LibraryItem> {
        let cx = self.at(None)?;
        match shelf {
            Shelf::Skills => skills::one(&cx, name).await,
            Shelf::Recipes => recipes::one(&cx, name).await,
            Shelf::Made => made::one(&cx, name).await,
            Shelf::Profiles => given::profile(&cx, name),
            Shelf::Plugins => plugins::one(&cx, name).await,
            Shelf::Servers => servers::one(&cx, name, servers::Asked::No).await,
            Shelf::Tools => given::tool(name),
        }
    }

    async fn done(&self, shelf: Shelf, name: &str, word: Word<'_>) -> anyhow::Result<String> {
        let cx = self.at(None)?;
        let by = self.person.name.as_str();
        match shelf {
            Shelf::Skills => skills::act(&cx, name, &word).await,
            Shelf::Recipes => recipes::act(&cx, name, &word).await,
            Shelf::Made => made::act(&cx, name, &word).await,
            Shelf::Plugins => plugins::act(&cx, name, (&word, by)).await,
            Shelf::Servers => servers::act(&cx, name, &word).await,
            Shelf::Profiles | Shelf::Tools => Err(cannot(word.deed)),
        }
    }
}

#[async_trait]
impl Library for PersonHome {
    async fn shelved(&self, shelf: Shelf) -> Result<Shelved, HouseError> {
        self.look_up_made().await?;
        self.on(shelf).await.map_err(|error| refused(&error))
    }

    async fn item(&self, shelf: Shelf, name: &str) -> Result<LibraryItem, HouseError> {
        self.look_up_made().await?;
        // Whatever the reason, there is nothing of that name to be shown; a list says more.
        let named = self.on(shelf).await.map_err(|error| refused(&error))?;
        if !named.lines.iter().any(|line| line.name == name) {
            return Err(HouseError::Missing(format!("{name:?} among {}", shelf.word())));
        }
        self.thing(shelf, name).await.map_err(|error| refused(&error))
    }

    async fn look(&self, shelf: Shelf, name: &str) -> Result<LibraryItem, HouseError> {
        let item = self.item(shelf, name).await?;
        if shelf != Shelf::Servers {
            return Ok(item);
        }
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let asked = servers::one(&cx, name, servers::Asked::Yes).await;
        asked.map_err(|error| refused(&error))
    }

    async fn declare(&self, new: &NewServer) -> Result<(), HouseError> {
        if !self.person.is_admin() {
            return Err(HouseError::Refused("only an admin adds servers".into()));
        }
        let declared = self.at(None).and_then(|cx| servers::declare(&cx, new));
        declared.map_err(|error| refused(&error))?;
        weir_server::ports::Home::renew(self);
        Ok(())
    }

    async fn act(&self, shelf: Shelf, name: &str, word: Word<'_>) -> Result<String, HouseError> {
        self.item(shelf, name).await?;
        let done = self.done(shelf, name, word).await.map_err(|error| refused(&error))?;
        weir_server::ports::Home::renew(self);
        Ok(done)
    }
}

fn cannot(deed: Deed) -> anyhow::Error {
    usage(format!("{} is nothing that can be done here", deed.word()))
}

/// What was seen is what is there.
fn same(seen: &str, hash: &str) -> anyhow::Result<()> {
    match seen == hash {
        true => Ok(()),
        false => Err(usage("it changed meanwhile; look at it again")),
    }
}

fn hash_of(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the surroundings once more: for a check right before something is done.
fn anew(cx: &Cx) -> anyhow::Result<Cx> {
    cx.anew(&cx.folder)
}
