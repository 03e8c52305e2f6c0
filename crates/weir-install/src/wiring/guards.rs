//! The guards that settings switch on: hooks, judge model, canary (G3, G8, G11). Not here: what
//! they do.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use weir_core::ids::{SessionId, Timestamp};
use weir_core::session::{Guards, SessionConfig};
use weir_engine::ports::Model;
use weir_sandbox::filtered_environment;

use super::SessionOverrides;
use super::spending::model_under_caps;
use crate::config::{HandleSetting, Settings, WorkspaceConfig};
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::hooks::{CommandHooks, ConfiguredHook};
use crate::models::{self, WindowNotice};

/// Letters of a canary: those of base32, which no reader mixes up.
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// So many of them: 80 bits.
const CANARY_LETTERS: usize = 16;
/// Words of earlier days that are watched on: each is searched for in every call.
const CANARIES_BEFORE_MAX: usize = 14;

/// The hooks of all files that count here. They see the variables that commands see.
///
/// # Errors
/// A hook that cannot be called: file and line.
pub(super) fn load_hooks(
    cx: &InstallationContext,
    secrets: Vec<String>,
) -> anyhow::Result<CommandHooks> {
    let mut hooks = Vec::new();
    for raw in &cx.config()?.hooks {
        let hook = ConfiguredHook::new(raw);
        hooks.push(hook.map_err(|why| usage(format!("{}: {} {why}", raw.origin, raw.name())))?);
    }
    let environment = filtered_environment(cx.environment.all_variables(), &[]);
    Ok(CommandHooks::new(hooks, environment, secrets))
}

/// Names of the models that are made with an engine, by [`judge_model`] and those after it.
///
/// # Errors
/// The settings cannot be read.
pub(super) fn helper_names(cx: &InstallationContext) -> anyhow::Result<BTreeSet<&str>> {
    let settings = &cx.config()?.settings;
    let of = &settings.helpers;
    let needed = [
        (needs_judge(cx)?, &of.judge),
        (needs_condenser(settings), &of.condense),
        (true, &of.plan),
        (true, &of.flagship),
    ];
    let named = needed.into_iter().filter(|(needed, _)| *needed).map(|(_, name)| name.trim());
    Ok(named.filter(|name| !name.is_empty()).collect())
}

fn needs_judge(cx: &InstallationContext) -> anyhow::Result<bool> {
    let settings = &cx.config()?.settings;
    // It reads the words of handles too, which sessions with servers can have.
    let handles =
        settings.context.handles != HandleSetting::Off && !cx.declared_servers()?.0.is_empty();
    Ok(settings.security.validate_output || settings.security.screen_results || handles)
}

fn needs_condenser(settings: &Settings) -> bool {
    settings.context.condensing_enabled || settings.memory.after_run
}

/// The judge model, where a guard needs one and the settings name one; otherwise it is each
/// session's own model.
///
/// # Errors
/// It cannot be asked: what is missing. A guard without its judge would be none.
pub(super) fn judge_model(cx: &InstallationContext) -> anyhow::Result<Option<Arc<dyn Model>>> {
    let settings = &cx.config()?.settings;
    helper_model(cx, needs_judge(cx)?, "helpers.judge", &settings.helpers.judge, "judges")
}

/// The model that summarises what no longer fits, where the settings name one; otherwise it is each
/// session's own model.
///
/// # Errors
/// It cannot be asked: what is missing.
pub(super) fn condenser_model(cx: &InstallationContext) -> anyhow::Result<Option<Arc<dyn Model>>> {
    let settings = &cx.config()?.settings;
    let needed = needs_condenser(settings);
    helper_model(cx, needed, "helpers.condense", &settings.helpers.condense, "summarises")
}

/// The model that fills recipes in, where the settings name one; otherwise it is each session's own
/// model.
///
/// # Errors
/// It cannot be asked: what is missing.
pub(super) fn planner_model(cx: &InstallationContext) -> anyhow::Result<Option<Arc<dyn Model>>> {
    let settings = &cx.config()?.settings;
    helper_model(cx, true, "helpers.plan", &settings.helpers.plan, "fills recipes in")
}

/// The stronger model that the agent may ask, where the settings name one.
///
/// # Errors
/// It cannot be asked: what is missing.
pub(super) fn flagship_model(cx: &InstallationContext) -> anyhow::Result<Option<Arc<dyn Model>>> {
    let settings = &cx.config()?.settings;
    let does = "is never asked about (leave it out to go without)";
    helper_model(cx, true, "helpers.flagship", &settings.helpers.flagship, does)
}

/// The model that names the chat of `session`, where the settings name one.
///
/// # Errors
/// It cannot be asked: what is missing.
pub(super) async fn titler_model(
    cx: &InstallationContext,
    session: &SessionId,
) -> anyhow::Result<Option<Arc<dyn Model>>> {
    let settings = &cx.config()?.settings;
    let named = Some(settings.helpers.titles.trim()).filter(|name| !name.is_empty());
    models::ask_windows_ahead(cx, named.into_iter().collect(), WindowNotice::Once).await;
    let model =
        helper_model(cx, true, "helpers.titles", &settings.helpers.titles, "names no chats")?;
    // Where a cap is reached nothing is asked, and the chat keeps the name that it has.
    let wishes = SessionOverrides::default();
    model.map(|model| model_under_caps(cx, &wishes, model, session.as_str())).transpose()
}

/// The model that a setting names for some side work, where that is needed.
fn helper_model(
    cx: &InstallationContext,
    needed: bool,
    key: &str,
    name: &str,
    does: &str,
) -> anyhow::Result<Option<Arc<dyn Model>>> {
    if !needed || name.trim().is_empty() {
        return Ok(None);
    }
    let model = models::model_by_name(cx, name.trim()).map_err(|error| {
        let place =
            cx.config().map(|config| config.origin_of_key(key).to_string()).unwrap_or_default();
        usage(format!(
            "{place}: {key} cannot be used: {error}; without it the session's own model {does}"
        ))
    })?;
    Ok(Some(model))
}

/// What is switched on for a session at `now`. One that exists keeps its word until the day is
/// over (UTC); then it has a new one, and those before are watched on.
pub(super) fn session_guards(
    config: &WorkspaceConfig,
    kept: Option<&SessionConfig>,
    now: Timestamp,
) -> Guards {
    let security = &config.settings.security;
    let (canary, canary_day, canaries_before) = match security.canary {
        true => canary_words(kept.map(|kept| &kept.guards), &utc_day(now)),
        false => (None, String::new(), Vec::new()),
    };
    Guards {
        canary,
        canary_day,
        canaries_before,
        // A workspace that is not trusted said how much may pass here: that still asks.
        unconfirmed: !security.confirmation && config.permission_ceiling.is_none(),
        validate_output: security.validate_output,
        screen_results: security.screen_results,
        stop_hooks: config.settings.hooks.get("Stop").is_some_and(|hooks| !hooks.is_empty()),
    }
}

/// The word of a session on `today`, that day, and the words before.
fn canary_words(kept: Option<&Guards>, today: &str) -> (Option<String>, String, Vec<String>) {
    let Some((kept, word)) = kept.and_then(|kept| Some((kept, kept.canary.clone()?))) else {
        return (Some(new_word()), today.to_owned(), Vec::new());
    };
    if kept.canary_day == today {
        return (Some(word), today.to_owned(), kept.canaries_before.clone());
    }
    let before = std::iter::once(word).chain(kept.canaries_before.iter().cloned());
    (Some(new_word()), today.to_owned(), before.take(CANARIES_BEFORE_MAX).collect())
}

/// The day of a moment, in UTC.
fn utc_day(now: Timestamp) -> String {
    let moment = jiff::Timestamp::from_microsecond(now.0).unwrap_or_default();
    moment.strftime("%Y-%m-%d").to_string()
}

/// A word that nobody can guess.
fn new_word() -> String {
    // Each has 74 bits of the system's randomness; the hash spreads them evenly.
    let hash = Sha256::new()
        .chain_update(uuid::Uuid::now_v7().as_bytes())
        .chain_update(uuid::Uuid::now_v7().as_bytes())
        .finalize();
    let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 32)]);
    let letters: String = hash.iter().take(CANARY_LETTERS).map(letter).collect();
    format!("WEIR-{letters}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: i64 = 24 * 3_600_000_000;

    #[test]
    fn s6_the_canary_is_another_every_day_and_old_ones_are_kept() {
        let noon = Timestamp(1_800_000_000_000_000);
        let made = |kept: Option<&Guards>, now| {
            let (canary, canary_day, canaries_before) = canary_words(kept, &utc_day(now));
            Guards { canary, canary_day, canaries_before, ..Guards::default() }
        };
        let first = made(None, noon);
        assert_eq!(first.canary_day, "2027-01-15");
        assert_eq!(made(Some(&first), Timestamp(noon.0 + 3_600_000_000)), first);
        let second = made(Some(&first), Timestamp(noon.0 + DAY_US));
        assert_eq!(second.canary_day, "2027-01-16");
        assert_ne!(second.canary, first.canary);
        assert_eq!(Some(&second.canaries_before), first.canary.map(|word| vec![word]).as_ref());
        let mut last = second;
        for days in 2..40 {
            last = made(Some(&last), Timestamp(noon.0 + days * DAY_US));
        }
        assert_eq!(last.canaries_before.len(), CANARIES_BEFORE_MAX);
    }

    #[test]
    fn g3_every_session_has_a_canary_of_its_own() {
        let words = [new_word(), new_word()];
        assert_ne!(words[0], words[1]);
        for word in words {
            let letters = word.strip_prefix("WEIR-").expect("its prefix");
            assert_eq!(letters.len(), CANARY_LETTERS);
            assert!(letters.bytes().all(|letter| LETTERS.contains(&letter)), "{word}");
        }
    }
}
