#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""rdma-core's own tests (python3-pyverbs), on ib_uverbs and on shverbs.

    compare.py run LIST         in the guest: runs the tests that LIST names and
                                prints a JSON object a line for each of them
    compare.py compare A B      on the host: A and B are the outputs of `run` on
                                ib_uverbs and on shverbs; prints a JSON object a
                                line for each test, as scripts/report reads it

What passes on ib_uverbs must pass on shverbs.  Each test class runs in a process of
its own: some classes crash libibverbs on rxe, on ib_uverbs as well.  A test whose
process crashes or hangs counts as such, and the rest of its class is run afresh.

LIST has one MODULE, MODULE.CLASS or MODULE.CLASS.TEST a line; # starts a comment.
"""

import importlib
import json
import os
import subprocess
import sys
import unittest

TESTS = '/usr/share/doc/rdma-core/tests'
CLASS_TIMEOUT = 240
MARK = 'shverbs-pyverbs '


def emit(**record):
    """Prints a record; the tests themselves print to standard output as well."""
    print('\n' + MARK + json.dumps(record), flush=True)


def records(text):
    """The records among other output."""
    for line in text.splitlines():
        if line.startswith(MARK):
            yield json.loads(line[len(MARK):])


class Result(unittest.TestResult):
    """Tells of each test as it starts and as it ends."""

    def startTest(self, test):
        super().startTest(test)
        self.outcome = ('pass', '')
        emit(test=test.id(), outcome='start')

    def stopTest(self, test):
        super().stopTest(test)
        emit(test=test.id(), outcome=self.outcome[0], detail=self.outcome[1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcome = ('skip', reason)
        if not hasattr(test, '_testMethodName'):
            emit(test=test.id(), outcome='skip', detail=reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.outcome = ('fail', self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self.outcome = ('error', self._exc_info_to_string(err, test))
        if not hasattr(test, '_testMethodName'):    # setUpClass and its like
            emit(test=test.id(), outcome='error', detail=self.outcome[1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.outcome = ('fail', self._exc_info_to_string(err, test))


def load():
    """Makes rdma-core's tests importable, as its own run_tests.py does."""
    sys.path[:0] = [TESTS, os.path.dirname(TESTS)]
    sys.argv[1:] = []
    args_parser = importlib.import_module('args_parser')
    args_parser.parser.parse_args()


def classes(module):
    """The test classes that a module defines."""
    namespace = importlib.import_module('tests.' + module)
    return [name for name, item in vars(namespace).items()
            if isinstance(item, type) and issubclass(item, unittest.TestCase)
            and item.__module__ == namespace.__name__]


def run_class(name, done):
    """In a process of its own: the tests of a class that are not in `done`."""
    load()
    suite = unittest.TestSuite(
        test for test in unittest.defaultTestLoader.loadTestsFromName('tests.' + name)
        if test.id() not in done)
    suite.run(Result())
    emit(test=name, outcome='complete')
    sys.stdout.flush()
    # Destructors at exit are not what is tested, and crash in some versions.
    os._exit(0)


def run(path):
    load()
    with open(path, encoding='utf-8') as file:
        names = [line.split('#')[0].strip() for line in file]
    for name in filter(None, names):
        wanted = [name]
        if '.' not in name:
            wanted = [f'{name}.{cls}' for cls in classes(name)]
        for cls in wanted:
            run_in_child(cls)


def run_in_child(cls):
    done = []
    while True:
        child = subprocess.Popen([sys.executable, __file__, 'class', cls, *done],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 cwd='/tmp', start_new_session=True)
        try:
            output, _ = child.communicate(timeout=CLASS_TIMEOUT)
            how = f'exit status {child.returncode}'
        except subprocess.TimeoutExpired:
            # Tests have children of their own.
            os.killpg(child.pid, 9)
            output, _ = child.communicate()
            how = 'timeout'
        output = output.decode(errors='replace')
        current = None
        complete = False
        for record in records(output):
            if record['outcome'] == 'start':
                current = record['test']
            elif record['outcome'] == 'complete':
                complete = True
            else:
                current = None
                done.append(record['test'])
                emit(**record)
        if complete:
            return
        if current is None:
            emit(test='tests.' + cls, outcome='crash', detail=f'{how}\n{output[-4000:]}')
            return
        done.append(current)
        emit(test=current, outcome='crash', detail=f'{how}\n{output[-4000:]}')


def compare(stock_path, ours_path):
    def read(path):
        with open(path, encoding='utf-8', errors='replace') as file:
            return {r['test']: r for r in records(file.read())}
    stock, ours = read(stock_path), read(ours_path)
    missing = {'outcome': 'missing', 'detail': 'was not run: the guest ended early'}
    for test in sorted(stock.keys() | ours.keys()):
        a, b = stock.get(test, missing), ours.get(test, missing)
        if b['outcome'] == 'pass':
            # Better than ib_uverbs is as good.
            status, detail = 'pass', ''
        elif a['outcome'] == 'pass':
            status = 'fail'
            detail = f"passes on ib_uverbs, here: {b['outcome']}\n{b.get('detail', '')}"
        elif a['outcome'] == 'missing' or b['outcome'] == 'missing':
            status, detail = 'fail', f"ib_uverbs: {a['outcome']}, shverbs: {b['outcome']}"
        else:
            status = 'skip'
            last = (a.get('detail') or '').strip().splitlines()[-1:]
            detail = f"ib_uverbs: {a['outcome']}, shverbs: {b['outcome']}; {' '.join(last)}"
        print(json.dumps({'suite': 'pyverbs', 'name': test.removeprefix('tests.'),
                          'status': status, 'detail': detail}))
    if not stock:
        print(json.dumps({'suite': 'pyverbs', 'name': 'baseline', 'status': 'fail',
                          'detail': 'no test ran on ib_uverbs'}))


if __name__ == '__main__':
    command, *arguments = sys.argv[1:]
    if command == 'class':
        run_class(arguments[0], set(arguments[1:]))
    else:
        {'run': run, 'compare': compare}[command](*arguments)
