//! The kernel's own settings, as files: what a command must not write whoever runs it (A2).
//!
//! In a namespace of its own root has lost every capability and still owns these files, so their
//! modes do not keep it out. Not here: the rest of what a command sees.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Everything below `/proc` that speaks of the machine and not of a process, and could be written:
/// folders, and files with a mode that lets anybody. No list of names, so what a newer kernel adds
/// is among them.
pub(crate) fn kernel_setting_paths() -> Vec<PathBuf> {
    let Ok(entries) = Path::new("/proc").read_dir() else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| !entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .filter(|entry| {
            // `self` and the like are links to processes.
            entry.metadata().is_ok_and(|meta| {
                meta.is_dir() || (meta.is_file() && meta.permissions().mode() & 0o222 != 0)
            })
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a2_settings_are_found_and_processes_are_none() {
        let found = kernel_setting_paths();
        assert!(found.contains(&PathBuf::from("/proc/sys")), "{found:?}");
        assert!(found.iter().all(|path| !path.starts_with("/proc/self")), "{found:?}");
        assert!(!found.contains(&PathBuf::from("/proc/1")), "{found:?}");
    }
}
