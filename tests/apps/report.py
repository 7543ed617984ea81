"""What differs between an application seen directly and through Frontdesk, and the lines about it."""

import collections
import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
WITHIN = 0.05
LARGEST = 4
# The notice and the links in a page's head, in bytes, when they are not packed.
PAGE = 1000
# In one visit; scripts ask for a little more or less from one time to the next.
WORTH = 1500


def pixels(pairs, browser):
    if not pairs:
        return []
    told = subprocess.run(["node", str(HERE / "pixels.mjs"), str(browser)], input=json.dumps(pairs), check=True,
                          capture_output=True, text=True)
    return json.loads(told.stdout)


def said(visit):
    """What a person would find in the console or notice, in no order: two requests may end in either."""
    return collections.Counter(visit["notes"]), visit["sockets"]


def short(text):
    return text.splitlines()[0][:160]


class Visit:
    """One step, on the three legs that count."""

    def __init__(self, direct, through, again):
        self.direct, self.through, self.again = direct, through, again
        self.name = direct["visit"]
        self.picture = self.noise = self.all = 0
        self.bytes = (direct["bytes"] + again["bytes"]) / 2
        self.more = (through["bytes"] - self.bytes) / self.bytes if self.bytes else 0

    def announced(self):
        """What Frontdesk adds on purpose, at most: `Link` to every answer, and to a page the notice and links."""
        total = 0
        for answer in self.through["answers"]:
            headers = {name.lower(): value for name, value in (answer.get("headers") or {}).items()}
            if answer["bytes"]:
                total += len(headers.get("link", "")) + len("link: \r\n") if "link" in headers else 0
                total += PAGE if headers.get("content-type", "").startswith("text/html") else 0
        return total

    def heavier(self):
        """By how many bytes it is heavier than the announcement and the noise explain, where that is worth a word."""
        noise = abs(self.direct["bytes"] - self.again["bytes"])
        much = self.through["bytes"] - self.bytes - self.announced() - noise
        return much if much > max(WITHIN * self.bytes, WORTH) else 0

    def pairs(self):
        pictures = [leg.get("picture") for leg in (self.direct, self.through, self.again)]
        return [[pictures[0], pictures[1]], [pictures[0], pictures[2]]] if all(pictures) else []

    def wrong(self):
        """Each difference in words."""
        found = []
        if said(self.through) not in (said(self.direct), said(self.again)):
            directly, through = said(self.direct)[0], said(self.through)[0]
            found += [f"console only through Frontdesk: {short(text)}" for text in through - directly]
            found += [f"console only directly: {short(text)}" for text in directly - through]
            if said(self.through)[1] != said(self.direct)[1]:
                found.append(f"WebSockets {self.through['sockets']} instead of {self.direct['sockets']}")
        for what in ("value", "where"):
            if self.through.get(what) not in (self.direct.get(what), self.again.get(what)):
                found.append(f"{what} {self.through.get(what)!r} instead of {self.direct.get(what)!r}")
        if self.picture > 2 * self.noise:
            found.append(f"{self.picture} pixels differ, {self.noise} between two direct visits")
        if self.heavier():
            found.append(f"{self.heavier():,.0f} bytes more than what announces")
        if str(self.direct["value"]).startswith("failed:"):
            found.append(f"directly {self.direct['value']}")
        return found

    def answers(self):
        """The answers whose size differs most, with what may be the reason."""
        def sizes(leg):
            total = collections.Counter()
            for answer in leg["answers"]:
                total[f"{answer['method']} {answer['url']} {answer.get('status')}"] += answer["bytes"]
            return total
        directly, through = sizes(self.direct), sizes(self.through)
        differing = {name: through[name] - directly[name] for name in directly | through}
        most = sorted(differing, key=lambda name: -abs(differing[name]))[:LARGEST]
        return [f"{differing[name]:+} {name}: {directly[name]} -> {through[name]}" for name in most if differing[name]]


def tell(app, seen, browser):
    """Prints the application's line and those of its visits; answers whether nothing differs."""
    visits = [Visit(*legs) for legs in zip(seen["direct"], seen["through"], seen["direct-again"])]
    told = [visit.pairs() for visit in visits]
    counts = iter(pixels([pair for pairs in told for pair in pairs], browser))
    for visit, pairs in zip(visits, told):
        if pairs:
            (visit.picture, visit.all), (visit.noise, _) = next(counts), next(counts)
    direct, through = sum(visit.bytes for visit in visits), sum(visit.through["bytes"] for visit in visits)
    more = (through - direct) / direct
    besides = max(0, through - direct - sum(visit.announced() for visit in visits)) / direct if more > 0 else more
    wrong = [line for visit in visits for line in visit.wrong()]
    same = all(said(visit.through) in (said(visit.direct), said(visit.again)) for visit in visits)
    picture, noise, all_ = (sum(getattr(visit, what) for visit in visits) for what in ("picture", "noise", "all"))
    good = not wrong and abs(besides) <= WITHIN
    print(f"{app:<13} {len(visits)} pages  console {'same' if same else 'different'}  "
          f"pixels differing {picture} of {all_:,} (between direct visits {noise})  "
          f"bytes {direct:,.0f}  through {through:,}  {more:+.1%}"
          f"{f' ({besides:+.1%} besides what announces)' if more > WITHIN else ''}{'' if good else '  DIFFERENT'}")
    for visit in visits:
        print(f"    {visit.name:<12} {visit.bytes:>11,.0f} {visit.through['bytes']:>11,}  {visit.more:+7.1%}"
              f"  {'no picture' if not visit.all else f'{visit.picture} pixels'}")
        for line in visit.wrong():
            print(f"        {line}")
        if abs(visit.more) > WITHIN:
            for line in visit.answers():
                print(f"        {line}")
    print(end="", flush=True)
    return good
