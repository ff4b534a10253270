//! No result leaves with an infinite number or one that is none: JSON has no word for them (it would say `null`), and a table that shows
//! them says that all is well. A walk over anything serialisable finds them; what is left out on purpose is an `Option`, not a NaN.

use serde::ser::{self, Serialize};
use std::fmt::{self, Display};

/// The first number of `value` that is infinite or none: the name of the field it stands in.
pub fn not_finite(value: &impl Serialize) -> Option<String> {
    let mut walk = Walk { field: String::new() };
    value.serialize(&mut walk).err().map(|_| walk.field)
}

/// Remembers the field it is in.
struct Walk {
    field: String,
}

/// A number that is none.
#[derive(Debug)]
struct Found;

impl Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a finite number")
    }
}

impl std::error::Error for Found {}

impl ser::Error for Found {
    fn custom<T: Display>(_: T) -> Self {
        Found
    }
}

/// What holds no number with a fraction.
macro_rules! nothing_in {
    ($($name:ident: $type:ty),* $(,)?) => {
        $(fn $name(self, _: $type) -> Result<(), Found> { Ok(()) })*
    };
}

impl ser::Serializer for &mut Walk {
    type Ok = ();
    type Error = Found;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    nothing_in! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_char: char, serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Found> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Found> {
        if value.is_finite() { Ok(()) } else { Err(Found) }
    }

    fn serialize_none(self) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Found> {
        Ok(self)
    }
}

/// Lists and their likes.
macro_rules! walk_elements {
    ($($compound:ident :: $element:ident),* $(,)?) => {
        $(impl ser::$compound for &mut Walk {
            type Ok = ();
            type Error = Found;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        })*
    };
}

walk_elements! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

/// Things with named fields.
macro_rules! walk_fields {
    ($($compound:ident),* $(,)?) => {
        $(impl ser::$compound for &mut Walk {
            type Ok = ();
            type Error = Found;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Found> {
                self.field = key.into();
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        })*
    };
}

walk_fields! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for &mut Walk {
    type Ok = ();
    type Error = Found;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Found> {
        // Keys are texts; what else they might be names nothing.
        self.field = serde_json::to_value(key).ok().and_then(|key| key.as_str().map(String::from)).unwrap_or_default();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Found> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(serde::Serialize)]
    struct Answer {
        name: &'static str,
        values: Vec<Option<f64>>,
        by_name: BTreeMap<String, (f64, f64)>,
    }

    #[test]
    fn numbers_that_are_none_are_found_with_their_field() {
        let answer = |value: Option<f64>, pair: (f64, f64)| Answer {
            name: "inf",
            values: vec![Some(1.0), None, value],
            by_name: [("q0.5".to_string(), pair)].into(),
        };
        assert_eq!(not_finite(&answer(None, (0.0, f64::MAX))), None);
        assert_eq!(not_finite(&answer(Some(f64::NAN), (0.0, 1.0))), Some("values".into()));
        assert_eq!(not_finite(&answer(None, (0.0, f64::NEG_INFINITY))), Some("q0.5".into()));
        assert_eq!(not_finite(&f64::INFINITY), Some(String::new()));
    }
}
