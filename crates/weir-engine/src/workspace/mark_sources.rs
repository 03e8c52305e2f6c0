//! Where marks of files are kept that count in a folder (Z1): in the folder itself, in the project that it is a
//! copy of, and at the history that it shares with other work trees. A workspace keeps them for its session.
//! Looks at the disk. Not here: what is marked there, and what a mark means.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::Workspace;
use super::histories::history_around;

/// What lies between the path of a project and the name of a copy of it.
const COPIES: &str = "/.weir/worktrees/";

/// Where marks are kept that count in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MarkSources {
    pub(crate) folder: String,
    /// What it is a copy of that a session works in: what is marked there is marked in the copy too.
    pub(crate) projects: Vec<String>,
    /// The folder by which its history is marked, where that lies elsewhere.
    pub(crate) history: Option<String>,
}

impl MarkSources {
    /// Blocks.
    pub(crate) fn find(folder: String) -> MarkSources {
        let mut projects = Vec::new();
        let mut of = folder.as_str();
        while let Some((project, _)) = of.rsplit_once(COPIES) {
            projects.push(project.to_owned());
            of = project;
        }
        let inside = format!("{}/", folder.trim_end_matches('/'));
        let history = history_around(Path::new(&folder));
        let history = history.filter(|history| !history.starts_with(&inside));
        MarkSources { folder, projects, history }
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = String> {
        let beside = self.projects.iter().chain(&self.history);
        std::iter::once(&self.folder).chain(beside).cloned()
    }
}

impl Workspace {
    /// Where the marks of its folders were kept when somebody looked last; empty: nobody did.
    pub(crate) fn known_mark_sources(&self) -> Arc<[MarkSources]> {
        self.mark_sources.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes where they are kept, for the next who looks.
    pub(crate) fn keep_mark_sources(&self, sources: Arc<[MarkSources]>) {
        *self.mark_sources.write().unwrap_or_else(PoisonError::into_inner) = sources;
    }

    /// Takes these marks beside those that it has. Mostly there is nothing new, and those that read it go on.
    pub(crate) fn learn_marks(&self, held: Vec<(String, String)>) {
        let knows = |marks: &BTreeMap<String, String>| {
            held.iter().all(|(path, origin)| marks.get(path) == Some(origin))
        };
        let knows_all = knows(&self.marks.read().unwrap_or_else(PoisonError::into_inner));
        if !knows_all {
            self.marks.write().unwrap_or_else(PoisonError::into_inner).extend(held);
        }
    }
}
