//! A setting at a server (R10): whose it would be, how it stands, and having it made. By the routes of the
//! settings page, so that who may set what, and that it is kept who did, is the server's alone. Not here:
//! the dialog (`weir-tui`).

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_install::config;
use weir_tui::link::{DecisionKind, DecisionRequest};

use super::controller::RequestContext;
use super::decisions::refused;
use super::http::ApiResult;

/// A change of one setting, as it was looked at.
pub(super) struct WantedSetting {
    key: String,
    value: Value,
    for_all: bool,
    /// The version of what is changed: it changes nothing else.
    version: u64,
    /// All of it, in lines.
    pub(super) text: String,
}

impl WantedSetting {
    /// What is asked.
    pub(super) fn question(&self) -> &'static str {
        match (self.value.is_null(), self.for_all) {
            (false, true) => "Set it for everybody on this server?",
            (false, false) => "Set it for you?",
            (true, true) => "Remove it for everybody on this server?",
            (true, false) => "Remove it for you?",
        }
    }

    /// Names what it stands on.
    pub(super) fn identity(&self) -> String {
        json!([self.key, self.value, self.for_all, self.version]).to_string()
    }
}

/// The setting that is meant, with what holds now. What a person may set for themselves is theirs; what
/// only an admin may set is for everybody.
pub(super) async fn look_at_setting(
    context: &RequestContext,
    request: &DecisionRequest,
) -> ApiResult<WantedSetting> {
    let key = request.name().to_owned();
    let typed = request.arguments.get(1).map_or("", String::as_str);
    let sheet: Value = context.http.get(&["settings"], &[]).await?;
    let mut items = sheet["items"].as_array().into_iter().flatten();
    let item = items.find(|item| item["key"] == key.as_str()).cloned().unwrap_or_default();
    let (yours, for_all) = (item["yours"] == true, item["for_all"] == true);
    if !yours && !for_all {
        return Err(refused(format!(
            "{} is not a setting that a server changes for who is signed in; what names programs, keys \
             or folders is set on the machine on which it runs: there, by `weir config set`",
            visible_text(&key)
        )));
    }
    let version = if yours { &sheet["version"] } else { &sheet["house_version"] };
    // Nothing in its place: what the source below says holds again.
    let value = match request.kind {
        DecisionKind::SettingUnset => Value::Null,
        _ => config::setting_value_as_json(typed),
    };
    let of = |name: &str| visible_text(item[name].as_str().unwrap_or_default());
    let whom = if yours { "you" } else { "everybody on this server" };
    let (shown, now) = (visible_text(&value.to_string()), visible_text(&item["value"].to_string()));
    let change = match value.is_null() {
        true => " is removed".to_owned(),
        false => format!(" = {shown}"),
    };
    let text = format!(
        "{}{change}\nFor: {whom}\nNow: {now} ({})\n{}\nIt counts from the next run on.\n",
        visible_text(&key),
        of("origin"),
        of("description"),
    );
    let version = version.as_u64().unwrap_or_default();
    Ok(WantedSetting { key, value, for_all: !yours, version, text })
}

/// Makes it, as it was looked at: what was done, in words.
pub(super) async fn make_setting(
    context: &RequestContext,
    wanted: &WantedSetting,
) -> ApiResult<String> {
    let mut values = serde_json::Map::new();
    values.insert(wanted.key.clone(), wanted.value.clone());
    let body = json!({
        "for_all": wanted.for_all, "version": wanted.version, "values": values,
    });
    let _: Value = context.http.patch_json(&["settings"], &body).await?;
    let whom = if wanted.for_all { "everybody on this server" } else { "you" };
    let done = if wanted.value.is_null() { "is removed" } else { "is set" };
    Ok(format!("{} {done} for {whom}; it counts from the next run on.", visible_text(&wanted.key)))
}
