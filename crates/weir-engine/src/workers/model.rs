//! Speaking with the model of a session: a request is prepared and sent, and what had come of a reply
//! that is cut off is kept. Not here: what stands in a request, and what comes of a reply.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use weir_core::governance::filter::{mask_reply, mask_text};
use weir_core::governance::label::Label;
use weir_core::ids::{BlobId, Timestamp, TurnId};
use weir_core::input::EffectAnswer;
use weir_core::model::{ModelRequest, ModelSignal};

use super::spending::SpendingOutcome;
use super::{WorkerOutcome, Workers};
use crate::blobs::of_blocks;
use crate::pictures::keep_reply_pictures;
use crate::ports::{Blobs as _, Conversation, MediaMap, SignalSink};
use crate::streaming::ReplyStream;

/// Most text, and most thoughts, of a reply under way that are kept in case it is cut off, in bytes.
const STREAMED_BYTES_MAX: usize = 1 << 20;

/// What has come of a reply: kept in case somebody ends the run in the middle of it (L14).
#[derive(Debug, Default)]
pub(super) struct PartialReply {
    turn: Option<TurnId>,
    text: String,
    thinking: String,
}

impl PartialReply {
    fn bytes(&self) -> usize {
        self.text.len() + self.thinking.len()
    }

    fn push_signal(&mut self, signal: &ModelSignal) {
        let (kept, more) = match signal {
            ModelSignal::Text(more) => (&mut self.text, more),
            ModelSignal::Thinking(more) => (&mut self.thinking, more),
            ModelSignal::CallBegun(_) => return,
        };
        if kept.len() + more.len() <= STREAMED_BYTES_MAX {
            kept.push_str(more);
        }
    }
}

fn lock(reply: &Mutex<PartialReply>) -> MutexGuard<'_, PartialReply> {
    reply.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that is to be encoded.
pub(crate) struct EncodingWork {
    pub(crate) conversation: Box<dyn Conversation>,
    pub(crate) request: ModelRequest,
    /// Blobs that its history mentions.
    pub(crate) media: Vec<BlobId>,
    pub(crate) not_before: Timestamp,
    /// What stands in it.
    pub(crate) label: Label,
    /// About how many tokens it has.
    pub(crate) tokens: u64,
}

impl Workers {
    /// Waits until the request may be made, then encodes it.
    pub(crate) async fn prepare(
        self,
        work: EncodingWork,
        cancel: CancellationToken,
    ) -> WorkerOutcome {
        let EncodingWork { mut conversation, mut request, mut media, not_before, label, tokens } =
            work;
        // What came in by another way than a result, or was started since the words were read.
        if let Some(said) = self.commands.stop_older_jobs(&label).await {
            self.commands.say_later(said).await;
        }
        let mut made = MediaMap::new();
        if self.context.time.now() < not_before {
            tokio::select! {
                () = cancel.cancelled() => return WorkerOutcome::Conversation(conversation, None),
                () = self.context.time.sleep_until(not_before) => (),
            }
        }
        match self.reserve_spending(request.turn, &request.model, tokens, &cancel).await {
            SpendingOutcome::Granted => (),
            SpendingOutcome::Refused(answer) => {
                return WorkerOutcome::Conversation(conversation, Some(*answer));
            }
            SpendingOutcome::Cancelled => return WorkerOutcome::Conversation(conversation, None),
        }
        if !media.is_empty() {
            let takes = conversation.attachment_support();
            let converted = tokio::select! {
                () = cancel.cancelled() => return WorkerOutcome::Conversation(conversation, None),
                converted = self.converter.convert_media(&mut request, takes) => converted,
            };
            made = converted.made;
            // Of what is encoded already nobody reads the attachments again: tens of megabytes in each turn.
            let mut wanted = Vec::new();
            for message in request.history.iter().skip(conversation.first_to_write(&request)) {
                of_blocks(&message.blocks, &mut wanted);
            }
            media.retain(|blob| !converted.gone.contains(blob) && wanted.contains(blob));
        }
        let mut media = self.encoded_media(media).await;
        media.extend(made);
        let prepared = conversation.prepare(&request, &media);
        let answer = EffectAnswer::Prepared {
            turn: request.turn,
            bytes: prepared.bytes,
            prefix_bytes: prepared.prefix_bytes,
            prefix_expected: prepared.prefix_expected,
        };
        WorkerOutcome::Conversation(conversation, Some(answer))
    }

    async fn encoded_media(&self, wanted: Vec<BlobId>) -> MediaMap {
        use base64::Engine as _;
        let mut media = MediaMap::new();
        for id in wanted {
            if let Ok(bytes) = self.context.blobs.get(&id).await {
                let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
                media.insert(id, Arc::from(text));
            }
        }
        media
    }

    /// Sends what was prepared and waits for the reply.
    pub(crate) async fn ask(
        self,
        mut conversation: Box<dyn Conversation>,
        turn: TurnId,
        cancel: CancellationToken,
    ) -> WorkerOutcome {
        let secrets = &self.context.parts.secrets;
        let stream =
            Arc::new(ReplyStream::new(self.context.hub.clone(), turn.to_string(), secrets));
        let (told, streamed) = (stream.clone(), self.partial_reply.clone());
        *lock(&streamed) = PartialReply { turn: Some(turn), ..PartialReply::default() };
        let sink = SignalSink::new(move |signal| {
            lock(&streamed).push_signal(&signal);
            told.push_signal(&signal);
        });
        let reply = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            reply = conversation.send(&sink) => Some(reply),
            () = self.keep_reservation(turn) => None,
        };
        let Some(mut reply) = reply else {
            return WorkerOutcome::Conversation(conversation, None);
        };
        stream.finish();
        mask_reply(&mut reply, &self.context.parts.secrets);
        let images = keep_reply_pictures(&self.context, turn, &reply).await;
        let jitter = self.context.parts.clock.random_number();
        let streamed = lock(&self.partial_reply).bytes();
        let answer = EffectAnswer::Replied { turn, reply, images, jitter, streamed };
        WorkerOutcome::Conversation(conversation, Some(answer))
    }

    /// What had come of the reply of this turn.
    pub(crate) fn salvage(&self, turn: TurnId) -> WorkerOutcome {
        let streamed = std::mem::take(&mut *lock(&self.partial_reply));
        let PartialReply { mut text, mut thinking, .. } = match streamed.turn {
            Some(of) if of == turn => streamed,
            Some(_) | None => PartialReply::default(),
        };
        mask_text(&mut text, &self.context.parts.secrets);
        mask_text(&mut thinking, &self.context.parts.secrets);
        WorkerOutcome::Answer(EffectAnswer::Salvaged { turn, text, thinking })
    }
}
