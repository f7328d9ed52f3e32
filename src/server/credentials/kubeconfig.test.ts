import assert from 'node:assert/strict'
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KubeConfig } from '@kubernetes/client-node'
import { ConfigError } from '../config.ts'
import { kubeconfigText, writeKubeconfig } from './kubeconfig.ts'

const ACCESS = { server: 'https://127.0.0.1:6443', ca: 'the ca', cert: 'the cert', key: 'the key' }

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'keelson-kubeconfig-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function read(text: string): KubeConfig {
  const config = new KubeConfig()
  config.loadFromString(text)
  return config
}

const OTHERS = `# my clusters
apiVersion: v1
kind: Config
preferences: {}
current-context: work
clusters:
- name: work
  cluster: { server: "https://work.example" } # do not touch
contexts:
- name: work
  context: { cluster: work, user: me, namespace: team }
users:
- name: me
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: login
      args: ["--long", "${'x'.repeat(200)}"]
`

test('a file that is not there is written, for its owner alone, and clients read it', async t => {
  const file = join(folder(t), 'config')
  await writeKubeconfig(file, ACCESS)
  assert.equal(readFileSync(file, 'utf8'), kubeconfigText(ACCESS))
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const config = read(readFileSync(file, 'utf8'))
  assert.equal(config.getCurrentCluster()?.server, ACCESS.server)
  assert.equal(Buffer.from(config.getCurrentCluster()?.caData ?? '', 'base64').toString(), ACCESS.ca)
  assert.equal(Buffer.from(config.getCurrentUser()?.certData ?? '', 'base64').toString(), ACCESS.cert)
  assert.equal(Buffer.from(config.getCurrentUser()?.keyData ?? '', 'base64').toString(), ACCESS.key)
})

test('contexts of other clusters stay, with the current one and other settings', async t => {
  const file = join(folder(t), 'config')
  writeFileSync(file, OTHERS, { mode: 0o644 })
  await writeKubeconfig(file, ACCESS)
  await writeKubeconfig(file, { ...ACCESS, server: 'https://127.0.0.1:7443' })
  const text = readFileSync(file, 'utf8')
  for (const line of ['# my clusters', '# do not touch', 'preferences: {}', `"${'x'.repeat(200)}"`]) assert.ok(text.includes(line), line)
  const config = read(text)
  assert.equal(config.getCurrentContext(), 'work')
  assert.deepEqual(
    config.getContexts().map(({ name }) => name),
    ['work', 'keelson'],
  )
  assert.equal(config.getContextObject('work')?.namespace, 'team')
  assert.equal(config.getUser('me')?.exec.command, 'login')
  assert.equal(config.getCluster('work')?.server, 'https://work.example')
  assert.equal(config.getCluster('keelson')?.server, 'https://127.0.0.1:7443')
  assert.equal(config.getContextObject('keelson')?.user, 'keelson')
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('a file without clusters gets them, and the context becomes the current one', async t => {
  const file = join(folder(t), 'config')
  for (const text of ['', '\n', 'apiVersion: v1\nkind: Config\nclusters: null\nusers: []\n', '{"kind":"Config","apiVersion":"v1"}']) {
    writeFileSync(file, text)
    await writeKubeconfig(file, ACCESS)
    const config = read(readFileSync(file, 'utf8'))
    assert.equal(config.getCurrentContext(), 'keelson')
    assert.equal(config.getCurrentCluster()?.server, ACCESS.server)
  }
})

test('a file that is no kubeconfig is left as it is, with the reason', async t => {
  const directory = folder(t)
  const file = join(directory, 'config')
  for (const text of [
    'a: [',
    'just text',
    '- a\n- b\n',
    'kind: Pod\n',
    'clusters: {}\n',
    'kind: Config\n---\nkind: Config\n',
    'a: 1\na: 2\n',
  ]) {
    writeFileSync(file, text)
    await assert.rejects(writeKubeconfig(file, ACCESS), (error: Error) => {
      assert.ok(error instanceof ConfigError)
      assert.ok(error.message.startsWith(`${file} is not a kubeconfig that a context can be added to (`), error.message)
      return true
    })
    assert.equal(readFileSync(file, 'utf8'), text)
  }
  mkdirSync(join(directory, 'folder'))
  await assert.rejects(writeKubeconfig(join(directory, 'folder'), ACCESS), /folder is no file, and was left as it is/)
  assert.deepEqual(readdirSync(directory), ['config', 'folder'])
})

test('a link to a kubeconfig stays a link', async t => {
  const directory = folder(t)
  writeFileSync(join(directory, 'real'), OTHERS)
  symlinkSync(join(directory, 'real'), join(directory, 'config'))
  await writeKubeconfig(join(directory, 'config'), ACCESS)
  assert.ok(lstatSync(join(directory, 'config')).isSymbolicLink())
  assert.equal(read(readFileSync(join(directory, 'real'), 'utf8')).getContexts().length, 2)
})

test('what is no file is left as it is', async t => {
  for (const target of [folder(t), '/dev/null'])
    await assert.rejects(writeKubeconfig(target, ACCESS), /is no file, and was left as it is: a kubeconfig cannot be written there/)
  assert.ok(statSync('/dev/null').isCharacterDevice())
})
