//! Results as columns: CSV for tables, one JSON object with an array a column, or the properties of features in GeoJSON.
//!
//! Numbers are written with the fewest digits that give the same number when they are read again.

use super::OutputError;
use serde_json::Value;
use std::fmt::Write;

/// A named column of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers, all of them finite.
    Numbers(String, Vec<f64>),
    /// Numbers, some of which there are none of: empty in CSV.
    Maybe(String, Vec<Option<f64>>),
    /// Whole numbers.
    Whole(String, Vec<u64>),
    /// Texts, for example dates.
    Texts(String, Vec<String>),
}

impl Column {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Numbers(name, _) | Self::Maybe(name, _) | Self::Whole(name, _) | Self::Texts(name, _) => name,
        }
    }

    /// The same under another name.
    pub fn called(self, name: String) -> Self {
        match self {
            Self::Numbers(_, values) => Self::Numbers(name, values),
            Self::Maybe(_, values) => Self::Maybe(name, values),
            Self::Whole(_, values) => Self::Whole(name, values),
            Self::Texts(_, values) => Self::Texts(name, values),
        }
    }

    /// How many rows it has.
    #[allow(clippy::len_without_is_empty)] // whether there are rows is asked of tables
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(_, values) => values.len(),
            Self::Maybe(_, values) => values.len(),
            Self::Whole(_, values) => values.len(),
            Self::Texts(_, values) => values.len(),
        }
    }

    /// With the rows of another column of the same kind below its own.
    pub fn extend(&mut self, more: Self) {
        match (self, more) {
            (Self::Numbers(_, values), Self::Numbers(_, more)) => values.extend(more),
            (Self::Maybe(_, values), Self::Maybe(_, more)) => values.extend(more),
            (Self::Whole(_, values), Self::Whole(_, more)) => values.extend(more),
            (Self::Texts(_, values), Self::Texts(_, more)) => values.extend(more),
            _ => {}
        }
    }

    fn push_cell(&self, row: usize, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Numbers(_, values) => write!(out, "{}", number(values[row])),
            Self::Maybe(_, values) => write!(out, "{}", values[row].map(number).unwrap_or_default()),
            Self::Whole(_, values) => write!(out, "{}", values[row]),
            Self::Texts(_, values) => write!(out, "{}", quoted(&values[row])),
        };
    }

    fn json_at(&self, row: usize) -> Value {
        match self {
            Self::Numbers(_, values) => values[row].into(),
            Self::Maybe(_, values) => values[row].into(),
            Self::Whole(_, values) => values[row].into(),
            Self::Texts(_, values) => values[row].as_str().into(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Numbers(_, values) => values.as_slice().into(),
            Self::Maybe(_, values) => values.as_slice().into(),
            Self::Whole(_, values) => values.as_slice().into(),
            Self::Texts(_, values) => values.as_slice().into(),
        }
    }
}

/// Refuses numbers that are infinite or none.
fn check(columns: &[Column]) -> Result<(), OutputError> {
    let is_finite = |column: &&Column| match column {
        Column::Numbers(_, values) => values.iter().all(|value| value.is_finite()),
        Column::Maybe(_, values) => values.iter().flatten().all(|value| value.is_finite()),
        Column::Whole(..) | Column::Texts(..) => true,
    };
    match columns.iter().find(|column| !is_finite(column)) {
        Some(column) => Err(OutputError::NotFinite { name: column.name().into() }),
        None => Ok(()),
    }
}

/// The columns as CSV with a header.
pub fn csv_text(columns: &[Column]) -> Result<String, OutputError> {
    check(columns)?;
    let names: Vec<String> = columns.iter().map(|column| quoted(column.name())).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..columns.first().map_or(0, Column::len) {
        for (place, column) in columns.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            column.push_cell(row, &mut text);
        }
        text.push('\n');
    }
    Ok(text)
}

/// The columns as one JSON object, in their order.
pub fn json_text(columns: &[Column]) -> Result<String, OutputError> {
    check(columns)?;
    let member = |column: &Column| format!("{}:{}", Value::from(column.name()), column.json());
    Ok(format!("{{{}}}\n", columns.iter().map(member).collect::<Vec<_>>().join(",")))
}

/// The columns as properties of features of GeoJSON, one for each row; in longitude and latitude, or in a system with this number of EPSG.
pub fn geojson_text(geometries: &[Value], columns: &[Column], code: Option<u16>) -> Result<String, OutputError> {
    check(columns)?;
    let feature = |(row, geometry): (usize, &Value)| {
        let member = |column: &Column| format!("{}:{}", Value::from(column.name()), column.json_at(row));
        let properties = columns.iter().map(member).collect::<Vec<_>>().join(",");
        format!("{{\"type\":\"Feature\",\"properties\":{{{properties}}},\"geometry\":{geometry}}}")
    };
    let features: Vec<String> = geometries.iter().enumerate().map(feature).collect();
    let crs = code.map_or(String::new(), |code| {
        // The standard has no word for another system, but those who read it understand the old one.
        format!("\"crs\":{{\"type\":\"name\",\"properties\":{{\"name\":\"urn:ogc:def:crs:EPSG::{code}\"}}}},")
    });
    Ok(format!("{{\"type\":\"FeatureCollection\",{crs}\"features\":[\n{}\n]}}\n", features.join(",\n")))
}

/// A number with the fewest digits that tell it from all others; very large and very small ones with an exponent.
pub fn number(value: f64) -> String {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) { format!("{value}") } else { format!("{value:e}") }
}

/// A field as CSV wants it.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_and_names_are_quoted() {
        for value in [0.0, -0.1, 1.0 / 3.0, 1e-300, 5e-324, 1e300, 123456789.125, f64::MAX] {
            assert_eq!(number(value).parse::<f64>().unwrap(), value);
        }
        assert_eq!(number(1e-7), "1e-7");
        let columns = [
            Column::Numbers("a,b".into(), vec![1.0, 0.5]),
            Column::Texts("say \"x\"".into(), vec!["p".into(), "q,r".into()]),
        ];
        assert_eq!(csv_text(&columns).unwrap(), "\"a,b\",\"say \"\"x\"\"\"\n1,p\n0.5,\"q,r\"\n");
        assert_eq!(json_text(&columns).unwrap(), "{\"a,b\":[1.0,0.5],\"say \\\"x\\\"\":[\"p\",\"q,r\"]}\n");
    }

    #[test]
    fn numbers_that_are_none_do_not_leave() {
        let missing = [Column::Maybe("m".into(), vec![Some(1.0), None])];
        assert_eq!(csv_text(&missing).unwrap(), "m\n1\n\n");
        assert_eq!(json_text(&missing).unwrap(), "{\"m\":[1.0,null]}\n");
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for column in
                [Column::Numbers("a".into(), vec![1.0, bad]), Column::Maybe("a".into(), vec![None, Some(bad)])]
            {
                let error = csv_text(std::slice::from_ref(&column)).unwrap_err();
                assert!(matches!(&error, OutputError::NotFinite { name } if name == "a"), "{error}");
                assert!(json_text(&[column]).is_err());
            }
        }
    }
}
