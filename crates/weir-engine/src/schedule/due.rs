//! What is due of one agent at a moment. Decides, and does nothing.

use std::collections::BTreeMap;

use weir_core::ids::Timestamp;
use weir_core::schedule::{AgentCause, AgentRun, AgentRunState, MissedTicks};

use super::calendar::PassedTicks;
use super::known::KnownAgent;

/// So long after its moment a tick is still on time: a program that was restarted, a machine that
/// was busy. Later it was missed.
const ON_TIME_MS: u64 = 60_000;

/// How an agent stands between two ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentWait {
    /// Until its next tick.
    Until(Timestamp),
    /// Nothing of it comes due by itself.
    ForEver,
}

impl KnownAgent {
    /// When it is due next, after `moment`.
    pub fn next(&self, moment: Timestamp) -> AgentWait {
        let calendar = self.calendar.as_ref().filter(|_| self.active);
        calendar
            .and_then(|calendar| calendar.next_tick_after(moment))
            .map_or(AgentWait::ForEver, AgentWait::Until)
    }

    /// What is to be written down of the ticks after `handled` up to `now`: at most one run, and at
    /// most one report of ticks that nobody heard. Ticks from before it was as it is are not its
    /// own.
    pub(super) fn due_runs(
        &self,
        handled: Option<Timestamp>,
        now: Timestamp,
        missed: MissedTicks,
    ) -> Vec<AgentRun> {
        let Some(calendar) = self.calendar.as_ref().filter(|_| self.active) else {
            return Vec::new();
        };
        let since = handled.map_or(self.since, |handled| handled.max(self.since));
        let Some(passed) = calendar.passed_ticks(since, now) else { return Vec::new() };
        let on_time = now.ms_since(passed.newest) <= ON_TIME_MS;
        match (self.agent.missed.unwrap_or(missed), on_time) {
            (MissedTicks::Run, _) => vec![self.run_for_ticks(&passed, on_time, now)],
            (MissedTicks::Report, true) => {
                let earlier = PassedTicks { count: passed.count - 1, ..passed };
                let report =
                    (earlier.count > 0).then(|| self.missed_report(&earlier, passed.oldest, now));
                let run = self.run(passed.newest, now);
                report.into_iter().chain([run]).collect()
            }
            (MissedTicks::Report, false) => vec![self.missed_report(&passed, passed.newest, now)],
        }
    }

    fn run(&self, due: Timestamp, now: Timestamp) -> AgentRun {
        let run = AgentRun::new(&self.agent, AgentCause::Cron, tick_text(due), due);
        AgentRun { claimed: now, ..run }
    }

    /// One run for all that passed.
    fn run_for_ticks(&self, passed: &PassedTicks, on_time: bool, now: Timestamp) -> AgentRun {
        let mut run = self.run(passed.newest, now);
        if !on_time {
            run.add_remark("it was missed, and run late");
        }
        if passed.count > 1 {
            let earlier = PassedTicks { count: passed.count - 1, ..*passed };
            run.add_remark(&format!("it stands for {} before it too", ticks_text(&earlier)));
        }
        run
    }

    fn missed_report(&self, passed: &PassedTicks, tick: Timestamp, now: Timestamp) -> AgentRun {
        let what = format!("{} passed while nothing could be started", ticks_text(passed));
        self.run(tick, now).with_end(AgentRunState::Missed, now, what)
    }
}

/// `3 ticks from 2026-11-22T08:00:00Z on`.
fn ticks_text(passed: &PassedTicks) -> String {
    let more = if passed.count + 1 >= PassedTicks::count_max() { "or more " } else { "" };
    match passed.count {
        1 => format!("the tick of {}", tick_text(passed.oldest)),
        count => format!("{count} {more}ticks from {} on", tick_text(passed.oldest)),
    }
}

/// A tick as it is named: it has no fraction of a second.
fn tick_text(tick: Timestamp) -> String {
    tick.to_string().replace(".000000", "")
}

/// The runs that follow from the completed `run`: of active agents that run after its agent.
pub fn follower_runs(
    agents: &BTreeMap<String, KnownAgent>,
    run: &AgentRun,
    now: Timestamp,
) -> Vec<AgentRun> {
    let follow = |known: &&KnownAgent| {
        known.active && known.agent.after.as_deref() == Some(run.agent.as_str())
    };
    let next = agents.values().filter(follow);
    let tick = format!("after {} {}", run.agent, run.tick);
    next.map(|known| AgentRun::new(&known.agent, AgentCause::After, tick.clone(), now)).collect()
}

#[cfg(test)]
mod tests {
    use weir_core::schedule::{AgentLimits, OnAsk, PromptMode, ScheduledAgent};

    use super::super::calendar::Calendar;
    use super::*;

    fn at(text: &str) -> Timestamp {
        let moment: jiff::Timestamp = text.parse().expect("a moment");
        Timestamp(moment.as_microsecond())
    }

    fn known(missed: Option<MissedTicks>) -> KnownAgent {
        let agent = ScheduledAgent {
            name: "daily".into(),
            prompt: "Look.".into(),
            cron: Some("0 8 * * *".into()),
            timezone: "UTC".into(),
            after: None,
            profile: None,
            tools: Vec::new(),
            prompt_mode: PromptMode::Combined,
            model: None,
            permission: None,
            thinking: None,
            limits: AgentLimits::default(),
            missed,
            on_ask: OnAsk::Deny,
            workspace: "/w".into(),
            owner: "ada".into(),
        };
        let calendar = Calendar::new("0 8 * * *", "UTC").expect("an expression");
        KnownAgent {
            agent,
            calendar: Some(calendar),
            active: true,
            since: at("2026-11-01T00:00:00Z"),
        }
    }

    /// Tick, state and note of what is due.
    fn check(
        known: &KnownAgent,
        handled: Option<&str>,
        now: &str,
        expected: &[(&str, &str, &str)],
    ) {
        let due = known.due_runs(handled.map(at), at(now), MissedTicks::Run);
        let told: Vec<(&str, &str, &str)> =
            due.iter().map(|run| (run.tick.as_str(), run.state.as_str(), &*run.note)).collect();
        assert_eq!(told, expected, "{now}");
        assert!(due.iter().all(|run| run.claimed == at(now)));
    }

    #[test]
    fn m7_a_missed_tick_is_run_once_or_reported() {
        let (run, report) = (known(None), known(Some(MissedTicks::Report)));
        let day = |n: u32| format!("2026-11-{n:02}T08:00:00Z");
        let (two, four, five) = (day(2), day(4), day(5));
        let on_time = "2026-11-04T08:00:59Z";
        for agent in [&run, &report] {
            check(agent, Some(&two), "2026-11-03T07:59:59Z", &[]);
            check(agent, Some("2026-11-03T08:00:00Z"), on_time, &[(&four, "waiting", "")]);
            check(agent, Some(&four), on_time, &[]);
        }
        let stands = "it stands for the tick of 2026-11-03T08:00:00Z before it too";
        check(&run, Some(&two), on_time, &[(&four, "waiting", stands)]);
        let late = "it was missed, and run late; it stands for 2 ticks from \
                    2026-11-03T08:00:00Z on before it too";
        check(&run, Some(&two), "2026-11-05T08:01:01Z", &[(&five, "waiting", late)]);
        let passed = "3 ticks from 2026-11-03T08:00:00Z on passed while nothing could be started";
        check(&report, Some(&two), "2026-11-05T09:00:00Z", &[(&five, "missed", passed)]);
        let three = "2026-11-03T08:00:00Z";
        let passed = "the tick of 2026-11-03T08:00:00Z passed while nothing could be started";
        let both = [(three, "missed", passed), (four.as_str(), "waiting", "")];
        check(&report, Some(&two), on_time, &both);
    }

    #[test]
    fn m7_ticks_from_before_it_was_as_it_is_are_not_its_own() {
        let new = KnownAgent { since: at("2026-11-04T07:00:00Z"), ..known(None) };
        check(&new, None, "2026-11-04T07:30:00Z", &[]);
        check(&new, Some("2026-11-01T08:00:00Z"), "2026-11-04T07:30:00Z", &[]);
        check(&new, None, "2026-11-04T08:00:00Z", &[("2026-11-04T08:00:00Z", "waiting", "")]);
        let paused = KnownAgent { active: false, ..known(None) };
        check(&paused, None, "2026-11-04T08:00:00Z", &[]);
        assert_eq!(paused.next(at("2026-11-04T08:00:00Z")), AgentWait::ForEver);
        let by_hand = KnownAgent { calendar: None, ..known(None) };
        check(&by_hand, None, "2026-11-04T08:00:00Z", &[]);
        let next = known(None).next(at("2026-11-04T08:00:00Z"));
        assert_eq!(next, AgentWait::Until(at("2026-11-05T08:00:00Z")));
    }

    #[test]
    fn m7_what_completed_is_followed_once() {
        let after = |name: &str, of: &str, active: bool| {
            let mut known = KnownAgent { active, calendar: None, ..known(None) };
            known.agent.name = name.into();
            known.agent.after = Some(of.into());
            (name.to_owned(), known)
        };
        let agents = BTreeMap::from([
            after("b", "daily", true),
            after("c", "daily", false),
            after("d", "b", true),
        ]);
        let run = known(None).run(at("2026-11-04T08:00:00Z"), at("2026-11-04T08:00:01Z"));
        let now = at("2026-11-04T08:05:00Z");
        let next = follower_runs(&agents, &run, now);
        let told: Vec<(&str, &str)> =
            next.iter().map(|run| (run.agent.as_str(), run.tick.as_str())).collect();
        assert_eq!(told, [("b", "after daily 2026-11-04T08:00:00Z")]);
        assert_eq!((next[0].cause, next[0].due), (AgentCause::After, now));
    }
}
