//! A reply in the words of Gemini: each event is a piece of the whole answer.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::message::{MessageBlock, VendorSeal};
use weir_core::model::{
    FailureClass, ModelReply, ModelSignal, ReplyBlock, ReplyCall, StopReason, Usage,
};

use super::super::VendorQuirks;
use super::super::failure::{self, ProviderFailure};
use super::super::openai_chat::decode::decode_base64;
use super::super::stream::{AssembleReply, REPLY_PIECES_MAX, damaged_event, too_many_pieces};
use super::NAME;

pub(super) struct GeminiAssembly {
    quirks: VendorQuirks,
    blocks: Vec<ReplyBlock>,
    citations: Vec<Value>,
    usage: Usage,
    finish: Option<(String, String)>,
    kept: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk<'a> {
    #[serde(borrow, default = "Vec::new")]
    candidates: Vec<GeminiCandidate<'a>>,
    usage_metadata: Option<WireUsage>,
    prompt_feedback: Option<PromptFeedback>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate<'a> {
    #[serde(borrow)]
    content: Option<GeminiContent<'a>>,
    #[serde(borrow)]
    finish_reason: Option<GeminiText<'a>>,
    finish_message: Option<String>,
    grounding_metadata: Option<Value>,
    citation_metadata: Option<Value>,
}

#[derive(Deserialize)]
struct GeminiContent<'a> {
    #[serde(borrow, default = "Vec::new")]
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(borrow)]
    text: Option<GeminiText<'a>>,
    #[serde(default)]
    thought: bool,
    #[serde(borrow)]
    thought_signature: Option<GeminiText<'a>>,
    function_call: Option<WireCall>,
    #[serde(borrow)]
    inline_data: Option<InlineData<'a>>,
}

#[derive(Deserialize)]
struct WireCall {
    id: Option<String>,
    #[serde(default)]
    name: String,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: String,
    #[serde(borrow)]
    data: GeminiText<'a>,
}

/// Text that is borrowed from the event where it has no escapes.
#[derive(Deserialize)]
struct GeminiText<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    tool_use_prompt_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
}

impl WireUsage {
    fn to_usage(&self) -> Usage {
        let prompt = self.prompt_token_count.saturating_add(self.tool_use_prompt_token_count);
        let cache_read = self.cached_content_token_count.min(prompt);
        Usage {
            input: prompt - cache_read,
            output: self.candidates_token_count.saturating_add(self.thoughts_token_count),
            cache_read,
            cache_write: 0,
            reasoning: self.thoughts_token_count,
        }
    }
}

/// What the vendor counted.
pub(crate) fn read_usage(usage: &Value) -> Usage {
    WireUsage::deserialize(usage).map(|usage| usage.to_usage()).unwrap_or_default()
}

impl GeminiAssembly {
    pub(super) fn new(quirks: &VendorQuirks) -> GeminiAssembly {
        GeminiAssembly {
            quirks: quirks.clone(),
            blocks: Vec::new(),
            citations: Vec::new(),
            usage: Usage::default(),
            finish: None,
            kept: 0,
        }
    }

    fn take_candidate(
        &mut self,
        candidate: GeminiCandidate<'_>,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        for piece in candidate.content.into_iter().flat_map(|content| content.parts) {
            if self.blocks.len() >= REPLY_PIECES_MAX {
                return Err(too_many_pieces());
            }
            self.take_part(piece, signal);
        }
        // Grounding is repeated as it grows; the last one is whole.
        for metadata in
            [candidate.grounding_metadata, candidate.citation_metadata].into_iter().flatten()
        {
            let kind = metadata.as_object().and_then(first_key).cloned();
            self.citations.retain(|known| known.as_object().and_then(first_key) != kind.as_ref());
            self.citations.push(metadata);
        }
        if let Some(GeminiText(reason)) = candidate.finish_reason {
            self.finish = Some((reason.into_owned(), candidate.finish_message.unwrap_or_default()));
        }
        Ok(())
    }

    fn take_part(&mut self, piece: GeminiPart<'_>, signal: &mut dyn FnMut(ModelSignal)) {
        let signature = piece.thought_signature.map(|GeminiText(text)| text.into_owned());
        self.kept += signature.as_ref().map_or(0, String::len);
        if let Some(call) = piece.function_call {
            self.take_call(call, signature, signal);
        } else if let Some(InlineData { mime_type, data: GeminiText(data) }) = piece.inline_data {
            // A sketch on the way to the picture is a thought, and no answer.
            if !piece.thought {
                // What is no base64 is an empty picture: it is told, not lost.
                let data = decode_base64(&data).unwrap_or_default();
                self.kept += data.len();
                self.blocks.push(ReplyBlock::Image { media_type: mime_type, data });
            }
        } else if let Some(GeminiText(text)) = piece.text {
            self.take_text(text, piece.thought, signature, signal);
        }
    }

    fn take_call(
        &mut self,
        call: WireCall,
        signature: Option<String>,
        signal: &mut dyn FnMut(ModelSignal),
    ) {
        signal(ModelSignal::CallBegun(call.name.clone()));
        let arguments = call.args.map(|args| args.to_string()).unwrap_or_default();
        self.kept += arguments.len();
        let mut data = Map::new();
        if let Some(id) = call.id.clone().filter(|id| !id.is_empty()) {
            data.insert("id".into(), id.into());
        }
        if let Some(signature) = signature {
            data.insert("signature".into(), signature.into());
        }
        let seal = (!data.is_empty()).then(|| self.quirks.make_seal(NAME, data));
        let wire_id = call.id.unwrap_or_default();
        self.blocks.push(ReplyBlock::Call(ReplyCall { wire_id, tool: call.name, arguments, seal }));
    }

    /// Text without a signature continues the block before; text with one stands alone, because it
    /// must go back exactly so.
    fn take_text(
        &mut self,
        text: Cow<'_, str>,
        is_thought: bool,
        signature: Option<String>,
        signal: &mut dyn FnMut(ModelSignal),
    ) {
        self.kept += text.len();
        match (signature, self.blocks.last_mut()) {
            (None, Some(ReplyBlock::Said(MessageBlock::Text { text: known, seal: None, .. })))
                if !is_thought =>
            {
                known.push_str(&text);
            }
            (None, Some(ReplyBlock::Said(MessageBlock::Thinking { text: known, seal: None })))
                if is_thought =>
            {
                known.push_str(&text);
            }
            (None, _) if text.is_empty() => {}
            (signature, _) => {
                let seal = signature.map(|signature| self.signature_seal(signature));
                let text = text.clone().into_owned();
                self.blocks.push(ReplyBlock::Said(if is_thought {
                    MessageBlock::Thinking { text, seal }
                } else {
                    MessageBlock::Text { text, citations: Vec::new(), seal }
                }));
            }
        }
        if !text.is_empty() {
            let text = text.into_owned();
            signal(if is_thought { ModelSignal::Thinking(text) } else { ModelSignal::Text(text) });
        }
    }

    fn signature_seal(&self, signature: String) -> VendorSeal {
        self.quirks
            .make_seal(NAME, Map::from_iter([("signature".to_owned(), Value::String(signature))]))
    }
}

fn first_key(map: &Map<String, Value>) -> Option<&String> {
    map.keys().next()
}

impl AssembleReply for GeminiAssembly {
    fn take_event(
        &mut self,
        data: &str,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        let chunk: GeminiChunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(error) => return Err(damaged_event(data, &error)),
        };
        if let Some(error) = chunk.error {
            return Err(failure::from_stream(&error));
        }
        if let Some(PromptFeedback { block_reason: Some(reason), block_reason_message }) =
            chunk.prompt_feedback
        {
            let why = block_reason_message.unwrap_or_default();
            return Err(ProviderFailure::new(
                FailureClass::Refused,
                format!("The provider's safety rules refused the request ({reason}). {why}")
                    .trim_end(),
            ));
        }
        if let Some(usage) = &chunk.usage_metadata {
            self.usage = usage.to_usage();
        }
        match chunk.candidates.into_iter().next() {
            Some(candidate) => self.take_candidate(candidate, signal),
            None => Ok(()),
        }
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    /// The vendor has no last word but the end of the stream: usage may follow.
    fn is_over(&self) -> bool {
        false
    }

    fn kept_bytes(&self) -> usize {
        self.kept
    }

    fn into_reply(mut self) -> Result<ModelReply, ProviderFailure> {
        let calls = self.blocks.iter().any(|block| matches!(block, ReplyBlock::Call(_)));
        let (reason, message) = self.finish.unwrap_or_default();
        let stop = match reason.as_str() {
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "LANGUAGE" => StopReason::Refusal,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
                return Err(ProviderFailure::new(
                    FailureClass::StreamCut,
                    format!("The model's answer cannot be used ({reason}). {message}").trim_end(),
                ));
            }
            _ if calls => StopReason::Calls,
            _ => StopReason::End,
        };
        let citations = std::mem::take(&mut self.citations);
        if !citations.is_empty() {
            let texts = self.blocks.iter_mut().rev().find_map(|block| match block {
                ReplyBlock::Said(MessageBlock::Text { citations, .. }) => Some(citations),
                _ => None,
            });
            if let Some(known) = texts {
                *known = citations;
            }
        }
        Ok(ModelReply::Whole { blocks: self.blocks, stop, usage: self.usage, repairs: Vec::new() })
    }
}
