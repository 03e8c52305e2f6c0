//! Lists to choose from: sessions, models, profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::governance::filter::one_line;
use weir_core::ids::SessionId;
use weir_engine::ports::{SessionMeta, Store as _};
use weir_install::catalogue::models::{Row, ask, rows_of};
use weir_install::models;
use weir_install::session_ids::{self, SubAgentListing};
use weir_providers::catalogue::Vendor;
use weir_store::SqliteStore;
use weir_tui::link::{ChoiceOption, SessionLine};

use super::about;
use super::context::LocalContext;

/// Sessions that are listed.
const SESSIONS_MAX: usize = 200;
/// Places that a search looks at; several may be of one session.
const HITS_MAX: usize = 1_000;

/// Sessions in which all of the words stand, the newest first.
pub(super) async fn list_sessions(
    context: &LocalContext,
    query: &str,
) -> anyhow::Result<Vec<SessionLine>> {
    if !about::has_store(&context.cx) {
        return Ok(Vec::new());
    }
    let store = context.cx.local_store()?;
    let words = query.trim();
    let mut lines = Vec::new();
    if words.is_empty() {
        for meta in session_ids::list_newest_sessions(
            store.as_ref(),
            None,
            SESSIONS_MAX,
            SubAgentListing::Hidden,
        )
        .await?
        {
            lines.push(session_line(&store, meta, None).await?);
        }
        return Ok(lines);
    }
    let mut found: BTreeMap<SessionId, String> = BTreeMap::new();
    for hit in store.search_passages(words, HITS_MAX).await? {
        // What a sub-agent said belongs to the session that it worked for.
        let id = weir_engine::family::root_session(&hit.session);
        found.entry(id).or_insert(hit.snippet);
    }
    // A session may also be known by its title or the beginning of its name.
    let small = words.to_lowercase();
    for meta in
        session_ids::list_newest_sessions(store.as_ref(), None, HITS_MAX, SubAgentListing::Hidden)
            .await?
    {
        let place = found.remove(&meta.id);
        let is_meant = place.is_some()
            || meta.id.as_str().starts_with(&small)
            || meta.title.to_lowercase().contains(&small);
        if is_meant && lines.len() < SESSIONS_MAX {
            lines.push(session_line(&store, meta, place).await?);
        }
    }
    Ok(lines)
}

async fn session_line(
    store: &SqliteStore,
    meta: SessionMeta,
    found: Option<String>,
) -> anyhow::Result<SessionLine> {
    let active = matches!(meta.status.as_str(), "running" | "waiting");
    let holder = if active { store.holder_text(&meta.id).await? } else { None };
    let state = match (meta.status.as_str(), holder) {
        ("waiting", Some(_)) => "waits for you".into(),
        (_, Some(holder)) => format!("running: {holder}"),
        (_, None) if active => "interrupted".into(),
        (status, None) => status.replace('_', " "),
    };
    let title = one_line(&meta.title);
    Ok(SessionLine {
        id: meta.id,
        title: if title.is_empty() { "(nothing said yet)".into() } else { title },
        folder: meta.workspace,
        last: meta.updated,
        state,
        found: found.map(|text| one_line(&text)),
    })
}

/// Models of providers that can be asked, and those of local servers.
pub(super) async fn list_models(context: &Arc<LocalContext>) -> anyhow::Result<Vec<ChoiceOption>> {
    let shown = context.shown_session();
    let cx = &shown.cx;
    let catalogue = models::load_catalogue(cx)?;
    let local: Vec<&Vendor> = catalogue.vendors().iter().filter(|vendor| vendor.local).collect();
    let probed = ask(cx, catalogue, &local).await?;
    let current = match shown.read_state(|state| state.config.clone()) {
        Some(config) => config.model.model.to_string(),
        None => models::chosen_model_name(cx, shown.session_overrides().model.as_deref())
            .await
            .unwrap_or_default(),
    };
    let mut choices = Vec::new();
    for vendor in catalogue.vendors() {
        let (_, key) = models::vendor_endpoint(cx, catalogue, vendor)?;
        let rows = rows_of(catalogue, vendor, key.is_some(), probed.get(&vendor.name));
        let usable = |row: &Row| match vendor.local {
            true => row.offered == Some(true),
            false => key.is_some() || !vendor.needs_key,
        };
        choices
            .extend(rows.iter().filter(|row| usable(row)).map(|row| model_choice(row, &current)));
    }
    if !choices.iter().any(|choice| choice.current) && !current.is_empty() {
        let about = "the one that holds now".into();
        choices.insert(0, ChoiceOption { value: current, about, current: true });
    }
    Ok(choices)
}

fn model_choice(row: &Row, current: &str) -> ChoiceOption {
    let info = &row.info;
    let value = info.model.to_string();
    let price = info.price.map_or_else(
        || "price unknown".into(),
        |price| format!("${} in, ${} out per million", price.input, price.output),
    );
    let about = format!("{} context, {price}", format_window(info.window));
    ChoiceOption { current: value == current, value, about }
}

/// A window in words: `1M`, `200k`.
fn format_window(tokens: u64) -> String {
    match tokens {
        0..=999 => tokens.to_string(),
        1_000..=999_999 => format!("{}k", tokens / 1_000),
        _ if tokens % 1_000_000 < 100_000 => format!("{}M", tokens / 1_000_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

/// All profiles of the folder.
pub(super) fn list_profiles(context: &LocalContext) -> anyhow::Result<Vec<ChoiceOption>> {
    let shown = context.shown_session();
    let current = match shown.read_state(|state| state.config.clone()) {
        Some(config) => config.profile.name.clone(),
        None => match shown.session_overrides().profile {
            Some(name) => name,
            None => shown.cx.config()?.settings.profile.clone(),
        },
    };
    let all = shown.cx.loaded_profiles()?.iter();
    Ok(all
        .map(|loaded| ChoiceOption {
            value: loaded.profile.name.clone(),
            about: one_line(&loaded.profile.description),
            current: loaded.profile.name == current,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::format_window;

    #[test]
    fn f1_windows_are_short() {
        for (tokens, text) in [
            (512, "512"),
            (8_192, "8k"),
            (200_000, "200k"),
            (999_999, "999k"),
            (1_000_000, "1M"),
            (1_048_576, "1M"),
            (1_500_000, "1.5M"),
            (10_000_000, "10M"),
        ] {
            assert_eq!(format_window(tokens), text);
        }
    }
}
