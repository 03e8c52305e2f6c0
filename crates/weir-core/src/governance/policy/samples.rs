//! The calls of which the printed policy says what they meet: one for each kind of effect. Not here: what
//! they meet (`policy`).

use super::{LINKED, OWN};
use crate::tool::{
    ActEffect, ActKind, AgentControl, BrainChange, BrainEffect, CommandEffect, ControlArgument,
    Effects, EnableEffect, FeedEffect, HostEffect, PathAccess, PathEffect, PathPlace, QueryEffect,
    SendEffect, SpawnEffect, Tier, ToolGroup,
};

/// One kind of effect: its name and a call that has it.
#[derive(Clone)]
pub(super) struct EffectSample {
    pub(super) kind: &'static str,
    pub(super) tool: &'static str,
    pub(super) group: ToolGroup,
    pub(super) effects: Effects,
}

/// All kinds, in the order of the table's lines.
pub(super) fn effect_samples() -> Vec<EffectSample> {
    [path_samples(), command_samples(), network_samples(), act_samples(), control_samples()]
        .concat()
}

/// A tool of no particular name: gates judge effects.
const TOOL: &str = "sample";
/// A tool of a foreign server.
const FOREIGN: &str = "mcp__forge__act";
/// The name under which its server asks the model.
const SAMPLING: &str = "mcp__forge__sampling";
/// The tool that follows links.
const FETCHES: &str = "web_fetch";

fn path_effects(path: PathEffect) -> Effects {
    Effects { paths: vec![path], ..Effects::default() }
}

fn command_effects(command: &str, tier: Tier, hosts: &[&str]) -> Effects {
    let hosts = hosts.iter().map(ToString::to_string).collect();
    of_command(CommandEffect { hosts, tier, ..confined(command) })
}

/// A command in the sandbox, without network.
fn confined(command: &str) -> CommandEffect {
    CommandEffect {
        command: command.into(),
        cwd: ".".into(),
        tier: Tier::Landlock,
        ..CommandEffect::default()
    }
}

fn of_command(command: CommandEffect) -> Effects {
    Effects { commands: vec![command], ..Effects::default() }
}

fn query_effects(word: &str) -> Effects {
    let server = "mcp:wiki".to_owned();
    let query = QueryEffect { server: server.clone(), words: vec![word.into()] };
    Effects { queries: vec![query], reads_from: vec![server], ..Effects::default() }
}

fn feed_effects() -> Effects {
    let (job, command) = ("job1".to_owned(), "sh".to_owned());
    let feed = FeedEffect { job: job.clone(), command, hosts: vec!["example.org".into()] };
    Effects { jobs: vec![job], feeds: vec![feed], ..Effects::default() }
}

fn send_effects(recipient: &str) -> Effects {
    let send = SendEffect { recipient: recipient.into(), by: "mail".into() };
    Effects { sends: vec![send], ..Effects::default() }
}

/// What a tool of a server does there; `to` is whom or what it is about.
fn act_effects(kind: ActKind, to: &str) -> Effects {
    let server = "mcp:forge".to_owned();
    let control = vec![ControlArgument { name: "to".into(), value: to.into() }];
    let to = vec![to.to_owned()];
    let act = ActEffect {
        kind,
        server: server.clone(),
        to,
        control,
        choices: Vec::new(),
        content: Vec::new(),
    };
    Effects { acts: vec![act], reads_from: vec![server], acknowledges: true, ..Effects::default() }
}

fn spawn_effects(profile: &str) -> Effects {
    let spawns =
        Some(SpawnEffect { profile: profile.into(), writes: true, ..SpawnEffect::default() });
    Effects { spawns, ..Effects::default() }
}

fn brain_effects() -> Effects {
    let (change, title) = (BrainChange::Add, "Tides".to_owned());
    let brain = BrainEffect { change, title, entry: String::new(), version: 0 };
    Effects { remembers: vec!["High at six.".into()], brain: Some(brain), ..Effects::default() }
}

fn host_effects(method: &str, url: &str) -> Effects {
    let host = url.split('/').nth(2).unwrap_or_default();
    let host =
        HostEffect { method: method.into(), host: host.into(), url: url.into(), secret: None };
    Effects { hosts: vec![host], ..Effects::default() }
}

fn path_samples() -> Vec<EffectSample> {
    use PathAccess::{Create, Delete, List, MoveFrom, Read, Write};
    use PathPlace::{Escapes, Inside, Outside};
    let marked = |kind, at: PathEffect| {
        let group = if at.access.is_write() { ToolGroup::Edit } else { ToolGroup::Read };
        effect_sample(kind, group, path_effects(at))
    };
    let sample = |kind, access, place| {
        let name = if place == Inside { "notes/a.md" } else { "/srv/other/a.md" };
        marked(kind, PathEffect::new(name, access, place))
    };
    vec![
        sample("read a file", Read, Inside),
        sample("list a folder", List, Inside),
        marked(
            "read a sensitive file",
            PathEffect {
                sensitive: Some("key files ask".into()),
                ..PathEffect::new(".env", Read, Inside)
            },
        ),
        marked(
            "read an ignored file",
            PathEffect {
                ignored: Some(".weirignore:1".into()),
                ..PathEffect::new("x", Read, Inside)
            },
        ),
        sample("read outside", Read, Outside),
        sample("read through a link that leads out", Read, Escapes),
        marked("read a key", PathEffect::new("/home/person/.ssh/id_rsa", Read, Outside)),
        marked(
            "change Weir's own settings",
            PathEffect::new("/home/person/.config/weir/config.toml", Write, Outside),
        ),
        sample("create a file", Create, Inside),
        sample("change a file", Write, Inside),
        marked("change what later runs or instructs", PathEffect::new("AGENTS.md", Write, Inside)),
        sample("delete a file", Delete, Inside),
        marked(
            "change a protected file",
            PathEffect {
                protected: Some(".weirprotected:1".into()),
                ..PathEffect::new("x", Write, Inside)
            },
        ),
        sample("write outside", Write, Outside),
        sample("delete outside", Delete, Outside),
        sample("move away from outside", MoveFrom, Outside),
        marked(
            "delete the workspace",
            PathEffect { recursive: true, ..PathEffect::new(".", Delete, Inside) },
        ),
    ]
}

fn effect_sample(kind: &'static str, group: ToolGroup, effects: Effects) -> EffectSample {
    EffectSample { kind, tool: TOOL, group, effects }
}

fn command_samples() -> Vec<EffectSample> {
    let sample = effect_sample;
    vec![
        sample(
            "run a confined command",
            ToolGroup::Skill,
            command_effects("make", Tier::Landlock, &[]),
        ),
        sample(
            "run a confined command, one host",
            ToolGroup::Skill,
            command_effects("make", Tier::Landlock, &["example.org"]),
        ),
        sample(
            "run an unconfined command",
            ToolGroup::Skill,
            command_effects("make", Tier::None, &[]),
        ),
        sample(
            "run a command of the hard floor",
            ToolGroup::Skill,
            command_effects("git push --force", Tier::Landlock, &[]),
        ),
        sample(
            "end a process",
            ToolGroup::Skill,
            command_effects("kill 1234", Tier::Landlock, &[]),
        ),
        sample(
            "write what instructs, by a command",
            ToolGroup::Skill,
            of_command(confined("echo x > AGENTS.md")),
        ),
        sample(
            "write what instructs, by a job",
            ToolGroup::Skill,
            of_command(CommandEffect { background: true, ..confined("echo x > AGENTS.md") }),
        ),
        sample(
            "run one command outside the sandbox",
            ToolGroup::Skill,
            of_command(CommandEffect {
                outside_sandbox: true,
                tier: Tier::None,
                ..confined("make")
            }),
        ),
        sample(
            "speak to a socket of this machine",
            ToolGroup::Skill,
            of_command(CommandEffect {
                sockets: vec!["/run/docker.sock".into()],
                ..confined("make")
            }),
        ),
        sample(
            "give a command a secret",
            ToolGroup::Skill,
            of_command(CommandEffect { secrets: vec!["deploy".into()], ..confined("make") }),
        ),
    ]
}

fn network_samples() -> Vec<EffectSample> {
    let sample = effect_sample;
    vec![
        sample(
            "fetch a listed host",
            ToolGroup::Web,
            host_effects("GET", "https://listed.example/"),
        ),
        sample(
            "fetch a listed host, address built here",
            ToolGroup::Web,
            host_effects("GET", "https://listed.example/?q=built"),
        ),
        sample(
            "fetch what the person wrote",
            ToolGroup::Web,
            host_effects("GET", "https://said.example/"),
        ),
        sample(
            "fetch any other host",
            ToolGroup::Web,
            host_effects("GET", "https://other.example/"),
        ),
        EffectSample {
            tool: FETCHES,
            ..sample(
                "follow a link that a page brought",
                ToolGroup::Web,
                host_effects("GET", LINKED),
            )
        },
        sample(
            "ask a foreign server, the person's words",
            ToolGroup::Mcp,
            query_effects("named@said.example"),
        ),
        sample("ask a foreign server, words built here", ToolGroup::Mcp, query_effects("built")),
        sample(
            "ask a listed search engine (POST), words built here",
            ToolGroup::Web,
            Effects {
                queries: vec![QueryEffect {
                    server: "listed.example".into(),
                    words: vec!["built".into()],
                }],
                ..host_effects("POST", "https://listed.example/")
            },
        ),
        sample(
            "send (POST) to a listed host",
            ToolGroup::Web,
            host_effects("POST", "https://listed.example/"),
        ),
        sample(
            "send (POST) to any other host",
            ToolGroup::Web,
            host_effects("POST", "https://other.example/"),
        ),
        sample("send to oneself", ToolGroup::Web, send_effects(OWN)),
        sample("send to whom the person named", ToolGroup::Web, send_effects("named@said.example")),
        sample("send to anybody else", ToolGroup::Web, send_effects("other@other.example")),
    ]
}

fn act_samples() -> Vec<EffectSample> {
    let sample = |kind, act, to| {
        let effects = act_effects(act, to);
        EffectSample { kind, tool: FOREIGN, group: ToolGroup::Mcp, effects }
    };
    vec![
        sample("foreign tool: change what is one's own", ActKind::Own, "d1"),
        sample("foreign tool: send to oneself", ActKind::Send, OWN),
        sample("foreign tool: send to whom was named", ActKind::Send, "named@said.example"),
        sample("foreign tool: send to anybody else", ActKind::Send, "other@other.example"),
        sample("foreign tool: delete for good", ActKind::Destroy, "d1"),
        sample("foreign tool: change rights", ActKind::Identity, "d1"),
        sample("foreign tool: pay or book", ActKind::Commit, "d1"),
    ]
}

fn control_samples() -> Vec<EffectSample> {
    let sample = effect_sample;
    vec![
        sample(
            "foreign tool, effects unknown",
            ToolGroup::Mcp,
            Effects { unknown: true, ..Effects::default() },
        ),
        EffectSample {
            kind: "foreign server asks the model",
            tool: SAMPLING,
            group: ToolGroup::Mcp,
            effects: Effects {
                samples: Some("forge".into()),
                reads_from: vec!["mcp:forge".into()],
                ..Effects::default()
            },
        },
        sample(
            "switch on a plugin",
            ToolGroup::Skill,
            Effects {
                enables: vec![EnableEffect {
                    what: "plugin".into(),
                    name: "obsidian".into(),
                    hash: "00".into(),
                }],
                ..Effects::default()
            },
        ),
        sample(
            "feed or end a job of this session",
            ToolGroup::Skill,
            Effects { jobs: vec!["job1".into()], ..Effects::default() },
        ),
        sample("feed a job that reaches the network", ToolGroup::Skill, feed_effects()),
        sample("keep something in the brain", ToolGroup::Agent, brain_effects()),
        sample("start a sub-agent", ToolGroup::Agent, spawn_effects("code")),
        sample(
            "control of the agent itself",
            ToolGroup::Agent,
            Effects {
                control: Some(AgentControl::Complete { result: "done".into() }),
                ..Effects::default()
            },
        ),
    ]
}
