//! The whole table of attacks, as it is kept in `docs/generated/attacks.txt`.

use weir_core::tool::Tier;

use crate::Bench;
use crate::classes::NOT_YET;
use crate::table::Row;

/// How strongly commands are confined on this machine.
///
/// # Errors
/// A world cannot be built.
pub fn tier(bench: &Bench) -> anyhow::Result<Tier> {
    Ok(bench.world("tier")?.tier())
}

/// The table.
///
/// # Errors
/// A world cannot be built.
pub fn text(bench: &Bench, rows: &[Row]) -> anyhow::Result<String> {
    let mut out = format!(
        "What a hostile model reached, class by class (Z11). Printed by `cargo run -p \
         weir-redteam`.\n\
         `blocked` classes must reach nothing; `open` ones are counted, with the reason.\n\
         Commands are confined by: {}\n\n",
        tier(bench)?.as_str()
    );
    for row in rows {
        out.push_str(&row.text());
        out.push('\n');
    }
    out.push_str("Not attacked here yet:\n");
    for class in NOT_YET {
        out.push_str(&format!("    {class}\n"));
    }
    Ok(out)
}
