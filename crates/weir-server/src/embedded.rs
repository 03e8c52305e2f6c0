//! Files of the checkout that are inside the program. Not here: which ones (`page::assets`, `web::pages::help`).

/// The text of a file, by the parts of its path from this crate's folder: inside the program.
#[cfg(not(debug_assertions))]
macro_rules! embedded_text {
    ($($part:literal),+) => {
        std::borrow::Cow::Borrowed(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/",
            $($part),+
        )))
    };
}

/// The same as it is in the checkout, so that a change shows, and is tested, without building again.
#[cfg(debug_assertions)]
macro_rules! embedded_text {
    ($($part:literal),+) => {
        std::borrow::Cow::Owned(
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/", $($part),+))
                .unwrap_or_default(),
        )
    };
}

pub(crate) use embedded_text;

/// The names of files in a folder, by its path from this crate's.
#[cfg(test)]
pub(crate) fn names_in(folder: &str) -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.filter(|path| path.is_file());
    files.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
}
