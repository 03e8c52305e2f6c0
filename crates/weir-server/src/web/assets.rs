//! The route that gives style and scripts. Not here: the files and their addresses (`page::assets`).

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;

use crate::page::assets::{AssetFile, HASH_CHARACTERS, VERSION, encode_hex, find_asset};
use crate::problem::ProblemDetails;
use crate::route::{Route, RouteAccess};

/// One route for all of them.
pub(crate) fn asset_routes() -> Vec<Route> {
    vec![Route::get("/assets/{version}/{*file}", get_asset).access(RouteAccess::Anyone)]
}

/// A file as addresses name it, with the state of the program that the page was made by.
#[derive(Debug, Deserialize)]
struct AssetPath {
    version: String,
    file: String,
}

async fn get_asset(
    Path(AssetPath { version, file: name }): Path<AssetPath>,
    headers: HeaderMap,
) -> Response {
    match find_asset(&name) {
        Some(file) => asset_response(&file, &name, version == VERSION.as_str(), &headers),
        None => ProblemDetails::not_found(format!("the file {name:?}")).into_response(),
    }
}

/// `is_current`: the address names the state that this program has; another one (a page that was
/// loaded before an update) gets the file as it is now and asks again next time.
fn asset_response(file: &AssetFile, name: &str, is_current: bool, asked: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", &encode_hex(&file.hash)[..HASH_CHARACTERS * 2]);
    let keep = match is_current {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let same = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let known = same.is_some_and(|tags| tags.split(',').any(|one| one.trim() == tag));
    let mut response = match known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => file.text.as_bytes().to_vec().into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(name)));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::assets::FILES;

    #[test]
    fn s13_what_the_frame_loads_is_there_and_nothing_comes_from_elsewhere() {
        for name in ["app.css", "theme.js", "frame.js", "icon.svg"] {
            assert!(FILES.contains_key(name), "{name}");
        }
        for (name, AssetFile { text, .. }) in FILES.iter() {
            assert_ne!(media_type(name), "application/octet-stream", "{name}");
            for loads in
                ["@import url(http", "url(http", "from \"http", "import(\"http", "src=\"http"]
            {
                assert!(!text.contains(loads), "{name} loads from elsewhere: {loads}");
            }
            if name.ends_with(".js") {
                for unsafe_sink in ["eval(", "new Function", "document.write", ".outerHTML ="] {
                    assert!(!text.contains(unsafe_sink), "{name} has {unsafe_sink}");
                }
                let makes_html = text.contains("innerHTML") || text.contains("createPolicy");
                assert!(!makes_html || *name == "html.js", "{name} makes HTML beside html.js");
            }
        }
    }
}
