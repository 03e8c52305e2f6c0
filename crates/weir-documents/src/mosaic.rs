//! Images as lines of Braille letters, for terminals (K7). Not here: decoding them (`image`).

use image::imageops::FilterType;
use weir_core::document::{DocumentError, DocumentResult};

use crate::image::decode_image;

/// Dots of a letter.
const DOTS_ACROSS: u32 = 2;
const DOTS_DOWN: u32 = 4;
/// The Braille letter without a dot; each dot is a bit on top of it. It is itself written as a space: a blank
/// that is no space may hide something, so faces show it by its number.
const BLANK: u32 = 0x2800;
/// The bit of each dot, by row and column.
const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// The image in at most so many letters, in its own proportions; bright is a dot.
pub(crate) fn draw_mosaic(
    bytes: &[u8],
    columns: u16,
    rows: u16,
) -> Result<DocumentResult, DocumentError> {
    let decoded = decode_image(bytes)?;
    let (width, height) = (decoded.image.width(), decoded.image.height());
    let across = u32::from(columns.max(1)) * DOTS_ACROSS;
    let down = u32::from(rows.max(1)) * DOTS_DOWN;
    let small = match width > across || height > down {
        true => decoded.image.resize(across, down, FilterType::Triangle),
        false => decoded.image,
    };
    // What shines through is dark, as a terminal mostly is.
    let small = small.to_luma_alpha8();
    let (across, down) = (small.width() as usize, small.height() as usize);
    let lights: Vec<i32> = small
        .pixels()
        .map(|pixel| {
            let [light, alpha] = pixel.0;
            i32::from(light) * i32::from(alpha) / 255
        })
        .collect();
    let dots = scatter_light(lights, across);
    let dot = |x: usize, y: usize| x < across && dots.get(y * across + x).copied().unwrap_or(false);
    let lines = (0..down.div_ceil(4)).map(|row| {
        let letters = (0..across.div_ceil(2)).map(|column| {
            let bits = BITS
                .iter()
                .enumerate()
                .flat_map(|(y, bits)| bits.iter().enumerate().map(move |(x, bit)| (x, y, bit)));
            let set = bits.filter(|(x, y, _)| dot(column * 2 + x, row * 4 + y));
            let letter = set.fold(BLANK, |letter, (_, _, bit)| letter | bit);
            if letter == BLANK { ' ' } else { char::from_u32(letter).unwrap_or(' ') }
        });
        letters.collect::<String>()
    });
    let lines = lines.collect();
    Ok(DocumentResult::Mosaic { media_type: decoded.media_type, width, height, lines })
}

/// Which dots shine, so that each region is as bright as it was: what a dot is too bright or too dark by
/// goes to its neighbours (Floyd and Steinberg). Lights are stretched to the whole range before.
fn scatter_light(mut lights: Vec<i32>, across: usize) -> Vec<bool> {
    let least = lights.iter().copied().min().unwrap_or(0);
    let most = lights.iter().copied().max().unwrap_or(0);
    // One colour alone is what it is.
    if most - least >= 32 {
        lights.iter_mut().for_each(|light| *light = (*light - least) * 255 / (most - least));
    }
    let across = across.max(1);
    let mut dots = Vec::with_capacity(lights.len());
    for at in 0..lights.len() {
        let light = lights.get(at).copied().unwrap_or(0);
        let shines = light >= 128;
        dots.push(shines);
        let rest = light - if shines { 255 } else { 0 };
        let column = at % across;
        let mut add = |to: usize, part: i32| {
            if let Some(light) = lights.get_mut(to) {
                *light += rest * part / 16;
            }
        };
        if column + 1 < across {
            add(at + 1, 7);
            add(at + across + 1, 1);
        }
        if column > 0 {
            add(at + across - 1, 3);
        }
        add(at + across, 5);
    }
    dots
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat, Luma, LumaA};

    use super::*;

    fn png(image: &DynamicImage) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).expect("written");
        bytes.into_inner()
    }

    fn lines(image: &DynamicImage, columns: u16, rows: u16) -> Vec<String> {
        match draw_mosaic(&png(image), columns, rows) {
            Ok(DocumentResult::Mosaic { lines, .. }) => lines,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn k7_an_image_is_drawn_with_letters() {
        // Bright above, dark below.
        let half = image::GrayImage::from_fn(8, 8, |_, y| Luma([if y < 4 { 255 } else { 0 }]));
        assert_eq!(lines(&half.into(), 4, 2), ["⣿⣿⣿⣿", "    "]);
        let corner = image::GrayImage::from_fn(3, 5, |x, y| Luma([u8::from(x + y == 0) * 255]));
        assert_eq!(lines(&corner.into(), 9, 9), ["⠁ ", "  "], "small ones stay as they are");
        let clear = image::GrayAlphaImage::from_pixel(4, 4, LumaA([255, 0]));
        assert_eq!(lines(&clear.into(), 9, 9), ["  "], "nothing to see");
        let wide = DynamicImage::new_luma8(4_000, 1_000);
        let wide = lines(&wide, 40, 40);
        assert_eq!((wide.len(), wide[0].chars().count()), (5, 40), "in its own proportions");
        let grey = image::GrayImage::from_pixel(200, 200, Luma([128]));
        let dots: u32 = lines(&grey.into(), 50, 50)
            .iter()
            .flat_map(|line| line.chars().filter(|letter| *letter != ' '))
            .map(|letter| (letter as u32 - BLANK).count_ones())
            .sum();
        assert!((4_500..5_500).contains(&dots), "half of 10,000 shine: {dots}");
    }

    #[test]
    fn k7_what_is_no_image_is_not_drawn() {
        assert!(matches!(draw_mosaic(b"hello", 9, 9), Err(DocumentError::Broken { .. })));
        let cut = &png(&DynamicImage::new_luma8(400, 400))[..60];
        assert!(draw_mosaic(cut, 9, 9).is_err());
    }
}
