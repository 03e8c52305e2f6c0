//! A port for a program that cannot take any free one by itself. Not here: servers of a test's own
//! process, which bind port 0.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many were asked for in this process: each is another one.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// A port of this machine at which nobody listens. Below those that the system gives out by itself,
/// and from another place on for each test program: nobody takes it before the program does.
///
/// # Panics
/// None is free.
pub fn free_port() -> u16 {
    const FIRST: u32 = 15_000;
    const COUNT: u32 = 15_000;
    let asked = ASKED.fetch_add(1, Ordering::Relaxed);
    let from = std::process::id().wrapping_mul(37).wrapping_add(asked);
    let ports = (0..COUNT).map(|n| FIRST + from.wrapping_add(n) % COUNT);
    let mut ports = ports.filter_map(|port| u16::try_from(port).ok());
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}
