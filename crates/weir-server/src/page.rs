//! The page around what nobody has to be signed in for, and what every page begins with. Not here: the
//! navigation around a person's pages (`web::parts`).

use std::iter;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(crate) mod assets;
mod icons;

use assets::{asset_address, joined_address};
pub(crate) use icons::render_icon;

/// What a browser reads first: title, styles, scripts.
pub(crate) fn render_page_head(title: &str, assets: &[&str]) -> Markup {
    let styles = assets.iter().copied().filter(|name| name.ends_with(".css"));
    let scripts = assets.iter().filter(|name| name.ends_with(".js"));
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
            meta name="color-scheme" content="light dark";
            title { (title) " · Weir" }
            link rel="icon" type="image/svg+xml" href=(asset_address("icon.svg"));
            // Before the styles: behind them it would wait for them, and everything below for it (Q20).
            script src=(asset_address("theme.js")) {}
            link rel="stylesheet" href=(joined_address(iter::once("app.css").chain(styles)));
            script type="module" src=(asset_address("frame.js")) {}
            @for name in scripts { script type="module" src=(asset_address(name)) {} }
        }
    }
}

/// A page that needs no account: sign in, setup, a shared chat.
pub(crate) fn bare_page(title: &str, body: &Markup) -> Markup {
    bare_with(title, &[], body)
}

/// The same with scripts or styles of its own, as the other page names them.
pub(crate) fn bare_with(title: &str, assets: &[&str], body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (render_page_head(title, assets))
            body.bare {
                a.skip href="#main" { "Skip to content" }
                main id="main" tabindex="-1" { (body) }
            }
        }
    }
}

/// Text of one of our own files, as it is: never what anybody typed.
fn raw_markup(text: &'static str) -> PreEscaped<&'static str> {
    PreEscaped(text)
}
