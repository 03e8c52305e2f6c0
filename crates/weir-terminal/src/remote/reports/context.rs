//! What the model is told: the prompt of a new session part by part, or how full the window of the
//! session is, folded from its journal.

use serde_json::Value;
use weir_core::session::Session;
use weir_core::session::meter::ContextMeter;

use super::super::controller::RequestContext;
use super::super::http::{self, ApiResult, RequestError};
use super::super::wire::{EventStreamDecoder, FactConsequences, parse_event};
use super::words::{format_bullet, format_named_line, format_section, number_field, text_field};

/// Largest journal that is folded, in bytes.
const JOURNAL_BYTES_MAX: usize = 256 << 20;

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
    let session = fold_session(context).await?;
    let model = session.config().map(|config| config.model.model.to_string()).unwrap_or_default();
    Ok(describe_meter(&model, &session.meter()) + &prompt)
}

/// The session, from its events until now.
async fn fold_session(context: &RequestContext) -> ApiResult<Session> {
    let id = context.require_session()?;
    let mut session = Session::new(id.clone());
    let until = super::super::follow::lock_followed_state(&context.seen).last;
    let response =
        context.http.open_stream(&["sessions", id.as_str(), "events"], &[("after", "0")]).await?;
    let (mut stream, mut decoder) = (response.bytes_stream(), EventStreamDecoder::default());
    let mut bytes = 0;
    while session.fact_count() < until {
        let Some(part) = http::next(&mut stream).await? else { break };
        bytes += part.len();
        if bytes > JOURNAL_BYTES_MAX {
            return Err(RequestError::Strange(
                "the journal is too large to be looked at here".into(),
            ));
        }
        for message in decoder.decode_chunk(&part).map_err(RequestError::Strange)? {
            match parse_event(&message.data).map_err(RequestError::Strange)? {
                FactConsequences::Fact { ts, event, .. } => session.apply(ts, &event),
                FactConsequences::Unknown { kind, .. } => {
                    let why = format!("{kind:?} is not known to this program; use a newer weir");
                    return Err(RequestError::Strange(why));
                }
                FactConsequences::Signal { .. } | FactConsequences::Nothing => (),
            }
        }
    }
    Ok(session)
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
