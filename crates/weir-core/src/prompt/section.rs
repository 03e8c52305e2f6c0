//! The text of each section, one file each. Every sentence is sent with every request: it must
//! earn its place. Not here: their order and when they are told.

mod brain;
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

pub(super) use brain::brain_section;
pub(super) use canary::canary_section;
pub(super) use capabilities::capabilities_section;
pub(super) use clock::clock_section;
pub(super) use conventions::conventions_section;
pub(super) use instructions::{instructions_section, nested_instructions};
pub(super) use memory::memory_section;
pub(super) use objective::objective_section;
pub(super) use profile::profile_section;
pub(super) use recipes::recipes_section;
pub(super) use response::response_section;
pub(super) use routing::routing_section;
pub(super) use security::security_section;
pub(super) use skills::{
    active_skills_section as active_skills, in_force, of_plugins as plugin_skills,
    own_skills_section as own_skills, skills_section as skills,
};
pub(super) use tools::tools_section;
pub(super) use workspace::workspace_section;
