//! Texts for reading, from what the server tells. What they look like stands in `words` and
//! `context`.

use serde_json::Value;
use weir_core::ids::SessionId;
use weir_tui::link::{News, Report, TextKind, Ticket};

use super::back;
use super::desk::{Done, Ground};
use super::http::{Answer, Trouble};
use super::lists;

mod context;
mod words;

use words::{bullet, code, items, line, number, section, text};

/// Things of one list that are shown.
const SHOWN_MAX: usize = 500;

/// Makes a text.
pub(super) async fn report(
    ground: &Ground,
    (report, arguments): (Report, &str),
    ticket: Ticket,
) -> Answer<Done> {
    let arguments = arguments.trim();
    let text = match report {
        Report::Context => context::context(ground).await?,
        Report::Cost => cost(ground).await?,
        Report::Permissions => permissions(ground).await?,
        Report::Checkpoints => checkpoints(ground).await?,
        Report::Memory => memory(ground, arguments).await?,
        Report::Skills => shelf(ground, "skills", "no skill is there").await?,
        Report::Recipes => shelf(ground, "recipes", "no recipe is there").await?,
        Report::Agents => agents(ground).await?,
        Report::Mcp => shelf(ground, "servers", "none is declared").await?,
        Report::Doctor => doctor(ground).await?,
        Report::Tools => shelf(ground, "tools", "there is no tool").await?,
        Report::Call => return call(ground, arguments, ticket).await,
        Report::Config => config(ground).await?,
        Report::Diff => "What a session of a server changed is shown by /rewind, before it goes \
                         back, and on its page in the browser."
            .to_owned(),
    };
    let (title, kind) = (report.title().to_owned(), TextKind::Markdown);
    Ok(Done::news(News::Text { ticket, title, text, kind }))
}

async fn all(ground: &Ground, parts: &[&str], query: &[(&str, &str)]) -> Answer<Vec<Value>> {
    lists::all(&ground.http, (parts, query), SHOWN_MAX).await
}

async fn info(ground: &Ground) -> Answer<Option<Value>> {
    match &ground.session {
        Some(id) => ground.http.get(&["sessions", id.as_str()], &[]).await.map(Some),
        None => Ok(None),
    }
}

async fn shelf(ground: &Ground, shelf: &str, none: &str) -> Answer<String> {
    let all = all(ground, &["library", shelf], &[]).await?;
    let one = |one: &Value| {
        let mut notes = vec![text(one, "state"), text(one, "origin")];
        if one["waits"] == true {
            notes.push("**waits for you in the browser**".into());
        }
        if one["untrusted"] == true {
            notes.push("words from outside went into it".into());
        }
        notes.retain(|note| !note.is_empty());
        bullet(&text(one, "name"), &text(one, "about"), &notes.join(" · "))
    };
    Ok(section("", all.iter().map(one), none))
}

async fn cost(ground: &Ground) -> Answer<String> {
    let mut out = String::new();
    if let Some(info) = info(ground).await? {
        let cost = match info["cost_usd"].as_f64() {
            Some(cost) => format!("${cost:.4}"),
            None => "a price is missing, so not known for all of it".into(),
        };
        out += &section(
            "This session",
            [line("cost", &cost), line("tokens", &words::usage(&info["usage"]))].into_iter(),
            "",
        );
    }
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    for (title, query) in
        [("Today", vec![("from", today.as_str())]), ("The last thirty days", Vec::new())]
    {
        let told: Value = ground.http.get(&["usage"], &query).await?;
        out += &section(title, words::spent(&told).into_iter(), "nothing was used");
    }
    Ok(out)
}

async fn permissions(ground: &Ground) -> Answer<String> {
    let mut out = String::new();
    if let Some(info) = info(ground).await? {
        out +=
            &section("This session", std::iter::once(line("mode", &text(&info, "permission"))), "");
        let leases = items(&info["leases"]).iter().map(words::lease);
        out += &section("Granted for this session", leases, "nothing");
    }
    let sheet: Value = ground.http.get(&["settings"], &[]).await?;
    let rules = items(&sheet["items"])
        .iter()
        .filter(|one| text(one, "key").starts_with("permissions.") || one["key"] == "permission");
    Ok(out + &section("Settings and where they come from", rules.map(words::setting), "none"))
}

async fn config(ground: &Ground) -> Answer<String> {
    let sheet: Value = ground.http.get(&["settings"], &[]).await?;
    let all = items(&sheet["items"]).iter().map(words::setting);
    Ok(section("Settings and where they come from", all, "none"))
}

async fn checkpoints(ground: &Ground) -> Answer<String> {
    let all = back::checkpoints(ground).await?;
    let one = |one: &back::Checkpoint| {
        let what = match &one.call {
            Some(call) => format!("before {call}: {}", one.label),
            None => "before changes were taken back".to_owned(),
        };
        let paths = one.paths.iter().take(20).map(|path| code(path)).collect::<Vec<_>>();
        let when = format!("{} · run {}", one.at, one.run);
        bullet(&one.id, &words::plain(&what), &format!("{when} · {}", paths.join(", ")))
    };
    let list = all.iter().take(SHOWN_MAX).map(one);
    Ok(section("", list, "no file was changed yet"))
}

async fn memory(ground: &Ground, query: &str) -> Answer<String> {
    let asked: &[(&str, &str)] = if query.is_empty() { &[] } else { &[("q", query)] };
    let kept = all(ground, &["memory"], asked).await?;
    let one = |one: &Value| {
        let mut notes = vec![text(one, "kind"), format!("by {}", text(one, "by"))];
        notes.extend(one["workspace"].as_str().map(|folder| format!("of {folder}")));
        bullet(&text(one, "id"), &text(one, "text"), &notes.join(" · "))
    };
    let mut out = section("Remembered", kept.iter().map(one), "nothing fits");
    if query.is_empty() {
        let waits = all(ground, &["memory"], &[("status", "proposed")]).await?;
        out +=
            &section("Waits for you (accept it in the browser)", waits.iter().map(one), "nothing");
    }
    Ok(out)
}

async fn agents(ground: &Ground) -> Answer<String> {
    let all = all(ground, &["agents"], &[]).await?;
    let one = |one: &Value| {
        let state = if one["active"] == true { "active" } else { "paused" };
        let next = one["next"].as_str().map(|next| format!(" · next {next}")).unwrap_or_default();
        let last = text(&one["last"], "state");
        let last = if last.is_empty() { last } else { format!(" · last {last}") };
        let about = one["problem"].as_str().map(str::to_owned);
        let about = about.unwrap_or_else(|| text(&one["agent"], "prompt"));
        bullet(&text(one, "name"), &about, &format!("{state}{next}{last}"))
    };
    Ok(section("Scheduled agents", all.iter().map(one), "none is defined"))
}

async fn doctor(ground: &Ground) -> Answer<String> {
    let http = &ground.http;
    let me: Value = http.get(&["me"], &[]).await?;
    let paused: Value = http.get(&["pause"], &[]).await?;
    let paused = match (paused["all"] == true, paused["paused"] == true) {
        (true, _) => format!("everybody is paused: {}", text(&paused, "reason")),
        (false, true) => format!("you are paused: {}; /release ends that", text(&paused, "reason")),
        (false, false) => "runs can start".to_owned(),
    };
    let who = format!("{} ({})", text(&me, "name"), text(&me, "role"));
    let lines =
        [line("server", &http.place.to_string()), line("you are", &who), line("runs", &paused)];
    let mut out = section("The server", lines.into_iter(), "");
    let providers = all(ground, &["providers"], &[]).await?;
    let usable = providers.iter().filter(|one| one["key"].is_string() || one["needs_key"] == false);
    let one = |one: &Value| {
        let key = one["key"].as_str().unwrap_or("needs no key");
        bullet(&text(one, "name"), &text(one, "base_url"), key)
    };
    out += &section("Models come from", usable.map(one), "no provider has a key: set one there");
    Ok(out + "\nSandbox, git and database of the server: run `weir doctor` on it.\n")
}

async fn call(ground: &Ground, arguments: &str, ticket: Ticket) -> Answer<Done> {
    let session: &SessionId = ground.session()?;
    let name = match arguments.chars().all(|c| c.is_ascii_digit()) {
        true => format!("c{arguments}"),
        false => arguments.to_owned(),
    };
    if arguments.is_empty() {
        return Err(Trouble::Refused {
            status: 400,
            code: String::new(),
            why: "say which call: c3".into(),
        });
    }
    let parts = ["sessions", session.as_str(), "calls", &name];
    let told: Value = ground.http.get(&parts, &[]).await?;
    let head = format!(
        "{} {}: {} · {} bytes · {} ms",
        name,
        text(&told, "tool"),
        text(&told, "summary"),
        number(&told, "bytes"),
        number(&told, "duration_ms"),
    );
    let whole = told["text"].as_str().unwrap_or_default();
    let text = format!("{head}\n\n{whole}");
    Ok(Done::news(News::Text {
        ticket,
        title: format!("Call {name}"),
        text,
        kind: TextKind::Plain,
    }))
}
