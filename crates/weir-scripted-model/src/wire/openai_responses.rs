//! OpenAI Responses as the vendor's server speaks it.

use serde_json::{Value, json};
use weir_core::model::StopReason;

use super::openai_chat::openai_refusal;
use super::{
    CREATED, RefusalResponse, ReplyContext, ReplyPiece, ReplyWriter, WholePart, Wire, put_together,
    scripted_signature, write_event,
};
use crate::fault::ScriptedFault;

pub(crate) struct OpenAiResponses;

impl Wire for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }
    fn messages_key(&self) -> &'static str {
        "input"
    }
    fn new_writer(&self, context: ReplyContext) -> Box<dyn ReplyWriter> {
        Box::new(ResponsesWriter { context, sequence: 0, output: Vec::new(), text: String::new() })
    }
    fn whole_reply(
        &self,
        context: &ReplyContext,
        pieces: &mut dyn Iterator<Item = ReplyPiece>,
    ) -> Vec<u8> {
        let output: Vec<Value> = put_together(pieces)
            .into_iter()
            .enumerate()
            .map(|(index, part)| match part {
                WholePart::Thinking(text) => reasoning_item(context, index, &text),
                WholePart::Text(text) => message_item(context, index, &text),
                WholePart::Call { id, tool, arguments } => {
                    call_item(&id, &tool, &arguments, "completed")
                }
                WholePart::Image { base64, .. } => image_item(context, index, &base64),
            })
            .collect();
        finished_response(context, output).to_string().into_bytes()
    }
    fn refusal_for(&self, fault: &ScriptedFault) -> RefusalResponse {
        openai_refusal(fault)
    }
}

fn response_json(context: &ReplyContext, status: &str) -> Value {
    json!({
        "id": format!("resp_script_{:04}", context.number),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "model": context.model,
        "output": [],
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "service_tier": "default",
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": null,
        "user": null,
        "metadata": {},
    })
}

fn finished_response(context: &ReplyContext, output: Vec<Value>) -> Value {
    let usage = &context.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    let reason = match context.stop {
        StopReason::End | StopReason::Calls | StopReason::Refusal | StopReason::Interrupted => None,
        StopReason::MaxTokens => Some("max_output_tokens"),
    };
    let status = if reason.is_some() { "incomplete" } else { "completed" };
    let mut response = response_json(context, status);
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({"reason": reason});
    }
    response["output"] = Value::Array(output);
    response["usage"] = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input + usage.output,
    });
    response
}

fn item_id(kind: &str, context: &ReplyContext, index: usize) -> String {
    format!("{kind}_script_{:04}_{index:02}", context.number)
}

fn reasoning_item(context: &ReplyContext, index: usize, text: &str) -> Value {
    json!({
        "id": item_id("rs", context, index),
        "type": "reasoning",
        "encrypted_content": scripted_signature(context.number),
        "summary": [{"type": "summary_text", "text": text}],
    })
}

fn text_part(context: &ReplyContext, text: &str) -> Value {
    if context.stop == StopReason::Refusal {
        json!({"type": "refusal", "refusal": text})
    } else {
        json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
    }
}

fn message_item(context: &ReplyContext, index: usize, text: &str) -> Value {
    json!({
        "id": item_id("msg", context, index),
        "type": "message",
        "status": "completed",
        "content": [text_part(context, text)],
        "role": "assistant",
    })
}

fn call_item(id: &str, tool: &str, arguments: &str, status: &str) -> Value {
    json!({
        "id": format!("fc_{id}"),
        "type": "function_call",
        "status": status,
        "arguments": arguments,
        "call_id": id,
        "name": tool,
    })
}

fn image_item(context: &ReplyContext, index: usize, base64: &str) -> Value {
    json!({
        "id": item_id("ig", context, index),
        "type": "image_generation_call",
        "status": "completed",
        "result": base64,
    })
}

struct ResponsesWriter {
    context: ReplyContext,
    sequence: u64,
    /// Items that are done, and the one that is open: the last event holds them all again.
    output: Vec<Value>,
    /// Text, reasoning or arguments of the open item.
    text: String,
}

impl ResponsesWriter {
    fn send_event(&mut self, kind: &str, mut data: Value, out: &mut Vec<u8>) {
        data["type"] = kind.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        write_event(out, kind, &data);
    }

    /// Index of the open item.
    fn index(&self) -> usize {
        self.output.len().saturating_sub(1)
    }

    fn open_item(&mut self, item: &Value, out: &mut Vec<u8>) {
        self.text.clear();
        self.output.push(item.clone());
        let data = json!({"output_index": self.index(), "item": item});
        self.send_event("response.output_item.added", data, out);
    }

    fn finish_item(&mut self, item: Value, out: &mut Vec<u8>) {
        let index = self.index();
        let data = json!({"output_index": index, "item": item});
        self.send_event("response.output_item.done", data, out);
        if let Some(open) = self.output.last_mut() {
            *open = item;
        }
    }

    /// Where the open item's part stands; `part` names its number.
    fn part_position(&self, part: Option<&str>) -> Value {
        let id = self.output.last().map_or(Value::Null, |item| item["id"].clone());
        let mut place = json!({"item_id": id, "output_index": self.index()});
        if let Some(part) = part {
            place[part] = 0.into();
        }
        place
    }

    fn with_value(mut place: Value, key: &str, value: Value) -> Value {
        place[key] = value;
        place
    }

    fn write_thinking(&mut self, piece: &ReplyPiece, out: &mut Vec<u8>) {
        let place = self.part_position(Some("summary_index"));
        match piece {
            ReplyPiece::ThinkingBegin => {
                let id = item_id("rs", &self.context, self.output.len());
                self.open_item(&json!({"id": id, "type": "reasoning", "summary": []}), out);
                let part = json!({"type": "summary_text", "text": ""});
                let data =
                    Self::with_value(self.part_position(Some("summary_index")), "part", part);
                self.send_event("response.reasoning_summary_part.added", data, out);
            }
            ReplyPiece::Thinking(text) => {
                self.text.push_str(text);
                let data = Self::with_value(place, "delta", text.as_str().into());
                self.send_event("response.reasoning_summary_text.delta", data, out);
            }
            _ => {
                let text = std::mem::take(&mut self.text);
                let data = Self::with_value(place.clone(), "text", text.as_str().into());
                self.send_event("response.reasoning_summary_text.done", data, out);
                let part = json!({"type": "summary_text", "text": text});
                let data = Self::with_value(place, "part", part);
                self.send_event("response.reasoning_summary_part.done", data, out);
                let item = reasoning_item(&self.context, self.index(), &text);
                self.finish_item(item, out);
            }
        }
    }

    fn write_text(&mut self, piece: &ReplyPiece, out: &mut Vec<u8>) {
        let refused = self.context.stop == StopReason::Refusal;
        let place = self.part_position(Some("content_index"));
        let kind = if refused { "response.refusal" } else { "response.output_text" };
        match piece {
            ReplyPiece::TextBegin => {
                let id = item_id("msg", &self.context, self.output.len());
                let item = json!({
                    "id": id, "type": "message", "status": "in_progress", "content": [],
                    "role": "assistant",
                });
                self.open_item(&item, out);
                let part = text_part(&self.context, "");
                let data =
                    Self::with_value(self.part_position(Some("content_index")), "part", part);
                self.send_event("response.content_part.added", data, out);
            }
            ReplyPiece::Text(text) => {
                self.text.push_str(text);
                let mut data = Self::with_value(place, "delta", text.as_str().into());
                if !refused {
                    data["logprobs"] = json!([]);
                }
                self.send_event(&format!("{kind}.delta"), data, out);
            }
            _ => {
                let text = std::mem::take(&mut self.text);
                let key = if refused { "refusal" } else { "text" };
                let mut data = Self::with_value(place.clone(), key, text.as_str().into());
                if !refused {
                    data["logprobs"] = json!([]);
                }
                self.send_event(&format!("{kind}.done"), data, out);
                let data = Self::with_value(place, "part", text_part(&self.context, &text));
                self.send_event("response.content_part.done", data, out);
                let item = message_item(&self.context, self.index(), &text);
                self.finish_item(item, out);
            }
        }
    }

    fn write_call(&mut self, piece: &ReplyPiece, out: &mut Vec<u8>) {
        match piece {
            ReplyPiece::CallBegin { id, tool } => {
                self.open_item(&call_item(id, tool, "", "in_progress"), out);
            }
            ReplyPiece::Arguments(text) => {
                self.text.push_str(text);
                let data =
                    Self::with_value(self.part_position(None), "delta", text.as_str().into());
                self.send_event("response.function_call_arguments.delta", data, out);
            }
            _ => {
                let arguments = std::mem::take(&mut self.text);
                let mut item = self.output.last().cloned().unwrap_or_default();
                let mut data = Self::with_value(
                    self.part_position(None),
                    "arguments",
                    arguments.as_str().into(),
                );
                data["name"] = item["name"].clone();
                self.send_event("response.function_call_arguments.done", data, out);
                item["arguments"] = arguments.into();
                item["status"] = "completed".into();
                self.finish_item(item, out);
            }
        }
    }

    fn write_image(&mut self, base64: &str, out: &mut Vec<u8>) {
        let id = item_id("ig", &self.context, self.output.len());
        let item = json!({
            "id": id, "type": "image_generation_call", "status": "in_progress", "result": null,
        });
        self.open_item(&item, out);
        for stage in ["in_progress", "generating", "completed"] {
            let data = self.part_position(None);
            self.send_event(&format!("response.image_generation_call.{stage}"), data, out);
        }
        let item = image_item(&self.context, self.index(), base64);
        self.finish_item(item, out);
    }
}

impl ReplyWriter for ResponsesWriter {
    fn begin(&mut self, out: &mut Vec<u8>) {
        for kind in ["response.created", "response.in_progress"] {
            let data = json!({"response": response_json(&self.context, "in_progress")});
            self.send_event(kind, data, out);
        }
    }

    fn write_piece(&mut self, piece: ReplyPiece, out: &mut Vec<u8>) {
        match &piece {
            ReplyPiece::ThinkingBegin | ReplyPiece::Thinking(_) | ReplyPiece::ThinkingEnd => {
                self.write_thinking(&piece, out);
            }
            ReplyPiece::TextBegin | ReplyPiece::Text(_) | ReplyPiece::TextEnd => {
                self.write_text(&piece, out)
            }
            ReplyPiece::CallBegin { .. } | ReplyPiece::Arguments(_) | ReplyPiece::CallEnd => {
                self.write_call(&piece, out);
            }
            ReplyPiece::Image { base64, .. } => self.write_image(base64, out),
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let response = finished_response(&self.context, std::mem::take(&mut self.output));
        let incomplete = response["status"] == "incomplete";
        let kind = if incomplete { "response.incomplete" } else { "response.completed" };
        self.send_event(kind, json!({"response": response}), out);
    }

    fn write_stream_error(&mut self, out: &mut Vec<u8>) {
        let mut response = response_json(&self.context, "failed");
        response["error"] = json!({
            "code": "server_error",
            "message": "The server had an error while processing your request (scripted).",
        });
        self.send_event("response.failed", json!({"response": response}), out);
    }
}
