//! The links that stand in a note and where each leads, for faces that show it (K2, K3). Not here: notes
//! that link to one (`backlinks`), what the model is told of links (`get_linked_notes`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::tool::{PathAccess, PathEffect, PathPlace};
use weir_engine::ports::FileContent;
use weir_engine::workspace::{EntryKind, Workspace};
use weir_notes::note::{LinkForm, NoteFacts, NoteLink, parse_note};
use weir_notes::reading::{heading_number, link_words};
use weir_notes::resolve::{is_note, join_path, parent_folder};

use crate::backlinks::{BacklinkList, backlinks_in};
use crate::vault::{self, NoteVault};

/// Most links of a note that are followed; the others are read as they are written.
const LINKS_MAX: usize = 5_000;
/// Most notes that are read for their headings where no index knows them, and the largest one.
const NOTES_READ_MAX: usize = 20;
const NOTE_READ_BYTES_MAX: u64 = 1 << 20;

/// A link that stands in a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct FileLink {
    /// Its first byte in the text.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
    /// How it is written.
    pub form: FileLinkKind,
    /// `!` stands before it: what it names is meant to be shown in its place.
    pub embed: bool,
    /// The words that are read in its place.
    pub text: String,
    /// The file that it names, as it does; empty: the note itself.
    pub named: String,
    /// What it names in that file: `Heading`, `Heading#Below` or `^block`; empty: all of it.
    pub part: String,
    /// Where it leads.
    pub target: FileLinkTarget,
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileLinkKind {
    /// `[[target|text]]`
    Wiki,
    /// `[text](target)`
    Markdown,
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileLinkTarget {
    /// That is not known: the vault is still being looked over, or cannot be.
    #[default]
    Unknown,
    /// Nowhere, or to something that nobody may see.
    Nowhere,
    /// To a file.
    File {
        /// Its path below the workspace.
        path: String,
        /// The number of the heading that is meant, from 1; `None`: all of the file.
        heading: Option<usize>,
    },
}

/// The links in the text of a note, in their order, without where they lead. What is written as a wiki
/// link is one in a vault alone. Blocks.
pub fn list_links(workspace: &Workspace, text: &str) -> Vec<FileLink> {
    let in_vault = vault::is_vault(workspace);
    let mut within = 0;
    let mut links = Vec::new();
    for link in parse_note(text).links {
        let form = match link.form {
            LinkForm::Wiki if in_vault => FileLinkKind::Wiki,
            LinkForm::Markdown => FileLinkKind::Markdown,
            LinkForm::Wiki
            | LinkForm::PropertyWiki
            | LinkForm::PropertyMarkdown
            | LinkForm::Canvas => continue,
        };
        // A link within a link is part of its words; an image there is an image.
        if form == FileLinkKind::Wiki && !link.embed && link.at.start < within {
            continue;
        }
        if form == FileLinkKind::Markdown && !link.embed {
            within = within.max(link.at.end);
        }
        if links.len() == LINKS_MAX {
            break;
        }
        links.push(file_link(form, link));
    }
    links
}

fn file_link(form: FileLinkKind, link: NoteLink) -> FileLink {
    FileLink {
        start: link.at.start,
        end: link.at.end,
        form,
        embed: link.embed,
        text: link_words(&link),
        named: link.path,
        part: link.subpath,
        target: FileLinkTarget::Unknown,
    }
}

/// Finds where the links of the note at `source` lead, and the notes that link to it: in a vault as its
/// index knows it, which is asked once; Markdown links also to any file or folder beside the note. What an
/// ignore list hides is nowhere. Blocks.
///
/// # Errors
/// The vault cannot be read: a sentence; then no target is set.
pub fn find_links(
    workspace: &Workspace,
    source: &str,
    links: &mut [FileLink],
) -> Result<BacklinkList, String> {
    let mut backlinks = BacklinkList::default();
    if vault::is_vault(workspace) {
        backlinks = vault::ask_vault(workspace, |vault| {
            for link in links.iter_mut() {
                link.target = indexed_target(vault, source, link);
            }
            backlinks_in(workspace, vault, source)
        })?;
    }
    let mut files = FilesBeside { workspace, source, read: BTreeMap::new() };
    let found = |link: &FileLink| matches!(link.target, FileLinkTarget::File { .. });
    for link in links.iter_mut().filter(|link| link.form == FileLinkKind::Markdown && !found(link))
    {
        link.target = files.find_target(link);
    }
    Ok(backlinks)
}

fn indexed_target(vault: &NoteVault, source: &str, link: &FileLink) -> FileLinkTarget {
    let index = vault.index();
    let form = match link.form {
        FileLinkKind::Wiki => LinkForm::Wiki,
        FileLinkKind::Markdown => LinkForm::Markdown,
    };
    match index.name_table().resolve_link(form, &link.named, source) {
        Some(number) => {
            let path = index.name_table().path_of(number).to_owned();
            let wanted = is_note(&path) && !link.part.is_empty();
            let facts = wanted.then(|| index.facts_at(number)).flatten();
            let heading = facts.and_then(|facts| heading_number(&facts, &link.part));
            FileLinkTarget::File { path, heading }
        }
        // It may lead to one of the files that the index has no room for.
        None if vault.truncated => FileLinkTarget::Unknown,
        None => FileLinkTarget::Nowhere,
    }
}

/// Files as seen from a note, without an index.
struct FilesBeside<'a> {
    workspace: &'a Workspace,
    source: &'a str,
    /// What stands in notes that were read for it.
    read: BTreeMap<String, Option<NoteFacts>>,
}

impl FilesBeside<'_> {
    fn find_target(&mut self, link: &FileLink) -> FileLinkTarget {
        let Some(path) = self.named_path(&link.named) else { return FileLinkTarget::Nowhere };
        let at = self.workspace.resolve(&path, PathAccess::Read);
        // What is hidden must not be told from what is not there.
        if at.place != PathPlace::Inside || at.ignored.is_some() {
            return FileLinkTarget::Nowhere;
        }
        match self.workspace.stat_entry(&at).map(|entry| entry.kind) {
            Ok(EntryKind::File) => {
                let heading = self.heading_in(&at, &link.part);
                FileLinkTarget::File { path: at.path, heading }
            }
            Ok(EntryKind::Folder) => FileLinkTarget::File { path: at.path, heading: None },
            Ok(EntryKind::Link | EntryKind::Other) | Err(_) => FileLinkTarget::Nowhere,
        }
    }

    /// The path that a Markdown link names; `None`: it leads out of the workspace.
    fn named_path(&self, named: &str) -> Option<String> {
        let path = match named.strip_prefix('/') {
            _ if named.is_empty() => Some(self.source.to_owned()),
            Some(whole) => join_path("", whole),
            None => join_path(parent_folder(self.source), named),
        };
        path.filter(|path| !path.is_empty())
    }

    fn heading_in(&mut self, at: &PathEffect, part: &str) -> Option<usize> {
        if part.is_empty() || !is_note(&at.path) || at.sensitive.is_some() {
            return None;
        }
        if !self.read.contains_key(&at.path) {
            let room = self.read.len() < NOTES_READ_MAX;
            let facts = room.then(|| read_facts(self.workspace, at)).flatten();
            self.read.insert(at.path.clone(), facts);
        }
        heading_number(self.read.get(&at.path)?.as_ref()?, part)
    }
}

fn read_facts(workspace: &Workspace, at: &PathEffect) -> Option<NoteFacts> {
    match workspace.read(at, NOTE_READ_BYTES_MAX).ok()? {
        FileContent::File { bytes, .. } => std::str::from_utf8(&bytes).ok().map(parse_note),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::workspace::WorkspaceOptions;

    use super::*;

    fn opened(files: &[(&str, &str)]) -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let root = folder.path().to_path_buf();
        let options = WorkspaceOptions { root, extra_roots: Vec::new(), own_folders: Vec::new() };
        let workspace = Workspace::open(options).expect("a workspace");
        (folder, workspace)
    }

    /// Words of each link, and `path#heading`, `-` for nowhere, `?` where it is not known.
    fn led(workspace: &Workspace, source: &str, text: &str) -> Vec<String> {
        let mut links = list_links(workspace, text);
        assert!(links.iter().all(|link| link.target == FileLinkTarget::Unknown), "{links:?}");
        find_links(workspace, source, &mut links).expect("it can be read");
        let told = links.iter().map(|link| match &link.target {
            FileLinkTarget::Unknown => format!("{}: ?", link.text),
            FileLinkTarget::Nowhere => format!("{}: -", link.text),
            FileLinkTarget::File { path, heading: None } => format!("{}: {path}", link.text),
            FileLinkTarget::File { path, heading: Some(number) } => {
                format!("{}: {path}#{number}", link.text)
            }
        });
        told.collect()
    }

    #[test]
    fn k2_links_of_a_note_lead_where_the_index_says() {
        let (_folder, workspace) = opened(&[
            (".obsidian/app.json", "{}"),
            ("Home.md", ""),
            ("deep/Garden.md", "# Garden\n\n## Beds\n\nRoses ^r\n"),
            ("deep/plan.png", "no image"),
            (".weirignore", "hidden/\n"),
            ("hidden/Secret.md", "# Secret\n"),
        ]);
        let text = "# Here\n\n[[garden#Beds]] [[Garden|g]] [[Garden#^r]] ![[plan.png]] [[#Here]] \
                    [[Garden#None]]\n[[Secret]] [s](hidden/Secret.md) [[Nobody]] `[[Garden]]` \
                    [b](deep/Garden.md#Beds) [f](deep) [out](../x.md) [w](https://a.test)\n\n\
                    ```\n[[Garden]]\n```\n";
        std::fs::write(workspace.root().join("Home.md"), text).expect("written");
        let expected = [
            "garden > Beds: deep/Garden.md#2",
            "g: deep/Garden.md",
            "Garden > ^r: deep/Garden.md",
            "plan.png: deep/plan.png",
            "Here: Home.md#1",
            "Garden > None: deep/Garden.md",
            "Secret: -",
            "s: -",
            "Nobody: -",
            "b: deep/Garden.md#2",
            "f: deep",
            "out: -",
        ];
        assert_eq!(led(&workspace, "Home.md", text), expected);
    }

    #[test]
    fn k2_without_a_vault_markdown_links_alone_are_followed() {
        let (_folder, workspace) = opened(&[
            ("docs/a.md", "# A\n\n## How it works\n"),
            (".weirignore", "*.key\n"),
            ("docs/b.key", "secret"),
        ]);
        let text = "[[a]] [a](a.md#how-it-works) [r](/docs/a.md) [k](b.key) [n](none.md) [up](../)";
        let expected = ["a: docs/a.md#2", "r: docs/a.md", "k: -", "n: -", "up: -"];
        assert_eq!(led(&workspace, "docs/b.md", text), expected);
    }

    #[test]
    fn k2_a_link_within_a_link_is_part_of_its_words() {
        let (_folder, workspace) = opened(&[(".obsidian/app.json", "{}"), ("a.md", "")]);
        let text = "[see [[a]]](a.md) [![[a.png]]](a.md) [[a]]";
        let links = list_links(&workspace, text);
        let places: Vec<&str> = links.iter().map(|link| &text[link.start..link.end]).collect();
        let expected = ["[see [[a]]](a.md)", "[![[a.png]]](a.md)", "![[a.png]]", "[[a]]"];
        assert_eq!(places, expected);
    }
}
