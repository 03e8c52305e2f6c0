//! What it means which folders a client has open (its roots): they can keep calls from happening, and never open
//! anything. A client says of itself what it likes, so this is no lock against it: it keeps a program that works
//! in one folder from changing another by mistake. Not here: which folder is served.

use std::path::{Path, PathBuf};

use url::Url;
use weir_core::view::told::one_line;
use weir_engine::blocking::run_blocking;
use weir_mcp_server::FoldersAnswer;

/// That a client has the folder open that its calls work in.
///
/// # Errors
/// It has not, or it cannot be told: a sentence for the client.
pub(super) async fn check_folders(root: &Path, answer: FoldersAnswer) -> Result<(), String> {
    let open = match answer {
        FoldersAnswer::NotSaid => return Ok(()),
        FoldersAnswer::Failed(why) => {
            return Err(format!(
                "Not done: which folders your program has open could not be found out ({}), and Weir was told \
                 to follow them (mcp_server.roots).",
                one_line(&why)
            ));
        }
        FoldersAnswer::Open(open) => open,
    };
    let folders: Vec<PathBuf> = open.iter().filter_map(|uri| local_folder(uri)).collect();
    if folders.iter().any(|folder| root.starts_with(folder)) {
        return Ok(());
    }
    // A folder may be named by a link to it.
    let own = root.to_path_buf();
    let leads_here = move || {
        let real = |folder: &PathBuf| std::fs::canonicalize(folder);
        folders.iter().any(|folder| real(folder).is_ok_and(|real| own.starts_with(real)))
    };
    if run_blocking(leads_here).await.unwrap_or(false) {
        return Ok(());
    }
    Err(format!(
        "Not done: Weir works in {} here, and that is not in the folders that your program has open. Open it \
         there, or have the person start `weir mcp -C` with the folder that is.",
        one_line(&root.display().to_string())
    ))
}

/// The folder at an address, if it is one of this machine.
fn local_folder(uri: &str) -> Option<PathBuf> {
    // By the standard of addresses, `file:` alone would be the whole machine.
    let is_whole = uri.get(..7).is_some_and(|begin| begin.eq_ignore_ascii_case("file://"));
    Url::parse(uri).ok().filter(|_| is_whole)?.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use weir_test_kit::TestFolder;

    use super::*;

    async fn is_open(root: &str, uris: &[&str]) -> bool {
        let open = uris.iter().map(|uri| (*uri).to_owned()).collect();
        check_folders(Path::new(root), FoldersAnswer::Open(open)).await.is_ok()
    }

    #[tokio::test]
    async fn r2_roots_only_keep_calls_from_happening() {
        for uris in [
            &["file:///srv/site"][..],
            &["file:///srv/site/"],
            &["file:///srv"],
            &["file:///other", "file:///srv/x/../site"],
            &["file:///srv/s%69te"],
        ] {
            assert!(is_open("/srv/site", uris).await, "{uris:?}");
        }
        for uris in [
            &[][..],
            &["file:///srv/site/src"],
            &["file:///srv/sit"],
            &["file:///srv/site2"],
            &["file://elsewhere/srv/site"],
            &["https://a.example/srv/site"],
            &["/srv/site"],
            &["file:///srv/site%00"],
            &["file:srv%2Fsite", "", "file:", "file:/srv"],
        ] {
            assert!(!is_open("/srv/site", uris).await, "{uris:?}");
        }
        let root = Path::new("/srv/site");
        assert!(check_folders(root, FoldersAnswer::NotSaid).await.is_ok());
        let failed = FoldersAnswer::Failed("no".into());
        assert!(check_folders(root, failed).await.is_err(), "who does not say it gets nothing");
    }

    #[tokio::test]
    async fn r2_a_root_may_be_a_link_to_the_folder() {
        let folder = TestFolder::with_files(&[("work/a.txt", "x")]);
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(at("work"), at("link")).expect("a link");
        let root = std::fs::canonicalize(at("work")).expect("it is there");
        let link = Url::from_file_path(at("link")).expect("an address").to_string();
        assert!(check_folders(&root, FoldersAnswer::Open(vec![link])).await.is_ok());
    }
}
