//! The gate `labels`: the flow table applied to calls, as tables and as laws (Z2).

use super::*;
use crate::label::{Integrity, Taint};
use crate::message::MessageBlock;
use crate::tool::{FeedEffect, QueryEffect, SendEffect};

pub(super) fn labelled(taint: Taint) -> Label {
    let private = Label::private(Integrity::Workspace, "workspace");
    match taint {
        Taint::Clean => Label::default(),
        Taint::Private => private,
        Taint::External => Label::external("evil.example"),
        Taint::Both => Label::external("evil.example").joined_with(&private),
    }
}

/// Verdict and gate for an effect with each label, in the order of the table's columns.
fn columns(world: &mut World, effects: &Effects) -> Vec<(Verdict, String)> {
    let judge = |taint: Taint| {
        world.label = labelled(taint);
        let judgement = world.effects(effects.clone());
        (judgement.verdict, judgement.gate.as_ref().map(GateName::to_string).unwrap_or_default())
    };
    Taint::ALL.into_iter().map(judge).collect()
}

fn verdicts(world: &mut World, effects: &Effects) -> Vec<Verdict> {
    columns(world, effects).into_iter().map(|(verdict, _)| verdict).collect()
}

/// Whether the question with both labels is exact and in the strongest words.
fn is_warned(world: &mut World, effects: &Effects) -> bool {
    world.label = labelled(Taint::Both);
    let gates = world.effects(effects.clone()).gates;
    gates.iter().any(|gate| gate.exact && gate.reason.starts_with("Careful: "))
}

#[test]
fn z2_a_command_that_plainly_writes_what_later_runs_asks_as_a_file_tool_does() {
    use Verdict::{Allow, Ask};
    let mut world = World::new(FULL, &[]);
    for command in [
        "echo 'on: push' > .github/workflows/ci.yml",
        "cat > .gitlab-ci.yml <<'EOF'\non: push\nEOF",
        "cd .github/workflows && printf x >> ci.yml",
        "tee AGENTS.md < x",
        "cp ci.yml .github/workflows/",
        "cp -t .github/workflows ci.yml",
        "cp templates/CLAUDE.md .",
        "mv x .envrc",
        "sed -i s/a/b/ ./.travis.yml",
        "perl -pi -e s/a/b/ Jenkinsfile",
        "rm AGENTS.md",
        "git mv ci.yml .github/workflows/ci.yml",
        "python3 -c \"open('.github/workflows/x.yml', 'w').write('x')\"",
        "sh -c 'echo x > .circleci/config.yml'",
        "env -S 'touch .envrc'",
    ] {
        assert_eq!(verdicts(&mut world, &shell(command)), [Ask; 4], "{command}");
        let mut ruled = World::new(FULL, &[&format!("allow Shell({command})")]);
        if !command.contains('\n') {
            // From foreign words on the sandbox holds what there is, and what is new is taken back.
            assert_eq!(verdicts(&mut ruled, &shell(command)), [Allow; 4], "{command}");
            // Not of a job, whose files stay: a rule does not answer for it.
            let mut job = shell(command);
            job.commands[0].background = true;
            assert_eq!(verdicts(&mut ruled, &job), [Allow, Allow, Ask, Ask], "{command}");
            assert!(is_warned(&mut ruled, &job), "{command}");
        }
    }
    for command in [
        "cat .github/workflows/ci.yml > out.txt",
        "cp AGENTS.md /tmp/x",
        "cp AGENTS.md notes.md",
        "grep -r x .github",
        "sed s/a/b/ .gitlab-ci.yml",
        "python3 -c \"print(open('AGENTS.md').read())\"",
        "git add .github && git commit -m '> AGENTS.md'",
        "echo done > log.txt",
        "mkdir -p .github/workflows",
        "cargo build",
    ] {
        assert_eq!(verdicts(&mut world, &shell(command)), [Allow; 4], "{command}");
    }
}

#[test]
fn a1_a_setting_by_which_git_runs_programs_asks_where_a_command_gives_it() {
    use Verdict::{Allow, Ask};
    for mode in [PermissionMode::AutoEdit, FULL] {
        let mut world = World::new(mode, &[]);
        for command in [
            "git config core.fsmonitor ./x",
            "git init d && git -C d config --local core.fsmonitor 'sh x'",
            "git config set core.hooksPath hooks",
            "git config --add include.path ../x",
            "git config -f d/config filter.a.clean x",
            "git config alias.st '!sh x'",
            "git config --rename-section a core",
            "git config \"$KEY\" x",
            "git config $WORDS",
            "sh -c 'git config core.pager x'",
            "echo x | xargs git config core.editor",
            "git clone -c core.fsmonitor=x . d",
            "git clone -qccore.fsmonitor=x . d",
            "git clone --config core.hooksPath=x . d",
            "git clone --conf=core.hooksPath=x . d",
            "git clone --template=t . d",
            "git init --template=t d",
            "git init --temp t d",
            "GIT_TEMPLATE_DIR=t git init d",
            "git -c init.templateDir=t init d",
            "git init \"$X\"",
        ] {
            assert_eq!(verdicts(&mut world, &shell(command)), [Ask; 4], "{command}");
        }
        for command in [
            "git config user.name Ada",
            "git config user.name \"$NAME\"",
            "git config user.email a@b.example",
            "git config core.autocrlf input",
            "git config pull.rebase true",
            "git config init.defaultBranch main",
            "git config core.editor",
            "git config --get core.pager",
            "git config --unset core.hooksPath",
            "git config list",
            "git config alias.st status",
            "git -c core.hooksPath=/dev/null config user.name x",
            "git clone -c core.autocrlf=false . d",
            "git clone -b config . d",
            "git clone --depth 1 . d",
            "git init -b main d",
            "git init --bare mirror.git",
            "git init --template= d",
        ] {
            assert_eq!(verdicts(&mut world, &shell(command)), [Allow; 4], "{command}");
        }
    }
    let mut ruled = World::new(FULL, &["allow Shell(git config core.pager cat)"]);
    assert_eq!(verdicts(&mut ruled, &shell("git config core.pager cat")), [Allow; 4]);
}

#[test]
fn z2_a_yes_to_a_command_beside_foreign_words_is_told_what_it_does_not_change() {
    let mut world = World::new(FULL, &[]);
    let says = |world: &World| {
        let reason = world.effects(shell("echo x > AGENTS.md")).reason.unwrap_or_default();
        reason.contains("what is new is taken back. A file tool writes it")
    };
    assert!(!says(&world));
    world.label = labelled(Taint::External);
    assert!(says(&world));
}

#[test]
fn a11_a_reading_server_is_told_nothing_private_without_a_person() {
    use Verdict::{Allow, Ask};
    let query = |words: &[&str]| Effects {
        queries: vec![QueryEffect {
            server: "mcp:web".into(),
            words: words.iter().map(ToString::to_string).collect(),
        }],
        ..Effects::default()
    };
    let mut world = World::new(FULL, &["allow Mcp(web:*)"]);
    assert_eq!(verdicts(&mut world, &query(&[])), [Allow; 4]);
    assert_eq!(verdicts(&mut world, &query(&["hunter2"])), [Allow, Allow, Allow, Ask]);
    assert!(is_warned(&mut world, &query(&["hunter2"])), "no rule lifts it");
    world.said = vec!["look for ferris wheels, please".into()];
    assert_eq!(verdicts(&mut world, &query(&["ferris wheels"])), [Allow; 4]);
    assert!(is_warned(&mut world, &query(&["ferris wheels", "hunter2"])));
    let blocks = vec![MessageBlock::text("issue 4711 is open")];
    let result = MessageBlock::Result { call: CallId(1), ok: true, blocks };
    world.history = vec![Arc::new(Message::user(vec![result]))];
    assert_eq!(verdicts(&mut world, &query(&["4711"])), [Allow, Allow, Allow, Ask]);
    assert!(!is_warned(&mut world, &query(&["4711"])));
}

#[test]
fn a12_feeding_a_job_with_network_is_a_command_with_network() {
    use Verdict::{Allow, Ask};
    let feed = FeedEffect {
        job: "j1".into(),
        command: "while read l; do sh -c \"$l\"; done".into(),
        hosts: vec!["evil.example".into()],
    };
    let fed = Effects { jobs: vec!["j1".into()], feeds: vec![feed], ..Effects::default() };
    let quiet = Effects { jobs: vec!["j1".into()], ..Effects::default() };
    let mut world = World::new(FULL, &[]);
    assert_eq!(verdicts(&mut world, &fed), [Allow, Allow, Allow, Ask]);
    assert_eq!(verdicts(&mut world, &quiet), [Allow; 4]);
}

#[test]
fn a10_a_folder_that_holds_what_later_runs_is_judged_like_it() {
    let grant = |path: &str| {
        let path = PathEffect { recursive: true, ..outside(path) };
        Effects { paths: vec![path], ..Effects::default() }
    };
    let mut world = World::new(FULL, &[]);
    for folder in ["/home/me/.config", "/home/me", "/home/me/.config/fish"] {
        assert!(is_warned(&mut world, &grant(folder)), "{folder}");
    }
    assert!(!is_warned(&mut world, &grant("/srv/data")));
}

#[test]
fn a10_a_link_is_judged_like_the_folder_that_it_stands_for() {
    let moved = |to: &str, after: FileState| Effects {
        paths: vec![path(PathAccess::MoveTo, to)],
        changes: vec![PlannedChange { path: to.into(), before: FileState::Absent, after }],
        ..Effects::default()
    };
    let unannounced = |to: &str, after: FileState| Effects {
        paths: vec![path(PathAccess::MoveTo, "x")],
        ..moved(to, after)
    };
    let link = || FileState::Link { target: "q".into() };
    let mut world = World::new(FULL, &[]);
    for to in [".cargo", "sub/.config", ".github"] {
        assert!(is_warned(&mut world, &moved(to, link())), "{to}");
        assert!(is_warned(&mut world, &unannounced(to, link())), "{to}");
        assert!(!is_warned(&mut world, &moved(to, FileState::Folder)), "an empty folder: {to}");
    }
    for to in ["tool", "src/cargo", "q"] {
        assert!(!is_warned(&mut world, &moved(to, link())), "{to}");
    }
}

fn outside(at: &str) -> PathEffect {
    PathEffect { place: PathPlace::Outside, ..path(PathAccess::Write, at) }
}

#[test]
fn z8_what_a_sandbox_contains_flows_like_a_confined_command() {
    use Verdict::{Allow, Ask, Deny};
    let unknown = Effects { unknown: true, ..Effects::default() };
    let contained = Effects { contained: true, ..unknown.clone() };
    let mut full = World::new(FULL, &[]);
    assert_eq!(verdicts(&mut full, &unknown), [Ask; 4]);
    assert_eq!(verdicts(&mut full, &contained), [Allow; 4]);
    let mut ask = World::new(ASK, &[]);
    assert_eq!(verdicts(&mut ask, &contained), [Ask; 4], "the mode still asks");
    let mut plan = World::new(PLAN, &[]);
    assert_eq!(verdicts(&mut plan, &contained), [Deny; 4], "the mode plan runs nothing unknown");
}

#[test]
fn z2_fetching_follows_the_label() {
    use Verdict::{Allow, Ask};
    let mut open = World::new(FULL, &[]);
    let page = web("GET", "docs.example");
    assert_eq!(verdicts(&mut open, &page), [Allow, Ask, Ask, Ask]);
    assert!(is_warned(&mut open, &page), "nobody asked for it");
    for asked in ["read https://docs.example/ and tell me", "read docs.example, please"] {
        open.said = vec![asked.into()];
        assert_eq!(verdicts(&mut open, &page), [Allow, Ask, Ask, Ask]);
        assert!(!is_warned(&mut open, &page), "{asked}");
    }
    open.said = vec!["read docs.example.evil.example, please".into()];
    assert!(is_warned(&mut open, &page));
    let mut listed = World::new(FULL, &["allow Web(docs.example)"]);
    assert_eq!(verdicts(&mut listed, &page), [Allow; 4]);
    let built = Effects {
        hosts: vec![HostEffect {
            method: "GET".into(),
            host: "docs.example".into(),
            url: "https://docs.example/x?d=c2VjcmV0".into(),
            secret: None,
        }],
        ..Effects::default()
    };
    assert_eq!(verdicts(&mut listed, &built), [Allow, Allow, Allow, Ask]);
    assert!(is_warned(&mut listed, &built));
    let result = MessageBlock::Result {
        call: CallId(1),
        ok: true,
        blocks: vec![MessageBlock::text("next: https://docs.example/x?d=c2VjcmV0 (page 2)")],
    };
    listed.history = vec![Arc::new(Message::user(vec![result]))];
    // Which of many links is followed can spell something out: a person sees each.
    assert_eq!(verdicts(&mut listed, &built), [Allow, Allow, Allow, Ask]);
    assert!(!is_warned(&mut listed, &built));
    // The model's own words make nothing clean.
    let said = MessageBlock::text("https://docs.example/x?d=c2VjcmV0");
    listed.history = vec![Arc::new(Message::assistant(vec![said]))];
    assert!(is_warned(&mut listed, &built));
}

#[test]
fn z2_a_name_or_port_below_a_listed_host_carries_as_much_as_a_path() {
    use Verdict::{Allow, Ask};
    let mut listed = World::new(FULL, &["allow Web(docs.example)"]);
    let at = |host: &str, url: &str| Effects {
        hosts: vec![HostEffect {
            method: "GET".into(),
            host: host.into(),
            url: url.into(),
            secret: None,
        }],
        ..Effects::default()
    };
    let below = at("c2vjcmv0.docs.example", "https://c2vjcmv0.docs.example/");
    assert_eq!(verdicts(&mut listed, &below), [Allow, Allow, Allow, Ask]);
    assert!(is_warned(&mut listed, &below));
    let port = at("docs.example", "https://docs.example:51234/");
    assert_eq!(verdicts(&mut listed, &port), [Allow, Allow, Allow, Ask]);
    assert!(is_warned(&mut listed, &port));
    let mut named = World::new(FULL, &["allow Web(sub.docs.example)"]);
    let bare = at("sub.docs.example", "https://sub.docs.example/");
    assert_eq!(verdicts(&mut named, &bare), [Allow; 4]);
}

#[test]
fn z2_sending_needs_a_recipient_of_the_person() {
    use Verdict::Ask;
    let mail = Effects {
        sends: vec![SendEffect { recipient: "bob@a.example".into(), by: "mail".into() }],
        ..Effects::default()
    };
    let mut world = World::new(FULL, &[]);
    assert_eq!(verdicts(&mut world, &mail), [Ask; 4]);
    assert!(is_warned(&mut world, &mail));
    world.said = vec!["write to Bob@A.example that I am late".into()];
    assert_eq!(verdicts(&mut world, &mail), [Ask; 4]);
    assert!(!is_warned(&mut world, &mail));
    world.said = vec!["write to evilbob@a.example".into()];
    assert!(is_warned(&mut world, &mail));
    let post = web("POST", "docs.example");
    let mut world = World::new(FULL, &["allow Web(docs.example)"]);
    use Verdict::Allow;
    assert_eq!(verdicts(&mut world, &post), [Allow, Allow, Ask, Ask]);
}

#[test]
fn z2_commands_with_network_need_a_person() {
    use Verdict::{Allow, Ask};
    let confined = shell("make");
    let mut world = World::new(FULL, &[]);
    assert_eq!(verdicts(&mut world, &confined), [Allow; 4]);
    let mut open = confined.clone();
    open.commands[0].tier = Tier::None;
    assert_eq!(verdicts(&mut world, &open), [Ask; 4]);
    let mut granted = confined.clone();
    granted.commands[0].hosts = vec!["crates.example".into()];
    assert_eq!(verdicts(&mut world, &granted), [Ask; 4]);
    let mut leased = World::new(FULL, &["allow Shell(make)"]);
    assert_eq!(verdicts(&mut leased, &granted), [Allow, Allow, Allow, Ask]);
}

#[test]
fn u1_what_later_runs_is_written_from_foreign_words_only_by_a_warned_person() {
    use Verdict::{Allow, Ask};
    for name in ["AGENTS.md", ".github/workflows/ci.yml", "sub/.envrc", ".husky/pre-commit"] {
        let write = Effects { paths: vec![path(PathAccess::Write, name)], ..Effects::default() };
        let mut world = World::new(FULL, &[]);
        assert_eq!(verdicts(&mut world, &write), [Ask; 4], "{name}");
        assert!(is_warned(&mut world, &write));
        let mut allowed = World::new(FULL, &["allow Edit(**)"]);
        assert_eq!(verdicts(&mut allowed, &write), [Allow, Allow, Ask, Ask], "{name}");
        assert!(is_warned(&mut allowed, &write), "no rule lifts it");
    }
    let write = Effects { paths: vec![path(PathAccess::Write, "src/a.rs")], ..Effects::default() };
    assert_eq!(verdicts(&mut World::new(FULL, &[]), &write), [Allow; 4]);
}

#[test]
fn c3_plan_runs_what_cannot_write() {
    let mut confined = shell("ls");
    confined.commands[0].read_only = true;
    assert_eq!(World::new(PLAN, &[]).effects(confined.clone()).verdict, Verdict::Allow);
    confined.commands[0].hosts = vec!["a.example".into()];
    assert_eq!(World::new(PLAN, &[]).effects(confined.clone()).verdict, Verdict::Deny);
    confined.commands[0] =
        CommandEffect { tier: Tier::None, hosts: Vec::new(), ..confined.commands[0].clone() };
    assert_eq!(World::new(PLAN, &["allow Shell"]).effects(confined).verdict, Verdict::Deny);
}

proptest! {
    #[test]
    fn z2_every_verdict_of_the_table_names_its_row(
        effects in any_effects(),
        taint in proptest::sample::select(Taint::ALL.to_vec()),
    ) {
        let mut world = World::new(FULL, &[]);
        world.label = labelled(taint);
        for opinion in world.effects(effects).gates {
            if opinion.gate == GateName::Labels {
                let rule = opinion.rule.unwrap_or_default();
                prop_assert!(rule.starts_with("flow table: ") && rule.ends_with(taint.as_str()));
            }
        }
    }
}
