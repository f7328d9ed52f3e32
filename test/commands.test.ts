// Commands beside serve, as users run them: from a shell, with kubectl and with signals.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { parse } from 'yaml'
import { ask, eventually, KEELSON, keelson, patient, run, serveHere, targetOf, temporaryDirectory } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { testWith } from './programs.ts'

const MANIFEST = `# what a team starts with
---
apiVersion: example.com/v1
kind: Widget
metadata: { name: one, namespace: team }
spec: { size: 3 }
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  names: { plural: widgets, kind: Widget }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
---
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: Namespace, metadata: { name: team } }
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: settings }, data: { mode: fast } }
`

const leftovers = () => readdirSync(tmpdir()).filter(name => name.startsWith('keelson-run-'))

testWith('kubectl', 'run gives a command a server of its own and ends with its exit code', patient, async (t, kubectl) => {
  const folder = temporaryDirectory(t)
  writeFileSync(join(folder, 'team.yaml'), MANIFEST)
  const script = `${kubectl} get widgets one -n team -o jsonpath={.spec.size} && ${kubectl} get configmap settings -o jsonpath={.data.mode} && exit 7`
  const before = leftovers()
  const { code, stdout, stderr } = await keelson('run', '--nodes=0', '--apply', folder, '--', 'sh', '-c', script)
  assert.deepEqual([code, stdout, stderr], [7, '3fast', ''])
  assert.deepEqual(leftovers(), before)
})

test('run names the mistake: no command, a command that is not there, manifests that cannot be applied', patient, async t => {
  const folder = temporaryDirectory(t)
  assert.deepEqual(await keelson('run', '--nodes=0').then(r => [r.code, r.stderr]), [
    2,
    'keelson: no command; write it after two dashes: keelson run -- go test ./...\n',
  ])
  const missing = await keelson('run', '--', 'no-such-program-here')
  assert.deepEqual([missing.code, missing.stderr], [1, 'keelson: no-such-program-here is not on the PATH\n'])
  writeFileSync(join(folder, 'a.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: "Not Valid" }\n')
  const refused = await keelson('run', `--apply=${folder}`, '--', 'true')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^keelson: .*a\.yaml: ConfigMap Not Valid: .*is invalid: metadata\.name: Invalid value/)
  const nowhere = await keelson('run', '--apply=/no/such/file.yaml', '--', 'true')
  assert.match(nowhere.stderr, /^keelson: \/no\/such\/file\.yaml: ENOENT/)
  writeFileSync(join(folder, 'a.yaml'), 'apiVersion: example.com/v1\nkind: Widget\nmetadata: { name: a }\n')
  const unknown = await keelson('run', `--apply=${folder}`, '--', 'true')
  assert.match(unknown.stderr, /Widget a: no kind Widget is served in example\.com\/v1\n$/)
})

test('run passes signals on and leaves nothing behind', patient, async t => {
  const before = leftovers()
  const child = spawn(process.execPath, [KEELSON, 'run', '--nodes=0', '--', 'sh', '-c', 'echo $KUBECONFIG; exec sleep 100'])
  t.after(() => child.kill('SIGKILL'))
  const file = await new Promise<string>(resolve => createInterface(child.stdout).once('line', resolve))
  assert.ok(existsSync(file))
  child.kill('SIGTERM')
  const code = await new Promise(resolve => child.once('exit', resolve))
  assert.equal(code, 143)
  assert.deepEqual(leftovers(), before)
})

test('serve prints its address as JSON, applies manifests, and ends with its parent process', patient, async t => {
  const folder = temporaryDirectory(t)
  mkdirSync(join(folder, 'manifests'))
  writeFileSync(join(folder, 'manifests/team.yaml'), MANIFEST)
  const flags = `serve --data-dir ${folder}/data --secure-port 0 --nodes 0 --apply ${folder}/manifests --output json --exit-with-parent`
  const shell = spawn('sh', ['-c', `${process.execPath} ${KEELSON} ${flags}; exit`], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => shell.kill('SIGKILL'))
  const line = await new Promise<string>(resolve => createInterface(shell.stdout).once('line', resolve))
  const { url, kubeconfig, ca, pid } = JSON.parse(line)
  t.after(() => kill(pid))
  assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/)
  assert.equal(kubeconfig, join(folder, 'data/admin.kubeconfig'))
  assert.match(ca, /^-----BEGIN CERTIFICATE-----/)
  shell.kill('SIGKILL')
  await eventually('the end of the server', () => (isAlive(pid) ? undefined : true))
})

testWith('kubectl', 'keelson kubectl finds the server of a data directory', patient, async (t, kubectl) => {
  const server = await serveHere(t)
  const env = { ...process.env, PATH: `${join(kubectl, '..')}:${process.env['PATH']}` }
  const { stdout, code } = await run(
    process.execPath,
    [KEELSON, 'kubectl', '--data-dir', server.dataDir, 'get', 'namespaces', 'default', '-o', 'name'],
    { env },
  )
  assert.deepEqual([code, stdout], [0, 'namespace/default\n'])
  const nowhere = await run(process.execPath, [KEELSON, 'kubectl', 'get', 'pods'], { env, cwd: temporaryDirectory(t) })
  assert.match(nowhere.stderr, /^keelson: .*admin\.kubeconfig does not exist; it is written when a server starts/)
})

test('history shows every revision of an object with its changes and its user', patient, async t => {
  let server = await serveHere(t)
  const maps = '/api/v1/namespaces/default/configmaps'
  const asJane = { 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' }
  await ask(server, maps, { method: 'POST', body: { metadata: { name: 'a' }, data: { mode: 'slow', size: '1' } } })
  const patch = (data: object, manager: string) =>
    ask(server, `${maps}/a?fieldManager=${manager}`, {
      method: 'PATCH',
      body: { data },
      headers: { 'content-type': 'application/merge-patch+json', ...asJane },
    })
  await patch({ mode: 'fast' }, 'jane')
  await patch({ size: '2' }, 'joe')
  const sectionsOf = async (note: RegExp) => {
    const { code, stdout, stderr } = await keelson('history', 'cm/a', '--data-dir', server.dataDir)
    assert.equal(code, 0)
    assert.match(stderr, note)
    return stdout.split('\n\n').map(text => text.trimEnd().split('\n'))
  }
  const sections = await sectionsOf(/^$/)
  assert.match(sections[0]![0]!, /^revision \d+ {2}joe Update {2}by jane {2}\d{4}-[\dT:-]+Z$/)
  assert.deepEqual(
    sections.slice(0, 2).map(([, ...lines]) => lines.filter(line => /^[+-]/.test(line))),
    [
      ['-   size: "1"', '+   size: "2"'],
      ['-   mode: slow', '+   mode: fast'],
    ],
  )
  assert.match(sections[2]![0]!, /^revision \d+, created {2}.* {2}by kubernetes-admin {2}\d{4}-/)
  const { revision } = /^revision (?<revision>\d+)/.exec(sections[0]![0]!)!.groups!
  const writes = (revisions: string | undefined, headers = {}) => ask(server, `/keelson/writes?revisions=${revisions}`, { headers })
  assert.equal((await writes(revision)).json.writes[revision!].user, 'jane')
  assert.equal((await writes(revision, { 'impersonate-user': 'jane' })).status, 403)
  for (const wrong of ['', '0', '1,', 'x', '1'.repeat(20), new Array(1001).fill(1).join()]) assert.equal((await writes(wrong)).status, 400)
  assert.equal((await ask(server, '/keelson/writes?revisions=1', { method: 'POST', body: {} })).status, 405)
  const none = await keelsonHere('history', 'configmap/none', '--data-dir', server.dataDir)
  assert.deepEqual([none.code, none.stderr], [1, "keelson: ConfigMap none does not exist, and is not in the server's history\n"])
  assert.match((await keelsonHere('history', 'nonsense/a', '--data-dir', server.dataDir)).stderr, /no resource called nonsense/)
  await server.stop()
  server = await serveHere(t, { dataDir: server.dataDir })
  await patch({ size: '3' }, 'joe')
  const later = await sectionsOf(/^keelson: the users of 3 revisions are not known: a server keeps those of its own last writes/)
  assert.match(later[0]![0]!, / {2}by jane {2}/)
  assert.match(later[1]![0]!, /^revision \d+ {2}joe Update {2}user not known {2}\d{4}-/)
  assert.match((await keelsonHere('history')).stderr, /^keelson: which object\? keelson history KIND\/NAME/)
})

// At 6256f0f1 a deleted object was said not to be there, and the second of two writes within a second had no manager.
test('history tells of an object that is deleted, and of every manager however fast it writes', patient, async t => {
  const server = await serveHere(t)
  const maps = '/api/v1/namespaces/default/configmaps'
  await ask(server, `${maps}?fieldManager=maker`, { method: 'POST', body: { metadata: { name: 'a' }, data: { size: '0', mode: 'slow' } } })
  const patch = (data: object) =>
    ask(server, `${maps}/a?fieldManager=joe`, {
      method: 'PATCH',
      body: { data },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  for (const size of ['1', '2', '3', '4']) await patch({ size })
  await ask(server, `${maps}/a`, { method: 'DELETE' })
  const { code, stdout } = await keelsonHere('history', 'cm/a', '--data-dir', server.dataDir)
  assert.equal(code, 0)
  const heads = stdout.split('\n').filter(line => line.startsWith('revision '))
  assert.match(heads[0]!, /^revision \d+, deleted {2}by kubernetes-admin {2}\d{4}-/)
  for (const head of heads.slice(1, 5)) assert.match(head, /^revision \d+ {2}joe Update {2}by kubernetes-admin/)
  assert.match(heads[5]!, /^revision \d+, created {2}maker Update/)
  assert.equal(heads.length, 6)
})

test('kubeconfig prints the context of the server alone, and one for any user', patient, async t => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'config')
  // At 6256f0f1 the token was printed.
  const others = {
    clusters: [{ name: 'work', cluster: { server: 'https://work.example' } }],
    users: [{ name: 'me', user: { token: 'hunter2' } }],
  }
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'work',
      contexts: [{ name: 'work', context: { cluster: 'work', user: 'me' } }],
      ...others,
    }),
  )
  const [one, two] = await Promise.all([
    serveHere(t, { flags: ['--kubeconfig', file, '--context-name', 'one'] }),
    serveHere(t, { flags: ['--kubeconfig', join(folder, 'two'), '--context-name', 'two'] }),
  ])
  const flags = ['--kubeconfig', file, '--context-name', 'one', '--data-dir', one.dataDir]
  const printed = await keelson('kubeconfig', ...flags)
  assert.equal(printed.code, 0)
  assert.ok(!printed.stdout.includes('hunter2'))
  const { contexts, 'current-context': current } = parse(printed.stdout)
  assert.deepEqual([contexts.length, current], [1, 'one'])
  assert.equal((await ask(targetOf(printed.stdout), '/api')).status, 200)
  const bob = await keelsonHere('kubeconfig', ...flags, '--user', 'bob', '--group', 'dev,ops')
  const review = { method: 'POST', body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' } }
  const { json } = await ask(targetOf(bob.stdout), '/apis/authentication.k8s.io/v1/selfsubjectreviews', review)
  assert.deepEqual([json.status.userInfo.username, json.status.userInfo.groups], ['bob', ['dev', 'ops', 'system:authenticated']])
  assert.match(
    (await keelsonHere('kubeconfig', '--kubeconfig', file)).stderr,
    /has no context keelson that a server has written; --context-name names another/,
  )
  assert.deepEqual((await keelsonHere('kubeconfig', '--group', 'dev')).code, 2)
  assert.match(
    (await keelsonHere('kubeconfig', ...flags, '--data-dir', join(folder, 'none'), '--user', 'bob')).stderr,
    /has no certificate authority to issue a certificate for bob/,
  )
  await Promise.all([one.stop(), two.stop()])
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
function kill(pid: number): void {
  if (isAlive(pid)) process.kill(pid, 'SIGKILL')
}
