//! Style and scripts, inside the program. Their address has the hash of all of them: a browser
//! keeps them for good, and modules can name each other by relative paths. Not here: what they do, and
//! the route that gives them (`web::assets`).

use std::sync::LazyLock;

use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

/// The files below `web/assets`. A debug build reads them from the checkout, so that a change
/// shows without building again.
#[derive(RustEmbed)]
#[folder = "src/web/assets"]
pub(crate) struct AssetFiles;

/// Characters of the hash that stand in an address.
pub(crate) const HASH_CHARACTERS: usize = 12;

/// Names the state of all files together.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut names: Vec<_> = AssetFiles::iter().collect();
    names.sort();
    let mut all = Sha256::new();
    for name in names {
        if let Some(file) = AssetFiles::get(&name) {
            all.update(name.as_bytes());
            all.update(file.metadata.sha256_hash());
        }
    }
    encode_hex(&all.finalize())[..HASH_CHARACTERS].to_string()
});

/// Bytes as text.
pub(crate) fn encode_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Where a page finds the file `name`: `pages/chat.js`.
pub(crate) fn asset_address(name: &str) -> String {
    format!("/assets/{}/{name}", VERSION.as_str())
}
