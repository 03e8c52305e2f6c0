//! A picture of an address for a phone's camera: a QR code as SVG, made here, so that no secret goes
//! to another's service.

use maud::{Markup, html};
use qrcodegen::{QrCode, QrCodeEcc};

use crate::problem::{HandlerResult, ProblemDetails};

/// Light modules around the code, as the standard asks.
const MARGIN: i32 = 4;

/// The picture of `text`; `words`: what it is, for whoever does not see it.
pub(crate) fn render_qr_code(text: &str, words: &str) -> HandlerResult<Markup> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium)
        .map_err(|_| ProblemDetails::internal_failure("the text is too long for a QR code"))?;
    let size = code.size();
    let mut path = String::new();
    for y in 0..size {
        for x in 0..size {
            if code.get_module(x, y) {
                path.push_str(&format!("M{},{}h1v1h-1z", x + MARGIN, y + MARGIN));
            }
        }
    }
    let whole = size + 2 * MARGIN;
    Ok(html! {
        svg.qr role="img" aria-label=(words) viewBox={ "0 0 " (whole) " " (whole) }
            width="240" height="240" shape-rendering="crispEdges" {
            rect width=(whole) height=(whole) fill="#fff" {}
            path d=(path) fill="#000" {}
        }
    })
}

/// On what a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureGround {
    /// Light letters on a dark ground: the light modules are drawn.
    Dark,
    /// Dark letters on a light ground: the dark modules are drawn.
    Light,
}

/// The picture of `text` in rows of half blocks, two modules above each other. Cameras want dark modules
/// darker than light ones, so that what is drawn depends on the ground. `None`: the text is too long.
pub fn render_half_blocks(text: &str, ground: PictureGround) -> Option<Vec<String>> {
    let code = QrCode::encode_text(text, QrCodeEcc::Low).ok()?;
    let span = code.size() + MARGIN;
    let is_drawn = |x: i32, y: i32| code.get_module(x, y) == (ground == PictureGround::Light);
    let block = |x: i32, y: i32| match (is_drawn(x, y), is_drawn(x, y + 1)) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    };
    let rows = (-MARGIN..span).step_by(2);
    Some(rows.map(|y| (-MARGIN..span).map(|x| block(x, y)).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r5_the_picture_for_a_terminal_is_square_and_has_its_corners() {
        let address = "https://192.168.7.20:7717/phone#ABCD";
        let rows = render_half_blocks(address, PictureGround::Dark).expect("made");
        let wide = rows[0].chars().count();
        assert!(rows.iter().all(|row| row.chars().count() == wide), "{rows:?}");
        assert_eq!(rows.len(), wide.div_ceil(2));
        // The corner: seven dark modules wide, a light ring within.
        let corner: Vec<String> =
            rows[2..6].iter().map(|row| row.chars().skip(4).take(7).collect()).collect();
        assert_eq!(corner, [" ▄▄▄▄▄ ", " █   █ ", " █▄▄▄█ ", "▄▄▄▄▄▄▄"], "{rows:#?}");
        // On a light ground each half is the other way round, so that the same modules are dark.
        let light = render_half_blocks(address, PictureGround::Light).expect("made");
        let turned = |block: char| match block {
            '█' => ' ',
            '▀' => '▄',
            '▄' => '▀',
            _ => '█',
        };
        let turned: Vec<String> =
            rows.iter().map(|row| row.chars().map(turned).collect()).collect();
        assert_eq!(light[..light.len() - 1], turned[..turned.len() - 1]);
    }

    #[test]
    fn s2_the_picture_has_the_three_corners_of_a_code() {
        let picture = render_qr_code("otpauth://totp/Weir", "Code").expect("made").into_string();
        for corner in ["M4,4h1v1", "M10,10h1v1", "M4,10h1v1"] {
            assert!(picture.contains(corner), "{corner}");
        }
        assert!(picture.contains("aria-label=\"Code\""));
    }
}
