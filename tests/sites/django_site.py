"""A Django site: CSRF protection, messages, a search page and a contact form, as the tutorials build it."""

import sys

import django
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.template import engines
from django.urls import path

settings.configure(
    DEBUG=False,
    SECRET_KEY="only for this trial",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.messages", "django.contrib.sessions"],
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()

PRODUCTS = [("Red chair", "129.50"), ("Blue chair", "99.00"), ("Oak table", "1299.00")]
TAKEN = []


class Contact(forms.Form):
    email = forms.EmailField()
    topic = forms.ChoiceField(choices=[("1", "Other"), ("2", "Prices")])
    message = forms.CharField(widget=forms.Textarea, min_length=5)
    copy = forms.BooleanField(required=False)


def page(request, template, **context):
    text = "<!doctype html><html lang=en><title>Shop</title><nav><a href=/>Home</a></nav><main>" + template + "</main>"
    context["token"] = get_token(request)
    context["messages"] = list(messages.get_messages(request))
    return HttpResponse(engines["django"].from_string(text).render(context, request))


def search(request):
    words = request.GET.get("q", "").lower()
    found = [item for item in PRODUCTS if words in item[0].lower()]
    return page(
        request,
        "<form role=search action=/search><input name=q value='{{ q }}'></form>"
        "{% for name, price in found %}<article class=result><h2>{{ name }}</h2><a href='/p/{{ name|slugify }}'>more</a>"
        "<span class=price>${{ price }}</span></article>{% empty %}<p>Nothing found.</p>{% endfor %}",
        q=words,
        found=found,
    )


def contact(request):
    form = Contact(request.POST or None)
    if request.method == "POST" and form.is_valid():
        TAKEN.append(form.cleaned_data)
        messages.success(request, "Thank you. We answer within a day.")
        return redirect("/contact/thanks")
    return page(
        request,
        "<form method=post action=/contact>{% csrf_token %}{{ form.as_p }}<button>Send</button></form>",
        form=form,
    )


def thanks(request):
    return page(request, "<h1>Sent</h1>{% for message in messages %}<p class=success>{{ message }}</p>{% endfor %}")


def taken(request):
    return HttpResponse(str(len(TAKEN)), content_type="text/plain")


urlpatterns = [
    path("", search),
    path("search", search),
    path("contact", contact),
    path("contact/thanks", thanks),
    path("taken", taken),
]

if __name__ == "__main__":
    from wsgiref.simple_server import make_server

    from django.core.wsgi import get_wsgi_application

    make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application()).serve_forever()
