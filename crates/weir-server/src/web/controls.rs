//! Tables, forms and buttons as every page has them, each in one place: a table that can be scrolled by
//! keyboard, a form that says that it comes from our own page, a button that sends it. Not here: the
//! frame around a page and its small pieces (`parts`), and forms of their own kind (the composer, uploads).

use maud::{Markup, Render, html};

use crate::caller::Caller;

/// What every form that changes something carries.
pub(crate) fn csrf_input(caller: &Caller) -> Markup {
    html! { input type="hidden" name="csrf" value=(caller.csrf_token()); }
}

/// A form that changes something. `class`: how it lies; empty: as it comes.
pub(crate) fn post_form(
    caller: &Caller,
    action: impl Render,
    class: &str,
    fields: &Markup,
) -> Markup {
    html! {
        form class=[Some(class).filter(|class| !class.is_empty())] method="post" action=(action) {
            (csrf_input(caller))
            (fields)
        }
    }
}

/// How a button looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ButtonLook {
    /// One among others.
    Plain,
    /// What most people want.
    Primary,
    /// What cannot be taken back.
    Danger,
    /// What few people want.
    Quiet,
}

impl ButtonLook {
    fn class_names(self) -> &'static str {
        match self {
            ButtonLook::Plain => "btn",
            ButtonLook::Primary => "btn primary",
            ButtonLook::Danger => "btn danger",
            ButtonLook::Quiet => "btn quiet",
        }
    }
}

/// What sends the form around it.
pub(crate) fn submit_button(look: ButtonLook, label: impl Render) -> Markup {
    html! { button class=(look.class_names()) type="submit" { (label) } }
}

/// The head of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TableColumn<'a> {
    /// Words.
    Text(&'a str),
    /// Figures.
    Number(&'a str),
    /// Named for whoever does not see it, such as the buttons of a row.
    Unseen(&'a str),
}

/// A table that scrolls by itself.
pub(crate) struct DataTable<'a> {
    /// What the part that scrolls is called; `None`: as its caption says.
    pub(crate) region: Option<&'a str>,
    /// The caption of the table.
    pub(crate) caption: Markup,
    /// The caption stands above it.
    pub(crate) caption_seen: bool,
    /// Heads of its columns.
    pub(crate) columns: &'a [TableColumn<'a>],
    /// Its rows.
    pub(crate) rows: Markup,
}

/// The table.
pub(crate) fn data_table(table: &DataTable<'_>) -> Markup {
    let DataTable { region, caption, caption_seen, columns, rows } = table;
    html! {
        div.table-wrap tabindex="0" role=[region.map(|_| "region")] aria-label=[region] {
            table {
                @if *caption_seen { caption { (caption) } } @else { caption.unseen { (caption) } }
                thead { tr { @for column in *columns { (table_head(*column)) } } }
                tbody { (rows) }
            }
        }
    }
}

fn table_head(column: TableColumn<'_>) -> Markup {
    match column {
        TableColumn::Text(name) => html! { th scope="col" { (name) } },
        TableColumn::Number(name) => html! { th.num scope="col" { (name) } },
        TableColumn::Unseen(name) => html! { th scope="col" { span.unseen { (name) } } },
    }
}
