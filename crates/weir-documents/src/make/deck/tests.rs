//! Presentations, read back and split where they are too full.

use weir_core::office::{ChartKind, ChartSeries, OfficeDocument, SlideTheme};

use super::*;
use crate::make::text::tests::{make, read_back};

fn slide(title: &str, body: &str) -> DeckSlide {
    let body = (!body.is_empty()).then(|| body.to_owned());
    DeckSlide { title: title.into(), body, ..DeckSlide::default() }
}

fn deck(slides: Vec<DeckSlide>) -> SlideDeck {
    SlideDeck { slides, ..SlideDeck::default() }
}

fn chart() -> SlideChart {
    SlideChart {
        kind: ChartKind::Column,
        categories: vec!["Q1".into(), "Q2".into()],
        series: vec![ChartSeries { name: "North".into(), values: vec![Some(1.5), None] }],
    }
}

#[test]
fn k8_slides_are_read_back_in_every_theme() {
    for theme in [SlideTheme::Plain, SlideTheme::Dark, SlideTheme::Warm] {
        let slides = vec![
            DeckSlide { subtitle: Some("Sub".into()), ..slide("Cover", "") },
            DeckSlide {
                notes: Some("Say it.\nTwice.".into()),
                ..slide("Points", "- a **b**\n  - c")
            },
            DeckSlide { table: vec![vec!["H".into()], vec!["1".into()]], ..slide("Table", "") },
            DeckSlide { chart: Some(chart()), ..slide("Chart", "- left") },
            slide("مرحبا 漢字 🎉", "نص"),
        ];
        let deck = SlideDeck { theme: Some(theme), ..deck(slides) };
        let made = make(OfficeDocument::Slides(deck), &[]).expect("made");
        let expected = "# Cover\n\nSub\n\n# Points\n\n- a b\n  - c\n\nNotes: Say it.\nTwice.\n\n\
                        # Table\n\n| H |\n| --- |\n| 1 |\n\n# Chart\n\n- left\n\n|  | North |\n\
                        | --- | --- |\n| Q1 | 1.5 |\n| Q2 |  |\n\n# مرحبا 漢字 🎉\n\nنص";
        assert_eq!(read_back("a.pptx", &made), expected);
    }
}

#[test]
fn k8_what_does_not_fit_goes_on_and_nothing_is_lost() {
    let many: String = (0..80).map(|n| format!("- Point number {n} with words\n")).collect();
    let rows = (0..60).map(|n| vec![n.to_string(), "cell".to_owned()]).collect();
    let long = "Words that go on and on. ".repeat(200);
    let slides = vec![
        slide("Many", &many),
        DeckSlide { table: rows, ..slide("Rows", "") },
        slide("Long", &long),
    ];
    let made = make(OfficeDocument::Slides(deck(slides)), &[]).expect("made");
    let read = read_back("a.pptx", &made);
    assert!(read.matches("# Many").count() > 1 && read.matches("# Rows").count() > 1, "{read}");
    for number in 0..80 {
        assert!(read.contains(&format!("Point number {number} ")), "{number}");
    }
    for number in 1..60 {
        assert!(read.contains(&format!("| {number} | cell |")), "{number}");
    }
    assert_eq!(read.matches("on and on").count(), 200);
}

#[test]
fn k8_a_deck_is_a_template_for_another() {
    let base = SlideDeck { theme: Some(SlideTheme::Warm), ..deck(vec![slide("Old", "- x")]) };
    let template = make(OfficeDocument::Slides(base), &[]).expect("made");
    let other = SlideDeck {
        template: Some("t.pptx".into()),
        ..deck(vec![
            slide("New", "- y"),
            DeckSlide { right: Some("- r".into()), ..slide("Two", "- l") },
        ])
    };
    let made = make(OfficeDocument::Slides(other), &[("t.pptx", &template)]).expect("made");
    assert_eq!(read_back("a.pptx", &made), "# New\n\n- y\n\n# Two\n\n- l\n\n- r");
}

#[test]
fn k8_what_cannot_be_a_slide_says_why() {
    let both =
        DeckSlide { table: vec![vec!["x".into()]], chart: Some(chart()), ..slide("Both", "") };
    let mut uneven = chart();
    uneven.categories.pop();
    for (slides, word) in [
        (vec![], "needs slides"),
        (vec![both], "slide 1"),
        (vec![slide(&"long title ".repeat(60), "- x")], "title is too long"),
        (vec![DeckSlide { chart: Some(uneven), ..slide("C", "") }], "values for 1 categories"),
    ] {
        let said = make(OfficeDocument::Slides(deck(slides)), &[]).expect_err(word);
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn k8_a_table_that_is_higher_than_a_slide_is_split() {
    let words = |count: usize| (0..count).map(|n| format!("w{n} ")).collect::<String>();
    let tall_head = vec![vec![words(900), "H2".into()]];
    let with_body = vec![vec![words(900), "H2".into()], vec!["b1".into(), "b2".into()]];
    let tall_row = vec![vec!["H1".into(), "H2".into()], vec![words(900), words(10)]];
    for rows in [tall_head, with_body, tall_row] {
        let last = rows.last().and_then(|row| row.last()).cloned().unwrap_or_default();
        let slides = vec![DeckSlide { table: rows, ..slide("Table", "") }];
        let made = make(OfficeDocument::Slides(deck(slides)), &[]).expect("made");
        let read = read_back("a.pptx", &made);
        assert!(read.matches("# Table").count() > 1, "{read}");
        for number in 0..900 {
            assert!(read.contains(&format!("w{number} ")), "w{number} is missing");
        }
        assert!(read.contains(last.trim()), "{last}");
    }
}
