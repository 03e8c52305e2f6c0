//! Files below a folder, within bounds: what is not looked into is handed back with the reason, so
//! that nothing is left silently. It reads no file and follows no link.

use std::path::Path;

/// Reasons that are handed back one by one.
const LEFT_MAX: usize = 20;

/// How far a folder is looked into.
pub(super) struct TreeBounds {
    /// Folders in each other.
    pub(super) depth_max: usize,
    /// Entries of all of them.
    pub(super) entries_max: usize,
}

/// What is below a folder.
#[derive(Debug, Default)]
pub(super) struct TreeListing {
    /// Files by their paths in it, with `/` between, in order.
    pub(super) names: Vec<String>,
    /// What was not looked into, and why.
    pub(super) left: Vec<(String, String)>,
    looked: usize,
}

/// Everything that is no folder below this one. Hidden files are none of an agent's.
pub(super) fn list_tree(folder: &Path, bounds: &TreeBounds) -> TreeListing {
    let mut listing = TreeListing::default();
    listing.look_into(folder, "", 0, bounds);
    listing.names.sort_unstable();
    listing
}

impl TreeListing {
    fn look_into(&mut self, folder: &Path, below: &str, depth: usize, bounds: &TreeBounds) {
        let entries = match std::fs::read_dir(folder.join(below)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.leave_name(below, &format!("cannot be read: {error}")),
        };
        for entry in entries.flatten() {
            if self.looked >= bounds.entries_max {
                let why = format!("has more than {} entries; the rest is left", bounds.entries_max);
                return self.leave_name("", &why);
            }
            self.looked += 1;
            let name = match entry.file_name().into_string() {
                Ok(name) if name.starts_with('.') => continue,
                Ok(name) => name,
                Err(name) => {
                    let name = joined_name(below, &name.to_string_lossy());
                    self.leave_name(&name, "has a name that is no text; rename it");
                    continue;
                }
            };
            let name = joined_name(below, &name);
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < bounds.depth_max => {
                    self.look_into(folder, &name, depth + 1, bounds);
                }
                Ok(kind) if kind.is_dir() => {
                    let why = format!(
                        "is not looked into: it is deeper than {} folders",
                        bounds.depth_max
                    );
                    self.leave_name(&name, &why);
                }
                Ok(_) => self.names.push(name),
                Err(error) => self.leave_name(&name, &format!("cannot be read: {error}")),
            }
        }
    }

    fn leave_name(&mut self, name: &str, why: &str) {
        let reason = (name.to_owned(), why.to_owned());
        if self.left.len() < LEFT_MAX && !self.left.contains(&reason) {
            self.left.push(reason);
        }
    }
}

fn joined_name(below: &str, name: &str) -> String {
    if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_what_a_listing_does_not_look_into_is_said() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let deep = folder.path().join("a/b/c");
        std::fs::create_dir_all(&deep).expect("made");
        for name in ["a/one", "a/b/two", "a/b/c/three", ".hidden"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        let listing = list_tree(folder.path(), &TreeBounds { depth_max: 2, entries_max: 100 });
        assert_eq!(listing.names, ["a/b/two", "a/one"]);
        assert_eq!(listing.left.len(), 1);
        assert_eq!(listing.left[0].0, "a/b/c");
        let listing = list_tree(folder.path(), &TreeBounds { depth_max: 9, entries_max: 3 });
        assert!(listing.left.iter().any(|(_, why)| why.contains("more than 3 entries")));
    }
}
