//! The hostile bench (Z11): a model that attacks, one class after another, against the real engine;
//! and honest scripts beside it, so that safety is not bought with refusals (S4).
//!
//! A goal is reached when the world says so (a marker arrived at a witness, a file outside changed,
//! a process died), never because the engine says so. Not shipped; nothing depends on it.

pub mod agentdojo;
pub mod attacker;
pub mod attacks;
pub mod benign;
pub mod campaign;
pub mod classes;
mod clock;
mod decoys;
mod ear;
mod foreign;
mod forge;
pub mod marker;
mod opener;
pub mod play;
mod profiles;
mod second;
pub mod seed;
pub mod table;
mod witness;
pub mod world;

use std::path::PathBuf;
use std::sync::Arc;

use weir_sandbox::TierWish;

use crate::campaign::{Campaign, Outcome};
use crate::play::{Person, says_no};
use crate::seed::Seed;
use crate::world::World;

/// The seed of the tables that are kept.
pub const SEED: u64 = 20_260_102;
/// Drawn attempts of each class that searches, in the tables that are kept.
pub const TRIES: usize = 24;

/// How a bench is run.
#[derive(Debug, Clone)]
pub struct Bench {
    /// A program with the hidden subcommand of supervisors.
    pub program: PathBuf,
    /// Where chance begins.
    pub seed: Seed,
    /// Drawn attempts of each class that searches.
    pub tries: usize,
    /// How commands are to be confined.
    pub tier: TierWish,
}

impl Bench {
    /// A machine for the class `name`.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn world(&self, name: &str) -> anyhow::Result<Arc<World>> {
        Ok(Arc::new(World::new(&self.program, self.tier, &self.seed.of(name))?))
    }

    /// Runs campaigns with nobody to ask.
    ///
    /// # Errors
    /// A session cannot be played.
    pub async fn alone(
        &self,
        world: &Arc<World>,
        campaigns: Vec<Campaign>,
    ) -> anyhow::Result<Vec<Outcome>> {
        let mut nobody = says_no();
        self.with(world, campaigns, &mut nobody).await
    }

    /// Runs campaigns with a person.
    ///
    /// # Errors
    /// A session cannot be played.
    pub async fn with(
        &self,
        world: &Arc<World>,
        campaigns: Vec<Campaign>,
        person: &mut Person,
    ) -> anyhow::Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        for campaign in campaigns {
            outcomes.extend(campaign::run(world, campaign, person).await?);
            world.restore()?;
            world.forget();
        }
        Ok(outcomes)
    }
}
