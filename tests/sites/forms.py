"""Forms of kinds that exist in the wild, each with inputs: what a browser sends for them, Frontdesk has to send too.

Keys of a case: `html` (the page), `inputs` (by the caller's names), and where they are not the defaults `action` (path of
the declaration), `method`, `select`, `submit`, `rename`, `query` (of the page), `encoding` and `charset` of the page.
`ours` is the body that Frontdesk sends where it does not do as Chromium, with `why`.
"""

TEXTS = "a b~!*'()-._=&+%\"<>\\ Zoë"
FILE = {"name": 'Zoë "q" 1.txt', "media_type": "text/plain", "data": "SGkKdGhlcmU="}

CASES = {
    "plain": {"html": "<form method=post action=/s><input name=a><input name=b value=2><button>Go</button></form>", "inputs": {"a": TEXTS}},
    "nested_fieldsets": {
        "html": "<form method=post action=/s><fieldset><legend>A</legend><input name=a><fieldset><legend>B</legend>"
        "<input name=b value=2><fieldset disabled><legend><input name=c value=3></legend><legend><input name=x></legend>"
        "<input name=y value=4><fieldset><legend><input name=z value=5></legend></fieldset></fieldset></fieldset></fieldset><button>Go</button></form>",
        "inputs": {"a": "1"},
    },
    "form_attribute": {
        "html": "<input form=f name=before value=1><form id=f method=post action=/s><input name=a><input form=g name=other value=3>"
        "<input form='' name=nobody value=4></form><form id=g action=/t></form><div><select form=f name=after><option>x<option selected>y</select>"
        "<button form=f name=go value=1>Go</button></div>",
        "inputs": {"a": "1"},
    },
    "image_button": {"html": "<form method=post action=/s><input name=a><input type=image name=go value=1 src=/none.png alt=Go></form>", "inputs": {"a": "1"}},
    "image_button_without_name": {"html": "<form method=post action=/s><input name=a><input type=image alt=Go></form>", "inputs": {"a": "1"}},
    "formaction": {
        "html": "<form method=post action=/s><input name=a><button name=do value=keep>Keep</button>"
        "<button name=drop value=1 formaction='/t?x=1'>Drop</button></form>",
        "inputs": {"a": "1"}, "submit": "drop",
    },
    "formmethod": {
        "html": "<form action=/s><input name=a><button name=go formmethod=post formenctype=multipart/form-data>Go</button></form>",
        "inputs": {"a": "1"}, "method": "POST",
    },
    "arrays": {
        "html": "<form method=post action=/s><input name='a[]'><input name='a[]' value=old><input name='b[x][y]' value=1>"
        "<input name='b[x][z]'><input type=checkbox name='c[]' value=1 checked><input type=checkbox name='c[]' value=2></form>",
        "inputs": {"a": ["1", "2"], "z": "3", "c": ["2"]}, "rename": {"z": "b[x][z]"},
    },
    "disabled_and_readonly": {
        "html": "<form method=post action=/s><input name=a><input name=b value=2 disabled><input name=c value=3 readonly>"
        "<select name=d disabled><option>x</select><textarea name=e readonly>kept</textarea><input type=checkbox name=f checked disabled>"
        "<button disabled name=g value=1>No</button><button name=h value=2>Go</button></form>",
        "inputs": {"a": "1"},
    },
    "two_forms_one_action": {
        "html": "<form method=post action=/s id=one><input name=a value=1><button name=which value=1>Go</button></form>"
        "<form method=post action=/s id=two><input name=a><button name=which value=2>Go</button></form>",
        "inputs": {"a": "x"}, "select": "#two",
    },
    "base_href": {"html": "<base href=/s/deep/><base href=/wrong/><form method=post action='../s?x=1&y=%20z'><input name=a></form>", "inputs": {"a": "1"}, "action": "/s/s"},
    "windows_1252": {"html": "<form method=post action=/s><input name=a><input name=größe value=€></form>", "inputs": {"a": "Zoë €"}, "encoding": "windows-1252"},
    "latin1_lacks_a_character": {
        "html": "<form method=post action=/s><input name=a><input name=b></form>", "inputs": {"a": "Zoë €", "b": "\U0001f4a1 漢 \u03b1"}, "encoding": "iso-8859-1",
    },
    "shift_jis": {"html": "<form method=post action=/s><input name=a><input name=b value=日本></form>", "inputs": {"a": "表 ~\\ é"}, "encoding": "shift_jis"},
    "euc_jp_by_get": {"html": "<form action=/s><input name=a></form>", "inputs": {"a": "表 日本"}, "encoding": "euc_jp", "charset": "euc-jp"},
    "iso_2022_jp": {"html": "<form method=post action=/s><input name=a><input name=b value=日本></form>", "inputs": {"a": "ab 日本 é"}, "encoding": "iso2022_jp", "charset": "iso-2022-jp"},
    "gb2312": {"html": "<form method=post action=/s><input name=a></form>", "inputs": {"a": "汉字 €"}, "encoding": "gb2312"},
    "big5_multipart": {"html": "<form method=post enctype=multipart/form-data action=/s><input name=a><input name=漢 value='字\"x'></form>", "inputs": {"a": "漢字 é"}, "encoding": "big5"},
    "euc_kr": {"html": "<form method=post action=/s><input name=a></form>", "inputs": {"a": "한국 é"}, "encoding": "euc_kr", "charset": "euc-kr"},
    "koi8_r": {"html": "<form action=/s><input name=a></form>", "inputs": {"a": "Привет é"}, "encoding": "koi8_r", "charset": "koi8-r"},
    "utf_16": {"html": "\ufeff<form method=post action=/s><input name=a></form>", "inputs": {"a": "Zoë 漢"}, "encoding": "utf-16-le", "charset": "utf-16"},
    "accept_charset": {
        "html": "<form method=post action=/s accept-charset='none utf-8, iso-8859-1'><input name=a></form>", "inputs": {"a": "€ 漢"}, "encoding": "iso-8859-1",
    },
    "charset_field": {"html": "<form method=post action=/s><input type=hidden name=_charset_><input type=hidden name=_charset_ value=x><input name=a></form>", "inputs": {"a": "é"}, "encoding": "iso-8859-1"},
    "multipart_file": {
        "html": "<form method=post action=/s enctype=multipart/form-data><input type=hidden name='a\"b' value='x\"y'><input type=file name=f>"
        "<input name=t><textarea name=m>\nline\ntwo</textarea><button name=go value=1>Go</button></form>",
        "inputs": {"f": FILE, "t": TEXTS},
    },
    "multipart_without_file": {
        "html": "<form method=post action=/s enctype=multipart/form-data><input type=file name=f><input type=file name=g multiple><input name=t></form>", "inputs": {"t": "1"},
    },
    "file_without_multipart": {"html": "<form method=post action=/s><input type=file name=f><input type=file name=g><input name=t></form>", "inputs": {"t": "1", "f": FILE}},
    "text_plain": {"html": "<form method=post action=/s enctype=text/plain><input name=a><textarea name=b>x\ny</textarea></form>", "inputs": {"a": TEXTS}},
    "unknown_enctype": {"html": "<form method=post action=/s enctype=application/json><input name=a></form>", "inputs": {"a": "1"}},
    "optgroups": {
        "html": "<form method=post action=/s><select name=a><optgroup label=X><option value=1>One<option value=2>Two</optgroup>"
        "<optgroup label=Y disabled><option value=3 selected>Three</optgroup></select><select name=b><optgroup label=Z disabled><option>x</optgroup>"
        "<option value=''>None<option value=2>Two</select><select name=c><option disabled selected value=0>Choose<option value=1>One</select></form>",
        "inputs": {"a": "Two"},
    },
    "options": {
        "html": "<form method=post action=/s><select name=a><option>  two \n  words </option><option label=Nice value=n>x</option></select>"
        "<select name=b size=4><option>x<option>y</select><select name=c><option selected>1<option selected>2<option>3</select><select name=d></select>"
        "<select name=e><option label=L>text</option></select></form>",
        "inputs": {"a": "two words"},
    },
    "select_multiple": {
        "html": "<form method=post action=/s><select name=a multiple><option value=1 selected>One<option value=2>Two<option value=3>Three</select>"
        "<select name='b[]' multiple><option selected>x<option>y<option selected>z<option selected disabled>w</select></form>",
        "inputs": {"a": ["2", "Three"]},
    },
    "radio_groups": {
        "html": "<form method=post action=/s><input type=radio name=a value=1 checked><label><input type=radio name=a value=2> Two</label>"
        "<input type=radio name=b value=1 checked><input type=radio name=b value=2 checked><input type=radio name=c value=1>"
        "<input type=radio name=d checked></form>",
        "inputs": {"a": "Two"},
    },
    "checkboxes": {
        "html": "<form method=post action=/s><input type=checkbox name=a><input type=checkbox name=b checked><input type=checkbox name=c value='' checked>"
        "<input type=hidden name=d value=0><input type=checkbox name=d value=1 checked><input type=checkbox name=e value=x checked></form>",
        "inputs": {"a": True, "e": False},
    },
    "hidden_before_a_checkbox": {
        "html": "<form method=post action=/s><input type=hidden name=news value=0><input type=checkbox name=news value=1>"
        "<input type=hidden name=terms value=0><input type=checkbox name=terms value=1 checked><button>Go</button></form>",
        "inputs": {"news": True, "terms": False},
    },
    "hidden_before_a_checkbox_by_value": {
        "html": "<form method=post action=/s><input type=hidden name=news value=0><input type=checkbox name=news value=1></form>", "inputs": {"news": ["1"]},
    },
    "hidden_after_a_checkbox": {
        "html": "<form method=post action=/s><input type=checkbox name=a value=true><input type=hidden name=a value=false>"
        "<input type=checkbox name=b value=true checked><input type=hidden name=b value=false></form>",
        "inputs": {"a": True, "b": False},
    },
    "hidden_before_a_list": {
        "html": "<form method=post action=/s><input type=hidden name='a[]' value=''><select multiple name='a[]'><option>x<option>y<option>z</select>"
        "<input type=hidden name='b[]' value=''><input type=checkbox name='b[]' value=1><input type=checkbox name='b[]' value=2 checked></form>",
        "inputs": {"a": ["z", "x"], "b": ["1"]},
    },
    "textareas": {
        "html": "<form method=post action=/s><textarea name=a>\n\nkept</textarea><textarea name=b> x &lt;b> <i>y</i>\r\nz\n</textarea><textarea name=c></textarea></form>",
        "inputs": {"c": "one\ntwo\r\nthree\rfour"},
    },
    "dirname": {
        "html": "<form method=post action=/s><input name=a dirname=a.dir><div dir=rtl><input name=b value=x dirname=b.dir><textarea name=c dirname=c.dir></textarea></div>"
        "<input name=d dir=auto dirname=d.dir value='&#x5d0;&#x5d1;'><input type=number name=f value=1 dirname=f.dir></form>",
        "inputs": {"a": "1"},
    },
    "datalist": {
        "html": "<form method=post action=/s><input name=a list=l><datalist id=l><option value=x><input name=inside value=1><select name=old><option>y</select></datalist></form>",
        "inputs": {"a": "free"},
        "ours": "a=free", "why": "the HTML standard leaves out what is in a datalist",
    },
    "submit_button": {"html": "<form method=post action=/s><input name=a><input type=submit name=go value='Send it'><input type=submit name=other value=x></form>", "inputs": {"a": "1"}},
    "submit_without_value": {"html": "<form method=post action=/s><input name=a><input type=submit name=go></form>", "inputs": {"a": "1"}},
    "button_without_value": {"html": "<form method=post action=/s><input name=a><button type=button name=no value=1>No</button><button type=nonsense name=go>Label</button></form>", "inputs": {"a": "1"}},
    "button_before_fields": {"html": "<form method=post action=/s><button name=go value=1>Go</button><input name=a><input type=reset name=r value=1></form>", "inputs": {"a": "1"}},
    "get_replaces_the_query": {"html": "<form action='/s?old=1#part'><input name=a><input type=hidden name=b value=2></form>", "inputs": {"a": TEXTS}, "method": "GET"},
    "post_keeps_the_query": {"html": "<form method=post action='/s?old=1&x=a%20b#part'><input name=a></form>", "inputs": {"a": "1"}},
    "no_action_by_get": {"html": "<form><input name=sent></form>", "inputs": {"sent": "1"}, "query": "?p=2", "action": "/page/no_action_by_get"},
    "no_action_by_post": {"html": "<form method=POST action=''><input name=sent></form>", "inputs": {"sent": "1"}, "query": "?p=2", "action": "/page/no_action_by_post"},
    "odd_method": {"html": "<form method=put action=/s><input name=a></form>", "inputs": {"a": "1"}, "method": "GET"},
    "empty_get": {"html": "<form action='/s?old=1'><input name=a></form>", "inputs": {"a": ""}, "method": "GET"},
    "line_ends": {
        "html": "<form method=post action=/s><input type=hidden name=a value='x&#10;y&#13;z'><input name=b value='x&#10;y'><input name='c&#10;d' value=1><input name=e></form>",
        "inputs": {"e": "1"},
    },
    "kinds_of_values": {
        "html": "<form method=post action=/s><input type=color name=a><input type=range name=b><input type=range name=c min=10 max=20 step=4><input type=number name=d value=abc>"
        "<input type=email name=e value=' a@b.example '><input type=url name=f value=' http://x.example/ '><input type=date name=g value=2024-02-30><input type=date name=h value=2024-02-29>"
        "<input type=time name=i value=25:00><input type=color name=j value=none><input type=color name=jj value=#aBc><input type=color name=k value=#AABBCC><input type=month name=l value=2024-13>"
        "<input type=week name=m value=2024-W05><input type=datetime-local name=n value='2024-01-02 03:04'><input type=datetime-local name=nn value='2024-01-02T03:04:00.500'>"
        "<input type=datetime-local name=nnn value='2024-01-02T03:04:00'><input type=range name=cc value=33.3 step=0.5><input type=range name=cd min=5 max=3 value=9>"
        "<input type=number name=dd value=.5><input type=number name=de value='1.'><input type=number name=df value=+1><input type=number name=dg value=1e3>"
        "<input type=email multiple name=ee value=' a@b , c@d '><input type=time name=ii value='10:20:30.5'><input type=week name=mm value=2026-W53><input type=week name=mn value=2024-W53>"
        "<input type=range name=ce min=0 max=10 step=any value=3.25><input type=range name=cf max=7 step=2>"
        "<input type=tel name=o value=' 1 '><input type=search name=p>"
        "<input type=password name=q value=' x '><input type=text name=r></form>",
        "inputs": {"p": "words"},
    },
    "form_in_a_table": {
        "html": "<table><tr><form method=post action=/s><td><input name=a></td><td><input type=hidden name=b value=2><button name=go value=1>Go</button></td></form></tr></table>",
        "inputs": {"a": "1"},
    },
    "forms_in_rows": {
        "html": "<table><tr><form method=post action=/s id=x><td><input name=a></td><td><button name=go value=1>Go</button></td></form></tr>"
        "<tr><form method=post action=/t id=y><td><input name=a value=2></td><td><button name=go value=2>Go</button></td></form></tr></table>",
        "inputs": {"a": "1"},
    },
    "nested_forms": {"html": "<form method=post action=/s><input name=a><form action=/t><input name=b value=2></form><input name=c value=3></form>", "inputs": {"a": "1"}},
    "template": {
        "html": "<form method=post action=/s><input name=a><template><input name=t value=1></template></form>", "inputs": {"a": "1"},
    },
    "hard_wrap": {"html": "<form method=post action=/s><textarea name=a wrap=hard cols=10>some words that are long</textarea><input name=b></form>", "inputs": {"b": "1"},
                  "ours": "a=some+words+that+are+long&b=1", "why": "where a line ends depends on the font"},
    "names_twice": {"html": "<form method=post action=/s><input name=a value=1><input name=A value=2><input name=b><input value=nameless><input name='' value=empty></form>", "inputs": {"b": "1"}},
    "charset_in_a_meta": {"html": "<meta charset=iso-8859-2><form method=post action=/s><input name=a></form>", "inputs": {"a": "Zoë Łódź €"}, "encoding": "iso-8859-2", "charset": ""},
    "no_charset": {"html": "<form method=post action=/s><input name=a></form>", "inputs": {"a": "Zoë €"},
        "charset": "", "ours": "a=Zo%C3%AB+%E2%82%AC", "why": "without a charset, browsers take that of their person's language"},
    "no_charset_latin": {"html": "<p>Größe, Maß und Übermut<form method=post action=/s><input name=a></form>", "inputs": {"a": "Zoë €"}, "encoding": "windows-1252", "charset": ""},
    "no_charset_utf_8": {"html": "<p>Größe, Maß und Übermut<form method=post action=/s><input name=a></form>", "inputs": {"a": "Zoë €"},
        "charset": "", "ours": "a=Zo%C3%AB+%E2%82%AC", "why": "without a charset, browsers take that of their person's language"},
    "wrong_meta": {"html": "<meta charset=utf-16><form method=post action=/s><input name=a></form>", "inputs": {"a": "Zoë €"}, "charset": ""},
}
