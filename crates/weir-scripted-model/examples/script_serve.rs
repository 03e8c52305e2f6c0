//! Serves a script: `script_serve FILE [ADDRESS [RECORD.jsonl]]`. What `weir script serve` does,
//! without the rest of Weir.

use std::io::Write as _;
use std::path::PathBuf;

use tokio::net::TcpListener;
use weir_scripted_model::Script;
use weir_scripted_model::serve::{ServeOptions, run_script_server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: script_serve FILE [ADDRESS [RECORD.jsonl]]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7718".to_owned());
    let record = arguments.next().map(PathBuf::from);
    let script = Script::parse_file(&PathBuf::from(file))?;
    let listener = TcpListener::bind(address).await?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    run_script_server(listener, script, ServeOptions { record, ..ServeOptions::default() }).await?;
    Ok(())
}
