//! The library: what a person's agents can use beyond the built-in tools. One page for each shelf,
//! one for each thing on it; what waits is shown whole, with what differs, before a word is said.

use axum::Form;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::failure::InstallationError;
use weir_install::user_space::{
    LibraryAction, LibraryItem, LibraryLine, LibraryShelf, NewServer, PendingLibraryChange,
    TextKind,
};

use crate::api::library::{
    LibraryActionBody, LibraryActionPath, LibraryItemPath, check_probe_caller, decide_about_item,
    may_decide, parse_shelf,
};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::render;
use crate::request::CallerSpace;
use crate::request::body::{SentBody, redirect_with_result};
use crate::route::{Route, RouteAccess};
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{
    framed_page, page_with, render_badge, render_empty, render_field, render_unsaved,
};

/// The entry of the navigation.
const HERE: &str = "/library";

/// The routes of this file.
pub(crate) fn library_page_routes() -> Vec<Route> {
    vec![
        Route::get("/library", redirect_to_first),
        Route::get("/library/{shelf}", show_shelf),
        Route::post("/mcp-servers", declare_server).access(RouteAccess::Admin),
        Route::get("/library/{shelf}/{name}", show_item),
        Route::post("/library/{shelf}/{name}/look", inspect_server),
        Route::post("/library/{shelf}/{name}/{deed}", act_on_item),
    ]
}

fn shelf_title(shelf: LibraryShelf) -> &'static str {
    match shelf {
        LibraryShelf::Skills => "Skills",
        LibraryShelf::Recipes => "Recipes",
        LibraryShelf::Made => "Custom tools",
        LibraryShelf::Profiles => "Profiles",
        LibraryShelf::Plugins => "Plugins",
        LibraryShelf::Servers => "MCP servers",
        LibraryShelf::Tools => "Tools",
        LibraryShelf::Settings => "Proposed settings",
    }
}

fn describe_shelf(shelf: LibraryShelf) -> &'static str {
    match shelf {
        LibraryShelf::Skills => "Instructions that agents read when they fit your request.",
        LibraryShelf::Recipes => {
            "Known ways to do a kind of task. One that worked three times is followed without \
             asking the model after each step."
        }
        LibraryShelf::Made => "Tools that an agent wrote. None can be used until you approve it.",
        LibraryShelf::Profiles => "The tools, instructions and limits of an agent.",
        LibraryShelf::Plugins => {
            "Commands and methods of other programs. A changed plugin is disabled until you approve it again."
        }
        LibraryShelf::Servers => {
            "Foreign servers (MCP). None is used before you have read what it offers; what changes \
             afterwards needs your word again."
        }
        LibraryShelf::Tools => "All built-in tools, as the model sees them.",
        LibraryShelf::Settings => {
            "Settings that an agent proposed. Nothing changes before you accept one; rules, secrets \
             and whatever allows more cannot be proposed."
        }
    }
}

fn render_tabs(here: LibraryShelf) -> Markup {
    html! {
        nav.tabs aria-label="Library" {
            ul {
                @for shelf in LibraryShelf::ALL {
                    li {
                        a href={ "/library/" (shelf.path_word()) }
                            aria-current=[(shelf == here).then_some("page")] { (shelf_title(shelf)) }
                    }
                }
            }
        }
    }
}

async fn redirect_to_first() -> Redirect {
    Redirect::to("/library/skills")
}

async fn show_shelf(
    CallerSpace { caller, space, .. }: CallerSpace,
    Path(word): Path<String>,
    Query(shown): Query<LibraryPageQuery>,
) -> HandlerResult<Markup> {
    let shelf = parse_shelf(&word)?;
    let all = space.list_shelf(shelf).await?;
    let body = html! {
        h1 { "Library" }
        (render_tabs(shelf))
        p.muted { (describe_shelf(shelf)) }
        @if !shown.problem.is_empty() { p.notice.bad role="alert" { (shown.problem) } }
        @for note in &all.notes { p.notice.warn { (note) } }
        @if all.lines.is_empty() {
            (render_empty(&format!("No {} here.", shelf_title(shelf).to_lowercase()), empty_shelf_text(shelf)))
        } @else {
            (data_table(&DataTable {
                region: None,
                caption: html! { (shelf_title(shelf)) },
                caption_seen: false,
                columns: &[
                    TableColumn::Text("Name"), TableColumn::Text("About"),
                    TableColumn::Text("From"), TableColumn::Text("State"),
                ],
                rows: html! {
                    @for line in &all.lines { (render_row(shelf, line)) }
                },
            }))
        }
        @if shelf == LibraryShelf::Servers && caller.is_admin() { (new_server(&caller)) }
    };
    Ok(framed_page(&caller, shelf_title(shelf), HERE, &body))
}

fn empty_shelf_text(shelf: LibraryShelf) -> &'static str {
    match shelf {
        LibraryShelf::Skills => "Skills that agents propose appear here.",
        LibraryShelf::Recipes => {
            "Tasks that were solved the same way three times are proposed here."
        }
        LibraryShelf::Made => "Tools that an agent writes wait here for your approval.",
        LibraryShelf::Settings => "Settings that an agent proposes wait here for your decision.",
        LibraryShelf::Servers => "An admin adds servers here, or with weir mcp-servers add.",
        LibraryShelf::Plugins | LibraryShelf::Profiles | LibraryShelf::Tools => {
            "See the documentation."
        }
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
        render_field(&id, label, hint, &control)
    };
    html! {
        section.card aria-labelledby="new-server" {
            h2 id="new-server" { "Add an MCP server" }
            (post_form(caller, "/mcp-servers", "", &html! {
                (input("name", "Name", "Letters, digits, - and _.", true))
                (input("command", "Command", "A program and its arguments. It runs in the sandbox.", false))
                (input("url", "Or URL", "For a server that runs elsewhere.", false))
                (input("writes", "Folders it may change", "Separated by commas; . is the working folder. Only for a command.", false))
                (input("hosts", "Hosts it may reach", "Separated by commas. Empty: no network. Only for a command.", false))
                (submit_button(ButtonLook::Primary, "Add and inspect"))
            }))
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

async fn declare_server(
    CallerSpace { space, .. }: CallerSpace,
    Form(typed): Form<ServerTyped>,
) -> HandlerResult<Redirect> {
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
    let declared = space.declare_server(&new).await.map_err(ProblemDetails::from);
    let page = match &declared {
        Ok(()) => item_address(LibraryShelf::Servers, &name),
        Err(_) => format!("/library/{}", LibraryShelf::Servers.path_word()),
    };
    let note = "Added. Start it to see what it offers, then approve it.";
    redirect_with_result(&page, declared.map(|()| note))
}

fn item_address(shelf: LibraryShelf, name: &str) -> String {
    // `+` stands for a blank in forms and for itself in paths.
    let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("/library/{}/{}", shelf.path_word(), name.replace('+', "%20"))
}

fn render_row(shelf: LibraryShelf, line: &LibraryLine) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(item_address(shelf, &line.name)) { (line.name) } }
            td { (line.about) }
            td.muted { (line.origin) }
            td { (render_state(line)) }
        }
    }
}

fn render_state(line: &LibraryLine) -> Markup {
    let kind = match line.state.as_str() {
        "used" | "enabled" | "fast" | "told" => "good",
        "rejected" | "off" | "disabled" | "shadowed" => "",
        _ => "warn",
    };
    html! {
        @if line.waits { (render_badge("info", "waiting for you")) " " }
        @if !(line.waits && line.state == "waits") { (render_badge(kind, &line.state)) }
        @if line.untrusted { " " (render_badge("warn", "outside content")) }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LibraryPageQuery {
    note: String,
    problem: String,
    /// Words that a person wrote in place of those that wait, and that were not saved.
    #[serde(skip)]
    unsaved: Option<String>,
}

async fn show_item(
    CallerSpace { caller, space, .. }: CallerSpace,
    Path(LibraryItemPath { shelf, name }): Path<LibraryItemPath>,
    Query(shown): Query<LibraryPageQuery>,
) -> HandlerResult<Markup> {
    let shelf = parse_shelf(&shelf)?;
    let item = space.find_item(shelf, &name).await?;
    Ok(item_page(&caller, shelf, &item, &shown))
}

async fn inspect_server(
    CallerSpace { caller, space, .. }: CallerSpace,
    Path(LibraryItemPath { shelf, name }): Path<LibraryItemPath>,
) -> HandlerResult<Markup> {
    let shelf = parse_shelf(&shelf)?;
    check_probe_caller(&caller, shelf)?;
    match space.inspect_item(shelf, &name).await {
        Ok(item) => {
            let note = match item.waiting {
                Some(_) => "This is what it offers now.",
                None => "It is unchanged since it was approved.",
            };
            let shown = LibraryPageQuery { note: note.into(), ..LibraryPageQuery::default() };
            Ok(item_page(&caller, shelf, &item, &shown))
        }
        Err(InstallationError::Refused(wrong)) => {
            let item = space.find_item(shelf, &name).await?;
            Ok(item_page(
                &caller,
                shelf,
                &item,
                &LibraryPageQuery { problem: wrong, ..LibraryPageQuery::default() },
            ))
        }
        Err(error) => Err(error.into()),
    }
}

fn item_page(
    caller: &Caller,
    shelf: LibraryShelf,
    item: &LibraryItem,
    shown: &LibraryPageQuery,
) -> Markup {
    let name = &item.line.name;
    let body = html! {
        // The script of decisions holds its buttons back while a second click may be on its way.
        div.toolbar data-ask {
            h1 { (name) }
            (render_state(&item.line))
            (render_actions(caller, shelf, item))
        }
        (render_tabs(shelf))
        @if !shown.note.is_empty() { p.notice.info role="status" { (shown.note) } }
        @if !shown.problem.is_empty() { p.notice.bad role="alert" { (shown.problem) } }
        @if !item.line.about.is_empty() { p { (item.line.about) } }
        @if let (Some(text), None) = (&shown.unsaved, item.waiting.as_ref().and_then(|waiting| waiting.editable.as_ref())) {
            (render_unsaved(text))
        }
        @if let Some(waiting) = &item.waiting { (render_waiting(caller, shelf, item, shown, waiting)) }
        @if !item.facts.is_empty() {
            dl.kv { @for (what, value) in &item.facts { dt { (what) } dd { (value) } } }
        }
        @if !item.text.is_empty() {
            section.card aria-labelledby="text" {
                h2 id="text" { (if item.waiting.is_some() { "Metadata" } else { "Content" }) }
                (render_text(&item.text, item.text_kind))
            }
        }
    };
    page_with(caller, name, HERE, &["pages/act.js"], &body)
}

fn render_text(text: &str, kind: TextKind) -> Markup {
    match kind {
        TextKind::Plain => html! { pre.wrap tabindex="0" { (render::visible_prose(text)) } },
        TextKind::Markdown => html! { div.markdown { (render::render_markdown(text)) } },
        TextKind::Json => html! { (render::render_json(text)) },
    }
}

/// The words that wait, to be changed before they are accepted.
fn edit_form(caller: &Caller, address: &str, waiting: &PendingLibraryChange, text: &str) -> Markup {
    let is_unsaved = waiting.editable.as_deref() != Some(text);
    html! {
        details open[is_unsaved] {
            summary { "Edit before accepting" }
            (post_form(caller, html! { (address) "/" (LibraryAction::Accept.path_word()) }, "", &html! {
                input type="hidden" name="hash" value=(waiting.hash);
                (render_field("own-words", "In your words", "It is checked like what was proposed.", &html! {
                    // The first line break behind the tag is no part of the text.
                    textarea id="own-words" name="text" rows="16" required spellcheck="false"
                        aria-describedby="own-words-hint" { "\n" (text) }
                }))
                @if waiting.untrusted {
                    label {
                        input type="checkbox" name="untrusted" value="yes" required;
                        span { "I have read it and approve it" }
                    }
                }
                (submit_button(ButtonLook::Primary, "Accept in these words"))
            }))
        }
    }
}

fn render_waiting(
    caller: &Caller,
    shelf: LibraryShelf,
    item: &LibraryItem,
    shown: &LibraryPageQuery,
    waiting: &PendingLibraryChange,
) -> Markup {
    let yes = if item.deeds.contains(&LibraryAction::Approve) {
        LibraryAction::Approve
    } else {
        LibraryAction::Accept
    };
    html! {
        section.card aria-labelledby="waiting" data-ask {
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
                (render::render_diff(&waiting.diff))
            }
            @if !waiting.text.is_empty() {
                h3 { "Full text" }
                pre.wrap tabindex="0" { (render::visible_prose(&waiting.text)) }
            }
            div.row {
                @if may_decide(caller, shelf, yes) {
                    (action_form(caller, shelf, item, OfferedAction { deed: yes, hash: &waiting.hash, untrusted: waiting.untrusted }))
                } @else {
                    p.hint { "Approve it in a browser in which you signed in, or at the terminal." }
                }
                @if item.deeds.contains(&LibraryAction::Reject) {
                    (action_form(caller, shelf, item, OfferedAction { deed: LibraryAction::Reject, hash: &waiting.hash, untrusted: false }))
                }
            }
            @if let Some(text) = &waiting.editable {
                @if may_decide(caller, shelf, LibraryAction::Accept) {
                    (edit_form(caller, &item_address(shelf, &item.line.name), waiting, shown.unsaved.as_ref().unwrap_or(text)))
                }
            }
        }
    }
}

fn render_actions(caller: &Caller, shelf: LibraryShelf, item: &LibraryItem) -> Markup {
    let waits = item.waiting.is_some();
    let settled = |deed: &LibraryAction| {
        waits
            && matches!(
                deed,
                LibraryAction::Accept | LibraryAction::Reject | LibraryAction::Approve
            )
    };
    let offered = |deed: &&LibraryAction| !settled(deed) && may_decide(caller, shelf, **deed);
    html! {
        @if check_probe_caller(caller, shelf).is_ok() && shelf == LibraryShelf::Servers {
            (post_form(caller, html! { (item_address(shelf, &item.line.name)) "/look" }, "", &html! {
                (submit_button(ButtonLook::Plain, "Start and inspect"))
            }))
        }
        @for deed in item.deeds.iter().filter(offered) {
            (action_form(caller, shelf, item, OfferedAction { deed: *deed, hash: &item.hash, untrusted: item.line.untrusted && *deed == LibraryAction::Accept }))
        }
    }
}

/// What a form offers to do with an item.
#[derive(Clone, Copy)]
struct OfferedAction<'a> {
    deed: LibraryAction,
    /// Of what was looked at.
    hash: &'a str,
    /// It comes from elsewhere: whoever approves says that they read it.
    untrusted: bool,
}

fn action_form(
    caller: &Caller,
    shelf: LibraryShelf,
    item: &LibraryItem,
    action: OfferedAction<'_>,
) -> Markup {
    let OfferedAction { deed, hash, untrusted } = action;
    let (word, class) = match deed {
        LibraryAction::Accept => ("Accept", "btn primary"),
        LibraryAction::Approve => ("Approve", "btn primary"),
        LibraryAction::Enable => ("Enable", "btn primary"),
        LibraryAction::Reject => ("Reject", "btn"),
        LibraryAction::Disable => ("Disable", "btn"),
        LibraryAction::Remove => ("Remove", "btn danger"),
    };
    html! {
        (post_form(caller, html! { (item_address(shelf, &item.line.name)) "/" (deed.path_word()) }, "", &html! {
            input type="hidden" name="hash" value=(hash);
            @if untrusted {
                label {
                    input type="checkbox" name="untrusted" value="yes" required;
                    span { "I have read it and approve it" }
                }
            }
            button class=(class) type="submit" { (word) }
        }))
    }
}

async fn act_on_item(
    owner: CallerSpace,
    Path(LibraryActionPath { shelf, name, deed }): Path<LibraryActionPath>,
    SentBody(said): SentBody<LibraryActionBody>,
) -> HandlerResult<Response> {
    let item = LibraryItemPath { shelf, name };
    let done = decide_about_item(&owner, &item, &deed, &said).await;
    let (shelf, name) = (parse_shelf(&item.shelf)?, item.name);
    let found = owner.space.find_item(shelf, &name).await;
    // What they wrote is given back to them, with what is wrong.
    if let (Err(problem), Some(text)) = (&done, said.own_words())
        && (problem.is_refusal() || problem.status == 404)
    {
        let (problem, status) = (problem.detail.clone(), problem.status_code());
        let page = match &found {
            Ok(found) => {
                let unsaved = Some(text.to_owned());
                let shown = LibraryPageQuery { problem, unsaved, ..LibraryPageQuery::default() };
                item_page(&owner.caller, shelf, found, &shown)
            }
            Err(_) => gone_page(&owner.caller, &name, &problem, text),
        };
        return Ok((status, page).into_response());
    }
    // What was taken away has no page any more.
    let to = match found {
        Ok(_) => item_address(shelf, &name),
        Err(_) => format!("/library/{}", shelf.path_word()),
    };
    Ok(redirect_with_result(&to, done)?.into_response())
}

/// In place of the page of a thing that is not there any more, for whoever wrote something about it.
fn gone_page(caller: &Caller, name: &str, problem: &str, text: &str) -> Markup {
    let body = html! {
        h1 { (name) }
        p.notice.bad role="alert" { (problem) }
        (render_unsaved(text))
    };
    framed_page(caller, name, HERE, &body)
}
