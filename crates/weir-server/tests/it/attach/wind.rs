//! Winding back from a face on a server: files after a look, and files that the original of a copy
//! changed (G7).

use super::*;

const SCRIPT: &str = "name: test\n\n\
    says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"one\\n\"}\n\n\
    says: One is written.\n\n\
    says: Again.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"two\\n\"}\n\n\
    says: Two is written.\n\n\
    says: Again.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"three\\n\"}\n\n\
    says: Three is written.\n";

async fn winding() -> (TestServer, Browser, RunningProgram, std::path::PathBuf) {
    let config = "permission = \"auto-edit\"\n";
    let mut served =
        TestServer::start(ServerSetup { script: SCRIPT, config, ..ServerSetup::default() }).await;
    let file = served.house.work().join("a.txt");
    served.house.write(&file, "zero\n");
    let (admin, face) = attached(&mut served).await;
    (served, admin, face, file)
}

fn text(file: &std::path::Path) -> String {
    std::fs::read_to_string(file).expect("readable")
}

/// Goes to the preview of the message with this number in the list, which is as long as `told`.
async fn looks(face: &mut RunningProgram, number: &str, told: usize) {
    face.type_line("/rewind");
    face.until("Type a number to go back", told).await;
    face.type_line(number);
    face.until("What should go back?", told).await;
}

#[tokio::test]
async fn g7_attach_files_are_wound_back_after_a_look_and_brought_back() {
    let (_served, admin, mut face, file) = winding().await;
    face.type_line("First.");
    face.until("One is written.", 1).await;
    face.type_line("Second.");
    face.until("Two is written.", 1).await;
    let first = session(&admin).await;
    admin.until_status(&first, "completed").await;
    looks(&mut face, "1", 1).await;
    let said = face.text();
    assert!(said.contains("1 file would change"), "{said}");
    assert!(said.contains("-two") && !said.contains("-one"), "{said}");
    assert_eq!(text(&file), "zero\none\ntwo\n", "a look changes nothing");
    face.type_line("no");
    face.until("Nothing was changed.", 1).await;
    looks(&mut face, "2", 2).await;
    assert!(face.text().contains("-one"), "{}", face.text());
    face.type_line("files");
    face.until("put back: a.txt", 1).await;
    assert_eq!(text(&file), "zero\n");
    assert_eq!(session(&admin).await, first, "the conversation stays");
    assert_eq!(count(&admin.facts(&first).await, "checkpoint.restored"), 1);
    face.type_line("/undo");
    face.until("put back: a.txt", 2).await;
    assert_eq!(text(&file), "zero\none\ntwo\n");
}

#[tokio::test]
async fn g7_attach_a_copy_winds_back_what_its_original_changed() {
    let (_served, admin, mut face, file) = winding().await;
    face.type_line("First.");
    face.until("One is written.", 1).await;
    face.type_line("Second.");
    face.until("Two is written.", 1).await;
    let first = session(&admin).await;
    admin.until_status(&first, "completed").await;
    face.type_line("/fork");
    face.type_line("Third.");
    face.until("Three is written.", 1).await;
    let copy = copy_of(&admin, &first).await;
    admin.until_status(&copy, "completed").await;
    // What was said in the copy has nothing to do with the original.
    looks(&mut face, "1", 1).await;
    let said = face.text();
    assert!(said.contains("-three") && !said.contains("-two"), "{said}");
    assert!(!said.contains("this session is a copy"), "{said}");
    face.type_line("no");
    looks(&mut face, "3", 2).await;
    let said = face.text();
    assert!(said.contains(&format!("goes back too ({first})")), "{said}");
    assert!(said.contains("-one") && said.contains("-two"), "{said}");
    face.type_line("both");
    face.until("put back: a.txt", 1).await;
    assert_eq!(text(&file), "zero\n");
    assert_eq!(count(&admin.facts(&copy).await, "checkpoint.restored"), 1, "noted in the copy");
    assert_eq!(count(&admin.facts(&first).await, "checkpoint.restored"), 0);
    // The conversation went back too: the next answer is the first again.
    face.type_line("First once more.");
    face.until("One is written.", 2).await;
    assert_eq!(text(&file), "zero\none\n");
}

#[tokio::test]
async fn g7_attach_what_a_removed_original_changed_is_said_to_stay() {
    let (_served, admin, mut face, file) = winding().await;
    face.type_line("First.");
    face.until("One is written.", 1).await;
    let first = session(&admin).await;
    admin.until_status(&first, "completed").await;
    face.type_line("/fork");
    face.type_line("Second.");
    face.until("Two is written.", 1).await;
    let copy = copy_of(&admin, &first).await;
    admin.until_status(&copy, "completed").await;
    let (status, said) = admin.api("DELETE", &format!("/api/v1/sessions/{first}"), None).await;
    assert_eq!(status, 204, "{said}");
    looks(&mut face, "2", 1).await;
    let said = face.text();
    assert!(said.contains(&format!("a copy of {first}, which is not there any more")), "{said}");
    assert!(said.contains("-two") && !said.contains("-one"), "{said}");
    face.type_line("files");
    face.until("put back: a.txt", 1).await;
    assert_eq!(text(&file), "zero\none\n", "what it changed stays");
    assert_eq!(face.text().matches("which is not there any more").count(), 2, "{}", face.text());
}
