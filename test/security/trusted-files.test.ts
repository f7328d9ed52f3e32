// Files that are trusted because of where they are: another user of the machine must not be able to put them there.
import assert from 'node:assert/strict'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ask, keelson, launch, patient, run, serveHere, startProcess, temporaryDirectory } from '../kit.ts'
import { keelsonHere } from '../kits/command-here.ts'
import { noteNotRun } from '../programs.ts'

const NOBODY = 65534
const isRoot = process.getuid?.() === 0

/** A folder such as /tmp, where everybody has files. */
function sharedFolder(t: TestContext): string {
  const folder = join(temporaryDirectory(t), 'shared')
  mkdirSync(folder)
  chmodSync(folder, 0o1777)
  return folder
}

/** Gives a path and its content to another user, or records that only root can. */
function giveAway(t: TestContext, path: string): boolean {
  if (!isRoot) t.skip(noteNotRun('root', t.name))
  else for (const entry of ['', ...(existsInside(path) ?? [])]) chownSync(join(path, entry), NOBODY, NOBODY)
  return isRoot
}
const existsInside = (path: string) => (statSync(path).isDirectory() ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : undefined)

async function refusal(t: TestContext, ...flags: string[]): Promise<string> {
  const { exited, firstLine, stderr } = launch(t, { dataDir: join(temporaryDirectory(t), 'data'), flags })
  assert.deepEqual(await Promise.race([exited, firstLine]), { code: 1, signal: null })
  return stderr()
}

test('a data directory that another user has put into a shared folder is refused', patient, async t => {
  const folder = sharedFolder(t)
  const planted = join(folder, 'keelson-data')
  // The keys of a cluster make their holder its administrator.
  const server = await startProcess(t, { dataDir: planted })
  await server.stop()
  if (!giveAway(t, planted)) return
  // At 6256f0f1 the server started with these keys.
  assert.match(
    await refusal(t, `--data-dir=${planted}`),
    /keelson-data is not used: it belongs to another user \(uid 65534\)\. Choose another place/,
  )
  // A link that another user has put there leads to where they want.
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'))
  await run('chown', ['-h', `${NOBODY}`, join(folder, 'link')])
  assert.match(await refusal(t, `--data-dir=${join(folder, 'link')}`), /link is not used: it belongs to another user/)
})

test('a data directory, a folder of keys or a key that everybody may write to is refused, with the way out', patient, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  await (await serveHere(t, { dataDir })).stop()
  for (const path of [dataDir, join(dataDir, 'pki'), join(dataDir, 'pki/ca.pem'), join(dataDir, 'store')]) {
    const { mode } = statSync(path)
    chmodSync(path, mode | 0o002)
    // At 6256f0f1 the server started.
    const said = await refusal(t, `--data-dir=${dataDir}`)
    assert.ok(said.includes(`${path} is not used: every user may write to it`), said)
    assert.ok(said.includes(`chmod go-w ${path}\n`), said)
    chmodSync(path, mode)
  }
  await (await serveHere(t, { dataDir })).stop()
})

test('keys that others may read are closed to them, with a warning', patient, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  await (await serveHere(t, { dataDir })).stop()
  const [key, pki] = [join(dataDir, 'pki/service-accounts.pem'), join(dataDir, 'pki')]
  chmodSync(key, 0o644)
  chmodSync(pki, 0o755)
  const server = await startProcess(t, { dataDir })
  // At 6256f0f1 both stayed as they were.
  assert.deepEqual([statSync(key).mode & 0o777, statSync(pki).mode & 0o777], [0o600, 0o700])
  await server.stop()
  assert.match(server.stderr(), /other users could read the key \S+service-accounts\.pem/)
})

test(
  'what containers and CI have still works: an empty folder under umask 0, a volume of another user, and its parents',
  patient,
  async t => {
    const folder = temporaryDirectory(t)
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    chmodSync(empty, 0o777)
    const server = await startProcess(t, { dataDir: empty })
    assert.equal((await ask(server, '/readyz')).status, 200)
    assert.equal(statSync(empty).mode & 0o777, 0o700)
    await server.stop()
    assert.equal(server.stderr(), '')

    // As GitLab has its checkouts: the folder of the project is everybody's, that of the server is its own.
    const checkout = join(folder, 'checkout')
    mkdirSync(checkout)
    chmodSync(checkout, 0o777)
    const inCheckout = await startProcess(t, { dataDir: join(checkout, 'data') })
    assert.equal((await ask(inCheckout, '/readyz')).status, 200)
    await inCheckout.stop()
    assert.match(inCheckout.stderr(), /others could replace \S+, by way of \S+checkout: every user may write to it/)

    const volume = join(folder, 'volume')
    mkdirSync(volume)
    if (!giveAway(t, volume)) return
    const onVolume = await startProcess(t, { dataDir: volume })
    assert.equal((await ask(onVolume, '/readyz')).status, 200)
    await onVolume.stop()
    assert.match(onVolume.stderr(), /others could replace \S+, by way of \S+volume: it belongs to another user \(uid 65534\)/)
  },
)

test('a kubeconfig that another user has put into a shared folder is neither written nor used', patient, async t => {
  const file = join(sharedFolder(t), 'kubeconfig')
  const planted = `apiVersion: v1
kind: Config
current-context: evil
contexts: [{ name: evil, context: { cluster: evil, user: evil } }]
clusters: [{ name: evil, cluster: { server: 'https://127.0.0.1:1' } }]
users: [{ name: evil, user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: touch, args: [/tmp/evil] } } }]
`
  writeFileSync(file, planted)
  if (!giveAway(t, file)) return
  // At 6256f0f1 the context of the server was added, and the current one, whose command kubectl runs, stayed.
  assert.match(await refusal(t, `--kubeconfig=${file}`), /kubeconfig is not used: it belongs to another user/)
  assert.equal(readFileSync(file, 'utf8'), planted)
  const { code, stderr } = await keelsonHere('kubeconfig', `--kubeconfig=${file}`)
  assert.equal(code, 1)
  assert.match(stderr, /kubeconfig is not used: it belongs to another user/)
})

test('a kubeconfig in a shared folder is for its owner alone, and leaves no draft beside it', patient, async t => {
  const folder = sharedFolder(t)
  const server = await startProcess(t, { flags: [`--kubeconfig=${join(folder, 'kubeconfig')}`] })
  await server.stop()
  assert.deepEqual(readdirSync(folder), ['kubeconfig'])
  assert.equal(statSync(join(folder, 'kubeconfig')).mode & 0o777, 0o600)
})

test('programs for harnesses are not put where others could change them', patient, async t => {
  const folder = join(sharedFolder(t), 'assets')
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  const open = await keelsonHere('envtest', '--dir', folder)
  // At 6256f0f1 they were put there.
  assert.deepEqual([open.code, open.stdout, readdirSync(folder)], [1, '', []])
  assert.match(open.stderr, /assets is not used: every user may write to it/)
  chmodSync(folder, 0o755)
  assert.equal((await keelson('envtest', '--dir', folder)).code, 0)
  if (!giveAway(t, folder)) return
  assert.match((await keelsonHere('envtest', '--dir', folder)).stderr, /assets is not used: it belongs to another user/)
})

test('keelson run keeps its server in a folder of its own', patient, async t => {
  const folder = temporaryDirectory(t)
  const { stdout } = await keelson(
    'run',
    '--nodes=0',
    '--',
    'sh',
    '-c',
    `stat -c '%a %n' "$(dirname "$KUBECONFIG")" "$KUBECONFIG" > ${folder}/seen; cat ${folder}/seen`,
  )
  assert.match(stdout, /^700 \S*keelson-run-\w+\n600 \S*\/admin\.kubeconfig\n$/)
  assert.ok(existsSync(join(folder, 'seen')))
})
