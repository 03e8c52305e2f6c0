//! Texts for reading, from what the server tells. What they look like stands in `words` and
//! `context`.

use serde_json::Value;
use weir_core::ids::SessionId;
use weir_install::file_view::FileView;
use weir_tui::link::{CommandTicket, ReportKind, ReportPart, TextKind, UiUpdate};

use super::back;
use super::controller::{RequestContext, UiCommandOutcome};
use super::http::{ApiResult, RequestError};
use super::{decisions, lists};
use crate::decisions::lease_text;
use crate::file_text::{MOSAIC, file_text};
use crate::reports::{RemoteReport, report_source};

mod context;
mod words;

use words::{
    format_bullet, format_code, format_named_line, format_section, list_items, number_field,
    text_field,
};

/// Things of one list that are shown.
const SHOWN_MAX: usize = 500;

/// Makes a text.
pub(super) async fn make_report(
    context: &RequestContext,
    report: ReportKind,
    arguments: &str,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let arguments = arguments.trim();
    if let Some(part) = report.named_part(arguments) {
        let (title, text) = (report.title().to_owned(), part_report(context, report, &part).await?);
        let shown = UiUpdate::Text { ticket, title, text, kind: TextKind::Plain };
        return Ok(UiCommandOutcome::from_update(shown));
    }
    let text = match report_source(report).remote {
        RemoteReport::Library { shelf, none } => library_report(context, shelf, none).await?,
        RemoteReport::Context => context::context_report(context).await?,
        RemoteReport::Cost => cost_report(context).await?,
        RemoteReport::Permissions => permissions_report(context).await?,
        RemoteReport::Trust => trust_report(context).await?,
        RemoteReport::Checkpoints => checkpoints_report(context).await?,
        RemoteReport::Memory => memory_report(context, arguments).await?,
        RemoteReport::Brain => brain_report(context, arguments).await?,
        RemoteReport::Agents => agents_report(context).await?,
        RemoteReport::Doctor => doctor_report(context).await?,
        RemoteReport::Settings => settings_report(context).await?,
        RemoteReport::File => return file_report(context, arguments, ticket).await,
        RemoteReport::Call => return call_report(context, arguments, ticket).await,
        RemoteReport::Approvals => approvals_report(context).await?,
        RemoteReport::Elsewhere(text) => text.to_owned(),
    };
    let (title, kind) = (report.title().to_owned(), TextKind::Markdown);
    Ok(UiCommandOutcome::from_update(UiUpdate::Text { ticket, title, text, kind }))
}

async fn file_report(
    context: &RequestContext,
    path: &str,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let columns = MOSAIC.columns.to_string();
    let query = [("path", path), ("columns", columns.as_str())];
    let view: FileView = context.http.get(&["files", "view"], &query).await?;
    let (title, text) = (view.path.clone(), file_text(&view));
    let shown = UiUpdate::Text { ticket, title, text, kind: TextKind::Markdown };
    Ok(UiCommandOutcome::from_update(shown))
}

/// One thing, or what waits, whole.
async fn part_report(
    context: &RequestContext,
    report: ReportKind,
    part: &ReportPart,
) -> ApiResult<String> {
    match (report_source(report).remote, part) {
        (RemoteReport::Approvals, ReportPart::One(id)) => {
            let waiting: Value = context.http.get(&["approvals", id], &[]).await?;
            Ok(decisions::approval_text(&waiting))
        }
        (RemoteReport::Library { shelf, .. }, ReportPart::One(name)) => {
            let item = decisions::fetch_shelf_item(context, shelf, name).await?;
            Ok(decisions::item_text(&item))
        }
        (RemoteReport::Library { shelf, .. }, ReportPart::Inbox) => {
            inbox_report(context, shelf).await
        }
        // Proposed settings have a shelf of their own.
        (RemoteReport::Settings, _) => inbox_report(context, "settings").await,
        (_, _) => {
            let waits = fetch_values(context, &["memory"], &[("status", "proposed")]).await?;
            let all: Vec<String> = waits.iter().map(decisions::fact_text).collect();
            Ok(if all.is_empty() {
                "No facts wait for your decision.".into()
            } else {
                all.join("\n")
            })
        }
    }
}

/// Everything on a shelf that waits, whole.
async fn inbox_report(context: &RequestContext, shelf: &str) -> ApiResult<String> {
    let all = fetch_values(context, &["library", shelf], &[]).await?;
    let mut text = String::new();
    for line in all.iter().filter(|line| line["waits"] == true) {
        let item: Value =
            context.http.get(&["library", shelf, &text_field(line, "name")], &[]).await?;
        text.push_str(&decisions::item_text(&item));
        text.push('\n');
    }
    Ok(if text.is_empty() { "Nothing waits for your decision.".into() } else { text })
}

async fn approvals_report(context: &RequestContext) -> ApiResult<String> {
    let all = fetch_values(context, &["approvals"], &[]).await?;
    let one = |one: &Value| {
        let about = format!("{} {}", text_field(one, "tool"), text_field(one, "summary"));
        let notes = [text_field(one, "kind"), text_field(one, "title"), text_field(one, "asked")];
        format_bullet(&text_field(one, "id"), about.trim(), &notes.join(" · "))
    };
    let list = format_section("Waits for you", all.iter().map(one), "nothing");
    let info = fetch_session_info(context).await?.unwrap_or_default();
    let lease = |lease: &Value| {
        let text = lease_text(&text_field(&info, "id"), lease);
        let facts = text.lines().skip(1).collect::<Vec<_>>().join(" · ");
        format_bullet(&format!("lease {}", lease["lease"]), &facts, "")
    };
    let leases = info["leases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let leases = match leases {
        [] => String::new(),
        leases => format_section("Allowed in this session", leases.iter().map(lease), ""),
    };
    Ok(format!(
        "{list}{leases}\n`/approvals show ID` shows one; `/approvals answer ID once`, `session`, `always` or \
         `deny` answers it, and `--text` a question; `/approvals revoke SESSION NUMBER` takes back what an \
         answer allowed.\n"
    ))
}

async fn fetch_values(
    context: &RequestContext,
    parts: &[&str],
    query: &[(&str, &str)],
) -> ApiResult<Vec<Value>> {
    lists::fetch_whole_list(&context.http, parts, query, SHOWN_MAX).await
}

async fn fetch_session_info(context: &RequestContext) -> ApiResult<Option<Value>> {
    match &context.session {
        Some(id) => context.http.get(&["sessions", id.as_str()], &[]).await.map(Some),
        None => Ok(None),
    }
}

async fn library_report(context: &RequestContext, shelf: &str, none: &str) -> ApiResult<String> {
    let all = fetch_values(context, &["library", shelf], &[]).await?;
    let one = |one: &Value| {
        let mut notes = vec![text_field(one, "state"), text_field(one, "origin")];
        if one["waits"] == true {
            notes.push("**waits for your decision**".into());
        }
        if one["untrusted"] == true {
            notes.push("words from outside went into it".into());
        }
        notes.retain(|note| !note.is_empty());
        format_bullet(&text_field(one, "name"), &text_field(one, "about"), &notes.join(" · "))
    };
    Ok(format_section("", all.iter().map(one), none))
}

async fn cost_report(context: &RequestContext) -> ApiResult<String> {
    let mut out = String::new();
    if let Some(info) = fetch_session_info(context).await? {
        let cost = match info["cost_usd"].as_f64() {
            Some(cost) => format!("${cost:.4}"),
            None => "a price is missing, so not known for all of it".into(),
        };
        out += &format_section(
            "This session",
            [
                format_named_line("cost", &cost),
                format_named_line("tokens", &words::describe_usage(&info["usage"])),
            ]
            .into_iter(),
            "",
        );
    }
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    for (title, query) in
        [("Today", vec![("from", today.as_str())]), ("The last thirty days", Vec::new())]
    {
        let told: Value = context.http.get(&["usage"], &query).await?;
        let lines = words::spending_lines(&told).into_iter();
        out += &format_section(title, lines, "nothing was used");
        if title == "Today" {
            let details = words::spending_details(&told).into_iter();
            out += &format_section("Caps, and what the cache missed today", details, "none");
        }
    }
    Ok(out)
}

async fn permissions_report(context: &RequestContext) -> ApiResult<String> {
    let mut out = String::new();
    if let Some(info) = fetch_session_info(context).await? {
        out += &format_section(
            "This session",
            std::iter::once(format_named_line("mode", &text_field(&info, "permission"))),
            "",
        );
        let leases = list_items(&info["leases"]).iter().map(words::describe_lease);
        out += &format_section("Granted for this session", leases, "nothing");
    }
    let held: Value = context.http.get(&["rules"], &[]).await?;
    let rule = |one: &Value| {
        let typed = format!("{} {}", text_field(one, "set"), text_field(one, "rule"));
        format_bullet(&typed, "", &words::escape_to_plain(&text_field(one, "origin")))
    };
    out += &format_section("Rules", list_items(&held["rules"]).iter().map(rule), "none");
    let sheet: Value = context.http.get(&["settings"], &[]).await?;
    let rules = list_items(&sheet["items"]).iter().filter(|one| {
        text_field(one, "key").starts_with("permissions.") || one["key"] == "permission"
    });
    Ok(out
        + &format_section(
            "Settings and where they come from",
            rules.map(words::describe_setting),
            "none",
        ))
}

async fn trust_report(context: &RequestContext) -> ApiResult<String> {
    let held: Value = context.http.get(&["rules"], &[]).await?;
    if held["trusted"].is_null() {
        return Ok("Which folders are trusted is seen and decided by admins of the server.".into());
    }
    let folder =
        |one: &Value| format_bullet(&text_field(one, "folder"), &text_field(one, "state"), "");
    let list =
        format_section("", list_items(&held["trusted"]).iter().map(folder), "no folder is trusted");
    Ok(format!(
        "{list}`/trust` looks at the folder of this session, `/trust remove` ends its trust.\n"
    ))
}

async fn settings_report(context: &RequestContext) -> ApiResult<String> {
    let sheet: Value = context.http.get(&["settings"], &[]).await?;
    let all = list_items(&sheet["items"]).iter().map(words::describe_setting);
    Ok(format_section("Settings and where they come from", all, "none"))
}

async fn checkpoints_report(context: &RequestContext) -> ApiResult<String> {
    let all = back::fetch_checkpoints(context).await?;
    let one = |one: &back::CheckpointEntry| {
        let what = match &one.call {
            Some(call) => format!("before {call}: {}", one.label),
            None => "before changes were taken back".to_owned(),
        };
        let paths = one.paths.iter().take(20).map(|path| format_code(path)).collect::<Vec<_>>();
        let when = format!("{} · run {}", one.at, one.run);
        format_bullet(
            &one.id,
            &words::escape_to_plain(&what),
            &format!("{when} · {}", paths.join(", ")),
        )
    };
    let list = all.iter().take(SHOWN_MAX).map(one);
    Ok(format_section("", list, "no file was changed yet"))
}

async fn memory_report(context: &RequestContext, query: &str) -> ApiResult<String> {
    let asked: &[(&str, &str)] = if query.is_empty() { &[] } else { &[("q", query)] };
    let kept = fetch_values(context, &["memory"], asked).await?;
    let one = |one: &Value| {
        let mut notes = vec![text_field(one, "kind"), format!("by {}", text_field(one, "by"))];
        notes.extend(one["workspace"].as_str().map(|folder| format!("of {folder}")));
        format_bullet(&text_field(one, "id"), &text_field(one, "text"), &notes.join(" · "))
    };
    let mut out = format_section("Remembered", kept.iter().map(one), "nothing fits");
    if query.is_empty() {
        let waits = fetch_values(context, &["memory"], &[("status", "proposed")]).await?;
        out +=
            &format_section("Waits for you (/memory accept ID)", waits.iter().map(one), "nothing");
    }
    Ok(out)
}

async fn brain_report(context: &RequestContext, query: &str) -> ApiResult<String> {
    let asked: &[(&str, &str)] = if query.is_empty() { &[] } else { &[("q", query)] };
    let found = fetch_values(context, &["brain"], asked).await?;
    let one = |one: &Value| {
        // Anybody may have written the passage: it is no Markdown of this report.
        let passage = words::escape_to_plain(&text_field(one, "excerpt"));
        let mut notes = vec![text_field(one, "kind"), passage];
        if one["untrusted"] == true {
            notes.insert(1, "words from outside are in it".into());
        }
        notes.retain(|note| !note.is_empty());
        format_bullet(&text_field(one, "id"), &text_field(one, "title"), &notes.join(" · "))
    };
    let none = if query.is_empty() { "it is empty" } else { "nothing fits" };
    Ok(format_section("Your brain", found.iter().map(one), none))
}

async fn agents_report(context: &RequestContext) -> ApiResult<String> {
    let all = fetch_values(context, &["agents"], &[]).await?;
    let one = |one: &Value| {
        let state = if one["active"] == true { "active" } else { "paused" };
        let next = one["next"].as_str().map(|next| format!(" · next {next}")).unwrap_or_default();
        let last = text_field(&one["last"], "state");
        let last = if last.is_empty() { last } else { format!(" · last {last}") };
        let about = one["problem"].as_str().map(str::to_owned);
        let about = about.unwrap_or_else(|| text_field(&one["agent"], "prompt"));
        format_bullet(&text_field(one, "name"), &about, &format!("{state}{next}{last}"))
    };
    Ok(format_section("Scheduled agents", all.iter().map(one), "none is defined"))
}

async fn doctor_report(context: &RequestContext) -> ApiResult<String> {
    let http = &context.http;
    let me: Value = http.get(&["me"], &[]).await?;
    let paused: Value = http.get(&["pause"], &[]).await?;
    let paused = match (paused["all"] == true, paused["paused"] == true) {
        (true, _) => format!("everybody is paused: {}", text_field(&paused, "reason")),
        (false, true) => {
            format!("you are paused: {}; /release ends that", text_field(&paused, "reason"))
        }
        (false, false) => "runs can start".to_owned(),
    };
    let who = format!("{} ({})", text_field(&me, "name"), text_field(&me, "role"));
    let lines = [
        format_named_line("server", &http.address.to_string()),
        format_named_line("you are", &who),
        format_named_line("runs", &paused),
    ];
    let mut out = format_section("The server", lines.into_iter(), "");
    let providers = fetch_values(context, &["providers"], &[]).await?;
    let usable = providers.iter().filter(|one| one["key"].is_string() || one["needs_key"] == false);
    let one = |one: &Value| {
        let key = one["key"].as_str().unwrap_or("needs no key");
        format_bullet(&text_field(one, "name"), &text_field(one, "base_url"), key)
    };
    out += &format_section(
        "Models come from",
        usable.map(one),
        "no provider has a key: set one there",
    );
    Ok(out + "\nSandbox, git and database of the server: run `weir doctor` on it.\n")
}

async fn call_report(
    context: &RequestContext,
    arguments: &str,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let session: &SessionId = context.require_session()?;
    let name = match arguments.chars().all(|c| c.is_ascii_digit()) {
        true => format!("c{arguments}"),
        false => arguments.to_owned(),
    };
    if arguments.is_empty() {
        return Err(RequestError::Refused {
            status: 400,
            code: String::new(),
            why: "say which call: c3".into(),
        });
    }
    let parts = ["sessions", session.as_str(), "calls", &name];
    let told: Value = context.http.get(&parts, &[]).await?;
    let head = format!(
        "{} {}: {} · {} bytes · {} ms",
        name,
        text_field(&told, "tool"),
        text_field(&told, "summary"),
        number_field(&told, "bytes"),
        number_field(&told, "duration_ms"),
    );
    let whole = told["text"].as_str().unwrap_or_default();
    let text = format!("{head}\n\n{whole}");
    Ok(UiCommandOutcome::from_update(UiUpdate::Text {
        ticket,
        title: format!("Call {name}"),
        text,
        kind: TextKind::Plain,
    }))
}
