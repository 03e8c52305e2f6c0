//! Definitions: what is wrong with one, what a call of one declares, and what a person sees of it. Not
//! here: running one.

use serde_json::json;

use super::*;

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "count_words".into(),
        description: "Counts the words of a file.".into(),
        input_schema: json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "out": { "type": "string" } }
        }),
        code: "export function run(input, host) {\n  return 1;\n}\n".into(),
        effects: DeclaredEffects {
            reads: vec!["{{input.path}}".into()],
            ..DeclaredEffects::default()
        },
    }
}

const BUILT_IN: &[&str] = &["read_file", "run_shell"];

fn found(change: impl FnOnce(&mut ToolDefinition)) -> String {
    let mut changed = definition();
    change(&mut changed);
    changed.findings(BUILT_IN).join("; ")
}

#[test]
fn t5_a_sound_definition_has_no_findings() {
    assert_eq!(definition().findings(BUILT_IN), Vec::<String>::new());
}

/// `(name, what is said)`
#[test]
fn t5_no_tool_takes_a_name_that_is_not_its_own() {
    for (name, said) in [
        ("read_file", "built-in"),
        ("readfile", "built-in"),
        ("read__file", "built-in"),
        ("mcp__git__push", "foreign servers"),
        ("Read_file", "lower-case"),
        ("r\u{435}ad_file", "lower-case"),
        ("a b", "lower-case"),
        ("ab", "3 to"),
        ("9lives", "begin with a letter"),
        ("", "3 to"),
        ("../x", "lower-case"),
    ] {
        let problem = name_problem(name, BUILT_IN).unwrap_or_default();
        assert!(problem.contains(said), "{name}: {problem}");
    }
    assert_eq!(name_problem("read_files_of", BUILT_IN), None);
}

#[test]
fn t5_bad_schemas_are_named() {
    let deep = (0..40).fold(json!({}), |inner, _| json!({ "properties": { "a": inner } }));
    for (schema, said) in [
        (json!({ "type": "string" }), "\"type\": \"object\""),
        (json!("x"), "\"type\": \"object\""),
        (json!({ "type": "object", "properties": { "a": { "$ref": "#" } } }), "$ref"),
        (json!({ "type": "object", "x": deep }), "levels deep"),
        (json!({ "type": "object", "x": "y".repeat(20_000) }), "bytes"),
    ] {
        let said_of = found(|d| {
            d.input_schema = schema.clone();
            d.effects = DeclaredEffects::default();
        });
        assert!(said_of.contains(said), "{schema}: {said_of}");
    }
}

#[test]
fn z11_code_that_a_person_would_not_see_is_refused() {
    for (code, said) in [
        ("export const run = () => '\u{202e}x'", "U+202E"),
        ("export const run = () => 1 // \u{200b}", "U+200B"),
        ("export const run = () => 1\rhost.call()", "U+000D"),
        ("export const run = () => '\u{1b}[2J'", "U+001B"),
        (" ", "empty"),
    ] {
        let said_of = found(|d| d.code = code.into());
        assert!(said_of.contains(said), "{code:?}: {said_of}");
    }
    let far = format!("export const run = () => 1;{}host.call('x')", " ".repeat(400));
    assert!(found(|d| d.code = far).contains("characters, at most 300"));
    let below = format!("export const run = 1\n{}host.call('x')", "\n".repeat(40));
    assert!(found(|d| d.code = below).contains("empty one in a row"));
    assert!(found(|d| d.code = "x\n".repeat(40_000)).contains("bytes"));
    assert!(found(|d| d.description = "a\u{200d}b".into()).contains("U+200D"));
    assert!(found(|d| d.effects.reads = vec!["a\u{202e}b".into()]).contains("U+202E"));
    let mixed = ToolDefinition { code: "const h\u{43e}st = 1".into(), ..definition() };
    assert!(mixed.describe_definition().contains("mixes"), "{}", mixed.describe_definition());
}

/// `(template, what is said)`
#[test]
fn t5_bad_templates_are_named() {
    for (template, said) in [
        ("{{input.nothing}}", "no field"),
        ("{{path}}", "{{input.FIELD}}"),
        ("{{ input.path }}", "without blanks"),
        ("{{input.path", "no `}}`"),
        ("src/*.rs", "trailing /**"),
        ("**", "trailing /**"),
        ("/**", "names nothing"),
        ("", "names nothing"),
    ] {
        let said_of = found(|d| d.effects.reads = vec![template.into()]);
        assert!(said_of.contains(said), "{template}: {said_of}");
    }
    for host in ["https://a.example", "a.example/x", "*.example", "a@b", "a:80"] {
        let declared = vec![DeclaredHost { method: "GET".into(), host: host.into() }];
        let said_of = found(|d| d.effects.hosts = declared);
        assert!(said_of.contains("a name alone"), "{host}: {said_of}");
    }
    let method = vec![DeclaredHost { method: "CONNECT".into(), host: "a.example".into() }];
    assert!(found(|d| d.effects.hosts = method).contains("no method"));
}

#[test]
fn t5_arguments_are_filled_into_what_is_declared() {
    let tool = ToolDefinition {
        effects: DeclaredEffects {
            reads: vec!["{{input.path}}".into(), "{{input.path}}/**".into(), "docs/**".into()],
            writes: vec!["out/{{input.out}}.md".into()],
            deletes: Vec::new(),
            hosts: vec![DeclaredHost { method: "GET".into(), host: "{{input.path}}".into() }],
            tools: Vec::new(),
        },
        ..definition()
    };
    let wish = |path: &str, tree| PathWish { path: path.into(), tree };
    let declared =
        tool.declare_call(&json!({ "path": "src/**", "out": 3 })).expect("it is declared");
    // Stars of an argument are letters, never a pattern.
    let reads = vec![wish("src/**", false), wish("src/**", true), wish("docs", true)];
    assert_eq!(declared.reads, reads);
    assert_eq!(declared.writes, [wish("out/3.md", false)]);
    assert_eq!(declared.hosts, [("GET".to_string(), "src/**".to_string())]);
    // What is not there declares nothing.
    let less = tool.declare_call(&json!({ "out": "{{input.path}}" })).expect("it is declared");
    assert_eq!(less.reads, [wish("docs", true)]);
    assert_eq!(less.writes, [wish("out/{{input.path}}.md", false)], "filled in once");
    for (input, said) in [
        (json!({ "path": "" }), "is empty"),
        (json!({ "path": ["a"] }), "must be text"),
        (json!({ "path": { "a": 1 } }), "must be text"),
    ] {
        let why = tool.declare_call(&input).expect_err("it cannot be filled in");
        assert!(why.contains(said), "{input}: {why}");
    }
}

#[test]
fn z9_every_change_changes_the_hash_and_no_other_way_to_write_it_does() {
    let hash = definition().hash();
    let again: ToolDefinition =
        ToolDefinition::parse(&definition().to_json_text()).expect("its own text");
    assert_eq!(again.hash(), hash);
    let other = ToolDefinition { code: format!("{} ", definition().code), ..definition() };
    assert_ne!(other.hash(), hash);
    let mut wider = definition();
    wider.effects.reads.push(".env".into());
    assert_ne!(wider.hash(), hash);
    assert!(ToolDefinition::parse("{\"name\": \"x\"}").is_err());
    assert!(ToolDefinition::parse("not JSON").is_err());
}

#[test]
fn z9_all_of_it_is_shown() {
    let shown = definition().describe_definition();
    for part in ["count_words", "reads {{input.path}}", "return 1;", "\"out\""] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let plain = ToolDefinition { effects: DeclaredEffects::default(), ..definition() };
    assert!(plain.describe_definition().contains("nothing: it computes"));
}
