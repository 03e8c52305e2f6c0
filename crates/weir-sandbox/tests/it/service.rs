//! Services: their streams, their environment, what they see, and that nothing of them is left.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use weir_engine::ports::CommandConfinement;
use weir_sandbox::{ServiceProcess, ServiceSpec, Tier};

use crate::world::{World, is_there};

/// The tiers that work here.
fn tiers() -> Vec<Tier> {
    let all = [Tier::None, Tier::Landlock, Tier::Bubblewrap, Tier::Namespaces];
    all.into_iter().filter(|tier| is_there(*tier)).collect()
}

fn spec(world: &World, script: &str) -> ServiceSpec {
    let state = world.state.path().canonicalize().expect("a test needs it");
    ServiceSpec {
        words: vec!["/bin/sh".into(), "-c".into(), script.into(), "it's".into()],
        environment: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("API_TOKEN".into(), "declared".into()),
        ],
        cwd: state.clone(),
        confine: CommandConfinement {
            tier: world.tier,
            readable: vec![state],
            ..CommandConfinement::default()
        },
    }
}

async fn said(service: &mut ServiceProcess) -> String {
    let mut text = String::new();
    let mut output = service.output.take().expect("a test needs it");
    tokio::time::timeout(crate::world::PATIENCE, output.read_to_string(&mut text))
        .await
        .expect("it ends")
        .expect("a test needs it");
    text
}

#[tokio::test]
async fn z8_a_service_is_spoken_with_and_its_errors_are_apart() {
    for tier in tiers() {
        let world = World::new(tier);
        let script = "while read line; do echo \"heard $line by $0\"; echo oops >&2; done";
        let mut service =
            world.processes.open_service(spec(&world, script)).await.expect("a test needs it");
        let mut input = service.input.take().expect("a test needs it");
        let mut output = BufReader::new(service.output.take().expect("a test needs it"));
        for n in 0..3 {
            input.write_all(format!("{n}\n").as_bytes()).await.expect("a test needs it");
            let mut line = String::new();
            output.read_line(&mut line).await.expect("a test needs it");
            assert_eq!(line, format!("heard {n} by it's\n"), "{tier:?}");
        }
        drop(input);
        let mut rest = String::new();
        output.read_to_string(&mut rest).await.expect("a test needs it");
        assert_eq!(rest, "", "{tier:?}: its errors are not its output");
        // The supervisor keeps what it has read, which may be a moment later.
        let errors = tokio::time::timeout(crate::world::PATIENCE, async {
            loop {
                let errors = service.error_output().await;
                if errors.contains("oops") {
                    return errors;
                }
                tokio::task::yield_now().await;
            }
        });
        assert!(errors.await.is_ok_and(|errors| errors.contains("oops")), "{tier:?}");
        service.end_service().await;
        let left = std::fs::read_dir(world.state.path().join("jobs")).map(|d| d.count());
        assert_eq!(left.unwrap_or(0), 0, "{tier:?}: its record goes with it");
    }
}

#[tokio::test]
async fn z8_a_service_gets_the_declared_environment_and_nothing_else() {
    for tier in tiers() {
        let world = World::new(tier);
        let mut service = world
            .processes
            .open_service(spec(&world, "env; echo home=$HOME"))
            .await
            .expect("a test needs it");
        let text = said(&mut service).await;
        assert!(text.contains("API_TOKEN=declared"), "{tier:?}: {text}");
        let of_test = std::env::var("HOME").unwrap_or_else(|_| "/root".into());
        for hidden in ["CARGO", "USER=", &format!("home={of_test}\n")] {
            let confined = tier != Tier::None || hidden != format!("home={of_test}\n");
            assert!(!confined || !text.contains(hidden), "{tier:?}: {hidden} in {text}");
        }
        service.end_service().await;
    }
}

#[tokio::test]
async fn z8_a_confined_service_sees_no_home_but_what_is_named() {
    for tier in tiers().into_iter().filter(|tier| *tier != Tier::None) {
        let world = World::new(tier);
        let home = world.state.path().canonicalize().expect("a test needs it").join("home");
        std::fs::create_dir_all(home.join("shown")).expect("a test needs it");
        std::fs::write(home.join("secret"), "marker").expect("a test needs it");
        std::fs::write(home.join("shown/file"), "open").expect("a test needs it");
        let script = format!(
            "cat {0}/secret; cat {0}/shown/file; echo; touch {0}/shown/x && echo wrote; \
             touch ./x && echo wrote; echo > $HOME/own && echo own",
            home.display()
        );
        let mut wanted = spec(&world, &script);
        wanted.confine.masked = vec![home.clone()];
        wanted.confine.readable.push(home.join("shown"));
        let mut service = world.processes.open_service(wanted).await.expect("a test needs it");
        let text = said(&mut service).await;
        assert_eq!(text, "open\nown\n", "{tier:?}: {}", service.error_output().await);
        service.end_service().await;
    }
}

#[tokio::test]
async fn z8_nothing_of_a_service_is_left_when_it_is_dropped() {
    for tier in tiers() {
        let world = World::new(tier);
        let mark = format!("9{:07}", std::process::id());
        let script = format!("trap '' TERM HUP; sleep {mark} & sleep {mark} & echo up; wait");
        let mut service =
            world.processes.open_service(spec(&world, &script)).await.expect("a test needs it");
        let mut output = BufReader::new(service.output.take().expect("a test needs it"));
        let mut line = String::new();
        output.read_line(&mut line).await.expect("a test needs it");
        assert_eq!(line, "up\n");
        assert!(until(&mark, true).await, "{tier:?}: nothing runs");
        drop((output, service));
        assert!(until(&mark, false).await, "{tier:?}: its children outlived it");
    }
}

#[tokio::test]
async fn z8_a_flood_of_errors_holds_up_nothing_and_its_end_is_told() {
    let world = World::new(Tier::None);
    let script = "head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; echo last words >&2; echo done";
    let mut service =
        world.processes.open_service(spec(&world, script)).await.expect("a test needs it");
    assert_eq!(said(&mut service).await, "done\n");
    for _ in 0..3_000 {
        if service.error_output().await.contains("last words") {
            service.end_service().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the end of its errors is not told: {} bytes", service.error_output().await.len());
}

#[tokio::test]
async fn f4_a_program_that_is_not_there_is_told() {
    for tier in tiers() {
        let world = World::new(tier);
        let mut wanted = spec(&world, "");
        wanted.words = vec!["/none/such".into()];
        match world.processes.open_service(wanted).await {
            Err(why) => assert!(!why.is_empty()),
            Ok(mut service) => {
                assert_eq!(said(&mut service).await, "");
                // Its errors are read beside its output, so they may come a little later.
                let mut errors = service.error_output().await;
                for _ in 0..10_000 {
                    if errors.contains("/none/such") {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    errors = service.error_output().await;
                }
                assert!(errors.contains("/none/such"), "{tier:?}: {errors}");
                service.end_service().await;
            }
        }
    }
}

/// Whether it comes to be so, soon.
async fn until(mark: &str, wanted: bool) -> bool {
    for _ in 0..2_000 {
        if running(mark) == wanted {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    false
}

/// Whether a process sleeps for that long.
fn running(mark: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    processes.flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).eq([&b"sleep"[..], mark.as_bytes(), &b""[..]])
    })
}
