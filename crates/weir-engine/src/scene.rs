//! A look at the world at the start of a run: who the person is, what instructs, the workspace, the
//! time (P1 sections 10 to 16). Not here: how it is worded (`weir_core::prompt`), and what is
//! remembered (`memory`).

use std::path::PathBuf;

use weir_core::ids::Timestamp;
use weir_core::message::MessageBlock;
use weir_core::prompt::{INSTRUCTIONS, PromptScene, SectionName};
use weir_core::session::Session;
use weir_core::skill::SkillNote;

use crate::recipes::RecipePlaces;
use crate::skills::{self, SkillPlaces, SkillRequest};
use crate::workspace::Workspace;

mod chain;
mod deeper;
mod imports;
mod lookout;
mod person;
mod reading;
mod surroundings;
#[cfg(test)]
mod tests;
mod vault;

pub use chain::{InstructionSet, find_unreadable_instructions};
pub use deeper::NestedInstructions;
pub(crate) use lookout::{SceneGatherer, hold_marks, learn_marks};
pub use person::{SOUL_CHARS_MAX, USER_CHARS_MAX, own_text};
pub use reading::InstructionFile;
pub use surroundings::kind_of;
pub use vault::VaultNames;

/// What stays the same for every run of a session.
#[derive(Debug, Clone, Default)]
pub struct SceneOptions {
    /// The parts that were frozen into the system prompt, needed for the profile's instructions.
    pub base: PromptScene,
    /// The person's own folder of configuration, with `AGENTS.md`, `USER.md` and `rules/`.
    pub config_dir: Option<PathBuf>,
    /// IANA name of the time zone.
    pub timezone: String,
    /// Where skills are looked for.
    pub skills: SkillPlaces,
    /// Where recipes are looked for.
    pub recipes: RecipePlaces,
}

/// What is looked for at the start of a run, beside what never changes.
#[derive(Debug, Clone, Default)]
pub struct SceneRequest {
    /// Text of inputs that no scene was gathered for yet.
    pub said: String,
    /// Skills that are active already.
    pub active: Vec<SkillNote>,
    /// Skills of the profile.
    pub named: Vec<String>,
    /// Instruction files of folders that the model was told of: `src/AGENTS.md`.
    pub told: Vec<String>,
    /// The model was told instructions before.
    pub instructed: bool,
    /// The model was told that it may keep things in the brain.
    pub brain_told: bool,
    /// Something beside text came with what was said.
    pub attached: bool,
}

impl SceneRequest {
    /// What a session looks at when `said` is new.
    pub fn for_session(session: &Session, said: &str) -> SceneRequest {
        let folder = |name: &String| {
            let (section, path) = name.split_once(':')?;
            (section == INSTRUCTIONS).then(|| path.to_string())
        };
        SceneRequest {
            said: said.into(),
            active: session.active_skills().values().cloned().collect(),
            named: session.config().map(|c| c.profile.skills.clone()).unwrap_or_default(),
            told: session.told_sections().keys().filter_map(folder).collect(),
            instructed: session.told_sections().contains_key(INSTRUCTIONS),
            brain_told: session.told_sections().contains_key(SectionName::Brain.as_str()),
            attached: session.unexamined_inputs().iter().any(|queued| {
                queued.content.iter().any(|block| !matches!(block, MessageBlock::Text { .. }))
            }),
        }
    }
}

/// Looks. Blocks: call it on a blocking thread.
pub fn gather_scene(
    options: &SceneOptions,
    workspace: &Workspace,
    now: Timestamp,
    glance: &SceneRequest,
) -> PromptScene {
    let config = options.config_dir.as_deref();
    let InstructionSet { rules, chain } = InstructionSet::for_workspace(workspace, config);
    let user =
        config.and_then(|folder| own_text(&folder.join("USER.md"), "USER.md", USER_CHARS_MAX));
    let wanted = SkillRequest { active: &glance.active, named: &glance.named, said: &glance.said };
    // A sub-agent has the rules and none of the skills of the one above it (M6).
    let (skills, active) = match options.base.child {
        true => (Vec::new(), Vec::new()),
        false => skills::select_active_skills(&options.skills, workspace, wanted),
    };
    PromptScene {
        skills,
        active,
        user,
        rules: chain::instruction_texts(rules),
        instructions: chain::instruction_texts(chain),
        instructions_gone: glance.instructed,
        brain_told: glance.brain_told,
        workspace: Some(surroundings::describe_structure(workspace)),
        clock: Some(clock_sentence(&options.timezone, now)),
        ..options.base.clone()
    }
}

/// The date and time as a sentence, to the minute, in the configured zone.
pub fn clock_sentence(timezone: &str, now: Timestamp) -> String {
    zoned_time(timezone, now).strftime("Now: %A, %Y-%m-%d %H:%M (%Z)").to_string()
}

/// A moment in the configured zone; in UTC where that is none.
pub fn zoned_time(timezone: &str, now: Timestamp) -> jiff::Zoned {
    let moment = jiff::Timestamp::from_microsecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    // Looking a name up walks the whole folder of zones first; the usual one needs no lookup.
    let zone = match timezone {
        "" | "UTC" => jiff::tz::TimeZone::UTC,
        name => jiff::tz::TimeZone::get(name).unwrap_or(jiff::tz::TimeZone::UTC),
    };
    moment.to_zoned(zone)
}
