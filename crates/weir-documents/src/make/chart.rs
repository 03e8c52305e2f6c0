//! Charts of slides: the drawing with its values, and the small workbook that a program opens when
//! somebody edits them. Charts of workbooks are written by the library that writes those.

use std::fmt::Write as _;

use weir_core::document::DocumentError;
use weir_core::office::{ChartKind, ChartSeries, SlideChart};

use super::parts::{CONTENT_TYPES, ContentTypes, PartRelationships, RELATION, XML_HEAD};
use crate::cells::column_name;
use crate::package::ZipPackage;
use crate::unfit_description;
use crate::xml::xml_text;

/// More series than colours tell nothing apart.
const SERIES_MAX: usize = 12;
const CATEGORIES_MAX: usize = 200;

/// What cannot be drawn.
pub(crate) fn check_chart(chart: &SlideChart) -> Result<(), DocumentError> {
    let wrong = |why: String| Err(unfit_description(format!("the chart: {why}")));
    if chart.categories.is_empty() || chart.series.is_empty() {
        return wrong("it needs categories and series; give both, or a table".into());
    }
    if chart.categories.len() > CATEGORIES_MAX || chart.series.len() > SERIES_MAX {
        return wrong(format!(
            "it has {} categories and {} series, and at most {CATEGORIES_MAX} and {SERIES_MAX} can be \
             told apart; show fewer",
            chart.categories.len(),
            chart.series.len()
        ));
    }
    if chart.kind == ChartKind::Pie && chart.series.len() != 1 {
        return wrong("a pie has one series; use another kind for several".into());
    }
    let count = chart.categories.len();
    for series in &chart.series {
        if series.values.len() != count {
            let got = series.values.len();
            return wrong(format!(
                "{} has {got} values for {count} categories; give one for each, or null",
                series.name
            ));
        }
        if series.values.iter().flatten().any(|value| !value.is_finite()) {
            return wrong(format!(
                "{} has a value that is no finite number; give null",
                series.name
            ));
        }
    }
    Ok(())
}

/// The part of a chart; `workbook` is the relationship to its numbers.
pub(crate) fn chart_xml(chart: &SlideChart, workbook: &str) -> String {
    let mut series = String::new();
    for (number, one) in chart.series.iter().enumerate() {
        series.push_str(&series_xml(chart, one, number));
    }
    let has_legend = chart.series.len() > 1 || chart.kind == ChartKind::Pie;
    let legend = if has_legend {
        format!(
            "<c:legend><c:legendPos val=\"{}\"/><c:overlay val=\"0\"/>{}</c:legend>",
            if chart.kind == ChartKind::Pie { "r" } else { "b" },
            text_xml(1400)
        )
    } else {
        String::new()
    };
    format!(
        "{XML_HEAD}<c:chartSpace xmlns:c=\"http://schemas.openxmlformats.org/drawingml/2006/chart\" \
         xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" xmlns:r=\"\
         http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><c:roundedCorners \
         val=\"0\"/><c:chart><c:autoTitleDeleted val=\"1\"/><c:plotArea><c:layout/>{}</c:plotArea>\
         {legend}<c:plotVisOnly val=\"1\"/><c:dispBlanksAs val=\"gap\"/></c:chart><c:spPr>\
          <a:noFill/>\
         <a:ln><a:noFill/></a:ln></c:spPr>{}<c:externalData r:id=\"{workbook}\"><c:autoUpdate \
         val=\"0\"/></c:externalData></c:chartSpace>",
        plot_xml(chart.kind, &series),
        text_xml(1400),
    )
}

fn plot_xml(kind: ChartKind, series: &str) -> String {
    let axes = "<c:axId val=\"111\"/><c:axId val=\"222\"/>";
    match kind {
        ChartKind::Column | ChartKind::Bar => {
            let direction = if kind == ChartKind::Bar { "bar" } else { "col" };
            format!(
                "<c:barChart><c:barDir val=\"{direction}\"/><c:grouping val=\"clustered\"/>\
                 <c:varyColors val=\"0\"/>{series}<c:gapWidth val=\"60\"/>{axes}</c:barChart>{}",
                axes_xml(kind)
            )
        }
        ChartKind::Line => format!(
            "<c:lineChart><c:grouping val=\"standard\"/><c:varyColors val=\"0\"/>{series}\
             <c:marker val=\"1\"/>{axes}</c:lineChart>{}",
            axes_xml(kind)
        ),
        ChartKind::Area => format!(
            "<c:areaChart><c:grouping val=\"standard\"/><c:varyColors val=\"0\"/>{series}{axes}\
             </c:areaChart>{}",
            axes_xml(kind)
        ),
        ChartKind::Pie => format!(
            "<c:pieChart><c:varyColors val=\"1\"/>{series}<c:firstSliceAng val=\"0\"/></c:pieChart>"
        ),
    }
}

fn axes_xml(kind: ChartKind) -> String {
    let (names, values) = if kind == ChartKind::Bar { ("l", "b") } else { ("b", "l") };
    // Lying bars are read from the top.
    let order = if kind == ChartKind::Bar { "maxMin" } else { "minMax" };
    let crosses = if kind == ChartKind::Bar { "max" } else { "autoZero" };
    let line = |tint: &str| {
        format!(
            "<c:spPr><a:ln w=\"9525\"><a:solidFill><a:schemeClr val=\"tx1\"><a:alpha \
             val=\"{tint}\"/></a:schemeClr></a:solidFill></a:ln></c:spPr>"
        )
    };
    format!(
        "<c:catAx><c:axId val=\"111\"/><c:scaling><c:orientation val=\"{order}\"/></c:scaling>\
         <c:delete val=\"0\"/><c:axPos val=\"{names}\"/><c:numFmt formatCode=\"General\" \
         sourceLinked=\"0\"/><c:majorTickMark val=\"none\"/><c:minorTickMark val=\"none\"/>\
         <c:tickLblPos val=\"low\"/>{}{}<c:crossAx val=\"222\"/><c:crosses val=\"autoZero\"/>\
         <c:auto val=\"0\"/><c:lblAlgn val=\"ctr\"/><c:lblOffset val=\"100\"/><c:noMultiLvlLbl \
         val=\"1\"/></c:catAx><c:valAx><c:axId val=\"222\"/><c:scaling><c:orientation \
         val=\"minMax\"/></c:scaling><c:delete val=\"0\"/><c:axPos val=\"{values}\"/>\
         <c:majorGridlines>{}</c:majorGridlines><c:numFmt formatCode=\"General\" \
         sourceLinked=\"0\"/><c:majorTickMark val=\"none\"/><c:minorTickMark val=\"none\"/>\
         <c:tickLblPos val=\"nextTo\"/><c:spPr><a:ln><a:noFill/></a:ln></c:spPr>{}<c:crossAx \
         val=\"111\"/><c:crosses val=\"{crosses}\"/></c:valAx>",
        line("60000"),
        text_xml(1400),
        line("20000"),
        text_xml(1400),
    )
}

/// Size and colour of letters.
fn text_xml(size: u32) -> String {
    format!(
        "<c:txPr><a:bodyPr/><a:lstStyle/><a:p><a:pPr><a:defRPr sz=\"{size}\"><a:solidFill>\
         <a:schemeClr val=\"tx1\"/></a:solidFill></a:defRPr></a:pPr><a:endParaRPr lang=\"en-US\"/>\
         </a:p></c:txPr>"
    )
}

fn series_xml(chart: &SlideChart, series: &ChartSeries, number: usize) -> String {
    let column = column_name(number + 1);
    let count = chart.categories.len();
    let accent = number % 6 + 1;
    let fill = format!("<a:solidFill><a:schemeClr val=\"accent{accent}\"/></a:solidFill>");
    let look = match chart.kind {
        ChartKind::Line => format!(
            "<c:spPr><a:ln w=\"34925\" cap=\"rnd\">{fill}<a:round/></a:ln></c:spPr><c:marker>\
             <c:symbol val=\"circle\"/><c:size val=\"7\"/><c:spPr>{fill}</c:spPr></c:marker>"
        ),
        ChartKind::Pie => (0..count).map(slice_xml).collect(),
        ChartKind::Column | ChartKind::Bar => {
            format!("<c:spPr>{fill}</c:spPr><c:invertIfNegative val=\"0\"/>")
        }
        ChartKind::Area => format!("<c:spPr>{fill}</c:spPr>"),
    };
    let labels = if chart.kind == ChartKind::Pie {
        format!(
            "<c:dLbls>{}<c:dLblPos val=\"outEnd\"/><c:showLegendKey val=\"0\"/><c:showVal \
             val=\"0\"/><c:showCatName \
             val=\"0\"/><c:showSerName val=\"0\"/><c:showPercent val=\"1\"/><c:showBubbleSize \
             val=\"0\"/></c:dLbls>",
            text_xml(1400)
        )
    } else {
        String::new()
    };
    let names: String =
        chart.categories.iter().enumerate().map(|(at, name)| point_xml(at, name)).collect();
    let mut values = String::new();
    for (at, value) in series.values.iter().enumerate() {
        if let Some(value) = value {
            let _ = write!(values, "<c:pt idx=\"{at}\"><c:v>{value}</c:v></c:pt>");
        }
    }
    let smooth = if chart.kind == ChartKind::Line { "<c:smooth val=\"0\"/>" } else { "" };
    format!(
        "<c:ser><c:idx val=\"{number}\"/><c:order val=\"{number}\"/><c:tx><c:strRef><c:f>\
         Sheet1!${column}$1</c:f><c:strCache><c:ptCount val=\"1\"/><c:pt idx=\"0\"><c:v>{}</c:v>\
         </c:pt></c:strCache></c:strRef></c:tx>{look}{labels}<c:cat><c:strRef><c:f>\
         Sheet1!$A$2:$A${last}</c:f><c:strCache><c:ptCount val=\"{count}\"/>{names}</c:strCache>\
         </c:strRef></c:cat><c:val><c:numRef><c:f>Sheet1!${column}$2:${column}${last}</c:f>\
         <c:numCache><c:formatCode>General</c:formatCode><c:ptCount val=\"{count}\"/>{values}\
         </c:numCache></c:numRef></c:val>{smooth}</c:ser>",
        xml_text(&series.name),
        last = count + 1,
    )
}

fn slice_xml(number: usize) -> String {
    // After six colours the same come again, lighter.
    let tint = if number >= 6 { "<a:lumMod val=\"60000\"/><a:lumOff val=\"40000\"/>" } else { "" };
    format!(
        "<c:dPt><c:idx val=\"{number}\"/><c:bubble3D val=\"0\"/><c:spPr><a:solidFill><a:schemeClr \
         val=\"accent{}\">{tint}</a:schemeClr></a:solidFill></c:spPr></c:dPt>",
        number % 6 + 1
    )
}

fn point_xml(at: usize, name: &str) -> String {
    format!("<c:pt idx=\"{at}\"><c:v>{}</c:v></c:pt>", xml_text(name))
}

/// The workbook with the numbers of a chart.
pub(crate) fn chart_workbook(chart: &SlideChart) -> Result<Vec<u8>, DocumentError> {
    let text = |cell: String, text: &str| {
        format!("<c r=\"{cell}\" t=\"inlineStr\"><is><t>{}</t></is></c>", xml_text(text))
    };
    let mut rows = String::from("<row r=\"1\">");
    for (at, series) in chart.series.iter().enumerate() {
        rows.push_str(&text(format!("{}1", column_name(at + 1)), &series.name));
    }
    rows.push_str("</row>");
    for (at, name) in chart.categories.iter().enumerate() {
        let row = at + 2;
        let _ = write!(rows, "<row r=\"{row}\">{}", text(format!("A{row}"), name));
        for (number, series) in chart.series.iter().enumerate() {
            if let Some(Some(value)) = series.values.get(at) {
                let column = column_name(number + 1);
                let _ = write!(rows, "<c r=\"{column}{row}\"><v>{value}</v></c>");
            }
        }
        rows.push_str("</row>");
    }
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let kind = "application/vnd.openxmlformats-officedocument.spreadsheetml";
    let mut package = ZipPackage::default();
    let mut types = ContentTypes::default();
    let mut insert = |part: &str, short: &str, xml: String| {
        types.add_override(part, &format!("{kind}.{short}+xml"));
        package.insert(part, format!("{XML_HEAD}{xml}"));
    };
    insert(
        "xl/workbook.xml",
        "sheet.main",
        format!(
            "<workbook xmlns=\"{main}\" xmlns:r=\"{RELATION}\"><sheets><sheet name=\"Sheet1\" \
             sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
        ),
    );
    insert(
        "xl/worksheets/sheet1.xml",
        "worksheet",
        format!("<worksheet xmlns=\"{main}\"><sheetData>{rows}</sheetData></worksheet>"),
    );
    for (part, kind, target) in [
        ("_rels/.rels", "officeDocument", "xl/workbook.xml"),
        ("xl/_rels/workbook.xml.rels", "worksheet", "worksheets/sheet1.xml"),
    ] {
        let mut relations = PartRelationships::default();
        relations.add_relationship(kind, target);
        package.insert(part, relations.to_xml());
    }
    package.insert(CONTENT_TYPES, types.to_xml());
    package.into_bytes(CONTENT_TYPES)
}
