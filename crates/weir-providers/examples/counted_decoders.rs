//! What `cargo xtask instructions` counts of this crate: `counted_decoders N` decodes a stream of every
//! dialect N times. It is not shipped, and it measures no time: the bench `decoders` does.

use std::hint::black_box;
use std::process::ExitCode;

#[path = "../benches/inputs/stream.rs"]
mod stream;

/// Bytes of each stream.
const STREAM_BYTES: usize = 128 << 10;

fn main() -> ExitCode {
    let times = std::env::args().nth(1).and_then(|word| word.parse::<u32>().ok());
    let Some(times) = times else { return ExitCode::FAILURE };
    let streams = stream::DIALECTS.map(|name| (name, stream::long_stream(name, STREAM_BYTES)));
    for _ in 0..times {
        for (name, stream) in &streams {
            black_box(stream::decode(name, stream));
        }
    }
    ExitCode::SUCCESS
}
