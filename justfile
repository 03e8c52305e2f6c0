# Short names for what stands elsewhere. `just ci` runs exactly what CI runs.

default:
    @just --list

# Every test and the outside judges.
test:
    ./test

# What CI runs.
ci:
    .ci/run

fmt:
    cargo fmt --all

lint:
    cargo clippy --workspace --all-targets -- -D warnings

# The laws of the house.
tidy:
    cargo run --quiet -p xtask -- tidy

# Generated documents and expected blocks of scenarios anew; read the difference as code.
update:
    UPDATE=1 cargo test --workspace

# The real binary, killed at random moments.
kill kills="300" seed="1":
    cargo run --quiet -p xtask -- kill --kills {{kills}} --seed {{seed}}

# The whole proof: every face, store, victim and disk. 100,000 kills are about an hour on two cores.
kill-all kills="100000" seed="1":
    cargo build --release -p weir -p xtask
    cargo run --release --quiet -p xtask -- kill --binary target/release/weir --face all \
        --kills {{kills}} --seed {{seed}} --threads 6

# Three real servers on one PostgreSQL, their clocks wrong, killed, stopped and cut off from it.
cluster faults="24" seed="1":
    cargo run --quiet -p xtask -- cluster --faults {{faults}} --seed {{seed}}

# The table of docs/performance.md.
bench:
    cargo xtask bench

# Instructions of five paths, held against xtask/instructions.toml.
instructions:
    cargo xtask instructions

# The documentation of every crate.
doc:
    cargo doc --workspace --no-deps

# Licences and bans (needs cargo-deny).
deny:
    cargo deny check licenses bans sources
