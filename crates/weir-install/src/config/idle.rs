//! Settings that are known and have no effect yet: each that somebody set is said once, so that
//! nobody relies on it.

use super::WorkspaceConfig;

/// Tables and keys without effect. A line goes when its feature comes.
const IDLE: &[&str] = &[];

/// One line for each such setting whose value is not the default.
pub(super) fn idle_setting_warnings(config: &WorkspaceConfig) -> Vec<String> {
    let keys = config.set_keys().filter(|(key, _)| is_idle(key) && !is_default(config, key));
    keys.map(|(key, origin)| format!("{origin}: {key} has no effect yet")).collect()
}

fn is_idle(key: &str) -> bool {
    let below = |idle: &str| {
        key.strip_prefix(idle).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    IDLE.iter().any(|idle| below(idle))
}

fn is_default(config: &WorkspaceConfig, key: &str) -> bool {
    let at = |settings: &super::Settings| {
        let json = serde_json::to_value(settings).unwrap_or_default();
        key.split('.').try_fold(json, |json, part| json.get(part).cloned())
    };
    at(&config.settings) == at(&super::Settings::default())
}
