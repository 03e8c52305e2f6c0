//! Skills of a scenario: where they are looked for, those of the person's own, and files that are
//! marked as foreign before the session. Skills of the workspace are files of the setup.

use std::path::Path;

use weir_core::ids::{SessionId, Timestamp};
use weir_engine::ports::{Append, FileMark, LeaseOwner, SessionMeta, Store};
use weir_engine::skills::SkillPlaces;

use crate::parse::Setup;

/// Where skills are looked for: in the workspace, and in a folder beside it.
pub fn places(setup: &Setup, folder: &Path) -> SkillPlaces {
    SkillPlaces {
        own: vec![folder.join("own/skills")],
        trusted: setup.trusted,
        bundled: setup.bundled,
        plugins: None,
    }
}

/// Writes the person's own skills.
///
/// # Errors
/// The disk refuses.
pub fn write(setup: &Setup, folder: &Path) -> std::io::Result<()> {
    for (path, text) in &setup.yours {
        let path = folder.join("own/skills").join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// Marks files, as an earlier session would have done. Doing it twice changes nothing.
///
/// # Errors
/// The store refuses.
pub async fn mark(
    store: &dyn Store,
    setup: &Setup,
    workspace: &str,
    now: Timestamp,
) -> anyhow::Result<()> {
    if setup.marked.is_empty() || !store.file_marks(workspace).await?.is_empty() {
        return Ok(());
    }
    let session = SessionId::new("earlier");
    let owner =
        LeaseOwner { pid: 4_000_000, started: 1, host: "scenario".into(), label: "earlier".into() };
    let lease = store.acquire_lease(&session, &owner).await?;
    let mark = |(path, origin): &(String, String)| FileMark {
        workspace: workspace.into(),
        path: path.clone(),
        origin: origin.clone(),
        session: session.clone(),
        ts: now,
    };
    let meta = SessionMeta {
        id: session.clone(),
        workspace: workspace.into(),
        title: "Earlier".into(),
        model: "script/model".into(),
        profile: "agent".into(),
        status: "completed".into(),
        created: now,
        updated: now,
        facts: 0,
        parent: None,
    };
    let append = Append {
        marks: setup.marked.iter().map(mark).collect(),
        ..Append::of_records(lease.clone(), 0, Vec::new(), meta)
    };
    store.append(append).await?;
    Ok(store.release_lease(&lease).await?)
}
