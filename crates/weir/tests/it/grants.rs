//! Ports of this machine and sockets of other programs, opened for one command by a person who is
//! there, and closed where nobody is (U1): the real program. Not here: the other walls (`walls`).

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

use serde_json::json;
use weir_test_kit::free_port;

use crate::walls::{alone, house, yes};

#[test]
fn u1_u13_a_server_in_the_background_is_asked_by_the_next_command() {
    let port = free_port();
    let ask = format!(
        "for i in $(seq 600); do curl -sf --noproxy '*' http://localhost:{port}/notes.md && exit; \
         sleep 0.1; done; exit 1"
    );
    let calls = [
        (
            "run_shell",
            json!({
                "command": format!("python3 -m http.server {port} --bind 127.0.0.1"),
                "background": true,
                "serve": [port],
            }),
        ),
        ("run_shell", json!({ "command": ask, "network": [format!("localhost:{port}")] })),
    ];
    let house = house(&calls);
    house.write(&house.at("work/notes.md"), "what the server gives\n");
    let played = yes(&house, &[]);
    assert!(played.said.contains("what the server gives"), "{}", played.said);
    // The job was agreed to; to ask it, in the same session and the same sandbox, needs nobody's word (U13).
    assert_eq!(played.questions.len(), 1, "{:?}", played.questions);
    let summary = &played.questions[0].0;
    assert!(summary.contains(&format!("localhost:{port}")), "{summary}");
    let said = alone(&house, &[]);
    assert!(!said.contains("what the server gives"), "{said}");
}

#[test]
fn u1_a_database_and_a_socket_are_reached_by_the_command_that_may() {
    let database = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = database.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for mut stream in database.incoming().flatten() {
            let _ = stream.write_all(b"rows of the database\n");
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("engine.sock");
    let engine = UnixListener::bind(&socket).expect("a socket");
    std::thread::spawn(move || {
        for mut stream in engine.incoming().flatten() {
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nwords of the engine\n");
        }
    });
    let socket = socket.display().to_string();
    let bash = format!("cat < /dev/tcp/127.0.0.1/{port}");
    let curl = format!("curl -s --unix-socket {socket} http://engine/");
    let calls = [
        ("run_shell", json!({ "command": bash, "network": [format!("127.0.0.1:{port}")] })),
        ("run_shell", json!({ "command": curl, "network": [socket] })),
        ("run_shell", json!({ "command": curl })),
    ];
    let house = house(&calls);
    let played = yes(&house, &[]);
    assert!(played.said.contains("rows of the database"), "{}", played.said);
    assert!(played.said.contains("words of the engine"), "{}", played.said);
    let reasons: Vec<&str> = played.questions.iter().map(|(_, reason)| reason.as_str()).collect();
    assert!(reasons[1].contains("the program behind the socket"), "{reasons:?}");
    let said = alone(&house, &[]);
    assert!(!said.contains("rows of the database"), "nobody agreed: {said}");
    assert!(!said.contains("words of the engine"), "nobody agreed: {said}");
}

#[test]
fn u1_what_cannot_be_opened_is_said_with_what_can() {
    let calls = [
        ("run_shell", json!({ "command": "true", "network": ["localhost"] })),
        ("run_shell", json!({ "command": "true", "network": ["/etc/passwd"] })),
        ("run_shell", json!({ "command": "true", "background": true, "serve": [80] })),
    ];
    let house = house(&calls);
    let said = alone(&house, &[]);
    for words in ["localhost:5432", "is no socket", "choose one above 1023"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
