//! The streams that are decoded: the wire cases' own events, repeated. The same bytes for the bench and for
//! the example whose instructions are counted.

use weir_providers::dialect::VendorQuirks;

/// Bytes of one network read.
const CHUNK_BYTES: usize = 16 << 10;
/// Every dialect.
pub(crate) const DIALECTS: [&str; 4] = ["anthropic", "openai-chat", "openai-responses", "gemini"];

/// A stream of at least so many bytes, in which the text deltas of the case `text` are repeated.
pub(crate) fn long_stream(dialect: &str, bytes: usize) -> Vec<u8> {
    let path = format!("{}/tests/wire/{dialect}/text/stream.sse", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the wire case is there").replace("\r\n", "\n");
    let events: Vec<&str> = text.split_inclusive("\n\n").collect();
    let first = events.iter().position(|event| event.contains("Hello")).expect("a first delta");
    let deltas = events[first..first + 3].concat();
    let mut out = events[..first].concat();
    while out.len() < bytes {
        out.push_str(&deltas);
    }
    out.push_str(&events[first + 3..].concat());
    out.into_bytes()
}

/// Decodes it, read by read; how often something was shown.
pub(crate) fn decode(dialect: &str, stream: &[u8]) -> usize {
    let dialect = weir_providers::find_dialect(dialect).expect("a known dialect");
    let mut decoder = dialect.new_decoder(&VendorQuirks::default());
    let mut shown = 0;
    for chunk in stream.chunks(CHUNK_BYTES) {
        decoder.feed(chunk, &mut |_| shown += 1);
    }
    std::hint::black_box(decoder.finish());
    shown
}
