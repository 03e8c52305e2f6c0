//! `/mcp`: programs of a person that call tools by the Model Context Protocol over HTTP, with a token that is
//! good for this and nothing else (R2), and where a program finds that out (RFC 9728). Not here: what one without
//! a token is told (`mcp_token`), the protocol (`weir-mcp-server`), whose agent is behind it (`mcp_clients`), and
//! what a call goes through (`weir_install::mcp_serving`).

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use serde::Serialize;
use weir_mcp_server::HttpOptions;

use crate::app::App;
use crate::caller::CallerScope;
use crate::live::pause;
use crate::mcp_clients::MCP_PATH;
use crate::mcp_token::{RESOURCE_METADATA, RESOURCE_METADATA_OF_SITE, SCOPE};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::{Route, RouteAccess};

/// How often it is looked whose programs may still be served.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Bytes of one message.
const BODY_BYTES_MAX: usize = 8 << 20;

/// Streamable HTTP: messages, the stream of the server's own, and the end of a connection.
pub(crate) fn mcp_routes() -> Vec<Route> {
    let metadata = |path| {
        Route::get(path, get_resource_metadata)
            .access(RouteAccess::Anyone)
            .summary("How a program gets in at /mcp (RFC 9728)")
            .gives_json::<ProtectedResource>(200)
    };
    vec![
        metadata(RESOURCE_METADATA),
        metadata(RESOURCE_METADATA_OF_SITE),
        Route::post(MCP_PATH, answer_client).body_max(BODY_BYTES_MAX),
        Route::get(MCP_PATH, answer_client),
        Route::delete(MCP_PATH, answer_client),
    ]
}

/// Looks, as long as the server is there, whose programs may still be served.
pub(crate) async fn watch_people(app: App) {
    loop {
        tokio::select! {
            biased;
            () = app.stop.cancelled() => return,
            () = tokio::time::sleep(LOOK_EVERY) => app.mcp.end_those_over(&app.auth.shelf).await,
        }
    }
}

/// How a program gets in at `/mcp` (RFC 9728, section 2). No authorization server is named, because there is none:
/// tokens are made by their person.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProtectedResource {
    /// The address that a token is for.
    resource: String,
    /// What a token must be good for.
    scopes_supported: Vec<&'static str>,
    /// How a token is sent: `header`.
    bearer_methods_supported: Vec<&'static str>,
    /// Name of what is protected, for people.
    resource_name: &'static str,
    /// Where people make a token.
    resource_documentation: String,
}

async fn get_resource_metadata(
    State(app): State<App>,
    headers: HeaderMap,
) -> HandlerResult<Json<ProtectedResource>> {
    let origin = app
        .asked_origin(&headers)
        .ok_or_else(|| ProblemDetails::bad_request("the request names no host"))?;
    Ok(Json(ProtectedResource {
        resource: format!("{origin}{MCP_PATH}"),
        scopes_supported: vec![SCOPE],
        bearer_methods_supported: vec!["header"],
        resource_name: "Weir: tools over MCP",
        resource_documentation: format!("{origin}/account"),
    }))
}

async fn answer_client(
    State(app): State<App>,
    owner: CallerSpace,
    request: Request,
) -> HandlerResult<Response> {
    // A token for everything would give whoever has it the approvals too.
    if owner.caller.scope != CallerScope::Mcp {
        return Err(ProblemDetails::not_permitted(
            "this address takes tokens with the scope \"mcp\" only: make one in your account",
        ));
    }
    let ends = || ProblemDetails::internal_failure("the server ends");
    if app.stop.is_cancelled() {
        return Err(ends());
    }
    pause::may_run(&app, owner.space.as_ref()).await?;
    let options = HttpOptions { origins: vec![own_origin(&app)], stop: app.stop.child_token() };
    let clients = tokio::select! {
        clients = app.mcp.clients_of(&owner.space, options) => clients?,
        () = app.stop.cancelled() => return Err(ends()),
    };
    let answer = tokio::select! {
        answer = clients.http.answer_request(request) => answer,
        () = clients.stop.cancelled() => return Err(ends()),
    };
    Ok(answer.map(Body::new))
}

/// The address of pages of this server.
fn own_origin(app: &App) -> String {
    let options = &app.options;
    match (&options.public_url, &options.tls) {
        (Some(url), _) => url.clone(),
        (None, Some(_)) => format!("https://{}", options.bind),
        (None, None) => format!("http://{}", options.bind),
    }
}
