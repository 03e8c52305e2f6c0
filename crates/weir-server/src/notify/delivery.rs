//! What became of one call of a channel: what was answered, and whether it is worth another try.

use std::time::Duration;

use reqwest::StatusCode;
use weir_core::view::plain::visible_text;

/// Bytes that are read of an answer; a longer one is nobody's that should be understood.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Characters that are shown of what somebody else's server said.
const SAID_CHARS_MAX: usize = 200;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DeliveryFailure {
    /// It may work later.
    Later {
        /// The reason.
        why: String,
        /// How long they want to be left alone, where they say so.
        after: Option<Duration>,
    },
    /// It will not.
    Never(String),
    /// The browser does not want it any more.
    Gone,
}

impl DeliveryFailure {
    /// The reason in words.
    pub(super) fn into_reason(self) -> String {
        match self {
            DeliveryFailure::Later { why, .. } | DeliveryFailure::Never(why) => why,
            DeliveryFailure::Gone => "the browser does not want to be told any more".into(),
        }
    }
}

/// What a channel answered.
#[derive(Debug)]
pub(super) struct ChannelReply {
    /// Its status.
    pub(super) status: StatusCode,
    /// How long it wants to be left alone, as its headers say.
    pub(super) retry_after: Option<Duration>,
    /// The beginning of what it said; empty where nobody reads it.
    pub(super) body: Vec<u8>,
    /// It was read to its end, or as far as anybody sensible says something.
    pub(super) is_whole: bool,
}

impl ChannelReply {
    /// An answer by its status and headers, which are there; what else it says is not waited for.
    pub(super) fn of_head(response: &reqwest::Response) -> ChannelReply {
        let header = response.headers().get(reqwest::header::RETRY_AFTER);
        let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        ChannelReply {
            status: response.status(),
            retry_after: seconds.map(Duration::from_secs),
            body: Vec::new(),
            is_whole: false,
        }
    }

    /// The same with what it says, no further than anybody sensible says something. Where that breaks off, the
    /// status counts.
    pub(super) async fn read(mut response: reqwest::Response) -> ChannelReply {
        let mut reply = ChannelReply::of_head(&response);
        while !reply.is_whole {
            match response.chunk().await {
                Ok(Some(piece)) => {
                    let left = ANSWER_BYTES_MAX - reply.body.len();
                    reply.body.extend_from_slice(&piece[..piece.len().min(left)]);
                    reply.is_whole = reply.body.len() == ANSWER_BYTES_MAX;
                }
                Ok(None) => reply.is_whole = true,
                Err(_) => break,
            }
        }
        reply
    }

    /// Whether it was taken, by its status alone.
    ///
    /// # Errors
    /// It was not.
    pub(super) fn judge_status(&self) -> Result<(), DeliveryFailure> {
        self.judge_with(self.retry_after, format!("it answered {}", self.status))
    }

    /// The same with the words `why`, and with how long they want to be left alone.
    ///
    /// # Errors
    /// It was not taken.
    pub(super) fn judge_with(
        &self,
        after: Option<Duration>,
        why: String,
    ) -> Result<(), DeliveryFailure> {
        match self.status.as_u16() {
            200..=299 => Ok(()),
            408 | 425 | 429 | 500..=599 => Err(DeliveryFailure::Later { why, after }),
            _ => Err(DeliveryFailure::Never(why)),
        }
    }
}

/// Somebody else's words in a sentence of ours: short, on one line, nothing hidden in them.
pub(super) fn quoted_words(said: &str) -> String {
    let cut: String = said.chars().take(SAID_CHARS_MAX).collect();
    cut.lines().map(visible_text).collect::<Vec<_>>().join(" ")
}
