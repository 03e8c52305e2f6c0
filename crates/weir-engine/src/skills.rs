//! Skills where they are found (M1): in the workspace, in the person's folders, and those that come
//! with the program. Everything here blocks. Not here: what a skill's text must look like
//! (`weir_core::skill`), and whether a call may read or run it (the gate).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use weir_core::governance::label::Label;
use weir_core::ids::SessionId;
use weir_core::skill::{SkillLine, SkillNote, SkillTrigger, fill_arguments};

use crate::ports::{Plugins, SkillScript, SkillText};
use crate::workspace::Workspace;

mod bundled;
mod find;
mod folder;
mod parse;
mod scripts;
#[cfg(test)]
mod tests;
mod trigger;

pub use find::{FoundSkill, SkillSource, SkillSurvey, WORKSPACE_FOLDERS, survey_all_skills};
pub use parse::{HEAD_BYTES_MAX, ParsedSkill, SKILL_BYTES_MAX, parse_skill};

pub(crate) use scripts::script_interpreter;

use find::used_skills;
use folder::SKILL_FILE;
use trigger::TriggerMessage;

/// Characters of a skill's text that stand in the prompt; the rest is read as a file.
const TEXT_CHARS_MAX: usize = 40_000;
/// Bytes of another file of a skill that are read at once.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Skills that triggers make active at once: more of them contradict each other.
const TRIGGERED_MAX: usize = 8;
/// Names that an error lists.
const NAMES_MAX: usize = 40;

/// Where skills are looked for.
#[derive(Debug, Clone, Default)]
pub struct SkillPlaces {
    /// The person's own folders of skills, the first one first: in it stand those that Weir wrote.
    pub own: Vec<PathBuf>,
    /// The workspace is trusted: scripts of its skills may be run.
    pub trusted: bool,
    /// Those that come with the program are there too.
    pub bundled: bool,
    /// Plugins, whose skills and prompts count while they are on.
    pub plugins: Option<Arc<dyn Plugins>>,
}

/// What is known when a run begins.
#[derive(Debug, Clone, Copy)]
pub struct SkillRequest<'a> {
    /// Skills that are active already.
    pub active: &'a [SkillNote],
    /// Those of the profile.
    pub named: &'a [String],
    /// Text of inputs that no scene was gathered for yet.
    pub said: &'a str,
}

/// One line for each skill, by name.
pub fn skill_catalogue(places: &SkillPlaces, workspace: &Workspace) -> Vec<SkillLine> {
    skill_lines(&used_skills(places, workspace))
}

/// The catalogue, and the skills that are active now, by name: those that were, those of the profile,
/// those that were named as `/name`, and those whose trigger was said.
pub fn select_active_skills(
    places: &SkillPlaces,
    workspace: &Workspace,
    wanted: SkillRequest<'_>,
) -> (Vec<SkillLine>, Vec<SkillNote>) {
    let skills = used_skills(places, workspace);
    let said = TriggerMessage::new(wanted.said);
    let mut active: BTreeMap<String, SkillNote> = BTreeMap::new();
    for before in wanted.active {
        let now = match skills.get(&before.name) {
            Some(skill) => bind_arguments(workspace, skill, &before.by, &before.arguments),
            None => Err("it is not there any more, or may not be used".to_owned()),
        };
        let now = now.unwrap_or_else(|why| no_longer(before, &why));
        active.insert(before.name.clone(), now);
    }
    for name in wanted.named.iter().filter(|name| !skills.contains_key(*name)) {
        tracing::warn!(skill = name, "the profile names a skill that is not there");
    }
    let mut triggered = 0;
    for (name, skill) in &skills {
        let trigger = skill.head.as_ref().map(|head| &head.trigger);
        let by = if active.contains_key(name) {
            continue;
        } else if wanted.named.contains(name) {
            "profile"
        } else if said.names_skill(name) {
            "person"
        } else if !said.is_empty()
            && triggered < TRIGGERED_MAX
            && trigger.is_some_and(|trigger| said.sets_off(trigger, || skill.trigger_regex()))
        {
            triggered += 1;
            "trigger"
        } else {
            continue;
        };
        let arguments = if by == "person" { said.arguments_for(name) } else { "" };
        match bind_arguments(workspace, skill, by, arguments) {
            Ok(note) => {
                active.insert(name.clone(), note);
            }
            Err(why) => tracing::warn!(skill = name, why, "skill cannot be read"),
        }
    }
    (skill_lines(&skills), active.into_values().collect())
}

/// Reads a skill.
///
/// # Errors
/// A sentence for the model: there is none of this name, or it cannot be used.
pub fn read_skill(
    places: &SkillPlaces,
    workspace: &Workspace,
    name: &str,
) -> Result<SkillText, String> {
    let skill = find_skill(places, workspace, name)?;
    let note = skill_note(workspace, &skill, "read_skill")?;
    Ok(SkillText { note, files: skill.folder.files(workspace) })
}

/// Reads another file of a skill.
///
/// # Errors
/// A sentence for the model.
pub fn read_file(
    places: &SkillPlaces,
    workspace: &Workspace,
    name: &str,
    file: &str,
) -> Result<(String, Label), String> {
    let skill = find_skill(places, workspace, name)?;
    let read = skill.folder.read(workspace, file, FILE_BYTES_MAX).map_err(|why| {
        let files = skill.folder.files(workspace);
        match files.is_empty() {
            true => format!("{why}; it has no other files"),
            false => format!("{why}; its files: {}", files.join(", ")),
        }
    })?;
    match String::from_utf8(read.bytes) {
        Ok(text) => Ok((text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned(), skill.label)),
        Err(_) => Err(format!("{file} is no text; a script of the skill may read it")),
    }
}

/// A script that is to be run.
#[derive(Debug, Clone, Copy)]
pub struct ScriptCall<'a> {
    /// Its name; `scripts/` may be left out.
    pub script: &'a str,
    /// Arguments after the program, one word each.
    pub args: &'a [String],
}

/// The command line that runs a script of a skill, in `session`.
///
/// # Errors
/// A sentence for the model.
pub fn skill_script_command(
    places: &SkillPlaces,
    workspace: &Workspace,
    session: &SessionId,
    name: &str,
    call: ScriptCall<'_>,
) -> Result<SkillScript, String> {
    let skill = find_skill(places, workspace, name)?;
    scripts::script_command(places, workspace, session, &skill, call)
}

/// Puts the files of a skill where commands can read them.
///
/// # Errors
/// A sentence for the model.
pub fn prepare_skill_files(
    places: &SkillPlaces,
    workspace: &Workspace,
    session: &SessionId,
    name: &str,
) -> Result<(), String> {
    scripts::prepare_script_files(workspace, session, &find_skill(places, workspace, name)?)
}

/// What is wrong with the expression of a trigger; `None`: nothing, or it is none.
pub fn trigger_problem(trigger: &SkillTrigger) -> Option<String> {
    match trigger {
        SkillTrigger::Pattern { text, any_case } => trigger::compile_trigger(text, *any_case).err(),
        SkillTrigger::None | SkillTrigger::Words(_) => None,
    }
}

/// Text and names of other files of a skill that was found, usable or not: for people.
///
/// # Errors
/// It cannot be read.
pub fn read_skill_for_people(
    workspace: &Workspace,
    skill: &FoundSkill,
) -> Result<(Vec<u8>, Vec<String>), String> {
    let read = skill.folder.read(workspace, SKILL_FILE, SKILL_BYTES_MAX)?;
    Ok((read.bytes, skill.folder.files(workspace)))
}

fn find_skill(
    places: &SkillPlaces,
    workspace: &Workspace,
    name: &str,
) -> Result<FoundSkill, String> {
    let mut skills = survey_all_skills(places, workspace).skills;
    if let Some(at) = skills.iter().position(|skill| skill.name == name && skill.is_used()) {
        return Ok(skills.swap_remove(at));
    }
    let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    if let Some(broken) = skills.iter().find(|skill| skill.name == name) {
        let why = broken.why_not().unwrap_or_default();
        return Err(format!("the skill {shown} of {} cannot be used: {why}", broken.place));
    }
    let names: Vec<&str> =
        skills.iter().filter(|skill| skill.is_used()).map(|skill| skill.name.as_str()).collect();
    let there = match names.len() {
        0 => "there are none here".to_owned(),
        count if count > NAMES_MAX => format!("there are {}, …", names[..NAMES_MAX].join(", ")),
        _ => format!("there are {}", names.join(", ")),
    };
    Err(format!("there is no skill {shown}; {there}"))
}

fn skill_lines(skills: &BTreeMap<String, FoundSkill>) -> Vec<SkillLine> {
    let line = |skill: &FoundSkill| {
        let head = skill.head.as_ref()?;
        Some(SkillLine {
            name: skill.name.clone(),
            description: head.description.clone(),
            source: source_text(skill),
            self_written: skill.self_written,
            plugin: skill.plugin.clone(),
        })
    };
    skills.values().filter_map(line).collect()
}

fn source_text(skill: &FoundSkill) -> String {
    match skill.source {
        SkillSource::Workspace => skill.place.clone(),
        SkillSource::Yours => "yours".into(),
        SkillSource::Bundled => "bundled".into(),
    }
}

/// A skill as it stands in the prompt while it is active, with `arguments` in the places that it has
/// for them. Where it has none they stand in the message alone.
fn bind_arguments(
    workspace: &Workspace,
    skill: &FoundSkill,
    by: &str,
    arguments: &str,
) -> Result<SkillNote, String> {
    let note = skill_note(workspace, skill, by)?;
    let (bare, text) = (fill_arguments(&note.text, ""), fill_arguments(&note.text, arguments));
    let has_places = text != format!("{bare}\n\nArguments: {}", arguments.trim());
    let text = if has_places { text } else { bare };
    Ok(SkillNote { text, arguments: arguments.to_owned(), ..note })
}

/// A skill with its places for arguments.
fn skill_note(workspace: &Workspace, skill: &FoundSkill, by: &str) -> Result<SkillNote, String> {
    let read = skill.folder.read(workspace, SKILL_FILE, SKILL_BYTES_MAX)?;
    let parsed = parse_skill(&read.bytes, &skill.name);
    // It may be another one than a moment ago, when its head was read.
    if parsed.head.is_none() {
        let why = parsed.findings.first().map(ToString::to_string).unwrap_or_default();
        return Err(format!("the skill {} cannot be used: {why}", skill.name));
    }
    let mut text = parsed.body.trim().to_owned();
    if let Some((at, _)) = text.char_indices().nth(TEXT_CHARS_MAX) {
        text.truncate(at);
        text.push_str(&format!(
            "\n[the rest is left out; read_skill with name {} and file {SKILL_FILE} shows all of it]",
            skill.name
        ));
    }
    let files = skill.folder.files(workspace);
    if !files.is_empty() {
        text.push_str(&format!("\n\nFiles of this skill (read_skill): {}", files.join(", ")));
    }
    Ok(SkillNote {
        name: skill.name.clone(),
        source: source_text(skill),
        by: by.to_owned(),
        text,
        label: skill.label.clone(),
        arguments: String::new(),
    })
}

/// What stands for a skill that was active and cannot be any more.
fn no_longer(before: &SkillNote, why: &str) -> SkillNote {
    let text = format!("No longer in force: {why}.");
    SkillNote { text, ..before.clone() }
}
