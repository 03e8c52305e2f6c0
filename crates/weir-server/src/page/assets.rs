//! Style and scripts, inside the program. Their address has the hash of all of them: a browser
//! keeps them for good, and modules can name each other by relative paths. Not here: what they do, and
//! the route that gives them (`web::assets`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use crate::embedded::embedded_text;

/// Between the names of styles that are loaded as one file.
const JOINS: char = '+';

/// Most styles that are.
const JOINED_MAX: usize = 8;

/// Characters of the hash that stand in an address.
pub(crate) const HASH_CHARACTERS: usize = 12;

/// A file that browsers load.
#[derive(Clone)]
pub(crate) struct AssetFile {
    pub(crate) text: Cow<'static, str>,
    /// SHA-256 of it.
    pub(crate) hash: [u8; 32],
}

macro_rules! asset_files {
    ($($name:literal)*) => {
        /// The name and the text of each file below `web/assets`.
        fn all_files() -> Vec<(&'static str, Cow<'static, str>)> {
            vec![$(($name, embedded_text!("src/web/assets/", $name))),*]
        }
    };
}

asset_files! {
    "app.css"
    "complete.js"
    "composer.js"
    "dialog.js"
    "draft.js"
    "frame.js"
    "goto.js"
    "html.js"
    "icon.svg"
    "outgoing.js"
    "pages/account.css"
    "pages/account.js"
    "pages/act.js"
    "pages/agents.css"
    "pages/agents.js"
    "pages/approvals.js"
    "pages/audit.css"
    "pages/chat.css"
    "pages/chat.js"
    "pages/code.css"
    "pages/files.css"
    "pages/files.js"
    "pages/help.css"
    "pages/notifications.js"
    "pages/phone.js"
    "pages/settings.css"
    "pages/shared.css"
    "pages/usage.css"
    "pages/worker.js"
    "send.js"
    "side.js"
    "socket.js"
    "theme.js"
}

/// The files by their names.
pub(crate) static FILES: LazyLock<BTreeMap<&'static str, AssetFile>> = LazyLock::new(|| {
    let files = all_files().into_iter();
    files
        .map(|(name, text)| {
            let hash = Sha256::digest(text.as_bytes()).into();
            (name, AssetFile { text, hash })
        })
        .collect()
});

/// Names the state of all files together.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut all = Sha256::new();
    for (name, file) in FILES.iter() {
        all.update(name.as_bytes());
        all.update(file.hash);
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

/// Where a page finds these styles as one file: each request more keeps the first paint waiting (Q20).
pub(crate) fn joined_address<'a>(styles: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = styles.into_iter().collect();
    asset_address(&names.join("+"))
}

/// The file that an address names, or the styles that it joins one after the other.
pub(crate) fn find_asset(name: &str) -> Option<Cow<'static, AssetFile>> {
    if let Some(file) = FILES.get(name) {
        return Some(Cow::Borrowed(file));
    }
    let (mut text, mut all, mut count) = (String::new(), Sha256::new(), 0);
    for part in name.split(JOINS) {
        let file = FILES.get(part).filter(|_| part.ends_with(".css") && count < JOINED_MAX)?;
        text.push_str(&file.text);
        text.push('\n');
        all.update(file.hash);
        count += 1;
    }
    Some(Cow::Owned(AssetFile { text: text.into(), hash: all.finalize().into() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::names_in;

    #[test]
    fn q20_styles_are_joined_and_nothing_else_is() {
        let (app, chat) = (&FILES["app.css"].text, &FILES["pages/chat.css"].text);
        let joined = find_asset("app.css+pages/chat.css").expect("both are there");
        assert_eq!(joined.text, format!("{app}\n{chat}\n"));
        let other = find_asset("pages/chat.css+app.css").expect("both are there");
        assert_ne!(joined.hash, other.hash);
        let many = ["app.css"; JOINED_MAX + 1].join("+");
        for name in
            ["", "+", "app.css+", "app.css+frame.js", "frame.js+app.css", "app.css+../x.css", &many]
        {
            assert!(find_asset(name).is_none(), "{name}");
        }
        // An address of one style would mean another folder to a file that it loads from beside itself.
        for (name, file) in FILES.iter().filter(|(name, _)| name.ends_with(".css")) {
            for word in ["url(", "@import", "@charset"] {
                assert!(!file.text.contains(word), "{name} has {word}");
            }
        }
    }

    #[test]
    fn s13_every_file_of_the_browser_is_inside_the_program() {
        let mut there = names_in("src/web/assets");
        there.extend(names_in("src/web/assets/pages").iter().map(|name| format!("pages/{name}")));
        there.sort();
        assert_eq!(FILES.keys().copied().collect::<Vec<_>>(), there);
        assert!(FILES.values().all(|file| !file.text.is_empty()));
    }
}
