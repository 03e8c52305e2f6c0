//! What a person opened of this machine for one command: ports of loopback, both ways, and sockets of
//! other programs (U1). Not here: that nothing else of it is reached (`reach`).

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use weir_core::tool::Tier;
use weir_engine::ports::{CommandSpec, Processes as _};
use weir_test_kit::free_port;

use crate::attack::room;
use crate::world::{World, session};

under_confining_tiers!(
    u1_a_port_that_was_granted_is_reached_and_no_other,
    u1_what_a_job_serves_is_found_at_the_port_that_was_granted,
    u1_a_socket_that_was_granted_is_reached_and_no_other,
);

mod with_own_view {
    use super::u1_a_port_in_use_is_told_before_anything_runs;
    under_tiers_with_own_view!(u1_a_port_in_use_is_told_before_anything_runs);
}

const CLIENT: &str = "import socket, sys
for port in sys.argv[1:]:
    try:
        s = socket.create_connection(('localhost', int(port)), 60)
        s.sendall(b'ping'); s.shutdown(socket.SHUT_WR)
        print(port, s.recv(100).decode())
    except OSError as e: print(port, 'refused')";

/// A server that answers once for each connection.
fn echo(listener: TcpListener) {
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut text = String::new();
            let _ = stream.read_to_string(&mut text);
            let _ = stream.write_all(format!("got {text}").as_bytes());
        }
    });
}

async fn u1_a_port_that_was_granted_is_reached_and_no_other(tier: Tier) {
    let world = World::new(tier);
    let servers = [(); 2].map(|()| TcpListener::bind(("127.0.0.1", 0)).expect("a port"));
    let ports = servers.each_ref().map(|server| server.local_addr().expect("bound").port());
    servers.into_iter().for_each(echo);
    let command = format!("python3 -c \"{CLIENT}\" {} {}", ports[0], ports[1]);
    let mut spec = world.spec(1, &command);
    spec.confine.ports = vec![ports[0]];
    let outcome = world.run(spec).await;
    let expected = format!("{} got ping\n{} refused\n", ports[0], ports[1]);
    assert_eq!(outcome.output, expected, "{outcome:?}");
    let outcome = world.run(world.spec(2, &command)).await;
    assert!(!outcome.output.contains("got"), "not granted: {outcome:?}");
}

async fn u1_what_a_job_serves_is_found_at_the_port_that_was_granted(tier: Tier) {
    let world = World::new(tier);
    let port = free_port();
    std::fs::write(world.state.path().join("page.html"), "the page").expect("a file");
    let command = format!("exec python3 -m http.server {port} --bind 127.0.0.1");
    let spec = world.spec(1, &command);
    let served = CommandSpec { background: true, ..spec };
    let mut served = served;
    served.confine.serves = vec![port];
    world.processes.start_job(served).await.expect("it starts");
    // The person's browser.
    let page = loop {
        let asked = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
            stream.write_all(b"GET /page.html HTTP/1.0\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        });
        match asked {
            Ok(text) if text.contains("200 OK") => break text,
            Ok(_) | Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    };
    assert!(page.ends_with("the page"), "{page}");
    // Another command, which may reach it.
    let ask = format!("curl -sS --noproxy '*' --max-time 20 http://localhost:{port}/page.html");
    let mut spec = world.spec(2, &ask);
    spec.confine.ports = vec![port];
    let outcome = world.run(spec).await;
    assert_eq!(outcome.output, "the page", "{outcome:?}");
    world.processes.kill_job(&session(), "j1").await.expect("it runs");
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "the port is free again");
}

async fn u1_a_port_in_use_is_told_before_anything_runs(tier: Tier) {
    let world = World::new(tier);
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let mut spec = CommandSpec { background: true, ..world.spec(1, "touch ran") };
    spec.confine.serves = vec![port];
    let why = world.processes.start_job(spec).await.expect_err("somebody else listens there");
    assert!(why.contains(&format!("port {port}")) && why.contains("choose another"), "{why}");
    assert!(!world.state.path().join("ran").exists());
}

async fn u1_a_socket_that_was_granted_is_reached_and_no_other(tier: Tier) {
    let world = World::new(tier);
    let folder = tempfile::tempdir_in(room()).expect("a folder");
    let tmp = tempfile::tempdir().expect("a folder below /tmp");
    let hidden = folder.path().canonicalize().expect("it exists").join("hidden");
    std::fs::create_dir(&hidden).expect("a folder");
    let sockets: Vec<PathBuf> =
        vec![tmp.path().join("db"), hidden.join("docker.sock"), hidden.join("other.sock")];
    for path in &sockets {
        let listener = UnixListener::bind(path).expect("a socket");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.write_all(b"hello\n");
            }
        });
    }
    let script = "import socket, sys
for name in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(name); print(s.recv(100).decode().strip())
    except OSError as e: print('refused')";
    let names: Vec<String> = sockets.iter().map(|path| path.display().to_string()).collect();
    let mut spec = world.spec(1, &format!("python3 -c \"{script}\" {}", names.join(" ")));
    spec.confine.masked = vec![hidden];
    spec.confine.sockets = sockets[..2].to_vec();
    let outcome = world.run(spec).await;
    assert_eq!(outcome.output, "hello\nhello\nrefused\n", "{outcome:?}");
    // No socket, and a link that came to lie where one was.
    let way = folder.path().canonicalize().expect("it exists").join("way");
    std::os::unix::fs::symlink(&sockets[2], &way).expect("a link");
    for (call, other) in [(2, folder.path().to_path_buf()), (3, way)] {
        let mut spec = world.spec(call, "true");
        spec.confine.sockets = vec![other];
        let outcome = world.run(spec).await;
        assert!(format!("{outcome:?}").contains("is no socket"), "{outcome:?}");
    }
}
