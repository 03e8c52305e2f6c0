//! What types cannot say: ranges, names, forms. Each complaint names the place where the value
//! stands.

use weir_providers::catalogue::ServerKind;

use super::{ConfiguredHook, SettingOrigin, Settings, WorkspaceConfig};

/// The first value that cannot be used.
pub(super) fn check_values(config: &WorkspaceConfig) -> Result<(), String> {
    let settings = &config.settings;
    check_limits(settings)
        .or_else(|| check_value_forms(settings))
        .or_else(|| check_chosen_names(config))
        .or_else(|| check_providers(settings))
        .or_else(|| super::secrets::find_secret_complaint(&settings.secrets))
        .or_else(|| super::servers::find_server_complaint(settings))
        .or_else(|| super::plugins::find_plugin_complaint(settings))
        .or_else(|| super::search::search_complaint(&settings.web.search))
        .map_or(Ok(()), |(key, problem)| {
            Err(format!("{}: {key} {problem}", origin_of_setting(config, &key)))
        })?;
    check_hooks(config)
}

/// Takes out what a file says only a part of: another one may have the rest, and whether one has is seen where
/// all of them are read together.
pub(super) fn leave_out_parts(config: &mut WorkspaceConfig) {
    let names_engine = config.is_set("web.search.kind");
    let Settings { mcp_servers, secrets, commands, plugins, web, .. } = &mut config.settings;
    mcp_servers.retain(|_, server| !server.command.trim().is_empty() || !server.url.is_empty());
    secrets.retain(|_, secret| {
        (secret.env.is_some() || secret.file.is_some()) && !secret.hosts.is_empty()
    });
    commands.named.retain(|_, command| !command.run.trim().is_empty());
    for plugin in plugins.values_mut().filter(|plugin| plugin.url.is_empty()) {
        plugin.certificate.clear();
    }
    if !names_engine {
        web.search.model.clear();
    }
}

/// What only all files together show.
pub(super) fn check_merged_files(config: &WorkspaceConfig) -> Result<(), String> {
    super::servers::secret_complaint(&config.settings).map_or(Ok(()), |(key, problem)| {
        Err(format!("{}: {key} {problem}", origin_of_setting(config, &key)))
    })
}

/// The first hook that could not be called.
fn check_hooks(config: &WorkspaceConfig) -> Result<(), String> {
    config.hooks.iter().try_for_each(|raw| {
        let wrong = |problem| format!("{}: {} {problem}", raw.origin, raw.name());
        ConfiguredHook::new(raw).map(drop).map_err(wrong)
    })
}

/// Where the value of `key` stands; for a whole table, where its first value does; for a field of a
/// table that was written as an array, where that does.
pub(super) fn origin_of_setting(config: &WorkspaceConfig, key: &str) -> SettingOrigin {
    let below = format!("{key}.");
    let mut set = config.set_keys();
    let found = set.find(|(name, _)| *name == key || name.starts_with(&below));
    match (found, key.rsplit_once('.')) {
        (Some((_, origin)), _) => origin.clone(),
        (None, Some((above, _))) => origin_of_setting(config, above),
        (None, None) => SettingOrigin::BuiltIn,
    }
}

/// Events that hooks can look at (G11).
const HOOK_EVENTS: [&str; 9] = [
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "SubagentStop",
    "Stop",
    "Notification",
];

/// Names that people choose in tables of their own.
fn check_chosen_names(config: &WorkspaceConfig) -> SettingComplaint {
    let settings = &config.settings;
    // Of the keys and not of the settings: an event without any hook is misspelled all the same.
    let mut events = config.set_keys().filter_map(|(key, _)| key.strip_prefix("hooks."));
    if let Some(name) = events.find(|name| !HOOK_EVENTS.contains(name)) {
        let key = format!("hooks.{name}");
        return Some((key, format!("is no event; there are {}", HOOK_EVENTS.join(", "))));
    }
    let is_model = |name: &String| weir_providers::catalogue::parse_ref(name).is_ok();
    let name = settings.models.keys().find(|name| !is_model(name))?;
    let key = super::file::key_text(&["models", name]);
    Some((key, "names no model; write [models.\"provider/name\"]".into()))
}

type SettingComplaint = Option<(String, String)>;

fn check_limits(settings: &Settings) -> SettingComplaint {
    let limits = &settings.limits;
    let complaint = |key: &str, problem: &str| Some((format!("limits.{key}"), problem.to_owned()));
    if limits.max_iterations == 0 {
        return complaint("max_iterations", "is 0: no run could begin; set 1 or more");
    }
    if limits.parallel_calls == 0 {
        return complaint("parallel_calls", "is 0: no call could run; set 1 or more");
    }
    if limits.program_steps == 0 {
        return complaint("program_steps", "is 0: no program could do anything; set 1 or more");
    }
    if limits.budget_usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
        return complaint("budget_usd", "must be an amount above 0; leave it out for no bound");
    }
    if let Some(problem) = check_spending(settings).or_else(|| check_prices(settings)) {
        return Some(problem);
    }
    if limits.tool_timeout.ms == 0 {
        return complaint("tool_timeout", "is 0: every call would end at once; set \"120s\"");
    }
    if settings.agents.max_concurrent_runs == 0 {
        let problem = "is 0: no scheduled agent could ever run; `weir pause` stops them all";
        return Some(("agents.max_concurrent_runs".into(), problem.into()));
    }
    None
}

/// Caps are amounts; what has no cap is left out, and 0 only where the setting says what it means.
fn check_spending(settings: &Settings) -> SettingComplaint {
    let caps = &settings.spending;
    let wanted = [
        ("session_usd", caps.session_usd),
        ("day_usd", caps.day_usd),
        ("person_usd", caps.person_usd),
        ("server_usd", caps.server_usd),
    ];
    let wrong =
        wanted.iter().find(|(_, usd)| usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0));
    if let Some((name, _)) = wrong {
        let problem = "must be an amount above 0; leave it out for no cap";
        return Some((format!("spending.{name}"), problem.into()));
    }
    let or_off = [("schedule_usd", caps.schedule_usd), ("schedule_run_usd", caps.schedule_run_usd)];
    let wrong = or_off.iter().find(|(_, usd)| !usd.is_finite() || *usd < 0.0);
    wrong.map(|(name, _)| {
        (format!("spending.{name}"), "must be an amount; 0 means no cap".to_owned())
    })
}

/// Prices that no vendor asks, and days that are none.
fn check_prices(settings: &Settings) -> SettingComplaint {
    settings.models.iter().find_map(|(name, model)| {
        let key = |field: &str| super::file::key_text(&["models", name, field]);
        let wrong = model.price.as_ref().and_then(weir_providers::catalogue::price_complaint);
        if let Some(problem) = wrong {
            return Some((key("price"), problem));
        }
        let day = model.priced_on.as_deref()?;
        let is_day = day.parse::<jiff::civil::Date>().is_ok();
        (!is_day).then(|| (key("priced_on"), format!("is {day:?}; write 2026-11-29")))
    })
}

fn check_value_forms(settings: &Settings) -> SettingComplaint {
    if let Some(model) = &settings.model
        && let Err(problem) = model_form(model)
    {
        return Some(("model".into(), problem));
    }
    let routing = &settings.routing;
    if let Some(problem) = routing.fallback.iter().find_map(|name| model_form(name).err()) {
        return Some(("routing.fallback".into(), problem));
    }
    if let Some(problem) = routing.rules.iter().find_map(|rule| model_form(&rule.model).err()) {
        return Some(("routing.rules".into(), format!("needs a model: it {problem}")));
    }
    let zone = &settings.prompt.timezone;
    if zone != "UTC" && jiff::tz::TimeZone::get(zone).is_err() {
        let problem = format!("is {zone:?}, which is no known time zone; write Europe/Zurich");
        return Some(("prompt.timezone".into(), problem));
    }
    let threshold = settings.context.condensing_threshold;
    if !(1..=100).contains(&threshold) {
        let problem = format!("is {threshold}; it is a percentage from 1 to 100");
        return Some(("context.condensing_threshold".into(), problem));
    }
    let floor = settings.recipes.floor;
    if !(0.0..=1.0).contains(&floor) {
        return Some(("recipes.floor".into(), format!("is {floor}: set 0 to 1")));
    }
    None
}

/// Whether `text` can name a model at all; whether there is one is asked when it is needed.
fn model_form(text: &str) -> Result<(), String> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err(format!(
            "is {text:?}; write PROVIDER/NAME (`weir models` lists them) or script:FILE"
        ));
    }
    Ok(())
}

fn check_providers(settings: &Settings) -> SettingComplaint {
    for (name, provider) in &settings.providers {
        let key = |field: &str| super::file::key_text(&["providers", name, field]);
        if let Some(dialect) = &provider.dialect
            && weir_providers::find_dialect(dialect).is_none()
        {
            let known: Vec<&str> = weir_providers::DIALECTS.iter().map(|d| d.name()).collect();
            let problem = format!("is {dialect:?}; it is one of {}", known.join(", "));
            return Some((key("dialect"), problem));
        }
        if let Some(server) = &provider.server
            && ServerKind::of_word(server).is_none()
        {
            let problem = format!("is {server:?}; it is one of {}", ServerKind::WORDS.join(", "));
            return Some((key("server"), problem));
        }
        if let Some(address) = &provider.base_url {
            let parsed = url::Url::parse(address);
            let fits = parsed.is_ok_and(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.has_host()
                    && url.username().is_empty()
                    && url.password().is_none()
            });
            if !fits {
                let problem = format!("is {address:?}; write https://HOST/PATH, without a key");
                return Some((key("base_url"), problem));
            }
        }
    }
    None
}
