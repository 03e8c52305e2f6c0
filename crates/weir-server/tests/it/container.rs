//! The container starts as its file says: with nothing in its volume, it makes a certificate and an
//! account, and answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use weir_test_kit::{RunningProgram, TestInstallation, weir_program};

use super::operations::over_tls;

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

/// The words of an instruction of the file that builds the image.
fn words(instruction: &str) -> Vec<String> {
    let text = std::fs::read_to_string(deploy("Containerfile")).expect("it is there");
    let line = text.lines().rfind(|line| line.starts_with(instruction)).expect("it is said");
    serde_json::from_str(line.trim_start_matches(instruction)).expect("a list of words")
}

/// Starts what the image starts, on a free port, and where it listens.
fn started(house: &TestInstallation) -> (RunningProgram, String) {
    assert_eq!(
        words("ENTRYPOINT "),
        ["/usr/bin/tini", "--", "/usr/local/bin/weir-container"],
        "the last is deploy/container.sh"
    );
    let mut args = words("CMD ");
    let bind = args.last_mut().expect("an address");
    assert_eq!(bind, "0.0.0.0:7717");
    *bind = "0.0.0.0:0".into();
    let programs = house.at("programs");
    std::fs::create_dir_all(&programs).expect("writable");
    // There already, at the second start.
    let _ = std::os::unix::fs::symlink(weir_program(), programs.join("weir"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(deploy("container.sh"));
    command
        .args(args)
        .current_dir(house.at("data"))
        .env_clear()
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("HOME", house.at("data"))
        .env("WEIR_DATA", house.at("data"))
        .env("XDG_CONFIG_HOME", house.at("data/config"))
        .env("XDG_STATE_HOME", house.at("data/state"))
        .stdin(Stdio::null());
    let mut running = RunningProgram::start(command);
    let line = running.wait_for_error_line("listening on https://0.0.0.0:");
    let port = line.rsplit(':').next().expect("a port").to_owned();
    (running, format!("127.0.0.1:{port}"))
}

#[test]
fn s1_the_container_starts_as_its_file_says_and_is_healthy() {
    let house = TestInstallation::new();
    std::fs::create_dir_all(house.at("data")).expect("writable");
    let chain = house.at("data/tls/chain.pem");
    let trusted = || CertificateDer::from_pem_file(&chain).expect("a certificate");

    let (running, address) = started(&house);
    let said = running.error_text();
    let answer = over_tls(&address, &trusted()).expect("TLS comes about");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(said.contains("created the account admin"), "{said}");
    assert!(!said.contains("setup code"), "nobody else can claim it: {said}");
    let password = std::fs::read_to_string(house.at("data/first-password")).expect("it is there");
    assert!(password.trim().len() >= 24 && !said.contains(password.trim()), "{said}");
    drop(running);

    // The second start makes nothing anew.
    let before = trusted();
    std::fs::remove_file(house.at("data/first-password")).expect("it was read");
    let (running, address) = started(&house);
    let said = running.error_text();
    assert_eq!(trusted(), before);
    assert!(over_tls(&address, &before).is_some());
    assert!(!said.contains("created ") && !said.contains("made "), "{said}");
    assert!(!house.at("data/first-password").exists());
}
