//! Finds skills (M1): project beats user beats bundled, and within each the first folder. Everything
//! that is there is found; what cannot be used says why. Of each skill only the head is read, and only
//! when its file is another than before.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use regex::Regex;
use weir_core::governance::label::{Integrity, Label};
use weir_core::skill::{SkillFinding, SkillHead, SkillTrigger, name_problem};
use weir_core::tool::{PathAccess, PathPlace};

use super::bundled::bundled_skills;
use super::folder::{self, SkillFileStamp, SkillFolder};
use super::parse::{self, HEAD_BYTES_MAX, ParsedSkill, SKILL_BYTES_MAX};
use super::{SkillPlaces, trigger};
use crate::ports::PluginPlace;
use crate::workspace::{EntryKind, WalkOptions, Workspace};

/// Folders of a workspace in which skills stand, the first one wins (C5).
pub const WORKSPACE_FOLDERS: [&str; 3] = [".weir/skills", ".agents/skills", ".claude/skills"];
/// Skills of one folder.
const SKILLS_MAX: usize = 200;
/// Entries of one such folder that are looked at: what is no folder counts too.
const ENTRIES_MAX: usize = 2_000;
/// Heads that are kept in memory.
const KEPT_MAX: usize = 4_000;

/// On whose behalf a skill is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillSource {
    /// The workspace has it.
    Workspace,
    /// The person has it.
    Yours,
    /// It comes with the program.
    Bundled,
}

/// A skill that was found.
#[derive(Debug, Clone)]
pub struct FoundSkill {
    /// Its name: that of its folder.
    pub name: String,
    /// On whose behalf.
    pub source: SkillSource,
    /// Its folder, as people see it.
    pub place: String,
    /// The head of the skill; absent: it is broken.
    pub head: Option<Arc<SkillHead>>,
    /// What is wrong with it.
    pub findings: Vec<SkillFinding>,
    /// Why it may not be used, beside what is wrong with it.
    pub left_out: Option<String>,
    /// The place of the skill that counts instead.
    pub shadowed_by: Option<String>,
    /// The agent wrote it and the person accepted it.
    pub self_written: bool,
    /// The plugin that brings it.
    pub plugin: Option<String>,
    /// Whose words it is.
    pub label: Label,
    pub(super) folder: SkillFolder,
    compiled: CompiledTrigger,
}

/// The expression of a trigger, compiled when it is first needed.
type CompiledTrigger = Arc<OnceLock<Option<Result<Regex, String>>>>;

impl FoundSkill {
    /// Whether the skill is in the catalogue: usable, and not shadowed by another of its name.
    pub fn is_used(&self) -> bool {
        self.is_usable() && self.shadowed_by.is_none()
    }

    pub(super) fn is_usable(&self) -> bool {
        self.head.is_some() && self.left_out.is_none()
    }

    /// Why it cannot be used; `None`: it can.
    pub fn why_not(&self) -> Option<String> {
        let broken = || self.findings.iter().find(|f| f.fatal).map(ToString::to_string);
        self.left_out.clone().or_else(broken)
    }

    /// What is wrong with the expression of its trigger; `None`: nothing, or it has none.
    pub fn trigger_problem(&self) -> Option<String> {
        self.compiled_trigger()?.as_ref().err().cloned()
    }

    pub(super) fn trigger_regex(&self) -> Option<&Regex> {
        self.compiled_trigger()?.as_ref().ok()
    }

    fn compiled_trigger(&self) -> Option<&Result<Regex, String>> {
        let compile = || match &self.head.as_ref()?.trigger {
            SkillTrigger::Pattern { text, any_case } => {
                Some(trigger::compile_trigger(text, *any_case))
            }
            SkillTrigger::None | SkillTrigger::Words(_) => None,
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// Everything that was found, and what people should know about it.
#[derive(Debug, Clone, Default)]
pub struct SkillSurvey {
    /// The skills, in the order of their precedence.
    pub skills: Vec<FoundSkill>,
    /// Folders that could not be looked at, or only in part.
    pub notices: Vec<String>,
}

/// Looks everywhere. Blocks.
pub fn survey_all_skills(places: &SkillPlaces, workspace: &Workspace) -> SkillSurvey {
    let mut found = SkillSurvey::default();
    let mut seen = BTreeSet::new();
    for folder in WORKSPACE_FOLDERS {
        // Where there is nothing, nothing more is asked.
        if workspace.root().join(folder).symlink_metadata().is_ok() {
            in_workspace(places, workspace, folder, &mut seen, &mut found);
        }
    }
    for (at, folder) in places.own.iter().enumerate() {
        if !folder.is_dir() {
            continue;
        }
        let path = workspace.resolve(&folder.display().to_string(), PathAccess::List);
        // A home that is the workspace: its folders are the workspace's, with all that guards them.
        if path.place == PathPlace::Inside && path.ignored.is_none() {
            in_workspace(places, workspace, &path.path, &mut seen, &mut found);
        } else {
            in_own(workspace, folder, at == 0, &mut found);
        }
    }
    for plugin in places.plugins.iter().flat_map(|plugins| plugins.folders()) {
        let Some(below) = &plugin.skills else { continue };
        let from = found.skills.len();
        match &plugin.place {
            PluginPlace::Workspace(folder) => {
                let folder = format!("{folder}/{}", below.trim_end_matches('/'));
                in_workspace(places, workspace, &folder, &mut seen, &mut found);
            }
            PluginPlace::Own(folder) => in_own(workspace, &folder.join(below), false, &mut found),
        }
        for skill in &mut found.skills[from..] {
            skill.plugin = Some(plugin.id.clone());
        }
    }
    if places.bundled {
        found.skills.extend(bundled_skills().map(|(skill, head)| {
            let at = SkillLocation { place: "bundled".into(), folder: SkillFolder::Bundled(skill) };
            let head = CachedHead { head: Some(head), ..CachedHead::default() };
            found_skill(skill.name, SkillSource::Bundled, at, Ok(Arc::new(head)))
        }));
    }
    settle_shadowing(&mut found.skills);
    found
}

/// The skills that count, by name.
pub(super) fn used_skills(
    places: &SkillPlaces,
    workspace: &Workspace,
) -> BTreeMap<String, FoundSkill> {
    let found = survey_all_skills(places, workspace);
    for notice in &found.notices {
        tracing::warn!("skills: {notice}");
    }
    let mut used = BTreeMap::new();
    for skill in found.skills {
        match (&skill.shadowed_by, skill.why_not()) {
            (_, Some(why)) => {
                tracing::info!(skill = skill.name, place = skill.place, why, "skill left out");
            }
            (Some(by), None) => {
                tracing::info!(skill = skill.name, place = skill.place, by, "skill shadowed");
            }
            (None, None) => {
                used.insert(skill.name.clone(), skill);
            }
        }
    }
    used
}

/// Of several skills with one name the first usable one counts.
fn settle_shadowing(skills: &mut [FoundSkill]) {
    let mut first: HashMap<String, String> = HashMap::new();
    for skill in skills {
        if !skill.is_usable() {
            continue;
        }
        match first.get(&skill.name) {
            Some(place) => skill.shadowed_by = Some(place.clone()),
            None => {
                first.insert(skill.name.clone(), skill.place.clone());
            }
        }
    }
}

fn in_workspace(
    places: &SkillPlaces,
    workspace: &Workspace,
    folder: &str,
    seen: &mut BTreeSet<String>,
    found: &mut SkillSurvey,
) {
    let at = workspace.resolve(folder, PathAccess::List);
    let marked = at.marked.is_some();
    let open = weir_core::tool::PathEffect { marked: None, ..at.clone() };
    if let Some(why) = folder::closed_reason(workspace, &open) {
        found.notices.push(format!("{folder} is left out: {why}"));
        return;
    }
    // `.claude/skills` is often a link to `.agents/skills`.
    if !seen.insert(at.path.clone()) {
        return;
    }
    let options = WalkOptions {
        recursive: false,
        respect_gitignore: false,
        hidden: false,
        max_entries: ENTRIES_MAX,
    };
    let walk = match workspace.walk(&at, options) {
        Ok(walk) => walk,
        Err(error) => return found.notices.push(format!("{folder} is left out: {error}")),
    };
    let folders = walk.entries.into_iter();
    let folders = folders.filter(|e| matches!(e.kind, EntryKind::Folder | EntryKind::Link));
    let label = match places.trusted {
        true => Label::default(),
        false => Label { integrity: Integrity::Workspace, ..Label::default() },
    };
    for (count, entry) in folders.enumerate() {
        if count == SKILLS_MAX {
            return found.notices.push(too_many(folder));
        }
        let name = entry.path.rsplit('/').next().unwrap_or_default().to_owned();
        let at = workspace.resolve(&entry.path, PathAccess::List);
        // A link to a file is no skill, and nobody means it to be one.
        let linked = entry.kind == EntryKind::Link;
        if linked && workspace.root().join(&at.path).is_file() {
            continue;
        }
        let left_out = if marked || linked { folder::closed_reason(workspace, &at) } else { None };
        let head = match &left_out {
            Some(_) => Err(String::new()),
            None => folder::open_in(workspace, &at.path).and_then(|file| cached_head(&file, &name)),
        };
        let place =
            SkillLocation { place: at.path.clone(), folder: SkillFolder::Workspace(at.path) };
        let mut skill = found_skill(&name, SkillSource::Workspace, place, head);
        skill.left_out = left_out.or(skill.left_out);
        skill.label = label.clone();
        found.skills.push(skill);
    }
    if walk.truncated {
        found.notices.push(too_many(folder));
    }
}

fn in_own(workspace: &Workspace, folder: &Path, weirs: bool, found: &mut SkillSurvey) {
    let shown = folder.display().to_string();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries.take(ENTRIES_MAX),
        Err(error) => return found.notices.push(format!("{shown} is left out: {error}")),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut count = 0;
    for path in paths {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.starts_with('.') || !path.is_dir() {
            continue;
        }
        count += 1;
        if count > SKILLS_MAX {
            return found.notices.push(too_many(&shown));
        }
        // A tool may have been let write there from this workspace.
        let marked = workspace.resolve(&path.display().to_string(), PathAccess::List).marked;
        let head = match &marked {
            Some(_) => Err(String::new()),
            None => folder::open_own(&path).and_then(|file| cached_head(&file, name)),
        };
        let at = SkillLocation {
            place: path.display().to_string(),
            folder: SkillFolder::Yours(path.clone()),
        };
        let mut skill = found_skill(name, SkillSource::Yours, at, head);
        skill.left_out = marked.as_deref().map(folder::marked_file_reason);
        let author = skill.head.as_ref().and_then(|head| head.metadata.get("author"));
        skill.self_written = weirs && author.is_some_and(|author| author == "weir");
        found.skills.push(skill);
    }
}

fn too_many(folder: &str) -> String {
    format!("{folder} has more than {SKILLS_MAX} skills; the others are left out")
}

/// Where a skill is.
struct SkillLocation {
    place: String,
    folder: SkillFolder,
}

fn found_skill(
    name: &str,
    source: SkillSource,
    at: SkillLocation,
    head: Result<Arc<CachedHead>, String>,
) -> FoundSkill {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    let mut skill = FoundSkill {
        name: shown,
        source,
        place: at.place,
        head: None,
        findings: Vec::new(),
        left_out: None,
        shadowed_by: None,
        self_written: false,
        plugin: None,
        label: Label::default(),
        folder: at.folder,
        compiled: CompiledTrigger::default(),
    };
    match head {
        Ok(kept) => {
            skill.findings.clone_from(&kept.findings);
            skill.head.clone_from(&kept.head);
            skill.compiled = kept.compiled.clone();
        }
        Err(why) if why.is_empty() => {}
        Err(why) => skill.findings.push(SkillFinding::fatal("SKILL.md", "cannot be used", why)),
    }
    if name_problem(name).is_some() && skill.head.is_none() && skill.findings.is_empty() {
        let wrong = format!("{} is no name of a skill", skill.name);
        skill.findings.push(SkillFinding::fatal("name", wrong, "rename the folder"));
    }
    skill
}

/// What is remembered of a head.
#[derive(Debug, Default)]
struct CachedHead {
    head: Option<Arc<SkillHead>>,
    findings: Vec<SkillFinding>,
    compiled: CompiledTrigger,
}

impl CachedHead {
    fn new(parsed: ParsedSkill) -> CachedHead {
        let ParsedSkill { head, findings, .. } = parsed;
        CachedHead { head: head.map(Arc::new), findings, compiled: CompiledTrigger::default() }
    }
}

/// A file by its inode, and the name of its folder: the same file may stand in two.
type HeadCache = HashMap<(SkillFileStamp, String), Arc<CachedHead>>;

/// Heads that were read before in the life of the program.
static KNOWN: LazyLock<Mutex<HeadCache>> = LazyLock::new(Mutex::default);

/// The head in `file`, read anew only when the file is another than before.
fn cached_head(file: &File, folder: &str) -> Result<Arc<CachedHead>, String> {
    let meta = file.metadata().map_err(|error| error.to_string())?;
    let key = (SkillFileStamp::from_metadata(&meta), folder.to_owned());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = known().get(&key) {
        return Ok(kept.clone());
    }
    let mut bytes = Vec::new();
    if meta.len() <= SKILL_BYTES_MAX {
        let read = file.take(HEAD_BYTES_MAX as u64).read_to_end(&mut bytes);
        read.map_err(|error| format!("SKILL.md cannot be read: {error}"))?;
    }
    let kept = Arc::new(CachedHead::new(parse::parse_beginning(&bytes, meta.len(), folder)));
    let mut known = known();
    if known.len() >= KEPT_MAX {
        known.clear();
    }
    known.insert(key, kept.clone());
    Ok(kept)
}
