// The single executable: built here once, and used as by people without Node.
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, CONFIG_MAPS, configMap, eventually, patient, ROOT, run, startProcess, temporaryDirectory } from './kit.ts'
import { noteNotRun, programsNamed, testWith } from './programs.ts'

testWith('a Node that becomes an executable', 'the single executable', { timeout: 2 * patient.timeout }, async (t, node) => {
  const folder = temporaryDirectory(t)
  const program = join(folder, 'keelson')
  const built = await run(node, ['scripts/build-executable.mjs', program], { cwd: ROOT, env: process.env })
  assert.equal(built.code, 0, built.stderr)
  // Nothing of Node, and caches of its own.
  const env = { HOME: folder, XDG_CACHE_HOME: join(folder, 'cache'), PATH: '/nowhere', TMPDIR: folder }
  const keelson = (...args: string[]) => run(program, args, { cwd: folder, env })

  await t.test('says its version, and knows every command', async () => {
    assert.match((await keelson('version')).stdout, /^keelson \d+\.\d+\.\d+\S* \(Kubernetes 1\.37\)\n$/)
    assert.match((await keelson('help')).stdout, /^ +keelson rbac-report/m)
    const wrong = await keelson('srve')
    assert.deepEqual([wrong.code, wrong.stdout], [2, ''])
  })

  await t.test('serves, keeps its data through kill -9, and saves a snapshot', async t => {
    const server = await startProcess(t, { command: [program], cwd: folder, env })
    assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('kept') })).status, 201)
    // Worker threads, compressed files of the console, and another encoding.
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' }
    const yaml = await ask(server, CONFIG_MAPS, { method: 'POST', headers, body: 'metadata: { name: from-yaml }\n' })
    assert.match(yaml.text, /^ {2}name: from-yaml$/m)
    const page = await ask(server, '/console/')
    assert.match(page.text, /<html/)
    const [script = ''] = /\/console\/assets\/main-\w+\.js/.exec(page.text) ?? []
    assert.equal((await ask(server, script)).status, 200)
    await server.stop('SIGKILL')

    const again = await startProcess(t, { command: [program], cwd: folder, env, dataDir: server.dataDir })
    assert.equal((await ask(again, `${CONFIG_MAPS}/kept`)).status, 200)
    const saved = await run(program, ['snapshot', 'save', 'saved', '--data-dir', again.dataDir], { cwd: folder, env })
    assert.equal(saved.code, 0, saved.stderr)
    assert.equal((await run(program, ['snapshot', 'status', 'saved'], { cwd: folder, env })).code, 0)
    assert.deepEqual(await again.stop(), { code: 0, signal: null })
  })

  await t.test('ends local processes when it is killed', async t => {
    const flags = ['--nodes', '1', '--local-image', 'sleeper=/bin/sleep']
    const server = await startProcess(t, { command: [program], cwd: folder, env, flags })
    const pods = '/api/v1/namespaces/default/pods'
    // Kubernetes makes one dollar sign of two.
    const command = ['/bin/sh', '-c', 'echo pid $$$$; exec /bin/sleep 3600']
    const body = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'sleeper', command }] } }
    assert.equal((await ask(server, pods, { method: 'POST', body })).status, 201)
    const pid = await eventually('the process', async () => /pid (\d+)/.exec((await ask(server, `${pods}/p/log`)).text)?.[1])
    await server.stop('SIGKILL')
    await eventually('its end', () => (existsSync(`/proc/${pid}/exe`) ? undefined : true))
  })

  // One client is enough: all start the command that KEELSON names, and test/clients.test.ts runs each of them.
  const [pytest] = programsNamed('pytest')
  const overClient = 'is started by the client for Python'
  if (pytest === undefined) noteNotRun('pytest', overClient)
  else
    await t.test(overClient, async () => {
      const cwd = join(folder, 'python')
      cpSync(join(ROOT, 'clients/python'), cwd, { recursive: true })
      const args = ['-p', 'keelson_testing.pytest_plugin', '-p', 'no:cacheprovider', '-q']
      const named = { ...process.env, ...env, PATH: process.env['PATH'], HOME: process.env['HOME'], KEELSON: program, PYTHONPATH: cwd }
      const { code, stdout, stderr } = await run(pytest, args, { cwd, env: named })
      assert.equal(code, 0, stdout + stderr)
      assert.match(stdout, /^6 passed/m)
    })

  await t.test('gives a command a server of its own, and itself to move its clock', async () => {
    const script = '"$0" clock advance 1h && echo "$KEELSON_URL"'
    const { code, stdout, stderr } = await keelson('run', '--nodes=0', '--', '/bin/sh', '-c', script, program)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^\d{4}-.*Z\nhttps:\/\/127\.0\.0\.1:\d+\n$/)
  })

  await t.test('serves with several processes, which are the same executable', async t => {
    const server = await startProcess(t, { command: [program], cwd: folder, env, flags: ['--processes=2'] })
    assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('of-two') })).status, 201)
    const children = await eventually('both run', () => {
      const pids = readFileSync(`/proc/${server.child.pid}/task/${server.child.pid}/children`, 'utf8').trim().split(' ')
      return pids.length === 2 ? pids : undefined
    })
    for (const child of children) assert.equal(readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')[0], program)
    assert.deepEqual(await server.stop(), { code: 0, signal: null })
  })

  await t.test('runs the programs that end processes with the server', async () => {
    const script = "const { basename } = require('node:path'); console.log(basename(process.argv[1]), process.argv.length)"
    assert.equal((await keelson('evaluate-program', script, '/a/b')).stdout, 'b 2\n')
  })

  await t.test('gives harnesses their programs', async () => {
    const { stdout } = await keelson('envtest')
    for (const [name, version] of Object.entries({ 'kube-apiserver': /^Kubernetes v1\.37\./, etcd: /^etcd Version: / }))
      assert.match((await run(join(stdout.trim(), name), ['--version'], { cwd: folder, env })).stdout, version)
  })

  await t.test('writes its native code again if it is damaged, and loads it without a folder for caches', async () => {
    const caches = join(folder, 'cache/keelson/executable')
    const [addon = ''] = readdirSync(caches)
    const before = readFileSync(join(caches, addon))
    writeFileSync(join(caches, addon), 'damaged')
    const start = (env: NodeJS.ProcessEnv) =>
      run(program, ['run', '--store=embedded', '--nodes=0', '--', '/bin/true'], { cwd: folder, env })
    assert.equal((await start(env)).code, 0)
    assert.deepEqual(readdirSync(caches), [addon])
    assert.ok(readFileSync(join(caches, addon)).equals(before))
    const elsewhere = join(folder, 'temporary')
    mkdirSync(elsewhere)
    const { code, stderr } = await start({ ...env, XDG_CACHE_HOME: join(program, 'none'), TMPDIR: elsewhere })
    assert.equal(code, 0, stderr)
    assert.deepEqual(readdirSync(elsewhere), [])
  })
})
