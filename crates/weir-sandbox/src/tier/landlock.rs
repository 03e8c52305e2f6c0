//! The tier for machines without namespaces: Landlock for files, ports and signals (Z4).
//!
//! Landlock can only allow, and what it allows holds for everything below. So what is not to be
//! read or written is left out: on the way to it each neighbour is allowed by itself. A folder that
//! holds a guarded entry is then closed: it takes no new entries, and what appears in it later is
//! not allowed. That is what the supervisor's mediator adds. Not here: that, and the filter of system
//! calls.

use std::collections::{BTreeSet, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

use crate::history::FOLDERS;
use crate::places::ConfinedPlaces;

/// Rules of one command.
const RULES_MAX: usize = 20_000;

/// What every program may need of `/dev`: nothing that holds data.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// What is allowed beside the places of the command.
#[derive(Debug, Default)]
pub(crate) struct ExtraAllowances {
    /// Its own temporary folder.
    pub(crate) tmp: Option<PathBuf>,
    /// Files without names that may be read and started once they have one.
    pub(crate) nameless: Vec<OwnedFd>,
}

/// A file or folder: its device and its number there.
pub(crate) type Inode = (u64, u64);

/// What holds.
#[derive(Debug)]
pub(crate) struct LandlockConfinement {
    /// Which version of Landlock.
    pub(crate) version: u32,
    /// What may be read, with all below.
    pub(crate) readable: HashSet<Inode>,
}

/// Confines the calling thread and what it starts. Never undone.
///
/// # Errors
/// When the kernel has no Landlock, or one without a right that is needed.
pub(crate) fn restrict_thread(
    places: &ConfinedPlaces,
    extra: &ExtraAllowances,
) -> Result<LandlockConfinement, String> {
    let fails = |error: &dyn std::fmt::Display| format!("Landlock: {error}");
    // Before version 3 a file could be cut to nothing without a right: that is too weak to use.
    let needed = AccessFs::from_all(ABI::V3);
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(needed)
        .map_err(|error| fails(&error))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))
        .map_err(|error| fails(&error))?
        .scope(Scope::from_all(ABI::V6))
        .map_err(|error| fails(&error))?;
    // A second wall: seccomp lets no call through that binds or connects.
    let ruleset = ruleset
        .handle_access(AccessNet::from_all(ABI::V4))
        .map_err(|error| fails(&error))?
        .create()
        .map_err(|error| fails(&error))?;
    let readable = HashSet::new();
    let mut rules = LandlockRules { ruleset: Some(ruleset), left: RULES_MAX, readable };
    rules.add_places(places, extra)?;
    let readable = rules.readable;
    let ruleset = rules.ruleset.ok_or("Landlock: the rules were lost")?;
    let status = ruleset.restrict_self().map_err(|error| fails(&error))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, status) => Err(format!("Landlock is not there: {status:?}")),
        (_, LandlockStatus::Available { effective_abi, .. }) => {
            Ok(LandlockConfinement { version: effective_abi as u32, readable })
        }
        (_, status) => Err(format!("Landlock is not there: {status:?}")),
    }
}

fn read_rights() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::Execute
}

/// Devices cannot be made by anybody.
fn write_rights() -> BitFlags<AccessFs> {
    AccessFs::from_write(ABI::V5) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

struct LandlockRules {
    /// Taken and put back by each rule.
    ruleset: Option<RulesetCreated>,
    left: usize,
    readable: HashSet<Inode>,
}

/// An allowance that goes around some paths.
struct PathAllowance<'a> {
    rights: BitFlags<AccessFs>,
    closed: &'a BTreeSet<PathBuf>,
}

impl LandlockRules {
    fn add_places(
        &mut self,
        places: &ConfinedPlaces,
        extra: &ExtraAllowances,
    ) -> Result<(), String> {
        // Names are visible, contents are not: without that no folder above one could be listed.
        self.allow(&open_path(CWD, Path::new("/"))?, AccessFs::ReadDir.into())?;
        let mut unread = places.masked.clone();
        unread.insert("/dev".into());
        let reading = PathAllowance { rights: read_rights(), closed: &unread };
        self.allow_around(&open_path(CWD, Path::new("/"))?, Path::new("/"), &reading)?;
        let mut unwritten: BTreeSet<PathBuf> = [&places.protected, &places.masked, &places.links]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        unwritten.extend(places.histories.iter().flat_map(|git| beside_history(git)));
        let writing = PathAllowance { rights: write_rights(), closed: &unwritten };
        for root in &places.writable {
            let handle = open_path(CWD, root)?;
            self.allow_around(&handle, root, &writing)?;
            self.allow_around(&handle, root, &reading)?;
        }
        for root in &places.readable {
            self.allow_around(&open_path(CWD, root)?, root, &reading)?;
        }
        if let Some(tmp) = &extra.tmp {
            self.allow(&open_path(CWD, tmp)?, read_rights() | write_rights())?;
        }
        for file in &extra.nameless {
            self.allow(file, read_rights())?;
        }
        for device in DEVICES.map(Path::new).iter().filter(|device| device.exists()) {
            self.allow(&open_path(CWD, device)?, read_rights() | write_rights())?;
        }
        Ok(())
    }

    /// Allows `handle`, which is at `path`, and what is below it, without what is closed.
    fn allow_around(
        &mut self,
        handle: &OwnedFd,
        path: &Path,
        around: &PathAllowance<'_>,
    ) -> Result<(), String> {
        if around.closed.contains(path) {
            return Ok(());
        }
        // Sorted as paths are: what lies below follows.
        let mut after = around
            .closed
            .range::<Path, _>((std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded));
        if !after.next().is_some_and(|next| next.starts_with(path)) {
            // Git writes through links in its own folders: none is made there, and none comes from
            // elsewhere.
            let of_git = path.components().any(|part| part.as_os_str() == ".git");
            let less = if of_git { AccessFs::MakeSym | AccessFs::Refer } else { BitFlags::EMPTY };
            return self.allow(handle, around.rights & !less);
        }
        // What cannot be listed stays closed.
        let Ok(listing) =
            openat(handle, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).and_then(Dir::new)
        else {
            return Ok(());
        };
        for entry in listing.flatten() {
            use std::os::unix::ffi::OsStrExt;
            let name = Path::new(std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()));
            if name == Path::new(".") || name == Path::new("..") {
                continue;
            }
            // It may be gone by now.
            let Ok(handle) = open_path(handle.as_fd(), name) else { continue };
            self.allow_around(&handle, &path.join(name), around)?;
        }
        Ok(())
    }

    fn allow(&mut self, handle: &OwnedFd, rights: BitFlags<AccessFs>) -> Result<(), String> {
        let fails = |error: &dyn std::fmt::Display| format!("Landlock: a rule: {error}");
        let stat = fstat(handle).map_err(|error| fails(&error))?;
        let rights = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => rights,
            // A link is where it leads, and that is allowed or not by itself.
            FileType::Symlink => return Ok(()),
            _ => rights & AccessFs::from_file(ABI::V5),
        };
        if rights.is_empty() {
            return Ok(());
        }
        if rights.contains(read_rights()) {
            self.readable.insert((stat.st_dev, stat.st_ino));
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            format!(
                "Landlock: more than {RULES_MAX} neighbours of guarded paths; keep what is ignored \
                 or protected in folders with fewer entries"
            )
        })?;
        let ruleset = self.ruleset.take().ok_or("Landlock: the rules were lost")?;
        let added = ruleset.add_rule(PathBeneath::new(handle, rights));
        self.ruleset = Some(added.map_err(|error| fails(&error))?);
        Ok(())
    }
}

/// What of a `.git` Landlock keeps as it is: all but what git stores in folders. Its files are the
/// mediator's, name by name.
fn beside_history(git: &Path) -> Vec<PathBuf> {
    let listed = git.read_dir().into_iter().flatten().flatten();
    let is_open = |path: &Path| FOLDERS.iter().any(|name| path.file_name() == Some(name.as_ref()));
    let closed = listed.map(|entry| entry.path()).filter(|path| !is_open(path));
    // One that need not be there: it counts all the same.
    closed.chain([git.join("commondir")]).collect()
}

/// A handle that follows no link in the last place.
fn open_path(folder: impl AsFd, path: &Path) -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, path, flags, Mode::empty())
        .map_err(|error| format!("Landlock: {}: {error}", path.display()))
}
