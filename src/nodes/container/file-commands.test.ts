import assert from 'node:assert/strict'
import { test } from 'node:test'
import { execute } from '../script/command.ts'
import { createArchive, extractArchive } from './archive.ts'
import { Budget } from './budget.ts'
import { bytesOfText, textOfBytes } from './byte-text.ts'
import type { ContainerInputs } from './container-inputs.ts'

/** A container with one ConfigMap at /config and nothing else that is known. */
const INPUTS: ContainerInputs = {
  variables: () => new Map([['NAME', 'value']]),
  file: path => {
    if (path === '/config') return { content: undefined, mode: 0o777, group: 0, isDirectory: true }
    if (path === '/mounted') return { content: 'a\n', mode: 0o644, group: 0 }
    if (path === '/config/a') return { content: 'text of a\n', mode: 0o644, group: 0 }
    return path.startsWith('/config/') ? 'missing' : 'unknown'
  },
  list: path => (path === '/config' ? ['a'] : undefined),
  isReadOnly: path => path.startsWith('/config'),
}

function exec(script: string, { stdin = '' as string, files = new Map<string, string | null>() } = {}) {
  const found = execute({ command: ['sh', '-c', script], stdin, variables: new Map(), files, inputs: INPUTS, budget: new Budget() })
  if (found === 'input') return found
  const text = (isError: boolean) => found.outputs.flatMap(each => (each.isError === isError ? [each.text] : [])).join('')
  return { code: found.exitCode, out: text(false), err: text(true), files: found.files }
}

test('files are listed, copied, moved and removed, also those that other commands have written', () => {
  const { code, out, err } = exec(
    'ls /config; cp /config/a /tmp/b; mv /tmp/b /tmp/c; cat /tmp/c; ls /tmp; rm /tmp/c; cat /tmp/c; cp /tmp/c /tmp/d; touch /config/b',
  ) as any
  assert.deepEqual([code, out], [1, 'a\ntext of a\nc\n'])
  assert.equal(
    err,
    "cat: can't open '/tmp/c': No such file or directory\ncp: can't stat '/tmp/c': No such file or directory\ntouch: /config/b: Read-only file system\n",
  )
  const kept = exec('echo 1 > /tmp/x; echo 2 > /tmp/y; rm /tmp/x') as any
  assert.deepEqual([...kept.files].sort(), [
    ['/tmp/x', null],
    ['/tmp/y', '2\n'],
  ])
  assert.deepEqual((exec('cat /tmp/y; cat /tmp/x', { files: kept.files }) as any).out, '2\n')
})

test('small tools print what they print elsewhere', () => {
  for (const [script, expected] of Object.entries({
    'seq 1 3': '1\n2\n3\n',
    "printf '%s=%d\\n' a 1": 'a=1\n',
    'echo hello | base64': 'aGVsbG8K\n',
    'echo aGVsbG8K | base64 -d': 'hello\n',
    'basename /a/b; dirname /a/b': 'b\n/a\n',
    "printf 'b\\na\\nb\\n' | sort | uniq": 'a\nb\n',
    'echo x | tee /tmp/t; cat /tmp/t': 'x\nx\n',
    'echo x > /tmp/t; cat /config/a /config/none /config/a > /tmp/t; cat /tmp/t': 'text of a\ntext of a\n',
    'echo x > /tmp/t; cat /config/a /config/a >> /tmp/t; cat /tmp/t': 'x\ntext of a\ntext of a\n',
    'echo $NAME': 'value\n',
  }))
    assert.equal((exec(script) as any).out, expected, script)
})

test('a command that reads input waits for it, and one that does not is done without', () => {
  assert.equal(exec('cat', { stdin: 'unread' }), 'input')
  assert.equal((exec('echo x | cat', { stdin: 'unread' }) as any).out, 'x\n')
  assert.equal((exec('grep -c a', { stdin: 'a\nb\na\n' }) as any).out, '2\n')
})

test('a command whose result is not known fails with 126, and the script goes on', () => {
  const { code, out, err } = exec('curl localhost || echo failed $?; ls /usr') as any
  assert.deepEqual([code, out], [126, 'failed 126\n'])
  assert.equal(err.match(/not simulated/g).length, 2)
})

test('archives of text files survive a round trip, with long and foreign names', () => {
  const entries = [
    { path: 'tmp/a', text: 'x'.repeat(1000) },
    { path: `deep/${'n'.repeat(150)}`, text: 'ü' },
    { path: 'schön', text: '' },
  ]
  assert.deepEqual(extractArchive(createArchive(entries)), entries)
  const archive = (exec('tar cf - /config') as any).out
  assert.deepEqual(extractArchive(archive), [{ path: 'config/a', text: 'text of a\n' }])
  assert.equal((exec('tar -xmf - -C /tmp; cat /tmp/config/a', { stdin: archive }) as any).out, 'text of a\n')
  assert.equal((exec('tar -xmf - -C /tmp', { stdin: 'x'.repeat(1000) }) as any).err, 'tar: short read\n')
})

test('bytes that are not text survive in files, archives, pipes and output', () => {
  const bytes = Buffer.from([0, 0x62, 0xff, 0xc3, 0x28, 0xe2, 0x82, 0xac, 0x0a])
  const text = textOfBytes(bytes)
  const archive = createArchive([{ path: 'b', text }])
  assert.deepEqual(extractArchive(textOfBytes(bytesOfText(archive))), [{ path: 'b', text }])
  for (const script of [
    'tar -xmf - -C /tmp; cat /tmp/b',
    'tar -xmf - -C /tmp; cp /tmp/b /tmp/c; cat /tmp/c | cat',
    'tar -xmf - -C /tmp; base64 /tmp/b | base64 -d',
  ])
    assert.deepEqual(bytesOfText((exec(script, { stdin: archive }) as any).out), bytes, script)
})

test('a target of output is there though nothing is printed, and output is appended to what a mounted file has', () => {
  for (const [script, expected] of Object.entries({
    'cat /config/none > /tmp/f; ls /tmp': 'f\n',
    'echo x > /tmp/f; cat /config/none > /tmp/f; cat /tmp/f; echo end': 'end\n',
    'echo x > /tmp/f; cat /config/none >> /tmp/f; cat /tmp/f': 'x\n',
    ': > /tmp/f; [ -e /tmp/f ] && echo there': 'there\n',
    'echo b >> /mounted; cat /mounted': 'a\nb\n',
    'true >> /mounted; cat /mounted': 'a\n',
    'echo b > /mounted; cat /mounted': 'b\n',
    'echo x > /dev/null; ls /tmp': '',
  }))
    assert.equal((exec(script) as any).out, expected, script)
  assert.equal((exec('curl localhost > /tmp/f; cat /tmp/f') as any).code, 126)
})
