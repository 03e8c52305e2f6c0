//! What is looked up beside the conversation: files, sessions, choices, texts, commands of one's own.

use weir_tui::link::{ReportKind, ShellNews};

use super::*;

async fn ended(face: &mut Face, wanted: u64) -> (String, bool, String, String) {
    let mut printed = String::new();
    loop {
        let news = face.until("the shell", |news| matches!(news, UiUpdate::Shell { .. })).await;
        match news {
            UiUpdate::Shell { ticket, news: ShellNews::Output(text) } if ticket == wanted => {
                printed.push_str(&text);
            }
            UiUpdate::Shell { ticket, news: ShellNews::Ended { status, ok, shown } }
                if ticket == wanted =>
            {
                return (status, ok, shown, printed);
            }
            _ => (),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_a_command_of_ones_own_runs_in_the_folder_and_ends_when_asked() {
    let house = House::new("says: hello\n");
    let mut face = house.face().await;
    let command = "cat note.txt; echo wrong >&2; exit 3".to_owned();
    face.wish(UiCommand::Shell { command, ticket: 1 }).await;
    let (status, ok, shown, printed) = ended(&mut face, 1).await;
    assert_eq!((status.as_str(), ok), ("exit 3", false));
    assert!(printed.contains("one") && printed.contains("wrong"), "{printed}");
    assert!(shown.contains("$ cat note.txt") && shown.contains("exit 3"), "{shown}");

    // What it started ends with it, and it has no terminal.
    let command = "sleep 600 & echo $!; cat; wait".to_owned();
    face.wish(UiCommand::Shell { command, ticket: 2 }).await;
    let is_out =
        |news: &UiUpdate| matches!(news, UiUpdate::Shell { ticket: 2, news: ShellNews::Output(_) });
    let UiUpdate::Shell { news: ShellNews::Output(child), .. } = face.until("a pid", is_out).await
    else {
        panic!()
    };
    face.wish(UiCommand::EndShell(2)).await;
    let (status, ok, ..) = ended(&mut face, 2).await;
    assert!(!ok && status.starts_with("killed by signal"), "{status}");
    let gone = format!("/proc/{}", child.trim());
    for _ in 0..2_400 {
        if !std::path::Path::new(&gone).exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!std::path::Path::new(&gone).exists(), "{gone} is still there");
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_files_are_found_and_what_is_invisible_is_not() {
    let house = House::new("says: hello\n");
    house.write("work/src/main.rs", "");
    house.write("work/src/remains.txt", "");
    house.write("work/secret/main_key.pem", "");
    house.write("work/.weirignore", "secret/\n");
    let mut face = house.face().await;
    let query = "main".to_owned();
    let ListResult::Files(found) = face.listed(UiCommand::Files { query, ticket: 3 }).await else {
        panic!()
    };
    assert_eq!(found.first().map(String::as_str), Some("src/main.rs"), "{found:?}");
    assert!(!found.iter().any(|path| path.contains("secret")), "{found:?}");
    let query = String::new();
    let ListResult::Files(found) = face.listed(UiCommand::Files { query, ticket: 4 }).await else {
        panic!()
    };
    assert!(found.contains(&"src/".to_owned()), "folders too: {found:?}");
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_sessions_are_listed_found_by_words_and_opened() {
    let house = House::new("says: the harbour is green\n");
    let mut face = house.face().await;
    let query = || String::new();
    let all = UiCommand::Sessions { query: query(), ticket: 1 };
    assert_eq!(face.listed(all.clone()).await, ListResult::Sessions(Vec::new()));
    face.say("what is the colour").await;
    face.finished().await;
    let first = face.id();
    face.wish(UiCommand::Open(SessionTarget::New)).await;
    face.until("a new one", |news| matches!(news, UiUpdate::Opened { session: None, .. })).await;
    face.say("once more please").await;
    face.finished().await;

    let ListResult::Sessions(lines) = face.listed(all).await else { panic!() };
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1].id, first, "the newest first");
    assert_eq!(
        (lines[1].title.as_str(), lines[1].state.as_str()),
        ("what is the colour", "completed")
    );
    let words = UiCommand::Sessions { query: "colour".into(), ticket: 2 };
    let ListResult::Sessions(lines) = face.listed(words).await else { panic!() };
    assert_eq!(lines.iter().map(|line| &line.id).collect::<Vec<_>>(), [&first]);

    face.wish(UiCommand::Open(SessionTarget::Existing(first.clone()))).await;
    face.until("the first", |news| matches!(news, UiUpdate::Opened { .. })).await;
    assert_eq!(face.session, Some(first.clone()));
    // Chosen again, it stays as it is.
    face.wish(UiCommand::Open(SessionTarget::Existing(first.clone()))).await;
    assert!(face.notice(NoticeTone::Quiet).await.contains("open already"));
    face.wish(UiCommand::Open(SessionTarget::Existing(SessionId::new("nobody")))).await;
    assert!(face.notice(NoticeTone::Bad).await.contains("nobody"));
    face.say("still there?").await;
    assert_eq!(face.finished().await, RunStatus::Completed);
    assert_eq!(face.session, Some(first));
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_the_session_is_written_to_a_file_that_is_never_replaced() {
    let house = House::new("says: hello\n");
    let mut face = house.face().await;
    face.wish(UiCommand::Export(String::new())).await;
    assert!(face.notice(NoticeTone::Bad).await.contains("nothing was said"));
    face.say("hi").await;
    face.finished().await;
    for (name, within) in [("a.md", "hello"), ("a.html", "<html"), ("a.jsonl", "\"run.finished\"")]
    {
        face.wish(UiCommand::Export(name.into())).await;
        assert!(face.notice(NoticeTone::Good).await.contains(name));
        let text = house.read(&format!("work/{name}")).expect("it was written");
        assert!(text.contains(within), "{name}: {text}");
        face.wish(UiCommand::Export(name.into())).await;
        assert!(face.notice(NoticeTone::Bad).await.contains("already"));
    }
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_choices_cost_and_calls_are_told() {
    let house = House::new("calls: read_file {\"path\": \"note.txt\"}\n\nsays: read\n");
    let mut face = house.face().await;
    let ListResult::Choices(profiles) = face.listed(UiCommand::Profiles(1)).await else { panic!() };
    assert!(profiles.iter().any(|choice| choice.current && choice.value == "agent"));
    let ListResult::Choices(models) = face.listed(UiCommand::Models(2)).await else { panic!() };
    assert!(models.iter().any(|choice| choice.current && choice.value.starts_with("script/")));
    face.say("read it").await;
    face.finished().await;
    for (report, arguments, within) in [
        (ReportKind::Cost, "", "This session"),
        (ReportKind::Call, "c1", "note.txt"),
        (ReportKind::Call, "1", "one"),
    ] {
        face.wish(UiCommand::Report { report, arguments: arguments.into(), ticket: 9 }).await;
        let text = face.until("a text", |news| matches!(news, UiUpdate::Text { .. })).await;
        let UiUpdate::Text { text, .. } = text else { panic!() };
        assert!(text.contains(within), "{text}");
    }
    let wrong = UiCommand::Report { report: ReportKind::Call, arguments: "c99".into(), ticket: 10 };
    face.wish(wrong).await;
    let failed = face.until("a failure", |news| matches!(news, UiUpdate::Failed { .. })).await;
    assert!(matches!(failed, UiUpdate::Failed { ticket: 10, why } if why.contains("c99")));
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k3_a_file_is_shown_with_what_links_to_it() {
    let house = House::new("says: hello\n");
    for (path, text) in [
        (".obsidian/app.json", "{}"),
        ("Garden.md", "# Garden\n"),
        ("Monday.md", "In the [[Garden]].\n"),
        ("plan.canvas", "{\"nodes\":[]}"),
    ] {
        house.write(&format!("work/{path}"), text);
    }
    let mut face = house.face().await;
    for (path, within) in [
        ("Garden.md", "`Monday.md`, line 1"),
        ("Monday.md", "In the [Garden](<Garden>)."),
        ("Monday.md", "## Links to\n\n- `Garden.md`"),
        ("./plan.canvas", "*An empty canvas.*"),
    ] {
        let report = ReportKind::File;
        face.wish(UiCommand::Report { report, arguments: path.into(), ticket: 9 }).await;
        let text = face.until("a text", |news| matches!(news, UiUpdate::Text { .. })).await;
        let UiUpdate::Text { title, text, .. } = text else { panic!() };
        assert!(text.contains(within), "{text}");
        assert_eq!(title, path.trim_start_matches("./"));
    }
    for (path, why) in
        [("", "name a file"), ("none.md", "there is no file"), ("../note.txt", "no file of this")]
    {
        let report = ReportKind::File;
        face.wish(UiCommand::Report { report, arguments: path.into(), ticket: 10 }).await;
        let failed = face.until("a failure", |news| matches!(news, UiUpdate::Failed { .. })).await;
        assert!(
            matches!(&failed, UiUpdate::Failed { why: said, .. } if said.contains(why)),
            "{failed:?}"
        );
    }
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_the_clipboard_is_looked_at_with_the_programs_environment() {
    let house = House::new("says: hello\n");
    let mut face = house.face().await;
    face.wish(UiCommand::Clipboard(9)).await;
    let news =
        face.until("why not", |news| matches!(news, UiUpdate::Failed { ticket: 9, .. })).await;
    let UiUpdate::Failed { why, .. } = news else { panic!() };
    // The house has no display, whatever the test was started in; a Mac needs none.
    assert!(why.contains("DISPLAY") || cfg!(target_os = "macos"), "{why}");
    face.leave().await;
}
