//! `case WORD in PATTERN) … ;; esac`: which parentheses end a pattern and not a list, and which words are patterns and
//! no commands. Not here: the commands between them, which are read as everywhere.

use super::{Lexer, join_broken_lines};

/// Where in a `case` the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum CasePlace {
    /// In none, or among the commands of one.
    #[default]
    Elsewhere,
    /// Before `in`.
    Subject,
    /// Where a clause or `esac` begins.
    Clause,
    /// In the patterns of a clause.
    Pattern,
}

impl Lexer<'_> {
    /// Whether what follows is no command but a pattern.
    pub(super) fn stands_at_pattern(&self) -> bool {
        matches!(self.case, CasePlace::Clause | CasePlace::Pattern)
    }

    /// A word of the shell stands where a command could begin.
    pub(super) fn begin_case(&mut self, raw: &str) {
        if raw == "case" && self.part_start.is_none() {
            self.case = CasePlace::Subject;
        }
    }

    /// `case` has got one more word.
    pub(super) fn follow_subject(&mut self, raw: &str) {
        if self.case != CasePlace::Subject || self.part.words.len() < 3 {
            return;
        }
        if raw == "in" {
            self.cases += 1;
            self.case = CasePlace::Clause;
        } else {
            self.end_subject();
        }
    }

    /// A command ends: `case` must not, before its patterns.
    pub(super) fn end_subject(&mut self) {
        if self.case == CasePlace::Subject {
            self.case = CasePlace::Elsewhere;
            self.mark_unreadable("the patterns of a case are not found");
        }
    }

    /// One step where patterns stand, at the letter `next`.
    pub(super) fn pattern_step(&mut self, next: char) {
        let begins = self.case == CasePlace::Clause;
        match next {
            ' ' | '\t' => self.at += 1,
            '\n' if begins => {
                self.at += 1;
                self.read_pending();
            }
            '#' if begins => {
                let rest = &self.text[self.at..];
                self.at += rest.find('\n').unwrap_or(rest.len());
            }
            '(' if begins => {
                self.at += 1;
                self.case = CasePlace::Pattern;
            }
            '|' if !begins => self.at += 1,
            ')' if !begins => {
                self.at += 1;
                self.case = CasePlace::Elsewhere;
                self.finish();
            }
            '\n' | '#' | '(' | '|' | ')' | ';' | '&' | '<' | '>' => {
                self.case = CasePlace::Elsewhere;
                self.mark_unreadable("a pattern of a case cannot be read");
            }
            _ => self.pattern_word(begins),
        }
    }

    fn pattern_word(&mut self, begins: bool) {
        let start = self.at;
        let word = self.word();
        if begins && join_broken_lines(&self.text[start..self.at]) == "esac" {
            self.case = CasePlace::Elsewhere;
            self.cases = self.cases.saturating_sub(1);
            return self.finish();
        }
        self.case = CasePlace::Pattern;
        // Those of the first clause are kept beside the word that they are compared with.
        if self.part_start.is_some() {
            self.part_end = self.at;
            self.part.words.push(word);
        }
    }

    /// `;`, or what ends a clause.
    pub(super) fn end_clause(&mut self) {
        let ends = [";;&", ";;", ";&"].into_iter().find(|end| self.starts(end));
        match ends.filter(|_| self.cases > 0) {
            Some(end) => {
                self.at += end.len();
                self.case = CasePlace::Clause;
            }
            None => self.at += 1,
        }
    }

    /// A list ends: no `case` in it may be open.
    pub(super) fn expect_no_case(&mut self) {
        if self.cases > 0 || self.case != CasePlace::Elsewhere {
            self.mark_unreadable("a case is never closed");
        }
    }
}
