//! Text to safe HTML (S12). Nothing a model, tool or person wrote reaches a page but through here
//! or through maud's own escaping.
//!
//! Two locks. The first makes only what it means to make: raw HTML is text, addresses are `http`,
//! `https` or `mailto`, images are our own. The second, `clean`, is another program's reading of
//! what came out, with a list of what may be in it. Nothing here fetches anything, and nothing takes
//! more than linear time: every piece has a bound, and past it the source is shown. Not here: what a
//! page looks like around it.

use maud::PreEscaped;

mod clean;
mod code;
mod diagram;
mod diff;
mod links;
mod markdown;
mod maths;
mod plain;

pub use code::render_code;
pub use diff::render_diff;
pub use links::{LinkResolver, NoAddresses};
pub use markdown::{MarkdownStyle, TEXT_MAX};
pub use plain::{render_json, render_plain, visible_prose};

/// Markdown as safe HTML: block elements, to be put into a `<div>`.
pub fn render_markdown(text: &str) -> PreEscaped<String> {
    markdown_as(text, &MarkdownStyle::default())
}

/// The same, with addresses of one's own.
pub fn markdown_as(text: &str, style: &MarkdownStyle<'_>) -> PreEscaped<String> {
    PreEscaped(clean::clean_html(&markdown::markdown_html(text, style)))
}

/// The same without such addresses, its highest heading on this level of the page: 2 to 6.
pub fn render_prose(text: &str, heading: u8) -> PreEscaped<String> {
    markdown_as(text, &MarkdownStyle { heading, ..MarkdownStyle::default() })
}

/// A name or another short text on one line: what cannot be seen in it is written out.
pub fn visible_name(text: &str) -> String {
    weir_core::view::plain::visible_text(text)
}
