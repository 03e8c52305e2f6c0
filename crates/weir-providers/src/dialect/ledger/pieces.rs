//! The pieces of a group: what a dialect is handed instead of raw blocks. Everything in them may be
//! sent as it is.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use weir_core::ids::CallId;
use weir_core::message::{Message, MessageBlock, Role, StoredMedia, VendorSeal};

use super::super::json::is_blank;
use super::{NOTHING_SAID, RenderContext, RenderDialect, RequestBuffer};

/// What the model is told about a call whose result nobody wrote down.
const NO_RESULT: &str = "No result was recorded for this call.";
/// What stands for a result that said nothing.
const NO_OUTPUT: &str = "(no output)";
/// What stands for a result whose call is gone.
const LOST_RESULT: &str =
    "[A result was left out: the call it answers is no longer part of this conversation.]";

/// A piece that the user's side can say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum UserPart<'a> {
    Text(Cow<'a, str>),
    Image { media_type: &'a str, data: &'a str },
    Document { media_type: &'a str, data: &'a str, name: &'a str },
}

impl<'a> UserPart<'a> {
    pub(crate) fn from_text(text: &'a str) -> UserPart<'a> {
        UserPart::Text(Cow::Borrowed(text))
    }
}

/// The result of one call.
#[derive(Debug)]
pub(crate) struct CallResultPart<'a> {
    pub(crate) wire_id: &'a str,
    /// The vendor's own id, when this vendor made the call.
    pub(crate) echo: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) ok: bool,
    /// Never empty.
    pub(crate) parts: Vec<UserPart<'a>>,
}

impl CallResultPart<'_> {
    /// All text of it, for vendors whose results are plain text. Vendors without an error flag are
    /// told in words.
    pub(crate) fn plain_text(&self, says_error: bool) -> String {
        let mut out = String::new();
        for part in &self.parts {
            if let UserPart::Text(text) = part {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(text);
            }
        }
        if out.is_empty() {
            out.push_str("(see the attached content)");
        }
        let is_told = out.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
        if says_error && !self.ok && !is_told {
            out.insert_str(0, "Error: ");
        }
        out
    }

    /// What of it is not text.
    pub(crate) fn media_parts(&self) -> impl Iterator<Item = &UserPart<'_>> {
        self.parts.iter().filter(|part| !matches!(part, UserPart::Text(_)))
    }
}

/// A piece that the assistant said.
#[derive(Debug)]
pub(crate) enum AssistantPart<'a> {
    /// `seal` is there only when this vendor made it.
    Text { text: &'a str, seal: Option<&'a Value> },
    /// Only thinking that this vendor sealed, and never last.
    Thinking { text: &'a str, seal: &'a Value },
    Call {
        wire_id: &'a str,
        echo: Option<&'a str>,
        name: &'a str,
        input: &'a Value,
        seal: Option<&'a Value>,
    },
    /// An image that the model made, where the vendor takes it back.
    Image { media_type: &'a str, data: &'a str },
    /// Words of ours in place of something that cannot be sent.
    Note(String),
}

/// Which media a vendor takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MediaRules {
    /// Largest image, in bytes.
    pub(crate) image_bytes_max: u64,
    /// Largest document, in bytes.
    pub(crate) document_bytes_max: u64,
    /// Whether documents can be sent at all.
    pub(crate) documents: bool,
    /// Whether an assistant message may hold images.
    pub(crate) assistant_images: bool,
}

const IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
const DOCUMENT_TYPES: &[&str] = &["application/pdf"];

impl<R: RenderDialect> RequestBuffer<R> {
    /// One answer for each call of `asked`, in that order, and which results were used for them.
    pub(super) fn call_results<'a>(
        &'a self,
        messages: &'a [Arc<Message>],
        asked: Range<usize>,
        scene: &RenderContext<'a>,
    ) -> (Vec<CallResultPart<'a>>, Vec<*const MessageBlock>) {
        let mut used = Vec::new();
        let answers = self.issued[asked].iter().map(|issued| {
            let found = messages
                .iter()
                .filter(|message| message.role == Role::User)
                .flat_map(|message| &message.blocks)
                .find(|block| answered_call(block) == Some(issued.call));
            let (ok, parts) = match found {
                Some(block @ MessageBlock::Result { ok, blocks, .. }) => {
                    used.push(std::ptr::from_ref(block));
                    (*ok, self.user_parts(blocks, scene))
                }
                _ => (false, vec![UserPart::from_text(NO_RESULT)]),
            };
            CallResultPart {
                wire_id: &issued.wire_id,
                echo: issued.echo.as_deref(),
                name: &issued.name,
                ok,
                parts: if parts.is_empty() { vec![UserPart::from_text(NO_OUTPUT)] } else { parts },
            }
        });
        (answers.collect(), used)
    }

    /// What `messages` of the user's side say beside the results in `used`.
    pub(super) fn parts_of<'a>(
        &self,
        messages: &'a [Arc<Message>],
        used: &[*const MessageBlock],
        scene: &RenderContext<'a>,
    ) -> Vec<UserPart<'a>> {
        let mut parts = Vec::new();
        for message in messages.iter().filter(|message| message.role == Role::User) {
            for block in &message.blocks {
                match block {
                    MessageBlock::Result { .. } if used.contains(&std::ptr::from_ref(block)) => {}
                    MessageBlock::Result { .. } => parts.push(UserPart::from_text(LOST_RESULT)),
                    other => parts.extend(self.user_part(other, scene)),
                }
            }
        }
        parts
    }

    fn user_parts<'a>(
        &self,
        blocks: &'a [MessageBlock],
        scene: &RenderContext<'a>,
    ) -> Vec<UserPart<'a>> {
        blocks.iter().filter_map(|block| self.user_part(block, scene)).collect()
    }

    fn user_part<'a>(
        &self,
        block: &'a MessageBlock,
        scene: &RenderContext<'a>,
    ) -> Option<UserPart<'a>> {
        match block {
            MessageBlock::Text { text, .. } => (!is_blank(text)).then(|| UserPart::from_text(text)),
            MessageBlock::Image { media } => {
                Some(match self.media_data(media, scene, MediaPartKind::Image) {
                    Ok(data) => UserPart::Image { media_type: &media.media_type, data },
                    Err(why) => UserPart::Text(left_out("image", media, why).into()),
                })
            }
            MessageBlock::Document { media } => {
                Some(match self.media_data(media, scene, MediaPartKind::Document) {
                    Ok(data) => UserPart::Document {
                        media_type: &media.media_type,
                        data,
                        name: media.name.as_deref().unwrap_or("document.pdf"),
                    },
                    Err(why) => UserPart::Text(left_out("document", media, why).into()),
                })
            }
            MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => {
                None
            }
        }
    }

    /// Base64 text of `media`, or why it cannot be sent.
    fn media_data<'a>(
        &self,
        media: &StoredMedia,
        scene: &RenderContext<'a>,
        kind: MediaPartKind,
    ) -> Result<&'a str, &'static str> {
        let rules = self.render.media_rules();
        let can = |ability| scene.model.is_none_or(|model| model.has_ability(ability));
        let (able, types, bytes_max) = match kind {
            MediaPartKind::Image => (can("images"), IMAGE_TYPES, rules.image_bytes_max),
            MediaPartKind::Document => {
                (can("pdf") && rules.documents, DOCUMENT_TYPES, rules.document_bytes_max)
            }
        };
        if !able {
            return Err("this model cannot read it");
        }
        if !types.contains(&media.media_type.as_str()) {
            return Err("this kind of file cannot be sent");
        }
        let Some(data) = scene.media.get(&media.blob) else {
            return Err("its content is no longer stored");
        };
        // What is counted is what is there, not what the message says of it.
        if data.is_empty() || data.len() as u64 / 4 * 3 > bytes_max {
            return Err(if data.is_empty() { "it is empty" } else { "it is too large" });
        }
        Ok(data)
    }

    /// What `messages` of the assistant say. Calls have been issued, from `issued` on.
    pub(super) fn assistant_parts<'a>(
        &'a self,
        messages: &'a [Arc<Message>],
        issued: usize,
        scene: &RenderContext<'a>,
    ) -> Vec<AssistantPart<'a>> {
        let mut next_call = issued;
        let mut out = Vec::new();
        for message in messages.iter().filter(|message| message.role == Role::Assistant) {
            for block in &message.blocks {
                if let MessageBlock::Call(call) = block {
                    let Some(known) = self.issued.get(next_call) else { continue };
                    if known.call == call.call {
                        next_call += 1;
                        out.push(AssistantPart::Call {
                            wire_id: &known.wire_id,
                            echo: known.echo.as_deref(),
                            name: &known.name,
                            input: known.carried.as_ref().unwrap_or(&call.input),
                            seal: self.readable_seal(call.seal.as_ref()),
                        });
                    }
                } else {
                    out.extend(self.said_block(block, scene));
                }
            }
        }
        while matches!(out.last(), Some(AssistantPart::Thinking { .. })) {
            out.pop();
        }
        if out.is_empty() {
            out.push(AssistantPart::Note(NOTHING_SAID.into()));
        }
        out
    }

    fn said_block<'a>(
        &self,
        block: &'a MessageBlock,
        scene: &RenderContext<'a>,
    ) -> Option<AssistantPart<'a>> {
        match block {
            MessageBlock::Text { text, seal, .. } => {
                let seal = self.readable_seal(seal.as_ref());
                let counts = !is_blank(text) || (R::SEALED_BLANK_TEXT && seal.is_some());
                counts.then_some(AssistantPart::Text { text, seal })
            }
            MessageBlock::Thinking { text, seal } => {
                let seal = self.readable_seal(seal.as_ref())?;
                Some(AssistantPart::Thinking { text, seal })
            }
            MessageBlock::Image { media } if self.render.media_rules().assistant_images => {
                Some(match self.media_data(media, scene, MediaPartKind::Image) {
                    Ok(data) => AssistantPart::Image { media_type: &media.media_type, data },
                    Err(why) => AssistantPart::Note(left_out("image", media, why)),
                })
            }
            MessageBlock::Image { media } => {
                Some(AssistantPart::Note(left_out("image", media, "it was shown to the user")))
            }
            MessageBlock::Document { media } => {
                Some(AssistantPart::Note(left_out("document", media, "it was shown to the user")))
            }
            MessageBlock::Call(_) | MessageBlock::Result { .. } => None,
        }
    }

    /// What this vendor can read back of `seal`.
    pub(super) fn readable_seal<'a>(&self, seal: Option<&'a VendorSeal>) -> Option<&'a Value> {
        self.render.quirks().own_seal(R::DIALECT, &self.model, seal)
    }
}

#[derive(Clone, Copy)]
enum MediaPartKind {
    Image,
    Document,
}

fn answered_call(block: &MessageBlock) -> Option<CallId> {
    match block {
        MessageBlock::Result { call, .. } => Some(*call),
        MessageBlock::Text { .. }
        | MessageBlock::Thinking { .. }
        | MessageBlock::Call(_)
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => None,
    }
}

fn left_out(what: &str, media: &StoredMedia, why: &str) -> String {
    let name = media.name.as_deref().unwrap_or("without a name");
    format!("[{what} {name:?} ({}, {} bytes) is not sent: {why}]", media.media_type, media.bytes)
}
