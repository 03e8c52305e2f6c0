//! Skills on a real disk: precedence, what is left out, what is active, what cannot be reached.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Instant;

use weir_core::governance::label::Integrity;
use weir_core::ids::SessionId;
use weir_core::skill::SkillNote;
use weir_test_kit::TestFolder;

use super::*;
use crate::workspace::WorkspaceOptions;

/// A workspace and a home beside it.
struct House {
    folder: TestFolder,
}

impl House {
    fn new() -> House {
        let folder = TestFolder::new();
        ["work", "home", "state"].iter().for_each(|path| folder.make_folder(path));
        House { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.at(path)
    }

    fn write(&self, path: &str, text: &str) {
        self.folder.write(path, text);
    }

    fn skill(&self, folder: &str, description: &str) {
        let name = Path::new(folder).file_name().expect("a name").to_string_lossy().into_owned();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n{folder} text\n");
        self.write(&format!("{folder}/SKILL.md"), &text);
    }

    fn workspace(&self) -> Workspace {
        let options = WorkspaceOptions {
            root: self.at("work"),
            extra_roots: Vec::new(),
            own_folders: vec![self.at("state"), self.at("home/.config/weir")],
        };
        Workspace::open(options).expect("a folder").with_home(self.at("home"))
    }

    fn places(&self) -> SkillPlaces {
        let own = ["home/.config/weir/skills", "home/.agents/skills", "home/.claude/skills"];
        SkillPlaces {
            own: own.iter().map(|folder| self.at(folder)).collect(),
            ..SkillPlaces::default()
        }
    }

    fn catalogue(&self) -> Vec<String> {
        let lines = skill_catalogue(&self.places(), &self.workspace());
        lines.into_iter().map(|line| format!("{}: {}", line.name, line.description)).collect()
    }

    fn found(&self, place: &str) -> FoundSkill {
        let found = survey_all_skills(&self.places(), &self.workspace()).skills;
        let skill = found.into_iter().find(|skill| skill.place.ends_with(place));
        skill.unwrap_or_else(|| panic!("{place} is not found"))
    }
}

#[test]
fn m1_project_beats_user_beats_bundled_and_shadowing_is_said() {
    let house = House::new();
    house.skill("work/.claude/skills/a", "claude");
    house.skill("work/.agents/skills/a", "agents");
    house.skill("work/.weir/skills/a", "weir");
    house.skill("home/.config/weir/skills/a", "yours");
    house.skill("home/.config/weir/skills/b", "first");
    house.skill("home/.claude/skills/b", "second");
    house.skill("home/.agents/skills/code-review", "my own review");
    assert_eq!(house.catalogue(), ["a: weir", "b: first", "code-review: my own review"]);
    let places = SkillPlaces { bundled: true, ..house.places() };
    let found = survey_all_skills(&places, &house.workspace()).skills;
    let shadowed: Vec<(&str, &str)> = found
        .iter()
        .filter_map(|skill| Some((skill.name.as_str(), skill.shadowed_by.as_deref()?)))
        .collect();
    assert_eq!(shadowed.iter().filter(|(name, _)| *name == "a").count(), 3);
    assert!(shadowed.contains(&("a", ".weir/skills/a")));
    assert!(shadowed.iter().any(|(name, by)| *name == "code-review" && by.ends_with("review")));
}

#[test]
fn m1_a_linked_folder_counts_once_and_a_link_out_is_left_out() {
    let house = House::new();
    house.skill("work/.agents/skills/a", "inside");
    house.skill("elsewhere/b", "outside");
    fs::create_dir_all(house.at("work/.claude")).expect("a folder");
    symlink("../.agents/skills", house.at("work/.claude/skills")).expect("a link");
    symlink(house.at("elsewhere/b"), house.at("work/.agents/skills/b")).expect("a link");
    house.skill("work/shared/c", "linked inside");
    symlink("../../shared/c", house.at("work/.agents/skills/c")).expect("a link");
    assert_eq!(house.catalogue(), ["a: inside", "c: linked inside"]);
    let out = house.found("elsewhere/b");
    assert!(out.why_not().is_some_and(|why| why.contains("leads out of the workspace")));
    // The file itself may be the link.
    fs::create_dir_all(house.at("work/.agents/skills/d")).expect("a folder");
    symlink(house.at("elsewhere/b/SKILL.md"), house.at("work/.agents/skills/d/SKILL.md"))
        .expect("a link");
    assert!(!house.found(".agents/skills/d").is_used());
}

#[test]
fn m1_what_the_guard_or_a_rule_closes_is_no_skill() {
    use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
    let house = House::new();
    house.skill("work/.agents/skills/a", "a");
    house.skill("work/.agents/skills/b", "b");
    house.skill("work/.agents/skills/c", "c");
    house.write("work/.weirignore", ".agents/skills/a/\n");
    let workspace = house.workspace();
    let root = workspace.root().display().to_string();
    let mut rules = RuleSet::new(RuleContext { workspace: root, ..RuleContext::default() });
    let rule =
        rules.parse_rule(RuleAction::Deny, "Read(.agents/skills/b/**)", RuleOrigin::new("test"));
    rules.add(rule.expect("a rule"));
    workspace.hold_rules(rules.into());
    let names: Vec<String> =
        skill_catalogue(&house.places(), &workspace).into_iter().map(|line| line.name).collect();
    assert_eq!(names, ["c"]);
    for name in ["a", "b"] {
        assert!(read_skill(&house.places(), &workspace, name).is_err(), "{name}");
    }
}

#[test]
fn z1_a_marked_skill_is_left_out_wherever_it_lies() {
    let house = House::new();
    house.skill("work/.agents/skills/a", "a");
    house.write("work/.agents/skills/a/scripts/run.sh", "echo\n");
    house.skill("home/.agents/skills/b", "b");
    house.skill("work/.agents/skills/c", "c");
    let workspace = house.workspace();
    workspace.mark(&[".agents/skills/a/scripts/run.sh".into()], "evil.example");
    let own = house.at("home/.agents/skills/b/SKILL.md").display().to_string();
    workspace.mark(&[own], "evil.example");
    let wanted = SkillRequest { active: &[], named: &["a".into(), "b".into()], said: "/a /b /c" };
    let (lines, active) = select_active_skills(&house.places(), &workspace, wanted);
    assert_eq!(lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["c"]);
    assert_eq!(active.iter().map(|note| note.name.as_str()).collect::<Vec<_>>(), ["c"]);
    let why = read_skill(&house.places(), &workspace, "a").expect_err("it is marked");
    assert!(why.contains("evil.example") && why.contains("weir permissions unmark"), "{why}");
    assert!(read_file(&house.places(), &workspace, "a", "scripts/run.sh").is_err());
    // The list of marks could not be read: everything counts as foreign.
    workspace.mark(&[String::new()], "unknown");
    assert!(skill_catalogue(&house.places(), &workspace).is_empty());
}

#[test]
fn m1_what_was_active_stays_so_with_its_reason_and_says_when_it_cannot() {
    let house = House::new();
    house.skill("home/.agents/skills/a", "a");
    house.skill("home/.agents/skills/b", "b");
    let (places, workspace) = (house.places(), house.workspace());
    let first = SkillRequest { active: &[], named: &["b".into()], said: "please /a" };
    let (_, active) = select_active_skills(&places, &workspace, first);
    let by: Vec<&str> = active.iter().map(|note| note.by.as_str()).collect();
    assert_eq!(by, ["person", "profile"]);
    let again = SkillRequest { active: &active, named: &["b".into()], said: "go on" };
    assert_eq!(select_active_skills(&places, &workspace, again).1, active, "nothing is new");
    fs::remove_dir_all(house.at("home/.agents/skills/a")).expect("it was there");
    let (_, after) = select_active_skills(&places, &workspace, again);
    assert!(after[0].text.starts_with("No longer in force"), "{}", after[0].text);
    let then = SkillRequest { active: &after, named: &[], said: "" };
    assert_eq!(select_active_skills(&places, &workspace, then).1[0], after[0], "said once");
}

#[test]
fn m1_an_untrusted_workspace_s_skills_carry_its_label() {
    let house = House::new();
    house.skill("work/.weir/skills/a", "a");
    let workspace = house.workspace();
    let note = |places: &SkillPlaces| -> SkillNote {
        read_skill(places, &workspace, "a").expect("readable").note
    };
    assert_eq!(note(&house.places()).label.integrity, Integrity::Workspace);
    let trusted = SkillPlaces { trusted: true, ..house.places() };
    assert!(note(&trusted).label.is_clean());
}

#[test]
fn m1_a_head_is_read_anew_when_its_file_changed() {
    let house = House::new();
    house.skill("work/.weir/skills/a", "one");
    assert_eq!(house.catalogue(), ["a: one"]);
    house.skill("work/.weir/skills/a", "two");
    assert_eq!(house.catalogue(), ["a: two"]);
    fs::write(house.at("work/.weir/skills/a/SKILL.md"), "broken").expect("a file");
    assert_eq!(house.catalogue(), [] as [String; 0]);
}

#[test]
fn m1_too_many_and_too_large_skills_are_left_out_with_a_word() {
    let house = House::new();
    for n in 0..205 {
        house.skill(&format!("work/.agents/skills/s{n:03}"), "x");
    }
    house.skill("work/.claude/skills/large", "x");
    let text = format!("---\nname: large\ndescription: x\n---\n{}", "x".repeat(300_000));
    house.write("work/.claude/skills/large/SKILL.md", &text);
    let found = survey_all_skills(&house.places(), &house.workspace());
    assert_eq!(found.skills.iter().filter(|skill| skill.is_used()).count(), 200);
    assert!(found.notices.iter().any(|notice| notice.contains("more than 200 skills")));
    assert!(house.found("large").why_not().is_some_and(|why| why.contains("is the most")));
}

#[test]
fn m1_a_long_skill_is_cut_visibly_in_the_prompt_and_whole_as_a_file() {
    let house = House::new();
    let text = format!("---\nname: a\ndescription: x\n---\n{}END\n", "word ".repeat(10_000));
    house.write("work/.weir/skills/a/SKILL.md", &text);
    let (places, workspace) = (house.places(), house.workspace());
    let note = read_skill(&places, &workspace, "a").expect("readable").note;
    assert!(note.text.contains("[the rest is left out; read_skill") && !note.text.contains("END"));
    let (whole, _) = read_file(&places, &workspace, "a", "SKILL.md").expect("readable");
    assert!(whole.ends_with("END\n"));
    house.write("work/.weir/skills/a/more.md", "\u{feff}More.\n");
    let (more, _) = read_file(&places, &workspace, "a", "more.md").expect("readable");
    assert_eq!(more, "More.\n", "a mark is no part of a text");
}

#[test]
fn m1_scripts_run_where_they_may_and_as_they_are() {
    let house = House::new();
    house.skill("work/.weir/skills/a", "a");
    house.write("work/.weir/skills/a/scripts/run.sh", "echo a\n");
    house.skill("home/.agents/skills/b", "b");
    house.write("home/.agents/skills/b/scripts/run.py", "print(1)\n");
    house.write("home/.agents/skills/b/data/x.bin", "\u{1}\u{2}");
    let (workspace, session) = (house.workspace(), SessionId::new("s1"));
    let run = |places: &SkillPlaces, name: &str, script: &str, args: &[&str]| {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let call = ScriptCall { script, args: &args };
        script_of(places, &workspace, &session, name, call)
    };
    let untrusted = house.places();
    let why = run(&untrusted, "a", "run.sh", &[]).expect_err("nobody trusted it");
    assert!(why.contains("`weir trust`"), "{why}");
    let trusted = SkillPlaces { trusted: true, ..house.places() };
    assert_eq!(
        run(&trusted, "a", "run.sh", &["x y"]),
        Ok("sh .weir/skills/a/scripts/run.sh 'x y'".to_owned())
    );
    let path = house.at("work/.weir/skills/a/scripts/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    assert_eq!(
        run(&trusted, "a", "scripts/run.sh", &[]),
        Ok(".weir/skills/a/scripts/run.sh".to_owned())
    );
    assert_eq!(
        run(&untrusted, "b", "scripts/run.py", &[]),
        Ok("python3 .weir/tmp/s1/skills/b/scripts/run.py".to_owned())
    );
    prepare_skill_files(&untrusted, &workspace, &session, "b").expect("copied");
    let copies = house.at("work/.weir/tmp/s1/skills/b");
    assert_eq!(fs::read(copies.join("data/x.bin")).expect("a file"), b"\x01\x02");
    assert!(copies.join("SKILL.md").exists());
    let why = run(&untrusted, "b", "none.sh", &[]).expect_err("there is none");
    assert!(why.contains("its scripts: scripts/run.py"), "{why}");
    for bad in ["../a/run.sh", "/bin/sh", ""] {
        assert!(run(&trusted, "a", bad, &[]).is_err(), "{bad}");
    }
}

fn script_of(
    places: &SkillPlaces,
    workspace: &Workspace,
    session: &SessionId,
    name: &str,
    call: ScriptCall<'_>,
) -> Result<String, String> {
    skill_script_command(places, workspace, session, name, call).map(|script| script.command)
}

#[test]
fn m1_a_home_that_is_the_workspace_is_guarded_as_one() {
    let house = House::new();
    house.skill("home/.claude/skills/a", "a");
    house.skill("home/.config/weir/skills/b", "b");
    let options = WorkspaceOptions {
        root: house.at("home"),
        extra_roots: Vec::new(),
        own_folders: vec![house.at("home/.config/weir")],
    };
    let workspace = Workspace::open(options).expect("a folder").with_home(house.at("home"));
    let found = survey_all_skills(&house.places(), &workspace).skills;
    let sources: Vec<(&str, SkillSource)> =
        found.iter().map(|skill| (skill.name.as_str(), skill.source)).collect();
    assert_eq!(sources, [("a", SkillSource::Workspace), ("b", SkillSource::Yours)]);
}

/// Q1: what every run pays. The quickest counts, because a machine that is busy is slow too.
#[test]
fn q1_no_skills_cost_next_to_nothing_and_known_ones_little() {
    let house = House::new();
    let (places, workspace) = (house.places(), house.workspace());
    let quickest = |times: usize, count: usize| {
        let once = |_| {
            let began = Instant::now();
            assert_eq!(skill_catalogue(&places, &workspace).len(), count);
            began.elapsed()
        };
        (0..times).map(once).min().expect("at least one")
    };
    let none = quickest(100, 0);
    for n in 0..50 {
        house.skill(&format!("home/.agents/skills/s{n}"), "x");
    }
    let known = quickest(10, 50);
    assert!(none.as_millis() < 5, "{none:?}");
    assert!(known.as_millis() < 200, "{known:?}");
}
