//! The windows that local servers really hold: asked before a model is spoken with, kept for a
//! short while, and told in a sentence where it is smaller than a person would think (R6). Not
//! here: how each server is asked (`weir-providers`), what a session does with its window.

use weir_core::session::SessionConfig;
use weir_core::view::plain::visible_text;
use weir_providers::catalogue::{LOCAL_WINDOW, ResolvedModel};
use weir_providers::window::{self, LoadPolicy, WindowReport};

use super::{process_transport, vendor_endpoint};
use crate::context::InstallationContext;
use crate::failure::usage;

/// A window from which on nobody is told that a model could take more.
const ROOMY: u64 = 32_768;
/// Tokens that a conversation needs beside instructions and tools, at least.
const TALK_TOKENS_MIN: u64 = 1_024;

/// Whether the settings say the window of this model: then nobody is asked.
fn is_set(cx: &InstallationContext, model: &str) -> bool {
    let models = cx.config().ok().map(|config| &config.settings.models);
    models.and_then(|models| models.get(model)).is_some_and(|row| row.window.is_some())
}

/// Asks the server of a local model which window holds, unless it said so just now, and says what a
/// person should know of it.
pub(super) async fn ask_local_window(
    cx: &InstallationContext,
    resolved: &ResolvedModel,
) -> anyhow::Result<()> {
    let (vendor, name) = (&resolved.vendor, resolved.info.model.to_string());
    if !window::can_be_asked(vendor)
        || is_set(cx, &name)
        || cx.windows.recent_window(&name).is_some()
    {
        return Ok(());
    }
    let (endpoint, _) = vendor_endpoint(cx, &super::load_catalogue(cx)?, vendor)?;
    let model = &resolved.info.model.name;
    let asked =
        window::ask_window(&endpoint, &process_transport(cx), model, LoadPolicy::Allowed).await;
    let Some(asked) = asked else { return Ok(()) };
    if asked == WindowReport::Missing {
        return Err(usage(format!(
            "{} has no model {model}: `ollama pull {model}` fetches it, `weir models {} --probe` lists \
             what is there",
            vendor.name, vendor.name
        )));
    }
    cx.windows.remember_window(&name, asked);
    if let Some(text) = describe_window_answer(resolved, &endpoint.base_url, asked) {
        cx.notify(&format!("note: {}", visible_text(&text)));
    }
    Ok(())
}

/// What a person should know of an answer, in a sentence.
fn describe_window_answer(
    resolved: &ResolvedModel,
    place: &str,
    window: WindowReport,
) -> Option<String> {
    let model = &resolved.info.model;
    let more = window::how_to_raise(&resolved.vendor, &model.name);
    let assumed = format!(
        "a window of {LOCAL_WINDOW} tokens is assumed for {model}, so that nothing is cut off unseen; for \
         more, {more}; or say what holds as `window` under [models.\"{model}\"]"
    );
    match window {
        WindowReport::Holds { tokens, can }
            if tokens < ROOMY && can.is_none_or(|can| can > tokens) =>
        {
            let of =
                can.map(|can| format!(", of the {can} that it could take")).unwrap_or_default();
            Some(format!("{model} has a window of {tokens} tokens here{of}; for more, {more}"))
        }
        WindowReport::Holds { .. } => None,
        WindowReport::Unsaid { can } => {
            let could = can.map(|can| format!(" (it could take {can})")).unwrap_or_default();
            Some(format!(
                "{} does not say which window holds{could}: {assumed}",
                resolved.vendor.name
            ))
        }
        WindowReport::Missing | WindowReport::Silent => {
            Some(format!("nobody at {place} says which window holds: {assumed}"))
        }
    }
}

/// What is known of a local model, with the window that holds: what its server said, or little.
pub(super) fn with_window(cx: &InstallationContext, mut resolved: ResolvedModel) -> ResolvedModel {
    let name = resolved.info.model.to_string();
    if !window::can_be_asked(&resolved.vendor) || is_set(cx, &name) {
        return resolved;
    }
    let info = &mut resolved.info;
    info.window = match cx.windows.recent_window(&name) {
        Some(WindowReport::Holds { tokens, .. }) => tokens,
        Some(WindowReport::Unsaid { .. } | WindowReport::Missing | WindowReport::Silent) | None => {
            LOCAL_WINDOW
        }
    };
    // An answer must fit beside what it answers.
    info.max_output = info.max_output.min(info.window / 2).max(1);
    resolved
}

/// Refuses a session whose instructions and tools alone do not fit the window that a local server
/// said it holds: the server would cut them at the front without a word.
///
/// # Errors
/// A usage error with what is needed, what there is, and how to have more.
pub fn check_fits_window(cx: &InstallationContext, session: &SessionConfig) -> anyhow::Result<()> {
    let name = session.model.model.to_string();
    let Some(WindowReport::Holds { tokens, .. }) = cx.windows.recent_window(&name) else {
        return Ok(());
    };
    let needed = session.standing_tokens().saturating_add(TALK_TOKENS_MIN);
    if is_set(cx, &name) || needed <= tokens {
        return Ok(());
    }
    let resolved = super::load_catalogue(cx)?.resolve_ref(&session.model.model);
    let more = resolved.map(|known| window::how_to_raise(&known.vendor, &known.info.model.name));
    Err(usage(format!(
        "{name} has a window of {tokens} tokens, and instructions and tools need about {needed} with \
         the least room for a conversation: what does not fit would be cut off unseen. For a larger \
         window, {}; or take another model, or a profile with fewer tools",
        more.unwrap_or_default()
    )))
}
