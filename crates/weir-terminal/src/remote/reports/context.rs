//! What the model is told: the prompt of a new session part by part, or how full the window of the
//! session is, as the server says: what it knows by its snapshot is not folded once more here (Q10).

use serde_json::Value;
use weir_core::session::meter::ContextMeter;

use super::super::controller::RequestContext;
use super::super::follow::lock_followed_state;
use super::super::http::{ApiResult, RequestError};
use super::words::{format_bullet, format_named_line, format_section, number_field, text_field};

/// The text.
pub(super) async fn context_report(context: &RequestContext) -> ApiResult<String> {
    let sections: Vec<Value> = context.http.get(&["settings", "preview"], &[]).await?;
    let one = |one: &Value| {
        format_bullet(
            &text_field(one, "name"),
            "",
            &format!("{} tokens", number_field(one, "tokens")),
        )
    };
    let prompt = format_section("The prompt of a new session", sections.iter().map(one), "nothing");
    if context.session.is_none() {
        return Ok(prompt);
    }
    let id = context.require_session()?;
    let told = context.http.get(&["sessions", id.as_str(), "context"], &[]).await;
    let meter: ContextMeter = told.map_err(|trouble| match trouble.is_missing() {
        true => RequestError::Strange(
            "it has no such session any more, or is older than this program and does not say how full \
             the window is"
                .into(),
        ),
        false => trouble,
    })?;
    let model = lock_followed_state(&context.seen).model.clone();
    Ok(describe_meter(&model, &meter) + &prompt)
}

fn describe_meter(model: &str, meter: &ContextMeter) -> String {
    let window = match meter.window {
        0 => "not known".to_owned(),
        tokens => format!("{tokens} tokens"),
    };
    let share = |tokens: u64| match meter.window {
        0 => String::new(),
        window => format!(" ({:.1} %)", tokens as f64 * 100.0 / window as f64),
    };
    let parts = [
        ("system", meter.system),
        ("tools", meter.tools),
        ("notes", meter.notes),
        ("history", meter.history),
        ("results", meter.results),
        ("free", meter.free),
    ];
    let mut lines = vec![format_named_line("model", model), format_named_line("window", &window)];
    let parts = parts.iter().filter(|(name, _)| *name != "free" || meter.window > 0);
    lines
        .extend(parts.map(|(name, tokens)| format!("- {name}: {tokens} tokens{}", share(*tokens))));
    lines.push(match meter.condense_at {
        Some(at) => format!("- condensed when a request would pass {at} tokens"),
        None => "- not condensed by itself".to_owned(),
    });
    if let Some(share) = meter.cache_share {
        lines.push(format!("- the cache served {:.0} % of the last request", share * 100.0));
    }
    if meter.condensed > 0 {
        lines.push(format!("- condensed {} times", meter.condensed));
    }
    format_section("This session", lines.into_iter(), "")
}
