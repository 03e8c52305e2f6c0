//! Tokens and cost as charts, each with its table (S10).

use axum::extract::{Query, State};
use maud::{Markup, html};
use weir_core::sorting::sort_stably_by_key;
use weir_core::view::told::format_dollars;
use weir_install::usage::cause_heading;

use crate::app::App;
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::route::Route;
use crate::usage::{
    UsageDetails, UsageGrouping, UsageQuery, UsageReport, UsageSum, add_details, usage_report,
};
use crate::web::controls::{ButtonLook, submit_button};
use crate::web::parts::{page_with, render_empty, render_field};

mod chart;

use chart::{ChartBar, render_bars, render_columns};

const HERE: &str = "/usage";
/// Spans that one click gives, in days.
const SPANS: [i64; 3] = [7, 30, 90];

/// The routes of this file.
pub(crate) fn usage_page_routes() -> Vec<Route> {
    vec![Route::get(HERE, show_usage)]
}

async fn show_usage(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<UsageQuery>,
) -> HandlerResult<Markup> {
    let mut report = usage_report(&app, &caller, &query).await?;
    add_details(&app, &caller, &query, &mut report).await?;
    let export = usage_address("/api/v1/usage/export", &report, query.everybody);
    let body = html! {
        div.toolbar {
            h1 { "Usage" }
            a.btn href=(export) download { "Export as CSV" }
            a.btn.quiet href="/help?page=settings-in-the-browser#usage" { "Help" }
        }
        (render_spans(&app, &caller, &query, &report))
        (render_totals(&report))
        (render_caps(&report.details))
        @if report.lines.is_empty() {
            (render_empty("No usage in this period.", "Start a chat, or choose other days."))
        } @else {
            (by_day(&report))
            (render_by_grouping(&report, UsageGrouping::Model, "By model", "Model"))
            @if query.everybody { (render_by_grouping(&report, UsageGrouping::Person, "By person", "Person")) }
            (render_by_grouping(&report, UsageGrouping::Agent, "By scheduled agent", "Agent"))
            (render_by_grouping(&report, UsageGrouping::Profile, "By profile", "Profile"))
            (render_misses(&report.details, query.everybody))
        }
    };
    Ok(page_with(&caller, "Usage", HERE, &["pages/usage.css"], &body))
}

fn usage_address(path: &str, report: &UsageReport, everybody: bool) -> String {
    let whose = if everybody { "&everybody=true" } else { "" };
    format!("{path}?from={}&to={}{whose}", report.from, report.to)
}

/// The links to other spans of days, and to everybody's usage.
fn render_spans(app: &App, caller: &Caller, query: &UsageQuery, report: &UsageReport) -> Markup {
    let today = jiff::Timestamp::from_microsecond(app.current_time().0).unwrap_or_default();
    let today = today.to_zoned(jiff::tz::TimeZone::UTC).date();
    let link = |days: i64| {
        let from = today.checked_sub(jiff::Span::new().days(days - 1)).unwrap_or(today);
        let whose = if query.everybody { "&everybody=true" } else { "" };
        let is_here = report.from == from.to_string() && report.to == today.to_string();
        html! {
            a.btn href={ (HERE) "?from=" (from) "&to=" (today) (whose) }
                aria-current=[is_here.then_some("true")] { (days) " days" }
        }
    };
    html! {
        div.row.usage-spans role="group" aria-label="Days" {
            @for days in SPANS { (link(days)) }
        }
        form.toolbar method="get" action=(HERE) {
            (render_field("from", "From", "", &html! { input id="from" name="from" type="date" value=(report.from); }))
            (render_field("to", "To", "", &html! { input id="to" name="to" type="date" value=(report.to); }))
            @if caller.is_admin() {
                label {
                    input type="checkbox" name="everybody" value="true" checked[query.everybody];
                    "of everyone"
                }
            }
            (submit_button(ButtonLook::Plain, "Show"))
        }
    }
}

fn render_totals(report: &UsageReport) -> Markup {
    let sum = &report.total;
    html! {
        dl.grid.usage-totals {
            div.card { dt { "Tokens" } dd { (grouped_number(sum.total_tokens())) } }
            div.card {
                dt { "Cost" }
                dd {
                    (format_dollars(sum.cost_usd))
                    @if sum.unpriced > 0 {
                        span.hint { (grouped_number(sum.unpriced)) " replies have no known price" }
                    }
                }
            }
            div.card {
                dt { "From the cache" }
                dd { @match sum.cache_share() { Some(share) => { (share) " %" }, None => { "–" } } }
            }
            div.card { dt { "Runs" } dd { (grouped_number(sum.runs)) } }
        }
    }
}

/// The caps on money, each with what is spent of it.
fn render_caps(details: &UsageDetails) -> Markup {
    html! {
        @if !details.caps.is_empty() {
            section.card aria-labelledby="caps" {
                h2 id="caps" { "Caps" }
                dl {
                    @for cap in &details.caps {
                        dt { (cap.key) }
                        dd {
                            (cap.told)
                            @if let Some(spent) = cap.spent_usd {
                                @if spent >= cap.max_usd { " – " strong { "reached: nothing is asked until it counts anew" } }
                                meter min="0" max=(cap.max_usd) value=(spent.min(cap.max_usd))
                                    aria-label={ "Spent of " (cap.key) } {}
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What caches missed, by cause, and each miss in a table.
fn render_misses(details: &UsageDetails, everybody: bool) -> Markup {
    let cost = |usd: Option<f64>| usd.map_or_else(|| "unknown".to_owned(), format_dollars);
    html! {
        section.card aria-labelledby="cache-misses" {
            h2 id="cache-misses" { "Cache misses" }
            @if details.causes.is_empty() {
                p { "None: what a provider's cache could serve, it served." }
            } @else {
                p { "Tokens that were paid for once more, and what that cost more than the cache would have." }
                ul {
                    @for sum in &details.causes {
                        li {
                            (grouped_number(sum.misses)) " × " (cause_heading(&sum.cause)) ": "
                            (grouped_number(sum.tokens)) " tokens, "
                            (cost((sum.unpriced < sum.misses).then_some(sum.cost_usd)))
                        }
                    }
                }
                details {
                    summary { "Table" span.unseen { ": every miss" } }
                    div.table-wrap tabindex="0" role="region" aria-label="Every miss" {
                        table {
                            caption { "Every miss, the newest first" }
                            thead {
                                tr {
                                    th scope="col" { "When (UTC)" }
                                    @if everybody { th scope="col" { "Person" } }
                                    th scope="col" { "Model" }
                                    th.num scope="col" { "Tokens" }
                                    th.num scope="col" { "Cost" }
                                    th scope="col" { "Cause" }
                                }
                            }
                            tbody {
                                @for miss in &details.misses {
                                    tr {
                                        td { (miss.at.chars().take(16).collect::<String>().replace('T', " ")) }
                                        @if everybody { td { (miss.person) } }
                                        td { (miss.model) }
                                        td.num { (grouped_number(miss.tokens)) }
                                        td.num { (cost(miss.cost_usd)) }
                                        td { (miss.why) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if details.sessions_left_out > 0 {
                p.hint {
                    (details.sessions_left_out) " older sessions were not looked at: choose fewer days."
                }
            }
        }
    }
}

fn by_day(report: &UsageReport) -> Markup {
    let days = report.daily_sums();
    let cost: Vec<ChartBar> = days
        .iter()
        .map(|(day, sum)| ChartBar {
            name: day.clone(),
            value: sum.cost_usd,
            told: format_dollars(sum.cost_usd),
        })
        .collect();
    let tokens: Vec<ChartBar> = days
        .iter()
        .map(|(day, sum)| ChartBar {
            name: day.clone(),
            value: sum.total_tokens() as f64,
            told: format!("{} tokens", grouped_number(sum.total_tokens())),
        })
        .collect();
    let used = days.iter().filter(|(_, sum)| sum.replies > 0 || sum.runs > 0);
    let used: Vec<(String, UsageSum)> = used.cloned().collect();
    html! {
        section.card aria-labelledby="by-day" {
            h2 id="by-day" { "By day" }
            (render_columns("tokens-by-day", "Tokens by day", &tokens))
            @if report.total.cost_usd > 0.0 { (render_columns("cost-by-day", "Cost by day", &cost)) }
            (render_usage_table("Tokens and cost by day", "Day", &used))
        }
    }
}

fn render_by_grouping(
    report: &UsageReport,
    by: UsageGrouping,
    title: &str,
    column: &str,
) -> Markup {
    let mut sums: Vec<(String, UsageSum)> = report.sums_by(by).into_iter().collect();
    if by == UsageGrouping::Agent {
        sums.retain(|(name, _)| !name.is_empty());
    }
    sort_stably_by_key(&mut sums, |(_, sum)| std::cmp::Reverse(sum.total_tokens()));
    let shown: Vec<ChartBar> = sums
        .iter()
        .map(|(name, sum)| ChartBar {
            name: name.clone(),
            value: sum.total_tokens() as f64,
            told: format!(
                "{} tokens, {}",
                grouped_number(sum.total_tokens()),
                format_dollars(sum.cost_usd)
            ),
        })
        .collect();
    let id = title.to_lowercase().replace(' ', "-");
    html! {
        @if !sums.is_empty() {
            section.card aria-labelledby=(id) {
                h2 id=(id) { (title) }
                (render_bars(&format!("{id}-chart"), &format!("Tokens {}", title.to_lowercase()), &shown))
                (render_usage_table(&format!("Tokens and cost {}", title.to_lowercase()), column, &sums))
            }
        }
    }
}

fn render_usage_table(caption: &str, column: &str, sums: &[(String, UsageSum)]) -> Markup {
    html! {
        details {
            summary { "Table" span.unseen { ": " (caption) } }
            div.table-wrap tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead {
                        tr {
                            th scope="col" { (column) }
                            @for word in ["Input", "From cache", "To cache", "Output", "Cost", "Runs"] {
                                th.num scope="col" { (word) }
                            }
                        }
                    }
                    tbody {
                        @for (name, sum) in sums {
                            tr {
                                th scope="row" { (name) }
                                @for count in [sum.input, sum.cache_read, sum.cache_write, sum.output] {
                                    td.num { (grouped_number(count)) }
                                }
                                td.num { (format_dollars(sum.cost_usd)) }
                                td.num { (grouped_number(sum.runs)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn grouped_number(number: u64) -> String {
    weir_core::view::visible::grouped_number(usize::try_from(number).unwrap_or(usize::MAX))
}
