// keelson record and replay: a run is kept in a file, and a server is brought to any moment of it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { eventually, KEELSON, keelson, patient, ROOT, run, temporaryDirectory } from './kit.ts'
import { commandLines } from './kits/command-here.ts'

const SEND = [process.execPath, join(ROOT, 'test/explore/send.mjs')]
const MAPS = '/api/v1/namespaces/default/configmaps'
const STILL = ['--controllers=none', '--nodes=0', '--log-level=silent']

test('a recorded run can be looked at and continued at every revision', patient, async t => {
  const file = join(temporaryDirectory(t), 'run.recording')
  const recorded = await keelson(
    'record',
    file,
    ...STILL,
    '--',
    ...SEND,
    'POST /keelson/v1/clock {"frozen": true}',
    `POST ${MAPS} {"metadata": {"name": "a"}, "data": {"step": "1"}}`,
    `PATCH ${MAPS}/a {"data": {"step": "2"}}`,
    'POST /keelson/v1/faults {"verb": "update", "resource": "configmaps", "status": 409}',
    `DELETE ${MAPS}/a`,
    `GET ${MAPS}/a`,
  )
  // The exit code is that of the command, whose last request found nothing.
  assert.equal(recorded.code, 1, recorded.stderr)
  assert.match(recorded.stderr, /recorded revisions \d+ to \d+ and 6 requests in /)
  assert.equal(statSync(file).mode & 0o777, 0o600)

  const listed = await keelson('replay', file, '--list')
  assert.equal(listed.code, 0, listed.stderr)
  const revisionOf = (event: string) => new RegExp(`^ *(\\d+) +\\S+ +${event} ConfigMap default/a$`, 'm').exec(listed.stdout)?.[1]
  const revisions = ['added', 'updated', 'deleted'].map(event => Number(revisionOf(event)))
  assert.ok(revisions[0]! > 0 && revisions[0]! < revisions[1]! && revisions[1]! < revisions[2]!, listed.stdout)
  assert.match(listed.stdout, /faults: \[\{"verb":"update","resource":"configmaps","status":409\}\], seed 1/)
  assert.match(listed.stdout, /DELETE \/api\/v1\/namespaces\/default\/configmaps\/a: 200/)
  assert.match(listed.stdout, /the command exited with 1/)

  const between = await keelson(
    'replay',
    file,
    '--to',
    String(revisions[1]),
    '--',
    ...SEND,
    `GET ${MAPS}/a`,
    'GET /keelson/v1/clock',
    `PUT ${MAPS}/a {"metadata": {"name": "a"}}`,
  )
  const [object = '', clock = '', refused = ''] = between.stdout.split('\n')
  assert.equal(JSON.parse(object.slice(4)).data.step, '2')
  // Time stands still, and the fault came before the next revision.
  assert.deepEqual(JSON.parse(clock.slice(4)).frozen, true)
  assert.ok(listed.stdout.includes(`${JSON.parse(clock.slice(4)).time}  updated ConfigMap default/a`), `${clock}\n${listed.stdout}`)
  assert.match(refused, /^409 /)

  const last = await keelson(
    'replay',
    file,
    '--',
    ...SEND,
    `GET ${MAPS}/a`,
    `POST ${MAPS} {"metadata": {"name": "b"}}`,
    `PUT ${MAPS}/b {"metadata": {"name": "b"}}`,
  )
  assert.match(last.stdout, /^404 .*\n201 .*\n409 /)
})

test('a moment can be looked at until a signal comes, while its clock stands still', patient, async t => {
  const file = join(temporaryDirectory(t), 'run.recording')
  const recorded = await keelson('record', file, '--log-level=silent', '--', ...SEND, `POST ${MAPS} {"metadata": {"name": "a"}}`)
  assert.equal(recorded.code, 0, recorded.stderr)
  const child = spawn(process.execPath, [KEELSON, 'replay', file, '--log-level=silent'], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = new Promise(resolve => child.once('exit', resolve))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => (output += text))
  const [url, kubeconfig] = await eventually('the server to look at', () => {
    const [, address, path] = /at (https:\S+); no controller runs.*\nexport KUBECONFIG=(\S+)\n/.exec(output) ?? []
    return path === undefined ? undefined : [address!, path]
  })
  const env = { ...process.env, KUBECONFIG: kubeconfig, KEELSON_URL: url }
  const looked = await run(SEND[0]!, [SEND[1]!, `GET ${MAPS}/a`, 'GET /keelson/v1/clock'], { env })
  const [object, clock] = looked.stdout.split('\n').map(line => (line === '' ? undefined : JSON.parse(line.slice(4))))
  assert.equal(object.metadata.name, 'a')
  assert.equal(clock.frozen, true)
  child.kill('SIGINT')
  assert.equal(await exited, 0)
})

test('a file that cannot be replayed is refused, and says why', patient, async t => {
  const folder = temporaryDirectory(t)
  const whole = join(folder, 'whole')
  const recorded = await keelson('record', whole, ...STILL, '--', process.execPath, '--version')
  assert.equal(recorded.code, 0, recorded.stderr)
  const text = readFileSync(whole, 'utf8')
  const other = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const lines: [file: string, message: RegExp, ...flags: string[]][] = [
    [other('text', 'hello\n'), /is no recording of keelson record/],
    [other('empty', ''), /is no recording of keelson record/],
    [other('later', text.replace('"version":1', '"version":2')), /of format 2, of another version of keelson; this one reads format 1/],
    [other('cut', text.slice(0, text.length / 2)), /is not complete: its end is missing/],
    [other('changed', text.replace('"created":', '"created":1')), /is damaged: its checksum is wrong/],
    [join(folder, 'missing'), /cannot be read/],
    [whole, /has the revisions \d+ to \d+, not 999999/, '--to', '999999'],
    [whole, /--to takes a revision, a whole number, not "soon"/, '--to', 'soon'],
  ]
  const results = await commandLines([
    ...lines.map(([file, , ...flags]) => ['replay', file, ...flags]),
    ['replay'],
    ['record', whole],
    ['record'],
  ])
  for (const [i, [file, message]] of lines.entries()) {
    assert.match(results[i]!.stderr, message, file)
    assert.notEqual(results[i]!.code, 0)
  }
  for (const { code, stderr } of results.slice(lines.length)) assert.equal(code, 2, stderr)
})
