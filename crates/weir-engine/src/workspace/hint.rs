//! The hint in a *not found*: the nearest visible name, or the part of the path that is missing.

use std::path::{Path, PathBuf};

use super::beneath;
use super::guard::{PathKind, PathSpot, nfc_text};
use super::{LocatedPath, Workspace};

/// Most names that are compared.
const NAMES_MAX: usize = 5000;
/// Longest name that is compared, in characters.
const NAME_CHARS_MAX: usize = 100;

/// `; did you mean src/main.rs?`, `; the folder src does not exist`, or empty.
pub(super) fn not_found_hint(workspace: &Workspace, located: &LocatedPath) -> String {
    let mut missing = located.rel.clone();
    // Up to the first part whose folder exists: that name is the one that was mistaken.
    loop {
        let Some(parent) = missing.parent().map(Path::to_path_buf) else { return String::new() };
        let anchor = workspace.anchor_fd(located);
        if let Ok(folder) = beneath::open_folder(anchor, &parent) {
            let names = beneath::folder_names(std::os::fd::AsFd::as_fd(&folder));
            let names = names.map(|(names, _)| names).unwrap_or_default();
            let names = names.into_iter().map(|(name, _)| name.to_string_lossy().into_owned());
            return hint_text(workspace, located, &missing, &names.collect::<Vec<_>>());
        }
        missing = parent;
    }
}

fn hint_text(
    workspace: &Workspace,
    located: &LocatedPath,
    missing: &Path,
    names: &[String],
) -> String {
    let is_whole = missing == located.rel;
    let base = match located.spot.root {
        Some(i) => workspace.guard.roots[i].real.clone(),
        None => PathBuf::from("/"),
    };
    let shown = |rel: PathBuf| {
        let spot = PathSpot { root: located.spot.root, rel: nfc_text(&rel), real: base.join(&rel) };
        let verdict = workspace.guard.judge(&spot, PathKind::File);
        verdict.ignored.is_none().then(|| workspace.guard.shown_path(&spot))
    };
    let Some(wanted) = missing.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return String::new();
    };
    let near = nearest_name(&wanted, names).and_then(|name| shown(missing.with_file_name(name)));
    match (near, is_whole) {
        (Some(near), true) => format!("; did you mean {near}?"),
        (Some(near), false) => {
            let rest = located.rel.strip_prefix(missing).unwrap_or(Path::new("")).display();
            format!("; did you mean {near}/{rest}?")
        }
        (None, false) => match shown(missing.to_path_buf()) {
            Some(folder) => format!("; the folder {folder} does not exist"),
            None => String::new(),
        },
        (None, true) => String::new(),
    }
}

/// The name nearest to `wanted`, if one is near enough to be a slip.
pub(crate) fn nearest_name<'a>(wanted: &str, names: &'a [String]) -> Option<&'a str> {
    let bound = (wanted.chars().count() / 3).clamp(1, 4);
    names
        .iter()
        .take(NAMES_MAX)
        .filter(|name| *name != wanted)
        .map(|name| (edit_distance(wanted, name), name))
        .filter(|(steps, _)| *steps <= bound)
        .min_by_key(|(steps, _)| *steps)
        .map(|(_, name)| name.as_str())
}

/// Edit distance of two names without regard to case, in steps; two neighbours exchanged count as one.
/// Of long names the beginning counts.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(NAME_CHARS_MAX).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(NAME_CHARS_MAX).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_a_slip_away() {
        let names: Vec<String> = ["main.rs", "lib.rs", "README.md"].map(str::to_owned).into();
        assert_eq!(nearest_name("mian.rs", &names), Some("main.rs"));
        assert_eq!(nearest_name("readme.md", &names), Some("README.md"));
        assert_eq!(nearest_name("Cargo.toml", &names), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("scr", "src"), 1);
    }
}
