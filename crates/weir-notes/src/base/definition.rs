//! A `.base` file read: filters, formulas, names, views. What it does not know it names. Not here: what
//! it finds (`query`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::BaseError;
use super::check::check_expression;
use super::expression::{ExpressionNode, parse_expression};
use crate::properties::parse_yaml;

/// Most views and formulas.
const PARTS_MAX: usize = 500;
/// Deepest filters in filters.
const FILTER_DEPTH_MAX: usize = 30;
/// Keys of every view.
const VIEW_KEYS: &[&str] =
    &["type", "name", "limit", "filters", "groupBy", "order", "sort", "summaries"];
/// Layouts of Obsidian, and what each keeps beside. Layouts of plugins keep what they like.
const LAYOUTS: &[(&str, &[&str])] = &[
    ("table", &["columnSize", "rowHeight"]),
    ("cards", &["cardSize", "image", "imageFit", "imageAspectRatio"]),
    ("list", &["markers", "indentProperties", "separator"]),
    (
        "map",
        &[
            "coordinates",
            "markerIcon",
            "markerColor",
            "center",
            "minZoom",
            "maxZoom",
            "defaultZoom",
            "mapTiles",
            "mapTilesDark",
            "mapHeight",
        ],
    ),
];
/// Summaries that there are without being written.
pub(super) const SUMMARIES: &[&str] = &[
    "Average",
    "Min",
    "Max",
    "Sum",
    "Range",
    "Median",
    "Stddev",
    "Earliest",
    "Latest",
    "Checked",
    "Unchecked",
    "Empty",
    "Filled",
    "Unique",
];

/// A filter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BaseFilter {
    Statement(ExpressionNode),
    And(Vec<BaseFilter>),
    Or(Vec<BaseFilter>),
    /// None of them is true.
    Not(Vec<BaseFilter>),
}

/// A column to sort or group by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SortKey {
    pub(super) property: ExpressionNode,
    pub(super) descending: bool,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BaseColumn {
    /// As it is written: `file.name`, `note.price`, `price`, `formula.x`.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) value: ExpressionNode,
    pub(super) summary: Option<String>,
}

/// One view.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseView {
    /// Its name.
    pub name: String,
    /// `table`, `cards`, `list`, `map` or that of a plugin.
    pub layout: String,
    pub(super) filter: Option<BaseFilter>,
    pub(super) columns: Vec<BaseColumn>,
    pub(super) sort: Vec<SortKey>,
    pub(super) group: Option<SortKey>,
    pub(super) limit: Option<usize>,
}

/// A base.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BaseDefinition {
    /// Its views in order.
    pub views: Vec<BaseView>,
    pub(super) filter: Option<BaseFilter>,
    pub(super) formulas: BTreeMap<String, ExpressionNode>,
    pub(super) summaries: BTreeMap<String, ExpressionNode>,
}

/// Reads a base.
///
/// # Errors
/// What is wrong, with its place: the first of it.
pub fn parse_base(yaml: &str) -> Result<BaseDefinition, BaseError> {
    let read =
        parse_yaml(yaml).map_err(|why| BaseError::new("the base", format!("no YAML: {why}")))?;
    let fields = match read {
        Value::Null => Map::new(),
        Value::Object(fields) => fields,
        _ => return Err(BaseError::new("the base", "names with values are expected")),
    };
    let known = ["filters", "formulas", "properties", "summaries", "views"];
    check_keys(&fields, &known, "the base")?;
    let texts = text_table(fields.get("formulas"), "formulas")?;
    let reader = BaseReader {
        formulas: texts.keys().cloned().collect(),
        properties: read_table(fields.get("properties"), "properties")?,
    };
    let mut base = BaseDefinition::default();
    for (name, text) in &texts {
        base.formulas
            .insert(name.clone(), reader.read_expression(text, &format!("formulas.{name}"))?);
    }
    for (name, text) in text_table(fields.get("summaries"), "summaries")? {
        base.summaries
            .insert(name.clone(), reader.read_expression(&text, &format!("summaries.{name}"))?);
    }
    base.filter = reader.read_filters(fields.get("filters"), "filters")?;
    let views = read_list(fields.get("views"), "views")?;
    for (at, view) in views.iter().enumerate() {
        let view = reader.read_view(view, &format!("views[{at}]"))?;
        for column in
            view.columns.iter().filter_map(|column| Some((column, column.summary.as_ref()?)))
        {
            let known =
                SUMMARIES.contains(&column.1.as_str()) || base.summaries.contains_key(column.1);
            if !known {
                let place = format!("views[{at}].summaries.{}", column.0.id);
                return Err(BaseError::new(place, format!("the summary {} is unknown", column.1)));
            }
        }
        base.views.push(view);
    }
    Ok(base)
}

struct BaseReader {
    formulas: Vec<String>,
    properties: Map<String, Value>,
}

impl BaseReader {
    fn read_expression(&self, text: &str, place: &str) -> Result<ExpressionNode, BaseError> {
        let wrong = |why: String| BaseError::new(place, format!("{why} (in {text:?})"));
        let read = parse_expression(text).map_err(wrong)?;
        let known = |name: &str| self.formulas.iter().any(|formula| formula == name);
        check_expression(text, &read, &known).map_err(wrong)?;
        Ok(read)
    }

    fn read_filters(
        &self,
        value: Option<&Value>,
        place: &str,
    ) -> Result<Option<BaseFilter>, BaseError> {
        match value {
            None | Some(Value::Null) => Ok(None),
            Some(value) => self.read_filter(value, place, 0).map(Some),
        }
    }

    fn read_filter(
        &self,
        value: &Value,
        place: &str,
        depth: usize,
    ) -> Result<BaseFilter, BaseError> {
        if depth > FILTER_DEPTH_MAX {
            return Err(BaseError::new(place, format!("nested deeper than {FILTER_DEPTH_MAX}")));
        }
        match value {
            Value::String(text) => self.read_expression(text, place).map(BaseFilter::Statement),
            Value::Bool(yes) => {
                self.read_expression(&yes.to_string(), place).map(BaseFilter::Statement)
            }
            Value::Object(fields) => {
                check_keys(fields, &["and", "or", "not"], place)?;
                let mut found = Vec::new();
                for (key, value) in fields {
                    let place = format!("{place}.{key}");
                    let items: Vec<&Value> = match value {
                        Value::Array(items) => items.iter().collect(),
                        Value::Null => Vec::new(),
                        one => vec![one],
                    };
                    let mut filters = Vec::new();
                    for (at, item) in items.iter().enumerate() {
                        filters.push(self.read_filter(
                            item,
                            &format!("{place}[{at}]"),
                            depth + 1,
                        )?);
                    }
                    found.push(match key.as_str() {
                        "and" => BaseFilter::And(filters),
                        "or" => BaseFilter::Or(filters),
                        _ => BaseFilter::Not(filters),
                    });
                }
                Ok(BaseFilter::And(found))
            }
            _ => Err(BaseError::new(place, "a statement, or and, or, not with a list is expected")),
        }
    }

    fn read_view(&self, value: &Value, place: &str) -> Result<BaseView, BaseError> {
        let Value::Object(fields) = value else {
            return Err(BaseError::new(place, "names with values are expected"));
        };
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        let layout = text("type").unwrap_or_else(|| "table".into());
        if let Some((_, extra)) = LAYOUTS.iter().find(|(name, _)| *name == layout) {
            let known: Vec<&str> = VIEW_KEYS.iter().chain(*extra).copied().collect();
            check_keys(fields, &known, place)?;
        }
        let limit = match fields.get("limit") {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_u64().and_then(|limit| usize::try_from(limit).ok()) {
                Some(limit) => Some(limit),
                None => {
                    return Err(BaseError::new(
                        format!("{place}.limit"),
                        "a whole number is expected",
                    ));
                }
            },
        };
        let summaries = text_table(fields.get("summaries"), &format!("{place}.summaries"))?;
        let mut columns = Vec::new();
        for (at, column) in
            read_list(fields.get("order"), &format!("{place}.order"))?.iter().enumerate()
        {
            let place = format!("{place}.order[{at}]");
            let Some(id) = column.as_str() else {
                return Err(BaseError::new(place, "the name of a property is expected"));
            };
            columns.push(self.read_column(id, summaries.get(id), &place)?);
        }
        for (id, summary) in &summaries {
            if !columns.iter().any(|column| column.id == *id) {
                columns.push(self.read_column(
                    id,
                    Some(summary),
                    &format!("{place}.summaries.{id}"),
                )?);
            }
        }
        if columns.is_empty() {
            columns.push(self.read_column("file.name", None, place)?);
        }
        let mut sort = Vec::new();
        for (at, key) in read_list(fields.get("sort"), &format!("{place}.sort"))?.iter().enumerate()
        {
            sort.push(self.sort_key(key, &format!("{place}.sort[{at}]"))?);
        }
        let group = match fields.get("groupBy") {
            None | Some(Value::Null) => None,
            Some(key) => Some(self.sort_key(key, &format!("{place}.groupBy"))?),
        };
        let filter = self.read_filters(fields.get("filters"), &format!("{place}.filters"))?;
        let name = text("name").unwrap_or_else(|| layout.clone());
        Ok(BaseView { name, layout, filter, columns, sort, group, limit })
    }

    fn read_column(
        &self,
        id: &str,
        summary: Option<&String>,
        place: &str,
    ) -> Result<BaseColumn, BaseError> {
        let named = self.properties.get(id).or_else(|| self.properties.get(&format!("note.{id}")));
        let named = named.or_else(|| self.properties.get(id.strip_prefix("note.")?));
        let title = named.and_then(|of| of.get("displayName")).and_then(Value::as_str);
        Ok(BaseColumn {
            id: id.to_owned(),
            title: title.unwrap_or(id).to_owned(),
            value: self.read_property(id, place)?,
            summary: summary.cloned(),
        })
    }

    /// A property by its id, whatever letters are in it.
    fn read_property(&self, id: &str, place: &str) -> Result<ExpressionNode, BaseError> {
        let quoted = |root: &str, name: &str| {
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            format!("{root}[\"{name}\"]")
        };
        let text = match id.split_once('.') {
            Some(("file", _)) => id.to_owned(),
            Some(("formula", name)) if self.formulas.iter().any(|formula| formula == name) => {
                quoted("formula", name)
            }
            Some(("formula", name)) => {
                return Err(BaseError::new(place, format!("there is no formula {name}")));
            }
            Some(("note", name)) => quoted("note", name),
            _ => quoted("note", id),
        };
        self.read_expression(&text, place)
    }

    fn sort_key(&self, value: &Value, place: &str) -> Result<SortKey, BaseError> {
        if let Value::String(id) = value {
            return Ok(SortKey { property: self.read_property(id, place)?, descending: false });
        }
        let Value::Object(fields) = value else {
            return Err(BaseError::new(place, "property and direction are expected"));
        };
        check_keys(fields, &["property", "direction"], place)?;
        let Some(id) = fields.get("property").and_then(Value::as_str) else {
            return Err(BaseError::new(place, "property is missing"));
        };
        let direction = fields.get("direction").and_then(Value::as_str).unwrap_or("ASC");
        let descending = match direction.to_ascii_uppercase().as_str() {
            "ASC" => false,
            "DESC" => true,
            _ => {
                let place = format!("{place}.direction");
                return Err(BaseError::new(
                    place,
                    format!("{direction} is unknown; write ASC or DESC"),
                ));
            }
        };
        Ok(SortKey { property: self.read_property(id, place)?, descending })
    }
}

fn check_keys(fields: &Map<String, Value>, known: &[&str], place: &str) -> Result<(), BaseError> {
    match fields.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let there = known.join(", ");
            Err(BaseError::new(place, format!("the key {key} is unknown; there are {there}")))
        }
    }
}

fn read_table(value: Option<&Value>, place: &str) -> Result<Map<String, Value>, BaseError> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(fields)) if fields.len() <= PARTS_MAX => Ok(fields.clone()),
        Some(Value::Object(_)) => {
            Err(BaseError::new(place, format!("there are more than {PARTS_MAX}")))
        }
        Some(_) => Err(BaseError::new(place, "names with values are expected")),
    }
}

fn text_table(value: Option<&Value>, place: &str) -> Result<BTreeMap<String, String>, BaseError> {
    let mut texts = BTreeMap::new();
    for (name, value) in read_table(value, place)? {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(yes) => yes.to_string(),
            _ => return Err(BaseError::new(format!("{place}.{name}"), "a text is expected")),
        };
        texts.insert(name, text);
    }
    Ok(texts)
}

fn read_list<'a>(value: Option<&'a Value>, place: &str) -> Result<&'a [Value], BaseError> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) if items.len() <= PARTS_MAX => Ok(items),
        Some(Value::Array(_)) => {
            Err(BaseError::new(place, format!("there are more than {PARTS_MAX}")))
        }
        Some(_) => Err(BaseError::new(place, "a list is expected")),
    }
}
