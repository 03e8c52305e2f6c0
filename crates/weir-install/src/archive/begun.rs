//! A restore that has begun: what it changes is written down before it changes anything, and is taken back where
//! it fails, or at the next start where the program was killed (D9). Nothing is taken away but what the restore
//! made and nobody changed since. Not here: what is restored, and from what.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use weir_core::view::plain::visible_text;
use weir_engine::regular_file::open_regular_file;

use super::HALF_DONE;
use crate::environment::WeirFolders;
use crate::failure::usage;

/// What the name of a folder that is moved aside gets at its end, before its time.
pub(super) const ASIDE: &str = ".before-restore-";
/// What the name of a half gets that somebody changed since.
const HALF: &str = ".half-restored";
/// What stands in the name of the file that says which restore makes a folder, before its proof.
const PROOF: &str = "proof-";
/// Bytes of the note that a restore has begun: it names every file.
const MARKER_BYTES_MAX: u64 = 256 << 20;
/// Bytes of the name of a state folder.
const PATH_BYTES_MAX: u64 = 4_096;
/// The mode of a file that is being made: no other program makes one that its owner may only write.
const HALF_MADE_MODE: u32 = 0o200;

/// A folder with data, and where it goes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MovedFolder {
    pub(super) folder: PathBuf,
    pub(super) aside: PathBuf,
    /// Its number in the file system: what is made in its place has another one.
    inode: u64,
}

impl MovedFolder {
    /// `folder`, as it is before it goes to `aside`.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn new(folder: PathBuf, aside: PathBuf) -> io::Result<MovedFolder> {
        let inode = folder.symlink_metadata()?.ino();
        Ok(MovedFolder { folder, aside, inode })
    }

    /// Whether what is at `place` is the folder itself.
    fn is_at(&self, place: &Path) -> bool {
        place.symlink_metadata().is_ok_and(|found| found.ino() == self.inode)
    }

    /// Whether it goes to a name beside it that only a restore gives.
    fn goes_beside(&self) -> bool {
        let beside = self.folder.file_name().zip(self.aside.file_name());
        self.folder.parent() == self.aside.parent()
            && beside.is_some_and(|(folder, aside)| {
                let rest = aside.as_bytes().strip_prefix(folder.as_bytes());
                rest.is_some_and(|rest| rest.starts_with(ASIDE.as_bytes()))
            })
    }
}

/// What a restore changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RestorePlan {
    /// What is restored.
    archive: PathBuf,
    /// A PostgreSQL database is filled when all files are there.
    pub(super) postgres: bool,
    /// A folder for what is half done.
    staging: PathBuf,
    /// What a state folder that was made by this restore is told by.
    proof: String,
    /// When each file was changed last, as it says itself, in nanoseconds of 1970: whoever changes one makes
    /// it another time.
    stamp_ns: u64,
    /// Goes before anything is made.
    moved: Vec<MovedFolder>,
    /// Files and folders that are made, in this order. None of them was there, or it lies in what is moved.
    made: Vec<PathBuf>,
    /// The same as a set.
    #[serde(skip)]
    known: BTreeSet<PathBuf>,
}

impl RestorePlan {
    /// Nothing is made yet but, first of all, what says so in the folders that are restored.
    ///
    /// # Errors
    /// Something is in the way.
    pub(super) fn new(
        archive: &Path,
        staging: PathBuf,
        moved: Vec<MovedFolder>,
        dirs: &WeirFolders,
    ) -> anyhow::Result<RestorePlan> {
        // No whole second: of files that others unpacked the times are such.
        let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default() | 1;
        let mut plan = RestorePlan {
            archive: archive.to_owned(),
            postgres: false,
            staging,
            proof: uuid::Uuid::new_v4().simple().to_string(),
            stamp_ns: now_ms.saturating_mul(1_000_000),
            moved,
            made: Vec::new(),
            known: BTreeSet::new(),
        };
        plan.add_folder(&dirs.state);
        if plan.goes_aside(&dirs.state) {
            plan.add_file(&proof_place(&dirs.state, &plan.proof))?;
        }
        plan.add_file(&elsewhere_place(&dirs.config))?;
        Ok(plan)
    }

    pub(super) fn staging_folder(&self) -> &Path {
        &self.staging
    }

    /// Puts a file on the list, and the folders above it that will be missing.
    ///
    /// # Errors
    /// Something is there that stays, or it is on the list already.
    pub(super) fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        if !self.goes_aside(path) && path.symlink_metadata().is_ok() {
            anyhow::bail!("{} is in the way; move it away", path.display());
        }
        if let Some(folder) = path.parent() {
            self.add_folder(folder);
        }
        if !self.known.insert(path.to_owned()) {
            anyhow::bail!("{} stands in it twice", path.display());
        }
        self.made.push(path.to_owned());
        Ok(())
    }

    /// Puts a folder on the list, and those above it, as far as they will be missing.
    fn add_folder(&mut self, folder: &Path) {
        let will_be_missing = |one: &&Path| {
            let is_none = one.as_os_str().is_empty() || self.known.contains(*one);
            !is_none && (self.goes_aside(one) || !one.exists())
        };
        let missing: Vec<PathBuf> =
            folder.ancestors().take_while(will_be_missing).map(Path::to_path_buf).collect();
        for one in missing.into_iter().rev() {
            self.known.insert(one.clone());
            self.made.push(one);
        }
    }

    fn goes_aside(&self, path: &Path) -> bool {
        self.moved.iter().any(|moved| path.starts_with(&moved.folder))
    }

    /// Whether a file is one that the restore made, and nobody changed it since.
    fn is_as_made(&self, found: &fs::Metadata) -> bool {
        let stamp = SystemTime::UNIX_EPOCH + Duration::from_nanos(self.stamp_ns);
        let is_half_made = found.mode() & 0o7777 == HALF_MADE_MODE;
        found.is_file() && (is_half_made || found.modified().is_ok_and(|at| at == stamp))
    }

    /// Takes away the first `made` of what is made, moves back what was moved aside, and then takes away the
    /// note at `marker` that it has begun: that stays as long as anything else does.
    fn undo_changes(&self, made: usize, marker: &Path) -> UndoneRestore {
        let mut undone = UndoneRestore::default();
        let made = &self.made[..made];
        // Nothing is made before all of them went, and they come back when nothing of it is left: as long as
        // one is in its place, what has the name of something that is made is data.
        let all_went = self.moved.iter().all(|moved| !moved.is_at(&moved.folder));
        let stays = |path: &&PathBuf| self.goes_aside(path) || marker.starts_with(path);
        for path in made.iter().rev().filter(|path| all_went && !stays(path)) {
            undone.remove_made(self, path);
        }
        for moved in self.moved.iter().rev() {
            if let Err(why) = self.move_back(moved, made, &mut undone) {
                let (aside, folder) = (moved.aside.display(), moved.folder.display());
                undone.apart.push(match moved.aside.symlink_metadata() {
                    Ok(_) => format!(
                        "the previous data is in {aside} (it could not be moved back to {folder}: {why}); \
                         move it back"
                    ),
                    Err(_) => format!(
                        "the previous data of {folder} went to {aside}, which is not there any more; put \
                         it back, or go on without it by taking {} away",
                        marker.display()
                    ),
                });
            }
            sync_folder_of(&moved.folder);
        }
        if undone.is_whole() {
            undone.remove_marker(marker);
            for folder in made.iter().rev().filter(|path| marker.starts_with(path)) {
                // Somebody else may have put something there.
                let _ = fs::remove_dir(folder);
            }
        }
        undone
    }

    /// Moves a folder back, and what stands in its place out of the way. Where it is back already nothing is
    /// done.
    fn move_back(
        &self,
        moved: &MovedFolder,
        made: &[PathBuf],
        undone: &mut UndoneRestore,
    ) -> io::Result<()> {
        let MovedFolder { folder, aside, .. } = moved;
        if moved.is_at(folder) {
            return Ok(());
        }
        aside.symlink_metadata()?;
        let made: BTreeSet<&Path> =
            made.iter().map(PathBuf::as_path).filter(|path| path.starts_with(folder)).collect();
        if self.holds_only(folder, &made).unwrap_or(false) {
            // What says that it is made here goes when all else went: without that it would be data.
            let last = [proof_place(folder, &self.proof), folder.clone()];
            for path in made.iter().rev().filter(|path| last.iter().all(|last| last != **path)) {
                undone.remove_made(self, path);
            }
            for path in &last {
                undone.remove_made(self, path);
            }
        } else if folder.symlink_metadata().is_ok() {
            // Somebody worked in it since: nothing of that is lost.
            let half = free_name_beside(folder, HALF);
            fs::rename(folder, &half)?;
            undone.kept.push(half);
        }
        fs::rename(aside, folder)
    }

    /// Whether nothing lies in a folder but what the restore made, as it made it.
    fn holds_only(&self, folder: &Path, made: &BTreeSet<&Path>) -> io::Result<bool> {
        let mut open = vec![folder.to_owned()];
        while let Some(at) = open.pop() {
            for entry in fs::read_dir(&at)? {
                let path = entry?.path();
                let found = path.symlink_metadata()?;
                if !made.contains(path.as_path()) || !(found.is_dir() || self.is_as_made(&found)) {
                    return Ok(false);
                }
                if found.is_dir() {
                    open.push(path);
                }
            }
        }
        Ok(true)
    }
}

/// What came of taking a restore back.
#[derive(Debug, Default)]
struct UndoneRestore {
    /// What was made and is there still.
    stays: Vec<String>,
    /// Data that is not where it was, and what to do about it.
    apart: Vec<String>,
    /// What somebody changed since it was made: it is kept, at this place.
    kept: Vec<PathBuf>,
}

impl UndoneRestore {
    fn is_whole(&self) -> bool {
        self.stays.is_empty() && self.apart.is_empty()
    }

    /// Takes away one of the things that `plan` made, unless somebody changed it or put something into it.
    fn remove_made(&mut self, plan: &RestorePlan, path: &Path) {
        let removed = path.symlink_metadata().and_then(|found| match found.is_dir() {
            true => fs::remove_dir(path),
            false if plan.is_as_made(&found) => fs::remove_file(path),
            false => {
                self.kept.push(path.to_owned());
                Ok(())
            }
        });
        match removed {
            Err(why) if why.kind() == io::ErrorKind::DirectoryNotEmpty => {
                // What lies deepest says it for the folders around it.
                if !self.kept.iter().any(|kept| kept.starts_with(path)) {
                    self.kept.push(path.to_owned());
                }
            }
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                self.stays.push(format!("{} ({why})", path.display()));
            }
            Ok(()) | Err(_) => {}
        }
    }

    fn remove_marker(&mut self, marker: &Path) {
        match fs::remove_file(marker) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                self.stays.push(format!("{} ({why})", marker.display()));
            }
            Ok(()) | Err(_) => sync_folder_of(marker),
        }
    }

    /// What is left of it where all is as it was, in words to put behind that.
    fn describe_kept(&self) -> String {
        let kept: Vec<String> = self.kept.iter().map(|path| path.display().to_string()).collect();
        match kept.is_empty() {
            true => String::new(),
            false => {
                format!("; what was changed since it was put there is in {}", kept.join(" and "))
            }
        }
    }

    /// Where the data is and what is left, in words.
    fn describe_rest(&self) -> String {
        let mut said = self.apart.clone();
        // The deepest one is the reason why those above it stay.
        if let Some(first) = self.stays.first() {
            said.push(format!("what was restored could not all be taken away: {first}"));
        }
        said.join("; ") + &self.describe_kept()
    }
}

/// A restore that has begun. As long as it lives no other program starts in its folders.
pub(super) struct BegunRestore {
    plan: RestorePlan,
    /// So many of what is made were made.
    made: usize,
    dirs: WeirFolders,
    marker: PathBuf,
    /// The marker, locked.
    _lock: File,
}

impl BegunRestore {
    /// Writes down what is going to be changed; nothing is yet.
    ///
    /// # Errors
    /// It cannot be written, or another restore has begun there.
    pub(super) fn begin_restore(
        plan: RestorePlan,
        dirs: &WeirFolders,
    ) -> anyhow::Result<BegunRestore> {
        let state = &dirs.state;
        if let Some(marker) = marker_places(state).iter().find(|marker| marker.exists()) {
            return Err(usage(format!(
                "a backup is being restored to {} ({}); wait for its end",
                state.display(),
                marker.display()
            )));
        }
        let [beside, inside] = marker_places(state);
        // What is moved takes along what lies in it; beside what is not moved nothing may be writable.
        let marker = if plan.goes_aside(state) { beside } else { inside };
        if plan.goes_aside(&marker) {
            return Err(usage(format!(
                "{} lies in a folder that would be moved aside with it; restore into another folder \
                 with --state-dir, or move the data away yourself",
                state.display()
            )));
        }
        match write_marker(&marker, &plan) {
            Ok(lock) => {
                // The folders that it lies in were made for it.
                let around = plan.made.iter().take_while(|path| marker.starts_with(path));
                let made = around.count();
                Ok(BegunRestore { made, plan, dirs: dirs.clone(), marker, _lock: lock })
            }
            Err(error) => {
                for folder in plan.made.iter().rev().filter(|path| marker.starts_with(path)) {
                    let _ = fs::remove_dir(folder);
                }
                let doing = format!("writing {}, which says what is restored", marker.display());
                Err(anyhow::Error::new(error).context(doing))
            }
        }
    }

    pub(super) fn staging_folder(&self) -> &Path {
        &self.plan.staging
    }

    /// Moves data aside, and notes in the new folders that they are made. `step` is asked before each change.
    ///
    /// # Errors
    /// A folder cannot be moved or written to, or `step` fails.
    pub(super) fn move_aside(
        &mut self,
        step: &mut dyn FnMut() -> io::Result<()>,
    ) -> anyhow::Result<()> {
        for MovedFolder { folder, aside, .. } in &self.plan.moved {
            step()
                .and_then(|()| fs::rename(folder, aside))
                .with_context(|| format!("moving {} aside", folder.display()))?;
            sync_folder_of(aside);
        }
        let state = self.dirs.state.clone();
        // By its name: a file is there or not, its content may be half written.
        let proof = proof_place(&state, &self.plan.proof);
        let elsewhere = elsewhere_place(&self.dirs.config);
        let notes = [(proof, &b""[..]), (elsewhere, state.as_os_str().as_bytes())];
        for (path, bytes) in notes {
            if !self.plan.known.contains(&path) {
                continue;
            }
            let writing = || format!("writing {}", path.display());
            step().with_context(writing)?;
            let mut file = self.make_file(&path).with_context(writing)?;
            file.write_all(bytes).with_context(writing)?;
            self.finish_file(&file, 0o600).with_context(writing)?;
        }
        Ok(())
    }

    /// Makes the next file of the plan, and the folders above it. It is half made until it is finished.
    ///
    /// # Errors
    /// It is none of the plan, or cannot be made.
    pub(super) fn make_file(&mut self, path: &Path) -> io::Result<File> {
        let ahead = self.plan.made[self.made..].iter().position(|one| one == path);
        let ahead = ahead.ok_or_else(|| io::Error::other("the backup was changed meanwhile"))?;
        for folder in &self.plan.made[self.made..self.made + ahead] {
            match fs::DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => {
                    return Err(error);
                }
                Ok(()) | Err(_) => self.made += 1,
            }
        }
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(HALF_MADE_MODE).open(path)?;
        self.made += 1;
        Ok(file)
    }

    /// Makes a file durable that has all of its content, with the mode and the time by which it is known.
    ///
    /// # Errors
    /// The system refuses one of it.
    pub(super) fn finish_file(&self, file: &File, mode: u32) -> io::Result<()> {
        let stamp = SystemTime::UNIX_EPOCH + Duration::from_nanos(self.plan.stamp_ns);
        file.set_modified(stamp)?;
        if let Err(error) = file.set_permissions(fs::Permissions::from_mode(mode))
            && file.metadata()?.mode() & 0o7777 == HALF_MADE_MODE
        {
            // Where modes are kept at all, it would stay unreadable.
            return Err(error);
        }
        file.sync_all()
    }

    /// All was put back: nothing of it is taken back any more.
    ///
    /// # Errors
    /// The note that it has begun cannot be taken away, so the next start would take everything back.
    pub(super) fn finish_restore(&self) -> anyhow::Result<()> {
        match fs::remove_dir_all(&self.plan.staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %self.plan.staging.display(), "a folder stays");
            }
            Ok(()) | Err(_) => {}
        }
        fs::remove_file(&self.marker)
            .with_context(|| format!("taking {} away", self.marker.display()))?;
        sync_folder_of(&self.marker);
        // Without that they say nothing any more.
        let proof = proof_place(&self.dirs.state, &self.plan.proof);
        for note in [proof, elsewhere_place(&self.dirs.config)] {
            let _ = fs::remove_file(note);
        }
        Ok(())
    }

    /// Where data went.
    pub(super) fn into_moved_folders(self) -> Vec<PathBuf> {
        self.plan.moved.into_iter().map(|moved| moved.aside).collect()
    }

    /// Takes everything back because of `error`, which then says what holds: that all is as before, or where
    /// the data is.
    pub(super) fn take_back(&self, error: anyhow::Error) -> anyhow::Error {
        let undone = self.plan.undo_changes(self.made, &self.marker);
        match undone.is_whole() {
            true => {
                let kept = undone.describe_kept();
                error.context(format!("nothing was restored, and all is as it was before{kept}"))
            }
            false => error.context(format!("the restore failed; {}", undone.describe_rest())),
        }
    }
}

/// Takes back what a restore changed that was killed. What is to be said of it, in one sentence; `None`: none
/// was. Every start asks this before it looks at anything else.
///
/// # Errors
/// A restore goes on, or not all of it can be taken back: then the error says where the data is, and the next
/// start tries it again.
pub fn take_back_killed_restore(dirs: &WeirFolders) -> anyhow::Result<Option<String>> {
    let [beside, inside] = marker_places(&dirs.state);
    let mut said = None;
    for (marker, is_inside) in [(beside, false), (inside, true)] {
        let Some(file) = claim_marker(&marker)? else { continue };
        said = take_back_noted(&marker, &file, is_inside, dirs)?;
        if said.is_some() {
            break;
        }
    }
    check_restore_elsewhere(dirs)?;
    Ok(said)
}

/// The same of what is noted at `marker`. In the state folder only Weir writes; beside it others may, so such a
/// note counts for nothing where that folder says nothing of it.
fn take_back_noted(
    marker: &Path,
    file: &File,
    is_inside: bool,
    dirs: &WeirFolders,
) -> anyhow::Result<Option<String>> {
    let (found, plan) = (found_in_place(&dirs.state), read_plan(file));
    // It had changed nothing yet, or something came back: the state folder goes first and comes last.
    let names_it = |plan: &RestorePlan| plan.moved.iter().any(|moved| moved.is_at(&dirs.state));
    if !is_inside && found == InPlace::Data && !plan.as_ref().is_ok_and(names_it) {
        return Ok(None);
    }
    if file.metadata()?.uid() != rustix::process::geteuid().as_raw() {
        return Err(usage(format!(
            "a restore was begun by another user and is not over ({}); start Weir once as that user",
            marker.display()
        )));
    }
    let plan =
        plan.map_err(|error| usage(format!("{} cannot be read: {error}", marker.display())))?;
    let is_foreign = matches!(&found, InPlace::Half(proof) if !is_inside && *proof != plan.proof);
    if is_foreign || !plan.moved.iter().all(MovedFolder::goes_beside) {
        return Err(usage(format!(
            "{} is no note of the restore that was begun here; move it away",
            marker.display()
        )));
    }
    let undone = plan.undo_changes(plan.made.len(), marker);
    match undone.is_whole() {
        true => Ok(Some(plan.describe_undone(&undone))),
        false => Err(usage(format!(
            "restoring {} ended before it was done, and cannot be taken back: {}",
            visible_text(&plan.archive.display().to_string()),
            undone.describe_rest()
        ))),
    }
}

impl RestorePlan {
    /// What was taken back, in one sentence.
    fn describe_undone(&self, undone: &UndoneRestore) -> String {
        let database = match self.postgres {
            true => "; the PostgreSQL database has all of the backup or nothing of it",
            false => "",
        };
        format!(
            "restoring {} ended before it was done: all is as it was before it{database}{}",
            visible_text(&self.archive.display().to_string()),
            undone.describe_kept()
        )
    }
}

/// What stands at the place of a state folder.
#[derive(Debug, PartialEq, Eq)]
enum InPlace {
    /// Nothing, or a folder in which nothing is yet.
    Nothing,
    /// What a restore with this proof is making.
    Half(String),
    /// Anything else.
    Data,
}

fn found_in_place(state: &Path) -> InPlace {
    let mut entries = match fs::read_dir(state) {
        Ok(entries) => entries.flatten().peekable(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return InPlace::Nothing,
        Err(_) => return InPlace::Data,
    };
    if entries.peek().is_none() {
        return InPlace::Nothing;
    }
    let proof = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_prefix(HALF_DONE)?.strip_prefix(PROOF).map(str::to_owned)
    };
    entries.find_map(proof).map_or(InPlace::Data, InPlace::Half)
}

fn read_plan(file: &File) -> serde_json::Result<RestorePlan> {
    serde_json::from_reader(io::BufReader::new(file.take(MARKER_BYTES_MAX)))
}

/// Stops where a restore into another state folder changes these settings, or was killed while it did.
fn check_restore_elsewhere(dirs: &WeirFolders) -> anyhow::Result<()> {
    let note = elsewhere_place(&dirs.config);
    let Ok(file) = open_regular_file(&note) else { return Ok(()) };
    let mut bytes = Vec::new();
    file.take(PATH_BYTES_MAX).read_to_end(&mut bytes)?;
    let state = PathBuf::from(OsString::from_vec(bytes));
    if !state.is_absolute() {
        // It is being written.
        return Ok(());
    }
    if state != dirs.state && is_restore_begun(&state) {
        let state = visible_text(&state.display().to_string());
        return Err(usage(format!(
            "a backup is being restored to {state}, and these settings with it; wait for its end. If it \
             was killed, start Weir once with --state-dir {state}: that takes it back"
        )));
    }
    // One that is over left it.
    let _ = fs::remove_file(&note);
    Ok(())
}

/// Whether a restore into this state folder has begun and is not over.
pub fn is_restore_begun(state: &Path) -> bool {
    marker_places(state).iter().any(|marker| marker.exists())
}

/// Where it is noted that a restore has begun: beside the state folder, or in it.
fn marker_places(state: &Path) -> [PathBuf; 2] {
    [named_beside(state, ".restoring"), state.join(format!("{HALF_DONE}restoring"))]
}

/// What says in a new state folder by its name which restore makes it.
fn proof_place(state: &Path, proof: &str) -> PathBuf {
    state.join(format!("{HALF_DONE}{PROOF}{proof}"))
}

/// What says in a folder of settings which state folder is restored with it.
fn elsewhere_place(config: &Path) -> PathBuf {
    config.join(format!("{HALF_DONE}elsewhere"))
}

/// A path beside `folder` that nothing has: what is moved there is told by being there.
pub(super) fn free_name_beside(folder: &Path, ending: &str) -> PathBuf {
    let numbered = (2_u32..).map(|number| named_beside(folder, &format!("{ending}-{number}")));
    let mut names = std::iter::once(named_beside(folder, ending)).chain(numbered);
    let free = names.find(|name| name.symlink_metadata().is_err());
    free.expect("no folder has a name for every number")
}

/// A path beside `folder`, with more at the end of its name.
fn named_beside(folder: &Path, ending: &str) -> PathBuf {
    let mut name = folder.file_name().map(OsString::from).unwrap_or_default();
    name.push(ending);
    folder.with_file_name(name)
}

/// Writes a marker, whole or not at all, and locks it.
fn write_marker(marker: &Path, plan: &RestorePlan) -> io::Result<File> {
    if let Some(folder) = marker.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let fresh = named_beside(marker, &format!("-{}", uuid::Uuid::now_v7().simple()));
    let write = || {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.try_lock().map_err(io::Error::from)?;
        file.write_all(&serde_json::to_vec(plan)?)?;
        file.sync_all()?;
        // A link fails where another restore has begun meanwhile; a rename would replace its note.
        match fs::hard_link(&fresh, marker) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !marker.exists() => {
                // Some file systems have no links.
                fs::rename(&fresh, marker)?;
            }
            linked => linked?,
        }
        Ok(file)
    };
    let written = write();
    let _ = fs::remove_file(&fresh);
    sync_folder_of(marker);
    written
}

/// The marker of a restore whose program is gone, locked; `None`: there is none.
fn claim_marker(marker: &Path) -> anyhow::Result<Option<File>> {
    // Where it cannot be opened, nothing that it is about can be used either.
    let Ok(file) = open_regular_file(marker) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(usage(format!(
                "a backup is being restored here ({}); wait until that has ended",
                marker.display()
            )));
        }
        Err(TryLockError::Error(error)) => {
            let doing = format!("locking {}", marker.display());
            return Err(anyhow::Error::new(error).context(doing));
        }
    }
    // Another start may have been quicker.
    let own = file.metadata()?;
    let is_there =
        fs::metadata(marker).is_ok_and(|at| (at.dev(), at.ino()) == (own.dev(), own.ino()));
    Ok(is_there.then_some(file))
}

/// Makes names in the folder of `path` durable, where the system can: that they are is known better later.
fn sync_folder_of(path: &Path) {
    if let Some(folder) = path.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}
