// An Express site with sessions of express-session and the CSRF tokens of csrf-sync, as their documentation builds one: a
// basket in the session, a checkout that needs it, and a token that is new on every page.
// Usage: node express_site.cjs PORT
"use strict";
const express = require("express");
const session = require("express-session");
const { csrfSync } = require("csrf-sync");

const PRICES = { chair: 129.5, lamp: 15, "Zoë's <table>": 99 };
const taken = [];
const { generateToken, csrfSynchronisedProtection } = csrfSync({ getTokenFromRequest: (request) => request.body._csrf });
const escaped = (text) => String(text).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
const page = (title, main) => `<!doctype html><html lang=en><title>${title}</title><nav><a href=/>Shop</a></nav><main><h1>${title}</h1>${main}</main>`;
const token = (request) => `<input type=hidden name=_csrf value="${generateToken(request, true)}">`;

const app = express();
app.disable("x-powered-by");
app.use(session({ secret: "only for this trial", resave: false, saveUninitialized: false, cookie: { sameSite: "lax" } }));
app.use(express.urlencoded({ extended: true }));

app.get("/taken", (request, response) => response.type("text/plain").send([taken.length, ...taken].join("|")));
app.get("/", (request, response) => {
  const found = Object.keys(PRICES).filter((name) => name.includes(request.query.q || ""));
  const items = found.map((name) => `<li>${escaped(name)}: <span class=price>$${PRICES[name].toFixed(2)}</span></li>`);
  response.send(page("Shop", `<form role=search><input name=q></form><ul>${items.join("")}</ul>`));
});

const choices = Object.keys(PRICES).map((name) => `<option>${escaped(name)}</option>`).join("");
app.get("/basket", (request, response) => {
  const items = (request.session.basket || []).map(({ item, quantity }) => `<li><b>${escaped(item)}</b> <i>${quantity}</i></li>`);
  const add = `<form action=/basket/add method=post>${token(request)}<label>Item <select name=item>${choices}</select></label>
<label>How many <input type=number name=quantity value=1 min=1 max=8></label><button>Add</button></form>`;
  response.send(page("Basket", `<ul>${items.join("")}</ul>${add}`));
});
app.get("/checkout", (request, response) => {
  response.send(page("Checkout", `<form action=/checkout method=post>${token(request)}<label>Name <input name=name required></label>
<label><input type=checkbox name=gift> A gift</label><button name=do value=order>Order</button></form>`));
});

app.use(csrfSynchronisedProtection);
app.post("/basket/add", (request, response) => {
  const { item, quantity } = request.body;
  request.session.basket = [...(request.session.basket || []), { item, quantity }];
  response.redirect(303, "/basket");
});
app.post("/checkout", (request, response) => {
  const basket = request.session.basket || [];
  if (!basket.length) return response.status(200).send(page("Checkout", "<p class=error>Your basket is empty.</p>"));
  taken.push(`${request.body.name} ${request.body.do} ${basket.map((one) => `${one.quantity} ${one.item}`).join(", ")}`);
  request.session.basket = [];
  return response.redirect(303, `/orders/${taken.length}`);
});
app.get("/orders/:id", (request, response) => response.send(page("Thank you", `<p class=order>Order ${escaped(request.params.id)}</p>`)));

app.listen(Number(process.argv[2]), "127.0.0.1");
