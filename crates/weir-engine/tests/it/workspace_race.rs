//! Races: a folder that is swapped with a link while it is used never leads out (Z6).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::fs::{CWD, RenameFlags};
use weir_core::tool::{FileState, PathAccess};
use weir_engine::ports::FileContent;

use crate::world::{ALL, World, file_image};

/// Swaps of the racing thread.
const SWAPS: u32 = 100_000;
/// After so many it lets the other side finish two rounds undisturbed. The number is odd, so the
/// rests fall on the folder and on the link in turn, and both outcomes are certain to be met.
const SWAPS_BETWEEN_RESTS: u32 = 199;

/// A folder `ws/dir` that a thread swaps with a link to `out` until the work is done.
fn while_swapping(world: &World, work: impl Fn()) -> u32 {
    world.file("dir/f.txt", "inside");
    world.elsewhere("out/f.txt", "outside");
    world.link("other", world.real("out"));
    let dir = world.real("ws/dir");
    let other = world.real("ws/other");
    let is_over = Arc::new(AtomicBool::new(false));
    let rounds = Arc::new(AtomicU32::new(0));
    let racer = std::thread::spawn({
        let (is_over, rounds) = (Arc::clone(&is_over), Arc::clone(&rounds));
        move || {
            let mut swaps = 0;
            while swaps < SWAPS {
                swap(&dir, &other);
                swaps += 1;
                if swaps % SWAPS_BETWEEN_RESTS == 0 {
                    let until = rounds.load(Ordering::Relaxed) + 2;
                    while rounds.load(Ordering::Relaxed) < until {
                        std::thread::yield_now();
                    }
                }
            }
            is_over.store(true, Ordering::Release);
            swaps
        }
    });
    while !is_over.load(Ordering::Acquire) {
        work();
        rounds.fetch_add(1, Ordering::Relaxed);
    }
    racer.join().unwrap()
}

fn swap(a: &Path, b: &Path) {
    rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn z6_reads_never_leave_while_links_are_swapped() {
    let world = World::new();
    let effect = {
        world.file("dir/f.txt", "inside");
        world.workspace.resolve("dir/f.txt", PathAccess::Read)
    };
    let list = world.workspace.resolve("dir", PathAccess::List);
    let inside = AtomicU32::new(0);
    let refused = AtomicU32::new(0);
    let swaps = while_swapping(&world, || {
        match world.workspace.read(&effect, 100) {
            Ok(FileContent::File { bytes, .. }) => {
                assert_eq!(&*bytes, b"inside");
                inside.fetch_add(1, Ordering::Relaxed);
            }
            Ok(FileContent::Absent | FileContent::Folder | FileContent::Link { .. }) => {}
            Err(_) => {
                refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        if let Ok(walk) = world.workspace.walk(&list, ALL) {
            assert!(walk.entries.iter().all(|e| e.bytes != 7), "{walk:?}");
        }
    });
    assert_eq!(swaps, SWAPS);
    assert!(inside.into_inner() > 0 && refused.into_inner() > 0, "both sides were met");
}

#[test]
fn z6_writes_never_leave_while_links_are_swapped() {
    let world = World::new();
    let written = AtomicU32::new(0);
    let swaps = while_swapping(&world, || {
        let at = world.workspace.resolve("dir/new.txt", PathAccess::Create);
        // Resolved while it was the link: it says so, and is not used.
        if at.path != "dir/new.txt" {
            return;
        }
        let create = weir_core::tool::PlannedChange {
            path: at.path,
            before: FileState::Absent,
            after: file_image("new", 0o644),
        };
        if world.apply(std::slice::from_ref(&create), &[("dir/new.txt", "new")]).is_ok() {
            written.fetch_add(1, Ordering::Relaxed);
        }
        let back = weir_core::tool::PlannedChange {
            before: create.after.clone(),
            after: FileState::Absent,
            ..create
        };
        // The folder may be away just now: again, but not for ever.
        (0..100).any(|_| world.apply(std::slice::from_ref(&back), &[]).is_ok());
    });
    assert_eq!(swaps, SWAPS);
    assert!(written.into_inner() > 0);
    let mut outside: Vec<_> =
        std::fs::read_dir(world.real("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    outside.sort();
    assert_eq!(outside, ["f.txt"]);
    assert_eq!(std::fs::read_to_string(world.real("out/f.txt")).unwrap(), "outside");
}
