//! The body of an upload: a form with one file. Pure. Not here: how it is sent (`http`).

use std::sync::Arc;

/// The body of a form with one file.
pub(super) fn multipart_form_body(boundary: &str, name: &str, bytes: &Arc<[u8]>) -> Vec<u8> {
    let plain = |c: char| if c.is_control() || "\"\\".contains(c) { '_' } else { c };
    let name: String = name.chars().map(plain).collect();
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    [head.as_bytes(), bytes, format!("\r\n--{boundary}--\r\n").as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_attach_a_name_of_a_file_stays_a_name_in_a_form() {
        let bytes: Arc<[u8]> = Arc::from(*b"\0\xff");
        let form = multipart_form_body("B", "a\"\r\nX: y\\.png", &bytes);
        let text = String::from_utf8_lossy(&form);
        assert!(text.contains("filename=\"a___X: y_.png\"\r\n"), "{text}");
        assert!(form.ends_with(b"\r\n\r\n\0\xff\r\n--B--\r\n"));
    }
}
