//! Images: what they are by their header, and smaller copies. Not here: which bounds hold.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{
    DynamicImage, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageReader, Limits,
};
use weir_core::document::{DocumentError, DocumentImage, DocumentResult};

use crate::{broken_document, too_large};

/// Most pixels that are decoded: cameras of phones make 50 million; as RGBA that is 200 MB.
const PIXELS_MAX: u64 = 50_000_000;
/// Memory that one decoder may ask for, in bytes: [`PIXELS_MAX`] at four bytes, and some.
const DECODER_BYTES_MAX: u64 = 256 << 20;
/// Quality of JPEG copies: above it files grow faster than what models read from them.
const JPEG_QUALITY: u8 = 85;
/// Smallest side that a copy is brought down to, in pixels.
const SIDE_MIN: u32 = 64;

/// What image `bytes` are, and a smaller copy where they are beyond the bounds.
pub(crate) fn inspect_image(
    bytes: &[u8],
    side_max: u32,
    bytes_max: u64,
) -> Result<DocumentResult, DocumentError> {
    let ImageHead { format, width, height } = read_head(bytes)?;
    let within = width.max(height) <= side_max && bytes.len() as u64 <= bytes_max;
    let smaller = match within {
        true => None,
        false => {
            Some(shrink_image(bytes, format, width, height, CopyLimits { side_max, bytes_max })?)
        }
    };
    let media_type = media_type(format).unwrap_or_default().to_owned();
    Ok(DocumentResult::Image { media_type, width, height, smaller })
}

/// What the header of an image says.
struct ImageHead {
    format: ImageFormat,
    width: u32,
    height: u32,
}

fn read_head(bytes: &[u8]) -> Result<ImageHead, DocumentError> {
    let format = image::guess_format(bytes)
        .ok()
        .filter(|format| media_type(*format).is_some())
        .ok_or_else(|| broken_document("it is no PNG, JPEG, GIF or WebP"))?;
    let reader = ImageReader::with_format(Cursor::new(bytes), format);
    let (width, height) = reader.into_dimensions().map_err(|error| unread_from_error(&error))?;
    if width == 0 || height == 0 {
        return Err(broken_document("it has no pixels"));
    }
    Ok(ImageHead { format, width, height })
}

/// An image that was decoded.
pub(crate) struct DecodedImage {
    pub(crate) media_type: String,
    /// Its first frame, turned as its camera says.
    pub(crate) image: DynamicImage,
}

/// Decodes an image of at most [`PIXELS_MAX`].
pub(crate) fn decode_image(bytes: &[u8]) -> Result<DecodedImage, DocumentError> {
    let ImageHead { format, width, height } = read_head(bytes)?;
    check_pixels(width, height)?;
    let image = decode_first_frame(bytes, format).map_err(|error| unread_from_error(&error))?;
    Ok(DecodedImage { media_type: media_type(format).unwrap_or_default().to_owned(), image })
}

fn check_pixels(width: u32, height: u32) -> Result<(), DocumentError> {
    if u64::from(width) * u64::from(height) <= PIXELS_MAX {
        return Ok(());
    }
    Err(too_large(format!(
        "it has {width} × {height} pixels, and at most {} million can be read",
        PIXELS_MAX / 1_000_000
    )))
}

/// A picture for a document: as it is where every reader of documents knows its format and it is no
/// larger than `side_max` and `bytes_max`, else a copy that is.
pub(crate) fn prepare_picture(
    bytes: &[u8],
    side_max: u32,
    bytes_max: u64,
) -> Result<DocumentImage, DocumentError> {
    let seen = inspect_image(bytes, side_max, bytes_max)?;
    let DocumentResult::Image { media_type, width, height, smaller } = seen else {
        return Err(broken_document("it is no image"));
    };
    if let Some(smaller) = smaller {
        return Ok(smaller);
    }
    if media_type == "image/webp" {
        let image = decode_first_frame(bytes, ImageFormat::WebP);
        let image = image.map_err(|error| unread_from_error(&error))?;
        return encode_picture(&image, false, bytes_max, 0);
    }
    Ok(DocumentImage { page: 0, media_type, width, height, bytes: bytes.to_vec() })
}

fn media_type(format: ImageFormat) -> Option<&'static str> {
    match format {
        ImageFormat::Png => Some("image/png"),
        ImageFormat::Jpeg => Some("image/jpeg"),
        ImageFormat::Gif => Some("image/gif"),
        ImageFormat::WebP => Some("image/webp"),
        _ => None,
    }
}

/// How large a copy may be.
#[derive(Clone, Copy)]
struct CopyLimits {
    side_max: u32,
    bytes_max: u64,
}

fn shrink_image(
    bytes: &[u8],
    format: ImageFormat,
    width: u32,
    height: u32,
    limits: CopyLimits,
) -> Result<DocumentImage, DocumentError> {
    let CopyLimits { side_max, bytes_max } = limits;
    check_pixels(width, height)?;
    let image = decode_first_frame(bytes, format).map_err(|error| unread_from_error(&error))?;
    let mut side = side_max.min(image.width().max(image.height()));
    loop {
        // A box filter: made for shrinking, and fast.
        let copy = match side < image.width().max(image.height()) {
            true => image.thumbnail(side, side),
            false => image.clone(),
        };
        let picture = encode_picture(&copy, format == ImageFormat::Jpeg, bytes_max, 0)?;
        if picture.bytes.len() as u64 <= bytes_max {
            return Ok(picture);
        }
        side = side / 4 * 3;
        if side < SIDE_MIN {
            return Err(too_large(format!("no copy of it is smaller than {bytes_max} bytes")));
        }
    }
}

/// The first frame, turned as its camera says.
fn decode_first_frame(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, ImageError> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

/// A photograph as JPEG; what has sharp lines or transparency as PNG while that is small enough.
pub(crate) fn encode_picture(
    image: &DynamicImage,
    photograph: bool,
    bytes_max: u64,
    page: u32,
) -> Result<DocumentImage, DocumentError> {
    let (width, height) = (image.width(), image.height());
    let picture = |media_type: &str, bytes| DocumentImage {
        page,
        media_type: media_type.to_owned(),
        width,
        height,
        bytes,
    };
    if !photograph {
        let mut bytes = Vec::new();
        let flat = DynamicImage::ImageRgba8(image.to_rgba8());
        PngEncoder::new(&mut bytes)
            .write_image(flat.as_bytes(), width, height, flat.color().into())
            .map_err(|error| unread_from_error(&error))?;
        if bytes.len() as u64 <= bytes_max {
            return Ok(picture("image/png", bytes));
        }
    }
    let mut bytes = Vec::new();
    let flat = on_white(image);
    JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY)
        .encode(flat.as_raw(), width, height, image::ExtendedColorType::Rgb8)
        .map_err(|error| unread_from_error(&error))?;
    Ok(picture("image/jpeg", bytes))
}

/// What is transparent would turn black.
fn on_white(image: &DynamicImage) -> image::RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let rgba = image.to_rgba8();
    let mut flat = image::RgbImage::new(rgba.width(), rgba.height());
    for (to, from) in flat.pixels_mut().zip(rgba.pixels()) {
        let alpha = u16::from(from[3]);
        for channel in 0..3 {
            let mixed = (u16::from(from[channel]) * alpha + 255 * (255 - alpha)) / 255;
            to[channel] = u8::try_from(mixed).unwrap_or(u8::MAX);
        }
    }
    flat
}

fn unread_from_error(error: &ImageError) -> DocumentError {
    match error {
        ImageError::Limits(_) => too_large(format!(
            "its pixels need more than the {} MB that are given for them",
            DECODER_BYTES_MAX >> 20
        )),
        other => broken_document(other),
    }
}

#[cfg(test)]
pub(crate) mod tests;
