//! Images that the tests make themselves.

use super::*;

/// A PNG with a gradient.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    write(&gradient(width, height), ImageFormat::Png)
}

fn gradient(width: u32, height: u32) -> DynamicImage {
    let value = |at: u32, of: u32| u8::try_from(at * 255 / of.max(1)).unwrap_or(u8::MAX);
    DynamicImage::ImageRgb8(image::RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([value(x, width), value(y, height), 90])
    }))
}

/// Pixels that no compression makes smaller.
fn noise(width: u32, height: u32) -> DynamicImage {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(state >> 24).unwrap_or_default()
    };
    DynamicImage::ImageRgb8(image::RgbImage::from_fn(width, height, |_, _| {
        image::Rgb([next(), next(), next()])
    }))
}

fn write(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("written");
    bytes.into_inner()
}

fn seen(bytes: &[u8], side_max: u32, bytes_max: u64) -> (String, u32, u32, Option<DocumentImage>) {
    match inspect_image(bytes, side_max, bytes_max) {
        Ok(DocumentResult::Image { media_type, width, height, smaller }) => {
            (media_type, width, height, smaller)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn x5_images_are_known_by_their_content() {
    for (format, name) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = write(&gradient(40, 30), format);
        assert_eq!(seen(&bytes, 100, 1 << 20), (name.to_owned(), 40, 30, None));
        let (.., smaller) = seen(&bytes, 20, 1 << 20);
        let smaller = smaller.expect("a copy");
        assert_eq!((smaller.width, smaller.height, smaller.page), (20, 15, 0));
        let again = image::load_from_memory(&smaller.bytes).expect("an image");
        assert_eq!((again.width(), again.height()), (20, 15));
        let is_jpeg = format == ImageFormat::Jpeg;
        assert_eq!(smaller.media_type == "image/jpeg", is_jpeg, "photographs stay photographs");
    }
    for other in [&b""[..], b"text", b"%PDF-1.7", b"BM\0\0\0\0", b"\x89PNG\r\n\x1a\nrest"] {
        assert!(
            matches!(inspect_image(other, 100, 100), Err(DocumentError::Broken { .. })),
            "{other:?}"
        );
    }
}

#[test]
fn x5_a_copy_keeps_to_the_bytes_too() {
    let bytes = write(&noise(400, 400), ImageFormat::Png);
    let max = 60_000;
    assert!(bytes.len() as u64 > max);
    let (_, width, height, smaller) = seen(&bytes, 2000, max);
    assert_eq!((width, height), (400, 400));
    let smaller = smaller.expect("a copy");
    assert!(smaller.bytes.len() as u64 <= max, "{}", smaller.bytes.len());
    assert_eq!(smaller.media_type, "image/jpeg", "PNG would be too large");
    assert!(matches!(inspect_image(&bytes, 2000, 10), Err(DocumentError::TooLarge { .. })));
}

#[test]
fn x5_what_is_transparent_turns_white_in_a_photograph() {
    let clear =
        DynamicImage::ImageRgba8(image::RgbaImage::from_pixel(8, 8, image::Rgba([0, 0, 0, 0])));
    assert_eq!(on_white(&clear).get_pixel(3, 3).0, [255, 255, 255]);
    let solid = DynamicImage::ImageRgba8(image::RgbaImage::from_pixel(
        8,
        8,
        image::Rgba([10, 20, 30, 255]),
    ));
    assert_eq!(on_white(&solid).get_pixel(3, 3).0, [10, 20, 30]);
}

/// 20,000 × 20,000 pixels in a hundred bytes.
pub(crate) fn bomb() -> Vec<u8> {
    let mut bytes = png(4, 4);
    for at in [16, 20] {
        bytes[at..at + 4].copy_from_slice(&20_000_u32.to_be_bytes());
    }
    // The checksum of the header, which covers its name too.
    let mut crc = u32::MAX;
    for byte in &bytes[12..29] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    bytes[29..33].copy_from_slice(&(!crc).to_be_bytes());
    bytes
}

#[test]
fn x5_pixel_bombs_and_cut_files_are_refused() {
    match inspect_image(&bomb(), 2000, 1 << 20) {
        Err(DocumentError::TooLarge { why }) => assert!(why.contains("20000 × 20000"), "{why}"),
        other => panic!("{other:?}"),
    }
    let whole = write(&noise(100, 100), ImageFormat::Png);
    let cut = &whole[..whole.len() / 2];
    assert!(matches!(inspect_image(cut, 50, 1 << 20), Err(DocumentError::Broken { .. })));
}
