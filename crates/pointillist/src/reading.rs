//! Values that come from a file are checked like those that are made: one that makes no sense never comes into being.

/// Reads and writes a type through the code that serde derives for it (`serde(remote = "Self")`), and refuses what its own `checked`
/// refuses.
macro_rules! checked_when_read {
    ($type:ty) => {
        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                <$type>::serialize(self, serializer)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                <$type>::deserialize(deserializer)?.checked().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use checked_when_read;

/// Numbers that may be infinite or none, which JSON does not know: as text then.
#[cfg(feature = "serde")]
pub(crate) mod any_number {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        match number.is_finite() {
            true => serializer.serialize_f64(*number),
            false => serializer.serialize_str(&number.to_string()),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Ok(number),
            Written::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use crate::window::{Exposure, Polygons, Span};
    use crate::{Kernel, Points, Window};
    use serde::de::DeserializeOwned;

    fn refused<T: DeserializeOwned>(text: &str) -> String {
        serde_json::from_str::<T>(text).err().unwrap_or_else(|| panic!("{text} was taken")).to_string()
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        refused::<Points>(r#"{"dims":0,"coordinates":[]}"#);
        refused::<Points>(r#"{"dims":2,"coordinates":[1.0,2.0,3.0]}"#);
        refused::<Span>(r#"{"lo":1.0,"hi":1.0}"#);
        refused::<Span>(r#"{"lo":-1e308,"hi":1e308}"#);
        refused::<Polygons>(r#"{"polygons":[]}"#);
        refused::<Polygons>(r#"{"polygons":[[]]}"#);
        refused::<Polygons>(r#"{"polygons":[[[[0.0,0.0],[1.0,1.0]]]]}"#);
        refused::<Polygons>(r#"{"polygons":[[[[0.0,0.0],[1.0,1.0],[1.0,0.0],[0.0,1.0]]]]}"#);
        refused::<Exposure>(r#"{"grid":{"axes":[0],"lines":[[0.0,1.0]],"values":[1.0]}}"#);
        refused::<Exposure>(r#"{"grid":{"axes":[0,1],"lines":[[0.0,1.0]],"values":[1.0,1.0]}}"#);
        refused::<Exposure>(r#"{"grid":{"axes":[0],"lines":[[1.0,0.0]],"values":[1.0,1.0]}}"#);
        refused::<Kernel>(r#"{"dims":0,"terms":[{"variance":1.0,"parts":[]}]}"#);
        refused::<Kernel>(r#"{"dims":1,"terms":[]}"#);
        refused::<Kernel>(r#"{"dims":1,"terms":[{"variance":-1.0,"parts":[]}]}"#);
        let part = |axis: usize, parameters: &str| {
            let part = format!(r#"{{"axis":{axis},"factor":"se","parameters":{parameters}}}"#);
            format!(r#"{{"dims":1,"terms":[{{"variance":1.0,"parts":[{part}]}}]}}"#)
        };
        assert!(serde_json::from_str::<Kernel>(&part(0, "[0.5]")).is_ok());
        refused::<Kernel>(&part(1, "[0.5]"));
        refused::<Kernel>(&part(0, "[]"));
        refused::<Kernel>(&part(0, "[0.0]"));
    }

    #[test]
    fn windows_are_refused_by_their_parts_and_as_a_whole() {
        let window = |pieces: &str, axes: &str, rest: &str| format!(r#"{{"pieces":[{pieces}],"axes":[{axes}]{rest}}}"#);
        let t = r#"{"name":"t","unit":null,"origin":null}"#;
        let piece = |spans: &str, repeats: &str| format!(r#"{{"spans":[{spans}],"repeats":{repeats}}}"#);
        let (span, wide) = (r#"{"lo":0.0,"hi":1.0}"#, r#"{"lo":0.5,"hi":2.0}"#);
        let good = window(&piece(span, "1.0"), t, "");
        let read: Window = serde_json::from_str(&good).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), good);
        refused::<Window>(&window("", t, ""));
        refused::<Window>(&window(&piece("", "1.0"), t, ""));
        refused::<Window>(&window(&piece(span, "1.0"), "", ""));
        refused::<Window>(&window(&piece(span, "0.0"), t, ""));
        refused::<Window>(&window(&piece(span, "-1.0"), t, ""));
        refused::<Window>(&window(&format!("{},{}", piece(span, "1.0"), piece(wide, "1.0")), t, ""));
        refused::<Window>(&window(
            &format!("{},{}", piece(span, "1.0"), piece(&format!("{wide},{wide}"), "1.0")),
            t,
            "",
        ));
        let outline = r#""outline":{"polygons":[[[[0.0,0.0],[1.0,0.0],[1.0,1.0]]]]}"#;
        refused::<Window>(&window(&format!(r#"{{"spans":[{span}],{outline},"repeats":1.0}}"#), t, ""));
        let exposure = |axes: &str| {
            format!(r#","exposure":{{"grid":{{"axes":[{axes}],"lines":[[0.0,1.0]],"values":[1.0,1.0]}}}}"#)
        };
        assert!(serde_json::from_str::<Window>(&window(&piece(span, "1.0"), t, &exposure("0"))).is_ok());
        refused::<Window>(&window(&piece(span, "1.0"), t, &exposure("1")));
        let nodes = r#","exposure":{"nodes":{"points":{"dims":2,"coordinates":[0.5,0.5]},"weights":[1.0]}}"#;
        refused::<Window>(&window(&piece(span, "1.0"), t, nodes));
        refused::<Window>(&good.replace(r#""origin":null"#, r#""origin":1e999"#));
    }
}
