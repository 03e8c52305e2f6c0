//! What stands before the place at which a session of a server begins here: read when the face wishes for it, a
//! part at a time, each from a settled place on, over as many connections as it takes (Q10). Not here: the facts
//! after that place (`follow`).

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use weir_core::ids::{Seq, SessionId};
use weir_core::session::SNAPSHOT_FORMAT;
use weir_core::view::transcript::{PlacedFact, SettledPlace};
use weir_tui::link::{CommandTicket, UiUpdate};

use super::controller::{RequestContext, UiCommandOutcome};
use super::http::{self, ApiResult, RequestError, ServerClient};
use super::wire::{EventStreamDecoder, FactConsequences, StreamMessage, parse_event};

#[cfg(test)]
mod tests;

/// How long a part may take. Whoever wanted it can want it again.
const PART_WAIT: Duration = Duration::from_secs(120);

/// Tells the part that ends with the fact `last` and has at least so many facts, where there are so many.
///
/// # Errors
/// It cannot be read now.
pub(super) async fn tell_part(
    context: &RequestContext,
    last: Seq,
    wanted: Seq,
    ticket: CommandTicket,
) -> ApiResult<UiCommandOutcome> {
    let reading = read_part(&context.http, context.require_session()?, last, wanted);
    let read = tokio::time::timeout(PART_WAIT, reading).await;
    let (from, facts) = read.unwrap_or_else(|_| Err(lost_line("it takes too long")))?;
    let update = UiUpdate::Earlier { ticket, from: Box::new(from), facts };
    Ok(UiCommandOutcome::from_update(update))
}

/// The place from which on it is read, and its facts.
async fn read_part(
    http: &ServerClient,
    session: &SessionId,
    last: Seq,
    wanted: Seq,
) -> ApiResult<(SettledPlace, Vec<PlacedFact>)> {
    let place = find_place(http, session, last, wanted).await?;
    // A server that knows no such places tells everything from the first fact on, and ends no stream.
    let has_end = place.is_some();
    let from = place.unwrap_or(SettledPlace::START);
    let facts = Vec::new();
    let mut part = EarlierPart { http, session, next: from.seq + 1, last, has_end, facts };
    part.read_facts().await?;
    Ok((from, part.facts))
}

/// What the server says of a place before others.
#[derive(Debug, Deserialize)]
struct RemotePlace {
    #[serde(default)]
    format: String,
    #[serde(default)]
    place: Value,
}

/// The place at the server; `None`: it knows none, or its form is another.
async fn find_place(
    http: &ServerClient,
    session: &SessionId,
    last: Seq,
    wanted: Seq,
) -> ApiResult<Option<SettledPlace>> {
    let (before, events) = (last.to_string(), wanted.to_string());
    let query = [("before", before.as_str()), ("events", events.as_str())];
    let found: RemotePlace = http.get(&["sessions", session.as_str(), "start"], &query).await?;
    if found.format != SNAPSHOT_FORMAT {
        return Ok(None);
    }
    let place: Option<SettledPlace> = serde_json::from_value(found.place).ok();
    Ok(place.filter(|place| place.seq < last))
}

/// Facts up to `last`, as far as they were read.
struct EarlierPart<'a> {
    http: &'a ServerClient,
    session: &'a SessionId,
    /// The fact that is read next.
    next: Seq,
    last: Seq,
    /// The server ends its stream with the last of them.
    has_end: bool,
    facts: Vec<PlacedFact>,
}

impl EarlierPart<'_> {
    /// Reads them all. A line that broke is taken up again as long as each one brings something.
    async fn read_facts(&mut self) -> ApiResult<()> {
        while self.next <= self.last {
            let before = self.next;
            let read = self.read_connection().await;
            let goes_on = matches!(read, Ok(()) | Err(RequestError::Lost { .. }));
            if !goes_on || self.next == before {
                return read.and_then(|()| Err(lost_line("it ended the connection")));
            }
        }
        Ok(())
    }

    /// One connection, from the next fact on.
    async fn read_connection(&mut self) -> ApiResult<()> {
        let (after, until) = ((self.next - 1).to_string(), self.last.to_string());
        let mut query = vec![("after", after.as_str())];
        if self.has_end {
            query.push(("until", until.as_str()));
        }
        let parts = ["sessions", self.session.as_str(), "events"];
        let response = self.http.open_stream(&parts, &query).await?;
        let mut stream = response.bytes_stream();
        let mut decoder = EventStreamDecoder::default();
        while self.next <= self.last
            && let Some(bytes) = http::next(&mut stream).await?
        {
            for message in decoder.decode_chunk(&bytes).map_err(RequestError::Strange)? {
                self.take_message(&message)?;
            }
        }
        Ok(())
    }

    /// The next fact, where this is it. One that was read already, or stands after all that are wanted, is
    /// passed over.
    fn take_message(&mut self, message: &StreamMessage) -> ApiResult<()> {
        if message.event == "error" {
            return Err(lost_line("it could not read the session"));
        }
        let (seq, fact) = match parse_event(&message.data).map_err(RequestError::Strange)? {
            FactConsequences::Fact { seq, ts, event } => (seq, Ok(PlacedFact { seq, ts, event })),
            FactConsequences::Unknown { seq, kind } => (seq, Err(kind)),
            FactConsequences::Signal { .. } | FactConsequences::Nothing => return Ok(()),
        };
        if seq < self.next || self.next > self.last {
            return Ok(());
        }
        if seq > self.next {
            return Err(RequestError::Strange(format!("it left out fact {}", self.next)));
        }
        let fact = fact.map_err(|kind| {
            let why = format!("it tells of {kind:?}, which this program does not know");
            RequestError::Strange(why)
        })?;
        self.facts.push(fact);
        self.next += 1;
        Ok(())
    }
}

fn lost_line(why: &str) -> RequestError {
    RequestError::Lost { why: why.to_owned(), wait: None }
}
