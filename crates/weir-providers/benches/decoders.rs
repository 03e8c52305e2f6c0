//! How fast streams are decoded (Q9): bytes per second over the wire cases' own events, repeated.

use divan::Bencher;
use divan::counter::BytesCount;

use weir_providers::dialect::VendorQuirks;

/// Bytes of one run.
const STREAM_BYTES: usize = 4 << 20;
/// Bytes of one network read.
const CHUNK_BYTES: usize = 16 << 10;

fn main() {
    divan::main();
}

/// A stream of [`STREAM_BYTES`] in which the text deltas of the case `text` are repeated.
fn long_stream(dialect: &str) -> Vec<u8> {
    let path = format!("{}/tests/wire/{dialect}/text/stream.sse", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the wire case is there").replace("\r\n", "\n");
    let events: Vec<&str> = text.split_inclusive("\n\n").collect();
    let first = events.iter().position(|event| event.contains("Hello")).expect("a first delta");
    let deltas = events[first..first + 3].concat();
    let mut out = events[..first].concat();
    while out.len() < STREAM_BYTES {
        out.push_str(&deltas);
    }
    out.push_str(&events[first + 3..].concat());
    out.into_bytes()
}

#[divan::bench(args = ["anthropic", "openai-chat", "openai-responses", "gemini"])]
fn decode(bencher: Bencher<'_, '_>, name: &str) {
    let dialect = weir_providers::find_dialect(name).expect("a known dialect");
    let stream = long_stream(name);
    bencher.counter(BytesCount::new(stream.len())).bench_local(|| {
        let mut decoder = dialect.new_decoder(&VendorQuirks::default());
        let mut shown = 0;
        for chunk in stream.chunks(CHUNK_BYTES) {
            decoder.feed(chunk, &mut |_| shown += 1);
        }
        (decoder.finish(), shown)
    });
}
