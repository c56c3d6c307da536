#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The cost of map and unmap calls, as a Markdown table.

usage: cost_table.py TITLE=COST_FILE...
       cost_table.py --self-test

A COST_FILE is what `xfpaths cost` printed in a boot with one CPU, where a tick of
the TSC is one instruction. The table has a row for each file; its cells are
instructions a page: the median call less the cheapest hypercall, by its pages.
Exit status: 0 done, 1 a file lacks a figure, 2 usage.
"""
import re
import sys

CALLS = [(call, pages) for call in ("map", "unmap") for pages in (1, 32, 256)]


def figures(lines):
    """{(call, pages): per page}, and the median of the cheapest hypercall."""
    per_page, reference = {}, None
    for line in lines:
        fields = dict(re.findall(r"(\w+)=(\S+)", line)) if line.startswith("XF cost ") else {}
        if "per_page" in fields:
            per_page[fields["call"], int(fields["pages"])] = float(fields["per_page"])
        elif fields.get("call") == "hypercall":
            reference = int(fields["median"])
    missing = [f"{call} of {pages}" for call, pages in CALLS if (call, pages) not in per_page]
    if missing or reference is None:
        raise ValueError("no figure for " + ", ".join(missing or ["the cheapest hypercall"]))
    return per_page, reference


def table(rows):
    """rows: [(title, lines)]"""
    head = ["instructions a page"] + [f"{call}, {pages} page{'s' * (pages > 1)} a call" for call, pages in CALLS]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * len(CALLS) + "|"]
    references = set()
    for title, text in rows:
        per_page, reference = figures(text)
        references.add(reference)
        cells = [f"{per_page[key]:,.0f}" for key in CALLS]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    low, high = min(references), max(references)
    lines += ["", f"The cheapest hypercall, taken off each call, is {low:,}"
              + (f" to {high:,}" if high > low else "") + " instructions."]
    return lines


def self_test():
    text = ["XF cost call=hypercall pages=0 runs=50 min=500 median=510 max=900", "XF end differences=0"]
    text += [f"XF cost call={call} pages={pages} runs=50 min=1 median=2 max=3 per_page={pages}.6"
             for call, pages in CALLS]
    made = table([("stock", text)])
    assert made[2] == "| stock | 2 | 33 | 257 | 2 | 33 | 257 |", made[2]
    assert "is 510 instructions" in made[-1]
    try:
        table([("stock", text[:-1])])
    except ValueError as problem:
        assert str(problem) == "no figure for unmap of 256"
    else:
        raise AssertionError("a missing figure was not noticed")
    print("cost_table: self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) < 2 or any("=" not in word for word in sys.argv[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    rows = []
    for word in sys.argv[1:]:
        title, path = word.rsplit("=", 1)
        with open(path, encoding="ascii", errors="replace") as file:
            rows.append((title, file.read().splitlines()))
    try:
        print("\n".join(table(rows)))
    except ValueError as problem:
        print(f"cost_table: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
