//! Sessions whose stand-in cannot be had any more, the model that went on in the place of their own (V8). Not
//! here: which model goes on instead (`weir_core::routing`).

use std::sync::Arc;

use weir_core::session::SessionConfig;
use weir_core::view::plain::visible_text;
use weir_engine::missing_model::MissingModel;
use weir_engine::ports::Model;

use crate::context::InstallationContext;

/// What such a session opens with. Its own model is not what failed, so it is not locked out by that.
///
/// # Errors
/// Nobody knows which model is its own.
pub(super) fn without_stand_in(
    cx: &InstallationContext,
    kept: &SessionConfig,
    error: anyhow::Error,
) -> anyhow::Result<Arc<dyn Model>> {
    let (Some(home), Some(away)) = (&kept.routing.home, &kept.routing.away) else {
        return Err(error);
    };
    let why = visible_text(&format!("{away} stood in for {home} and cannot be had: {error:#}"));
    cx.notify(&format!("note: {why}; the next run begins with {home}"));
    Ok(Arc::new(MissingModel::new(&kept.model, &why)))
}
