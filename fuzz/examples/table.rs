//! Hands the table to other drivers: `targets` lists the names, `seeds NAME FOLDER` writes the real
//! inputs of a target, `words NAME` prints its dictionary as libFuzzer reads it.
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["targets"] => {
            weir_fuzz::TARGETS.iter().for_each(|target| println!("{}", target.name));
            Some(())
        }
        ["seeds", name, folder] => weir_fuzz::target(name).and_then(|target| {
            for (number, seed) in (target.seeds)().iter().enumerate() {
                std::fs::write(Path::new(folder).join(format!("seed-{number}")), seed).ok()?;
            }
            Some(())
        }),
        ["words", name] => weir_fuzz::target(name).map(|target| {
            for word in target.dictionary {
                let bytes = word.bytes().map(|byte| format!("\\x{byte:02x}"));
                println!("\"{}\"", bytes.collect::<String>());
            }
        }),
        _ => None,
    };
    if done.is_some() {
        return ExitCode::SUCCESS;
    }
    println!("usage: table targets | seeds NAME FOLDER | words NAME (a folder that is there)");
    ExitCode::from(2)
}
