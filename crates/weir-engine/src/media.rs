//! Attachments that a model does not take, in a form that it takes (X5): the text of a PDF, and
//! pictures of the pages that have none.
//!
//! Converted when a request is prepared, not when the input is accepted: the history keeps the
//! file itself, so a session may change its model at any time and each model gets the best that it
//! takes. What is made of a file depends on its bytes and the model's abilities only, and is kept
//! while the history mentions the file; so each request extends the one before (P2). A process that
//! takes the session up again makes it again, from the blob store.
//!
//! Not here: images for models without images. A dialect says in their place what they are.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};
use weir_core::governance::filter::redact_text;
use weir_core::ids::BlobId;
use weir_core::message::{Message, MessageBlock, StoredMedia};
use weir_core::model::{ModelInfo, ModelRequest};
use weir_core::record::sha256_hex;
use weir_core::sorting::sort_stably;

use crate::attach::size_text;
use crate::blocking::run_blocking;
use crate::ports::{AttachmentSupport, Blobs, MediaMap};
use crate::worker_context::WorkerContext;

/// Most pages of a PDF that is sent as it is: Anthropic and OpenAI refuse more.
pub(crate) const NATIVE_PAGES_MAX: u32 = 100;
/// Most text of a converted PDF that stands in the history, in characters: a page of `read_file`.
pub(crate) const WORDS_CHARS_MAX: usize = 50_000;
/// Most text that is read of a PDF, in bytes: ten novels.
const TEXT_BYTES_MAX: usize = 8 << 20;
/// A page with fewer letters and digits has no text worth the name: it is a scan or a drawing.
const POOR_CHARS: usize = 16;
/// Most pages that are shown as pictures: more in one request, and vendors want them smaller.
pub(crate) const PICTURES_MAX: usize = 20;
/// Longest side of the picture of a page, in pixels: what vendors scale down to.
const PICTURE_SIDE: u32 = 1_568;

/// Converts the attachments of one session.
pub(crate) struct DocumentConverter {
    context: Arc<WorkerContext>,
    conversions: MediaConversions,
}

/// What was made so far, by file and by whether the model takes images.
#[derive(Default)]
struct MediaConversions {
    made: Mutex<HashMap<(BlobId, bool), Arc<ConvertedMedia>>>,
    pages: Mutex<HashMap<BlobId, u32>>,
}

/// What is sent instead of one file.
#[derive(Debug, Default, PartialEq)]
struct ConvertedMedia {
    /// The text, with marks where pages begin. Empty: there is `failed`.
    words: String,
    /// Pages.
    pages: u32,
    /// Pages that are shown as pictures.
    pictures: Vec<(StoredMedia, Arc<str>)>,
    /// Why nothing could be made.
    failed: Option<String>,
}

/// What became of a request.
#[derive(Default)]
pub(crate) struct ConvertedRequest {
    /// Files that the request mentions no more.
    pub(crate) gone: BTreeSet<BlobId>,
    /// Pictures that it mentions instead.
    pub(crate) made: MediaMap,
}

/// Why a file is not sent as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConversionReason {
    /// The model reads none.
    Model,
    /// It has more pages than are taken.
    Pages,
    /// It has more bytes than are taken.
    Bytes(u64),
}

impl ConversionReason {
    fn reason_sentence(self) -> String {
        match self {
            ConversionReason::Model => "This model takes no PDFs".into(),
            ConversionReason::Pages => {
                format!("This model takes PDFs of at most {NATIVE_PAGES_MAX} pages")
            }
            ConversionReason::Bytes(max) => {
                format!("This model takes PDFs of at most {}", size_text(max))
            }
        }
    }
}

impl DocumentConverter {
    /// Nothing is converted yet.
    pub(crate) fn new(context: Arc<WorkerContext>) -> DocumentConverter {
        DocumentConverter { context, conversions: MediaConversions::default() }
    }

    /// Puts into `request` what its model takes, in place of the files that it does not take.
    pub(crate) async fn convert_media(
        &self,
        request: &mut ModelRequest,
        takes: AttachmentSupport,
    ) -> ConvertedRequest {
        let mut wanted: Vec<StoredMedia> = Vec::new();
        request.history.iter().for_each(|message| documents_in(&message.blocks, &mut wanted));
        sort_stably(&mut wanted, |a, b| a.blob.cmp(&b.blob));
        wanted.dedup_by(|a, b| a.blob == b.blob);
        self.conversions.forget_all_but(&wanted);
        let (mut converted, mut instead) = (ConvertedRequest::default(), HashMap::new());
        for media in &wanted {
            let Some(because) = self.conversion_reason(media, &request.model, takes).await else {
                continue;
            };
            let Some(made) = self.made(media, request.model.has_ability("images")).await else {
                continue;
            };
            let path = format!(
                "{}/{}-{}.md",
                self.context.results_folder(),
                file_slug(media.name.as_deref().unwrap_or_default()),
                media.blob.as_str().chars().take(8).collect::<String>()
            );
            let whole = match made.words.chars().count() > WORDS_CHARS_MAX {
                true => self.kept_whole(media, &path, &made.words).await.then_some(path),
                false => None,
            };
            for (picture, data) in &made.pictures {
                converted.made.insert(picture.blob.clone(), data.clone());
            }
            converted.gone.insert(media.blob.clone());
            instead.insert(media.blob.clone(), (because, made, whole));
        }
        if instead.is_empty() {
            return converted;
        }
        let replace = |media: &StoredMedia| {
            let (because, made, whole) = instead.get(&media.blob)?;
            Some(converted_blocks(media, *because, made, whole.as_deref()))
        };
        let history =
            request.history.iter().map(|message| rewrite_message(message, &replace)).collect();
        request.history = Arc::new(history);
        converted
    }

    /// Why `media` cannot go as it is; `None`: it can.
    async fn conversion_reason(
        &self,
        media: &StoredMedia,
        model: &ModelInfo,
        takes: AttachmentSupport,
    ) -> Option<ConversionReason> {
        if !model.has_ability("pdf") || !takes.documents {
            return Some(ConversionReason::Model);
        }
        if media.bytes > takes.document_bytes_max {
            return Some(ConversionReason::Bytes(takes.document_bytes_max));
        }
        (self.pages(media).await? > NATIVE_PAGES_MAX).then_some(ConversionReason::Pages)
    }

    /// Its pages; `None`: nobody knows, so it goes to the vendor as it is.
    async fn pages(&self, media: &StoredMedia) -> Option<u32> {
        if let Some(pages) = self.conversions.lock_page_counts().get(&media.blob) {
            return Some(*pages);
        }
        let bytes = self.context.blobs.get(&media.blob).await.ok()?;
        let Ok(DocumentResult::Pdf { pages }) =
            self.context.parts.documents.inspect_document(DocumentRequest::Pdf, bytes).await
        else {
            return None;
        };
        self.conversions.lock_page_counts().insert(media.blob.clone(), pages);
        Some(pages)
    }

    /// What is sent instead; `None`: its bytes are gone, which the dialect says.
    async fn made(&self, media: &StoredMedia, images: bool) -> Option<Arc<ConvertedMedia>> {
        let key = (media.blob.clone(), images);
        if let Some(made) = self.conversions.lock_converted().get(&key) {
            return Some(made.clone());
        }
        let bytes = self.context.blobs.get(&media.blob).await.ok()?;
        let made = match self.convert_document(media, bytes, images).await {
            Ok(made) => made,
            Err(why) => {
                ConvertedMedia { failed: Some(why.to_string()), ..ConvertedMedia::default() }
            }
        };
        let made = Arc::new(made);
        self.conversions.lock_converted().insert(key, made.clone());
        Some(made)
    }

    async fn convert_document(
        &self,
        media: &StoredMedia,
        bytes: Arc<[u8]>,
        images: bool,
    ) -> Result<ConvertedMedia, DocumentError> {
        let documents = &self.context.parts.documents;
        let DocumentResult::Pdf { pages: count } =
            documents.inspect_document(DocumentRequest::Pdf, bytes.clone()).await?
        else {
            return Err(DocumentError::Failed { why: "its reader answered something else".into() });
        };
        let wish = DocumentRequest::Text { bytes_max: TEXT_BYTES_MAX };
        // A file without readable text may still be drawn.
        let (texts, unread, cut) = match documents.inspect_document(wish, bytes.clone()).await {
            Ok(DocumentResult::Text { pages, unread, cut }) => (pages, unread, cut),
            Ok(_) => (Vec::new(), Vec::new(), None),
            Err(why) => (Vec::new(), Vec::new(), Some(format!("its text cannot be read: {why}"))),
        };
        let poor = pages_without_text(&texts, count, cut.is_none());
        let (mut drawn, mut blank) = (Vec::new(), Vec::new());
        if images && !poor.is_empty() {
            let pages = poor.iter().copied().take(PICTURES_MAX).collect();
            let wish = DocumentRequest::Pictures { pages, side_max: PICTURE_SIDE };
            if let Ok(DocumentResult::Pictures { pictures, blank: empty }) =
                documents.inspect_document(wish, bytes).await
            {
                (drawn, blank) = (pictures, empty);
            }
        }
        let shown: Vec<u32> = drawn.iter().map(|picture| picture.page).collect();
        let words = pages_text(&DocumentPages {
            texts: &texts,
            count,
            unread,
            cut,
            poor,
            shown,
            blank,
            images,
        });
        let words = redact_text(&words, &self.context.parts.secrets).into_owned();
        let pictures = drawn.into_iter().map(|picture| encode_picture(media, picture)).collect();
        Ok(ConvertedMedia { words, pages: count, pictures, failed: None })
    }

    /// Whether the whole text stands in a file of the workspace, where the model can read on.
    async fn kept_whole(&self, media: &StoredMedia, path: &str, text: &str) -> bool {
        let name = media.name.as_deref().unwrap_or("document");
        self.context.workspace.mark(&[path.to_owned()], &format!("attachment {name}"));
        let (workspace, path, text) =
            (self.context.workspace.clone(), path.to_owned(), text.to_owned());
        let write = move || {
            // Made again when a run that ended has taken it away.
            workspace.root().join(&path).is_file() || workspace.write_own(&path, &text).is_ok()
        };
        run_blocking(write).await.unwrap_or(false)
    }
}

impl MediaConversions {
    fn forget_all_but(&self, wanted: &[StoredMedia]) {
        let is_wanted = |blob: &BlobId| wanted.iter().any(|media| media.blob == *blob);
        self.lock_converted().retain(|(blob, _), _| is_wanted(blob));
        self.lock_page_counts().retain(|blob, _| is_wanted(blob));
    }

    fn lock_converted(&self) -> MutexGuard<'_, HashMap<(BlobId, bool), Arc<ConvertedMedia>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_page_counts(&self) -> MutexGuard<'_, HashMap<BlobId, u32>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn documents_in(blocks: &[MessageBlock], found: &mut Vec<StoredMedia>) {
    for block in blocks {
        match block {
            MessageBlock::Document { media } => found.push(media.clone()),
            MessageBlock::Result { blocks, .. } => documents_in(blocks, found),
            MessageBlock::Text { .. }
            | MessageBlock::Thinking { .. }
            | MessageBlock::Call(_)
            | MessageBlock::Image { .. } => {}
        }
    }
}

/// The message with other blocks in place of its files; the same one where it has none.
fn rewrite_message(
    message: &Arc<Message>,
    replace: &impl Fn(&StoredMedia) -> Option<Vec<MessageBlock>>,
) -> Arc<Message> {
    let mut found = Vec::new();
    documents_in(&message.blocks, &mut found);
    if found.iter().all(|media| replace(media).is_none()) {
        return message.clone();
    }
    let blocks = replace_blocks(&message.blocks, replace);
    Arc::new(Message { role: message.role, blocks })
}

fn replace_blocks(
    blocks: &[MessageBlock],
    replace: &impl Fn(&StoredMedia) -> Option<Vec<MessageBlock>>,
) -> Vec<MessageBlock> {
    let one = |block: &MessageBlock| match block {
        MessageBlock::Document { media } => replace(media).unwrap_or_else(|| vec![block.clone()]),
        MessageBlock::Result { call, ok, blocks } => {
            vec![MessageBlock::Result {
                call: *call,
                ok: *ok,
                blocks: replace_blocks(blocks, replace),
            }]
        }
        other => vec![other.clone()],
    };
    blocks.iter().flat_map(one).collect()
}

/// What stands for one file in the model's view.
fn converted_blocks(
    media: &StoredMedia,
    because: ConversionReason,
    made: &ConvertedMedia,
    whole: Option<&str>,
) -> Vec<MessageBlock> {
    let name = media.name.as_deref().unwrap_or("document.pdf");
    let bytes = size_text(media.bytes);
    let because = because.reason_sentence();
    if let Some(why) = &made.failed {
        let text = format!(
            "[{name} ({bytes}) is not shown. {because}, and it could not be converted: {why}]"
        );
        return vec![MessageBlock::text(text)];
    }
    let pages = made.pages;
    let mut text = format!(
        "[{name} (PDF, {pages} {}, {bytes}) was converted. {because}: here is its text{}.]\n",
        if pages == 1 { "page" } else { "pages" },
        if made.pictures.is_empty() { "" } else { ", with pictures of pages that have none" },
    );
    let chars = made.words.chars().count();
    if chars <= WORDS_CHARS_MAX {
        text.push_str(&made.words);
        let _ = write!(text, "\n[end of {name}]");
    } else {
        let head = leading_lines(&made.words);
        text.push_str(head);
        let line = head.lines().count() + 1;
        let rest = match whole {
            Some(path) => {
                format!("all of it is in {path}; read_file with offset {line} goes on from here")
            }
            None => "the rest could not be put into a file".into(),
        };
        let _ = write!(text, "\n[the text of {name} has {chars} characters; {rest}]");
    }
    let mut out = vec![MessageBlock::text(text)];
    for (picture, _) in &made.pictures {
        out.push(MessageBlock::text(format!("[{}]", picture.name.as_deref().unwrap_or("page"))));
        out.push(MessageBlock::Image { media: picture.clone() });
    }
    out
}

/// As much of the beginning as has room, up to the end of a line.
fn leading_lines(words: &str) -> &str {
    let end = words.char_indices().nth(WORDS_CHARS_MAX).map_or(words.len(), |(at, _)| at);
    let end = words[..end].rfind('\n').filter(|line| *line > 0).unwrap_or(end);
    &words[..end]
}

/// Pages without text; of those that were not read nothing is known, unless none could be.
fn pages_without_text(texts: &[String], count: u32, all_read: bool) -> Vec<u32> {
    let is_poor = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count() < POOR_CHARS;
    let page = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    if texts.is_empty() || all_read {
        let missing = (texts.len()..count as usize).map(page);
        let found = texts.iter().enumerate().filter(|(_, text)| is_poor(text));
        return found.map(|(at, _)| page(at)).chain(missing).collect();
    }
    let found = texts.iter().enumerate().filter(|(_, text)| is_poor(text));
    found.map(|(at, _)| page(at)).collect()
}

/// What is known of the pages of one file.
struct DocumentPages<'a> {
    texts: &'a [String],
    count: u32,
    unread: Vec<u32>,
    cut: Option<String>,
    poor: Vec<u32>,
    shown: Vec<u32>,
    blank: Vec<u32>,
    images: bool,
}

/// The text by page, with a word about each page that has none.
fn pages_text(pages: &DocumentPages<'_>) -> String {
    let mut out = String::new();
    if let (true, Some(why)) = (pages.texts.is_empty(), &pages.cut) {
        let _ = writeln!(out, "({why})");
    }
    for page in 1..=pages.count {
        let text = pages.texts.get(page as usize - 1);
        if text.is_none() && !pages.poor.contains(&page) {
            let why = pages.cut.as_deref().unwrap_or("they could not be read");
            let _ = writeln!(out, "--- pages {page} to {} are left out: {why} ---", pages.count);
            break;
        }
        let _ = writeln!(out, "--- page {page} ---");
        let text = text.map(|text| text.trim_end()).filter(|text| !text.is_empty());
        if let Some(text) = text {
            let _ = writeln!(out, "{text}");
        }
        if !pages.poor.contains(&page) {
            continue;
        }
        let said = if pages.shown.contains(&page) {
            "(shown as a picture below)"
        } else if pages.blank.contains(&page) {
            "(blank)"
        } else if pages.unread.contains(&page) {
            "(it could not be read: it is damaged, or needs more memory than it gets)"
        } else if !pages.images {
            "(no text: perhaps a scan or a drawing, which this model cannot be shown)"
        } else if pages.poor.iter().position(|poor| *poor == page) >= Some(PICTURES_MAX) {
            "(no text, and not shown: too many pages like it; split the file to see this one)"
        } else {
            "(no text, and it could not be drawn)"
        };
        // A page number alone is worth no remark.
        if text.is_none() || pages.shown.contains(&page) {
            let _ = writeln!(out, "{said}");
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn encode_picture(
    media: &StoredMedia,
    picture: weir_core::document::DocumentImage,
) -> (StoredMedia, Arc<str>) {
    use base64::Engine as _;
    let name = media.name.as_deref().unwrap_or("document.pdf");
    let made = StoredMedia {
        blob: BlobId::new(sha256_hex(&picture.bytes)),
        bytes: picture.bytes.len() as u64,
        media_type: picture.media_type,
        name: Some(format!("page {} of {name}", picture.page)),
    };
    (made, Arc::from(base64::engine::general_purpose::STANDARD.encode(&picture.bytes)))
}

/// A name for a file, of letters, digits and dashes.
fn file_slug(name: &str) -> String {
    let stem = name.strip_suffix(".pdf").unwrap_or(name);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = stem.chars().map(plain).take(40).collect();
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "document".into() } else { slug.into() }
}

#[cfg(test)]
mod tests;
