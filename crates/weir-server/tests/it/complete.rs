//! What a composer offers: the same files, in the same order, to pages and to programs.

use serde_json::json;
use weir_test_kit::{ServerSetup, TestServer};

#[tokio::test]
async fn s11_pages_and_programs_are_offered_the_same_files_in_the_same_order() {
    let mut served = TestServer::start(ServerSetup::default()).await;
    for path in
        ["src/main.rs", "src/a main.rs", "docs/domain.md", "m/a/i/n.rs", "no.txt", "hidden/main.c"]
    {
        served.house.write(&served.house.work().join(path), "x\n");
    }
    served.house.write(&served.house.work().join(".weirignore"), "hidden/\n");
    let admin = served.admin().await;
    let (status, made) = admin.api("POST", "/api/v1/sessions", Some(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    let session = made["id"].as_str().expect("an id");
    let expected = ["src/main.rs", "src/a main.rs", "docs/domain.md", "m/a/i/n.rs"];
    for place in [format!("&session={session}"), String::new()] {
        let path = format!("/api/v1/files/find?q=MAin&limit=12{place}");
        let (status, found) = admin.api("GET", &path, None).await;
        assert_eq!((status, &found), (200, &json!(expected)), "{path}");
    }
    for path in [format!("/chats/{session}/complete"), "/complete".to_owned()] {
        let (status, offers) = admin.api("GET", &format!("{path}?word=%40MAin"), None).await;
        assert_eq!(status, 200, "{offers}");
        let offers = offers.as_array().expect("offers").iter();
        let inserted: Vec<&str> = offers.filter_map(|offer| offer["insert"].as_str()).collect();
        let mentions = ["@src/main.rs ", "@\"src/a main.rs\" ", "@docs/domain.md ", "@m/a/i/n.rs "];
        assert_eq!(inserted, mentions, "{path}");
    }
}
