//! What a command may touch, as real paths: links resolved, what does not matter left out. Looks at
//! the file system, changes nothing; how the paths are enforced is each tier's.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};

use weir_engine::ports::CommandConfinement;

/// Most paths of one command. Each costs a mount or a rule, and the kernel's own lists end too.
const PATHS_MAX: usize = 2_000;

/// Real paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ConfinedPlaces {
    /// Folders and files that exist and may be written.
    pub(crate) writable: BTreeSet<PathBuf>,
    /// Inside those, to stay as they are; may be missing.
    pub(crate) protected: BTreeSet<PathBuf>,
    /// Folders inside those in which git stores history, and nothing else may come to be.
    pub(crate) histories: BTreeSet<PathBuf>,
    /// Links inside those that must stay what they are.
    pub(crate) links: BTreeSet<PathBuf>,
    /// Exist and are not to be seen.
    pub(crate) masked: BTreeSet<PathBuf>,
    /// Inside those, to be seen all the same.
    pub(crate) readable: BTreeSet<PathBuf>,
    /// Links to those, by where they lie: what is laid over their folder hides them.
    pub(crate) ways: BTreeMap<PathBuf, PathBuf>,
    /// Sockets of other programs that it may speak to.
    pub(crate) sockets: BTreeSet<PathBuf>,
    /// Where the command runs.
    pub(crate) cwd: PathBuf,
}

impl ConfinedPlaces {
    /// Looks them up.
    ///
    /// # Errors
    /// When they contradict each other, or would give away more than they say.
    pub(crate) fn resolve_confine(
        confine: &CommandConfinement,
        cwd: &Path,
    ) -> Result<ConfinedPlaces, String> {
        let named = [
            &confine.writable,
            &confine.protected,
            &confine.histories,
            &confine.masked,
            &confine.readable,
            &confine.sockets,
        ];
        let count: usize = named.iter().map(|paths| paths.len()).sum();
        if count > PATHS_MAX {
            return Err(format!(
                "{count} paths are to be guarded one by one, and {PATHS_MAX} is the most that a \
                 sandbox takes; put what is ignored or protected into fewer folders"
            ));
        }
        for path in named.into_iter().flatten() {
            let plain = |part: Component<'_>| !matches!(part, Component::ParentDir);
            if !path.is_absolute() || !path.components().all(plain) {
                return Err(format!("{} is not an absolute, plain path", path.display()));
            }
        }
        let cwd = cwd.canonicalize().map_err(|error| format!("{}: {error}", cwd.display()))?;
        let mut places = ConfinedPlaces { cwd, ..ConfinedPlaces::default() };
        places.writable = resolve_writable(&confine.writable)?;
        // What is not there cannot be seen.
        places.readable =
            confine.readable.iter().filter_map(|path| path.canonicalize().ok()).collect();
        for path in &confine.readable {
            if let (Ok(real), Ok(placed)) = (path.canonicalize(), resolve_entry(path))
                && real != placed
            {
                places.ways.insert(placed, real);
            }
        }
        if places.readable.iter().any(|path| path.parent().is_none()) {
            return Err("the whole file system cannot be named as what is seen".into());
        }
        for path in &confine.sockets {
            let is_socket =
                |path: &PathBuf| path.metadata().is_ok_and(|meta| meta.file_type().is_socket());
            // A link that came to lie there leads to another program than a person agreed to.
            let real = path.canonicalize().ok().filter(is_socket).filter(|real| real == path);
            places.sockets.insert(real.ok_or_else(|| format!("{} is no socket", path.display()))?);
        }
        for path in &confine.masked {
            places.mask(path)?;
        }
        for path in &confine.protected {
            places.protect(path)?;
        }
        for path in &confine.histories {
            places.add_history(path)?;
        }
        Ok(places)
    }

    /// Hides what is really there, also when the path is a link to it.
    pub(crate) fn mask(&mut self, path: &Path) -> Result<(), String> {
        // What is not there, or leads nowhere, has nothing to hide.
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        let stays = |needed: &PathBuf| self.open_roots().any(|root| needed.starts_with(root));
        if self.cwd.starts_with(&real) && !(real.parent().is_some() && stays(&self.cwd)) {
            return Err(format!(
                "{} is not to be seen, and the command's folder {} lies in it; run it elsewhere",
                path.display(),
                self.cwd.display()
            ));
        }
        self.masked.insert(real);
        Ok(())
    }

    fn protect(&mut self, path: &Path) -> Result<(), String> {
        if let Ok(target) = path.canonicalize()
            && self.is_writable(&target)
        {
            self.protected.insert(target);
        }
        let placed = resolve_entry(path).map_err(|error| format!("{}: {error}", path.display()))?;
        // Of a path whose folders are missing too, the first missing one must not come to exist.
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let first = placed.ancestors().take_while(|path| !is_there(path)).last();
        let placed = first.map(Path::to_path_buf).unwrap_or(placed);
        if !self.is_writable(&placed) {
            return Ok(());
        }
        match placed.symlink_metadata() {
            Ok(meta) if meta.is_symlink() => self.links.insert(placed),
            _ => self.protected.insert(placed),
        };
        Ok(())
    }

    fn add_history(&mut self, path: &Path) -> Result<(), String> {
        let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        match path.canonicalize() {
            Ok(real) if is_folder && self.is_writable(&real) => drop(self.histories.insert(real)),
            Ok(_) | Err(_) => self.protect(path)?,
        }
        Ok(())
    }

    /// What is open whatever lies around it is hidden.
    pub(crate) fn open_roots(&self) -> impl Iterator<Item = &PathBuf> {
        self.writable.iter().chain(&self.readable).chain(&self.sockets)
    }

    /// Whether a path lies in what may be written.
    pub(crate) fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|root| path.starts_with(root))
    }

    /// Paths between a writable root and a guarded path: whoever could rename one of them would
    /// bring another one into its place.
    pub(crate) fn paths_between(&self) -> BTreeSet<PathBuf> {
        let guarded = self.protected.iter().chain(&self.masked).chain(&self.links);
        let guarded = guarded.chain(&self.histories);
        let mut between = BTreeSet::new();
        for path in guarded {
            let above = path.ancestors().skip(1);
            between.extend(above.take_while(|above| self.is_inside(above)).map(Path::to_path_buf));
        }
        between.retain(|path| {
            !path.ancestors().any(|at| self.protected.contains(at) || self.masked.contains(at))
        });
        between
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.writable.iter().any(|root| path.starts_with(root) && path != root)
    }
}

fn resolve_writable(named: &[PathBuf]) -> Result<BTreeSet<PathBuf>, String> {
    let mut found = BTreeSet::new();
    for path in named {
        // Nothing can be granted of what is not there.
        let Ok(real) = path.canonicalize() else { continue };
        if real.parent().is_none() {
            return Err("the whole file system cannot be made writable in a sandbox".into());
        }
        // A command that could write the folder around it may have made it a link.
        for root in named.iter().filter(|root| *root != path && path.starts_with(root)) {
            let inside = root.canonicalize().is_ok_and(|root| real.starts_with(root));
            if !inside && !named.contains(&real) {
                return Err(format!(
                    "{} leads out of the writable folder {} to {}; it is not followed",
                    path.display(),
                    root.display(),
                    real.display()
                ));
            }
        }
        found.insert(real);
    }
    Ok(found)
}

/// Where an entry really lies, whether it exists or not: its folder with links resolved, its own
/// name as it is.
fn resolve_entry(path: &Path) -> io::Result<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(path.to_path_buf());
    };
    match folder.canonicalize() {
        Ok(folder) => Ok(folder.join(name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(resolve_entry(folder)?.join(name))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn confine(
        writable: &[PathBuf],
        protected: &[PathBuf],
        masked: &[PathBuf],
    ) -> CommandConfinement {
        CommandConfinement {
            writable: writable.to_vec(),
            protected: protected.to_vec(),
            masked: masked.to_vec(),
            ..CommandConfinement::default()
        }
    }

    #[test]
    fn z4_what_lies_around_a_guarded_path_is_kept_in_place() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().canonicalize().expect("it exists");
        std::fs::create_dir_all(root.join("ws/a/b")).expect("folders");
        std::fs::create_dir_all(root.join("ws/.git")).expect("a folder");
        std::fs::write(root.join("ws/a/b/key"), "").expect("a file");
        let ws = root.join("ws");
        let asked = confine(
            std::slice::from_ref(&ws),
            &[ws.join("a/b"), ws.join(".git/hooks"), ws.join("none/x"), root.join("other")],
            &[ws.join("a/b/key")],
        );
        let places = ConfinedPlaces::resolve_confine(&asked, &ws).expect("plain");
        assert_eq!(places.paths_between(), BTreeSet::from([ws.join("a"), ws.join(".git")]));
        assert!(!places.protected.contains(&root.join("other")), "it is read-only anyway");
        assert!(places.protected.contains(&ws.join("none")), "its first missing folder");
    }

    #[test]
    fn z4_a_link_does_not_widen_what_may_be_written() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().canonicalize().expect("it exists");
        std::fs::create_dir_all(root.join("ws")).expect("a folder");
        std::fs::create_dir_all(root.join("secret")).expect("a folder");
        symlink(root.join("secret"), root.join("ws/build")).expect("a link");
        let ws = root.join("ws");
        let asked = confine(&[ws.clone(), ws.join("build")], &[], &[]);
        let why = ConfinedPlaces::resolve_confine(&asked, &ws).expect_err("it leads out");
        assert!(why.contains("leads out of the writable folder"), "{why}");
        let masks = confine(std::slice::from_ref(&ws), &[], &[ws.join("build")]);
        let places = ConfinedPlaces::resolve_confine(&masks, &ws).expect("plain");
        assert_eq!(places.masked, BTreeSet::from([root.join("secret")]));
        let above = confine(&[], &[], std::slice::from_ref(&root));
        assert!(
            ConfinedPlaces::resolve_confine(&above, &ws).is_err(),
            "the folder of the command lies in it"
        );
    }
}
