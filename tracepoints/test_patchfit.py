#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fitting of patches to trees that have moved on, on small texts. No Xen needed."""
import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest

import patchfit

HERE = os.path.dirname(os.path.abspath(__file__))


def lines(text):
    return textwrap.dedent(text).strip("\n").split("\n")


def hunk(text, start=0, heading=""):
    return patchfit.Hunk(start, heading, [(line[:1] or " ", line[1:])
                                          for line in lines(text)])


CHANGE = """
     static void one(void)
     {
    -    flush();
    +    flush_and_record();
     }
    """


class Fit(unittest.TestCase):
    def test_moved(self):
        tree = ["/* new */"] * 40 + lines("""
            static void one(void)
            {
                flush();
            }
            """)
        result, offset, note = patchfit.fit_hunk(tree, hunk(CHANGE), 0)
        self.assertEqual(result[42], "    flush_and_record();")
        self.assertEqual((offset, note), (40, None))

    def test_context_changed(self):
        tree = lines("""
            static int one(void)
            {
                flush();
                return 0;
            }
            """)
        result, _, note = patchfit.fit_hunk(tree, hunk(CHANGE), 0)
        self.assertEqual(result[2], "    flush_and_record();")
        self.assertIn("differ", note)

    def test_ambiguous_is_refused(self):
        tree = lines("""
            static int two(void)
            {
                flush();
                return 0;
            }
            static int three(void)
            {
                flush();
                return 0;
            }
            """)
        self.assertIsNone(patchfit.fit_hunk(tree, hunk(CHANGE), 0))

    def test_function_decides(self):
        tree = lines("""
            static int two(void)
            {
                flush();
                return 0;
            }
            static int one(void)
            {
                flush();
                return 0;
            }
            """)
        result, _, _ = patchfit.fit_hunk(tree, hunk(CHANGE), 0)
        self.assertEqual(result[2], "    flush();")
        self.assertEqual(result[7], "    flush_and_record();")

    def test_nothing_but_trivial_lines_is_no_place(self):
        change = hunk("""
              }
            +
            +int added;
              }
            """, heading="void gone(void)")
        self.assertIsNone(patchfit.fit_hunk(lines("void one(void)\n{\n}\n}"), change, 0))

    def test_insertion_keeps_its_blank_line(self):
        change = hunk("""
             ASSERT(pg);

            +TRACE(1);
            +
             del(pg);
            """, heading="void f(void)")
        tree = lines("void f(void)\n{\n\nsync(pg);\ndel(pg);\n}")
        result, _, _ = patchfit.fit_hunk(tree, change, 0)
        self.assertEqual(result, lines("void f(void)\n{\n\nsync(pg);\n\nTRACE(1);\n\ndel(pg);\n}"))

    def test_include(self):
        change = hunk("""
             #include <xen/sched.h>
            +#include <xen/trace_flush.h>
             #include <asm/io.h>
            """)
        tree = lines("#include <xen/sched.h>\n#include <xen/types.h>\n\n#include <asm/irq.h>")
        result, _, note = patchfit.fit_hunk(tree, change, 0)
        self.assertEqual(result[1], "#include <xen/trace_flush.h>")
        self.assertIn("#include", note)

    def test_include_replaced(self):
        change = hunk("""
             #include <xsm/xsm.h>
            -#include <xen/trace.h>
            +#include <xen/trace_flush.h>
             #include <asm/io.h>
            """)
        tree = lines("#include <xen/lib.h>\n#include <xen/trace.h>\n#include <xen/types.h>")
        result, _, _ = patchfit.fit_hunk(tree, change, 0)
        self.assertEqual(result[1:], ["#include <xen/trace_flush.h>", "#include <xen/types.h>"])

    def test_pieces(self):
        change = hunk("""
             a
            -b
            +B
             c
             d
            -e
            +E
             f
            """)
        tree = list("aabcdxyzdef")
        for piece in change.pieces():
            tree = patchfit.fit_hunk(tree, piece, 0)[0]
        self.assertEqual("".join(tree), "aaBcdxyzdEf")

    def test_misfit_is_explained(self):
        text = "\n".join(patchfit.describe_misfit(
            lines("static void one(void)\n{\n    flush_more();\n}"), hunk(CHANGE)))
        self.assertIn("line 1", text)
        self.assertIn("-     flush();", text)
        self.assertIn("+     flush_more();", text)

    def test_diff_and_parse(self):
        before, after = ["a", "b", "c"], ["a", "x", "c"]
        made = patchfit.make_diff("f", "f", before, after)
        file = patchfit.parse_diff("\n".join(made) + "\n")[0]
        self.assertEqual(patchfit.fit_hunk(before, file.hunks[0], 0)[0], after)


class Apply(unittest.TestCase):
    """apply.sh on trees which are hardly any."""

    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        self.write("xen/Makefile", "export XEN_VERSION = 4\nexport XEN_SUBVERSION = 20\n")

    def write(self, path, text):
        os.makedirs(os.path.dirname(os.path.join(self.top, path)), exist_ok=True)
        with open(os.path.join(self.top, path), "w", encoding="utf-8") as file:
            file.write(text)

    def apply(self, *options):
        return subprocess.run([os.path.join(HERE, "apply.sh"), *options, self.top],
                              capture_output=True, text=True, check=False)

    def contents(self):
        result = {}
        for folder, _, names in os.walk(self.top):
            for name in names if ".git" not in folder.split(os.sep) else ():
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    result[os.path.join(folder, name)] = file.read()
        return result

    def test_all_or_nothing(self):
        before = self.contents()
        done = self.apply()
        self.assertEqual(done.returncode, 1)
        self.assertIn("DOES NOT FIT", done.stdout)
        self.assertIn("xen/drivers/passthrough/iommu.c", done.stdout)
        self.assertEqual(self.contents(), before)

    def test_upto(self):
        done = self.apply("--upto=1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(HERE, "trace_flush.h"), encoding="utf-8") as file:
            self.assertEqual(self.contents()[
                os.path.join(self.top, "xen/include/public/trace_flush.h")], file.read())
        again = self.apply("--upto=1")
        self.assertEqual(again.returncode, 2)
        self.assertIn("already", again.stderr)

    def test_keep_going(self):
        done = self.apply("--keep-going")
        self.assertEqual(done.returncode, 1)
        self.assertIn(os.path.join(self.top, "xen/include/xen/trace_flush.h"), self.contents())

    def test_repository(self):
        def git(*arguments):
            return subprocess.run(["git", "-C", self.top, "-c", "user.name=n", "-c",
                                   "user.email=e", *arguments], check=True,
                                  capture_output=True, text=True).stdout
        git("init", "-q")
        git("add", "-A")
        git("commit", "-qm", "base")
        self.write("xen/Makefile", "export XEN_VERSION = 4\nexport XEN_SUBVERSION = 20\n\n")
        self.assertEqual(self.apply("--upto=1").returncode, 2)
        git("checkout", "-q", ".")
        self.assertEqual(self.apply("--upto=1").returncode, 0)
        self.assertEqual(git("log", "-1", "--format=%an %s"),
                         "xenflush developers xen/trace: define records of TLB, IOTLB and"
                         " cache flushes\n")
        # What is in is passed over, what comes next does not fit this tree.
        again = self.apply("--upto=2")
        self.assertEqual(again.returncode, 1)
        self.assertIn("is there", again.stdout)
        self.assertEqual(git("status", "--porcelain"), "")

    def test_releases(self):
        for version, queue in ((17, "4.17"), (18, "4.20"), (23, "4.20")):
            self.write("xen/Makefile",
                       f"export XEN_VERSION = 4\nexport XEN_SUBVERSION = {version}\n")
            done = self.apply("--list")
            self.assertIn(f"Xen 4.{version}, queue {queue}", done.stdout)
        self.write("xen/Makefile", "export XEN_VERSION = 4\nexport XEN_SUBVERSION = 16\n")
        self.assertEqual(self.apply("--list").returncode, 2)

    def test_no_tree(self):
        os.unlink(os.path.join(self.top, "xen/Makefile"))
        self.assertEqual(self.apply().returncode, 2)


if __name__ == "__main__":
    unittest.main()
