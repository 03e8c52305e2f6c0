//! Taking changes back: what becomes of the snapshot of an undo (G7).

use weir_core::ids::{SessionId, Timestamp};
use weir_engine::ports::{CheckpointFilter, Checkpoints, FileContent, SnapshotEntry};
use weir_engine::undo::{RestoreOrigin, RestorePlan, perform_restore};
use weir_store::MemoryCheckpoints;

use crate::world::World;

fn file(text: &str) -> FileContent {
    FileContent::File { bytes: text.as_bytes().into(), mode: 0o644 }
}

#[tokio::test]
async fn g7_an_undo_that_failed_leaves_nothing_to_undo() {
    let world = World::new();
    let store = MemoryCheckpoints::new();
    let entry = |path: &str| SnapshotEntry {
        path: path.to_owned(),
        before: file("new"),
        after: file("old"),
    };
    let plan = RestorePlan { entries: vec![entry("a"), entry("b")], ..RestorePlan::default() };
    let origin = RestoreOrigin {
        session: SessionId::new("s"),
        run: "r1".to_owned(),
        ts: Timestamp(1_700_000_000_000_000),
    };
    world.file("a", "new");
    world.file("b", "changed meanwhile");
    for (text, taken) in [("changed meanwhile", 0), ("new", 1)] {
        world.file("b", text);
        let done = perform_restore(&store, &world.workspace, plan.clone(), origin.clone()).await;
        assert_eq!(done.is_ok(), taken == 1);
        let found = store.list(world.workspace.root(), &CheckpointFilter::default()).await;
        assert_eq!(found.unwrap().len(), taken);
    }
    assert_eq!(world.text("b").as_deref(), Some("old"));
}
