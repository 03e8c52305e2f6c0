//! What pages are made of: the frame with the navigation around every page, and small pieces that
//! look alike everywhere. Not here: pages that need no account (`page`).

use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, html};
use weir_core::ids::Timestamp;

use crate::caller::Caller;
use crate::page::render_page_head;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::side;

pub(crate) use crate::page::{bare_with, render_icon};

/// An entry of the navigation: address, icon, words, and the name of its count.
struct NavigationEntry(&'static str, &'static str, &'static str, &'static str);

const WORK: &[NavigationEntry] = &[
    NavigationEntry("/", "new", "New chat", ""),
    NavigationEntry("/chats", "chats", "Chats", ""),
    NavigationEntry("/approvals", "approvals", "Approvals", "approvals"),
    NavigationEntry("/agents", "agents", "Agents", ""),
    NavigationEntry("/files", "files", "Files", ""),
    NavigationEntry("/memory", "memory", "Memory", ""),
    NavigationEntry("/brain", "brain", "Brain", ""),
    NavigationEntry("/library", "library", "Library", ""),
];
/// Behind *More*.
const ABOUT: &[NavigationEntry] = &[
    NavigationEntry("/models", "models", "Models", ""),
    NavigationEntry("/usage", "usage", "Usage", ""),
    NavigationEntry("/audit", "audit", "Audit", ""),
    NavigationEntry("/mail", "mail", "Mail", ""),
    NavigationEntry("/settings", "settings", "Settings", ""),
    NavigationEntry("/help", "help", "Help", ""),
];
const ADMIN: &[NavigationEntry] = &[
    NavigationEntry("/users", "users", "People", ""),
    NavigationEntry("/admin", "admin", "Server", ""),
];

/// A page with the navigation around it. `here`: the path of the entry that is marked.
pub(crate) fn framed_page(caller: &Caller, title: &str, here: &str, body: &Markup) -> Markup {
    page_with(caller, title, here, &[], body)
}

/// The same with scripts or styles of its own: names below `web/assets`, `pages/chat.js`.
pub(crate) fn page_with(
    caller: &Caller,
    title: &str,
    here: &str,
    assets: &[&str],
    body: &Markup,
) -> Markup {
    page_beside(caller, PageHead { title, here, assets }, &side::render_side_list(None, None), body)
}

/// What stands in the head of a page, and where it is among the others.
#[derive(Clone, Copy)]
pub(crate) struct PageHead<'a> {
    /// The title of the page.
    pub(crate) title: &'a str,
    /// The path of the entry of the navigation that is marked.
    pub(crate) here: &'a str,
    /// Scripts and styles of its own.
    pub(crate) assets: &'a [&'a str],
}

/// The same with the chats at its side as they are.
pub(crate) fn page_beside(
    caller: &Caller,
    head: PageHead<'_>,
    chats: &Markup,
    body: &Markup,
) -> Markup {
    let PageHead { title, here, assets } = head;
    html! {
        (DOCTYPE)
        html lang="en" {
            (render_page_head(title, assets))
            body.framed data-here=(here) data-csrf=(caller.csrf_token()) data-person=(caller.person.id) {
                a.skip href="#main" { "Skip to content" }
                (render_top_bar(caller, title))
                (render_navigation(caller, here, chats))
                div.pane {
                    (paused_bar(caller))
                    (amiss_bar())
                    main id="main" tabindex="-1" { (body) }
                }
            }
        }
    }
}

fn render_top_bar(caller: &Caller, title: &str) -> Markup {
    html! {
        header.top {
            button.icon-button.menu type="button" popovertarget="nav" aria-label="Menu" {
                (render_icon("menu"))
            }
            a.brand href="/" aria-label="Weir: new chat" { (render_icon("weir")) span { "Weir" } }
            span.top-title aria-hidden="true" { (title) }
            span.grow {}
            a.icon-button href="/notifications" title="Notifications" {
                (render_icon("bell"))
                span.unseen { "Notifications" }
                span.count hidden data-count="notices" aria-hidden="true" {}
                span.unseen {}
            }
            button.icon-button id="theme" type="button" hidden aria-label="Theme" {
                (render_icon("theme"))
            }
            (post_form(caller, "/pause", "stop-all", &html! {
                button.btn.stop type="submit"
                    title="Kill switch: stops all your work and prevents new runs" {
                    (render_icon("stop")) span.wide { "Stop all" }
                    span.unseen { " work (kill switch)" }
                }
            }))
        }
    }
}

fn render_navigation_entries(all: &[NavigationEntry], here: &str) -> Markup {
    html! {
        ul {
            @for NavigationEntry(path, picture, word, count) in all {
                li {
                    a href=(path) aria-current=[(*path == here).then_some("page")] {
                        (render_icon(picture)) span { (word) }
                        @if !count.is_empty() {
                            span.count hidden data-count=(count) aria-hidden="true" {}
                            span.unseen {}
                        }
                    }
                }
            }
        }
    }
}

fn render_navigation(caller: &Caller, here: &str, chats: &Markup) -> Markup {
    let is_more = ABOUT.iter().chain(ADMIN).any(|NavigationEntry(path, ..)| *path == here);
    html! {
        // A popover on a narrow screen, a column on a wide one: neither needs a script.
        nav id="nav" popover aria-label="Main" {
            (render_navigation_entries(WORK, here))
            (chats)
            details.nav-more open[is_more] {
                summary { (render_icon("more")) span { "More" } }
                (render_navigation_entries(ABOUT, here))
                @if caller.is_admin() { (render_navigation_entries(ADMIN, here)) }
            }
            div.who {
                a href="/account" aria-current=[(here == "/account").then_some("page")] {
                    (render_icon("account")) span { (caller.person.display_name()) }
                }
                (post_form(caller, "/signout", "", &html! {
                    (submit_button(ButtonLook::Quiet, "Sign out"))
                }))
            }
        }
    }
}

/// Says that the kill switch was thrown. Filled in by `frame.js`; without it `/pause` says so.
fn paused_bar(caller: &Caller) -> Markup {
    html! {
        div.notice.bad.paused id="paused" role="status" hidden {
            p {}
            (post_form(caller, "/release", "", &html! {
                (submit_button(ButtonLook::Plain, "Release"))
            }))
        }
    }
}

/// Says that the server cannot do its work. Filled in by `frame.js`; without it each refusal says so.
fn amiss_bar() -> Markup {
    html! { div.notice.bad.paused id="amiss" role="alert" hidden { p {} } }
}

/// A moment: absolute for machines and on hover, in words for people.
pub(crate) fn render_moment(ts: Timestamp, now: Timestamp) -> Markup {
    let at = jiff::Timestamp::from_microsecond(ts.0).unwrap_or_default();
    let iso = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let words = in_words(ts, now);
    html! { time datetime=(iso) title=(at.strftime("%Y-%m-%d %H:%M UTC")) { (words) } }
}

/// How long ago, or the day where that is longer than a week.
fn in_words(ts: Timestamp, now: Timestamp) -> String {
    let (past, seconds) = match ts.0 <= now.0 {
        true => (true, now.ms_since(ts) / 1_000),
        false => (false, ts.ms_since(now) / 1_000),
    };
    let said = match seconds {
        0..=44 if past => return "just now".into(),
        0..=44 => return "in a moment".into(),
        45..=3_569 => format!("{} min", (seconds + 30) / 60),
        3_570..=84_599 => format!("{} h", (seconds + 1_800) / 3_600),
        84_600..=604_799 => match (seconds + 43_200) / 86_400 {
            1 => "1 day".into(),
            days => format!("{days} days"),
        },
        _ => {
            let at = jiff::Timestamp::from_microsecond(ts.0).unwrap_or_default();
            return at.to_zoned(TimeZone::UTC).strftime("%-d %b %Y").to_string();
        }
    };
    if past { format!("{said} ago") } else { format!("in {said}") }
}

/// A short word with a colour: `kind` is `good`, `bad`, `warn`, `info` or empty.
pub(crate) fn render_badge(kind: &str, word: &str) -> Markup {
    html! { span class={ "badge " (kind) } { (word) } }
}

/// What must be said of something that was kept: words from outside are in it, private data was about.
pub(crate) fn render_content_badges(untrusted: bool, private: bool) -> Markup {
    html! {
        @if untrusted { (render_badge("warn", "outside content")) " " }
        @if private { (render_badge("info", "private")) " " }
    }
}

/// Nothing is here, and what to do about it.
pub(crate) fn render_empty(what: &str, how: &str) -> Markup {
    html! { div.empty { p { (what) } p.muted { (how) } } }
}

/// What a person wrote about a thing that was settled meanwhile: no form takes it any more, and it is theirs.
pub(crate) fn render_unsaved(text: &str) -> Markup {
    let hint = "It was settled somewhere else meanwhile. Copy them from here if you need them.";
    render_field(
        "unsaved",
        "Your words, which were not saved",
        hint,
        &html! {
            // The first line break behind the tag is no part of the text.
            textarea id="unsaved" rows="6" readonly aria-describedby="unsaved-hint" { "\n" (text) }
        },
    )
}

/// A labelled control. `hint`: one line below it; may be empty.
pub(crate) fn render_field(id: &str, label: &str, hint: &str, control: &Markup) -> Markup {
    html! {
        div.field {
            label for=(id) { (label) }
            (control)
            @if !hint.is_empty() { p.hint id={ (id) "-hint" } { (hint) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_moments_are_told_in_words() {
        let now = Timestamp(1_800_000_000_000_000);
        for (seconds, words) in [
            (0, "just now"),
            (44, "just now"),
            (60, "1 min ago"),
            (3_569, "59 min ago"),
            (3_600, "1 h ago"),
            (84_599, "23 h ago"),
            (86_400, "1 day ago"),
            (200_000, "2 days ago"),
            (604_800, "8 Jan 2027"),
            (-60, "in 1 min"),
            (-7_200, "in 2 h"),
        ] {
            assert_eq!(in_words(Timestamp(now.0 - seconds * 1_000_000), now), words, "{seconds}");
        }
    }
}
