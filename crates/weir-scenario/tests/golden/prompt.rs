//! The prompt of each built-in profile as it is sent, by section with sizes, as a golden file: who
//! changes a sentence sees what it costs (P1, P4, P6, P7, Q7).

use std::path::Path;

use weir_core::governance::label::Label;
use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{MemoryFact, MemoryKind, MemorySource, MemoryStatus, NewMemory};
use weir_core::profile::{PermissionMode, Profile, built_in_profiles};
use weir_core::prompt::{self, BYTES_PER_TOKEN, PromptScene, SECTIONS, SectionName, Stability};
use weir_core::skill::{SkillLine, SkillNote};
use weir_core::tool::ToolGroup;
use weir_core::tool::defer::ToolLoading;
use weir_engine::scene;
use weir_scenario::profiles::{idle_tool_names, listed, loading};

/// Tokens that the system prompt may have.
const SYSTEM_TOKENS_MAX: usize = 3_000;
/// Bytes that the coding profile's prompt may have together with its tools (Q7).
const CODE_BYTES_MAX: usize = 24_000;
/// Tokens of the window that the golden file is printed for.
const WINDOW: u64 = 200_000;

fn tokens(text: &str) -> usize {
    text.len() / BYTES_PER_TOKEN
}

fn scene_of(profile: &Profile, window: u64) -> PromptScene {
    let permission = profile.permission.unwrap_or(PermissionMode::Ask);
    let ToolLoading { loaded, deferred } =
        loading(profile, permission, window, &idle_tool_names("/nowhere"))
            .expect("names are unique");
    PromptScene {
        conventions: profile.conventions.clone(),
        profile: Some(profile.clone()),
        tools: loaded,
        deferred,
        profiles: listed(),
        window,
        ..PromptScene::default()
    }
}

/// A run that has one of everything.
fn example(profile: &Profile) -> PromptScene {
    let fact = |text: &str, kind: MemoryKind, label: Label| MemoryFact {
        id: MemoryId::new(text),
        fact: NewMemory {
            text: text.into(),
            kind,
            topics: Vec::new(),
            importance: 3,
            workspace: None,
            source: MemorySource::default(),
            label,
            status: MemoryStatus::Kept,
            supersedes: None,
        },
        confirmed: 1,
        superseded_by: None,
        created: Timestamp(0),
        updated: Timestamp(0),
    };
    let skill = |name: &str, about: &str, self_written: bool| SkillLine {
        name: name.into(),
        description: about.into(),
        source: "yours".into(),
        self_written,
        plugin: None,
    };
    PromptScene {
        skills: vec![
            skill("release", "Makes a release. Use it when a version is to be published.", false),
            skill("tidy-imports", "Sorts imports as this repository has them.", true),
        ],
        active: vec![SkillNote {
            arguments: String::new(),
            name: "release".into(),
            source: "yours".into(),
            by: "trigger".into(),
            text: "1. Run the tests.\n2. Tag the commit.".into(),
            label: Label::default(),
        }],
        user: Some("Ada. Prefers short answers.".into()),
        memory: vec![
            fact("Tests run with `just test`.", MemoryKind::Project, Label::default()),
            fact("The API moved to v2.", MemoryKind::Event, Label::external("news.example")),
        ],
        custom: Some("Answer in English.".into()),
        rules: vec![(".weir/rules/style.md".into(), "Use tabs.".into())],
        instructions: vec![
            ("AGENTS.md of the person".into(), "Be brief.".into()),
            ("AGENTS.md".into(), "Run `just ci` before you are done.".into()),
        ],
        deeper: vec![("src/AGENTS.md".into(), "No unwrap here.".into())],
        workspace: Some(
            "Workspace: /home/ada/tool (git branch main)\nTop level: AGENTS.md, src/".into(),
        ),
        clock: Some(scene::clock_sentence("Europe/Zurich", Timestamp(1_700_000_000_000_000))),
        ..scene_of(profile, WINDOW)
    }
}

fn printed(profile: &Profile) -> String {
    let scene = scene_of(profile, WINDOW);
    let system = prompt::system_prompt(&scene);
    let mut text = format!(
        "# {}: system ~{} tokens, {} tools ~{} tokens, {} tools by name\n\n",
        profile.name,
        tokens(&system),
        scene.tools.len(),
        prompt::tool_bytes(&scene.tools) / BYTES_PER_TOKEN,
        scene.deferred.len(),
    );
    let sections = prompt::fitted_sections(&scene);
    for section in sections.iter().filter(|section| section.stability == Stability::Session) {
        let size = tokens(&section.text);
        text.push_str(&format!("== {} (~{size})\n{}\n\n", section.name, section.text));
    }
    let names: Vec<&str> = scene.tools.iter().map(|tool| tool.name.as_str()).collect();
    text.push_str(&format!("== tools with their schemas\n{}\n\n", names.join(", ")));
    text
}

#[test]
fn p6_the_prompt_is_a_golden_file() {
    let profiles = built_in_profiles();
    let mut text: String = profiles.iter().map(printed).collect();
    text.push_str("# notes of a run that has one of everything\n\n");
    for note in prompt::prompt_notes(&example(&profiles[0])) {
        text.push_str(&format!("== {} (~{})\n{}\n\n", note.section, tokens(&note.text), note.text));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/prompt.txt");
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(&path, &text).expect("the folder is writable");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    super::compare("the prompt", &golden, &text).expect("UPDATE=1 rewrites it");
}

#[test]
fn p6_q7_the_prompt_is_small() {
    for profile in built_in_profiles() {
        let scene = scene_of(&profile, WINDOW);
        let system = prompt::system_prompt(&scene);
        assert!(
            tokens(&system) < SYSTEM_TOKENS_MAX,
            "{}: {} tokens",
            profile.name,
            tokens(&system)
        );
        let bytes = system.len() + prompt::tool_bytes(&scene.tools);
        if profile.name == "code" {
            assert!(bytes <= CODE_BYTES_MAX, "Q7: {bytes} bytes of prompt and schemas");
        }
    }
}

#[test]
fn p1_p7_sections_stand_in_order_and_profiles_have_their_tools() {
    let order: Vec<SectionName> = SECTIONS.iter().map(|section| section.name).collect();
    for profile in built_in_profiles() {
        let scene = example(&profile);
        let sections = prompt::render_sections(&scene);
        assert!(sections.iter().all(|s| !s.text.trim().is_empty()), "P1: empty sections vanish");
        let places: Vec<_> =
            sections.iter().map(|s| order.iter().position(|name| *name == s.name)).collect();
        assert!(places.is_sorted(), "P1: sections stand in the order of the list");
        let writes = profile.permission != Some(PermissionMode::Plan);
        let has_edit = scene.has_group(ToolGroup::Edit);
        assert_eq!(
            has_edit,
            profile.groups.contains(&ToolGroup::Edit) && writes,
            "{}",
            profile.name
        );
    }
}

/// Prompt, tools and everything else that a run is told leave a window of 8,000 tokens room for the
/// work, and what must stay is whole.
#[test]
fn p4_a_window_of_8000_tokens_works_with_every_profile() {
    for profile in built_in_profiles() {
        let (window, bytes_per_token) = (8_000, 3.5);
        let small = scene_of(&profile, window);
        let scene = PromptScene {
            tools: small.tools,
            deferred: small.deferred,
            window,
            ..example(&profile)
        };
        let whole = prompt::render_sections(&scene);
        let cut = prompt::fitted_sections(&scene);
        for name in ["profile", "tools", "security"] {
            let text = |all: &[prompt::RenderedSection]| {
                all.iter()
                    .find(|section| section.name.as_str() == name)
                    .map(|section| section.text.clone())
            };
            assert_eq!(text(&cut), text(&whole), "{name} of {}", profile.name);
        }
        let notes: usize = prompt::prompt_notes(&scene).iter().map(|note| note.text.len()).sum();
        let bytes = prompt::system_prompt(&scene).len() + prompt::tool_bytes(&scene.tools) + notes;
        let share = bytes as f64 / bytes_per_token / window as f64;
        assert!(share < 0.62, "{}: {share}", profile.name);
    }
}
