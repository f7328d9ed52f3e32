// The built command on the oldest Node that it runs on, on this one and on a new one; and the error on an older one.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, KEELSON, patient, ROOT, run, startProcess, Watching } from './kit.ts'
import { testWith } from './programs.ts'

const TITLE = 'starts, serves, stops and finds its data again'
test(`this Node ${TITLE}`, patient, t => startsAndServes(t, process.execPath))
for (const name of ['node-20.0', 'node-26'] as const) testWith(name, `${name} ${TITLE}`, patient, startsAndServes)

async function startsAndServes(t: TestContext, node: string): Promise<void> {
  const { stdout: version } = await run(node, ['--version'])
  const first = await startProcess(t, { command: [node, KEELSON] })
  const watch = await Watching.open(t, first, `${CONFIG_MAPS}?watch=true`)
  const { status, json } = await ask(first, CONFIG_MAPS, { method: 'POST', body: configMap('kept', { on: version.trim() }) })
  assert.equal(status, 201)
  assert.deepEqual((await watch.next())?.object, json)
  for (const path of ['/openapi/v3', '/openapi/v2', '/apis', '/metrics', '/readyz'])
    assert.equal((await ask(first, path)).status, 200, path)
  const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\n'
  const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' }
  const fromYaml = await ask(first, CONFIG_MAPS, { method: 'POST', headers, body: yaml })
  assert.equal(fromYaml.status, 201, fromYaml.text)
  assert.match(fromYaml.text, /^ {2}name: yaml$/m)
  assert.deepEqual(await first.stop(), { code: 0, signal: null })
  assert.equal(await watch.end(), 'clean')
  assert.equal(first.stderr(), '')
  const second = await startProcess(t, { command: [node, KEELSON], dataDir: first.dataDir })
  assert.deepEqual((await ask(second, `${CONFIG_MAPS}/kept`)).json, json)
  t.diagnostic(`ran on ${version.trim()}`)
}

testWith('node-18', 'on Node 18 one line says that 20 is needed', patient, async (_, node) => {
  const { stdout: version } = await run(node, ['--version'])
  for (const file of [KEELSON, 'bin/require-node.js']) {
    const { code, stdout, stderr } = await run(node, [file, 'serve'], { cwd: ROOT })
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(stderr, `keelson: Node 20 or newer is needed; this is ${version.trim()} (${node})\n`)
  }
})

test('npm start and npm test look at the version of Node before anything else', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const name of ['prestart', 'pretest']) assert.match(scripts[name], /^node bin\/require-node\.js && /)
})
