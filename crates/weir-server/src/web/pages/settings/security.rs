//! The layers that an admin switches for everybody, in the order in which a call meets them, each
//! with what it costs; and what cannot be switched off (S6).

use std::collections::BTreeMap;

use axum::Form;
use axum::extract::Query;
use axum::response::Redirect;
use maud::{Markup, html};
use serde_json::Value;
use weir_install::user_space::{Setting, SettingsChange};

use super::{ASSETS, HERE, SettingsQuery, render_settings_head};
use crate::api::settings::apply_settings_change;
use crate::app::App;
use crate::auth::accounts;
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{page_with, render_badge};

/// Audit lines of each person that are looked through for figures.
const LINES_MAX: u64 = 2_000;

/// One layer.
struct SecurityLayer {
    key: &'static str,
    title: &'static str,
    on: &'static str,
    off: &'static str,
    cost: &'static str,
}

/// In the order per call.
const LAYERS: &[SecurityLayer] = &[
    SecurityLayer {
        key: "security.confirmation",
        title: "Confirmation",
        on: "Actions that need approval wait for a person.",
        off: "What would be asked passes, as in mode “full”. Deny rules, protected paths, the hard \
              floor and the rules about words from outside hold all the same.",
        cost: "No tokens; a person's time.",
    },
    SecurityLayer {
        key: "security.canary",
        title: "Canary word",
        on: "A secret word stands in each prompt, another every day. A call that carries it, plainly \
             or encoded, is stopped with its run, and an alert is raised. Words of the last fourteen \
             days are still watched.",
        off: "No canary word is used.",
        cost: "About 60 tokens in each prompt, no model call; the new word of a day makes the \
               prompt's cache of a running chat begin anew once.",
    },
    SecurityLayer {
        key: "security.validate_output",
        title: "Output validation",
        on: "A judge model compares each call that changes something or leaves this machine with \
             what the person asked for. No answer is a refusal to go on without a person.",
        off: "No judge model checks calls.",
        cost: "One call of the judge model for each such call: about 600 tokens in, 20 out, and its \
               answering time before the call begins.",
    },
    SecurityLayer {
        key: "security.screen_results",
        title: "Screening of results",
        on: "A judge model looks for instructions in what comes from outside before the agent reads \
             it. What has some is withheld.",
        off: "Outside content is marked as foreign, but not screened.",
        cost: "One call of the judge model for each 24,000 characters from outside: about 6,000 \
               tokens in, 20 out, and its answering time before the agent goes on.",
    },
];

/// What is always on.
const ALWAYS: &[(&str, &str)] = &[
    ("Deny rules", "Deny rules apply in every mode."),
    ("Protected paths", "Keys, settings and Weir's own folders cannot be written."),
    ("The hard floor", "A short list of destructive commands never runs."),
    ("Folders", "Nobody can reach another person's files; symbolic links out are not followed."),
    (
        "Outside content",
        "Text from the web, mail or files of others gives no orders, and what \
      it led to does not leave without a person.",
    ),
    ("Secrets", "Keys never reach a model and are removed from stored data."),
    ("Audit log", "Each decision is an audit entry, chained to the one before."),
];

/// What the audit lines say.
#[derive(Debug, Default)]
struct AuditFigures {
    judged: u64,
    asked: u64,
    alerts: u64,
    unfit: u64,
    finished: u64,
    withheld: u64,
}

impl AuditFigures {
    fn count_line(&mut self, fields: &Value) {
        let is = |name: &str, word: &str| fields[name] == word;
        match fields["kind"].as_str().unwrap_or_default() {
            "call.judged" => {
                self.judged += 1;
                self.asked += u64::from(is("verdict", "ask"));
                self.unfit += u64::from(is("gate", "intent") && !is("verdict", "allow"));
            }
            "call.finished" => {
                self.finished += 1;
                self.withheld += u64::from(!fields["withheld"].is_null());
            }
            "alert.raised" => self.alerts += u64::from(is("alert", "canary")),
            _ => (),
        }
    }

    fn layer_figures(&self, key: &str) -> String {
        let all = self.judged;
        match key {
            "security.confirmation" => format!("{} of {all} calls asked a person.", self.asked),
            "security.canary" => format!("{} alerts in {all} calls.", self.alerts),
            "security.validate_output" => {
                format!("{} of {all} calls did not fit what was asked for.", self.unfit)
            }
            _ => format!("{} of {} results were withheld.", self.withheld, self.finished),
        }
    }
}

/// Of everybody's newest lines.
async fn gather_figures(app: &App) -> HandlerResult<AuditFigures> {
    let mut figures = AuditFigures::default();
    for person in accounts::list_accounts(&app.auth.shelf).await? {
        let store = app.user_space(&person).await?.store();
        let last = weir_install::audit::last_line_number(store.as_ref()).await?;
        let from = last.saturating_sub(LINES_MAX) + 1;
        let lines =
            store.audit_lines(from, usize::try_from(LINES_MAX).unwrap_or(usize::MAX)).await?;
        lines.iter().for_each(|line| figures.count_line(&line.entry.fields));
    }
    Ok(figures)
}

pub(super) async fn show_security(
    CallerSpace { app, caller, space }: CallerSpace,
    Query(look): Query<SettingsQuery>,
) -> HandlerResult<Markup> {
    let sheet = space.settings_sheet().await?;
    let figures = gather_figures(&app).await?;
    let find = |key: &str| sheet.items.iter().find(|setting| setting.key == key);
    let body = html! {
        (render_settings_head(&caller, "security", &SettingsQuery::default()))
        @if !look.saved.is_empty() {
            p.notice.good role="status" { "Saved. It applies to everyone from the next run." }
        }
        p {
            "Four layers, in the order in which a call meets them. Each is on or off for everybody \
             on this server. Figures are of the newest " (LINES_MAX) " audit lines of each person."
        }
        (post_form(&caller, html! { (HERE) "/security" }, "", &html! {
            input type="hidden" name="version" value=(sheet.house_version);
            ol.settings-layers {
                @for layer in LAYERS {
                    @if let Some(setting) = find(layer.key) { (render_layer(layer, setting, &figures)) }
                }
            }
            (submit_button(ButtonLook::Primary, "Save for everyone"))
        }))
        (render_always_on())
    };
    Ok(page_with(&caller, "Security", HERE, ASSETS, &body))
}

fn render_layer(layer: &SecurityLayer, setting: &Setting, figures: &AuditFigures) -> Markup {
    let is_on = setting.value == Value::Bool(true);
    let id = super::control::element_id(layer.key);
    let choice = |value: &str, word: &str, on: bool| {
        html! {
            label {
                input type="radio" name={ "v:" (layer.key) } value=(value) checked[is_on == on];
                (word)
            }
        }
    };
    html! {
        li.card id=(id) {
            fieldset.settings-switch {
                legend { (layer.title) " " @if is_on { (render_badge("good", "on")) } @else { (render_badge("warn", "off")) } }
                div.row { (choice("true", "on", true)) (choice("false", "off", false)) }
            }
            dl.kv {
                dt { "On" } dd { (layer.on) }
                dt { "Off" } dd { (layer.off) }
                dt { "Costs" } dd { (layer.cost) }
                dt { "Recently" } dd { (figures.layer_figures(layer.key)) }
                dt { "Set by" } dd { (setting.origin) }
            }
        }
    }
}

fn render_always_on() -> Markup {
    html! {
        section aria-labelledby="always" {
            h2 id="always" { "Always on" }
            p.muted { "These need no model and cannot be turned off here." }
            dl.card.kv {
                @for (title, what) in ALWAYS {
                    dt { (title) " " (render_badge("good", "on")) }
                    dd { (what) }
                }
            }
        }
    }
}

pub(super) async fn save_security(
    owner: CallerSpace,
    Form(fields): Form<Vec<(String, String)>>,
) -> HandlerResult<Redirect> {
    let CallerSpace { space, .. } = &owner;
    let typed: BTreeMap<String, String> = fields.into_iter().collect();
    let sheet = space.settings_sheet().await?;
    let mut values = BTreeMap::new();
    for layer in LAYERS {
        let Some(word) = typed.get(&format!("v:{}", layer.key)) else { continue };
        let value = Value::Bool(word == "true");
        let now = sheet.items.iter().find(|setting| setting.key == layer.key);
        if now.is_none_or(|setting| setting.value != value) {
            values.insert(layer.key.to_owned(), value);
        }
    }
    let version = typed.get("version").and_then(|text| text.parse().ok());
    apply_settings_change(&owner, &SettingsChange { for_all: true, version, values }).await?;
    Ok(Redirect::to(&format!("{HERE}/security?saved=1")))
}
