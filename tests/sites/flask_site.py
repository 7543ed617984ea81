"""A Flask site with a Flask-WTF form: a CSRF token in the session, a file to upload, and a basket in the session."""

import sys

from flask import Flask, redirect, render_template_string, session
from flask_wtf import FlaskForm
from flask_wtf.file import FileField
from wtforms import IntegerField, StringField, SubmitField
from wtforms.validators import DataRequired, NumberRange

app = Flask(__name__)
app.config["SECRET_KEY"] = "only for this trial"
TAKEN = []

FORM = """<!doctype html><html lang=en><title>Book</title><main><form method=post action={{ action }}
{% if form.cv is defined %}enctype=multipart/form-data{% endif %}>{{ form.hidden_tag() }}
{% for field in form if field.widget.input_type not in ("hidden", "submit") %}<div class=field>{{ field.label }} {{ field }}
{% for error in field.errors %}<span class=error>{{ error }}</span>{% endfor %}</div>{% endfor %}{{ form.submit }}</form></main>"""


class Book(FlaskForm):
    name = StringField(validators=[DataRequired()])
    seats = IntegerField(validators=[NumberRange(1, 8, "There are one to eight seats.")])
    cv = FileField()
    submit = SubmitField("Book")


class Add(FlaskForm):
    item = StringField(validators=[DataRequired()])
    submit = SubmitField("Add")


@app.route("/book", methods=["GET", "POST"])
def book():
    form = Book()
    if form.validate_on_submit():
        TAKEN.append((form.name.data, form.seats.data, form.cv.data.read() if form.cv.data else b""))
        return redirect("/booked")
    return render_template_string(FORM, form=form, action="/book")


@app.route("/booked")
def booked():
    return "<!doctype html><title>Booked</title><main><h1>Booked</h1><p class=done>It is booked.</main>"


@app.route("/add", methods=["GET", "POST"])
def add():
    form = Add()
    if form.validate_on_submit():
        session["basket"] = session.get("basket", []) + [form.item.data]
        return redirect("/basket")
    return render_template_string(FORM, form=form, action="/add")


@app.route("/basket")
def basket():
    return render_template_string(
        "<!doctype html><main><ul>{% for item in items %}<li>{{ item }}</li>{% endfor %}</ul></main>",
        items=session.get("basket", []),
    )


@app.route("/taken")
def taken():
    return f"{len(TAKEN)} {TAKEN[-1] if TAKEN else ''}", 200, {"Content-Type": "text/plain"}


if __name__ == "__main__":
    app.run("127.0.0.1", int(sys.argv[1]))
