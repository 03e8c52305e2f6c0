//! A snapshot belongs to the program of exactly these sources. What it holds is in `random_sessions`,
//! and in the unit tests of the fold.

use std::path::Path;

use weir_core::session::SNAPSHOT_FORMAT;

#[path = "../../sources.rs"]
mod sources;

#[test]
fn q10_the_format_of_a_snapshot_is_the_version_and_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources::read_sources(&folder).expect("readable");
    assert!(files.iter().any(|(name, _)| name == "session/apply.rs"), "folders count too");
    let number = sources::source_number(&files);
    let format = format!("{}+{number:016x}", env!("CARGO_PKG_VERSION"));
    assert_eq!(SNAPSHOT_FORMAT, format);
    // A field more, a rule of the fold less, a file that has another name: another format each time.
    for at in (0..files.len()).step_by(29) {
        let mut more = files.clone();
        more[at].1.push(b' ');
        assert_ne!(sources::source_number(&more), number, "{}", files[at].0);
        let mut renamed = files.clone();
        renamed[at].0.push('x');
        assert_ne!(sources::source_number(&renamed), number, "{}", files[at].0);
    }
}
