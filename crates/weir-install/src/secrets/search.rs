//! The key of the search engine, as a secret for its host alone. Not here: which engine it is.

use weir_core::secret::Secret;
use weir_engine::ports::{KeyHeader, SearchEngine, SearchEngineKind};
use weir_web::{WebSecret, check_value};

use super::DeclaredSecret;
use crate::config::search_engine_address;
use crate::context::InstallationContext;
use crate::keys::KeySource;
use crate::search::search_engine;

/// Its key, under the engine's name and for its host alone.
///
/// # Errors
/// As [`search_engine`].
pub(super) fn search_secret(cx: &InstallationContext) -> anyhow::Result<Option<DeclaredSecret>> {
    let settings = &cx.config()?.settings.web.search;
    let Some(SearchEngine { kind, secret: Some(name), .. }) = search_engine(cx)? else {
        return Ok(None);
    };
    let Some((_, base)) = search_engine_address(settings) else { return Ok(None) };
    let (value, source) = engine_key(cx, kind)?;
    let host = base.host_str().unwrap_or_default();
    let place = base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let KeyHeader { name: header, format } = kind.key_header();
    let web = WebSecret {
        name,
        hosts: vec![place],
        header: header.into(),
        format: format.into(),
        value: value.and_then(|value| check_value(&value).map(|()| value)),
    };
    Ok(Some(DeclaredSecret { source, web }))
}

/// The key or why there is none, and where it is or would be.
fn engine_key(
    cx: &InstallationContext,
    kind: SearchEngineKind,
) -> anyhow::Result<(Result<Secret, String>, KeySource)> {
    let named = cx.config()?.settings.web.search.key_env.clone();
    let variable = named.or_else(|| kind.key_variable().map(Into::into)).unwrap_or_default();
    if let Some(text) = cx.environment.text_variable(&variable).filter(|text| !text.is_empty()) {
        return Ok((Ok(Secret::new(text)), KeySource::Variable(variable)));
    }
    let keys = cx.provider_keys()?;
    let name = kind.as_str();
    let kept = keys.kept_key(name).cloned();
    let why = || format!("no key: run `weir auth set {name}`, or set the variable {variable}");
    Ok((kept.ok_or_else(why), keys.source_or_file(name)))
}
