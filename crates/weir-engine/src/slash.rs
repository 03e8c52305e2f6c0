//! Slash commands and workflows where they are found (M3): Markdown files of the workspace and of
//! the person, and what comes with the program. `/name words` at the beginning of an input stands for the text of such a file.
//!
//! What the person typed stays their input. The text of the file is told beside it, with the label
//! that reading the file has: it does not count as the person's own words. Not here: the format
//! (`weir_core::slash`), skills that are called by `/name`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weir_core::event::InputAddition;
use weir_core::governance::label::{self, Label};
use weir_core::message::MessageBlock;
use weir_core::skill::fill_arguments;
use weir_core::slash::{
    CommandHead, TypedCommand, file_of, name_of, parse_typed_command, split_frontmatter,
};
use weir_core::tool::{Effects, PathAccess, PathPlace};

use crate::blocking::run_blocking;
use crate::marks::marks_in;
use crate::ports::{FileContent, PluginFolder, PluginPlace, Store};
use crate::regular_file::read_regular_file;
use crate::scene::SceneOptions;
use crate::skills;
use crate::workspace::{EntryKind, FileError, WalkOptions, Workspace};

mod bundled;

use bundled::BundledWorkflow;

/// Largest file, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Longest text with its arguments, in characters.
const TEXT_CHARACTERS_MAX: usize = 100_000;
/// Files of one folder that are listed.
const FILES_MAX: usize = 500;
/// Folders of folders that are looked through.
const DEPTH_MAX: usize = 5;
/// Folders of the workspace: of two files of one name the first counts, before the person's own.
const OF_WORKSPACE: [&str; 3] = [".weir/commands", ".weir/workflows", ".claude/commands"];
/// Folders below the person's own configuration.
const OF_PERSON: [&str; 2] = ["commands", "workflows"];

/// What a name begins with that is the program's in every workspace: a stranger's pull request can bring a
/// `/review`, and no `/weir:review`.
const OF_PROGRAM: &str = "weir:";

/// A command or workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// What is typed after the `/`.
    pub name: String,
    /// Where it stands: a path of the workspace, `your own commands/x.md`, or `comes with Weir`.
    pub source: String,
    /// The head of the command's file.
    pub head: CommandHead,
    /// The text that it stands for.
    pub text: String,
    /// Whose words they are.
    pub label: Label,
}

/// One of all files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCommand {
    /// Name of the command.
    pub name: String,
    /// Where it stands.
    pub source: String,
    /// The command, or why it cannot be used.
    pub command: Result<SlashCommand, String>,
    /// Another file of the same name comes first.
    pub shadowed: bool,
}

/// Where a file is.
enum CommandFile {
    Workspace(String),
    Person { path: PathBuf, name: String },
    Program(&'static BundledWorkflow),
}

impl CommandFile {
    fn source_text(&self) -> String {
        match self {
            CommandFile::Workspace(path) => path.clone(),
            CommandFile::Person { name, .. } => format!("your own {name}"),
            CommandFile::Program(_) => "comes with Weir".into(),
        }
    }
}

/// The command of this name. `None`: nothing that may be seen is called so. Blocks.
///
/// # Errors
/// There is one and it cannot be used: why, and what to do.
pub fn find_slash_command(
    options: &SceneOptions,
    workspace: &Workspace,
    name: &str,
) -> Result<Option<SlashCommand>, String> {
    if let Some(workflow) = name.strip_prefix(OF_PROGRAM).and_then(bundled::find_bundled) {
        return read_command_file(workspace, &CommandFile::Program(workflow), name);
    }
    let below = file_of(name);
    for folder in OF_WORKSPACE {
        let file = CommandFile::Workspace(format!("{folder}/{below}"));
        if let Some(found) = read_command_file(workspace, &file, name)? {
            return Ok(Some(found));
        }
    }
    for folder in OF_PERSON {
        let Some(dir) = &options.config_dir else { continue };
        let path = dir.join(folder).join(&below);
        let file = CommandFile::Person { path, name: format!("{folder}/{below}") };
        if let Some(found) = read_command_file(workspace, &file, name)? {
            return Ok(Some(found));
        }
    }
    let of_plugin = of_plugins(options)
        .into_iter()
        .find_map(|(id, prompts)| {
            let rest = name.strip_prefix(&id)?.strip_prefix(':')?;
            read_command_file(workspace, &prompts.file(&file_of(rest)), name).transpose()
        })
        .transpose()?;
    let of_program = || {
        let workflow = bundled::find_bundled(name)?;
        read_command_file(workspace, &CommandFile::Program(workflow), name).transpose()
    };
    of_plugin.map_or_else(|| of_program().transpose(), |found| Ok(Some(found)))
}

/// Where the prompts of a plugin lie.
enum PromptFolder {
    OfWorkspace(String),
    OfPerson { folder: PathBuf, name: String },
}

impl PromptFolder {
    fn file(&self, below: &str) -> CommandFile {
        match self {
            PromptFolder::OfWorkspace(folder) => {
                CommandFile::Workspace(format!("{folder}/{below}"))
            }
            PromptFolder::OfPerson { folder, name } => {
                CommandFile::Person { path: folder.join(below), name: format!("{name}/{below}") }
            }
        }
    }

    fn files(&self, workspace: &Workspace) -> Vec<String> {
        match self {
            PromptFolder::OfWorkspace(folder) => files_below(workspace, folder),
            PromptFolder::OfPerson { folder, .. } => {
                let mut below = Vec::new();
                own_files(folder, "", &mut below);
                below.sort_unstable();
                below
            }
        }
    }
}

/// The prompts of plugins that are on: the plugin's id, and where they lie. `/id:name` is one.
fn of_plugins(options: &SceneOptions) -> Vec<(String, PromptFolder)> {
    let folders = options.skills.plugins.iter().flat_map(|plugins| plugins.folders());
    let prompts = |plugin: PluginFolder| {
        let below = plugin.prompts?;
        let below = below.trim_end_matches('/');
        let place = match plugin.place {
            PluginPlace::Workspace(folder) => {
                PromptFolder::OfWorkspace(format!("{folder}/{below}"))
            }
            PluginPlace::Own(folder) => PromptFolder::OfPerson {
                folder: folder.join(below),
                name: format!("plugins/{}/{below}", plugin.id),
            },
        };
        Some((plugin.id, place))
    };
    folders.filter_map(prompts).collect()
}

/// All of them, by folder and name. Blocks.
pub fn list_slash_commands(options: &SceneOptions, workspace: &Workspace) -> Vec<ListedCommand> {
    let mut files: Vec<(String, CommandFile)> = Vec::new();
    for folder in OF_WORKSPACE {
        let below = files_below(workspace, folder);
        let file = |below: String| {
            let name = name_of(&below)?;
            Some((name, CommandFile::Workspace(format!("{folder}/{below}"))))
        };
        files.extend(below.into_iter().filter_map(file));
    }
    for folder in OF_PERSON {
        let Some(dir) = options.config_dir.as_deref().map(|dir| dir.join(folder)) else { continue };
        let mut below = Vec::new();
        own_files(&dir, "", &mut below);
        below.sort_unstable();
        let file = |below: String| {
            let path = dir.join(&below);
            Some((
                name_of(&below)?,
                CommandFile::Person { path, name: format!("{folder}/{below}") },
            ))
        };
        files.extend(below.into_iter().filter_map(file));
    }
    for (id, prompts) in of_plugins(options) {
        let below = prompts.files(workspace);
        files.extend(below.into_iter().filter_map(|below| {
            let name = format!("{id}:{}", name_of(&below)?);
            Some((name, prompts.file(&below)))
        }));
    }
    let of_program =
        |workflow: &'static BundledWorkflow| (workflow.name.into(), CommandFile::Program(workflow));
    files.extend(bundled::BUNDLED.iter().map(of_program));
    // Nobody else has these names.
    let mut seen: BTreeSet<String> =
        bundled::BUNDLED.iter().map(|workflow| format!("{OF_PROGRAM}{}", workflow.name)).collect();
    let listed = |(mut name, file): (String, CommandFile)| {
        let mut shadowed = !seen.insert(name.clone());
        if shadowed && matches!(file, CommandFile::Program(_)) {
            (name, shadowed) = (format!("{OF_PROGRAM}{name}"), false);
        }
        let command = read_command_file(workspace, &file, &name).transpose()?;
        Some(ListedCommand { source: file.source_text(), name, command, shadowed })
    };
    files.into_iter().filter_map(listed).collect()
}

/// What an input stands for beside its words; `None`: only for itself. Asks the store which files
/// are marked, but only where a file is called so.
///
/// # Errors
/// The file cannot be used: why, and what to do.
pub(crate) async fn expand_slash_command(
    store: &dyn Store,
    options: std::sync::Arc<SceneOptions>,
    workspace: std::sync::Arc<Workspace>,
    content: &[MessageBlock],
) -> Result<Option<InputAddition>, String> {
    let first = content.iter().find_map(|block| match block {
        MessageBlock::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let Some(TypedCommand { name, arguments }) = first.and_then(parse_typed_command) else {
        return Ok(None);
    };
    match marks_in(store, &workspace.root().display().to_string()).await {
        // Beside those that a run under way knows of and may not have stored yet.
        Ok(marks) => marks.into_iter().for_each(|mark| workspace.mark(&[mark.path], &mark.origin)),
        // Without the list nothing can be vouched for: everything counts as foreign.
        Err(error) => workspace.mark(&[String::new()], &format!("unknown ({error})")),
    }
    let (name, arguments) = (name.to_owned(), arguments.to_owned());
    let look = move || {
        let Some(found) = find_slash_command(&options, &workspace, &name)? else { return Ok(None) };
        // A skill that is called so is the skills' business.
        let skills = skills::skill_catalogue(&options.skills, &workspace);
        if skills.iter().any(|skill| skill.name == name) {
            return Ok(None);
        }
        let text = fill_arguments(&found.text, &arguments);
        let length = text.chars().count();
        if length > TEXT_CHARACTERS_MAX {
            return Err(format!(
                "/{name} has {length} characters with its arguments; at most \
                 {TEXT_CHARACTERS_MAX} are told. Attach what is long as a file"
            ));
        }
        let SlashCommand { source, label, .. } = found;
        let text = format!("/{name} stands for ({source}):\n\n{text}");
        Ok(Some(InputAddition { source, text, label }))
    };
    let looked = run_blocking(look).await;
    looked.unwrap_or_else(|_| Err("looking for commands failed".into()))
}

/// Reads a file. `None`: it is not there, or nobody may see it.
fn read_command_file(
    workspace: &Workspace,
    file: &CommandFile,
    name: &str,
) -> Result<Option<SlashCommand>, String> {
    let source = file.source_text();
    let large = |bytes: u64| {
        format!("/{name}: {source} has {bytes} bytes; at most {FILE_BYTES_MAX} are read")
    };
    let (bytes, label) = match file {
        CommandFile::Person { path, .. } => {
            let Some(length) = std::fs::metadata(path).ok().filter(|m| m.is_file()) else {
                return Ok(None);
            };
            if length.len() > FILE_BYTES_MAX {
                return Err(large(length.len()));
            }
            let bytes = read_regular_file(path, FILE_BYTES_MAX)
                .map_err(|why| format!("/{name}: {source}: {why}"))?;
            (bytes, Label::default())
        }
        CommandFile::Program(workflow) => (workflow.text.as_bytes().to_vec(), Label::default()),
        CommandFile::Workspace(path) => {
            let at = workspace.resolve(path, PathAccess::Read);
            if at.ignored.is_some() || at.place != PathPlace::Inside {
                return Ok(None);
            }
            let bytes = match workspace.read(&at, FILE_BYTES_MAX) {
                Ok(FileContent::File { bytes, .. }) => bytes.to_vec(),
                Ok(_) | Err(FileError::NotFound { .. } | FileError::WrongKind { .. }) => {
                    return Ok(None);
                }
                Err(FileError::TooLarge { bytes, .. }) => return Err(large(bytes)),
                Err(why) => return Err(format!("/{name}: {why}")),
            };
            if let Some(origin) = &at.marked {
                let origin: String = origin.chars().filter(|c| !c.is_control()).take(100).collect();
                return Err(format!(
                    "/{name}: {source} was written while words from {origin} stood in the \
                     context; read it, and vouch for it with `weir permissions unmark {source}`"
                ));
            }
            (bytes, label::of_result(&Effects { paths: vec![at], ..Effects::default() }))
        }
    };
    let text = String::from_utf8(bytes).map_err(|_| format!("/{name}: {source} is no text"))?;
    let (head, text) = split_frontmatter(&text);
    if text.is_empty() {
        return Err(format!("/{name}: {source} is empty; write below its head what is to be done"));
    }
    Ok(Some(SlashCommand { name: name.into(), source, head, text: text.into(), label }))
}

/// Files below a folder of the workspace that may be seen.
fn files_below(workspace: &Workspace, folder: &str) -> Vec<String> {
    let at = workspace.resolve_tree(folder, PathAccess::List);
    if at.ignored.is_some() || at.place != PathPlace::Inside {
        return Vec::new();
    }
    let options = WalkOptions {
        recursive: true,
        respect_gitignore: false,
        hidden: false,
        max_entries: FILES_MAX,
    };
    let Ok(walk) = workspace.walk(&at, options) else { return Vec::new() };
    let files = walk.entries.iter().filter(|entry| entry.kind == EntryKind::File);
    let below = files.filter_map(|entry| entry.path.strip_prefix(folder)?.strip_prefix('/'));
    let mut below: Vec<String> = below.map(String::from).collect();
    below.sort_unstable();
    below
}

/// Files below a folder of the person's.
fn own_files(root: &Path, below: &str, out: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten().take(FILES_MAX) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let at = root.join(&path);
        if at.is_dir() && path.split('/').count() < DEPTH_MAX {
            own_files(root, &path, out);
        } else if at.is_file() && out.len() < FILES_MAX {
            out.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_test_kit::TestFolder;

    use super::*;
    use crate::workspace::WorkspaceOptions;

    struct World {
        folder: TestFolder,
        workspace: Workspace,
        options: SceneOptions,
    }

    fn world(files: &[(&str, &str)]) -> World {
        let folder = TestFolder::with_files(files);
        folder.make_folder("work");
        let options = WorkspaceOptions {
            root: folder.path().join("work"),
            extra_roots: Vec::new(),
            own_folders: vec![folder.path().join("config")],
        };
        let workspace = Workspace::open(options).expect("a workspace");
        let config_dir = Some(folder.path().join("config"));
        let options = SceneOptions { config_dir, ..SceneOptions::default() };
        World { folder, workspace, options }
    }

    impl World {
        fn find(&self, name: &str) -> Result<Option<SlashCommand>, String> {
            find_slash_command(&self.options, &self.workspace, name)
        }
        fn source(&self, name: &str) -> Option<String> {
            self.find(name).expect("it can be used").map(|command| command.source)
        }
    }

    #[test]
    fn m3_the_workspace_comes_before_the_person_and_commands_before_workflows() {
        let world = world(&[
            ("config/commands/a.md", "mine"),
            ("config/commands/b.md", "mine"),
            ("config/workflows/deep/c.md", "mine"),
            ("work/.claude/commands/a.md", "theirs"),
            ("work/.claude/commands/d.md", "theirs"),
            ("work/.weir/workflows/d.md", "theirs"),
            ("work/.weir/workflows/notes.txt", "no command"),
        ]);
        for (name, source) in [
            ("a", Some(".claude/commands/a.md")),
            ("b", Some("your own commands/b.md")),
            ("deep:c", Some("your own workflows/deep/c.md")),
            ("c", None),
            ("d", Some(".weir/workflows/d.md")),
            ("notes", None),
        ] {
            assert_eq!(world.source(name).as_deref(), source, "{name}");
        }
        let listed = list_slash_commands(&world.options, &world.workspace);
        let lines: Vec<(&str, &str, bool)> =
            listed.iter().map(|l| (l.name.as_str(), l.source.as_str(), l.shadowed)).collect();
        assert_eq!(
            lines,
            [
                ("d", ".weir/workflows/d.md", false),
                ("a", ".claude/commands/a.md", false),
                ("d", ".claude/commands/d.md", true),
                ("a", "your own commands/a.md", true),
                ("b", "your own commands/b.md", false),
                ("deep:c", "your own workflows/deep/c.md", false),
                ("commit", "comes with Weir", false),
                ("init", "comes with Weir", false),
                ("pr", "comes with Weir", false),
                ("review", "comes with Weir", false),
            ]
        );
    }

    #[test]
    fn r7_what_comes_with_the_program_can_be_used_and_gives_way() {
        let plain = world(&[]);
        for workflow in bundled::BUNDLED {
            let found = plain.find(workflow.name).expect("usable").expect("there");
            assert_eq!(found.source, "comes with Weir");
            assert!(found.label.is_clean() && !found.head.description.is_empty());
            assert_eq!(found.head.without_effect, Vec::<String>::new(), "{}", workflow.name);
        }
        let own =
            world(&[("config/workflows/pr.md", "mine"), ("work/.weir/commands/init.md", "x")]);
        assert_eq!(own.source("pr").as_deref(), Some("your own workflows/pr.md"));
        assert_eq!(own.source("init").as_deref(), Some(".weir/commands/init.md"));
        let listed = list_slash_commands(&own.options, &own.workspace);
        let of_program = listed.iter().filter(|one| one.source == "comes with Weir");
        let of_program: Vec<_> = of_program.map(|one| (one.name.as_str(), one.shadowed)).collect();
        let names = ["commit", "weir:init", "weir:pr", "review"];
        assert_eq!(of_program, names.map(|name| (name, false)), "none of them is out of reach");
        assert_eq!(plain.find("merge"), Ok(None));
    }

    #[test]
    fn r7_a_workspace_cannot_take_the_programs_own_names() {
        let stranger = world(&[
            ("work/.claude/commands/weir/review.md", "theirs"),
            ("work/.weir/commands/review.md", "theirs"),
            ("config/commands/weir/pr.md", "theirs"),
        ]);
        assert_eq!(stranger.source("review").as_deref(), Some(".weir/commands/review.md"));
        for name in ["weir:review", "weir:pr", "weir:commit"] {
            assert_eq!(stranger.source(name).as_deref(), Some("comes with Weir"), "{name}");
        }
        let listed = list_slash_commands(&stranger.options, &stranger.workspace);
        let taken = listed.iter().filter(|one| one.name.starts_with("weir:") && !one.shadowed);
        assert_eq!(taken.map(|one| one.source.as_str()).collect::<Vec<_>>(), ["comes with Weir"]);
    }

    #[test]
    fn m3_a_file_of_the_workspace_is_labelled_and_ones_own_is_not() {
        let world = world(&[("work/.weir/commands/a.md", "x"), ("config/commands/b.md", "x")]);
        let label = |name| world.find(name).expect("usable").expect("there").label;
        assert!(label("a").is_private() && !label("a").is_external());
        assert!(label("b").is_clean());
    }

    #[test]
    fn m3_what_cannot_be_used_says_why_and_what_to_do() {
        let large = "x".repeat(usize::try_from(FILE_BYTES_MAX).expect("small") + 1);
        let world = world(&[
            ("work/.weirignore", "secret.md"),
            ("work/.claude/commands/secret.md", "x"),
            ("work/.claude/commands/marked.md", "x"),
            ("work/.claude/commands/large.md", &large),
            ("work/.claude/commands/empty.md", "---\ndescription: x\n---\n"),
            ("work/.claude/commands/folder.md/x.md", "x"),
            ("config/commands/large2.md", &large),
        ]);
        std::fs::write(world.folder.path().join("work/.claude/commands/bytes.md"), [0xff, 0xfe])
            .expect("a file");
        world.workspace.mark(&[".claude/commands/marked.md".into()], "docs.example");
        assert_eq!(world.find("secret"), Ok(None), "ignored is not there");
        assert_eq!(world.find("folder"), Ok(None));
        for (name, part) in [
            ("marked", "weir permissions unmark .claude/commands/marked.md"),
            ("large", "at most 262144"),
            ("large2", "at most 262144"),
            ("empty", "is empty"),
            ("bytes", "is no text"),
        ] {
            let why = world.find(name).expect_err(name);
            assert!(why.contains(part) && why.starts_with(&format!("/{name}: ")), "{why}");
        }
        let listed = list_slash_commands(&world.options, &world.workspace);
        assert!(listed.iter().all(|one| one.name != "secret"));
        assert_eq!(listed.iter().filter(|one| one.command.is_err()).count(), 5);
    }

    #[cfg(unix)]
    #[test]
    fn m3_a_link_that_leads_out_is_no_command() {
        let world = world(&[("outside.md", "x"), ("work/.claude/commands/a.md", "x")]);
        let link = world.folder.path().join("work/.claude/commands/b.md");
        std::os::unix::fs::symlink(world.folder.path().join("outside.md"), link).expect("a link");
        assert_eq!(world.find("b"), Ok(None));
    }
}
