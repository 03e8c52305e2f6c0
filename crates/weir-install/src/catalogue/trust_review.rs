//! What a person is shown before they trust a workspace, and keeping their answer: what was shown is what
//! is trusted. Not here: how it is shown (`weir trust`, the page of the server).

use serde_json::json;
use weir_core::view::plain::visible_text;
use weir_engine::ports::Clock as _;

use crate::catalogue::skills::sha256_hex;
use crate::config::WorkspaceConfig;
use crate::context::InstallationContext;
use crate::failure::{stale, usage};
use crate::trust::{
    FileSnapshot, TrustOffer, TrustRecord, TrustStore, collect_trust_offers, find_governed_files,
    snapshot_files,
};
use crate::wiring::{self, SystemClock};

/// What a person is shown, and what they then trust.
pub struct TrustReview {
    /// What its files would do.
    pub offers: Vec<TrustOffer>,
    /// Its files, with their hashes.
    pub files: FileSnapshot,
}

impl TrustReview {
    /// Names exactly this of this workspace.
    pub fn hash(&self, cx: &InstallationContext) -> String {
        sha256_hex(json!([cx.folder, self.files, self.offers]).to_string().as_bytes())
    }
}

/// Reads everything that would be trusted. Files are hashed before and after they are understood:
/// what is shown is what is trusted.
///
/// # Errors
/// It cannot be read or understood, or changed while it was: then it cannot be trusted.
pub fn review_workspace(cx: &InstallationContext) -> anyhow::Result<TrustReview> {
    let cannot =
        |why: String| usage(format!("this workspace cannot be trusted: {}", visible_text(&why)));
    let found = find_governed_files(&cx.folder).map_err(cannot)?;
    let files = snapshot_files(&found).map_err(cannot)?;
    // Read as trusted too: what is wrong in it is said now and not at the next run.
    WorkspaceConfig::load(&cx.config_files(), &cx.environment, true)?;
    let config = WorkspaceConfig::load(&cx.config_files(), &cx.environment, false)?;
    let offers = collect_trust_offers(&config.withheld, &found).map_err(cannot)?;
    check_unchanged(cx, &files)?;
    Ok(TrustReview { offers, files })
}

fn check_unchanged(cx: &InstallationContext, files: &FileSnapshot) -> anyhow::Result<()> {
    match find_governed_files(&cx.folder).and_then(|found| snapshot_files(&found)) {
        Ok(now) if now == *files => Ok(()),
        _ => Err(stale("its files have changed meanwhile; nothing was trusted, review them again")),
    }
}

/// Keeps that a person trusts these files.
///
/// # Errors
/// They are others meanwhile, or it cannot be written.
pub fn save_trust_record(cx: &InstallationContext, files: FileSnapshot) -> anyhow::Result<()> {
    check_unchanged(cx, &files)?;
    let trusted_at = SystemClock::default().now();
    let record = TrustRecord { trusted_at, by: wiring::principal_name(cx), files };
    TrustStore::add_record(&cx.dirs.state, &cx.folder, record)
}
