//! A made memory: facts about the parts of a project, and questions for each in other words than the fact
//! has. Both were written before any figure was known.

/// A fact, what it is found by, and a question that it answers.
pub(crate) struct AskedFact {
    pub(crate) text: String,
    pub(crate) topics: Vec<String>,
    pub(crate) question: String,
}

/// Parts of a project as facts name them, and as somebody asks about them.
const PARTS: [(&str, &str); 24] = [
    ("the billing service", "billing"),
    ("the mobile app", "our app for phones"),
    ("the search index", "searching"),
    ("the login page", "the page where people log in"),
    ("the nightly backup", "backups"),
    ("the reporting dashboard", "the dashboard with reports"),
    ("the staging server", "staging"),
    ("the image resizer", "resizing of images"),
    ("the newsletter", "the newsletters"),
    ("the payment gateway", "taking payments"),
    ("the customer database", "the database of customers"),
    ("the public API", "the API"),
    ("the documentation site", "the site with the documents"),
    ("the test suite", "our tests"),
    ("the message queue", "queued messages"),
    ("the translation files", "translations"),
    ("the warehouse import", "importing from the warehouse"),
    ("the audit log", "auditing"),
    ("the recommendation engine", "recommendations"),
    ("the video encoder", "encoding videos"),
    ("the support inbox", "mails to support"),
    ("the calendar sync", "syncing calendars"),
    ("the invoice archive", "archived invoices"),
    ("the feature flags", "flags for features"),
];

/// What is known of each part, how it is asked for, and a topic that half of the facts have.
const KNOWN: [(&str, &str, &str); 15] = [
    ("{} listens on port {n}.", "On which port is {} reachable?", "network"),
    ("{} is owned by team {n}.", "Who is responsible for {}?", "responsible"),
    ("{} is deployed every Tuesday at {n}.", "When do deployments of {} happen?", "release"),
    ("Logs of {} are kept for {n} days.", "How long are log files of {} stored?", "retention"),
    ("{} is written in Rust since version {n}.", "Which language is {} programmed in?", "code"),
    ("Errors of {} are sent to channel {n}.", "Where do failures of {} show up?", "alerts"),
    ("{} needs {n} gigabytes of memory.", "How much RAM does {} take?", "ram"),
    ("Passwords for {} lie in vault {n}.", "Where are the credentials of {}?", "credentials"),
    ("{} was moved to Frankfurt in release {n}.", "In which city does {} run?", "city"),
    ("{} must not be restarted before {n} o'clock.", "When may I restart {}?", "caution"),
    ("The person prefers {} with setting {n}.", "How do I like {} set up?", "preference"),
    ("{} fails when more than {n} requests come at once.", "What breaks {}?", "load"),
    ("{} is tested by hand with checklist {n}.", "How is {} tested manually?", "quality"),
    ("{} costs {n} euros a month.", "What do we pay for {}?", "price"),
    ("{} will be replaced in quarter {n}.", "Until when is {} used?", "plans"),
];

/// All of them: 360.
pub(crate) fn made_facts() -> Vec<AskedFact> {
    let mut facts = Vec::new();
    for (p, (part, asked)) in PARTS.iter().enumerate() {
        for (k, (known, question, topic)) in KNOWN.iter().enumerate() {
            let number = (p * 7 + k * 13) % 89 + 3;
            let text = known.replace("{}", part).replace("{n}", &number.to_string());
            // Where a fact has its topic, that is a word of the question.
            let topics = ((p + k) % 2 == 0).then(|| (*topic).to_owned()).into_iter().collect();
            facts.push(AskedFact { text, topics, question: question.replace("{}", asked) });
        }
    }
    facts
}
