//! Workbooks, read back; text that looks like a formula.

use weir_core::office::{
    ChartKind, ConditionRule, ConditionValue, ConditionalFormat, OfficeDocument, RangeFormat,
    SheetChart,
};

use super::*;
use crate::make::text::tests::{make, read_back};
use crate::package::{PackageScope, ZipPackage};
use crate::xml::xml_text;

fn text(text: &str) -> SheetCell {
    SheetCell::Text(text.into())
}

fn formula(formula: &str) -> SheetCell {
    SheetCell::Typed(TypedCell { formula: Some(formula.into()), ..TypedCell::default() })
}

fn book(sheet: WorkbookSheet) -> OfficeDocument {
    OfficeDocument::Workbook(WorkbookDocument { sheets: vec![sheet], author: None })
}

fn sheet(rows: Vec<Vec<SheetCell>>) -> WorkbookSheet {
    WorkbookSheet { name: "S".into(), rows, ..WorkbookSheet::default() }
}

#[test]
fn k8_cells_are_read_back_with_their_types() {
    let date =
        SheetCell::Typed(TypedCell { date: Some("2026-11-26".into()), ..TypedCell::default() });
    let rows = vec![
        vec![text("Name"), text("Value")],
        vec![text("a"), SheetCell::Number(1.5)],
        vec![text("مرحبا"), SheetCell::Truth(true)],
        vec![date, formula("=SUM(B2:B2)")],
        vec![SheetCell::Empty(()), text("漢字 🎉")],
    ];
    let sheet = WorkbookSheet {
        head: true,
        formats: vec![RangeFormat { range: "B".into(), bold: true, ..RangeFormat::default() }],
        conditions: vec![ConditionalFormat {
            range: "B2:B9".into(),
            rule: ConditionRule::Greater,
            value: Some(ConditionValue::Number(1.0)),
            to: None,
            fill: None,
        }],
        charts: vec![SheetChart {
            kind: ChartKind::Line,
            title: None,
            categories: "A2:A3".into(),
            values: vec!["B2:B3".into()],
            at: None,
        }],
        ..sheet(rows)
    };
    let made = make(book(sheet.clone()), &[]).expect("made");
    let expected = "|  | A | B |\n| --- | --- | --- |\n| 1 | Name | Value |\n| 2 | a | 1.5 |\n\
                    | 3 | مرحبا | TRUE |\n| 4 | 2026-11-26 | `=SUM(B2:B2)` (not computed) |\n\
                    | 5 |  | 漢字 🎉 |";
    assert_eq!(read_back("a.xlsx", &made), expected);
    assert_eq!(made, make(book(sheet), &[]).expect("made"), "the same bytes again");
}

#[test]
fn k8_text_that_looks_like_a_formula_stays_text() {
    let cells = ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|'/c calc'!A0"];
    let made = make(book(sheet(vec![cells.map(text).to_vec()])), &[]).expect("made");
    let read = read_back("a.xlsx", &made);
    assert!(read.ends_with("| 1 | =1+1 | +1 | -1 | @SUM(A1) | =cmd\\|'/c calc'!A0 |"), "{read}");
    assert!(!read.contains('`'), "no formula: {read}");
}

#[test]
fn k8_what_cannot_be_a_sheet_says_where() {
    let link =
        SheetCell::Typed(TypedCell { link: Some("file:///etc".into()), ..TypedCell::default() });
    for (rows, word) in [
        (vec![vec![formula("=WEBSERVICE(\"https://e.org\")")]], "cell A1"),
        (vec![vec![text("x"), formula("SUM(A1)")]], "cell B1"),
        (vec![vec![link]], "no http"),
        (vec![vec![SheetCell::Number(f64::NAN)]], "finite"),
    ] {
        let said = make(book(sheet(rows)), &[]).expect_err(word);
        assert!(said.contains(word), "{said}");
    }
    let unnamed = WorkbookSheet { name: "a/b".into(), ..WorkbookSheet::default() };
    assert!(make(book(unnamed), &[]).is_err());
}

fn part_of(made: &[u8], name: &str) -> String {
    let package = ZipPackage::read_package(made, PackageScope::Whole).expect("a package");
    String::from_utf8_lossy(package.find_part(name).expect(name)).into_owned()
}

#[test]
fn k8_a_title_of_a_chart_is_no_formula() {
    for title in ["=WEBSERVICE(\"https://e.org\")", "=(S!A1)", "=S!$A$1", "Oh no!A1", "=[1]S!A1"] {
        let chart = SheetChart {
            kind: ChartKind::Column,
            title: Some(title.into()),
            categories: "A1:A2".into(),
            values: vec!["B1:B2".into()],
            at: None,
        };
        let rows = vec![vec![text("a"), SheetCell::Number(1.0)]];
        let made = make(book(WorkbookSheet { charts: vec![chart], ..sheet(rows) }), &[]);
        let part = part_of(&made.expect(title), "xl/charts/chart1.xml");
        assert!(part.contains(&format!("<a:t>{}</a:t>", xml_text(title))), "{title}: {part}");
        let tx = part.split("<c:tx>").nth(1).and_then(|rest| rest.split("</c:tx>").next());
        assert!(!tx.unwrap_or_default().contains("<c:f>"), "{title}: {part}");
    }
}

#[test]
fn k8_a_condition_compares_with_a_text_and_with_no_formula() {
    let condition = |value: &str| ConditionalFormat {
        range: "A1:A9".into(),
        rule: ConditionRule::Equal,
        value: Some(ConditionValue::Text(value.into())),
        to: None,
        fill: None,
    };
    let conditions = vec![condition("\"a\"&WEBSERVICE(\"x\")&\"b\""), condition("=A1")];
    let made = make(book(WorkbookSheet { conditions, ..sheet(vec![vec![text("x")]]) }), &[]);
    let part = part_of(&made.expect("made"), "xl/worksheets/sheet1.xml");
    let formulas: Vec<&str> = part
        .split("<formula>")
        .skip(1)
        .filter_map(|rest| rest.split("</formula>").next())
        .collect();
    let quoted = "\"\"\"a\"\"&amp;WEBSERVICE(\"\"x\"\")&amp;\"\"b\"\"\"";
    assert_eq!(formulas, [quoted, "\"=A1\""]);
}
