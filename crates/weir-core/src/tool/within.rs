//! Whether the effects of one call lie within those of another. Pure; what is not certain is "no".

use super::{CommandEffect, Effects, HostEffect, PathAccess, PathEffect};

impl Effects {
    /// Whether a call with `inner` effects does nothing that a call with these does not.
    ///
    /// # Errors
    /// What it would do besides, in words that follow "to": `write src/main.rs`.
    pub fn covers(&self, inner: &Effects) -> Result<(), String> {
        // What a person is always asked about, or what is counted, no step may do.
        if !inner.enables.is_empty() {
            return Err("switch something on".into());
        }
        if inner.consults {
            return Err("ask the stronger model".into());
        }
        if inner.samples.is_some() {
            return Err("ask the model for a server".into());
        }
        if inner.opens || inner.extracts > 0 {
            return Err("open or ask about what is kept as a handle".into());
        }
        if self.unknown && (inner.contained || !self.contained) {
            return Ok(());
        }
        if inner.unknown {
            return Err("do what nobody can say in advance".into());
        }
        if let Some(path) = inner.paths.iter().find(|path| !self.covers_path(path)) {
            let verb = if path.access.is_write() { "write" } else { "read" };
            return Err(format!("{verb} {}", path.path));
        }
        let same = |own: &CommandEffect, other: &CommandEffect| {
            let reaches = other.describe_reach();
            own.command == other.command
                && own.cwd == other.cwd
                && reaches.iter().all(|reached| own.describe_reach().contains(reached))
                && (own.outside_sandbox || !other.outside_sandbox)
                && other.secrets.iter().all(|name| own.secrets.contains(name))
        };
        let ran = |command: &&CommandEffect| !self.commands.iter().any(|own| same(own, command));
        if let Some(command) = inner.commands.iter().find(ran) {
            return Err(format!("run {:?}", command.command));
        }
        let reached = |own: &HostEffect, other: &HostEffect| {
            own.method == other.method && own.host == other.host && own.secret == other.secret
        };
        let beyond = |host: &&HostEffect| !self.hosts.iter().any(|own| reached(own, host));
        if let Some(host) = inner.hosts.iter().find(beyond) {
            return Err(format!("send {} to {}", host.method, host.host));
        }
        if let Some(send) = inner.sends.iter().find(|send| !self.sends.contains(send)) {
            return Err(format!("send something to {}", send.recipient));
        }
        if let Some(act) = inner.acts.iter().find(|act| !self.acts.contains(act)) {
            return Err(format!("do this: {}", act.describe_act()));
        }
        if let Some(from) = inner.reads_from.iter().find(|from| !self.reads_from.contains(from)) {
            return Err(format!("read from {from}"));
        }
        if let Some(query) = inner.queries.iter().find(|query| !self.queries.contains(query)) {
            return Err(format!("ask {} something else", query.server));
        }
        if inner.feeds.iter().any(|feed| !self.feeds.contains(feed)) {
            return Err("write to a job that reaches the network".into());
        }
        if inner.remembers.iter().any(|text| !self.remembers.contains(text)) {
            return Err("keep something in memory".into());
        }
        if inner.brain.is_some() && inner.brain != self.brain {
            return Err("change the brain".into());
        }
        if inner.spawns.is_some() && inner.spawns != self.spawns {
            return Err("start another agent".into());
        }
        if inner.jobs.iter().any(|job| !self.jobs.contains(job)) {
            return Err("use a background job".into());
        }
        Ok(())
    }

    fn covers_path(&self, inner: &PathEffect) -> bool {
        self.paths.iter().any(|own| {
            let below = || {
                let folder = own.path.trim_end_matches('/');
                let under = inner.path.strip_prefix(folder);
                folder == "." || under.is_some_and(|rest| rest.starts_with('/'))
            };
            let there = own.path == inner.path || (own.recursive && below());
            let deep = own.recursive || !inner.recursive;
            own.place == inner.place && there && deep && covers_access(own.access, inner.access)
        })
    }
}

/// A right to write is one to make, replace and move; taking away what is there, or looking at it,
/// is another.
fn covers_access(own: PathAccess, inner: PathAccess) -> bool {
    match inner {
        PathAccess::Read => own == PathAccess::Read,
        PathAccess::List => matches!(own, PathAccess::Read | PathAccess::List),
        PathAccess::Write | PathAccess::Create | PathAccess::MoveTo => {
            matches!(own, PathAccess::Write | PathAccess::Create | PathAccess::MoveTo)
        }
        PathAccess::Delete | PathAccess::MoveFrom => {
            matches!(own, PathAccess::Delete | PathAccess::MoveFrom)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::PathPlace;

    fn path(path: &str, access: PathAccess, recursive: bool) -> PathEffect {
        PathEffect { recursive, ..PathEffect::new(path, access, PathPlace::Inside) }
    }

    fn of(paths: Vec<PathEffect>) -> Effects {
        Effects { paths, ..Effects::default() }
    }

    #[test]
    fn t5_a_step_may_do_no_more_than_its_call() {
        let own = of(vec![
            path("src", PathAccess::Read, true),
            path("out.txt", PathAccess::Write, false),
        ]);
        let ok = |inner: PathEffect| own.covers(&of(vec![inner])).is_ok();
        assert!(ok(path("src/a/b.rs", PathAccess::Read, false)));
        assert!(ok(path("src", PathAccess::List, true)));
        assert!(ok(path("out.txt", PathAccess::Create, false)));
        assert!(!ok(path("src2/a.rs", PathAccess::Read, false)), "a name that only begins alike");
        assert!(!ok(path("src/a.rs", PathAccess::Write, false)));
        assert!(!ok(path("out.txt", PathAccess::Read, false)));
        assert!(!ok(path("out.txt", PathAccess::Delete, false)));
        assert!(!ok(path("out.txt/x", PathAccess::Write, false)));
        let outside =
            PathEffect { place: PathPlace::Outside, ..path("src/a.rs", PathAccess::Read, false) };
        assert!(!ok(outside));
        let why =
            own.covers(&of(vec![path("a", PathAccess::Write, false)])).expect_err("not its own");
        assert_eq!(why, "write a");
        let unknown = Effects { unknown: true, ..Effects::default() };
        assert!(unknown.covers(&own).is_ok());
        let contained = Effects { contained: true, ..unknown.clone() };
        assert!(unknown.covers(&contained).is_ok() && contained.covers(&contained).is_ok());
        assert!(contained.covers(&unknown).is_err() && contained.covers(&own).is_err());
        assert!(own.covers(&unknown).is_err());
    }

    #[test]
    fn t5_hosts_and_commands_are_matched_exactly() {
        let host = |method: &str, host: &str| HostEffect {
            method: method.into(),
            host: host.into(),
            url: format!("https://{host}/x"),
            secret: None,
        };
        let own = Effects { hosts: vec![host("GET", "docs.rs")], ..Effects::default() };
        let ok = |inner: HostEffect| {
            own.covers(&Effects { hosts: vec![inner], ..Effects::default() }).is_ok()
        };
        assert!(ok(host("GET", "docs.rs")));
        assert!(!ok(host("POST", "docs.rs")));
        assert!(!ok(host("GET", "evil.docs.rs")));
        let command = CommandEffect { command: "ls".into(), cwd: ".".into(), ..Default::default() };
        let inner = Effects { commands: vec![command], ..Effects::default() };
        assert_eq!(own.covers(&inner), Err("run \"ls\"".to_string()));
    }
}
