//! The checkboxes and radio buttons of a form by name, with their labels: read once for the whole form, so that a list of
//! values costs no more than the form is long.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use frontdesk_base::fault::Refusal;
use frontdesk_page::content::css::{self, all};

use super::{
    control::{Control, Kind},
    find::FoundForm,
};

/// The longest label, in bytes. A longer one is a text around the control, and no name for it.
const LONGEST_LABEL: usize = 1_000;
/// How many choices are named in a message.
const MOST_NAMED: usize = 20;

/// What people read beside a control, and the same for comparing.
#[derive(Debug, Default)]
pub(super) struct Label {
    text: String,
    folded: String,
}

impl Label {
    fn of(text: String) -> Self {
        if text.len() > LONGEST_LABEL {
            return Self::default();
        }
        Self { folded: folded(&text), text }
    }
}

/// A text as labels are compared.
pub(super) fn folded(text: &str) -> String {
    text.trim().to_lowercase()
}

/// The values of an input.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) texts: Vec<String>,
    exact: HashSet<String>,
    folded: HashSet<String>,
}

impl Values {
    pub(super) fn of(texts: Vec<String>) -> Self {
        Self { exact: texts.iter().cloned().collect(), folded: texts.iter().map(|text| folded(text)).collect(), texts }
    }

    /// Whether they choose a control with this value and label.
    pub(super) fn choose(&self, value: &str, label: &Label) -> bool {
        self.exact.contains(value) || !label.folded.is_empty() && self.folded.contains(&label.folded)
    }
}

/// The labels of a form's checkboxes and radio buttons, and what each group of one name takes.
pub(super) struct Groups<'f> {
    labels: Vec<Rc<Label>>,
    groups: HashMap<(&'f str, Kind), Group>,
}

/// What the controls of one name and kind take.
#[derive(Default)]
struct Group {
    values: HashSet<String>,
    labels: HashSet<String>,
    /// The first labels, as people read them.
    named: Vec<String>,
    unlabeled: usize,
}

impl<'f> Groups<'f> {
    /// Reads the labels of a form.
    ///
    /// # Errors
    ///
    /// The time for the form is over.
    pub(super) fn of(form: &'f FoundForm<'_>) -> Result<Self, Refusal> {
        let labels = labels(form)?;
        let mut groups: HashMap<(&str, Kind), Group> = HashMap::new();
        for (control, label) in form.controls.iter().zip(&labels).filter(|(control, _)| is_choice(control)) {
            let group = groups.entry((control.name.as_str(), control.kind)).or_default();
            group.values.insert(control.value());
            if label.folded.is_empty() {
                group.unlabeled += 1;
            } else if group.labels.insert(label.folded.clone()) && group.named.len() < MOST_NAMED {
                group.named.push(label.text.clone());
            }
        }
        Ok(Self { labels, groups })
    }

    /// The label of the control at this place of the form.
    pub(super) fn label(&self, at: usize) -> &Label {
        &self.labels[at]
    }

    /// What to say to values of which one is no choice of a control's group; `None`: all are.
    pub(super) fn unknown(&self, control: &Control<'_>, values: &Values) -> Option<String> {
        let group = self.groups.get(&(control.name.as_str(), control.kind))?;
        let is_known = |text: &String| group.values.contains(text) || group.labels.contains(&folded(text));
        (!values.texts.iter().all(is_known))
            .then(|| none_of(&mut group.named.iter().map(String::as_str), group.unlabeled))
    }
}

fn is_choice(control: &Control<'_>) -> bool {
    matches!(control.kind, Kind::Checkbox | Kind::Radio)
}

/// The label of each control, by its place in the form.
fn labels(form: &FoundForm<'_>) -> Result<Vec<Rc<Label>>, Refusal> {
    let none = Rc::new(Label::default());
    if !form.controls.iter().any(is_choice) {
        return Ok(vec![none; form.controls.len()]);
    }
    let mut by_id = HashMap::new();
    // The form's own first: an id may be on the page twice.
    for root in [form.element, form.root] {
        for label in all("label[for]", &root) {
            by_id.entry(css::attribute(&label, "for").unwrap_or_default()).or_insert(label);
        }
    }
    let (mut labels, mut read) = (Vec::with_capacity(form.controls.len()), HashMap::new());
    for control in &form.controls {
        form.clock.check()?;
        if !is_choice(control) {
            labels.push(none.clone());
            continue;
        }
        let around = control.element.ancestors_it(None).find(|above| css::name(above) == "label");
        let named = || {
            let id = css::attribute(&control.element, "id").filter(|id| !id.is_empty())?;
            by_id.get(&id).copied()
        };
        labels.push(match around.or_else(named) {
            Some(label) => read.entry(label.id).or_insert_with(|| Rc::new(Label::of(css::text(&label)))).clone(),
            None => none.clone(),
        });
    }
    Ok(labels)
}

/// The message to a value that is no choice. A choice without a label is only counted: its value is the site's own.
pub(super) fn none_of(labels: &mut dyn Iterator<Item = &str>, unlabeled: usize) -> String {
    let known: Vec<&str> = labels.filter(|label| !label.is_empty()).take(MOST_NAMED).collect();
    let known = known.join("; ");
    match (known.is_empty(), unlabeled) {
        (_, 0) => format!("The site takes one of these here: {known}."),
        (true, 1) => "The site takes one choice here, which has no label.".to_owned(),
        (true, _) => format!("The site takes one of {unlabeled} choices here, none of which has a label."),
        (false, 1) => format!("The site takes one of these here: {known}; or one without a label."),
        (false, _) => format!("The site takes one of these here: {known}; or one of {unlabeled} without a label."),
    }
}
