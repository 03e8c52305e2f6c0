//! What all decoders share: events out of bytes, bounds, and an honest end.
//!
//! A dialect only says what one event means ([`AssembleReply`]).

use serde_json::Value;
use weir_core::model::{FailureClass, ModelReply, ModelSignal};

use super::ReplyDecoder;
use super::failure::{self, ProviderFailure};
use crate::ndjson::LineDecoder;
use crate::sse::{EventTooLarge, SseDecoder};

/// Most bytes that one reply may hold, thinking, arguments and images included.
pub const REPLY_BYTES_MAX: usize = 64 << 20;
/// Most blocks, calls or choices that one reply may hold.
pub(crate) const REPLY_PIECES_MAX: usize = 4096;

/// Of what cannot be read, enough to recognise what it was.
const SHOWN_CHARS: usize = 200;

/// What one dialect makes of its events.
pub(crate) trait AssembleReply: Send {
    /// Takes the data of one event.
    ///
    /// # Errors
    /// The reply has failed; nothing more is fed.
    fn take_event(
        &mut self,
        data: &str,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure>;
    /// Whether the vendor has said that the reply is whole.
    fn is_whole(&self) -> bool;
    /// Whether the vendor has nothing more to say, so that waiting is pointless.
    fn is_over(&self) -> bool;
    /// Bytes kept so far.
    fn kept_bytes(&self) -> usize;
    /// The reply. Only called when it is whole.
    fn into_reply(self) -> Result<ModelReply, ProviderFailure>;
}

/// How events stand in the bytes of a stream.
pub(crate) trait EventFraming: Default + Send {
    /// Takes some bytes; calls `on_data` with the data of each event that is complete.
    ///
    /// # Errors
    /// An event is too large; nothing more is passed on.
    fn feed(&mut self, bytes: &[u8], on_data: &mut dyn FnMut(&[u8])) -> Result<(), EventTooLarge>;
    /// The stream is over: what is left becomes the last event.
    ///
    /// # Errors
    /// An event was too large.
    fn finish(&mut self, on_data: &mut dyn FnMut(&[u8])) -> Result<(), EventTooLarge>;
    /// The beginning of what was no event at all.
    fn stray_text(&self) -> String;
}

impl EventFraming for SseDecoder {
    fn feed(&mut self, bytes: &[u8], on_data: &mut dyn FnMut(&[u8])) -> Result<(), EventTooLarge> {
        SseDecoder::feed(self, bytes, on_data)
    }
    fn finish(&mut self, on_data: &mut dyn FnMut(&[u8])) -> Result<(), EventTooLarge> {
        SseDecoder::finish(self, on_data)
    }
    fn stray_text(&self) -> String {
        SseDecoder::stray_text(self)
    }
}

impl EventFraming for LineDecoder {
    fn feed(&mut self, bytes: &[u8], on_data: &mut dyn FnMut(&[u8])) -> Result<(), EventTooLarge> {
        LineDecoder::feed(self, bytes, on_data)
    }
    fn finish(&mut self, on_data: &mut dyn FnMut(&[u8])) -> Result<(), EventTooLarge> {
        LineDecoder::finish(self, on_data)
    }
    fn stray_text(&self) -> String {
        LineDecoder::stray_text(self)
    }
}

/// A decoder over an [`AssembleReply`], whose events stand in the stream as `F` says.
pub(crate) struct ReplyStreamDecoder<A, F = SseDecoder> {
    framing: F,
    state: A,
    failure: Option<ProviderFailure>,
    /// Events up to the last word: what comes after it is not counted either.
    events: u64,
}

impl<A: AssembleReply, F: EventFraming> ReplyStreamDecoder<A, F> {
    pub(crate) fn new(state: A) -> ReplyStreamDecoder<A, F> {
        ReplyStreamDecoder { framing: F::default(), state, failure: None, events: 0 }
    }
}

impl<A: AssembleReply, F: EventFraming> ReplyDecoder for ReplyStreamDecoder<A, F> {
    fn feed(&mut self, bytes: &[u8], signal: &mut dyn FnMut(ModelSignal)) {
        if self.is_over() {
            return;
        }
        let ReplyStreamDecoder { framing, state, failure, events } = self;
        let fed = framing.feed(bytes, &mut |data| {
            *events += u64::from(feed_event(state, failure, data, signal));
        });
        if let Err(error) = fed
            && !state.is_over()
        {
            failure.get_or_insert_with(|| too_large(&error.to_string()));
        }
    }

    fn is_over(&self) -> bool {
        self.failure.is_some() || self.state.is_over()
    }

    fn finish(mut self: Box<Self>) -> ModelReply {
        let ReplyStreamDecoder { framing, state, failure, events } = &mut *self;
        if failure.is_none() && !state.is_over() {
            let fed = framing.finish(&mut |data| {
                *events += u64::from(feed_event(state, failure, data, &mut |_| ()));
            });
            if let Err(error) = fed {
                failure.get_or_insert_with(|| too_large(&error.to_string()));
            }
        }
        if let Some(failure) = self.failure {
            return failure.into_reply();
        }
        if self.state.is_whole() {
            return self.state.into_reply().unwrap_or_else(ProviderFailure::into_reply);
        }
        not_whole(&self.framing.stray_text(), self.events).into_reply()
    }
}

/// Takes an event, unless the reply has failed or is over. Returns whether it was taken.
fn feed_event<A: AssembleReply>(
    state: &mut A,
    failure: &mut Option<ProviderFailure>,
    data: &[u8],
    signal: &mut dyn FnMut(ModelSignal),
) -> bool {
    // What follows the last word comes or not as the network cuts it: it changes nothing.
    if failure.is_some() || state.is_over() {
        return false;
    }
    if data.is_empty() {
        return true;
    }
    // Checked once here, so that no string in it is checked again.
    let Ok(text) = std::str::from_utf8(data) else {
        let shown: String = String::from_utf8_lossy(data).chars().take(SHOWN_CHARS).collect();
        *failure = Some(stream_damage("it is not UTF-8", &shown));
        return true;
    };
    if let Err(error) = state.take_event(text, signal) {
        *failure = Some(error);
    } else if state.kept_bytes() > REPLY_BYTES_MAX {
        *failure = Some(too_large(&format!("the reply is longer than {REPLY_BYTES_MAX} bytes")));
    }
    true
}

/// A reply beyond its bounds will not get shorter when it is asked for again.
fn too_large(why: &str) -> ProviderFailure {
    ProviderFailure::new(
        FailureClass::InvalidRequest,
        format!("The answer was not taken: {why}. Ask for less at once, or choose another model."),
    )
}

fn not_whole(stray: &str, events: u64) -> ProviderFailure {
    if events > 0 || stray.trim().is_empty() {
        return ProviderFailure::new(
            FailureClass::StreamCut,
            format!("The connection ended before the answer was whole ({events} events had come)."),
        );
    }
    // Some gateways answer with status 200 and an error as plain JSON.
    if let Ok(value) = serde_json::from_str::<Value>(stray)
        && value.get("error").is_some()
    {
        return failure::from_stream(&value);
    }
    ProviderFailure::new(
        FailureClass::NotFound,
        format!(
            "The endpoint did not answer with an event stream but with: {}. Check the base URL.",
            stray.trim().chars().take(SHOWN_CHARS).collect::<String>()
        ),
    )
}

/// An event that is no JSON, or not the JSON it should be.
pub(crate) fn damaged_event(data: &str, error: &serde_json::Error) -> ProviderFailure {
    let shown: String = data.chars().take(SHOWN_CHARS).collect();
    stream_damage(&error.to_string(), &shown)
}

fn stream_damage(why: &str, shown: &str) -> ProviderFailure {
    ProviderFailure::new(
        FailureClass::StreamCut,
        format!("The stream is damaged: an event cannot be read ({why}): {shown}"),
    )
}

/// A reply with more pieces than any honest one.
pub(crate) fn too_many_pieces() -> ProviderFailure {
    too_large(&format!("it has more than {REPLY_PIECES_MAX} pieces"))
}
