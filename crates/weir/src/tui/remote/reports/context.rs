//! What the model is told: the prompt of a new session part by part, or how full the window of the
//! session is, folded from its journal.

use serde_json::Value;
use weir_core::session::Session;
use weir_core::session::meter::Meter;

use super::super::desk::Ground;
use super::super::http::{self, Answer, Trouble};
use super::super::wire::{Decoder, Heard, heard};
use super::words::{bullet, line, number, section, text};

/// Largest journal that is folded, in bytes.
const JOURNAL_BYTES_MAX: usize = 256 << 20;

/// The text.
pub(super) async fn context(ground: &Ground) -> Answer<String> {
    let sections: Vec<Value> = ground.http.get(&["settings", "preview"], &[]).await?;
    let one =
        |one: &Value| bullet(&text(one, "name"), "", &format!("{} tokens", number(one, "tokens")));
    let prompt = section("The prompt of a new session", sections.iter().map(one), "nothing");
    if ground.session.is_none() {
        return Ok(prompt);
    }
    let session = folded(ground).await?;
    let model = session.config().map(|config| config.model.model.to_string()).unwrap_or_default();
    Ok(told(&model, &session.meter()) + &prompt)
}

/// The session, from its events until now.
async fn folded(ground: &Ground) -> Answer<Session> {
    let id = ground.session()?;
    let mut session = Session::new(id.clone());
    let until = super::super::follow::seen(&ground.seen).last;
    let response =
        ground.http.stream(&["sessions", id.as_str(), "events"], &[("after", "0")]).await?;
    let (mut stream, mut decoder) = (response.bytes_stream(), Decoder::default());
    let mut bytes = 0;
    while session.facts() < until {
        let Some(part) = http::next(&mut stream).await? else { break };
        bytes += part.len();
        if bytes > JOURNAL_BYTES_MAX {
            return Err(Trouble::Strange("the journal is too large to be looked at here".into()));
        }
        for message in decoder.feed(&part).map_err(Trouble::Strange)? {
            match heard(&message.data).map_err(Trouble::Strange)? {
                Heard::Fact { ts, event, .. } => session.apply(ts, &event),
                Heard::Unknown { kind, .. } => {
                    let why = format!("{kind:?} is not known to this program; use a newer weir");
                    return Err(Trouble::Strange(why));
                }
                Heard::Signal { .. } | Heard::Nothing => (),
            }
        }
    }
    Ok(session)
}

fn told(model: &str, meter: &Meter) -> String {
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
    let mut lines = vec![line("model", model), line("window", &window)];
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
    section("This session", lines.into_iter(), "")
}
