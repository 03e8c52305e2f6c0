//! The driver finds what is there, keeps it, and finds it again.

use std::path::Path;
use std::time::Duration;

use weir_fuzz::Target;
use weir_fuzz::driver::{Report, Run, run_target};

fn run(target: &Target, seed: u64, folder: &Path) -> Report {
    let run = Run { seed, time: None, inputs: target.inputs, folder: folder.to_path_buf() };
    run_target(target, &run)
}

fn planted(run: fn(&[u8])) -> Target {
    let seeds = || vec![b"one two three".to_vec(), b"four".to_vec()];
    Target { name: "planted", run, seeds, dictionary: &["needle", "("], inputs: 3_000 }
}

#[test]
fn z10_a_planted_fault_is_found_made_small_kept_and_found_first_the_next_time() {
    let target = planted(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("needle"), "found: with a colon");
        assert!(text.matches('(').count() < 100, "deep");
    });
    let folder = tempfile::tempdir().expect("a folder");
    let report = run(&target, 1, folder.path());
    let mut inputs: Vec<&[u8]> = report.findings.iter().map(|f| f.input.as_slice()).collect();
    inputs.sort_unstable_by_key(|input| input.len());
    assert_eq!(inputs, [b"needle".to_vec(), vec![b'('; 100]], "{report:#?}");
    for finding in &report.findings {
        assert_eq!(std::fs::read(&finding.file).expect("kept"), finding.input);
        assert!(finding.what.contains("driver.rs:"), "{}", finding.what);
    }
    assert!(!folder.path().join("running").exists());
    let again = Target { inputs: 0, ..target };
    assert_eq!(run(&again, 1, folder.path()).findings.len(), 2, "what was kept is run first");
}

#[test]
fn z10_the_input_that_ended_the_process_is_run_first() {
    let target = Target { inputs: 0, ..planted(|bytes| assert_ne!(bytes, b"deadly")) };
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("running"), "deadly").expect("as a dead process leaves it");
    let report = run(&target, 1, folder.path());
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].input, b"deadly");
}

#[test]
fn z10_an_input_that_takes_too_long_is_a_finding() {
    let target = planted(|bytes| {
        if bytes == b"four" {
            std::thread::sleep(Duration::from_millis(2_100));
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let report = run(&Target { inputs: 0, ..target }, 1, folder.path());
    assert!(report.findings[0].what.ends_with(": slow"), "{report:#?}");
    assert_eq!(report.findings[0].input, b"four");
}

#[test]
fn z10_the_same_seed_is_the_same_run() {
    let target = planted(|_| ());
    let folder = tempfile::tempdir().expect("a folder");
    let reports = [1, 1].map(|seed| run(&target, seed, folder.path()).executions);
    assert_eq!(reports, [3_002, 3_002]);
}
