//! One question about several steps of a program (U8) on the command line: its lines, the answers
//! that it takes, and what one of them lets happen. Not here: which steps stand in one question
//! (`scenarios`).

use serde_json::json;
use weir_test_kit::TestInstallation;

use super::*;
use crate::mcp_servers_run::confined;

/// A server that says it sent what it was given.
const POST: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"post","version":"1"}}' ;;
  *'"tools/list"'*) r='{"tools":[{"name":"send","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}}}}]}' ;;
  *'"tools/call"'*) r='{"content":[{"type":"text","text":"sent"}]}' ;;
  *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

const SETTINGS: &str = r#"[mcp_servers.post]
command = "sh"
args = ["post.sh"]
hosts = ["post.example"]
[mcp_servers.post.tools.send]
sends = { to = ["to"], content = ["text"] }
"#;

/// What the program does for the task.
const TELL: &str = "const tell = to => mcp__post__send({ to, text: 'We meet at ten.' });\n\
    await Promise.all([tell('ada@x.example'), write_file({ path: 'told.md', content: 'both\\n' }), \
    tell('bob@x.example')]);\nreturn 'told';";
const TASK: &str = "Tell ada@x.example and Bob that we meet at ten, and note it.";
const LINES: [&str; 3] = [
    "    1. mcp__post__send → ada@x.example (you wrote it): Call send of the server post",
    "    2. write_file: Create told.md",
    "    3. mcp__post__send → bob@x.example (the agent chose it): Call send of the server post",
];

fn house_with_post() -> TestInstallation {
    let call = json!({ "tool": "run_program", "arguments": { "code": TELL } });
    let find = "calls: find_tool {\"query\": \"run_program\"}";
    let house = house(&format!("{find}\n\ncalls: call_tool {call}\n\nsays: Done.\n"));
    house.write(&house.at("work/post.sh"), POST);
    house.write(&house.user_config(), SETTINGS);
    house.ok(&["mcp-servers", "approve", "post", "--yes"]);
    house
}

#[test]
fn u8_one_question_about_several_steps_is_listed_shown_and_answered_line_by_line() {
    if !confined() {
        return;
    }
    let house = house_with_post();
    let run = start(&house, &[TASK]);
    let open = asked(&house, &[]);
    let (id, session) = (text(&open["approval"]), text(&open["session"]));
    let shown = house.ok(&["approvals", "show", &id]);
    for (listed, words) in [(house.ok(&["approvals", "list"]), "list"), (shown.clone(), "show")] {
        let at: Vec<_> = LINES.iter().map(|line| listed.find(line)).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{words}: {at:?} in {listed}");
    }
    for words in [
        "3 steps, allowed or refused together",
        "      text: We meet at ten.",
        "    +both",
        "an answer is for all of these steps, this once, and for nothing else",
    ] {
        assert!(shown.contains(words), "{words} is missing in {shown}");
    }
    // What would last is not to be had.
    for answered in [answer(&house, &id, &["session"]), answer(&house, &id, &["always"])] {
        assert_eq!(answered.status, 2, "{} {}", answered.out, answered.err);
    }
    assert_eq!(house.facts_of_kind(&session, "approval.resolved").len(), 0);
    assert_eq!(read(&house, "work/told.md"), "", "nothing happens without an answer");

    assert_eq!(answer(&house, &id, &["once"]).status, 0);
    let output = run.wait_for_end();
    assert_eq!((output.status, output.out.as_str()), (0, "Done.\n"), "{}", output.err);
    assert_eq!(read(&house, "work/told.md"), "both\n");
    let finished = house.facts_of_kind(&session, "call.finished");
    let sent = finished.iter().filter(|fact| fact["tool"] == "mcp__post__send");
    assert_eq!(sent.filter(|fact| fact["ok"] == true).count(), 2, "{finished:?}");
    assert_eq!(house.facts_of_kind(&session, "approval.requested").len(), 1);
}
