//! The scripted model in process: real encoder, the vendor's bytes, real decoder; no socket.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use weir_core::model::{FailureClass, ModelInfo, ModelRef, ModelReply, ModelRequest, ModelSignal};
use weir_engine::ports::{
    AttachmentSupport, Conversation, MediaMap, Model, PreparedRequest, SignalSink,
};

use super::ScriptError;
use super::frames::{ReplyFrames, StreamEnding};
use super::player::{RequestAddress, ScriptAnswerBody, ScriptPlayer};
use super::step::Script;
use super::wire::{WIRES, Wire};
use weir_providers::DIALECTS;
use weir_providers::dialect::{Dialect, ReplyDecoder, RequestEncoder, VendorQuirks};
use weir_providers::text_tools;

/// Waits for a time. Tests with a hand-moved clock bring their own.
pub type SleepFunction = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// Bytes the decoder is fed at once when the script sets no pace: odd on purpose, so that events
/// are broken anywhere.
const CHUNK_BYTES: usize = 1_021;
/// Chunks between two moments at which other tasks may run.
const CHUNKS_PER_YIELD: usize = 64;

/// How a scripted model is built.
#[derive(Clone, Default)]
pub struct ModelOptions {
    /// Name of the dialect; without it the script's own, else `anthropic`.
    pub dialect: Option<String>,
    /// How it waits for `delay:` and `pace:`; without it by the runtime's timer.
    pub sleeper: Option<SleepFunction>,
}

/// A model that plays a script.
pub struct ScriptedModel {
    info: Arc<ModelInfo>,
    shared: Arc<Shared>,
}

struct Shared {
    player: ScriptPlayer,
    dialect: &'static dyn Dialect,
    wire: &'static dyn Wire,
    quirks: VendorQuirks,
    sleeper: SleepFunction,
}

impl ScriptedModel {
    /// A model that plays `script`.
    ///
    /// # Errors
    /// The dialect it names does not exist.
    pub fn new(script: Script, options: ModelOptions) -> Result<ScriptedModel, ScriptError> {
        let name = options
            .dialect
            .or_else(|| script.header.dialect.clone())
            .unwrap_or_else(|| "anthropic".to_owned());
        let dialect = DIALECTS.iter().find(|dialect| dialect.name() == name);
        let wire = WIRES.iter().find(|wire| wire.name() == name);
        let (Some(dialect), Some(wire)) = (dialect, wire) else {
            let names: Vec<&str> = WIRES.iter().map(|wire| wire.name()).collect();
            let why = format!("dialect `{name}` is none of {}", names.join(", "));
            return Err(ScriptError { file: None, line: 0, why });
        };
        let info = Arc::new(script_model_info(&script));
        let shared = Arc::new(Shared {
            player: ScriptPlayer::new(Arc::new(script)),
            dialect: *dialect,
            wire: *wire,
            quirks: script_quirks(&name),
            sleeper: options.sleeper.unwrap_or_else(default_sleep),
        });
        Ok(ScriptedModel { info, shared })
    }

    /// A model that plays the script in `text`.
    ///
    /// # Errors
    /// Line and what is wrong there.
    pub fn from_text(text: &str) -> Result<ScriptedModel, ScriptError> {
        ScriptedModel::new(Script::parse(text)?, ModelOptions::default())
    }

    /// A model that plays the script in a file: `script:FILE`.
    ///
    /// # Errors
    /// The file cannot be read, or file, line and what is wrong there.
    pub fn from_file(path: &Path) -> Result<ScriptedModel, ScriptError> {
        ScriptedModel::new(Script::parse_file(path)?, ModelOptions::default())
            .map_err(|error| ScriptError { file: Some(path.display().to_string()), ..error })
    }
}

fn default_sleep() -> SleepFunction {
    Arc::new(|duration| Box::pin(tokio::time::sleep(duration)))
}

/// The script server's own ways: what a row of `vendors.toml` says of other servers.
fn script_quirks(dialect: &str) -> VendorQuirks {
    let chat = dialect == "openai-chat";
    VendorQuirks {
        stream_usage: chat,
        max_completion_tokens: chat,
        reasoning_field: chat.then(|| "reasoning_content".to_owned()),
        ..VendorQuirks::default()
    }
}

fn script_model_info(script: &Script) -> ModelInfo {
    let header = &script.header;
    ModelInfo {
        model: ModelRef {
            provider: "script".to_owned(),
            name: header.name.clone().unwrap_or_else(|| "script".to_owned()),
        },
        window: header.window.unwrap_or(200_000),
        max_output: header.max_output.unwrap_or(32_000),
        price: header.price,
        abilities: header.abilities.clone().unwrap_or_else(|| {
            ["tools", "images", "pdf", "thinking", "structured"].map(String::from).to_vec()
        }),
        may_cut: false,
    }
}

impl Model for ScriptedModel {
    fn info(&self) -> Arc<ModelInfo> {
        Arc::clone(&self.info)
    }
    fn start_conversation(&self) -> Box<dyn Conversation> {
        let encoder = self.shared.dialect.new_encoder(&self.shared.quirks);
        let model = self.info.model.name.clone();
        let own = ScriptedConversation { shared: Arc::clone(&self.shared), encoder, model };
        text_tools::conversation_for(Box::new(own))
    }
}

struct ScriptedConversation {
    shared: Arc<Shared>,
    encoder: Box<dyn RequestEncoder>,
    model: String,
}

#[async_trait]
impl Conversation for ScriptedConversation {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        self.model.clone_from(&request.model.model.name);
        self.encoder.encode(request, media)
    }

    fn first_to_write(&self, request: &ModelRequest) -> usize {
        self.encoder.first_to_write(request)
    }

    fn attachment_support(&self) -> AttachmentSupport {
        self.encoder.accepted_media()
    }

    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        let body = self.encoder.last_body();
        let shared = &self.shared;
        // The transport always streams; one dialect says so in the address instead of the body.
        let address = RequestAddress { model: Some(self.model.clone()), stream: Some(true) };
        let answer = shared.player.answer_request(shared.wire, &address, &body);
        if !answer.delay.is_zero() {
            (shared.sleeper)(answer.delay).await;
        }
        match answer.what {
            ScriptAnswerBody::Hang => std::future::pending().await,
            ScriptAnswerBody::NoConnection => ModelReply::Failed {
                class: FailureClass::Network,
                message: "the connection broke before an answer came (scripted)".to_owned(),
                retry_after_ms: None,
            },
            ScriptAnswerBody::Body { refusal, retry_after } if refusal.status >= 400 => shared
                .dialect
                .classify_failure(refusal.status, retry_after.as_deref(), &refusal.body),
            ScriptAnswerBody::Body { refusal, .. } => {
                let mut decoder = shared.dialect.new_decoder(&shared.quirks);
                decoder.feed(&refusal.body, &mut |signal| signals.send(signal));
                decoder.finish()
            }
            ScriptAnswerBody::Stream(frames) => play_frames(shared, *frames, signals).await,
        }
    }
}

async fn play_frames(shared: &Shared, mut frames: ReplyFrames, signals: &SignalSink) -> ModelReply {
    let mut decoder = shared.dialect.new_decoder(&shared.quirks);
    let paced = !frames.pace.is_zero();
    let mut bytes = Vec::new();
    let mut chunks = 0usize;
    loop {
        let more = frames.fill_buffer(CHUNK_BYTES, &mut bytes);
        if paced {
            feed_decoder(decoder.as_mut(), &bytes, signals);
            bytes.clear();
            if more {
                (shared.sleeper)(frames.pace).await;
            }
        } else {
            // Whole chunks only, the rest waits for what follows it.
            let whole = bytes.len() - bytes.len() % CHUNK_BYTES;
            for chunk in bytes[..whole].chunks(CHUNK_BYTES) {
                feed_decoder(decoder.as_mut(), chunk, signals);
            }
            bytes.drain(..whole);
            chunks += 1;
            if chunks.is_multiple_of(CHUNKS_PER_YIELD) {
                tokio::task::yield_now().await;
            }
        }
        if !more || decoder.is_over() {
            break;
        }
    }
    feed_decoder(decoder.as_mut(), &bytes, signals);
    if frames.ending == StreamEnding::Stall && !decoder.is_over() {
        std::future::pending::<()>().await;
    }
    decoder.finish()
}

fn feed_decoder(decoder: &mut dyn ReplyDecoder, bytes: &[u8], signals: &SignalSink) {
    if !bytes.is_empty() {
        decoder.feed(bytes, &mut |signal: ModelSignal| signals.send(signal));
    }
}
