#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fits a patch queue to a Xen tree. Called by apply.sh, which see.

    port_queue.py [--upto=N] [--keep-going] [--queue=NAME] [--list]
                  [--out=DIR] [--write] TREE

Nothing is written before all patches have been fitted, in memory. --out gets
them as they fit, ready for git am; --write changes the files of TREE. The exit
status is 0 when all fit, 1 when some do not, 2 on wrong use.

File `rules` tells what to adapt when the tree is not the one that the queue was
made for; its head describes the language.
"""
import argparse
import configparser
import itertools
import os
import re
import subprocess
import sys
import textwrap

import patchfit

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = "xen/include/public/trace_flush.h"
OLDEST = (4, 17)


class Misuse(Exception):
    pass


class Tree:
    """A Xen tree, with what the patches changed so far laid over its files."""

    def __init__(self, top):
        self.top, self.pristine, self.changed = top, {}, {}

    def read(self, path):
        """The file as it is on disk, or None."""
        if path not in self.pristine:
            try:
                with open(os.path.join(self.top, path), encoding="utf-8",
                          errors="surrogateescape", newline="") as file:
                    self.pristine[path] = file.read()
            except (FileNotFoundError, NotADirectoryError):
                self.pristine[path] = None
        return self.pristine[path]

    def lines(self, path):
        if path in self.changed:
            return self.changed[path]
        text = self.read(path)
        return None if text is None else text.removesuffix("\n").split("\n")

    def release(self):
        text = self.read("xen/Makefile") or ""
        number = [re.search(rf"^export {name}\s*[:?]?=\s*(\d+)\s*$", text, re.M)
                  for name in ("XEN_VERSION", "XEN_SUBVERSION")]
        if None in number:
            raise Misuse(f"{self.top}: not a Xen tree: xen/Makefile names no release")
        return tuple(int(match[1]) for match in number)

    def is_repository(self):
        """Of its own: a tree unpacked somewhere inside another one is not."""
        if not os.path.exists(os.path.join(self.top, ".git")):
            return False
        done = subprocess.run(["git", "-C", self.top, "rev-parse", "--show-toplevel"],
                              capture_output=True, text=True, check=False)
        return done.returncode == 0 and \
            os.path.realpath(done.stdout.rstrip("\n")) == os.path.realpath(self.top)

    def subjects(self):
        done = subprocess.run(["git", "-C", self.top, "log", "-500", "--format=%s"],
                              capture_output=True, text=True, check=False)
        return set(done.stdout.splitlines())

    def write(self):
        """All files or none: what was replaced is put back when one fails."""
        written = []
        try:
            for path, lines in self.changed.items():
                target = os.path.join(self.top, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                written.append(path)
                self.replace(target, "".join(line + "\n" for line in lines))
        except BaseException as error:  # an interruption too
            for path in written:
                target = os.path.join(self.top, path)
                if self.pristine.get(path) is not None:
                    self.replace(target, self.pristine[path])
                elif os.path.exists(target):
                    os.unlink(target)
            if not isinstance(error, OSError):
                raise
            raise Misuse(f"cannot write, nothing is applied: {error}") from error

    @staticmethod
    def replace(target, text):
        mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o644
        with open(target + ".new", "w", encoding="utf-8", errors="surrogateescape",
                  newline="") as file:
            file.write(text)
        os.chmod(target + ".new", mode)
        os.replace(target + ".new", target)


class Rule:
    KEYS = {"why", "when", "queue", "patch", "file", "at", "skip", "gone", "drop", "expect",
            "subst", "move", "hunks", "insert"}

    def __init__(self, name, section):
        unknown = set(section) - self.KEYS
        if unknown or not section.get("why") or not section.get("when"):
            raise Misuse(f"rules: [{name}]: unknown {sorted(unknown)}, or no why or when")
        self.name, self.used = name, False
        self.why = " ".join(section["why"].split())
        self.when = [line for line in section["when"].split("\n") if line.strip()]
        self.queue, self.patch = section.get("queue"), section.get("patch")
        self.file, self.at = section.get("file"), section.get("at")
        self.skip, self.gone = "skip" in section, "gone" in section
        self.drop, self.move = section.get("drop"), section.get("move")
        self.hunks, self.insert = section.get("hunks"), section.get("insert")
        self.subst = [(signs, *self.parse_subst(line))
                      for key, signs in (("subst", " -+"), ("expect", " -"))
                      for line in section.get(key, "").split("\n") if line.strip()]

    def parse_subst(self, line):
        parts = line[1:].split(line[0])
        if len(parts) < 3 or parts[-1]:
            raise Misuse(f"rules: [{self.name}]: not /PATTERN/REPLACEMENT/: {line}")
        return re.compile(parts[0]), parts[1:-1]

    def holds(self, tree, queue):
        if self.queue and self.queue != queue:
            return False
        for condition in self.when:
            path, operator, pattern = condition.split(None, 2)
            found = re.search(pattern, tree.read(path) or "", re.M) is not None
            if found != {"~": True, "!~": False}[operator]:
                return False
        return True

    def concerns(self, patch, path=None, function=None):
        return (not self.patch or re.search(self.patch, patch.subject)) and \
            (path is None or not self.file or self.file == path) and \
            (function is None or not self.at or re.fullmatch(self.at, function))


def load_rules(tree, queue):
    parser = configparser.RawConfigParser(delimiters=("=",), comment_prefixes=("#",))
    with open(os.path.join(HERE, "rules"), encoding="utf-8") as file:
        parser.read_file(file)
    rules = [Rule(name, parser[name]) for name in parser.sections()]
    return [rule for rule in rules if rule.holds(tree, queue)]


def load_queue(queue):
    folder = os.path.join(HERE, queue)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".patch"))
    patches = []
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            patches.append(patchfit.parse_patch(name, file.read()))
    return patches


def with_insertions(patches, rules):
    """The queue with what the tree needs besides, each before the rule's patch."""
    result = []
    for patch in patches:
        for rule in rules:
            if rule.insert and rule.concerns(patch):
                queue, subject = rule.insert.split(None, 1)
                result += [other for other in load_queue(queue) if other.subject == subject]
                rule.used = True
        result.append(patch)
    return result


class Result:
    """What became of a patch. `kind`: ok, ported, skipped or misfit."""

    def __init__(self, patch):
        self.patch, self.kind, self.notes, self.problems = patch, "ok", [], []
        self.reason, self.diff = "", []


class Porter:
    def __init__(self, tree, rules):
        self.tree, self.rules = tree, rules

    def port(self, patch):
        """Fits one patch. The tree takes its changes only if all of it fits."""
        result = Result(patch)
        for rule in self.rules:
            if rule.skip and rule.concerns(patch):
                rule.used = True
                result.kind, result.reason = "skipped", rule.why
                return result
        before, after = {}, {}
        for file_patch in patch.files:
            self.port_file(patch, file_patch, after, result)
        if result.problems:
            result.kind = "misfit"
            return result
        for path, lines in after.items():
            before[path] = self.tree.lines(path)
            made = patchfit.make_diff(path if before[path] is not None else None, path,
                                      before[path] or [], lines)
            result.diff += made
            self.tree.changed[path] = lines
        if result.notes:
            result.kind = "ported"
        return result

    def use(self, rule, result):
        rule.used = True
        if f"rule {rule.name}" not in result.notes:
            result.notes.append(f"rule {rule.name}")

    def port_file(self, patch, file_patch, after, result):
        path, hunks = file_patch.new, file_patch.hunks
        for rule in self.rules:
            if not rule.concerns(patch, path) or not (rule.file or rule.patch):
                continue
            if rule.hunks and rule.file == path:
                hunks = self.other_hunks(rule.hunks, patch, path)
                self.use(rule, result)
            elif rule.move and rule.file == path:
                path = rule.move
                self.use(rule, result)
        lines = after.get(path, self.tree.lines(path))
        if file_patch.old is None:
            if lines is not None:
                result.problems.append((path, None, ["it exists already"]))
                return
            variant, used = self.variants(patch, path, hunks[0])[0]
            for rule in used:
                self.use(rule, result)
            after[path] = variant.new()
            return
        if lines is None:
            result.problems.append((path, None, ["the tree has no such file"]))
            return
        offset = 0
        for number, hunk in enumerate(hunks, 1):
            lines, offset = self.port_hunk(patch, file_patch.new, path, number, hunk,
                                           (lines, offset), result)
        after[path] = lines

    def other_hunks(self, source, patch, path):
        """Those of the same patch in another queue, or of a file beside the rules."""
        if os.path.isdir(os.path.join(HERE, source)):
            patches = [other for other in load_queue(source) if other.subject == patch.subject]
        else:
            with open(os.path.join(HERE, source), encoding="utf-8") as file:
                patches = [patchfit.Patch(source, "", "", patchfit.parse_diff(file.read()))]
        return [hunk for other in patches for item in other.files if item.new == path
                for hunk in item.hunks]

    def port_hunk(self, patch, named, path, number, hunk, state, result):
        """The state, lines and offset, after the hunk; unchanged if it does not fit."""
        lines, offset = state
        for rule in self.rules:
            if rule.gone and rule.concerns(patch, named, hunk.function()):
                self.use(rule, result)
                return state
        variants = self.variants(patch, named, hunk)
        for variant, used in variants:
            fitted = self.fit(lines, variant, offset)
            if fitted is None:
                continue
            for rule in used:
                self.use(rule, result)
            for note in fitted[2]:
                result.notes.append(f"{path}, hunk {number}: {note}")
            return fitted[0], fitted[1]
        about = f"hunk {number}" + (f", {hunk.heading}" if hunk.heading else "")
        misfit = patchfit.describe_misfit(lines, variants[0][0])
        result.problems.append((path, about, misfit))
        return state

    @staticmethod
    def fit(lines, hunk, offset):
        """As one, else piece by piece: (lines, offset, notes) or None."""
        if not hunk.changes():
            return lines, offset, []
        fitted = patchfit.fit_hunk(lines, hunk, offset)
        if fitted:
            return fitted[0], fitted[1] + offset, [fitted[2]] if fitted[2] else []
        pieces, notes = hunk.pieces(), []
        if len(pieces) < 2:
            return None
        for piece in pieces:
            fitted = patchfit.fit_hunk(lines, piece, offset)
            if not fitted:
                return None
            lines, offset = fitted[0], offset + fitted[1]
            notes.append("applied in pieces" if not notes else fitted[2])
        return lines, offset, [note for note in notes if note]

    def variants(self, patch, named, hunk):
        """(hunk, rules used) for each combination of what the rules offer."""
        choices = []
        for rule in self.rules:
            if not rule.concerns(patch, named, hunk.function()):
                continue
            for signs, pattern, replacements in rule.subst:
                choices.append([(rule, signs, pattern, text) for text in replacements])
            if rule.drop:
                choices.append([(rule, "", None, rule.drop)])
        result = []
        for combination in itertools.product(*choices):
            variant, used = hunk, []
            for rule, signs, pattern, text in combination:
                changed = drop_lines(variant, text) if pattern is None else \
                    substitute(variant, signs, pattern, text)
                if changed.lines != variant.lines:
                    used.append(rule)
                variant = changed
            if all(variant.lines != other.lines for other, _ in result):
                result.append((variant, used))
        return result


def substitute(hunk, signs, pattern, text):
    """On the lines with these signs; on whole texts where that spans lines."""
    lines = [(sign, pattern.sub(text, line) if sign in signs else line)
             for sign, line in hunk.lines]
    result = patchfit.Hunk(hunk.start, hunk.heading, lines)
    if "+" not in signs:
        return result
    old, new = (pattern.sub(text, "\n".join(side)).split("\n") if side else []
                for side in (hunk.old(), hunk.new()))
    return result if (old, new) == (result.old(), result.new()) else rebuilt(hunk, old, new)


def drop_lines(hunk, pattern):
    keep = [(sign, text) for sign, text in hunk.lines
            if sign != "+" or not re.search(pattern, text)]
    return patchfit.Hunk(hunk.start, hunk.heading, keep)


def rebuilt(hunk, old, new):
    lines = []
    matcher = patchfit.difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            lines += [(" ", text) for text in old[a:b]]
        else:
            lines += [("-", text) for text in old[a:b]] + [("+", text) for text in new[c:d]]
    return patchfit.Hunk(hunk.start, hunk.heading, lines)


def mailed(result, release):
    """The patch for git am. Its message says when it is not the queue's."""
    head = result.patch.head
    if result.kind == "ported":
        note = f"[Adapted to {release} by xenflush: {'; '.join(result.notes)}.]"
        head += "\n\n" + textwrap.fill(note, 78, break_long_words=False,
                                       break_on_hyphens=False)
    return head + "\n---\n" + "\n".join(result.diff) + "\n"


def report(result, number):
    words = {"ok": "fits", "ported": "ported", "skipped": "left out", "misfit": "DOES NOT FIT",
             "there": "is there"}
    print(f"{number:3} {words[result.kind]:8} {result.patch.subject}")
    if result.kind == "skipped":
        print(textwrap.fill(result.reason, 78, initial_indent=" " * 13,
                            subsequent_indent=" " * 13))
    for note in result.notes if result.kind == "ported" else []:
        print(f"             {note}")
    for path, where, lines in result.problems:
        print(f"             {path}" + (f", {where}:" if where else ":"))
        for line in lines:
            print(f"                 {line}")


def port_all(tree, options, rules, patches):
    release = "Xen %d.%d" % tree.release()
    subjects = tree.subjects() if tree.is_repository() else set()
    if tree.read(HEADER) is not None and patches[0].subject not in subjects:
        raise Misuse(f"{tree.top}: has {HEADER} already: the queue, or part of it, is in")
    porter, results = Porter(tree, rules), []
    for number, patch in enumerate(patches[:options.upto], 1):
        if patch.subject in subjects:
            result = Result(patch)
            result.kind = "there"
        else:
            result = porter.port(patch)
        report(result, number)
        results.append(result)
        if result.kind == "misfit" and not options.keep_going:
            print(f"    the remaining {len(patches[:options.upto]) - number} were not tried"
                  " (--keep-going does)")
            break
    used = [rule for rule in rules if rule.used and not rule.skip]
    if used:
        print("rules used:")
    for rule in used:
        print(textwrap.fill(f"{rule.name}: {rule.why}", 78, initial_indent="  ",
                            subsequent_indent="      "))
    if options.out:
        for number, result in enumerate(results, 1):
            if result.kind in ("ok", "ported") and result.diff:
                name = f"{number:04}-{result.patch.name[5:]}"
                with open(os.path.join(options.out, name), "w", encoding="utf-8",
                          errors="surrogateescape") as file:
                    file.write(mailed(result, release))
    return results


def main():
    parser = argparse.ArgumentParser(prog="apply.sh", add_help=False)
    parser.add_argument("--upto", type=int)
    parser.add_argument("--queue")
    parser.add_argument("--out")
    for flag in ("--keep-going", "--write", "--list"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("tree")
    options = parser.parse_args()

    tree = Tree(options.tree)
    release = tree.release()
    if release < OLDEST and not options.queue:
        raise Misuse("%s: Xen %d.%d is older than 4.17, the oldest that there is a queue for"
                     " (--queue=4.17 tries nevertheless)" % (tree.top, *release))
    queue = options.queue or ("4.17" if release < (4, 18) else "4.20")
    if not os.path.isdir(os.path.join(HERE, queue)):
        raise Misuse(f"there is no queue {queue}")
    rules = load_rules(tree, queue)
    patches = with_insertions(load_queue(queue), rules)
    if not patches:
        raise Misuse(f"queue {queue} is empty")
    if options.upto is not None and not 1 <= options.upto <= len(patches):
        raise Misuse(f"--upto={options.upto}: the queue has patches 1 to {len(patches)}")
    print("Xen %d.%d, queue %s, %d patches" % (*release, queue, len(patches)))
    if options.list:
        for number, patch in enumerate(patches, 1):
            print(f"{number:3} {patch.subject}")
        return 0
    results = port_all(tree, options, rules, patches)
    bad = sum(result.kind == "misfit" for result in results)
    if options.write and (not bad or options.keep_going):
        tree.write()
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Misuse as error:
        print(f"apply.sh: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("apply.sh: interrupted, nothing is changed", file=sys.stderr)
        sys.exit(130)
