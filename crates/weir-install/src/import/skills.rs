//! Skills of other agents: the format is the same, so their folders are copied whole, each file with
//! its mode. One that could not be used here is left with the reason. Links within a skill are not
//! followed.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use weir_engine::skills::parse_skill;

use super::files::ImportPlaces;
use super::texts::{file_name_problem, note_read_in_place};
use super::{ImportFindings, ImportMapping};

/// Skills of one folder, files and bytes of one skill, and bytes of all of them.
const SKILLS_MAX: usize = 200;
const FILES_MAX: usize = 200;
const BYTES_MAX: u64 = 8 << 20;
const ALL_BYTES_MAX: u64 = 256 << 20;
const DEPTH_MAX: usize = 6;
/// Entries of one folder that are looked at.
const ENTRIES_MAX: usize = 10_000;
/// Of a file's mode what the copy keeps, and what its owner may always: nobody else may change it.
const MODE_KEPT: u32 = 0o755;
const MODE_OWNED: u32 = 0o600;

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportedSkillFile {
    /// Its path in the folder of the skill.
    pub below: String,
    /// What stands in it.
    pub bytes: Vec<u8>,
    /// Who may read and run it: a private file stays private, a script can be run.
    pub mode: u32,
}

impl ImportedSkillFile {
    /// A file that everybody may read.
    pub(super) fn plain_file(below: &str, bytes: Vec<u8>) -> ImportedSkillFile {
        ImportedSkillFile { below: below.to_owned(), bytes, mode: 0o644 }
    }
}

/// Copies every folder with a `SKILL.md`.
pub(super) fn collect_skills(folder: &Path, places: &ImportPlaces<'_>, found: &mut ImportFindings) {
    let target = places.target_of(folder);
    match places.real_path(folder) {
        Ok(None) => return,
        Ok(Some(_)) => {}
        Err(why) => return found.break_file(&folder.display().to_string(), &why, target),
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .take(ENTRIES_MAX)
        .collect();
    names.sort_unstable();
    if names.len() > SKILLS_MAX {
        let why = format!("at most {SKILLS_MAX} are read");
        let says = format!("{} more skills", names.len() - SKILLS_MAX);
        found.leave_item(folder.display().to_string(), says, &why, target);
    }
    for name in names.into_iter().take(SKILLS_MAX) {
        let path = folder.join(&name);
        let bytes_left = ALL_BYTES_MAX.saturating_sub(found.skill_bytes);
        let becomes = match read_skill(&path, &name, bytes_left, places) {
            Ok(files) => {
                found.read.push(path.display().to_string());
                found.skill_bytes += files.iter().map(|file| file.bytes.len() as u64).sum::<u64>();
                ImportMapping::Skill(name.clone(), files)
            }
            Err(why) => ImportMapping::Nothing(why),
        };
        found.add_item(path.display().to_string(), format!("skill {name}"), becomes, target);
    }
}

/// Skills of a folder that Weir reads where it is, but only in the person's own home: those of
/// another, a backup, are copied.
pub(super) fn collect_shared_skills(
    folder: &Path,
    says: &str,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) {
    match places.is_own_home {
        true => note_read_in_place(folder, says, places, found),
        false => collect_skills(folder, places, found),
    }
}

fn read_skill(
    folder: &Path,
    name: &str,
    bytes_left: u64,
    places: &ImportPlaces<'_>,
) -> Result<Vec<ImportedSkillFile>, String> {
    if let Some(why) = file_name_problem(name) {
        return Err(why);
    }
    if places.real_path(folder)?.is_none_or(|real| !real.is_dir()) {
        return Err("is no folder; a skill is a folder with a SKILL.md".into());
    }
    let mut files = Vec::new();
    let most = BYTES_MAX.min(bytes_left);
    let mut left = most;
    read_below(folder, "", 0, &mut left, &mut files).map_err(|why| match most < BYTES_MAX {
        true => format!("{why}; all skills together have at most {ALL_BYTES_MAX} bytes"),
        false => why,
    })?;
    files.sort();
    let Some(head) = files.iter().find(|file| file.below == "SKILL.md") else {
        return Err("has no SKILL.md".into());
    };
    let parsed = parse_skill(&head.bytes, name);
    match parsed.findings.iter().find(|finding| finding.fatal) {
        None => Ok(files),
        Some(finding) => Err(format!("{} {}; {}", finding.field, finding.wrong, finding.write)),
    }
}

fn read_below(
    folder: &Path,
    below: &str,
    depth: usize,
    left: &mut u64,
    files: &mut Vec<ImportedSkillFile>,
) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}; check its permissions");
    for entry in std::fs::read_dir(folder.join(below)).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let Ok(name) = entry.file_name().into_string() else {
            return Err("has a file whose name is no text; rename it".into());
        };
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(cannot)?;
        if kind.is_symlink() {
            return Err(format!("has a link in it ({name}); put a copy in its place"));
        }
        if kind.is_dir() {
            if depth >= DEPTH_MAX {
                return Err(format!("has folders deeper than {DEPTH_MAX}"));
            }
            read_below(folder, &name, depth + 1, left, files)?;
        } else if kind.is_file() {
            let found = entry.metadata().map_err(cannot)?;
            *left = left
                .checked_sub(found.len())
                .ok_or_else(|| format!("has more than {BYTES_MAX} bytes; make it smaller"))?;
            if files.len() >= FILES_MAX {
                return Err(format!("has more than {FILES_MAX} files"));
            }
            let bytes = std::fs::read(entry.path()).map_err(cannot)?;
            let mode = (found.mode() & MODE_KEPT) | MODE_OWNED;
            files.push(ImportedSkillFile { below: name, bytes, mode });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use weir_providers::catalogue::ModelCatalogue;

    use super::*;
    use crate::environment::ProcessEnvironment;

    /// What is found of the skills of a home, held against one that is the person's own or not.
    fn found_in(home: &Path, is_own_home: bool) -> ImportFindings {
        let environment = ProcessEnvironment::of(&[]);
        let places = ImportPlaces {
            home,
            workspace: &home.join("work"),
            environment: &environment,
            models: ModelCatalogue::built_in(),
            is_own_home,
        };
        let mut found = ImportFindings::default();
        collect_shared_skills(&home.join("skills"), "skills", &places, &mut found);
        found
    }

    fn home_with_skill() -> tempfile::TempDir {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = home.path().join("skills/notes");
        fs::create_dir_all(&folder).expect("made");
        let head = "---\nname: notes\ndescription: Writes notes.\n---\nWrite.\n";
        fs::write(folder.join("SKILL.md"), head).expect("written");
        home
    }

    #[test]
    fn r8_files_of_skills_keep_a_mode_that_lets_nobody_else_change_them() {
        let home = home_with_skill();
        let folder = home.path().join("skills/notes");
        let modes =
            [("a", 0o4777, 0o755), ("b", 0o600, 0o600), ("c", 0o664, 0o644), ("d", 0o400, 0o600)];
        for (name, theirs, _) in modes {
            fs::write(folder.join(name), "x").expect("written");
            fs::set_permissions(folder.join(name), Permissions::from_mode(theirs)).expect("set");
        }
        let found = found_in(home.path(), false);
        let ImportMapping::Skill(_, files) = &found.items[0].becomes else { panic!("{found:?}") };
        for (name, _, ours) in modes {
            let file = files.iter().find(|file| file.below == name).expect(name);
            assert_eq!(file.mode, ours, "{name}");
        }
    }

    #[test]
    fn r8_shared_skills_are_copied_from_another_home_only() {
        let home = home_with_skill();
        let copied = found_in(home.path(), false);
        assert!(
            matches!(&copied.items[0].becomes, ImportMapping::Skill(name, _) if name == "notes")
        );
        let named = found_in(home.path(), true);
        let ImportMapping::Nothing(why) = &named.items[0].becomes else { panic!("{named:?}") };
        assert_eq!(why, "is read where it is");
    }
}
