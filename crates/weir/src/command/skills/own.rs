//! The person's own skills on the disk: written whole or not at all, and nothing is lost when one
//! goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;
use weir_core::skill::name_problem;
use weir_core::view::plain::visible;
use weir_engine::ports::Clock;
use weir_install::cx::Cx;
use weir_install::files;
use weir_install::wiring::{SystemClock, own_skills};

use crate::failure::usage;
use crate::options::{SkillArgs, SkillsAddArgs};
use crate::terminal::{out, out_json};

/// Files of a skill that is added.
const FILES_MAX: usize = 1_000;
/// Bytes of all of them.
const BYTES_MAX: u64 = 64 << 20;
/// Folders in each other.
const DEPTH_MAX: usize = 12;
/// Where removed skills are kept, below the folder of skills: no name of a skill.
const REMOVED: &str = ".removed";

/// The folder of a skill of the person's own.
pub(crate) fn folder(cx: &Cx, name: &str) -> PathBuf {
    own_skills(cx).join(name)
}

/// Writes the `SKILL.md` of a skill; its other files stay as they are.
pub(super) fn write(cx: &Cx, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let folder = folder(cx, name);
    files::replace(&folder.join("SKILL.md"), text.as_bytes(), 0o644)?;
    Ok(folder)
}

/// Moves a skill away, to where it can be moved back from.
pub(crate) fn put_away(cx: &Cx, name: &str) -> anyhow::Result<PathBuf> {
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

/// Takes a skill away.
pub(super) fn remove(cx: &Cx, args: &SkillArgs) -> anyhow::Result<ExitCode> {
    if let Some(problem) = name_problem(&args.name) {
        return Err(usage(format!(
            "{} is not a valid skill name: it {problem}",
            visible(&args.name)
        )));
    }
    let kept = put_away(cx, &args.name)?.display().to_string();
    if args.json.json {
        out_json(&json!({"name": args.name, "kept": kept}))?;
    } else {
        out(&format!("Removed {}; it was moved to {kept}.", args.name))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Copies a folder among the person's own skills.
pub(super) fn add(cx: &Cx, args: &SkillsAddArgs) -> anyhow::Result<ExitCode> {
    let findings = super::findings(&args.folder);
    if findings.iter().any(|finding| finding.fatal) {
        let why: Vec<String> = findings.iter().map(ToString::to_string).collect();
        return Err(usage(format!("it cannot be used: {}", visible(&why.join("; ")))));
    }
    let from = fs::canonicalize(&args.folder)
        .with_context(|| format!("reading {}", args.folder.display()))?;
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
    let beside = own_skills(cx).join(format!(".adding-{name}-{}", std::process::id()));
    let copied = copy(&from, &beside, &found).and_then(|()| {
        fs::rename(&beside, &to).with_context(|| format!("writing {}", to.display()))
    });
    if copied.is_err() {
        let _ = fs::remove_dir_all(&beside);
    }
    copied?;
    let place = to.display().to_string();
    if args.json.json {
        out_json(
            &json!({"name": name, "place": place, "files": found.len(), "findings": findings}),
        )?;
    } else {
        out(&format!("Added {name} with {} files: {place}.", found.len()))?;
        for finding in &findings {
            out(&format!("Note: {}", visible(&finding.to_string())))?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
                visible(&path.display().to_string())
            )));
        }
        if found.len() > FILES_MAX {
            return Err(usage(format!("it has more than {FILES_MAX} files; is it a skill?")));
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, found: &[PathBuf]) -> anyhow::Result<()> {
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
