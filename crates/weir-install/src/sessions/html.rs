//! A session as one HTML page that needs nothing else and runs nothing: everything that was
//! written by others is escaped, and the page forbids scripts and the network to itself.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_core::governance::filter::one_line;
use weir_core::ids::BlobId;

use super::markdown::{SessionBlobs, is_picture, media_type};
use super::transcript::{TranscriptItem, TranscriptPart};
use crate::wording::timestamp_text;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" \
content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

const STYLE: &str = "<style>\n\
:root { color-scheme: light dark }\n\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }\n\
h2 { font-size: 1rem; margin: 1.5rem 0 .3rem }\n\
h2 small { font-weight: normal; opacity: .6 }\n\
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .5rem .8rem; \
background: rgb(128 128 128 / .15); border-radius: .3rem }\n\
.text { white-space: pre-wrap; overflow-wrap: anywhere }\n\
img { max-width: 100% }\n\
</style>\n";

/// The whole page.
pub(super) fn render_html_page(
    title: &str,
    about: &str,
    entries: &[TranscriptItem],
    kept: &SessionBlobs,
) -> String {
    let title = escape_html(&one_line(title));
    let mut page = String::from(HEAD);
    let _ = write!(page, "<title>{title}</title>\n{STYLE}</head>\n<body>\n<h1>{title}</h1>\n");
    let _ = writeln!(page, "<pre>{}</pre>", escape_html(about));
    for entry in entries {
        let heading = escape_html(&one_line(&entry.heading));
        let head = format!(
            "<h2 id=\"f{0}\">{0}. {heading} <small>{1} {2}</small></h2>",
            entry.seq,
            entry.kind,
            timestamp_text(entry.ts)
        );
        if entry.is_told {
            page.push_str(&head);
            page.push('\n');
            push_entry_parts(&mut page, entries, entry, kept);
        } else {
            // What the machine noted is there, folded away.
            let _ = writeln!(page, "<details><summary>{}. {heading}</summary>", entry.seq);
            push_entry_parts(&mut page, entries, entry, kept);
            page.push_str("</details>\n");
        }
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn push_entry_parts(
    page: &mut String,
    entries: &[TranscriptItem],
    entry: &TranscriptItem,
    kept: &SessionBlobs,
) {
    for part in &entry.parts {
        let _ = match part {
            TranscriptPart::Text(text) if text.trim().is_empty() => Ok(()),
            TranscriptPart::Text(text) => {
                writeln!(page, "<div class=\"text\">{}</div>", escape_html(text))
            }
            TranscriptPart::Exact(what, text) => {
                writeln!(page, "<pre class=\"{what}\">{}</pre>", escape_html(text))
            }
            TranscriptPart::Media(media) => {
                let name = media.name.as_deref().unwrap_or(&media.media_type);
                push_blob_html(page, entries, kept, &media.blob, name);
                Ok(())
            }
            TranscriptPart::Full(id) => {
                push_blob_html(page, entries, kept, id, "the full result");
                Ok(())
            }
        };
    }
}

fn push_blob_html(
    page: &mut String,
    entries: &[TranscriptItem],
    kept: &SessionBlobs,
    id: &BlobId,
    name: &str,
) {
    let name = escape_html(&one_line(name));
    let Some(bytes) = kept.get(id) else {
        let _ = writeln!(page, "<p>{name}: its data is not in this store</p>");
        return;
    };
    let media = media_type(entries, id);
    let data = STANDARD.encode(bytes);
    let _ = if is_picture(media) {
        writeln!(page, "<p><img alt=\"{name}\" src=\"data:{media};base64,{data}\"></p>")
    } else {
        // Nothing but a picture is shown by the page itself.
        writeln!(
            page,
            "<p><a download=\"{id}\" href=\"data:application/octet-stream;base64,{data}\">{name}\
             </a></p>"
        )
    };
}

fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // NUL and most control characters may not stand in a page.
            '\t' | '\n' => out.push(c),
            c if c.is_control() => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
