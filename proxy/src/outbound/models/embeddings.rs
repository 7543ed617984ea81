//! Vectors from an embeddings endpoint in OpenAI's form.

use std::time::Duration;

use frontdesk_filters::{
    concierge::{Embeddings, Later},
    site::SemanticModel,
};
use http::StatusCode;
use serde_json::{Value, json};

use super::{
    super::{Outbound, Whole},
    ANSWER,
};

/// How long a batch of passages may take.
const BATCH: Duration = Duration::from_secs(60);

/// An embeddings endpoint.
pub struct Endpoint<'a> {
    outbound: &'a Outbound,
    url: &'a str,
    model: &'a str,
    key: &'a str,
    name: String,
}

impl<'a> Endpoint<'a> {
    /// The endpoint that the operator names, if that is where vectors come from.
    pub fn of(outbound: &'a Outbound, semantic: &'a SemanticModel) -> Option<Self> {
        let (url, model, key) = (semantic.url.as_deref()?, semantic.name.as_str(), semantic.key.as_str());
        Some(Self { outbound, url, model, key, name: super::model_name(semantic) })
    }

    async fn embed(&self, texts: Vec<&str>, before: &str) -> Result<Vec<Vec<f32>>, String> {
        // The E5 models are told what a text is.
        let before = if self.model.to_lowercase().contains("e5") { before } else { "" };
        let count = texts.len();
        let input: Vec<String> = texts.into_iter().map(|text| format!("{before}{text}")).collect();
        let body = json!({ "model": self.model, "input": input, "encoding_format": "float" });
        let request = super::post(self.url, "/embeddings", self.key, &body)?;
        let whole = self.outbound.post(request, ANSWER, BATCH).await?;
        read(&whole, count)
    }
}

impl Embeddings for Endpoint<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn passages<'a>(&'a self, texts: &'a [String]) -> Later<'a, Result<Vec<Vec<f32>>, String>> {
        Box::pin(self.embed(texts.iter().map(String::as_str).collect(), "passage: "))
    }

    fn question<'a>(&'a self, text: &'a str) -> Later<'a, Result<Vec<f32>, String>> {
        Box::pin(async move {
            let mut vectors = self.embed(vec![text], "query: ").await?;
            vectors.pop().ok_or_else(|| "the answer has no vector".to_owned())
        })
    }
}

fn read(whole: &Whole, count: usize) -> Result<Vec<Vec<f32>>, String> {
    if whole.status != StatusCode::OK {
        return Err(format!("the answer is {}", whole.status));
    }
    if whole.cut {
        return Err("the answer is too long".into());
    }
    let body: Value = serde_json::from_slice(&whole.body).map_err(|_| "the answer is no JSON")?;
    let data = body["data"].as_array().filter(|data| data.len() == count);
    let data = data.ok_or_else(|| format!("the answer has no {count} vectors"))?;
    let mut vectors = vec![Vec::new(); count];
    for (at, item) in data.iter().enumerate() {
        let place = item["index"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(at);
        let numbers = item["embedding"].as_array().ok_or("a vector is no list")?;
        let numbers = numbers.iter().map(|number| number.as_f64().map(|number| number as f32));
        let vector = numbers.collect::<Option<Vec<f32>>>().ok_or("a vector has something else than numbers")?;
        *vectors.get_mut(place).ok_or("a vector is of a text that was not sent")? = vector;
    }
    if vectors.iter().any(Vec::is_empty) {
        return Err("a text has no vector".into());
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;

    #[test]
    fn vectors_stand_in_the_order_of_their_texts() {
        let read = |body: &str, count| {
            let body = Bytes::copy_from_slice(body.as_bytes());
            read(&Whole { status: StatusCode::OK, headers: HeaderMap::new(), body, cut: false }, count)
        };
        let body = r#"{"data": [{"index": 1, "embedding": [1, 2.5]}, {"index": 0, "embedding": [0, 1]}]}"#;
        assert_eq!(read(body, 2), Ok(vec![vec![0.0, 1.0], vec![1.0, 2.5]]));
        for (body, count) in [
            (body, 3),
            (r#"{"data": [{"index": 0, "embedding": ["x"]}]}"#, 1),
            (r#"{"data": [{"index": 7, "embedding": [1]}]}"#, 1),
            (r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#, 2),
            ("[]", 1),
        ] {
            assert!(read(body, count).is_err(), "{body}");
        }
    }
}
