//! The person's own skills on the disk: written whole or not at all, and nothing is lost when one
//! goes. Not here: what a command says of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use uuid::Uuid;
use weir_core::skill::SkillFinding;
use weir_core::view::plain::visible_text;
use weir_engine::ports::Clock;

use crate::context::InstallationContext;
use crate::failure::usage;
use crate::files;
use crate::wiring::{SystemClock, own_skills};

/// Files of a skill that is added.
const FILES_MAX: usize = 1_000;

/// Bytes of all of them.
const BYTES_MAX: u64 = 64 << 20;

/// Folders in each other.
const DEPTH_MAX: usize = 12;

/// Where removed skills are kept, below the folder of skills: no name of a skill.
const REMOVED: &str = ".removed";

/// How a copy is named until it is whole, with a name by chance: numbers of processes come again, and what one that was
/// killed left would become a part of the skill.
const ADDING: &str = ".adding-";

/// What a killed program left of a copy is taken for that after so long.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

/// The folder of a skill of the person's own.
pub fn folder(cx: &InstallationContext, name: &str) -> PathBuf {
    own_skills(cx).join(name)
}

/// Writes the `SKILL.md` of a skill; its other files stay as they are.
pub(super) fn write(cx: &InstallationContext, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let folder = folder(cx, name);
    files::replace_file(&folder.join("SKILL.md"), text.as_bytes(), 0o644)?;
    Ok(folder)
}

/// Moves a skill away, to where it can be moved back from.
pub fn put_away(cx: &InstallationContext, name: &str) -> anyhow::Result<PathBuf> {
    let folder = folder(cx, name);
    if !folder.join("SKILL.md").exists() {
        return Err(usage(format!(
            "you have no skill {name} in {}; `weir skills list` shows where it is",
            own_skills(cx).display()
        )));
    }
    let now = SystemClock::default().now().0;
    let kept = own_skills(cx).join(REMOVED).join(format!("{name}-{now}"));
    let doing = || format!("moving {} to {}", folder.display(), kept.display());
    fs::create_dir_all(kept.parent().unwrap_or(&kept)).with_context(doing)?;
    fs::rename(&folder, &kept).with_context(doing)?;
    Ok(kept)
}

/// Files of a skill, by their paths below it.
fn gather(root: &Path, below: &Path, depth: usize, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let folder = root.join(below);
    let doing = || format!("reading {}", folder.display());
    for entry in fs::read_dir(&folder).with_context(doing)? {
        let entry = entry.with_context(doing)?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type().with_context(doing)?;
        if kind.is_dir() && depth < DEPTH_MAX {
            gather(root, &path, depth + 1, found)?;
        } else if kind.is_file() {
            found.push(path);
        } else {
            return Err(usage(format!(
                "{} is a link, is not a file, or is nested too deeply; a skill may contain plain \
                 files only",
                visible_text(&path.display().to_string())
            )));
        }
        if found.len() > FILES_MAX {
            return Err(usage(format!("it has more than {FILES_MAX} files; is it a skill?")));
        }
    }
    Ok(())
}

fn copy_skill_files(from: &Path, to: &Path, found: &[PathBuf]) -> anyhow::Result<()> {
    let mut bytes = 0;
    for path in found {
        let (source, target) = (from.join(path), to.join(path));
        let doing = || format!("copying {} to {}", source.display(), target.display());
        fs::create_dir_all(target.parent().unwrap_or(to)).with_context(doing)?;
        bytes += fs::copy(&source, &target).with_context(doing)?;
        if bytes > BYTES_MAX {
            return Err(usage(format!("it has more than {BYTES_MAX} bytes; is it a skill?")));
        }
    }
    Ok(())
}

/// Removes what killed programs left of copies. What cannot be removed is found again next time.
fn remove_half_added(own: &Path, age: Duration) {
    let Ok(entries) = fs::read_dir(own) else { return };
    for entry in entries.flatten() {
        let is_copy = entry.file_name().as_encoded_bytes().starts_with(ADDING.as_bytes());
        let changed = entry.metadata().and_then(|found| found.modified());
        let is_old = changed.is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= age));
        if is_copy && is_old {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A skill that was added.
pub struct AddedSkill {
    /// Name of the skill.
    pub name: String,
    /// Folder that the skill lies in.
    pub place: PathBuf,
    /// How many files it has.
    pub files: usize,
    /// Faults of the skill that do not keep it from being used.
    pub findings: Vec<SkillFinding>,
}

/// Copies a folder among the person's own skills.
///
/// # Errors
/// A usage error: it is no skill, or there is one of its name.
pub fn add(cx: &InstallationContext, from: &Path) -> anyhow::Result<AddedSkill> {
    let findings = super::find_skill_faults(from);
    if findings.iter().any(|finding| finding.fatal) {
        let why: Vec<String> = findings.iter().map(ToString::to_string).collect();
        return Err(usage(format!("it cannot be used: {}", visible_text(&why.join("; ")))));
    }
    let from = fs::canonicalize(from).with_context(|| format!("reading {}", from.display()))?;
    let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let to = folder(cx, &name);
    if to.exists() {
        return Err(usage(format!(
            "you already have a skill {name}; remove it first with `weir skills remove {name}`"
        )));
    }
    let mut found = Vec::new();
    gather(&from, Path::new(""), 0, &mut found)?;
    // Beside its place first: a copy that fails leaves no half of a skill.
    let own = own_skills(cx);
    remove_half_added(&own, LEFT_BEHIND);
    let beside = own.join(format!("{ADDING}{}", Uuid::now_v7().simple()));
    let copied = copy_skill_files(&from, &beside, &found).and_then(|()| {
        fs::rename(&beside, &to).with_context(|| format!("writing {}", to.display()))
    });
    if copied.is_err() {
        let _ = fs::remove_dir_all(&beside);
    }
    copied?;
    Ok(AddedSkill { name, place: to, files: found.len(), findings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m1_what_a_killed_program_left_of_a_copy_goes_after_a_day() {
        let own = tempfile::tempdir().expect("a folder");
        let at = |path: &str| own.path().join(path);
        for path in [".adding-0123/SKILL.md", "mine/SKILL.md", ".removed/mine-1/SKILL.md"] {
            fs::create_dir_all(at(path).parent().expect("a folder")).expect("writable");
            fs::write(at(path), "left").expect("writable");
        }
        remove_half_added(own.path(), LEFT_BEHIND);
        assert!(at(".adding-0123/SKILL.md").exists(), "somebody may be copying");
        remove_half_added(own.path(), Duration::ZERO);
        assert!(!at(".adding-0123").exists());
        assert!(at("mine/SKILL.md").exists() && at(".removed/mine-1/SKILL.md").exists());
    }
}
