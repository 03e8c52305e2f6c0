//! How a person signed in at servers: one file each, for their eyes only (Z7). What stands in it is
//! the client's matter.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use weir_mcp::TokenStore;

/// Longest file, in bytes.
const BYTES_MAX: u64 = 256 * 1024;

/// The files.
pub struct TokenFiles {
    folder: PathBuf,
    /// Under which name each server's is kept.
    keys: BTreeMap<String, String>,
}

impl TokenFiles {
    /// Those of the state folder. `keys`: the kept name of each server.
    pub fn new(state: &Path, keys: BTreeMap<String, String>) -> TokenFiles {
        TokenFiles { folder: state.join("mcp-tokens"), keys }
    }

    fn token_file(&self, server: &str) -> Result<PathBuf, String> {
        let key = self.keys.get(server).ok_or_else(|| format!("there is no server {server}"))?;
        Ok(self.folder.join(format!("{key}.json")))
    }
}

#[async_trait]
impl TokenStore for TokenFiles {
    async fn load(&self, server: &str) -> Result<Option<String>, String> {
        let path = self.token_file(server)?;
        let wrong = |why: String| format!("{}: {why}", path.display());
        let found = match std::fs::metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(error.to_string())),
        };
        if found.mode() & 0o077 != 0 {
            return Err(wrong("other users can read it; remove it and sign in again".into()));
        }
        if !found.is_file() || found.len() > BYTES_MAX {
            return Err(wrong("is no file of tokens; remove it and sign in again".into()));
        }
        std::fs::read_to_string(&path).map(Some).map_err(|error| wrong(error.to_string()))
    }

    async fn save(&self, server: &str, text: Option<&str>) -> Result<(), String> {
        let path = self.token_file(server)?;
        let wrong = |why: String| format!("{}: {why}", path.display());
        match text {
            Some(text) => crate::files::replace_file(&path, text.as_bytes(), 0o600)
                .map_err(|error| format!("{error:#}")),
            None => match std::fs::remove_file(&path) {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) => Err(wrong(error.to_string())),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn z7_how_one_signed_in_is_for_ones_own_eyes() {
        let state = tempfile::tempdir().expect("a temporary folder");
        let keys = BTreeMap::from([("a".to_owned(), "a@1".to_owned())]);
        let tokens = TokenFiles::new(state.path(), keys);
        assert_eq!(tokens.load("a").await, Ok(None));
        tokens.save("a", Some("{}")).await.expect("written");
        let path = state.path().join("mcp-tokens/a@1.json");
        assert_eq!(std::fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
        assert_eq!(tokens.load("a").await, Ok(Some("{}".into())));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("ours");
        assert!(tokens.load("a").await.is_err_and(|why| why.contains("other users")));
        tokens.save("a", None).await.expect("gone");
        tokens.save("a", None).await.expect("nothing to do");
        assert!(!path.exists());
        assert!(tokens.load("b").await.is_err(), "nobody else's");
    }
}
