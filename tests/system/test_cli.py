"""oz0: words, --json and exit codes (INTERFACES)."""
import json
import os
import re
import subprocess

from oz0test import ledger, procs
from oz0test.node import program


def start(t, **more):
    own, own_ledger = t.rogue(name='own', oz0={'stop_timeout': '1s',
                                               'max_attempts': 1})
    shared, _ = t.rogue(name='shared', kind='plugin')
    return t.node({'own': own, 'shared': shared}, **more)


def test_call_exit_codes(t):
    node = start(t)
    node.cli('job', 'start', 'j1', check=0)

    def code(steps, *args):
        return node.cli('call', '--job', 'j1', *args, 'own.script',
                        json.dumps({'steps': steps})).returncode
    t.eq(code([{'answer': '{"content":[]}'}]), 0)
    t.eq(code([{'answer': '{"content":[],"isError":true}'}]), 1)
    t.eq(code([{'error': -32601}]), 5)
    t.eq(code([{'exit': 1}]), 6)
    t.eq(code([{'sleep': 30}], '--timeout', '1s'), 6)
    node.cli('call', check=2)
    node.cli('call', '--nonsense', 'own.echo', check=2)
    node.cli('call', 'own.echo', '{not json', check=2)
    node.cli('no-such-command', check=2)
    t.eq(subprocess.run([program('oz0'), '--socket', node.dir + '/none',
                         'status'], stderr=subprocess.DEVNULL).returncode, 7)


def test_call_canceled_is_4(t):
    node = start(t)
    node.cli('job', 'start', 'j1', check=0)
    p = subprocess.Popen([program('oz0'), '--socket', node.socket, 'call',
                          '--job', 'j1', 'own.script',
                          '{"steps":[{"until":"cancel"}]}'],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    c = node.client()
    c.subscribe(since=0)
    call = c.event('attempt_started')['call']
    node.cli('cancel', call, check=0)
    t.eq(p.wait(30), 4, p.stderr.read().decode())
    p.stdout.close()
    p.stderr.close()


def test_call_lost_node_is_7(t):
    node = start(t)
    p = subprocess.Popen([program('oz0'), '--socket', node.socket, 'call',
                          'own.script', '{"steps":[{"sleep":60}]}'],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    c = node.client()
    c.subscribe(since=0)
    c.event('attempt_started')
    node.kill9()
    t.eq(p.wait(30), 7, p.stderr.read().decode())
    p.stderr.close()
    t.reap()


def test_call_json_names(t):
    node = start(t)
    node.cli('job', 'start', 'j1', check=0)
    (r,) = node.cli_json('call', '--job', 'j1', '--activity', 'a',
                         'own.echo', '{"n":1.10}')
    t.has(r, job='j1', run=0, session=1, function='own.echo',
          state='completed', key='j1/a', attempts=1, outcome='made')
    out = node.cli('call', '--job', 'j1', 'own.echo', '{"n":1.10, "n":2}',
                   json_out=True, check=0).stdout
    assert b'{"n":1.10, "n":2}' in out, out


def test_arguments_from_stdin_and_file(t):
    node = start(t)
    out = node.cli('call', 'own.echo', '-', input=b'{"from":"stdin"}\n',
                   json_out=True, check=0).stdout
    assert b'{"from":"stdin"}' in out, out
    path = t.write('args.json', '{"from":"file"}')
    out = node.cli('call', 'own.echo', '@' + path, json_out=True,
                   check=0).stdout
    assert b'{"from":"file"}' in out, out


def test_status_shapes(t):
    node = start(t)
    node.cli('job', 'start', 'j1', '--tenant', 'acme', check=0)
    node.cli('call', '--job', 'j1', 'own.echo', check=0)
    node.cli('call', '--job', 'j1', 'shared.echo', check=0)
    (s,) = node.cli_json('status')
    t.has(s, node='n1', state='ready', slots=64, running=0, queued=0, jobs=1,
          sessions=1)
    by_tool = {x['tool']: x for x in s['servers']}
    t.has(by_tool['shared'], kind='plugin', state='ready')
    assert by_tool['shared']['pid'] > 0 and s['version']
    (j,) = node.cli_json('status', 'j1')
    t.has(j, job='j1', tenant='acme', run=0, state='RUNNING')
    t.eq(len(j['calls']), 2)
    (call,) = node.cli_json('status', j['calls'][0]['call'])
    t.has(call, state='completed')
    (listed,) = [x for x in node.cli_json('job', 'list')
                 if x.get('job') == 'j1'] or [None]
    assert listed, node.cli_json('job', 'list')
    words = node.cli('status', check=0).stdout.decode()
    assert 'ready' in words and '\033' not in words, words


def test_functions(t):
    node = start(t)
    node.cli('call', 'shared.echo', check=0)
    words = node.cli('functions', 'shared', check=0).stdout.decode()
    assert 'shared.echo' in words and 'repeatable' in words, words
    rows = node.cli_json('functions', 'shared')
    assert any('echo' in json.dumps(r) for r in rows), rows


def test_trace_words_and_json(t):
    node = start(t)
    node.cli('job', 'start', 'j1', check=0)
    node.cli('call', '--job', 'j1', 'own.echo', check=0)
    rows = node.cli_json('trace', 'j1')
    for r in rows:
        assert {'seq', 'time', 'job', 'event', 'text'} <= set(r), r
    t.eq(rows[0]['event'], 'job_started')
    words = node.cli('trace', 'j1', check=0).stdout.decode()
    t.eq(len(words.splitlines()) >= len(rows), True, words)


def test_trace_follow(t):
    node = start(t)
    node.cli('job', 'start', 'j1', check=0)
    p = subprocess.Popen([program('oz0'), '--socket', node.socket, '--json',
                          'trace', 'j1', '--follow'], stdout=subprocess.PIPE)
    t.eq(json.loads(p.stdout.readline())['event'], 'job_started')
    node.cli('call', '--job', 'j1', 'own.echo', check=0)
    node.cli('job', 'end', 'j1', check=0)
    seen = []
    for row in p.stdout:
        seen.append(json.loads(row)['event'])
        if seen[-1] == 'job_ended':
            break
    assert 'call_ended' in seen, seen
    p.terminate()
    p.wait(30)
    p.stdout.close()


def test_job_life(t):
    node = start(t)
    node.cli('job', 'start', 'j1', check=0)
    node.cli('job', 'start', 'j1', check=0)
    node.cli('job', 'end', 'j1', '--failed', check=0)
    node.wait_job('j1', 'FAILED')
    node.cli('job', 'start', 'j1', '--run', '1', check=0)
    t.eq(node.job_state('j1'), 'RUNNING')
    node.cli('job', 'cancel', 'j1', check=0)
    t.eq(node.job_state('j1'), 'CANCELED')
    node.cli('job', 'forget', 'j1', check=0)
    names = [x.get('job') for x in node.cli_json('job', 'list')]
    assert 'j1' not in names, names


def test_session_life(t):
    """A session by hand: opened with one tool and a folder of the caller's,
    closed over a running call; each end a second time is no failure."""
    folder = t.dir('work', open_to_all=True)
    if t.root:
        os.chown(folder, 65534, 65534)
    entry, path = t.rogue(name='own')
    other, _ = t.rogue(name='other')
    n = t.node({'own': entry, 'other': other})
    n.cli('job', 'start', 'j1', check=0)
    opened, = n.cli_json('session', 'open', '--tool', 'own', '--workspace',
                         folder, 'j1', '3')
    t.has(opened, job='j1', session=3, state='OPEN')
    r = n.cli('call', '--job', 'j1', '--session', '3', 'other.echo', check=3)
    assert b'opened without the tool other' in r.stderr, r.stderr
    n.cli('call', '--job', 'j1', '--session', '3', 'own.echo', check=0)
    server = [p for p in n.processes() if 'rogue.py' in p.cmdline()][0]
    was = procs.identity(server.pid)
    t.eq(os.readlink('/proc/%d/cwd' % server.pid), '/session')
    t.eq(os.stat('/proc/%d/cwd/' % server.pid).st_ino, os.stat(folder).st_ino)
    call = subprocess.Popen(
        [program('oz0'), '--socket', n.socket, 'call', '--job', 'j1',
         '--session', '3', 'own.script', '{"steps":[{"sleep":600}]}'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    procs.until(lambda: len(ledger.requests(path)) == 2, 'the request')
    r = n.cli('session', 'close', 'j1', '3', check=0)
    t.eq(r.stdout, b'j1/3 CLOSED\n')
    assert not procs.lives(was), 'it lives'
    call.communicate()
    t.eq(call.returncode, 4)
    r = n.cli('session', 'close', 'j1', '3', check=0)
    t.eq(r.stdout, b'j1/3 CLOSED already\n')
    n.cli('session', 'close', 'j1', '4', check=3)
    n.cli('reload', check=0)
    for i, words in enumerate((b'j1 COMPLETED\n', b'j1 COMPLETED already\n')):
        t.eq(n.cli('job', 'end', 'j1', check=0).stdout, words)
    t.eq(n.cli_json('job', 'cancel', 'j1'),
         [{'job': 'j1', 'state': 'COMPLETED'}])
    t.eq(os.listdir(folder), [])


def test_cli_job_ends_with_its_call(t):
    """call without --job makes cli-<random>, which ends with it."""
    node = start(t)
    (r,) = node.cli_json('call', 'own.echo')
    assert r['job'].startswith('cli-'), r
    procs.until(lambda: node.job_state(r['job']) == 'COMPLETED', 'it ends')
    procs.until(lambda: not node.find(r['job']), 'its processes are gone')


def test_config_check(t):
    good = t.write('good.json', '{"node":{"name":"x"}}')
    bad = t.write('bad.json', '{"node":{"nome":"x"}}')
    cmd = [program('oz0'), 'config', 'check']
    t.eq(subprocess.run(cmd + [good], stdout=subprocess.DEVNULL).returncode, 0)
    r = subprocess.run(cmd + [bad], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    t.eq(r.returncode, 2)
    assert b'node.nome' in r.stdout + r.stderr, r
    assert r.stderr.startswith(b'oz0d: '), r  # for people: no syslog level


COMPLETE = r"""
PATH=$1:$PATH; . "$2"; shift 2
COMP_WORDS=(oz0 "$@" --); COMP_CWORD=$(($# + 1))
_oz0; printf '%s\n' "${COMPREPLY[@]}"
"""


def test_completion_knows_every_option(t):
    """In bash as each command has them; zsh and fish name them all."""
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.path.join(here, '../../contrib/completion')
    other = [open(os.path.join(folder, f)).read() for f in ('_oz0', 'oz0.fish')]
    oz0 = program('oz0')
    text = subprocess.check_output([oz0, '--help']).decode()
    commands = [line[2:17].split() for line in
                text.split('commands:\n')[1].split('\n\n')[0].splitlines()]
    assert len(commands) > 20, commands
    for command in commands:
        said = subprocess.check_output([oz0, *command, '--help']).decode()
        options = set(re.findall(r'^  (--[a-z-]+)', said, re.M))
        given = subprocess.check_output(
            ['bash', '-c', COMPLETE, 'bash', os.path.dirname(oz0),
             folder + '/oz0.bash', *command]).decode().split()
        t.eq(options - set(given), set())
        for option in options:
            assert option in other[0], (command, option)
            assert '-l %s' % option[2:] in other[1], (command, option)


def test_no_configuration(t):
    """The file that is missing, and the ways out."""
    r = subprocess.run([program('oz0'), 'config', 'check'],
                       stderr=subprocess.PIPE,
                       env={**os.environ, 'XDG_CONFIG_HOME': t.dir('empty')})
    t.eq(r.returncode, 2)
    for words in (b'oz0.json: No such file', b'oz0.json(5)', b'-c'):
        assert words in r.stderr, r


def test_socket_from_environment(t):
    node = start(t)
    r = subprocess.run([program('oz0'), 'status'], stdout=subprocess.PIPE,
                       env={**os.environ, 'OZ0_SOCKET': node.socket})
    t.eq(r.returncode, 0)


def test_drain(t):
    node = start(t)
    node.cli('drain', check=0)
    t.eq(node.wait(), 0)
