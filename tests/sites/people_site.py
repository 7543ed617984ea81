"""A Django site whose people sign in: django.contrib.auth, sessions in a database, CSRF protection, pages and no API."""

import socketserver
import sys
import tempfile
import wsgiref.simple_server

import django
from django.conf import settings

FOLDER = tempfile.TemporaryDirectory()
BASE = """<!doctype html><html lang=en><title>Club</title><header>{% if user.is_authenticated %}
<a id=me data-id="{{ user.pk }}" href=/account>{{ user.first_name }}</a>{% endif %}</header><main>{% block main %}{% endblock %}</main>"""
PAGES = {
    "base.html": BASE,
    "registration/login.html": "{% extends 'base.html' %}{% block main %}<form method=post>{% csrf_token %}"
    "<input type=hidden name=next value='{{ next }}'>{{ form.as_p }}<button>Sign in</button></form>{% endblock %}",
    "account.html": "{% extends 'base.html' %}{% block main %}<form method=post action=/account>{% csrf_token %}"
    "{{ form.as_p }}<button>Save</button></form>{% endblock %}",
    "saved.html": "{% extends 'base.html' %}{% block main %}<p class=success>Saved.</p>{% endblock %}",
    "orders.html": "{% extends 'base.html' %}{% block main %}<ul>{% for order in orders %}<li class=order>{{ order }}</li>"
    "{% endfor %}</ul>{% endblock %}",
}
settings.configure(
    DEBUG=False,
    SECRET_KEY="only for this trial",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": f"{FOLDER.name}/club.sqlite3",
            "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [("django.template.loaders.locmem.Loader", PAGES)],
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                ],
            },
        }
    ],
    LOGIN_URL="/accounts/login/",
    LOGIN_REDIRECT_URL="/",
)
django.setup()

from django import forms  # noqa: E402
from django.contrib.auth.decorators import login_required  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.contrib.auth.views import LoginView, LogoutView  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.shortcuts import redirect, render  # noqa: E402
from django.urls import path  # noqa: E402

PEOPLE = {"ada": "Ada L.", "bob": "Bob B."}


class Account(forms.ModelForm):
    class Meta:
        model = User
        fields = ["email"]


@login_required
def account(request):
    form = Account(request.POST or None, instance=request.user)
    if request.method == "POST" and form.is_valid():
        form.save()
        return redirect("/account/saved")
    return render(request, "account.html", {"form": form})


@login_required
def orders(request):
    return render(request, "orders.html", {"orders": [f"order {n} of {request.user.username}" for n in (1, 2)]})


urlpatterns = [
    path("", lambda request: render(request, "base.html")),
    path("accounts/login/", LoginView.as_view()),
    path("accounts/logout/", LogoutView.as_view(next_page="/")),
    path("account", account),
    path("account/saved", login_required(lambda request: render(request, "saved.html"))),
    path("orders", orders),
]


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


if __name__ == "__main__":
    from django.core.wsgi import get_wsgi_application

    call_command("migrate", verbosity=0)
    for name, called in PEOPLE.items():
        User.objects.create_user(name, f"{name}@old.test", f"{name}-password", first_name=called)
    server = wsgiref.simple_server.make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application(), server_class=Server)
    server.serve_forever()
