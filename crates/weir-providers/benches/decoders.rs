//! How fast streams are decoded (Q9): bytes per second over the wire cases' own events, repeated.

use divan::Bencher;
use divan::counter::BytesCount;

#[path = "inputs/stream.rs"]
mod inputs;

use inputs::{DIALECTS, long_stream};

/// Bytes of one run.
const STREAM_BYTES: usize = 4 << 20;

fn main() {
    divan::main();
}

#[divan::bench(args = DIALECTS)]
fn decode(bencher: Bencher<'_, '_>, name: &str) {
    let stream = long_stream(name, STREAM_BYTES);
    bencher.counter(BytesCount::new(stream.len())).bench_local(|| inputs::decode(name, &stream));
}
