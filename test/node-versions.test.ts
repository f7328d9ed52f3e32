// The built command on other versions of Node: paths in KEELSON_NODES, separated as PATH is. Without it, on this one.
import assert from 'node:assert/strict'
import { delimiter } from 'node:path'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, KEELSON, patient, run, startProcess, Watching } from './kit.ts'

const nodes = (process.env['KEELSON_NODES'] ?? '').split(delimiter).filter(path => path !== '')
const tried = nodes.length === 0 ? [process.execPath] : nodes

for (const node of tried)
  test(`${node} starts, serves, stops and finds its data again`, patient, async t => {
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
  })

test('at least one Node was tried', t => {
  assert.notEqual(tried.length, 0)
  t.diagnostic(
    `${tried.length} ${tried.length === 1 ? 'Node' : 'Nodes'} tried${nodes.length === 0 ? ': only this one; name others in KEELSON_NODES' : ''}`,
  )
})
