//! Tokens and cost as charts, each with its table (S10).

use axum::extract::{Query, State};
use maud::{Markup, html};
use weir_core::view::told::dollars;

use crate::app::App;
use crate::guard::Caller;
use crate::problem::Answer;
use crate::route::Route;
use crate::usage::{By, Sum, UsageQuery, UsageReport, report};
use crate::web::parts::{empty, field, page_with};

mod chart;

use chart::{Bar, bars, columns};

const HERE: &str = "/usage";
/// Spans that one click gives, in days.
const SPANS: [i64; 3] = [7, 30, 90];

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![Route::get(HERE, show)]
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<UsageQuery>,
) -> Answer<Markup> {
    let report = report(&app, &caller, &query).await?;
    let export = address("/api/v1/usage/export", &report, query.everybody);
    let body = html! {
        div.toolbar {
            h1 { "Usage" }
            a.btn href=(export) download { "Export as CSV" }
            a.btn.quiet href="/help?page=settings-in-the-browser#usage" { "Help" }
        }
        (spans(&app, &caller, &query, &report))
        (totals(&report))
        @if report.lines.is_empty() {
            (empty("No usage in this period.", "Start a chat, or choose other days."))
        } @else {
            (by_day(&report))
            (by(&report, By::Model, "By model", "Model"))
            @if query.everybody { (by(&report, By::Person, "By person", "Person")) }
            (by(&report, By::Agent, "By scheduled agent", "Agent"))
            (by(&report, By::Profile, "By profile", "Profile"))
        }
    };
    Ok(page_with(&caller, "Usage", HERE, &["pages/usage.css"], &body))
}

fn address(path: &str, report: &UsageReport, everybody: bool) -> String {
    let whose = if everybody { "&everybody=true" } else { "" };
    format!("{path}?from={}&to={}{whose}", report.from, report.to)
}

/// Which days, and whose.
fn spans(app: &App, caller: &Caller, query: &UsageQuery, report: &UsageReport) -> Markup {
    let today = jiff::Timestamp::from_microsecond(app.now().0).unwrap_or_default();
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
            (field("from", "From", "", &html! { input id="from" name="from" type="date" value=(report.from); }))
            (field("to", "To", "", &html! { input id="to" name="to" type="date" value=(report.to); }))
            @if caller.person.is_admin() {
                label {
                    input type="checkbox" name="everybody" value="true" checked[query.everybody];
                    "of everyone"
                }
            }
            button.btn type="submit" { "Show" }
        }
    }
}

fn totals(report: &UsageReport) -> Markup {
    let sum = &report.total;
    html! {
        dl.grid.usage-totals {
            div.card { dt { "Tokens" } dd { (thousands(sum.tokens())) } }
            div.card {
                dt { "Cost" }
                dd {
                    (dollars(sum.cost_usd))
                    @if sum.unpriced > 0 {
                        span.hint { (thousands(sum.unpriced)) " replies have no known price" }
                    }
                }
            }
            div.card {
                dt { "From the cache" }
                dd { @match sum.cache_share() { Some(share) => { (share) " %" }, None => { "–" } } }
            }
            div.card { dt { "Runs" } dd { (thousands(sum.runs)) } }
        }
    }
}

fn by_day(report: &UsageReport) -> Markup {
    let days = report.days();
    let cost: Vec<Bar> = days
        .iter()
        .map(|(day, sum)| Bar {
            name: day.clone(),
            value: sum.cost_usd,
            told: dollars(sum.cost_usd),
        })
        .collect();
    let tokens: Vec<Bar> = days
        .iter()
        .map(|(day, sum)| Bar {
            name: day.clone(),
            value: sum.tokens() as f64,
            told: format!("{} tokens", thousands(sum.tokens())),
        })
        .collect();
    let used = days.iter().filter(|(_, sum)| sum.replies > 0 || sum.runs > 0);
    let used: Vec<(String, Sum)> = used.cloned().collect();
    html! {
        section.card aria-labelledby="by-day" {
            h2 id="by-day" { "By day" }
            (columns("tokens-by-day", "Tokens by day", &tokens))
            @if report.total.cost_usd > 0.0 { (columns("cost-by-day", "Cost by day", &cost)) }
            (table("Tokens and cost by day", "Day", &used))
        }
    }
}

fn by(report: &UsageReport, by: By, title: &str, column: &str) -> Markup {
    let mut sums: Vec<(String, Sum)> = report.by(by).into_iter().collect();
    if by == By::Agent {
        sums.retain(|(name, _)| !name.is_empty());
    }
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.tokens()));
    let shown: Vec<Bar> = sums
        .iter()
        .map(|(name, sum)| Bar {
            name: name.clone(),
            value: sum.tokens() as f64,
            told: format!("{} tokens, {}", thousands(sum.tokens()), dollars(sum.cost_usd)),
        })
        .collect();
    let id = title.to_lowercase().replace(' ', "-");
    html! {
        @if !sums.is_empty() {
            section.card aria-labelledby=(id) {
                h2 id=(id) { (title) }
                (bars(&format!("{id}-chart"), &format!("Tokens {}", title.to_lowercase()), &shown))
                (table(&format!("Tokens and cost {}", title.to_lowercase()), column, &sums))
            }
        }
    }
}

fn table(caption: &str, column: &str, sums: &[(String, Sum)]) -> Markup {
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
                                    td.num { (thousands(count)) }
                                }
                                td.num { (dollars(sum.cost_usd)) }
                                td.num { (thousands(sum.runs)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn thousands(number: u64) -> String {
    weir_core::view::visible::thousands(usize::try_from(number).unwrap_or(usize::MAX))
}
