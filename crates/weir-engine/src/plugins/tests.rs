//! Folders of plugins, good and bad. What needs a store is tested where one is
//! (`weir-scenario/src/plugins.rs`).

use std::path::Path;

use weir_test_kit::TestFolder;

use super::found::{PluginFile, PluginLocation, load_plugin_files, read_plugin_files};
use crate::workspace::{Workspace, WorkspaceOptions};

const MANIFEST: &str = "id = \"demo\"\nname = \"Demo\"\nversion = \"1\"\nskills = \"skills/\"\n\
                        prompts = \"prompts\"\n[commands.go]\nscript = \"scripts/go.sh\"\n";

struct House {
    folder: TestFolder,
    workspace: Workspace,
}

fn house(files: &[(&str, &str)]) -> House {
    let folder = TestFolder::with_files(files);
    folder.make_folder("work");
    let options = WorkspaceOptions {
        root: folder.path().join("work"),
        extra_roots: Vec::new(),
        own_folders: vec![folder.path().join("config")],
    };
    let workspace = Workspace::open(options).expect("a workspace");
    House { folder, workspace }
}

impl House {
    fn write(&self, path: &str, text: &str) {
        self.folder.write(path, text);
    }
    fn places(&self) -> [(&'static str, PluginLocation); 2] {
        let own = PluginLocation::Own(self.folder.path().join("config/plugins/demo"));
        [
            ("config/plugins/demo", own),
            ("work/.weir/plugins/demo", PluginLocation::Workspace(".weir/plugins/demo".into())),
        ]
    }
    fn load(&self, place: &PluginLocation) -> Result<super::LoadedPlugin, String> {
        load_plugin_files(&read_plugin_files(&self.workspace, place)?, "demo", "plugin.toml", None)
    }
}

/// Both places with the same files.
fn both(files: &[(&str, &str)]) -> House {
    let house = house(&[]);
    for (root, _) in house.places() {
        files.iter().for_each(|(path, text)| house.write(&format!("{root}/{path}"), text));
    }
    house
}

fn sound() -> House {
    both(&[
        ("plugin.toml", MANIFEST),
        ("scripts/go.sh", "#!/bin/sh\necho $1\n"),
        ("skills/tidy/SKILL.md", "---\nname: tidy\n---\n"),
        ("prompts/deep/ask.md", "Ask."),
        (".hidden", "x"),
    ])
}

#[test]
fn t11_a_plugin_is_the_same_wherever_it_lies() {
    let house = sound();
    let [own, workspace] = house.places().map(|(_, place)| house.load(&place).expect("sound"));
    assert_eq!(own.hash, workspace.hash);
    assert_eq!((own.skills, own.prompts), (vec!["tidy".to_owned()], vec!["deep:ask".to_owned()]));
    let paths: Vec<&String> = own.snapshot.keys().collect();
    assert_eq!(
        paths,
        [".hidden", "plugin.toml", "prompts/deep/ask.md", "scripts/go.sh", "skills/tidy/SKILL.md"],
        "every file counts"
    );
}

#[test]
fn z9_every_file_and_mode_is_in_the_hash() {
    let house = sound();
    for (root, place) in house.places() {
        let before = house.load(&place).expect("sound").hash;
        let changed = |what: &str| {
            let now = house.load(&place).expect("sound").hash;
            assert_ne!(now, before, "{what}");
        };
        house.write(&format!("{root}/.hidden"), "y");
        changed("a file that nobody names");
        house.write(&format!("{root}/.hidden"), "x");
        assert_eq!(house.load(&place).expect("sound").hash, before, "it is what it was");
        house.write(&format!("{root}/new"), "");
        changed("an empty new file");
        std::fs::remove_file(house.folder.path().join(root).join("new")).expect("removed");
        let script = house.folder.path().join(root).join("scripts/go.sh");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(script, mode).expect("ours");
        changed("a file that may be executed now");
    }
}

#[test]
fn z9_links_are_no_part_of_a_plugin() {
    let house = sound();
    house.write("secret", "key");
    for (root, place) in house.places() {
        let link = house.folder.path().join(root).join("scripts/link.sh");
        std::os::unix::fs::symlink(house.folder.path().join("secret"), link).expect("a link");
        let why = house.load(&place).expect_err("it has a link");
        assert!(why.contains("link"), "{why}");
    }
    let house = sound();
    let elsewhere = house.folder.path().join("work/elsewhere");
    std::fs::rename(house.folder.path().join("work/.weir/plugins/demo"), &elsewhere)
        .expect("moved");
    std::os::unix::fs::symlink(&elsewhere, house.folder.path().join("work/.weir/plugins/demo"))
        .expect("a link");
    let [_, (_, place)] = house.places();
    assert!(house.load(&place).is_err_and(|why| why.contains("it is a link")));
}

#[test]
fn t11_too_much_is_refused() {
    let many = both(&[("plugin.toml", MANIFEST), ("scripts/go.sh", "#!/bin/sh\n")]);
    for (root, place) in many.places() {
        (0..300).for_each(|n| many.write(&format!("{root}/data/{n}"), "x"));
        assert!(many.load(&place).is_err_and(|why| why.contains("more than 300 files")));
    }
    let large = both(&[("plugin.toml", MANIFEST)]);
    for (root, place) in large.places() {
        large.write(&format!("{root}/data"), &"x".repeat((4 << 20) + 1));
        assert!(large.load(&place).is_err());
    }
    let text = format!("{MANIFEST}# {}\n", "x".repeat(70_000));
    let long = both(&[("plugin.toml", &text)]);
    let [(_, place), _] = long.places();
    assert!(long.load(&place).is_err_and(|why| why.contains("65536 bytes")));
}

#[test]
fn t11_what_a_plugin_names_must_be_there() {
    let of = |files: &[(&str, &str)]| {
        let house = both(files);
        let [(_, place), _] = house.places();
        house.load(&place).map(|_| ()).expect_err("it is broken")
    };
    assert!(of(&[("x", "")]).contains("there is no plugin.toml"));
    assert!(of(&[("plugin.toml", MANIFEST)]).contains("there is no file scripts/go.sh"));
    let no_runner = [("plugin.toml", MANIFEST), ("scripts/go.sh", "x")];
    assert!(house_of(&no_runner).is_ok(), "its ending says what runs it");
    let schema = "id = \"demo\"\nname = \"D\"\nversion = \"1\"\n[api.a]\nscript = \"a.sh\"\n\
                  input_schema = { type = 3 }\n";
    assert!(of(&[("plugin.toml", schema), ("a.sh", "")]).contains("api.a.input_schema"));
}

fn house_of(files: &[(&str, &str)]) -> Result<super::LoadedPlugin, String> {
    let house = both(files);
    let [(_, place), _] = house.places();
    house.load(&place)
}

#[test]
fn z9_hidden_characters_in_scripts_are_shown() {
    let files = [("plugin.toml", MANIFEST), ("scripts/go.sh", "#!/bin/sh\n# \u{202e}x\n")];
    let loaded = house_of(&files).expect("it is sound");
    assert_eq!(loaded.notes, ["scripts/go.sh:2 has the hidden character U+202E"]);
}

#[test]
fn z9_a_marked_file_keeps_a_plugin_off() {
    let house = sound();
    house.workspace.mark(&[".weir/plugins/demo/scripts/go.sh".into()], "page.example");
    let [_, (_, place)] = house.places();
    assert!(house.load(&place).is_err_and(|why| why.contains("page.example")));
}

#[test]
fn t11_the_same_bytes_are_the_same_plugin() {
    let file = |path: &str, text: &str| PluginFile {
        path: path.into(),
        bytes: text.as_bytes().to_vec(),
        executable: false,
    };
    let files = [file("plugin.toml", "id = \"a\"\nname = \"A\"\nversion = \"1\"\n")];
    let hash = || load_plugin_files(&files, "a", "plugin.toml", None).expect("sound").hash;
    assert_eq!(hash(), hash());
    assert!(Path::new(&hash()).components().count() == 1 && hash().len() == 64);
}
