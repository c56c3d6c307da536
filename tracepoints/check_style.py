#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks the patches of a queue without a Xen tree.

    check_style.py QUEUE...      names of directories beside this file

Author and date, subject and message, white space and width of what is added, the
words of every record that is written against the table in README.md, and that the
public header which a queue adds is trace_flush.h, byte for byte. Prints what is
wrong, exit status 1 then.
"""
import os
import re
import sys

import patchfit

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = "xen/include/public/trace_flush.h"
AUTHOR = "From: xenflush developers <xenflush@localhost>"
MOST_WORDS = 7
C_FILE = re.compile(r"\.[ch]$")
CALL = re.compile(r"\bTRACE_FLUSH\(")


def read(*path):
    with open(os.path.join(HERE, *path), encoding="utf-8") as file:
        return file.read()


def message_problems(patch):
    head = patch.head.split("\n")
    if not re.fullmatch(r"From 0{40} Mon Sep 17 00:00:00 2001", head[0]):
        yield "does not begin with the commit 0 of format-patch --zero-commit"
    if head[1] != AUTHOR:
        yield f"author: {head[1]}"
    if not re.fullmatch(r"Date: \w+, \d+ \w+ 2026 00:00:00 \+0000", head[2]):
        yield f"date is not fixed: {head[2]}"
    if not re.search(r"^Subject: \[PATCH\] ", patch.head, re.M):
        yield "subject is numbered, or is none"
    if len(patch.subject) > 72:
        yield f"subject has {len(patch.subject)} characters: {patch.subject}"
    body = patch.head.partition("\n\n")[2].rstrip("\n")
    if not body:
        yield "no message"
    if body.startswith("\n") or "\n\n\n" in body:
        yield "message: more than one blank line"
    for line in body.split("\n"):
        if len(line) > 80:
            yield f"message: line of {len(line)} characters: {line}"
        if re.match(r"(Signed-off|Co-developed|Reviewed|Acked|Tested|Suggested)-by:", line, re.I):
            yield f"message: {line}"


def added_problems(path, lines):
    """Of the lines that a file's hunk adds, with the signs of all of them."""
    last_blank = False
    for sign, text in lines:
        if sign == "-":
            continue
        if sign == "+":
            if text != text.rstrip():
                yield f"{path}: trailing white space: {text!r}"
            if C_FILE.search(path) and "\t" in text and not path.startswith("tools/"):
                yield f"{path}: tab: {text!r}"
            # tools/xentrace is indented by tabs in part; docs have long URLs and tables.
            if C_FILE.search(path) and len(text.expandtabs(8)) > 80:
                yield f"{path}: {len(text.expandtabs(8))} columns: {text}"
            if last_blank and text == "":
                yield f"{path}: two blank lines"
        last_blank = text == ""


def arguments(text, start):
    """The arguments of the call whose '(' is before `start`."""
    depth, result, current = 1, [], ""
    for c in text[start:]:
        depth += (c in "({[") - (c in ")}]")
        if depth == 0:
            return result + [current]
        if c == "," and depth == 1:
            result.append(current)
            current = ""
        else:
            current += c
    return None


def contract():
    """Words of each record: {name in the header: count}, README's by number."""
    header, numbers = read("trace_flush.h"), {}
    bases = {name: int(value, 16) for name, value in
             re.findall(r"#define (TRC_HW_FLUSH\w*)\s+0x(\w+)U", header)}
    for name, base, number in re.findall(r"#define (TRC_FLUSH_\w+)\s+\((TRC_HW_\w+) \+ (\d+)\)",
                                         header):
        numbers[name] = bases[base] + int(number)
    words = {int(number, 16): int(count) for number, count in
             re.findall(r"^\| \w+ \| (0x\w+) \| (\d) \|", read("README.md"), re.M)}
    return {name: words.get(number, 0) for name, number in numbers.items()}


def record_problems(path, lines, words, seen):
    """Of the lines of a hunk, removed ones left out."""
    lines = [(sign, line) for sign, line in lines if sign != "-"]
    text = "\n".join(line for _, line in lines)
    for match in CALL.finditer(text):
        sign = lines[text.count("\n", 0, match.start())][0]
        if sign != "+" or text[:match.start()].endswith("#define "):
            continue
        call = arguments(text, match.end())
        if call is None:
            yield f"{path}: a TRACE_FLUSH() ends outside of its hunk: widen the context"
            continue
        count = len(call) + sum(" TRACE_FLUSH_U64(" in " " + argument.strip()
                                for argument in call[1:])     # the first is the event, cur a word
        if count > MOST_WORDS:
            yield f"{path}: {count} words: {' '.join(call[0].split())}"
        for name in re.findall(r"TRC_FLUSH_\w+", call[0]):
            if name not in words:
                continue
            seen.add(name)
            if count != words[name]:
                yield f"{path}: {name} with {count} words, README.md says {words[name]}"


def check_queue(queue):
    problems, words, seen = [], contract(), set()
    names = sorted(name for name in os.listdir(os.path.join(HERE, queue))
                   if name.endswith(".patch"))
    for number, name in enumerate(names, 1):
        patch = patchfit.parse_patch(name, read(queue, name))
        found = list(message_problems(patch))
        if not name.startswith(f"{number:04}-"):
            found.append(f"is number {number} of the queue")
        for file in patch.files:
            for hunk in file.hunks:
                found += added_problems(file.new, hunk.lines)
                if C_FILE.search(file.new):
                    found += record_problems(file.new, hunk.lines, words, seen)
            if file.new == HEADER and "".join(
                    line + "\n" for line in file.hunks[0].new()) != read("trace_flush.h"):
                found.append(f"{HEADER} is not trace_flush.h")
        problems += [f"{queue}/{name}: {problem}" for problem in found]
    if not names:
        problems.append(f"{queue}: no patch")
    return len(names), seen, [f"{queue}: no place writes {name}" for name in words
                              if names and name not in seen] + problems


def main():
    bad = False
    for queue in sys.argv[1:]:
        count, seen, problems = check_queue(queue)
        for problem in problems:
            print(problem)
        bad = bad or bool(problems)
        print(f"{queue}: {count} patches write {len(seen)} kinds of record:"
              f" {len(problems) or 'nothing'} to mend")
    return 1 if bad or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
