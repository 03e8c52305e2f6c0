//! The model that makes pictures for the agent, where the settings name one (K13). Not here: how it is
//! asked (`weir_providers::picture`), and the tool.

use std::sync::Arc;

use weir_engine::ports::PictureModel;
use weir_providers::picture::RemotePictureModel;

use super::helper_endpoint::helper_endpoint;
use crate::context::InstallationContext;

/// The model that `helpers.image` names. Nothing is sent yet.
///
/// # Errors
/// It cannot be asked: what is missing.
pub(super) fn picture_model(
    cx: &InstallationContext,
) -> anyhow::Result<Option<Arc<dyn PictureModel>>> {
    let name = &cx.config()?.settings.helpers.image;
    let Some(helper) = helper_endpoint(cx, "helpers.image", name)? else { return Ok(None) };
    let model = helper.connect(cx, RemotePictureModel::new)?;
    Ok(Some(Arc::new(model)))
}
