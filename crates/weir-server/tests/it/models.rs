//! How a server reaches its models (V4, Q18): what its sessions share. What is said on the wire is in
//! the tests of `weir-providers`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use weir_scripted_model::Script;
use weir_scripted_model::serve::{ServeOptions, run_script_server};
use weir_test_kit::{TestInstallation, TestServer};

/// Sessions that speak one after the other.
const SESSIONS: usize = 5;
/// The run's own connection, and one of whatever is asked beside it (the title of the chat).
const CONNECTIONS_MAX: usize = 2;

/// A model over HTTP: its address, and how many connections were made to it.
async fn model() -> (String, Arc<AtomicUsize>) {
    let script = Script::parse("name: test\n\nsays: Good day.\n").expect("a script");
    let behind = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let model = behind.local_addr().expect("it is bound");
    tokio::spawn(run_script_server(behind, script, ServeOptions::default()));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = connections.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut far = TcpStream::connect(model).await.expect("the model listens");
                // It ends when either side closes.
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (format!("http://{address}"), connections)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v4_sessions_of_a_server_use_the_connections_that_others_have_opened() {
    let (address, connections) = model().await;
    let house = TestInstallation::new()
        .with_variable("ANTHROPIC_BASE_URL", &address)
        .with_variable("ANTHROPIC_API_KEY", "a key that nobody checks");
    let config = "model = \"anthropic/test\"\n[models.\"anthropic/test\"]\nwindow = 100000\n\
                  max_output = 4096\nabilities = [\"tools\"]\n";
    house.write(&house.user_config(), config);
    let mut served = TestServer::start_in(house, None).await;
    let admin = served.admin().await;
    for _ in 0..SESSIONS {
        let session = admin.open().await;
        let path = format!("/api/v1/sessions/{session}");
        let words = json!({ "client_id": "one", "content": [{ "type": "text", "text": "Hello" }] });
        let (status, said) = admin.api("POST", &format!("{path}/input"), Some(words)).await;
        assert_eq!(status, 202, "{said}");
        admin.until_status(&session, "completed").await;
    }
    let made = connections.load(Ordering::SeqCst);
    assert!((1..=CONNECTIONS_MAX).contains(&made), "{made} connections for {SESSIONS} sessions");
    assert_eq!(served.stop().await, 0);
}
