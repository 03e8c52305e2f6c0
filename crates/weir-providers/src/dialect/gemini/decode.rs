//! A reply in the words of Gemini: each event is a piece of the whole answer.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::message::{Block, Seal};
use weir_core::model::{FailureClass, Reply, ReplyBlock, ReplyCall, Signal, Stop, Usage};

use super::super::Quirks;
use super::super::failure::{self, Failure};
use super::super::openai_chat::decode::decode_base64;
use super::super::stream::{Assemble, REPLY_PIECES_MAX, garbage, too_many_pieces};
use super::NAME;

pub(super) struct Assembly {
    quirks: Quirks,
    blocks: Vec<ReplyBlock>,
    citations: Vec<Value>,
    usage: Usage,
    finish: Option<(String, String)>,
    kept: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default = "Vec::new")]
    candidates: Vec<Candidate<'a>>,
    usage_metadata: Option<WireUsage>,
    prompt_feedback: Option<Feedback>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    finish_message: Option<String>,
    grounding_metadata: Option<Value>,
    citation_metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default = "Vec::new")]
    parts: Vec<Piece<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(default)]
    thought: bool,
    #[serde(borrow)]
    thought_signature: Option<Text<'a>>,
    function_call: Option<WireCall>,
    #[serde(borrow)]
    inline_data: Option<Inline<'a>>,
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
struct Inline<'a> {
    mime_type: String,
    #[serde(borrow)]
    data: Text<'a>,
}

/// Text that is borrowed from the event where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
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

impl Assembly {
    pub(super) fn new(quirks: &Quirks) -> Assembly {
        Assembly {
            quirks: quirks.clone(),
            blocks: Vec::new(),
            citations: Vec::new(),
            usage: Usage::default(),
            finish: None,
            kept: 0,
        }
    }

    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        signal: &mut dyn FnMut(Signal),
    ) -> Result<(), Failure> {
        for piece in candidate.content.into_iter().flat_map(|content| content.parts) {
            if self.blocks.len() >= REPLY_PIECES_MAX {
                return Err(too_many_pieces());
            }
            self.piece(piece, signal);
        }
        // Grounding is repeated as it grows; the last one is whole.
        for metadata in
            [candidate.grounding_metadata, candidate.citation_metadata].into_iter().flatten()
        {
            let kind = metadata.as_object().and_then(first_key).cloned();
            self.citations.retain(|known| known.as_object().and_then(first_key) != kind.as_ref());
            self.citations.push(metadata);
        }
        if let Some(Text(reason)) = candidate.finish_reason {
            self.finish = Some((reason.into_owned(), candidate.finish_message.unwrap_or_default()));
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>, signal: &mut dyn FnMut(Signal)) {
        let signature = piece.thought_signature.map(|Text(text)| text.into_owned());
        self.kept += signature.as_ref().map_or(0, String::len);
        if let Some(call) = piece.function_call {
            self.call(call, signature, signal);
        } else if let Some(Inline { mime_type, data: Text(data) }) = piece.inline_data {
            if let Some(data) = decode_base64(&data) {
                self.kept += data.len();
                self.blocks.push(ReplyBlock::Image { media_type: mime_type, data });
            }
        } else if let Some(Text(text)) = piece.text {
            self.text(text, piece.thought, signature, signal);
        }
    }

    fn call(&mut self, call: WireCall, signature: Option<String>, signal: &mut dyn FnMut(Signal)) {
        signal(Signal::CallBegun(call.name.clone()));
        let arguments = call.args.map(|args| args.to_string()).unwrap_or_default();
        self.kept += arguments.len();
        let mut data = Map::new();
        if let Some(id) = call.id.clone().filter(|id| !id.is_empty()) {
            data.insert("id".into(), id.into());
        }
        if let Some(signature) = signature {
            data.insert("signature".into(), signature.into());
        }
        let seal = (!data.is_empty()).then(|| self.quirks.seal(NAME, data));
        let wire_id = call.id.unwrap_or_default();
        self.blocks.push(ReplyBlock::Call(ReplyCall { wire_id, tool: call.name, arguments, seal }));
    }

    /// Text without a signature continues the block before; text with one stands alone, because it
    /// must go back exactly so.
    fn text(
        &mut self,
        text: Cow<'_, str>,
        is_thought: bool,
        signature: Option<String>,
        signal: &mut dyn FnMut(Signal),
    ) {
        self.kept += text.len();
        match (signature, self.blocks.last_mut()) {
            (None, Some(ReplyBlock::Said(Block::Text { text: known, seal: None, .. })))
                if !is_thought =>
            {
                known.push_str(&text);
            }
            (None, Some(ReplyBlock::Said(Block::Thinking { text: known, seal: None })))
                if is_thought =>
            {
                known.push_str(&text);
            }
            (None, _) if text.is_empty() => {}
            (signature, _) => {
                let seal = signature.map(|signature| self.signature(signature));
                let text = text.clone().into_owned();
                self.blocks.push(ReplyBlock::Said(if is_thought {
                    Block::Thinking { text, seal }
                } else {
                    Block::Text { text, citations: Vec::new(), seal }
                }));
            }
        }
        if !text.is_empty() {
            let text = text.into_owned();
            signal(if is_thought { Signal::Thinking(text) } else { Signal::Text(text) });
        }
    }

    fn signature(&self, signature: String) -> Seal {
        self.quirks.seal(NAME, Map::from_iter([("signature".to_owned(), Value::String(signature))]))
    }

    fn take_usage(&mut self, usage: &WireUsage) {
        let prompt = usage.prompt_token_count.saturating_add(usage.tool_use_prompt_token_count);
        let cache_read = usage.cached_content_token_count.min(prompt);
        self.usage = Usage {
            input: prompt - cache_read,
            output: usage.candidates_token_count.saturating_add(usage.thoughts_token_count),
            cache_read,
            cache_write: 0,
            reasoning: usage.thoughts_token_count,
        };
    }
}

fn first_key(map: &Map<String, Value>) -> Option<&String> {
    map.keys().next()
}

impl Assemble for Assembly {
    fn event(&mut self, data: &str, signal: &mut dyn FnMut(Signal)) -> Result<(), Failure> {
        let chunk: Chunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(error) => return Err(garbage(data, &error)),
        };
        if let Some(error) = chunk.error {
            return Err(failure::from_stream(&error));
        }
        if let Some(Feedback { block_reason: Some(reason), block_reason_message }) =
            chunk.prompt_feedback
        {
            let why = block_reason_message.unwrap_or_default();
            return Err(Failure::new(
                FailureClass::Refused,
                format!("The provider's safety rules refused the request ({reason}). {why}")
                    .trim_end(),
            ));
        }
        if let Some(usage) = &chunk.usage_metadata {
            self.take_usage(usage);
        }
        match chunk.candidates.into_iter().next() {
            Some(candidate) => self.candidate(candidate, signal),
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

    fn kept(&self) -> usize {
        self.kept
    }

    fn reply(mut self) -> Result<Reply, Failure> {
        let calls = self.blocks.iter().any(|block| matches!(block, ReplyBlock::Call(_)));
        let (reason, message) = self.finish.unwrap_or_default();
        let stop = match reason.as_str() {
            "MAX_TOKENS" => Stop::MaxTokens,
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "LANGUAGE" => Stop::Refusal,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
                return Err(Failure::new(
                    FailureClass::StreamCut,
                    format!("The model's answer cannot be used ({reason}). {message}").trim_end(),
                ));
            }
            _ if calls => Stop::Calls,
            _ => Stop::End,
        };
        let citations = std::mem::take(&mut self.citations);
        if !citations.is_empty() {
            let texts = self.blocks.iter_mut().rev().find_map(|block| match block {
                ReplyBlock::Said(Block::Text { citations, .. }) => Some(citations),
                _ => None,
            });
            if let Some(known) = texts {
                *known = citations;
            }
        }
        Ok(Reply::Whole { blocks: self.blocks, stop, usage: self.usage })
    }
}
