//! Pictures that a model made: in a run whose answer is text on a terminal or in a pipe each becomes a
//! file beside the person, and it is said where. Not here: what the model made for a program, which
//! has the blob's name in the event.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use weir_core::event::{Event, ImageProduced};
use weir_install::context::InstallationContext;

use crate::options::OutputFormat;
use crate::terminal;

/// Numbers that are tried for the name of a file.
const NUMBERS_MAX: u32 = 10_000;

/// Saves the picture of a fact, where it has one and a person reads the answer.
pub(super) async fn save_picture_of_fact(
    cx: &InstallationContext,
    output: OutputFormat,
    event: &Event,
) {
    let Event::ImageProduced(made) = event else { return };
    if output != OutputFormat::Text {
        return;
    }
    match save_picture(cx, made).await {
        Ok(path) => terminal::err_message(&format!("picture: {}", path.display())),
        Err(why) => terminal::err_message(&format!(
            "the picture could not be saved as a file ({why}); it is in `weir sessions export`"
        )),
    }
}

async fn save_picture(cx: &InstallationContext, made: &ImageProduced) -> anyhow::Result<PathBuf> {
    let bytes = cx.session_store()?.read_blob(&made.blob).await?;
    Ok(write_picture_file(&cx.folder, picture_file_extension(&made.media_type), &bytes)?)
}

/// What its name ends with; what is no known kind of picture is named as bytes alone.
fn picture_file_extension(media_type: &str) -> &'static str {
    match media_type {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        _ => "bin",
    }
}

/// Writes to the first free name: nothing is replaced, and no link is followed.
fn write_picture_file(folder: &Path, ending: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
    for number in 1..=NUMBERS_MAX {
        let path = folder.join(format!("weir-picture-{number}.{ending}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("every name is taken"))
}

#[cfg(test)]
mod tests {
    use super::{picture_file_extension, write_picture_file};

    #[test]
    fn v2_a_picture_takes_the_first_free_name_and_replaces_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("weir-picture-1.png"), "mine").expect("written");
        std::os::unix::fs::symlink(at("elsewhere"), at("weir-picture-2.png")).expect("linked");
        let path = write_picture_file(folder.path(), picture_file_extension("image/png"), b"new")
            .expect("saved");
        assert_eq!(path, at("weir-picture-3.png"));
        assert_eq!(std::fs::read(&path).expect("there"), b"new");
        assert_eq!(std::fs::read(at("weir-picture-1.png")).expect("there"), b"mine");
        assert!(!at("elsewhere").exists());
        assert_eq!(
            picture_file_extension("image/svg+xml"),
            "bin",
            "it may run a script where it is opened"
        );
    }
}
