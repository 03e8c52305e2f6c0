//! Whether somebody starts Weir for the first time where they are, and what they are told then (U13):
//! only where nobody chose a permission mode. Not here: the words (`weir_core::view::first_start`).

use weir_core::profile::PermissionMode;
use weir_core::tool::Tier;
use weir_core::view::first_start::FirstStart;
use weir_engine::blocking::run_blocking;
use weir_engine::ports::{SessionFilter, Store};

use super::{SessionOverrides, guest};
use crate::context::InstallationContext;

/// What is told at a first start: `None` where a session exists already, where flag, settings or
/// profile say which mode holds, and where that cannot be found out. `folder`: whose sessions count;
/// none: all that the store has. `store`: none where nothing was kept yet.
pub async fn find_first_start(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    store: Option<&dyn Store>,
    folder: Option<String>,
) -> Option<FirstStart> {
    let config = cx.config().ok()?;
    let profile = super::choose_profile(cx, wishes, None).ok()?;
    let chosen = wishes.permission.is_some()
        || config.is_set("permission")
        || profile.profile.permission.is_some();
    if chosen {
        return None;
    }
    if let Some(store) = store {
        let filter = SessionFilter { workspace: folder, limit: Some(1) };
        if !store.list_sessions(&filter).await.ok()?.is_empty() {
            return None;
        }
    }
    let mode = super::choose_permission_mode(config, wishes, None, &profile);
    let quieter = Some(PermissionMode::AutoEdit);
    let wanted = SessionOverrides { permission: quieter, ..wishes.clone() };
    // Who may not have it is not offered it.
    let allowed = guest::narrow_guest_overrides(cx, &wanted).ok()?.permission == quieter;
    let offered = mode == PermissionMode::Ask && allowed;
    // Whether a sandbox holds is tried out with a process.
    let wish = super::tier_wish(config);
    let is_confined =
        move || weir_sandbox::holding_tier(wish, &super::this_program()) != Tier::None;
    let offers_auto_edit = offered && run_blocking(is_confined).await.unwrap_or(false);
    Some(FirstStart { mode, offers_auto_edit })
}
