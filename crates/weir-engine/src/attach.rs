//! What goes with a prompt: files, images, PDFs (X5). Every face attaches through here, and
//! `read_file` looks at its images and PDFs through here too.
//!
//! Done when it is attached, once: the content decides what a file is, images beyond what every
//! vendor takes become smaller copies, and what cannot be read is refused with what to do. Not
//! here: what a model is given that cannot take it (`media`), because the model may change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};
use weir_core::event::InputAddition;
use weir_core::governance::label::{self, Integrity, Label};
use weir_core::input::{PersonCommand, PersonMessage};
use weir_core::message::{MessageBlock, StoredMedia};
use weir_core::record::sha256_hex;
use weir_core::tool::{Effects, PathAccess, PathEffect, PathPlace};

use crate::blobs::decode_blob;
use crate::blocking::run_blocking;
use crate::error::EngineError;
use crate::ports::{Blobs as _, DocumentReaders, FileContent};
use crate::session_handle::SessionHandle;
use crate::sniff;
use crate::submit::InputSubmission;
use crate::text_form::TextEncoding;
use crate::worker_context::WorkerContext;
use crate::workspace::{EntryKind, Workspace};

mod mention;

pub use mention::{Mention, parse_mentions};

/// Largest image or PDF that is looked at, in bytes: what the largest vendor takes in one request
/// (Anthropic: 32 MB).
pub const FILE_BYTES_MAX: u64 = 32 << 20;
/// Largest text file, in bytes. Larger ones are read in pages by `read_file`.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Longest side of an image that is sent, in pixels: Anthropic refuses more in requests with many
/// images, and every vendor scales down to less before its model looks.
pub const IMAGE_SIDE_MAX: u32 = 2_000;
/// Largest image that is sent, in bytes: Anthropic takes 5 MiB of base64, the least of all.
pub const IMAGE_BYTES_MAX: u64 = (5 << 20) / 4 * 3;
/// Most files that go with one prompt.
pub const FILES_MAX: usize = 50;
/// Most bytes that go with one prompt.
pub const TOTAL_BYTES_MAX: u64 = 64 << 20;
/// Longest name that is kept, in characters.
const NAME_CHARS_MAX: usize = 120;

/// Why a file is not attached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} cannot be attached: {why}")]
pub struct AttachError {
    /// The file, as it was named.
    pub name: String,
    /// Why, and what to do.
    pub why: String,
}

/// A file that was looked at and may go with a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    name: String,
    content: AttachmentContent,
    /// What the model is told about it.
    note: Option<String>,
    /// Whose words it is.
    label: Label,
}

#[derive(Debug, Clone, PartialEq)]
enum AttachmentContent {
    Text(String),
    Media {
        media_type: String,
        bytes: Arc<[u8]>,
        /// The file itself, where what is sent is a smaller copy.
        original: Option<Arc<[u8]>>,
    },
}

/// A prompt with what goes with it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptInput {
    /// The person's words.
    pub text: String,
    /// The files.
    pub attachments: Vec<Attachment>,
}

impl Attachment {
    /// What `bytes` are, by their content, as an attachment. `name` is shown; its folders are not.
    /// The words in it count as foreign and private, wherever it came from.
    ///
    /// # Errors
    /// What is wrong with it and what to do.
    pub async fn of_bytes(
        documents: &dyn DocumentReaders,
        name: &str,
        bytes: Arc<[u8]>,
    ) -> Result<Attachment, AttachError> {
        let wrong = |why: String| AttachError { name: name.to_owned(), why };
        let (content, note) = inspect_content(documents, name, bytes).await.map_err(wrong)?;
        Ok(Attachment::of_content(name, content, note))
    }

    fn of_content(name: &str, content: AttachmentContent, note: Option<String>) -> Attachment {
        let name = display_name(name);
        let source = format!("attachment {name}");
        let label = Label::private(Integrity::External, source.as_str())
            .joined_with(&Label::external(source.as_str()));
        Attachment { name, content, note, label }
    }

    /// The file at `at`, whose place was resolved by `workspace`. What is in the workspace and not
    /// marked as foreign keeps the label that reading it there would give, if it is text.
    ///
    /// # Errors
    /// It is invisible, no file, or as [`Attachment::of_bytes`].
    pub async fn of_file(
        documents: &dyn DocumentReaders,
        workspace: &Arc<Workspace>,
        at: PathEffect,
        name: &str,
    ) -> Result<Attachment, AttachError> {
        let wrong = |why: String| AttachError { name: name.to_owned(), why };
        if let Some(why) = &at.ignored {
            return Err(wrong(format!("it is invisible ({why})")));
        }
        let bytes = read_attached_file(workspace, &at).await.map_err(wrong)?;
        let mut attachment = Attachment::of_bytes(documents, name, bytes).await?;
        let is_text = matches!(attachment.content, AttachmentContent::Text(_));
        if is_text && at.place == PathPlace::Inside {
            attachment.label = label::of_result(&Effects { paths: vec![at], ..Effects::default() });
        }
        Ok(attachment)
    }

    /// Words of somebody else that come with an input: a mail. `origin` is who they are from.
    pub fn words_of(origin: &str, text: &str) -> Attachment {
        let name = display_name(&origin.replace('/', " "));
        let label = Label::private(Integrity::External, name.clone());
        let label = label.joined_with(&Label::external(name.clone()));
        Attachment { name, content: AttachmentContent::Text(text.to_owned()), note: None, label }
    }

    /// Its name, without folders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the model is told about it beside its content.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// What kind of file it is and how much of it there is: `image/png, 12 kB`.
    pub fn describe_kind(&self) -> String {
        match &self.content {
            AttachmentContent::Text(text) => format!("text, {}", size_text(text.len() as u64)),
            AttachmentContent::Media { media_type, bytes, .. } => {
                format!("{media_type}, {}", size_text(bytes.len() as u64))
            }
        }
    }

    /// Its image or PDF, put where the session keeps its bytes; `None` for text.
    pub fn media_block(
        &self,
        mut put: impl FnMut(Arc<[u8]>) -> weir_core::ids::BlobId,
    ) -> Option<MessageBlock> {
        let AttachmentContent::Media { media_type, bytes, original } = &self.content else {
            return None;
        };
        if let Some(original) = original {
            put(original.clone());
        }
        let media = StoredMedia {
            media_type: media_type.clone(),
            blob: put(bytes.clone()),
            bytes: bytes.len() as u64,
            name: Some(self.name.clone()),
        };
        Some(match media_type.as_str() {
            "application/pdf" => MessageBlock::Document { media },
            _ => MessageBlock::Image { media },
        })
    }

    /// What the model is told in words: its text, or the note about it.
    fn added_text(&self) -> Option<InputAddition> {
        let source = format!("attachment {}", self.name);
        match (&self.content, &self.note) {
            (AttachmentContent::Text(text), _) => {
                let text = format!("Attached file {}:\n{text}", self.name);
                Some(InputAddition { source, text, label: self.label.clone() })
            }
            // The name in it is the file's, and the picture itself brings its label along.
            (AttachmentContent::Media { .. }, Some(note)) => {
                Some(InputAddition { source, text: format!("[{note}]"), label: Label::default() })
            }
            (AttachmentContent::Media { .. }, None) => None,
        }
    }
}

/// The files at `paths`, which a person named, and those that `prompt` names with `@`. Each once.
///
/// # Errors
/// The first that cannot be attached; there are too many.
pub async fn gather_attachments(
    documents: &dyn DocumentReaders,
    workspace: &Arc<Workspace>,
    paths: &[PathBuf],
    prompt: &str,
) -> Result<Vec<Attachment>, AttachError> {
    let mut wanted: Vec<(PathEffect, String)> = Vec::new();
    for path in paths {
        // A person may attach what lies anywhere; what is invisible stays so (G6).
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let at = workspace.resolve(&real.to_string_lossy(), PathAccess::Read);
        wanted.push((at, path.display().to_string()));
    }
    for mention in parse_mentions(prompt) {
        wanted.extend(resolve_mention(workspace, &mention)?);
    }
    let mut found: Vec<Attachment> = Vec::new();
    let (mut seen, mut total) = (Vec::new(), 0);
    for (at, name) in wanted {
        if seen.contains(&at.path) {
            continue;
        }
        seen.push(at.path.clone());
        if seen.len() > FILES_MAX {
            let why = format!("at most {FILES_MAX} files go with one prompt; leave some out");
            return Err(AttachError { name, why });
        }
        let attachment = Attachment::of_file(documents, workspace, at, &name).await?;
        total += attachment.bytes();
        if total > TOTAL_BYTES_MAX {
            let most = TOTAL_BYTES_MAX >> 20;
            let why = format!("all files of a prompt together may have {most} MB; leave some out");
            return Err(AttachError { name, why });
        }
        found.push(attachment);
    }
    Ok(found)
}

impl Attachment {
    fn bytes(&self) -> u64 {
        let count = match &self.content {
            AttachmentContent::Text(text) => text.len(),
            AttachmentContent::Media { bytes, original, .. } => {
                bytes.len() + original.as_ref().map_or(0, |original| original.len())
            }
        };
        count as u64
    }
}

/// The file that a word of the prompt names; `None`: there is none, the word is only a word.
fn resolve_mention(
    workspace: &Workspace,
    mention: &Mention,
) -> Result<Option<(PathEffect, String)>, AttachError> {
    for name in mention.candidate_names() {
        let at = workspace.resolve(name, PathAccess::Read);
        let wrong = |why: &str| AttachError { name: format!("@{name}"), why: why.to_owned() };
        if at.place != PathPlace::Inside {
            // The prompt may be piped in from anywhere: it names files of the workspace only.
            if Path::new(name).is_file() && Path::new(name).is_absolute() {
                return Err(wrong("it lies outside the workspace; attach it with --attach"));
            }
            continue;
        }
        if let Some(why) = &at.ignored {
            let there = workspace.root().join(&at.path).is_file();
            let why = format!("it is invisible ({why})");
            return if there { Err(wrong(&why)) } else { Ok(None) };
        }
        let Ok(entry) = workspace.stat_entry(&at) else { continue };
        if entry.kind != EntryKind::File {
            continue;
        }
        let held = workspace.effect_of_entry(&entry);
        let key = || workspace.key_inside(&at);
        if let Some(why) = at.sensitive.clone().or(held.sensitive).or_else(key) {
            return Err(wrong(&format!("{why}; if you mean it, attach it with --attach")));
        }
        return Ok(Some((at, name.to_owned())));
    }
    Ok(None)
}

async fn read_attached_file(
    workspace: &Arc<Workspace>,
    at: &PathEffect,
) -> Result<Arc<[u8]>, String> {
    let (workspace, at) = (workspace.clone(), at.clone());
    let read =
        move || workspace.read_current(&at, FILE_BYTES_MAX).map_err(|error| error.to_string());
    match run_blocking(read).await.map_err(|error| error.to_string())?? {
        FileContent::File { bytes, .. } => Ok(bytes),
        FileContent::Folder => Err("it is a folder; name the files in it".into()),
        FileContent::Link { .. } => Err("it is a link; name the file that it leads to".into()),
        FileContent::Absent => Err("there is no such file".into()),
    }
}

/// What a file is and what is told about it, or why it cannot be attached.
fn inspect_content<'a>(
    documents: &'a dyn DocumentReaders,
    name: &'a str,
    bytes: Arc<[u8]>,
) -> BoxFuture<'a, Result<(AttachmentContent, Option<String>), String>> {
    Box::pin(read_content(documents, name, bytes))
}

async fn read_content(
    documents: &dyn DocumentReaders,
    name: &str,
    bytes: Arc<[u8]>,
) -> Result<(AttachmentContent, Option<String>), String> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!(
            "it has {}, and at most {} can be attached; make it smaller",
            size_text(bytes.len() as u64),
            size_text(FILE_BYTES_MAX)
        ));
    }
    let start = &bytes[..bytes.len().min(sniff::SNIFF_BYTES)];
    match (sniff::detect_file_kind(start), claimed_media_kind(name)) {
        (sniff::FileKind::Image(_), _) => prepare_image(documents, name, bytes).await,
        (sniff::FileKind::Pdf, _) => {
            let seen = documents.inspect_document(DocumentRequest::Pdf, bytes.clone()).await;
            seen.map_err(|why: DocumentError| why.to_string())?;
            let media_type = "application/pdf".to_owned();
            Ok((AttachmentContent::Media { media_type, bytes, original: None }, None))
        }
        (sniff::FileKind::Text, None) => {
            decode_text(&bytes).map(|text| (AttachmentContent::Text(text), None))
        }
        (sniff::FileKind::Text, Some(claim)) => Err(format!(
            "its name says {claim}, and its content is text; rename it or save it anew"
        )),
        (sniff::FileKind::Binary(what), Some(claim)) => Err(format!(
            "its name says {claim}, and its content is {what}; it is damaged or of another kind"
        )),
        (sniff::FileKind::Binary(what), None) => Err(format!(
            "it is {what}, neither text nor PNG, JPEG, GIF, WebP or PDF; convert it first"
        )),
    }
}

async fn prepare_image(
    documents: &dyn DocumentReaders,
    name: &str,
    bytes: Arc<[u8]>,
) -> Result<(AttachmentContent, Option<String>), String> {
    let wish = DocumentRequest::Image { side_max: IMAGE_SIDE_MAX, bytes_max: IMAGE_BYTES_MAX };
    let seen =
        documents.inspect_document(wish, bytes.clone()).await.map_err(|why| why.to_string())?;
    let DocumentResult::Image { media_type, width, height, smaller } = seen else {
        return Err("its reader answered something else".into());
    };
    let Some(smaller) = smaller else {
        return Ok((AttachmentContent::Media { media_type, bytes, original: None }, None));
    };
    let note = format!(
        "{} had {width} × {height} pixels and {}; it was scaled down to {} × {} pixels and {}",
        display_name(name),
        size_text(bytes.len() as u64),
        smaller.width,
        smaller.height,
        size_text(smaller.bytes.len() as u64),
    );
    let media_type = smaller.media_type;
    let copy = smaller.bytes.into();
    Ok((AttachmentContent::Media { media_type, bytes: copy, original: Some(bytes) }, Some(note)))
}

fn decode_text(bytes: &[u8]) -> Result<String, String> {
    // Text in UTF-16 may be longer here: what is attached is what counts.
    let plain = TextEncoding::of_file(bytes).decode(bytes)?;
    if plain.len() as u64 > TEXT_BYTES_MAX {
        return Err(format!(
            "it has {} of text, and at most {} can be attached; name it without @ and let the \
             agent read it in pages",
            size_text(plain.len() as u64),
            size_text(TEXT_BYTES_MAX)
        ));
    }
    match std::str::from_utf8(&plain) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err("it is text of another encoding than UTF-8; convert it with iconv".into()),
    }
}

/// What the end of a name says it is, where that is an image or PDF.
fn claimed_media_kind(name: &str) -> Option<&'static str> {
    let extension = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
    match extension.as_str() {
        "png" => Some("PNG"),
        "jpg" | "jpeg" => Some("JPEG"),
        "gif" => Some("GIF"),
        "webp" => Some("WebP"),
        "pdf" => Some("PDF"),
        _ => None,
    }
}

/// The last part of a path, without what steers terminals.
fn display_name(name: &str) -> String {
    let last = name.rsplit('/').find(|part| !part.is_empty()).unwrap_or("file");
    last.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
}

/// `1.2 MB`.
pub(crate) fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

impl SessionHandle {
    /// Says something with files, unless a `UserPromptSubmit` hook refuses it (G11). What stands
    /// in the files is not taken for the person's own words.
    ///
    /// # Errors
    /// As `SessionHandle::say`.
    pub async fn say_with(&self, saying: PromptInput, by: &str) -> Result<(), EngineError> {
        self.say_as(saying, by, None).await
    }

    /// The same under a name: however often it is sent, it is said once (C7).
    ///
    /// # Errors
    /// As `SessionHandle::say`.
    pub async fn say_as(
        &self,
        saying: PromptInput,
        by: &str,
        client_id: Option<String>,
    ) -> Result<(), EngineError> {
        let (content, mut added) =
            saying.into_content_parts(|bytes| self.blobs().put(self.id(), bytes));
        added.extend(self.collect_added_text(&content).await?);
        let message = PersonMessage { content, added, client_id, blobs: Vec::new() };
        self.send_command(PersonCommand::from(message).sent_by(by)).await
    }
}

impl PromptInput {
    /// What is said and what goes with it. `put` keeps the bytes of files.
    fn into_content_parts(
        self,
        mut put: impl FnMut(Arc<[u8]>) -> weir_core::ids::BlobId,
    ) -> (Vec<MessageBlock>, Vec<InputAddition>) {
        let saying = self;
        let mut content: Vec<MessageBlock> = saying
            .attachments
            .iter()
            .filter_map(|attachment| attachment.media_block(&mut put))
            .collect();
        if !saying.text.is_empty() {
            content.push(MessageBlock::text(saying.text));
        } else if content.is_empty() {
            content.push(MessageBlock::text("(files without words)"));
        }
        let added = saying.attachments.iter().filter_map(Attachment::added_text).collect();
        (content, added)
    }

    /// The same with the bytes of its files, for a session that another process may be running.
    pub fn command(self, client_id: String) -> PersonCommand {
        let mut blobs = Vec::new();
        let (content, added) = self.into_content_parts(|bytes| {
            blobs.push(STANDARD.encode(&bytes));
            weir_core::ids::BlobId::new(sha256_hex(&bytes))
        });
        PersonMessage { content, added, client_id: Some(client_id), blobs }.into()
    }
}

/// Says what a letter brings in the session of `context`; returns when it is durable. `letter`: its
/// number.
pub(crate) async fn hear_letter(
    context: &WorkerContext,
    submit: &InputSubmission,
    letter: u64,
    mut message: PersonMessage,
    by: String,
) -> Result<(), EngineError> {
    for blob in std::mem::take(&mut message.blobs) {
        let bytes = decode_blob(&blob);
        let bytes = bytes.map_err(|error| EngineError::Refused(error.to_string()))?;
        context.blobs.put(&context.session, bytes);
    }
    message.added.extend(submit.collect_added_text(&message.content).await?);
    // Hooks take their time, and whoever waits for it may have taken it back meanwhile. Where the
    // box cannot be read, nobody has.
    let box_now = context.parts.store.waiting_remote_commands(&context.session).await;
    if box_now.is_ok_and(|letters| letters.iter().all(|waits| waits.id != letter)) {
        return Err(EngineError::Refused("who said it has taken it back".into()));
    }
    context.sender.send_command(PersonCommand::from(message).sent_by(by)).await
}

#[cfg(test)]
mod tests;
