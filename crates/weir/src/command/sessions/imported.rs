//! Sessions of other agents that `weir import` took: listed, shown and searched (R8). They are
//! foreign text, not journals, so none of it is mixed with Weir's own sessions.

use serde_json::json;
use weir_core::governance::filter::one_line;
use weir_core::view::plain::visible_text;
use weir_install::context::InstallationContext;
use weir_install::import::{
    ImportedHistoryHead, find_imported_history, list_imported_histories, search_imported_histories,
};

use crate::options::{SessionsListArgs, SessionsSearchArgs, SessionsShowArgs};
use crate::terminal::{format_table, out_json, out_line};

/// The newest of them.
pub(super) fn list_imported(
    cx: &InstallationContext,
    args: &SessionsListArgs,
) -> anyhow::Result<()> {
    let here = cx.folder.display().to_string();
    let mut heads = list_imported_histories(cx);
    heads.retain(|head| !args.here || head.workspace == here);
    heads.truncate(args.limit);
    if args.json.json {
        return out_json(&heads);
    }
    if heads.is_empty() {
        return out_line("No imported sessions; `weir import AGENT` takes those of another agent.");
    }
    let head = ["id", "agent", "when", "workspace", "title"].map(String::from);
    let row = |head: &ImportedHistoryHead| {
        [&head.id, &head.agent, &head.started, &head.workspace, &head.title]
            .map(|text| one_line(text))
            .to_vec()
    };
    let mut rows = vec![head.to_vec()];
    rows.extend(heads.iter().map(row));
    out_line(&format_table(&rows))
}

/// What was said in one.
pub(super) fn show_imported(
    cx: &InstallationContext,
    args: &SessionsShowArgs,
) -> anyhow::Result<()> {
    let (head, lines) = find_imported_history(cx, &args.session)?;
    if args.json.json {
        let mut value = json!(head);
        value["said"] = json!(lines);
        return out_json(&value);
    }
    let mut text = format!(
        "{} of {}, imported from {}\nForeign text: nothing of it was judged or recorded by Weir.\n",
        one_line(&head.id),
        one_line(&head.agent),
        one_line(&head.source)
    );
    for line in &lines {
        text.push_str(&format!("\n{}:\n", one_line(&line.role)));
        // Indented, so that nothing that was said looks like what somebody else said.
        for words in line.text.lines() {
            text.push_str(&format!("  {}\n", visible_text(words)));
        }
    }
    out_line(text.trim_end())
}

/// Where words stand in them.
pub(super) fn search_imported(
    cx: &InstallationContext,
    args: &SessionsSearchArgs,
) -> anyhow::Result<()> {
    let hits = search_imported_histories(cx, &args.words, args.limit);
    if args.json.json {
        let hits = hits.iter().map(|(head, around)| {
            json!({"session": head.id, "agent": head.agent, "label": head.label, "snippet": around})
        });
        return out_json(&hits.collect::<Vec<_>>());
    }
    if hits.is_empty() {
        let words = one_line(&args.words.join(" "));
        return out_line(&format!("No imported session contains all of these words: {words}"));
    }
    let row = |(head, around): &(ImportedHistoryHead, String)| {
        vec![one_line(&head.id), one_line(&head.agent), one_line(around)]
    };
    out_line(&format_table(&hits.iter().map(row).collect::<Vec<_>>()))
}
