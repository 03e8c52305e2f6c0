//! Icons: line drawings of 24 by 24, in the text's colour. Decoration only: words stand beside
//! them, or in the label of what they are on.

use maud::{Markup, html};

use super::raw_markup;

/// The icon of this name; an unknown name is a plain dot.
pub(crate) fn render_icon(name: &str) -> Markup {
    html! {
        svg.icon viewBox="0 0 24 24" aria-hidden="true" focusable="false" { (raw_markup(icon_drawing(name))) }
    }
}

fn icon_drawing(name: &str) -> &'static str {
    match name {
        "weir" => {
            r#"<path d="M3 7c3 0 3 2.5 6 2.5S12 7 15 7s3 2.5 6 2.5M3 12c3 0 3 2.5 6 2.5s3-2.5 6-2.5 3 2.5 6 2.5M3 17c3 0 3 2.5 6 2.5s3-2.5 6-2.5 3 2.5 6 2.5"/>"#
        }
        "menu" => r#"<path d="M4 7h16M4 12h16M4 17h16"/>"#,
        "new" => r#"<path d="M12 5v14M5 12h14"/>"#,
        "chats" => r#"<path d="M20 11a7 7 0 0 1-7 7H5l1.6-2.6A7 7 0 0 1 12 4h1a7 7 0 0 1 7 7z"/>"#,
        "approvals" => {
            r#"<path d="M12 3l7 3v5c0 4.5-3 8-7 10-4-2-7-5.5-7-10V6z"/><path d="M9 11.5l2.2 2.2L15.5 9.5"/>"#
        }
        "agents" => r#"<circle cx="12" cy="12" r="8"/><path d="M12 7.5V12l3 2"/>"#,
        "files" => {
            r#"<path d="M3 7a2 2 0 0 1 2-2h4l2 2.5h8a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z"/>"#
        }
        "memory" => r#"<path d="M7 4h10v16l-5-3.5L7 20z"/>"#,
        "brain" => {
            r#"<path d="M6 3.5h13v14H7.5A2 2 0 0 0 5.5 19.5V5.5a2 2 0 0 1 2-2zM5.5 19.5a1.5 1.5 0 0 0 1.5 1h12M9.5 8h6"/>"#
        }
        "library" => r#"<path d="M5 4v16M9 4v16M13 4.5l5.5 15"/>"#,
        "models" => r#"<path d="M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9"/>"#,
        "usage" => r#"<path d="M4 20h16M7 16v-5M12 16V6M17 16v-8"/>"#,
        "audit" => r#"<path d="M6 3h9l4 4v14H6zM9 11h7M9 15h7"/>"#,
        "mail" => r#"<path d="M3 6h18v12H3zM3.5 7l8.5 6 8.5-6"/>"#,
        "settings" => {
            r#"<path d="M4 7h9M17 7h3M4 17h3M11 17h9"/><circle cx="15" cy="7" r="2"/><circle cx="9" cy="17" r="2"/>"#
        }
        "help" => {
            r#"<circle cx="12" cy="12" r="8.5"/><path d="M9.8 9.5a2.3 2.3 0 1 1 3.3 2.1c-.8.4-1.1.9-1.1 1.7M12 16.3v.2"/>"#
        }
        "users" => {
            r#"<circle cx="9" cy="9" r="3.2"/><path d="M3 19c.6-3 3-4.8 6-4.8s5.4 1.8 6 4.8M16 6.3a3 3 0 0 1 0 5.4M18 14.8c1.6.7 2.7 2.2 3 4.2"/>"#
        }
        "admin" => r#"<path d="M4 5h16v6H4zM4 13h16v6H4zM8 8h.1M8 16h.1"/>"#,
        "account" => {
            r#"<circle cx="12" cy="8.5" r="3.5"/><path d="M5 20c.8-3.6 3.6-5.5 7-5.5s6.2 1.9 7 5.5"/>"#
        }
        "bell" => r#"<path d="M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 20.5h4"/>"#,
        "theme" => {
            r#"<circle cx="12" cy="12" r="8"/><path d="M12 4v16a8 8 0 0 0 0-16z" fill="currentColor"/>"#
        }
        "stop" => r#"<path d="M8.5 3.5h7l5 5v7l-5 5h-7l-5-5v-7z"/><path d="M9 12h6"/>"#,
        "halt" => r#"<rect x="7" y="7" width="10" height="10" rx="2" fill="currentColor"/>"#,
        "pause" => r#"<path d="M9 6.5v11M15 6.5v11" stroke-width="2.6"/>"#,
        "resume" => r#"<path d="M8 5.5v13l10.5-6.5z" fill="currentColor"/>"#,
        "send" => r#"<path d="M12 19V5M6 11l6-6 6 6"/>"#,
        "attach" => {
            r#"<path d="M19 11.5l-7.3 7.3a4.5 4.5 0 0 1-6.4-6.4l7.8-7.8a3 3 0 0 1 4.3 4.3l-7.7 7.6a1.5 1.5 0 0 1-2.1-2.1l7-7"/>"#
        }
        "pin" => r#"<path d="M9 4h6l-1 6 3.5 3.5h-11L10 10zM12 13.5V20"/>"#,
        "fork" => {
            r#"<circle cx="7" cy="5.5" r="2"/><circle cx="17" cy="5.5" r="2"/><circle cx="12" cy="18.5" r="2"/><path d="M7 7.5c0 4 5 3 5 9M17 7.5c0 4-5 3-5 9"/>"#
        }
        "undo" => r#"<path d="M9 8H15a4.5 4.5 0 0 1 0 9H8M9 8l3-3M9 8l3 3"/>"#,
        "copy" => r#"<path d="M9 9h10v11H9zM15 9V5H5v11h4"/>"#,
        "again" => r#"<path d="M19 12a7 7 0 1 1-2-4.9M17.5 3.5v4h-4"/>"#,
        "edit" => r#"<path d="M5 19l1-4L16.5 4.5l3 3L9 18z"/>"#,
        "link" => {
            r#"<path d="M10 14l4-4M8.5 11L6 13.5a3.2 3.2 0 0 0 4.5 4.5L13 15.5M15.5 13l2.5-2.5A3.2 3.2 0 0 0 13.5 6L11 8.5"/>"#
        }
        "more" => r#"<path d="M6 12h.1M12 12h.1M18 12h.1" stroke-width="3"/>"#,
        "search" => r#"<circle cx="11" cy="11" r="6"/><path d="M15.5 15.5L20 20"/>"#,
        "tool" => r#"<path d="M5 6l5 5-5 5M12 17h7"/>"#,
        "think" => {
            r#"<path d="M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 10.9c.6.5.9 1.2.9 2h5.2c0-.8.3-1.5.9-2A6 6 0 0 0 12 3z"/>"#
        }
        _ => r#"<circle cx="12" cy="12" r="3"/>"#,
    }
}
