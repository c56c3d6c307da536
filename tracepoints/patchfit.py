# SPDX-License-Identifier: GPL-2.0-only
"""Patches as made by git format-patch, and where their hunks fit into a file.

A hunk is taken for two texts: the lines it expects and the lines it leaves. To
fit it is to find the first in the file. Without all of its context a place must
be the only one, or the only one within the function that the hunk names, for
code must not end up where it merely looks alike.

Nothing here touches a file: texts go in and come out.
"""
import difflib
import re

CONTEXT = 3
TRIVIAL = {"", "{", "}", "};", "break;", "else", "return;", "return 0;", "return rc;",
           "*/", "/*", "#endif", "int rc;"}


class Hunk:
    """`lines` are (sign, text); `start` is where the first should be, from 0."""

    def __init__(self, start, heading, lines):
        self.start, self.heading, self.lines = start, heading, lines

    def old(self):
        return [text for sign, text in self.lines if sign != "+"]

    def new(self):
        return [text for sign, text in self.lines if sign != "-"]

    def changes(self):
        return [(sign, text) for sign, text in self.lines if sign != " "]

    def context(self):
        """How many lines of context come first and last."""
        signs = [sign for sign, _ in self.lines]
        lead = next((i for i, sign in enumerate(signs) if sign != " "), len(signs))
        trail = next((i for i, sign in enumerate(reversed(signs)) if sign != " "), 0)
        return lead, trail

    def function(self):
        """The function that the first change is in, as far as the hunk tells."""
        lead, _ = self.context()
        for _, text in reversed(self.lines[:lead]):
            if starts_function(text):
                return function_name(text)
        return function_name(self.heading)

    def pieces(self):
        """One hunk for each run of changes, for places that have moved apart."""
        runs, last = [], None
        for i, (sign, _) in enumerate(self.lines):
            if sign != " ":
                if last is None or i > last + 1:
                    runs.append([i, i])
                runs[-1][1] = last = i
        result = []
        for first, last in runs:
            begin, end = max(0, first - CONTEXT), last + 1 + CONTEXT
            lines = [(" ", text) if sign == "-" and not first <= i <= last else (sign, text)
                     for i, (sign, text) in enumerate(self.lines)
                     if begin <= i < end and (sign != "+" or first <= i <= last)]
            before = sum(sign != "+" for sign, _ in self.lines[:begin])
            result.append(Hunk(self.start + before, self.heading, lines))
        return result


class FilePatch:
    """The hunks of one file. `old` is None for a file to be made."""

    def __init__(self, old, new):
        self.old, self.new, self.hunks = old, new, []


class Patch:
    def __init__(self, name, head, subject, files):
        self.name, self.head, self.subject, self.files = name, head, subject, files


def parse_patch(name, text):
    """Of a mailed patch: its head up to the "---", its subject, its files."""
    head, _, body = text.partition("\n---\n")
    match = re.search(r"^Subject: (?:\[[^]]*\] )?(.*(?:\n .*)*)", head, re.M)
    subject = re.sub(r"\n ", " ", match.group(1)) if match else name
    return Patch(name, head, subject, parse_diff(body))


def parse_diff(text):
    files, hunk, todo = [], None, (0, 0)
    old_path = None
    for line in text.split("\n"):
        if hunk is not None and max(todo) > 0:
            sign, rest = (line[:1] or " "), line[1:]
            if sign == "\\":
                continue
            hunk.lines.append((sign, rest))
            todo = (todo[0] - (sign != "+"), todo[1] - (sign != "-"))
        elif line.startswith("--- "):
            old_path = path_of(line[4:])
        elif line.startswith("+++ "):
            files.append(FilePatch(old_path, path_of(line[4:])))
        elif match := re.match(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@ ?(.*)", line):
            hunk = Hunk(max(0, int(match[1]) - 1), match[4], [])
            todo = (int(match[2] or 1), int(match[3] or 1))
            files[-1].hunks.append(hunk)
    return files


def path_of(field):
    path = field.split("\t")[0]
    return None if path == "/dev/null" else path.split("/", 1)[1]


def starts_function(text):
    return bool(re.match(r"[A-Za-z_]", text)) and not re.match(r"\w+:", text)


def function_name(heading):
    match = re.search(r"(\w+)\s*\(", heading)
    return match[1] if match else heading.strip()


def function_at(lines, index):
    for i in range(min(index, len(lines)) - 1, -1, -1):
        if starts_function(lines[i]):
            return function_name(lines[i])
    return ""


def places_of(lines, wanted):
    """All indices at which the lines `wanted` stand."""
    if not wanted:
        return []
    first, count = wanted[0], len(wanted)
    return [i for i in range(len(lines) - count + 1)
            if lines[i] == first and lines[i:i + count] == wanted]


def find_place(lines, hunk, expected):
    """(index, leading, trailing lines of context left out), or None."""
    old = hunk.old()
    lead, trail = hunk.context()
    whole = places_of(lines, old)
    if whole:
        return min(whole, key=lambda i: abs(i - expected)), 0, 0

    cuts = sorted(((a, b) for a in range(lead + 1) for b in range(trail + 1) if a or b),
                  key=lambda cut: (sum(cut), abs(cut[0] - cut[1])))
    for a, b in cuts:
        part = old[a:len(old) - b]
        places = places_of(lines, part)
        # What is changed counts from behind the leading context.
        inside = [i for i in places if function_at(lines, i + lead - a) == hunk.function()]
        if len(inside) == 1:
            return inside[0], a, b
        if len(places) == 1 and any(text.strip() not in TRIVIAL for text in part):
            return places[0], a, b
    return None


def fit_includes(lines, hunk):
    """A hunk of nothing but #include lines may stand anywhere among these."""
    changes = hunk.changes()
    if not all(text.startswith("#include <xen/") for _, text in changes):
        return None
    removed = [text for sign, text in changes if sign == "-"]
    added = [text for sign, text in changes if sign == "+"]
    result = list(lines)
    at = None
    for text in removed:
        if text in result:
            at = result.index(text)
            del result[at]
    for text in added:
        if text in result:
            continue
        if at is None:
            at = include_place(result, text)
        if at is None:
            return None
        result.insert(at, text)
        at += 1
    return result


def include_place(lines, text):
    """Into the order of the first block of <xen/...>, or at its end."""
    block = [i for i, line in enumerate(lines) if line.startswith("#include <xen/")]
    if not block:
        return None
    end = block[0]
    while end in block:
        end += 1
    for i in range(block[0], end):
        if all(line > text for line in lines[i:end]):
            return i
    return end


def fit_hunk(lines, hunk, offset):
    """(new lines, change of the offset, note), note None for an exact fit.

    None when there is no place.
    """
    expected = hunk.start + offset
    place = find_place(lines, hunk, expected)
    if place is None or place[1] or place[2]:
        included = fit_includes(lines, hunk)
        if included is not None:
            return included, len(included) - len(lines), "#include put in order"
    if place is None:
        return None
    index, a, b = place
    old, new = hunk.old(), hunk.new()
    count = len(old) - a - b
    body = new[a:len(new) - b]
    note = None
    if a or b:
        note = f"{a + b} of {sum(hunk.context())} lines of context differ"
        body = separate(lines, index, count, hunk, body, a, b)
    result = lines[:index] + body + lines[index + count:]
    return result, len(body) - count + index - a - expected, note


def separate(lines, index, count, hunk, body, a, b):
    """An insertion that stood apart by a blank line does so in its new place."""
    lead, trail = hunk.context()
    if any(sign == "-" for sign, _ in hunk.lines):
        return body
    if a == lead > 0 and index:
        above = lines[index - 1].strip()
        if hunk.lines[lead - 1][1] == "" and above not in ("", "{"):
            body = [""] + body
        elif body[0] == above == "":
            body = body[1:]
    after = index + count
    if b == trail > 0 and hunk.lines[-trail][1] == "" and body[-1] != "" and \
            after < len(lines) and lines[after].strip() not in ("", "}"):
        body = body + [""]
    return body


def describe_misfit(lines, hunk):
    """What the tree has where the hunk comes nearest, for a person to read."""
    old = hunk.old()
    wanted = {text.strip() for text in old} - TRIVIAL
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2([text.strip() for text in old])
    best, where = 0.0, None
    for i in range(max(1, len(lines) - len(old) + 1)):
        window = [text.strip() for text in lines[i:i + len(old)]]
        in_function = function_at(lines, i + hunk.context()[0]) == hunk.function()
        if not in_function and not wanted & set(window):
            continue
        matcher.set_seq1(window)
        score = matcher.ratio() + (0.3 if in_function else 0)
        if score > best:
            best, where = score, i
    if where is None or best < 0.4:
        return ["nothing like it is in the file; it expects"] + \
            ["    " + text for text in old]
    found = lines[where:where + len(old)]
    return [f"nearest is line {where + 1}; '-' is expected, '+' is there:"] + \
        ["    " + line for line in difflib.ndiff(old, found) if not line.startswith("?")]


def make_diff(path_old, path_new, before, after):
    """A git diff of two lists of lines."""
    name = path_new or path_old
    text = [f"diff --git a/{name} b/{name}"]
    if path_old is None:
        text.append("new file mode 100644")
    body = list(difflib.unified_diff(
        before, after, "/dev/null" if path_old is None else f"a/{name}", f"b/{name}",
        lineterm="", n=CONTEXT))
    return text + body if body else []
