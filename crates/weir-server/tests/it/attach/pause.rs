//! The kill switch of a server, thrown and released from a face and from the browser (S4).

use super::*;

#[tokio::test]
async fn s4_attach_the_switch_is_seen_whoever_throws_it_and_released_from_here() {
    let script = "name: test\n\nsays: First answer.\n\nsays: Second answer.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let (admin, mut face) = attached(&mut served).await;
    face.type_line("One.");
    face.until("First answer.", 1).await;
    let session = session(&admin).await;
    admin.until_status(&session, "completed").await;
    // Nothing runs, so the session's journal says nothing of it.
    let lunch = json!({ "reason": "lunch" });
    let (status, said) = admin.api("POST", "/api/v1/pause", Some(lunch)).await;
    assert_eq!(status, 200, "{said}");
    face.until("paused by admin (lunch)", 1).await;
    face.type_line("Two.");
    face.until("not sent: paused", 1).await;
    face.type_line("/release");
    face.until("Released: runs may start again.", 1).await;
    assert_eq!(admin.api("GET", "/api/v1/pause", None).await.1["paused"], false);
    face.type_line("Two again.");
    face.until("Second answer.", 1).await;
    assert_eq!(count(&admin.facts(&session).await, "input.accepted"), 2);
    face.type_line("/pause tea");
    face.until("(tea)", 1).await;
    let (_, now) = admin.api("GET", "/api/v1/pause", None).await;
    assert_eq!((&now["paused"], &now["reason"]), (&json!(true), &json!("tea")));
    let (status, said) = admin.api("POST", "/api/v1/release", Some(json!({}))).await;
    assert_eq!(status, 200, "{said}");
    face.until("Released: runs may start again.", 2).await;
    face.type_line("/release");
    face.until("were not paused", 1).await;
}

#[tokio::test]
async fn s4_attach_a_run_that_the_switch_ends_is_told_and_one_of_everybody_is_the_admins() {
    let script = "name: test\n\n\
        says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"a\\n\"}\n\n\
        says: Not written.\n";
    let mut served = TestServer::start(ServerSetup { script, ..ServerSetup::default() }).await;
    let ann = served.person("ann").await;
    let token = token(&ann).await;
    let url = served.url("");
    let mut face = served.house.start_face(&[("WEIR_TOKEN", &token)], &["--attach", &url]);
    face.type_line("Write.");
    waiting(&ann, "a.txt").await;
    let admin = served.admin().await;
    let drill = json!({ "all": true, "reason": "fire drill" });
    let (status, said) = admin.api("POST", "/api/v1/pause", Some(drill)).await;
    assert_eq!(status, 200, "{said}");
    face.until("stopped by the kill switch", 1).await;
    face.until("everybody's sessions on the server are paused", 1).await;
    face.type_line("/release");
    face.until("everybody is paused; an admin releases that", 1).await;
    // Whoever comes now is told at once.
    let mut late = served.house.start_face(&[("WEIR_TOKEN", &token)], &["--attach", &url]);
    late.until("everybody's sessions on the server are paused", 1).await;
    let (_, now) = admin.api("POST", "/api/v1/release", Some(json!({ "all": true }))).await;
    assert_eq!(now["paused"], false, "{now}");
    face.until("Released: runs may start again.", 1).await;
}
