//! Taking a file over that was left different in a copy of the workspace: what it becomes, line by line
//! where both changed. Pure. Not here: how a copy is looked at (`weir-store`), writing what comes of it.

use crate::ports::{CopiedFile, Divergence};
use crate::undo::{Merge, merge_contents};
use crate::workspace::FileContent;

/// Mode of a file that is new, without the right to run it.
const NEW_FILE_MODE: u32 = 0o644;
/// The right to run a file, of everybody.
const EXECUTE_BITS: u32 = 0o111;

/// Why a file cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DivergenceConflict {
    /// What is here is a folder or a link.
    NoFile,
    /// It was changed here and in the copy, in the same place.
    SamePlace,
    /// What is in the copy cannot be taken: why, without the path.
    Obstacle(String),
}

/// What a file that is `now` so becomes when what was left in the copy is taken over; `None`: it is so
/// already.
///
/// # Errors
/// Why it cannot be.
pub fn merge_divergence(
    file: &Divergence,
    now: &FileContent,
) -> Result<Option<FileContent>, DivergenceConflict> {
    if let Some(why) = &file.obstacle {
        return Err(DivergenceConflict::Obstacle(why.clone()));
    }
    let own_mode = match now {
        FileContent::Folder | FileContent::Link { .. } => return Err(DivergenceConflict::NoFile),
        FileContent::File { mode, .. } => *mode,
        FileContent::Absent => NEW_FILE_MODE,
    };
    let mode = mode_after(file, own_mode);
    let with_mode = |side: &Option<CopiedFile>, mode: u32| match side {
        None => FileContent::Absent,
        Some(file) => FileContent::File { bytes: file.bytes.as_slice().into(), mode },
    };
    // The bytes alone say whether somebody changed it here; the mode follows whoever changed that.
    let (base, theirs) = (with_mode(&file.base, own_mode), with_mode(&file.theirs, mode));
    if *now == theirs {
        return Ok(None);
    }
    if *now == base || *now == with_mode(&file.theirs, own_mode) {
        return Ok(Some(theirs));
    }
    match merge_contents(&base, now, &theirs) {
        Some(Merge::Clean(text)) => {
            let after = FileContent::File { bytes: text.into_bytes().into(), mode };
            // It was taken over before: what differs now is of here.
            Ok((*now != after).then_some(after))
        }
        Some(Merge::Marked(_)) | None => Err(DivergenceConflict::SamePlace),
    }
}

/// The mode that a file has afterwards: its own, with the right to run it as the copy changed that.
fn mode_after(file: &Divergence, own: u32) -> u32 {
    let runs = |side: &Option<CopiedFile>| side.as_ref().is_some_and(|file| file.is_executable);
    match (runs(&file.base), runs(&file.theirs)) {
        // Whoever may read it may run it then.
        (false, true) => own | ((own & 0o444) >> 2),
        (true, false) if file.theirs.is_some() => own & !EXECUTE_BITS,
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(text: &str, is_executable: bool) -> Option<CopiedFile> {
        Some(CopiedFile { bytes: text.into(), is_executable })
    }

    fn left(base: Option<CopiedFile>, theirs: Option<CopiedFile>) -> Divergence {
        Divergence { path: "a".into(), base, theirs, obstacle: None }
    }

    fn here(text: &str, mode: u32) -> FileContent {
        FileContent::File { bytes: text.as_bytes().into(), mode }
    }

    #[test]
    fn r7_what_was_left_in_a_copy_is_put_onto_what_is_here() {
        use DivergenceConflict::{NoFile, SamePlace};
        let plain = |text| copied(text, false);
        let changed = left(plain("1\n2\n3\n"), plain("1\n2\n4\n"));
        let cases = [
            (&changed, here("1\n2\n3\n", 0o600), Ok(Some(here("1\n2\n4\n", 0o600)))),
            (&changed, here("1\n2\n4\n", 0o644), Ok(None)),
            (&changed, here("0\n2\n3\n", 0o644), Ok(Some(here("0\n2\n4\n", 0o644)))),
            (&changed, here("0\n2\n4\n", 0o644), Ok(None)),
            (&changed, here("1\n2\n5\n", 0o644), Err(SamePlace)),
            (&changed, FileContent::Absent, Err(SamePlace)),
            (&changed, FileContent::Folder, Err(NoFile)),
            (&left(None, plain("x")), FileContent::Absent, Ok(Some(here("x", 0o644)))),
            (&left(plain("x"), None), here("x", 0o644), Ok(Some(FileContent::Absent))),
            (&left(plain("x"), None), here("y", 0o644), Err(SamePlace)),
            (&left(plain("x"), None), FileContent::Absent, Ok(None)),
        ];
        for (file, now, expected) in cases {
            assert_eq!(merge_divergence(file, &now), expected, "{file:?} onto {now:?}");
        }
    }

    #[test]
    fn r7_the_right_to_run_a_file_is_taken_over_with_it() {
        let made = left(copied("x", false), copied("x", true));
        let cases = [
            (&made, here("x", 0o640), Ok(Some(here("x", 0o750)))),
            (&made, here("x", 0o755), Ok(None)),
            (&left(None, copied("x", true)), FileContent::Absent, Ok(Some(here("x", 0o755)))),
            (
                &left(copied("x", true), copied("y", false)),
                here("x", 0o755),
                Ok(Some(here("y", 0o644))),
            ),
            // What was changed here alone stays.
            (
                &left(copied("x", false), copied("y", false)),
                here("x", 0o755),
                Ok(Some(here("y", 0o755))),
            ),
        ];
        for (file, now, expected) in cases {
            assert_eq!(merge_divergence(file, &now), expected, "{file:?} onto {now:?}");
        }
    }

    #[test]
    fn r7_what_cannot_be_taken_is_a_conflict_of_its_path_alone() {
        let file = Divergence { obstacle: Some("it is a link".into()), ..left(None, None) };
        let told = merge_divergence(&file, &FileContent::Absent);
        assert_eq!(told, Err(DivergenceConflict::Obstacle("it is a link".into())));
    }
}
