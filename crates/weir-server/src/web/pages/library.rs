//! The library: what a person's agents can use beyond the built-in tools. One page for each shelf,
//! one for each thing on it; what waits is shown whole, with what differs, before a word is said.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::failure::HouseError;
use weir_install::user_space::{
    Deed, LibraryItem, LibraryLine, NewServer, Shelf, TextKind, Waiting, Word,
};

use crate::api::library::shelf as shelf_of;
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::render;
use crate::route::{Access, Route};
use crate::web::parts::{badge, csrf, empty, field, page};

/// The entry of the navigation.
const HERE: &str = "/library";

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/library", first),
        Route::get("/library/{shelf}", list),
        Route::post("/mcp-servers", declare).access(Access::Admin),
        Route::get("/library/{shelf}/{name}", show),
        Route::post("/library/{shelf}/{name}/look", look),
        Route::post("/library/{shelf}/{name}/{deed}", act),
    ]
}

fn title(shelf: Shelf) -> &'static str {
    match shelf {
        Shelf::Skills => "Skills",
        Shelf::Recipes => "Recipes",
        Shelf::Made => "Custom tools",
        Shelf::Profiles => "Profiles",
        Shelf::Plugins => "Plugins",
        Shelf::Servers => "MCP servers",
        Shelf::Tools => "Tools",
    }
}

fn about(shelf: Shelf) -> &'static str {
    match shelf {
        Shelf::Skills => "Instructions that agents read when they fit your request.",
        Shelf::Recipes => {
            "Known ways to do a kind of task. One that worked three times is followed without \
             asking the model after each step."
        }
        Shelf::Made => "Tools that an agent wrote. None can be used until you approve it.",
        Shelf::Profiles => "The tools, instructions and limits of an agent.",
        Shelf::Plugins => {
            "Commands and methods of other programs. A changed plugin is disabled until you approve it again."
        }
        Shelf::Servers => {
            "Foreign servers (MCP). None is used before you have read what it offers; what changes \
             afterwards needs your word again."
        }
        Shelf::Tools => "All built-in tools, as the model sees them.",
    }
}

fn tabs(here: Shelf) -> Markup {
    html! {
        nav.tabs aria-label="Library" {
            ul {
                @for shelf in Shelf::ALL {
                    li {
                        a href={ "/library/" (shelf.word()) }
                            aria-current=[(shelf == here).then_some("page")] { (title(shelf)) }
                    }
                }
            }
        }
    }
}

async fn first() -> Redirect {
    Redirect::to("/library/skills")
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(word): Path<String>,
    Query(shown): Query<Shown>,
) -> Answer<Markup> {
    let shelf = shelf_of(&word)?;
    let home = app.home(&caller.person).await?;
    let all = home.list_shelf(shelf).await?;
    let body = html! {
        h1 { "Library" }
        (tabs(shelf))
        p.muted { (about(shelf)) }
        @if !shown.wrong.is_empty() { p.notice.bad role="alert" { (shown.wrong) } }
        @for note in &all.notes { p.notice.warn { (note) } }
        @if all.lines.is_empty() {
            (empty(&format!("No {} here.", title(shelf).to_lowercase()), nothing(shelf)))
        } @else {
            div.table-wrap tabindex="0" {
                table {
                    caption.unseen { (title(shelf)) }
                    thead { tr {
                        th scope="col" { "Name" } th scope="col" { "About" }
                        th scope="col" { "From" } th scope="col" { "State" }
                    } }
                    tbody { @for line in &all.lines { (row(shelf, line)) } }
                }
            }
        }
        @if shelf == Shelf::Servers && caller.person.is_admin() { (new_server(&caller)) }
    };
    Ok(page(&caller, title(shelf), HERE, &body))
}

fn nothing(shelf: Shelf) -> &'static str {
    match shelf {
        Shelf::Skills => "Skills that agents propose appear here.",
        Shelf::Recipes => "Tasks that were solved the same way three times are proposed here.",
        Shelf::Made => "Tools that an agent writes wait here for your approval.",
        Shelf::Servers => "An admin adds servers here, or with weir mcp-servers add.",
        Shelf::Plugins | Shelf::Profiles | Shelf::Tools => "See the documentation.",
    }
}

/// Where an admin declares an MCP server. It is started, looked at and approved on its own page.
fn new_server(caller: &Caller) -> Markup {
    let input = |name: &str, label: &str, hint: &str, required: bool| {
        let id = format!("server-{name}");
        let control = html! {
            input id=(id) name=(name) required[required] autocomplete="off" spellcheck="false"
                aria-describedby={ (id) "-hint" };
        };
        field(&id, label, hint, &control)
    };
    html! {
        section.card aria-labelledby="new-server" {
            h2 id="new-server" { "Add an MCP server" }
            form method="post" action="/mcp-servers" {
                (csrf(caller))
                (input("name", "Name", "Letters, digits, - and _.", true))
                (input("command", "Command", "A program and its arguments. It runs in the sandbox.", false))
                (input("url", "Or URL", "For a server that runs elsewhere.", false))
                (input("writes", "Folders it may change", "Separated by commas; . is the working folder. Only for a command.", false))
                (input("hosts", "Hosts it may reach", "Separated by commas. Empty: no network. Only for a command.", false))
                button.btn.primary type="submit" { "Add and inspect" }
            }
            p.hint { "Its tools can be used once you have seen and approved them." }
        }
    }
}

#[derive(Debug, Deserialize)]
struct ServerTyped {
    name: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    writes: String,
    #[serde(default)]
    hosts: String,
}

async fn declare(
    State(app): State<App>,
    caller: Caller,
    Form(typed): Form<ServerTyped>,
) -> Answer<Redirect> {
    let home = app.home(&caller.person).await?;
    let parts = |text: &str| {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect::<Vec<_>>()
    };
    let name = typed.name.trim().to_owned();
    let new = NewServer {
        writes: parts(&typed.writes),
        hosts: parts(&typed.hosts),
        name: typed.name,
        command: typed.command,
        url: typed.url,
    };
    let query = |key: &str, text: &str| {
        url::form_urlencoded::Serializer::new(String::new()).append_pair(key, text).finish()
    };
    match home.declare_server(&new).await {
        Ok(()) => {
            let note = query("note", "Added. Start it to see what it offers, then approve it.");
            Ok(Redirect::to(&format!("{}?{note}", address(Shelf::Servers, &name))))
        }
        Err(HouseError::Refused(wrong)) => {
            let wrong = query("wrong", &wrong);
            Ok(Redirect::to(&format!("/library/{}?{wrong}", Shelf::Servers.word())))
        }
        Err(error) => Err(error.into()),
    }
}

fn address(shelf: Shelf, name: &str) -> String {
    // `+` stands for a blank in forms and for itself in paths.
    let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("/library/{}/{}", shelf.word(), name.replace('+', "%20"))
}

fn row(shelf: Shelf, line: &LibraryLine) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(address(shelf, &line.name)) { (line.name) } }
            td { (line.about) }
            td.muted { (line.origin) }
            td { (state(line)) }
        }
    }
}

fn state(line: &LibraryLine) -> Markup {
    let kind = match line.state.as_str() {
        "used" | "enabled" | "fast" | "told" => "good",
        "rejected" | "off" | "disabled" | "shadowed" => "",
        _ => "warn",
    };
    html! {
        @if line.waits { (badge("info", "waiting for you")) " " }
        @if !(line.waits && line.state == "waits") { (badge(kind, &line.state)) }
        @if line.untrusted { " " (badge("warn", "outside content")) }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Shown {
    note: String,
    wrong: String,
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((word, name)): Path<(String, String)>,
    Query(shown): Query<Shown>,
) -> Answer<Markup> {
    let shelf = shelf_of(&word)?;
    let home = app.home(&caller.person).await?;
    let item = home.find_item(shelf, &name).await?;
    Ok(thing(&caller, shelf, &item, &shown))
}

async fn look(
    State(app): State<App>,
    caller: Caller,
    Path((word, name)): Path<(String, String)>,
    Form(_): Form<Said>,
) -> Answer<Markup> {
    let shelf = shelf_of(&word)?;
    let home = app.home(&caller.person).await?;
    match home.inspect_item(shelf, &name).await {
        Ok(item) => {
            let note = match item.waiting {
                Some(_) => "This is what it offers now.",
                None => "It is unchanged since it was approved.",
            };
            let shown = Shown { note: note.into(), ..Shown::default() };
            Ok(thing(&caller, shelf, &item, &shown))
        }
        Err(HouseError::Refused(wrong)) => {
            let item = home.find_item(shelf, &name).await?;
            Ok(thing(&caller, shelf, &item, &Shown { wrong, ..Shown::default() }))
        }
        Err(error) => Err(error.into()),
    }
}

fn thing(caller: &Caller, shelf: Shelf, item: &LibraryItem, shown: &Shown) -> Markup {
    let name = &item.line.name;
    let body = html! {
        div.toolbar {
            h1 { (name) }
            (state(&item.line))
            (deeds(caller, shelf, item))
        }
        (tabs(shelf))
        @if !shown.note.is_empty() { p.notice.info role="status" { (shown.note) } }
        @if !shown.wrong.is_empty() { p.notice.bad role="alert" { (shown.wrong) } }
        @if !item.line.about.is_empty() { p { (item.line.about) } }
        @if let Some(waiting) = &item.waiting { (waits(caller, shelf, item, waiting)) }
        @if !item.facts.is_empty() {
            dl.kv { @for (what, value) in &item.facts { dt { (what) } dd { (value) } } }
        }
        @if !item.text.is_empty() {
            section.card aria-labelledby="text" {
                h2 id="text" { (if item.waiting.is_some() { "Metadata" } else { "Content" }) }
                (text(&item.text, item.text_kind))
            }
        }
    };
    page(caller, name, HERE, &body)
}

fn text(text: &str, kind: TextKind) -> Markup {
    match kind {
        TextKind::Plain => html! { pre.wrap tabindex="0" { (render::prose(text)) } },
        TextKind::Markdown => html! { div.markdown { (render::markdown(text)) } },
        TextKind::Json => html! { (render::json(text)) },
    }
}

fn waits(caller: &Caller, shelf: Shelf, item: &LibraryItem, waiting: &Waiting) -> Markup {
    let yes = if item.deeds.contains(&Deed::Approve) { Deed::Approve } else { Deed::Accept };
    html! {
        section.card aria-labelledby="waiting" {
            h2 id="waiting" { "Waiting for your approval: " (waiting.what) }
            p { "Based on words from: " strong { (waiting.whose) } }
            @if waiting.untrusted {
                p.notice.warn {
                    "The agent had read words from outside when it wrote this. Whoever wrote those \
                     may have had a hand in it, and it would bind every later chat. Read it."
                }
            }
            @if !waiting.diff.is_empty() {
                h3 { "Changes" }
                (render::diff(&waiting.diff))
            }
            @if !waiting.text.is_empty() {
                h3 { "Full text" }
                pre.wrap tabindex="0" { (render::prose(&waiting.text)) }
            }
            div.row {
                (form(caller, shelf, item, (yes, &waiting.hash, waiting.untrusted)))
                @if item.deeds.contains(&Deed::Reject) {
                    (form(caller, shelf, item, (Deed::Reject, &waiting.hash, false)))
                }
            }
        }
    }
}

fn deeds(caller: &Caller, shelf: Shelf, item: &LibraryItem) -> Markup {
    let waits = item.waiting.is_some();
    let settled =
        |deed: &Deed| waits && matches!(deed, Deed::Accept | Deed::Reject | Deed::Approve);
    html! {
        @if shelf == Shelf::Servers {
            form method="post" action={ (address(shelf, &item.line.name)) "/look" } {
                (csrf(caller))
                button.btn type="submit" { "Start and inspect" }
            }
        }
        @for deed in item.deeds.iter().filter(|deed| !settled(deed)) {
            (form(caller, shelf, item, (*deed, &item.hash, item.line.untrusted && *deed == Deed::Accept)))
        }
    }
}

fn form(
    caller: &Caller,
    shelf: Shelf,
    item: &LibraryItem,
    (deed, hash, untrusted): (Deed, &str, bool),
) -> Markup {
    let (word, class) = match deed {
        Deed::Accept => ("Accept", "btn primary"),
        Deed::Approve => ("Approve", "btn primary"),
        Deed::Enable => ("Enable", "btn primary"),
        Deed::Reject => ("Reject", "btn"),
        Deed::Disable => ("Disable", "btn"),
        Deed::Remove => ("Remove", "btn danger"),
    };
    html! {
        form method="post" action={ (address(shelf, &item.line.name)) "/" (deed.word()) } {
            (csrf(caller))
            input type="hidden" name="hash" value=(hash);
            @if untrusted {
                label {
                    input type="checkbox" name="untrusted" value="yes" required;
                    span { "I have read it and approve it" }
                }
            }
            button class=(class) type="submit" { (word) }
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    hash: String,
    untrusted: String,
}

async fn act(
    State(app): State<App>,
    caller: Caller,
    Path((word, name, deed)): Path<(String, String, String)>,
    Form(said): Form<Said>,
) -> Answer<Redirect> {
    let shelf = shelf_of(&word)?;
    let Some(deed) = Deed::of(&deed) else {
        return Err(Problem::missing(format!("the deed {deed:?}")));
    };
    let home = app.home(&caller.person).await?;
    let word = Word { deed, hash: &said.hash, untrusted: said.untrusted == "yes" };
    let (key, said) = match home.apply_decision(shelf, &name, word).await {
        Ok(note) => ("note", note),
        Err(HouseError::Refused(wrong)) => ("wrong", wrong),
        Err(error) => return Err(error.into()),
    };
    // What was taken away has no page any more.
    let there = home.find_item(shelf, &name).await.is_ok();
    let to = if there { address(shelf, &name) } else { format!("/library/{}", shelf.word()) };
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair(key, &said);
    Ok(Redirect::to(&format!("{to}?{}", query.finish())))
}
