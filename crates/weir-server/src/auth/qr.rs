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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_the_picture_has_the_three_corners_of_a_code() {
        let picture = render_qr_code("otpauth://totp/Weir", "Code").expect("made").into_string();
        for corner in ["M4,4h1v1", "M10,10h1v1", "M4,10h1v1"] {
            assert!(picture.contains(corner), "{corner}");
        }
        assert!(picture.contains("aria-label=\"Code\""));
    }
}
