//! The windows that local servers really hold: asked before a model is spoken with, kept for a
//! short while, and told in a sentence where it is smaller than a person would think (R6). Not
//! here: how each server is asked (`weir-providers`), what a session does with its window.

use futures::future::BoxFuture;
use weir_core::session::SessionConfig;
use weir_core::view::plain::visible_text;
use weir_providers::catalogue::{ResolvedModel, guessed_window};
use weir_providers::text_tools::{TEXT_CALLS, TEXT_TOOLS};
use weir_providers::window::{self, LoadPolicy, ModelCapabilities, ServerReport, WindowReport};

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

/// Whether the settings say what this model can do.
pub(super) fn is_able(cx: &InstallationContext, model: &str) -> bool {
    let models = cx.config().ok().map(|config| &config.settings.models);
    models.and_then(|models| models.get(model)).is_some_and(|row| row.abilities.is_some())
}

/// What a model can do, by the words of its server. One whose template has no way to call tools is told them in
/// its prompt (V5).
fn abilities_of(can: ModelCapabilities) -> Vec<String> {
    let tools: &[&str] = if can.tools { &["tools", TEXT_CALLS] } else { &[TEXT_TOOLS] };
    let more = [("thinking", can.thinking), ("images", can.images)];
    let more = more.iter().filter(|(_, has)| *has).map(|(ability, _)| *ability);
    tools.iter().copied().chain(more).map(str::to_owned).collect()
}

/// Asks the server of a local model which window holds, unless it said so just now, and says what a
/// person should know of it.
pub(super) fn ask_local_window<'a>(
    cx: &'a InstallationContext,
    resolved: &'a ResolvedModel,
) -> BoxFuture<'a, anyhow::Result<()>> {
    // An async function is compiled anew by each crate that awaits it; boxed, by this one alone (Q23).
    Box::pin(ask_once(cx, resolved))
}

async fn ask_once(cx: &InstallationContext, resolved: &ResolvedModel) -> anyhow::Result<()> {
    let name = resolved.info.model.to_string();
    if !window::can_be_asked(&resolved.vendor) {
        return say_guess(cx, resolved);
    }
    if is_set(cx, &name) || cx.windows.recent_report(&name).is_some() {
        return Ok(());
    }
    let (report, place) = ask_server(cx, resolved, LoadPolicy::Allowed).await?;
    cx.windows.remember_report(&name, report);
    // That nothing is known is said once; what a server says of itself may change.
    if !is_unknown(report) || cx.windows.tells_guess(&name) {
        say_answer(cx, resolved, report, &place);
    }
    Ok(())
}

/// Whether nobody knows what the server is, and it says nothing of a window.
fn is_unknown(report: ServerReport) -> bool {
    let is_unsaid = matches!(report.window, WindowReport::Unsaid { .. } | WindowReport::Silent);
    report.server.is_none() && is_unsaid
}

/// The same of a model that is to go on in the place of another one. Where nobody answers that is no guess of
/// a window, but a reason to pass it over: the conversation is not made shorter for it. A window that the
/// settings say holds, and says nothing of whether anybody is there.
///
/// # Errors
/// A usage error: nobody answers, or there is no such model.
pub(super) async fn ask_stand_in_window(
    cx: &InstallationContext,
    resolved: &ResolvedModel,
) -> anyhow::Result<()> {
    let (vendor, name) = (&resolved.vendor, resolved.info.model.to_string());
    let recent = cx.windows.recent_report(&name).map(|report| report.window);
    let has_answered = recent.is_some_and(|window| window != WindowReport::Silent);
    let is_set = is_set(cx, &name);
    // It may be a vendor's: the request itself tells whether somebody is there.
    let is_left_alone = is_set && !window::is_own_server(vendor);
    if !window::can_be_asked(vendor) || has_answered || is_left_alone {
        return ask_local_window(cx, resolved).await;
    }
    // What it answers is of no use where the window is set: nothing is loaded to find that out, or kept.
    let loading = if is_set { LoadPolicy::Avoided } else { LoadPolicy::Allowed };
    let (report, place) = ask_server(cx, resolved, loading).await?;
    if !is_set {
        cx.windows.remember_report(&name, report);
    }
    if report.window == WindowReport::Silent {
        return Err(usage(format!(
            "nobody answers at {}, the address of {}: start it, or name another model",
            visible_text(&place),
            vendor.name
        )));
    }
    if !is_set {
        say_answer(cx, resolved, report, &place);
    }
    Ok(())
}

/// Asks the server of a local model before anybody speaks with it, and loads nothing for that. Only a window
/// that holds is kept. Best effort: whoever is not answered goes on with what is known, which is careful.
pub(super) async fn ask_ahead(cx: &InstallationContext, name: &str, notice: WindowNotice) {
    let Ok(resolved) = super::load_catalogue(cx).and_then(|known| Ok(known.resolve_model(name)?))
    else {
        return;
    };
    let name = resolved.info.model.to_string();
    let is_known = is_set(cx, &name) || cx.windows.recent_report(&name).is_some();
    if is_known || !window::can_be_asked(&resolved.vendor) {
        return;
    }
    let asked = ask_server(cx, &resolved, LoadPolicy::Avoided).await;
    if let Ok((report @ ServerReport { window: WindowReport::Holds { .. }, .. }, _)) = &asked {
        cx.windows.remember_ahead(&name, *report);
    }
    let tells = notice == WindowNotice::Once && cx.windows.tells_guess(&name);
    match asked {
        Ok((report, place)) if tells => say_answer(cx, &resolved, report, &place),
        Err(error) if tells => cx.notify(&format!("note: {}", visible_text(&error.to_string()))),
        Ok(_) | Err(_) => (),
    }
}

/// Whether a person hears what a server answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowNotice {
    /// Once for each model.
    Once,
    /// Not yet: nobody may ever speak with it.
    Never,
}

/// What the server of a local model says of it, and where that server is.
///
/// # Errors
/// A usage error: it has no such model.
async fn ask_server(
    cx: &InstallationContext,
    resolved: &ResolvedModel,
    loading: LoadPolicy,
) -> anyhow::Result<(ServerReport, String)> {
    let (vendor, model) = (&resolved.vendor, &resolved.info.model.name);
    let (endpoint, _) = vendor_endpoint(cx, super::load_catalogue(cx)?, vendor)?;
    let asked = window::ask_window(&endpoint, &process_transport(cx), model, loading).await;
    let report = asked.unwrap_or_else(|| WindowReport::Silent.into());
    if report.window == WindowReport::Missing {
        return Err(usage(format!(
            "{} has no model {model}: `ollama pull {model}` fetches it, `weir models {} --probe` lists \
             what is there",
            vendor.name, vendor.name
        )));
    }
    Ok((report, endpoint.base_url))
}

/// Says what a person should know of an answer from `place`.
fn say_answer(
    cx: &InstallationContext,
    resolved: &ResolvedModel,
    report: ServerReport,
    place: &str,
) {
    if let Some(text) = describe_window_answer(resolved, place, report) {
        cx.notify(&format!("note: {}", visible_text(&text)));
    }
}

/// Says once that the window of a model of which nothing is known is a guess.
fn say_guess(cx: &InstallationContext, resolved: &ResolvedModel) -> anyhow::Result<()> {
    let (model, window) = (&resolved.info.model, resolved.info.window);
    let is_guess = super::load_catalogue(cx)?.guesses_window(model);
    if is_guess && cx.windows.tells_guess(&model.to_string()) {
        cx.notify(&format!("note: {}", visible_text(&describe_guess(resolved, window))));
    }
    Ok(())
}

/// That a window is a guess, in a sentence.
fn describe_guess(resolved: &ResolvedModel, window: u64) -> String {
    let model = &resolved.info.model;
    format!(
        "nothing is known of {model}: its window of {window} tokens is a guess; say what holds as `window` \
         under [models.\"{model}\"] (`weir models {} --probe` asks the provider)",
        resolved.vendor.name
    )
}

/// What a person should know of an answer, in a sentence.
fn describe_window_answer(
    resolved: &ResolvedModel,
    place: &str,
    report: ServerReport,
) -> Option<String> {
    let guess = guessed_window(&resolved.vendor);
    if is_unknown(report) {
        return Some(describe_guess(resolved, guess));
    }
    let (model, window) = (&resolved.info.model, report.window);
    let more = window::how_to_raise(&resolved.vendor, report.server, &model.name);
    let assumed = format!(
        "a window of {guess} tokens is assumed for {model}, so that nothing is cut off unseen; for \
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
    let (asked, is_own) = (window::can_be_asked(&resolved.vendor), resolved.vendor.is_own);
    if is_set(cx, &name) || !(asked || is_own) {
        return resolved;
    }
    let report = cx.windows.last_report(&name).filter(|_| asked);
    let info = &mut resolved.info;
    if let Some(can) = report.and_then(|report| report.capabilities)
        && !is_able(cx, &name)
    {
        info.abilities = abilities_of(can);
    }
    info.window = match report.map(|report| report.window) {
        Some(WindowReport::Holds { tokens, .. }) => tokens,
        Some(WindowReport::Unsaid { .. } | WindowReport::Missing | WindowReport::Silent) | None => {
            guessed_window(&resolved.vendor)
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
    let report = cx.windows.recent_report(&name);
    let Some(ServerReport { window: WindowReport::Holds { tokens, .. }, server, .. }) = report
    else {
        return Ok(());
    };
    let needed = session.standing_tokens().saturating_add(TALK_TOKENS_MIN);
    if is_set(cx, &name) || needed <= tokens {
        return Ok(());
    }
    let resolved = super::load_catalogue(cx)?.resolve_ref(&session.model.model);
    let raise =
        |known: ResolvedModel| window::how_to_raise(&known.vendor, server, &known.info.model.name);
    let more = resolved.map(raise);
    Err(usage(format!(
        "{name} has a window of {tokens} tokens, and instructions and tools need about {needed} with \
         the least room for a conversation: what does not fit would be cut off unseen. For a larger \
         window, {}; or take another model, or a profile with fewer tools",
        more.unwrap_or_default()
    )))
}
