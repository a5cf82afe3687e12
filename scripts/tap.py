#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Reads test results from logs; prints them as JSON objects, one a line.

    tap.py kselftest SUITE LOG    the output of run-kselftests (TAP of programs)
    tap.py tap SUITE LOG          TAP, of one program
    tap.py kunit SUITE LOG        a kernel's console (KTAP of KUnit suites)
    tap.py cargo SUITE LOG        the output of cargo test

What is missing is a failure: a test that was announced and has no result, a
program without results, a program that was begun and did not end.
"""

import json
import re
import sys

RESULT = re.compile(r'^(\s*)(not )?ok (\d+)\b\s*-?\s*(.*)$')
PLAN = re.compile(r'^1\.\.(\d+)\b')
STAMP = re.compile(r'^(<\d>)?\[\s*\d+\.\d+\](\[[^]]*\])? ?')


def emit(suite, name, status, detail=''):
    print(json.dumps({'suite': suite, 'name': name, 'status': status,
                      'detail': detail.strip('\n')}))


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return [line.rstrip('\r\n') for line in file]


def outcome(failed, description):
    """Status, name and directive of a result line."""
    name, _, directive = description.partition('#')
    directive = directive.strip()
    if directive.upper().startswith(('SKIP', 'TODO', 'XFAIL')):
        # "not ok # SKIP" is what some programs say.
        return 'skip', name.strip(), directive
    return ('fail' if failed else 'pass'), name.strip(), directive


def program(suite, title, lines, exit_status):
    """One program's TAP."""
    planned = None
    seen = failed = 0
    since = []
    prefix = title + ':' if title else ''
    for line in lines:
        plan = PLAN.match(line)
        result = RESULT.match(line)
        if plan:
            planned = int(plan.group(1))
        elif result and not result.group(1):
            seen += 1
            status, name, directive = outcome(result.group(2), result.group(4))
            failed += status == 'fail'
            detail = '\n'.join(since + [directive]) if status == 'fail' else directive
            emit(suite, prefix + name, status, detail)
            since = []
            continue
        since.append(line)
    tail = '\n'.join(since[-30:])
    if seen == 0 and exit_status == 4:
        emit(suite, title or suite, 'skip', tail)
    elif planned == 0 and exit_status in (0, 4):
        emit(suite, title or suite, 'skip', tail)
    elif planned is None or seen < planned:
        emit(suite, f'{prefix}complete', 'fail',
             f'{seen} results of {planned} tests, exit status {exit_status}\n{tail}')
    elif exit_status not in (0, 4) and not failed:
        emit(suite, f'{prefix}exit', 'fail', f'exit status {exit_status}\n{tail}')


def kselftest(suite, path):
    title, lines, found = None, [], False
    for line in read(path):
        words = line.split()
        if words[:1] == ['shverbs-begin'] and len(words) == 2:
            title, lines, found = words[1], [], True
        elif words[:1] == ['shverbs-end'] and len(words) == 3 and title:
            program(suite, title, lines, int(words[2]))
            title = None
        elif title:
            lines.append(line)
    if title:
        program(suite, title, lines, 'unknown: the guest ended in it')
        emit(suite, f'{title}:end', 'fail', 'the guest ended in this program\n' + '\n'.join(lines[-30:]))
    if not found:
        emit(suite, 'programs', 'fail', 'no test program ran')


def kunit(suite, path):
    """KTAP nests by four spaces; the cases of a suite are one level in."""
    name, since, found = None, [], False
    planned = seen = 0

    def finish():
        if name is not None and seen != planned:
            emit(suite, f'{name}:complete', 'fail', f'{seen} results of {planned}')

    for raw in read(path):
        line = STAMP.sub('', raw)
        if line.startswith('    # Subtest: '):
            finish()
            name, since, planned, seen = line.split(': ', 1)[1].strip(), [], 0, 0
            found = True
            continue
        if name is None:
            continue
        if re.match(r'^    1\.\.\d+$', line):
            planned = int(line.strip()[3:])
        result = RESULT.match(line)
        if result and len(result.group(1)) == 4:
            seen += 1
            status, case, directive = outcome(result.group(2), result.group(4))
            emit(suite, f'{name}:{case}', status, '\n'.join(since + [directive]) if status == 'fail' else directive)
            since = []
        elif result and not result.group(1):
            finish()
            name = None
        else:
            since.append(line)
    finish()
    if not found:
        emit(suite, 'suites', 'fail', 'no KUnit suite ran')


def tap(suite, path):
    program(suite, '', read(path), 0)


def cargo(suite, path):
    """Lines `test NAME ... ok`, under the number of tests of each binary."""
    crate, planned, seen, found = 'tests', 0, 0, False

    def finish():
        if seen != planned:
            emit(suite, f'{crate}:complete', 'fail', f'{seen} results of {planned}')

    for line in read(path):
        binary = re.match(r'^ +(?:Running .*/deps/|Doc-tests )([a-z0-9_]+)', line)
        count = re.match(r'^running (\d+) tests?$', line)
        result = re.match(r'^test (.+) \.\.\. (ok|FAILED|ignored)', line)
        if binary:
            finish()
            crate, planned, seen = binary.group(1), 0, 0
        elif count:
            planned = int(count.group(1))
        elif result:
            seen, found = seen + 1, True
            status = {'ok': 'pass', 'FAILED': 'fail', 'ignored': 'skip'}[result.group(2)]
            emit(suite, f'{crate}:{result.group(1)}', status, line)
    finish()
    if not found:
        emit(suite, 'tests', 'fail', 'no test ran\n' + '\n'.join(read(path)[-30:]))


if __name__ == '__main__':
    {'kselftest': kselftest, 'tap': tap, 'kunit': kunit, 'cargo': cargo}[sys.argv[1]](*sys.argv[2:])
