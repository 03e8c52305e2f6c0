//! The search engine of the web as the settings name it. Not here: its key (`secrets`), how it is
//! asked.

use weir_engine::ports::SearchEngine;

use crate::config::search_engine_address;
use crate::context::InstallationContext;

/// Whether somebody searches the web here: an engine that is set up, or a model's vendor.
///
/// # Errors
/// As [`search_engine`].
pub(crate) fn is_web_searched(cx: &InstallationContext) -> anyhow::Result<bool> {
    Ok(cx.config()?.settings.web.search.is_by_vendor() || search_engine(cx)?.is_some())
}

/// The engine that is set up; `None`: none is.
///
/// # Errors
/// The settings or keys cannot be read.
pub(crate) fn search_engine(cx: &InstallationContext) -> anyhow::Result<Option<SearchEngine>> {
    let settings = &cx.config()?.settings.web.search;
    let Some((kind, base)) = search_engine_address(settings) else {
        return Ok(None);
    };
    let is_keyed = kind.key_variable().is_some() || settings.key_env.is_some();
    Ok(Some(SearchEngine {
        kind,
        host: base.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
        base_url: base.as_str().trim_end_matches('/').to_owned(),
        secret: is_keyed.then(|| kind.as_str().to_owned()),
    }))
}
