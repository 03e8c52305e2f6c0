//! The text of each section, one file each. Every sentence is sent with every request: it must
//! earn its place. Not here: their order and when they are told.

mod canary;
mod capabilities;
mod clock;
mod conventions;
mod instructions;
mod memory;
mod objective;
mod profile;
mod recipes;
mod response;
mod routing;
mod security;
mod skills;
mod tools;
mod workspace;

pub(super) use canary::canary;
pub(super) use capabilities::capabilities;
pub(super) use clock::clock;
pub(super) use conventions::conventions;
pub(super) use instructions::{deeper, instructions};
pub(super) use memory::memory;
pub(super) use objective::objective;
pub(super) use profile::profile;
pub(super) use recipes::recipes;
pub(super) use response::response;
pub(super) use routing::routing;
pub(super) use security::security;
pub(super) use skills::{
    active as active_skills, catalogue as skills, in_force, of_plugins as plugin_skills,
    own as own_skills,
};
pub(super) use tools::tools;
pub(super) use workspace::workspace;
