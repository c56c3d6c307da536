# SPDX-License-Identifier: GPL-2.0-only
"""Stages of the lab: each makes one directory, and is skipped when that was made of
the same input.

The input of a stage is its key, a hash. The directory is made beside its place and
renamed when the stage has succeeded, so what is in place is always whole; the key
lies in it. One run at a time uses a work directory.
"""
import concurrent.futures
import fcntl
import glob
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

KEY_FILE = ".key"
MARK = ".xenflush-lab"      # in a work directory
ONLY_FOR_READERS = (".md", ".pyc")


class Failed(Exception):
    """A stage failed, or something it needs is missing; the message is for the user."""


class Content:
    """The content of a file, or of all files of a directory, as a part of a key."""

    def __init__(self, path):
        self.path = path


def key_of(*parts):
    """A key of texts and Contents."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Content):
            for name, path in files_of(part.path):
                digest.update(f"{name}\0".encode())
                with open(path, "rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        else:
            digest.update(str(part).encode() + b"\0")
    return digest.hexdigest()[:32]


def files_of(path):
    """The files of a directory, or one file, each with a name that does not tell where it lies."""
    if not os.path.isdir(path):
        return [(os.path.basename(path), path)] if os.path.exists(path) else []
    found = []
    for entry in glob.glob(f"{path}/**", recursive=True, include_hidden=True):
        if os.path.isfile(entry) and not entry.endswith(ONLY_FOR_READERS) and ".git/" not in entry:
            found.append((os.path.relpath(entry, path), entry))
    return sorted(found)


def package_versions(*names):
    """The installed versions of packages: what a stage uses and does not make."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout


class Lab:
    """A work directory, its lock, the stages made so far and their times."""

    def __init__(self, directory):
        if any(character.isspace() for character in directory):
            raise Failed(f"{directory}: Xen does not build where a directory's name has a space; set LAB")
        self.directory = directory
        self.times = []             # (stage, seconds, "made", "kept", ...)
        self.children = set()
        self.mutex = threading.Lock()
        self.stopping = False
        # What is removed and overwritten here must be the lab's own.
        if os.path.isdir(directory) and os.listdir(directory) and not os.path.exists(self.path(MARK)):
            raise Failed(f"{directory}: is no work directory of the lab, and not empty; set LAB to another")
        os.makedirs(self.path("log"), exist_ok=True)
        with open(self.path(MARK), "a", encoding="ascii"):
            pass
        self.lock = open(self.path("lock"), "w", encoding="ascii")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed(f"another run uses {directory}") from None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.interrupted)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def interrupted(self, number, _frame):
        self.stop_children()
        sys.exit(128 + number)

    def stop_children(self):
        with self.mutex:
            self.stopping = True
            for child in self.children:
                try:
                    os.killpg(child.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass

    def say(self, text):
        with self.mutex:
            print(text, flush=True)

    def command(self, log, command, environment=None):
        """Runs a command in a process group of its own, its output into a log."""
        with self.mutex:
            if self.stopping:
                raise Failed("interrupted")
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                     start_new_session=True,
                                     env={**os.environ, "LAB": self.directory, **(environment or {})})
            self.children.add(child)
        try:
            return child.wait()
        finally:
            with self.mutex:
                self.children.discard(child)

    def is_made(self, name, key):
        try:
            with open(self.path(name, KEY_FILE), encoding="ascii") as file:
                return file.read() == key
        except OSError:
            return False

    def stage(self, name, key, command, environment=None):
        """The directory of a stage, made by `command DIRECTORY` unless it is there already."""
        place = self.path(name)
        if self.is_made(name, key):
            self.note(name, 0.0, "kept")
            return place
        began = time.monotonic()
        part, log = place + ".part", self.path("log", name.replace("/", "-") + ".log")
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        with open(log, "wb") as file:
            status = self.command(file, [word.replace("@OUT@", part) for word in command], environment)
        if status != 0:
            raise Failed(f"{name} failed (exit status {status}); the end of {log}:\n" + tail_of(log))
        with open(f"{part}/{KEY_FILE}", "w", encoding="ascii") as file:
            file.write(key)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(part, place)
        self.note(name, time.monotonic() - began, "made")
        return place

    def note(self, name, seconds, how):
        with self.mutex:
            self.times.append((name, seconds, how))
            print(f"  {name:<24} {how} {f'{seconds:7.1f} s' if how != 'kept' else ''}".rstrip(), flush=True)

    def side_by_side(self, jobs, workers):
        """Calls every job, `workers` at a time; the first failure is raised when all have ended."""
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(job) for job in jobs]
            concurrent.futures.wait(futures)
        for future in futures:
            future.result()

    def summary(self, began):
        lines = ["", "| stage | seconds |", "|---|---:|"]
        lines += [f"| {name} | {'kept' if how == 'kept' else f'{seconds:.1f}'} |" for name, seconds, how in self.times]
        lines.append(f"| all | {time.monotonic() - began:.1f} |")
        self.say("\n".join(lines))


def tail_of(path, lines=15):
    with open(path, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    return "\n".join("    " + line for line in text.splitlines()[-lines:])


def self_test():
    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def read(path):
        with open(path, encoding="ascii") as file:
            return file.read()

    with tempfile.TemporaryDirectory() as directory:
        os.makedirs(f"{directory}/a/sub")
        write(f"{directory}/a/sub/file", "one")
        first = key_of("text", Content(f"{directory}/a"))
        shutil.copytree(f"{directory}/a", f"{directory}/b")
        write(f"{directory}/b/README.md", "for readers only")
        assert key_of("text", Content(f"{directory}/b")) == first
        write(f"{directory}/b/sub/file", "two")
        assert key_of("text", Content(f"{directory}/b")) != first
        os.rename(f"{directory}/a/sub/file", f"{directory}/a/sub/other")
        assert key_of("text", Content(f"{directory}/a")) != first
        assert key_of("a", "b") != key_of("ab")

        lab = Lab(f"{directory}/lab")
        lab.say = lambda text: None
        lab.note = lambda name, seconds, how: lab.times.append(how)
        make = ["sh", "-c", "echo $TEXT >@OUT@/made"]
        place = lab.stage("s", "key 1", make, {"TEXT": "one"})
        lab.stage("s", "key 1", make, {"TEXT": "not made"})
        assert read(f"{place}/made") == "one\n" and lab.times == ["made", "kept"]
        try:
            lab.stage("s", "key 2", ["sh", "-c", "echo half >@OUT@/made; echo why; exit 5"])
        except Failed as problem:
            assert "exit status 5" in str(problem) and "why" in str(problem)
        else:
            raise AssertionError("a stage that failed passed for made")
        assert read(f"{place}/made") == "one\n" and not lab.is_made("s", "key 2")
        lab.stage("s", "key 2", make, {"TEXT": "two"})
        assert read(f"{place}/made") == "two\n" and not os.path.exists(f"{place}.part")

        done = subprocess.run([sys.executable, __file__, "--lock", f"{directory}/lab"],
                              stderr=subprocess.PIPE, check=False)
        assert done.returncode == 1 and b"another run" in done.stderr, done
        failing = [lambda: lab.stage("bad", "1", ["false"]), lambda: lab.stage("good", "1", ["true"])]
        try:
            lab.side_by_side(failing, 2)
        except Failed:
            assert lab.is_made("good", "1")
        else:
            raise AssertionError("the failure of one of two jobs was not noticed")
    print("stages: self-test passed")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--lock"]:
        try:
            Lab(sys.argv[2])
        except Failed as error:
            sys.exit(str(error))
    elif sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        sys.exit(__doc__)
