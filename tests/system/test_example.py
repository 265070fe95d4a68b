"""One example end to end: a harness, two job servers, a plugin, a cancel."""
import subprocess

from oz0test import procs, servers
from oz0test.node import program


def test_end_to_end(t):
    files = servers.filesystem()
    ts = servers.typescript()
    shared = servers.python('plugin')
    node = t.node({'files': files, 'ts': ts, 'py': shared})
    c = node.client(events=True)
    c.do('job/start', job='order-7', tenant='acme')

    # a harness that works in the session's folder until it is told to stop
    p = subprocess.Popen(
        [program('oz0'), '--socket', node.socket, 'run', '--job', 'order-7',
         '--session', '1', '--', '/bin/sh', '-c',
         'echo draft > note.txt; echo up; while :; do sleep 0.05; done'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.eq(p.stdout.readline(), b'up\n')

    # both job servers see what the session's folder holds, the plugin not
    r = c.call('order-7', 'files.read_text_file',
               {'path': '/session/note.txt'}, session=1).result()
    t.has(r, state='completed', session=1)
    t.eq(r['result']['content'][0]['text'], 'draft\n')
    r = c.call('order-7', 'ts.write_once', {'value': 3}, session=1,
               activity='pay').result()
    t.has(r, state='completed', key='order-7/pay')
    r = c.call('order-7', 'py.key', {}, activity='ask').result()
    t.has(r, state='completed')
    t.eq(r['result']['content'][0]['text'], 'order-7/ask')

    # a slow call is under way when the job is cancelled
    slow = c.call('order-7', 'ts.slow', {'steps': 600, 'ms': 100}, session=1)
    c.event('attempt_started', where=lambda e: e.get('function') in (
        None, 'ts.slow') and e['call'] not in (r['call'],))
    tree = [procs.identity(q.pid) for q in node.processes()
            if 'order-7/1' in q.cmdline()]
    for init in node.find('order-7/1 '):
        tree += [procs.identity(q.pid) for q in procs.below(init.pid)]
    assert len(tree) >= 7, tree
    plugin = c.do('node/status')['servers']
    c.send('job/cancel', job='order-7')
    c.event('job_cancelling', job='order-7')
    c.event('job_canceled', job='order-7')
    t.eq([i for i in tree if procs.lives(i)], [], 'living after CANCELED')
    t.has(slow.result(), state='canceled', stopped='server_gone')
    assert p.wait(30) != 0
    p.stdout.close()
    p.stderr.close()
    pid = {s['tool']: s.get('pid') for s in plugin}['py']
    assert procs.lives(procs.identity(pid)), 'the plugin was stopped'

    words = node.cli('trace', 'order-7', check=0).stdout.decode()
    names = [s['event'] for s in node.trace('order-7')]
    for want in ('job_started', 'session_opened', 'harness_started',
                 'server_ready', 'attempt_started', 'call_ended',
                 'job_cancelling', 'cancel_sent', 'attempt_stopped',
                 'harness_ended', 'session_closed', 'job_canceled'):
        assert want in names, (want, words)
    t.eq(names[-1], 'job_canceled', words)
