//! Which files foreign words went into, as it counts for whoever works in a folder (Z1): those that are
//! marked there, in the project that a copy was made of, and in a history that other work trees share. Not
//! here: how marks are kept (stores), and what is made of them (`workspace`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join;

use crate::blocking::run_blocking;
use crate::ports::{FileMark, Store, StoreError};
use crate::workspace::mark_sources::MarkSources;

/// What paths of Weir's own files in a project begin with.
const WEIRS: &str = ".weir/";
/// How the history of a repository is called in its own folder.
const HISTORY: &str = ".git";

/// The marks that count in a folder, by path, as it shows them.
///
/// # Errors
/// The store or the disk refuses.
pub async fn marks_in(store: &dyn Store, folder: &str) -> Result<Vec<FileMark>, StoreError> {
    let found = marks_in_each(store, vec![folder.to_owned()], &[]).await?;
    Ok(found.marks)
}

/// Marks of several folders, and where they were kept.
pub(crate) struct FoundMarks {
    /// Each names the folder that it counts in.
    pub(crate) marks: Vec<FileMark>,
    pub(crate) sources: Arc<[MarkSources]>,
}

/// The marks that count in several folders, with one question. Where it is `known` where they were kept a
/// while ago, the store is asked for those while the disk is looked at, and nobody waits for both; only if
/// they are kept elsewhere by now it is asked again. So whoever turns a folder into a work tree of another
/// repository meanwhile hides no mark.
pub(crate) async fn marks_in_each(
    store: &dyn Store,
    folders: Vec<String>,
    known: &[MarkSources],
) -> Result<FoundMarks, StoreError> {
    if known.is_empty() {
        let sources = find_sources(folders).await?;
        let marks = ask_sources(store, &sources).await?;
        return Ok(FoundMarks { marks, sources });
    }
    let (sources, marks) = join(find_sources(folders), ask_sources(store, known)).await;
    let sources = sources?;
    let marks = match *sources == *known {
        true => marks?,
        false => ask_sources(store, &sources).await?,
    };
    Ok(FoundMarks { marks, sources })
}

async fn ask_sources(
    store: &dyn Store,
    sources: &[MarkSources],
) -> Result<Vec<FileMark>, StoreError> {
    let asked: BTreeSet<String> = sources.iter().flat_map(MarkSources::places).collect();
    let marks = store.file_marks_in(&asked.into_iter().collect::<Vec<_>>()).await?;
    Ok(sources.iter().flat_map(|of| of.counting_marks(&marks)).collect())
}

/// Takes the mark of `path` away, as `folder` shows it: a person has read it and vouches for it. A history is
/// vouched for in all work trees that share it. Whether it was marked.
///
/// # Errors
/// The store or the disk refuses.
pub async fn unmark(store: &dyn Store, folder: &str, path: &str) -> Result<bool, StoreError> {
    let sources = find_sources(vec![folder.to_owned()]).await?;
    let mut was = store.unmark_file(folder, path).await?;
    let named = path.trim_end_matches('/');
    let history = sources.iter().find_map(|of| of.history.as_deref());
    let history = history.filter(|history| named == HISTORY || named == *history);
    if let Some((around, name)) = history.and_then(|history| history.rsplit_once('/')) {
        was |= store.unmark_file(around, &format!("{name}/")).await?;
    }
    Ok(was)
}

async fn find_sources(folders: Vec<String>) -> Result<Arc<[MarkSources]>, StoreError> {
    let look = move || folders.into_iter().map(MarkSources::find).collect::<Arc<[_]>>();
    run_blocking(look).await.map_err(|error| StoreError::Io {
        doing: "looking for what shares the history of a folder".to_owned(),
        why: error.to_string(),
    })
}

impl MarkSources {
    /// Those of these marks that count in the folder, as it shows them.
    fn counting_marks(&self, marks: &[FileMark]) -> impl Iterator<Item = FileMark> + use<> {
        let (own, other): (Vec<&FileMark>, Vec<&FileMark>) =
            marks.iter().partition(|mark| mark.workspace == self.folder);
        // What the folder itself says of a file counts.
        let here = other.into_iter().chain(own).filter_map(|mark| {
            let path = self.path_here(mark)?;
            Some(FileMark { workspace: self.folder.clone(), path, ..mark.clone() })
        });
        let by_path: BTreeMap<String, FileMark> =
            here.map(|mark| (mark.path.clone(), mark)).collect();
        by_path.into_values()
    }

    fn path_here(&self, mark: &FileMark) -> Option<String> {
        if mark.workspace == self.folder {
            return Some(mark.path.clone());
        }
        if self.history.as_ref() == Some(&mark.workspace) {
            // An empty path is the folder itself, which is marked with all that lies in it.
            return mark.path.is_empty().then(|| format!("{}/", mark.workspace));
        }
        // What is marked in one copy says nothing of another, and a history is named by where it is.
        let is_of_copy = !mark.path.starts_with(WEIRS) && !self.is_history(mark);
        (self.projects.contains(&mark.workspace) && is_of_copy).then(|| mark.path.clone())
    }

    fn is_history(&self, mark: &FileMark) -> bool {
        let around = self.history.as_ref().and_then(|history| history.rsplit_once('/'));
        around.is_some_and(|(around, name)| {
            mark.workspace == around && mark.path.strip_suffix('/') == Some(name)
        })
    }
}
