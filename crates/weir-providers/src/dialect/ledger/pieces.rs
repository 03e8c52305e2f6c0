//! The pieces of a group: what a dialect is handed instead of raw blocks. Everything in them may be
//! sent as it is.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use weir_core::ids::CallId;
use weir_core::message::{Block, Media, Message, Role, Seal};

use super::super::json::is_blank;
use super::{Ledger, NOTHING_SAID, Render, Scene};

/// What the model is told about a call whose result nobody wrote down.
const NO_RESULT: &str = "No result was recorded for this call.";
/// What stands for a result that said nothing.
const NO_OUTPUT: &str = "(no output)";
/// What stands for a result whose call is gone.
const LOST_RESULT: &str =
    "[A result was left out: the call it answers is no longer part of this conversation.]";

/// A piece that the user's side can say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part<'a> {
    Text(Cow<'a, str>),
    Image { media_type: &'a str, data: &'a str },
    Document { media_type: &'a str, data: &'a str, name: &'a str },
}

impl<'a> Part<'a> {
    pub(crate) fn text(text: &'a str) -> Part<'a> {
        Part::Text(Cow::Borrowed(text))
    }
}

/// The result of one call.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) wire_id: &'a str,
    /// The vendor's own id, when this vendor made the call.
    pub(crate) echo: Option<&'a str>,
    pub(crate) name: &'a str,
    pub(crate) ok: bool,
    /// Never empty.
    pub(crate) parts: Vec<Part<'a>>,
}

impl Answer<'_> {
    /// All text of it, for vendors whose results are plain text. Vendors without an error flag are
    /// told in words.
    pub(crate) fn plain_text(&self, says_error: bool) -> String {
        let mut out = String::new();
        for part in &self.parts {
            if let Part::Text(text) = part {
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
    pub(crate) fn media(&self) -> impl Iterator<Item = &Part<'_>> {
        self.parts.iter().filter(|part| !matches!(part, Part::Text(_)))
    }
}

/// A piece that the assistant said.
#[derive(Debug)]
pub(crate) enum Said<'a> {
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

impl<R: Render> Ledger<R> {
    /// One answer for each call of `asked`, in that order, and which results were used for them.
    pub(super) fn answers<'a>(
        &'a self,
        messages: &'a [Arc<Message>],
        asked: Range<usize>,
        scene: &Scene<'a>,
    ) -> (Vec<Answer<'a>>, Vec<*const Block>) {
        let mut used = Vec::new();
        let answers = self.issued[asked].iter().map(|issued| {
            let found = messages
                .iter()
                .filter(|message| message.role == Role::User)
                .flat_map(|message| &message.blocks)
                .find(|block| answered_call(block) == Some(issued.call));
            let (ok, parts) = match found {
                Some(block @ Block::Result { ok, blocks, .. }) => {
                    used.push(std::ptr::from_ref(block));
                    (*ok, self.parts(blocks, scene))
                }
                _ => (false, vec![Part::text(NO_RESULT)]),
            };
            Answer {
                wire_id: &issued.wire_id,
                echo: issued.echo.as_deref(),
                name: &issued.name,
                ok,
                parts: if parts.is_empty() { vec![Part::text(NO_OUTPUT)] } else { parts },
            }
        });
        (answers.collect(), used)
    }

    /// What `messages` of the user's side say beside the results in `used`.
    pub(super) fn parts_of<'a>(
        &self,
        messages: &'a [Arc<Message>],
        used: &[*const Block],
        scene: &Scene<'a>,
    ) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        for message in messages.iter().filter(|message| message.role == Role::User) {
            for block in &message.blocks {
                match block {
                    Block::Result { .. } if used.contains(&std::ptr::from_ref(block)) => {}
                    Block::Result { .. } => parts.push(Part::text(LOST_RESULT)),
                    other => parts.extend(self.part(other, scene)),
                }
            }
        }
        parts
    }

    fn parts<'a>(&self, blocks: &'a [Block], scene: &Scene<'a>) -> Vec<Part<'a>> {
        blocks.iter().filter_map(|block| self.part(block, scene)).collect()
    }

    fn part<'a>(&self, block: &'a Block, scene: &Scene<'a>) -> Option<Part<'a>> {
        match block {
            Block::Text { text, .. } => (!is_blank(text)).then(|| Part::text(text)),
            Block::Image { media } => Some(match self.data(media, scene, Kind::Image) {
                Ok(data) => Part::Image { media_type: &media.media_type, data },
                Err(why) => Part::Text(left_out("image", media, why).into()),
            }),
            Block::Document { media } => Some(match self.data(media, scene, Kind::Document) {
                Ok(data) => Part::Document {
                    media_type: &media.media_type,
                    data,
                    name: media.name.as_deref().unwrap_or("document.pdf"),
                },
                Err(why) => Part::Text(left_out("document", media, why).into()),
            }),
            Block::Thinking { .. } | Block::Call(_) | Block::Result { .. } => None,
        }
    }

    /// Base64 text of `media`, or why it cannot be sent.
    fn data<'a>(
        &self,
        media: &Media,
        scene: &Scene<'a>,
        kind: Kind,
    ) -> Result<&'a str, &'static str> {
        let rules = self.render.media();
        let can = |ability| scene.model.is_none_or(|model| model.can(ability));
        let (able, types, bytes_max) = match kind {
            Kind::Image => (can("images"), IMAGE_TYPES, rules.image_bytes_max),
            Kind::Document => {
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
    pub(super) fn said<'a>(
        &'a self,
        messages: &'a [Arc<Message>],
        issued: usize,
        scene: &Scene<'a>,
    ) -> Vec<Said<'a>> {
        let mut next_call = issued;
        let mut out = Vec::new();
        for message in messages.iter().filter(|message| message.role == Role::Assistant) {
            for block in &message.blocks {
                if let Block::Call(call) = block {
                    let Some(known) = self.issued.get(next_call) else { continue };
                    if known.call == call.call {
                        next_call += 1;
                        out.push(Said::Call {
                            wire_id: &known.wire_id,
                            echo: known.echo.as_deref(),
                            name: &known.name,
                            input: known.carried.as_ref().unwrap_or(&call.input),
                            seal: self.own(call.seal.as_ref()),
                        });
                    }
                } else {
                    out.extend(self.said_block(block, scene));
                }
            }
        }
        while matches!(out.last(), Some(Said::Thinking { .. })) {
            out.pop();
        }
        if out.is_empty() {
            out.push(Said::Note(NOTHING_SAID.into()));
        }
        out
    }

    fn said_block<'a>(&self, block: &'a Block, scene: &Scene<'a>) -> Option<Said<'a>> {
        match block {
            Block::Text { text, seal, .. } => {
                let seal = self.own(seal.as_ref());
                let counts = !is_blank(text) || (R::SEALED_BLANK_TEXT && seal.is_some());
                counts.then_some(Said::Text { text, seal })
            }
            Block::Thinking { text, seal } => {
                let seal = self.own(seal.as_ref())?;
                Some(Said::Thinking { text, seal })
            }
            Block::Image { media } if self.render.media().assistant_images => {
                Some(match self.data(media, scene, Kind::Image) {
                    Ok(data) => Said::Image { media_type: &media.media_type, data },
                    Err(why) => Said::Note(left_out("image", media, why)),
                })
            }
            Block::Image { media } => {
                Some(Said::Note(left_out("image", media, "it was shown to the user")))
            }
            Block::Document { media } => {
                Some(Said::Note(left_out("document", media, "it was shown to the user")))
            }
            Block::Call(_) | Block::Result { .. } => None,
        }
    }

    /// What this vendor can read back of `seal`.
    pub(super) fn own<'a>(&self, seal: Option<&'a Seal>) -> Option<&'a Value> {
        self.render.quirks().own_seal(R::DIALECT, &self.model, seal)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Image,
    Document,
}

fn answered_call(block: &Block) -> Option<CallId> {
    match block {
        Block::Result { call, .. } => Some(*call),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::Call(_)
        | Block::Image { .. }
        | Block::Document { .. } => None,
    }
}

fn left_out(what: &str, media: &Media, why: &str) -> String {
    let name = media.name.as_deref().unwrap_or("without a name");
    format!("[{what} {name:?} ({}, {} bytes) is not sent: {why}]", media.media_type, media.bytes)
}
