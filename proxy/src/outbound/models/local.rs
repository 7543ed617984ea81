//! A sentence-embedding model of the BERT family that runs in the process: MiniLM, BGE, multilingual E5.
//!
//! It is read from a directory as its publishers lay it out: `config.json`, `tokenizer.json`, `model.safetensors`, and
//! `1_Pooling/config.json` where that says how words become a sentence. Texts go through one at a time, so nothing is
//! padded. candle does the arithmetic, on as many threads as RAYON_NUM_THREADS says, else on all.

use std::{fs, path::Path};

use candle_core::{DType, Device, Error, Tensor};
use candle_nn::{Activation, Embedding, LayerNorm, Linear, Module, VarBuilder, embedding, layer_norm, linear, ops};
use serde_json::Value;
use tokenizers::{Tokenizer, TruncationParams};

/// The most tokens of a text that are read; sentence models were trained on no more.
const TOKENS: usize = 256;

/// A model, ready to be asked.
pub(super) struct Local {
    tokenizer: Tokenizer,
    words: Embedding,
    positions: Embedding,
    kinds: Option<Embedding>,
    norm: LayerNorm,
    layers: Vec<Layer>,
    /// The number of the first position.
    first: u32,
    /// The first token stands for the sentence, instead of the mean of all.
    by_first: bool,
    /// The E5 models are told what a text is.
    is_prefixed: bool,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    joined: Linear,
    joined_norm: LayerNorm,
    wide: Linear,
    narrow: Linear,
    norm: LayerNorm,
    heads: usize,
    act: Activation,
}

struct Config {
    hidden: usize,
    layers: usize,
    heads: usize,
    wide: usize,
    words: usize,
    positions: usize,
    kinds: usize,
    epsilon: f64,
    act: Activation,
    /// XLM-RoBERTa and RoBERTa count positions from behind the number of their padding.
    first: u32,
}

impl Config {
    fn of(text: &[u8]) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(text).map_err(|e| format!("config.json is no JSON: {e}"))?;
        let number = |key: &str| {
            let number = json[key].as_u64().filter(|number| (1..=1 << 24).contains(number));
            number.map(|number| number as usize).ok_or_else(|| format!("config.json has no {key}"))
        };
        let kind = json["model_type"].as_str().unwrap_or("bert");
        let first = match kind {
            "bert" => 0,
            "xlm-roberta" | "roberta" => json["pad_token_id"].as_u64().unwrap_or(1) as u32 + 1,
            other => return Err(format!("config.json says {other}; models of the BERT family can be used")),
        };
        let act = match json["hidden_act"].as_str().unwrap_or("gelu") {
            "gelu" => Activation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" => Activation::NewGelu,
            "relu" => Activation::Relu,
            other => return Err(format!("config.json has an activation that is not known: {other}")),
        };
        let config = Self {
            hidden: number("hidden_size")?,
            layers: number("num_hidden_layers")?,
            heads: number("num_attention_heads")?,
            wide: number("intermediate_size")?,
            words: number("vocab_size")?,
            positions: number("max_position_embeddings")?,
            kinds: json["type_vocab_size"].as_u64().unwrap_or_default() as usize,
            epsilon: json["layer_norm_eps"].as_f64().unwrap_or(1e-12),
            act,
            first,
        };
        match config.hidden % config.heads {
            0 => Ok(config),
            _ => Err("config.json: hidden_size is no multiple of num_attention_heads".into()),
        }
    }
}

impl Local {
    /// Reads a model. Takes a second, and as much memory as its file.
    pub(super) fn load(dir: &Path) -> Result<Self, String> {
        let read = |name: &str| fs::read(dir.join(name)).map_err(|e| format!("{name} cannot be read: {e}"));
        let config = Config::of(&read("config.json")?)?;
        let mut tokenizer = Tokenizer::from_bytes(read("tokenizer.json")?)
            .map_err(|e| format!("tokenizer.json cannot be used: {e}"))?;
        let most = TOKENS.min(config.positions.saturating_sub(config.first as usize)).max(2);
        let cut = TruncationParams { max_length: most, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(cut)).map_err(|e| e.to_string())?;
        tokenizer.with_padding(None);
        let pooling = fs::read(dir.join("1_Pooling/config.json")).ok();
        let pooling = pooling.and_then(|text| serde_json::from_slice::<Value>(&text).ok()).unwrap_or_default();
        let weights = read("model.safetensors")?;
        let name = dir.display().to_string().to_lowercase();
        let with = |e: Error| format!("model.safetensors cannot be used: {e}");
        let all = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu).map_err(with)?;
        // Some publishers put the name of the model before every weight.
        let prefix = ["", "bert", "roberta", "model"];
        let at = |prefix: &&str| if prefix.is_empty() { all.clone() } else { all.pp(prefix) };
        let has = |prefix: &&str| at(prefix).contains_tensor("embeddings.word_embeddings.weight");
        let prefix = prefix.iter().find(|prefix| has(prefix)).ok_or("model.safetensors has no words")?;
        let mut model = Self::of(&config, &at(prefix), tokenizer).map_err(with)?;
        model.by_first = pooling["pooling_mode_cls_token"] == true;
        model.is_prefixed = name.contains("e5");
        Ok(model)
    }

    fn of(config: &Config, all: &VarBuilder, tokenizer: Tokenizer) -> Result<Self, Error> {
        let (from, hidden) = (all.pp("embeddings"), config.hidden);
        let layers = (0..config.layers).map(|at| Layer::of(config, &all.pp(format!("encoder.layer.{at}"))));
        let kinds = (config.kinds > 0).then(|| embedding(config.kinds, hidden, from.pp("token_type_embeddings")));
        Ok(Self {
            words: embedding(config.words, hidden, from.pp("word_embeddings"))?,
            positions: embedding(config.positions, hidden, from.pp("position_embeddings"))?,
            kinds: kinds.transpose()?,
            norm: layer_norm(hidden, config.epsilon, from.pp("LayerNorm"))?,
            layers: layers.collect::<Result<_, _>>()?,
            tokenizer,
            first: config.first,
            by_first: false,
            is_prefixed: false,
        })
    }

    /// The vectors of texts. Blocks for about a tenth of a second a passage (MiniLM, one core).
    pub(super) fn embed(&self, texts: &[String], before: &str) -> Result<Vec<Vec<f32>>, String> {
        let before = if self.is_prefixed { before } else { "" };
        let each = |text: &String| {
            let tokens = self.tokenizer.encode(format!("{before}{text}"), true).map_err(|e| e.to_string())?;
            self.vector(tokens.get_ids()).map_err(|e| e.to_string())
        };
        texts.iter().map(each).collect()
    }

    fn vector(&self, tokens: &[u32]) -> Result<Vec<f32>, Error> {
        let count = u32::try_from(tokens.len()).map_err(Error::wrap)?;
        let places = Tensor::arange(self.first, self.first + count, &Device::Cpu)?;
        let mut x = (self.words.forward(&Tensor::new(tokens, &Device::Cpu)?)? + self.positions.forward(&places)?)?;
        if let Some(kinds) = &self.kinds {
            x = (x + kinds.forward(&Tensor::zeros(tokens.len(), DType::U32, &Device::Cpu)?)?)?;
        }
        x = self.norm.forward(&x)?;
        for layer in &self.layers {
            x = layer.forward(&x)?;
        }
        if self.by_first { x.get(0)?.to_vec1() } else { x.mean(0)?.to_vec1() }
    }
}

impl Layer {
    fn of(config: &Config, from: &VarBuilder) -> Result<Self, Error> {
        let Config { hidden, wide, epsilon, .. } = *config;
        let (own, out) = (from.pp("attention.self"), from.pp("attention.output"));
        Ok(Self {
            query: linear(hidden, hidden, own.pp("query"))?,
            key: linear(hidden, hidden, own.pp("key"))?,
            value: linear(hidden, hidden, own.pp("value"))?,
            joined: linear(hidden, hidden, out.pp("dense"))?,
            joined_norm: layer_norm(hidden, epsilon, out.pp("LayerNorm"))?,
            wide: linear(hidden, wide, from.pp("intermediate.dense"))?,
            narrow: linear(wide, hidden, from.pp("output.dense"))?,
            norm: layer_norm(hidden, epsilon, from.pp("output.LayerNorm"))?,
            heads: config.heads,
            act: config.act,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor, Error> {
        let (count, hidden) = x.dims2()?;
        let width = hidden / self.heads;
        let split = |part: &Linear| part.forward(x)?.reshape((count, self.heads, width))?.transpose(0, 1)?.contiguous();
        let (query, key, value) = (split(&self.query)?, split(&self.key)?, split(&self.value)?);
        let scores = (query.matmul(&key.transpose(1, 2)?.contiguous()?)? / (width as f64).sqrt())?;
        let seen = ops::softmax_last_dim(&scores)?.matmul(&value)?;
        let seen = seen.transpose(0, 1)?.contiguous()?.reshape((count, hidden))?;
        let x = self.joined_norm.forward(&(x + self.joined.forward(&seen)?)?)?;
        let wide = self.act.forward(&self.wide.forward(&x)?)?;
        self.norm.forward(&(&x + self.narrow.forward(&wide)?)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const WORDS: [&str; 6] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "boat", "dog"];

    /// A model of one layer with weights from a counter.
    fn write(dir: &Path, config: &str) {
        let mut seed = 1u32;
        let mut weight = |shape: &[usize]| {
            let numbers: Vec<f32> = (0..shape.iter().product::<usize>())
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 8) as f32 / 16_777_216.0 - 0.5
                })
                .collect();
            Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
        };
        let mut all: HashMap<String, Tensor> = HashMap::new();
        let mut put = |name: &str, shape: &[usize]| drop(all.insert(format!("bert.{name}"), weight(shape)));
        for (name, count) in [("word", 6), ("position", 16), ("token_type", 2)] {
            put(&format!("embeddings.{name}_embeddings.weight"), &[count, 4]);
        }
        let layer = "encoder.layer.0";
        let dense = [
            ("attention.self.query", 4, 4),
            ("attention.self.key", 4, 4),
            ("attention.self.value", 4, 4),
            ("attention.output.dense", 4, 4),
            ("intermediate.dense", 8, 4),
            ("output.dense", 4, 8),
        ];
        for (name, out, into) in dense {
            put(&format!("{layer}.{name}.weight"), &[out, into]);
            put(&format!("{layer}.{name}.bias"), &[out]);
        }
        for name in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
            put(&format!("{name}.LayerNorm.weight"), &[4]);
            put(&format!("{name}.LayerNorm.bias"), &[4]);
        }
        candle_core::safetensors::save(&all, dir.join("model.safetensors")).unwrap();
        let vocab: HashMap<&str, usize> = WORDS.iter().enumerate().map(|(at, word)| (*word, at)).collect();
        let tokenizer = serde_json::json!({ "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": null, "pre_tokenizer": { "type": "Whitespace" }, "decoder": null,
            "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2] },
            "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab } });
        fs::write(dir.join("tokenizer.json"), tokenizer.to_string()).unwrap();
        fs::write(dir.join("config.json"), config).unwrap();
    }

    const CONFIG: &str = r#"{"model_type": "bert", "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8, "vocab_size": 6, "max_position_embeddings": 16, "type_vocab_size": 2, "hidden_act": "gelu"}"#;

    #[test]
    fn a_directory_is_a_model_and_the_same_text_has_the_same_vector() {
        let dir = std::env::temp_dir().join(format!("frontdesk-model-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        write(&dir, CONFIG);
        let model = Local::load(&dir).unwrap();
        let texts = ["boat", "dog", "boat", &"dog boat ".repeat(500)].map(str::to_owned);
        let vectors = model.embed(&texts, "passage: ").unwrap();
        assert!(vectors.iter().all(|vector| vector.len() == 4 && vector.iter().all(|number| number.is_finite())));
        assert_eq!(vectors[0], vectors[2]);
        assert_ne!(vectors[0], vectors[1]);
        fs::create_dir_all(dir.join("1_Pooling")).unwrap();
        fs::write(dir.join("1_Pooling/config.json"), r#"{"pooling_mode_cls_token": true}"#).unwrap();
        assert_ne!(Local::load(&dir).unwrap().embed(&texts[..1], "").unwrap()[0], vectors[0]);
        for (config, why) in [
            (CONFIG.replace("\"bert\"", "\"llama\""), "models of the BERT family"),
            (CONFIG.replace("_heads\": 2", "_heads\": 3"), "no multiple"),
            (CONFIG.replace("\"vocab_size\": 6", "\"vocab_size\": 7"), "model.safetensors cannot be used"),
            ("{}".to_owned(), "has no hidden_size"),
        ] {
            fs::write(dir.join("config.json"), config).unwrap();
            let failed = Local::load(&dir).err().unwrap_or_default();
            assert!(failed.contains(why), "{failed}");
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
