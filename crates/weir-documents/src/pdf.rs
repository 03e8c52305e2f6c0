//! PDFs: how many pages, their text, pictures of them. Bounded between pages; within one page only
//! the process around it bounds (see the crate's head).

use std::time::{Duration, Instant};

use hayro::hayro_interpret::{InterpreterCache, InterpreterSettings};
use hayro::hayro_syntax::object::{MaybeRef, Name, Object};
use hayro::hayro_syntax::page::Page;
use hayro::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};
use image::{DynamicImage, RgbImage};
use weir_core::document::{DocumentError, DocumentResult};

use crate::markdown::tidy_text;
use crate::{broken_document, too_large};

mod text;

/// Most pages that a PDF may have: books have a thousand, and each page costs memory to list.
const PAGES_MAX: usize = 5_000;
/// Time for the text of all pages together; what is not read by then is left out.
const TEXT_TIME: Duration = Duration::from_secs(12);
/// Time for pictures of all pages together.
const PICTURES_TIME: Duration = Duration::from_secs(15);
/// What a picture of a page may have in bytes before it is written as JPEG.
const PNG_BYTES_MAX: u64 = 200_000;

/// Deepest part of an object that is looked at for what acts.
const ACTING_DEPTH_MAX: usize = 6;

/// How many pages there are.
pub(crate) fn count_pages(bytes: &[u8]) -> Result<u32, DocumentError> {
    let pdf = open_pdf(bytes)?;
    let count = pdf.pages().len();
    match u32::try_from(count) {
        Ok(0) => Err(broken_document("it has no pages")),
        Ok(pages) if count <= PAGES_MAX => Ok(pages),
        _ => Err(too_large(format!("it has {count} pages, and at most {PAGES_MAX} can be read"))),
    }
}

fn open_pdf(bytes: &[u8]) -> Result<Pdf, DocumentError> {
    Pdf::new(bytes.to_vec()).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => DocumentError::Encrypted,
        LoadPdfError::Decryption(_) => broken_document("its encryption is of no known kind"),
        LoadPdfError::Invalid => broken_document("it is no PDF that can be opened"),
    })
}

/// The text of each page, until `bytes_max`.
pub(crate) fn extract_text(
    bytes: &[u8],
    bytes_max: usize,
) -> Result<DocumentResult, DocumentError> {
    let pdf = open_pdf(bytes)?;
    let mut cache = InterpreterCache::new();
    let (began, mut read) = (Instant::now(), 0);
    let (mut pages, mut unread) = (Vec::new(), Vec::new());
    let mut cut = None;
    for (number, page) in (1..).zip(pdf.pages().iter()) {
        if read >= bytes_max {
            cut = Some(format!("the text is cut after {bytes_max} bytes"));
            break;
        }
        if began.elapsed() > TEXT_TIME {
            cut = Some(format!("reading took more than {} s", TEXT_TIME.as_secs()));
            break;
        }
        // A page that cannot be read has no text, and the others are read all the same.
        let look = || text::page_text(page, &cache);
        let text = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look)).unwrap_or_default();
        if text.is_none() {
            unread.push(number);
            // What a reader left there that gave up is not looked at again.
            cache = InterpreterCache::new();
        }
        let text = text.map(|text| tidy_text(&text)).unwrap_or_default();
        read += text.len();
        pages.push(text);
    }
    Ok(DocumentResult::Text { pages, unread, cut })
}

/// A sentence about scripts, programs and files in a PDF; `None`: it has none.
pub(crate) fn acting_parts(bytes: &[u8]) -> Option<String> {
    let pdf = open_pdf(bytes).ok()?;
    let mut found = Vec::new();
    for object in pdf.objects() {
        find_acting(&object, 0, &mut found);
    }
    (!found.is_empty()).then(|| format!("it has {}, which were left alone", found.join(", ")))
}

/// What `object` holds itself is looked at; what it refers to is an object of its own.
fn find_acting(object: &Object<'_>, depth: usize, found: &mut Vec<&'static str>) {
    if depth > ACTING_DEPTH_MAX {
        return;
    }
    let dictionary = match object {
        Object::Array(items) => {
            for item in items.raw_iter() {
                if let MaybeRef::NotRef(item) = item {
                    find_acting(&item, depth + 1, found);
                }
            }
            return;
        }
        Object::Dict(dictionary) => dictionary,
        Object::Stream(stream) => stream.dict(),
        _ => return,
    };
    let name = |key: &[u8]| dictionary.get::<Name<'_>>(key);
    let (does, kind) = (name(b"S"), name(b"Type"));
    let part = match (does.as_deref().unwrap_or_default(), kind.as_deref().unwrap_or_default()) {
        (b"JavaScript", _) => Some("scripts"),
        (b"Launch", _) => Some("programs to start"),
        (b"GoToR" | b"SubmitForm" | b"ImportData", _) => Some("actions that reach outside"),
        (_, b"EmbeddedFile" | b"Filespec") => Some("embedded files"),
        _ => None,
    };
    found.extend(part.filter(|part| !found.contains(part)));
    for (_, value) in dictionary.entries() {
        if let MaybeRef::NotRef(value) = value {
            find_acting(&value, depth + 1, found);
        }
    }
}

/// Pictures of `wanted` pages.
pub(crate) fn render_pages(
    bytes: &[u8],
    wanted: &[u32],
    side_max: u32,
) -> Result<DocumentResult, DocumentError> {
    let pdf = open_pdf(bytes)?;
    let cache = RenderCache::new();
    let (began, mut pictures, mut blank) = (Instant::now(), Vec::new(), Vec::new());
    for number in wanted {
        if began.elapsed() > PICTURES_TIME {
            break;
        }
        let Some(page) = number.checked_sub(1).and_then(|at| pdf.pages().get(at as usize)) else {
            continue;
        };
        let drawn = || render_page(page, &cache, side_max);
        let drawn = std::panic::catch_unwind(std::panic::AssertUnwindSafe(drawn));
        let Ok(Some(image)) = drawn else { continue };
        let first = image.as_raw().first().copied().unwrap_or(u8::MAX);
        if image.as_raw().iter().all(|value| *value == first) {
            blank.push(*number);
            continue;
        }
        let image = DynamicImage::ImageRgb8(image);
        pictures.push(crate::image::encode_picture(&image, false, PNG_BYTES_MAX, *number)?);
    }
    Ok(DocumentResult::Pictures { pictures, blank })
}

/// `None` for a page without an area.
fn render_page<'a>(page: &'a Page<'a>, cache: &RenderCache<'a>, side_max: u32) -> Option<RgbImage> {
    let (width, height) = page.render_dimensions();
    let longest = width.max(height);
    if !longest.is_finite() || width <= 0.0 || height <= 0.0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a side has a few thousand pixels")]
    let scale = side_max as f32 / longest;
    // A page like a thread would be drawn without a second side.
    if width.min(height) * scale < 1.0 {
        return None;
    }
    let size = PixmapSettings { x_scale: scale, y_scale: scale, bg_color: WHITE };
    let settings = InterpreterSettings::default();
    let pixmap = render(page, cache, &settings, &RenderSettings::default(), &size);
    let (width, height) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
    // On a white ground nothing is transparent.
    let rgb: Vec<u8> = pixmap.data().iter().flat_map(|pixel| [pixel.r, pixel.g, pixel.b]).collect();
    RgbImage::from_raw(width, height, rgb)
}

#[cfg(test)]
pub(crate) mod tests;
