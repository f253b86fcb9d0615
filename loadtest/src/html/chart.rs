//! Charts as data and as SVG: lines through points, and groups of bars. The drawing is plotters' with
//! its SVG backend alone. Two colours stand for the page's own, which turn with its theme
//! (`page.css`); those of series can be seen on light and dark alike.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::{
    Cartesian2d, ChartBuilder, ChartContext, Circle, IntoDrawingArea as _, LineSeries, PathElement,
    RGBColor, Rectangle, SVGBackend,
};
use plotters::style::{Color as _, IntoFont as _};

use super::axis::Axis;
use super::words::escaped;

/// Drawn at the width of a phone, so that its letters are readable there; wider screens scale it up.
const SIZE: (u32, u32) = (480, 320);
const FONT: (&str, i32) = ("sans-serif", 17);
/// Stand for the page's ink and its faint lines.
const INK: RGBColor = RGBColor(1, 1, 1);
const FAINT: RGBColor = RGBColor(2, 2, 2);
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x2f, 0x7f, 0xd1),
    RGBColor(0xd9, 0x73, 0x0d),
    RGBColor(0x2e, 0x9e, 0x5b),
    RGBColor(0xb0, 0x5f, 0xd6),
    RGBColor(0xd9, 0x4a, 0x4a),
    RGBColor(0x17, 0x9a, 0xa8),
    RGBColor(0x9a, 0x8a, 0x1c),
    RGBColor(0xd6, 0x56, 0x9a),
];
/// What the page's style does for a chart, for one without a page.
const FILE_STYLE: &str = "\n<style>\n\
    [fill=\"#010101\"] { fill: #1c2126; }\n\
    [stroke=\"#010101\"] { stroke: #1c2126; }\n\
    [stroke=\"#020202\"] { stroke: #d9dee3; }\n\
    @media (prefers-color-scheme: dark) {\n\
    [fill=\"#010101\"] { fill: #e3e7ea; }\n\
    [stroke=\"#010101\"] { stroke: #e3e7ea; }\n\
    [stroke=\"#020202\"] { stroke: #363d44; }\n\
    }\n</style>";
/// Points are marked up to this many in a series.
const MARKS_MAX: usize = 30;

/// The series a chart can tell apart by colour.
pub(crate) const SERIES_MAX: usize = COLOURS.len();

/// The numbers under a chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    /// Names of the columns.
    pub(crate) head: Vec<String>,
    /// Rows of as many cells.
    pub(crate) rows: Vec<Vec<String>>,
}

/// One chart with its numbers.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// What it shows.
    pub(crate) title: String,
    /// How to read it.
    pub(crate) note: String,
    /// From left to right.
    pub(crate) x: Axis,
    /// From the bottom up.
    pub(crate) y: Axis,
    /// Names of the series, at most [`SERIES_MAX`].
    pub(crate) series: Vec<String>,
    /// What is drawn.
    pub(crate) drawing: Drawing,
    /// The numbers.
    pub(crate) table: Table,
}

/// What a chart draws.
#[derive(Debug, Clone)]
pub(crate) enum Drawing {
    /// For each series its points.
    Lines(Vec<Vec<(f64, f64)>>),
    /// For each name of the x axis a bar of each series.
    Bars(Vec<Vec<Bar>>),
}

/// One bar; the whisker from `low` to `high` is left out when they are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bar {
    /// Its height; no bar at all when it is not known.
    pub(crate) value: Option<f64>,
    /// The lowest of the rounds.
    pub(crate) low: f64,
    /// The highest of the rounds.
    pub(crate) high: f64,
}

type Context<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// To plotters, places are the values: scales are the axis' own business.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (from, to): (i32, i32)) -> i32 {
        let (low, high) = self.places;
        let share = (place - low) / (high - low);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.labels.iter().map(|label| label.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.places.0..self.places.1
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, place: &f64) -> String {
        self.label(*place)
    }
}

impl Chart {
    /// The names of the series with their colours, as HTML; nothing for a single one.
    pub(crate) fn legend(&self) -> String {
        if self.series.len() < 2 {
            return String::new();
        }
        let mut text = String::from("<ul class=\"legend\">\n");
        for (name, colour) in self.series.iter().zip(COLOURS) {
            let RGBColor(red, green, blue) = colour;
            let name = escaped(name);
            text.push_str(&format!(
                "<li><svg viewBox=\"0 0 14 8\" aria-hidden=\"true\"><rect width=\"14\" height=\"8\" \
                 rx=\"2\" fill=\"#{red:02x}{green:02x}{blue:02x}\"/></svg>{name}</li>\n"
            ));
        }
        text.push_str("</ul>\n");
        text
    }

    /// The chart as a file of its own, readable on light and dark.
    pub(crate) fn file(&self) -> Result<String, String> {
        let mut text = String::new();
        self.draw(&mut text)
            .map_err(|error| format!("chart {}: {error}", self.title))?;
        let head = text
            .find('>')
            .ok_or_else(|| format!("chart {}: no SVG", self.title))?;
        let title = escaped(&self.title);
        text.insert_str(head + 1, &format!("\n<title>{title}</title>{FILE_STYLE}"));
        Ok(text)
    }

    /// The chart as SVG that stands in a page.
    pub(crate) fn svg(&self) -> Result<String, String> {
        let mut text = String::new();
        self.draw(&mut text)
            .map_err(|error| format!("chart {}: {error}", self.title))?;
        let sizes = format!("width=\"{}\" height=\"{}\" ", SIZE.0, SIZE.1);
        let name = format!("role=\"img\" aria-label=\"{}\" ", escaped(&self.title));
        // In a page it needs no name space, and its size is the page's business.
        Ok(text
            .replacen(&sizes, &name, 1)
            .replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1))
    }

    fn draw(&self, text: &mut String) -> Result<(), String> {
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        let mut chart: Context<'_, '_> = ChartBuilder::on(&area)
            .margin(6)
            .margin_right(18)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d(self.x.clone(), self.y.clone())
            .map_err(|error| error.to_string())?;
        let letters = FONT.into_font().color(&INK);
        let bars = matches!(self.drawing, Drawing::Bars(_));
        let mut mesh = chart.configure_mesh();
        if bars {
            mesh.disable_x_mesh();
        }
        mesh.axis_style(INK)
            .bold_line_style(FAINT)
            .light_line_style(FAINT.mix(0.0))
            .label_style(letters.clone())
            .axis_desc_style(letters)
            .x_labels(self.x.labels.len())
            .y_labels(self.y.labels.len())
            .x_desc(self.x.title.as_str())
            .y_desc(self.y.title.as_str())
            .draw()
            .map_err(|error| error.to_string())?;
        match &self.drawing {
            Drawing::Lines(series) => self.lines(&mut chart, series)?,
            Drawing::Bars(groups) => self.bars(&mut chart, groups)?,
        }
        area.present().map_err(|error| error.to_string())
    }

    fn lines(&self, chart: &mut Context<'_, '_>, series: &[Vec<(f64, f64)>]) -> Result<(), String> {
        for (points, colour) in series.iter().zip(COLOURS) {
            let places: Vec<_> = points
                .iter()
                .filter_map(|(x, y)| Some((self.x.place(*x)?, self.y.place(*y)?)))
                .collect();
            let line = LineSeries::new(places.iter().copied(), colour.stroke_width(2));
            chart.draw_series(line).map_err(|error| error.to_string())?;
            if places.len() <= MARKS_MAX {
                let marks = places
                    .iter()
                    .map(|place| Circle::new(*place, 3, colour.filled()));
                chart
                    .draw_series(marks)
                    .map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    fn bars(&self, chart: &mut Context<'_, '_>, groups: &[Vec<Bar>]) -> Result<(), String> {
        let floor = self.y.places.0;
        for (group, bars) in (0..).map(f64::from).zip(groups) {
            let width = 0.8 / bars.len().max(1) as f64;
            for (index, (bar, colour)) in (0..).map(f64::from).zip(bars.iter().zip(COLOURS)) {
                let left = group - 0.4 + width * index;
                let Some(top) = bar.value.and_then(|value| self.y.place(value)) else {
                    continue;
                };
                let corners = [(left + width * 0.08, floor), (left + width * 0.92, top)];
                let body = Rectangle::new(corners, colour.filled());
                chart
                    .draw_series([body])
                    .map_err(|error| error.to_string())?;
                let ends = (self.y.place(bar.low), self.y.place(bar.high));
                if let (Some(low), Some(high)) = ends
                    && low < high
                {
                    let middle = left + width / 2.0;
                    let whisker = [(middle, low), (middle, high)];
                    let whisker = PathElement::new(whisker, INK.stroke_width(2));
                    chart
                        .draw_series([whisker])
                        .map_err(|error| error.to_string())?;
                }
            }
        }
        Ok(())
    }
}
