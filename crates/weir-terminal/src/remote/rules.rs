//! Rules and trust at a server: which change a decision means there, what it shows, and having it made;
//! and what is told of those that hold. Not here: the dialog (`weir-tui`), and who may (the server).

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_tui::link::{DecisionKind, DecisionRequest};

use super::controller::RequestContext;
use super::decisions::refused;
use super::http::ApiResult;

/// A change, as the server takes it.
pub(super) struct WantedChange {
    deed: String,
    /// The rule, or the folder.
    pub(super) what: String,
}

/// The change that is meant. Trust is of the folder of the session that is shown: there its path is
/// known, and nobody has to type the one of another machine.
pub(super) async fn wanted_change(
    context: &RequestContext,
    request: &DecisionRequest,
) -> ApiResult<WantedChange> {
    let what = match request.kind {
        DecisionKind::TrustGrant | DecisionKind::TrustRemove => session_folder(context).await?,
        DecisionKind::RuleAdd => request.arguments.get(1).cloned().unwrap_or_default(),
        _ => request.name().to_owned(),
    };
    Ok(wanted_deed(request, what))
}

/// The change of `what`, which was looked up before.
pub(super) fn wanted_deed(request: &DecisionRequest, what: String) -> WantedChange {
    let deed = match request.kind {
        DecisionKind::TrustGrant => "trust",
        DecisionKind::TrustRemove => "distrust",
        DecisionKind::RuleAdd => request.name(),
        _ => "remove",
    };
    WantedChange { deed: deed.to_owned(), what }
}

async fn session_folder(context: &RequestContext) -> ApiResult<String> {
    let Some(id) = &context.session else {
        return Err(refused(
            "no session is open yet, so there is no folder to decide about: say something first, or \
             open one with /sessions",
        ));
    };
    let info: Value = context.http.get(&["sessions", id.as_str()], &[]).await?;
    match info["workspace"].as_str() {
        Some(folder) if !folder.is_empty() => Ok(folder.to_owned()),
        _ => Err(refused("the server names no folder of this session: trust it on its Rules page")),
    }
}

/// All of it, in lines, and by which the server names exactly this.
pub(super) async fn look_at_change(
    context: &RequestContext,
    wanted: &WantedChange,
) -> ApiResult<(String, String)> {
    let body = json!({ "deed": wanted.deed, "what": wanted.what });
    let shown: Value = context.http.post_json(&["rules", "look"], &body).await?;
    let field = |name: &str| shown[name].as_str().unwrap_or_default().to_owned();
    let lines = field("text");
    let text: Vec<String> = lines.lines().map(visible_text).collect();
    Ok((text.join("\n"), field("hash")))
}

/// Makes it, as it was shown: what was done, in words.
pub(super) async fn make_change(
    context: &RequestContext,
    wanted: &WantedChange,
    seen: &str,
) -> ApiResult<String> {
    let body = json!({ "deed": wanted.deed, "what": wanted.what, "hash": seen });
    let done: Value = context.http.post_json(&["rules"], &body).await?;
    Ok(visible_text(done["done"].as_str().unwrap_or("Done.")))
}
