// keelson inspect: the record of an object from a directory, a snapshot and etcd.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { ask, CONFIG_MAPS, configMap, keelson, patient, type Scope, serveHere, temporaryDirectory } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { damageData } from './kits/damage.ts'
import { startEtcd } from './kits/etcd.ts'
import { testWith } from './programs.ts'

async function withObject(t: Scope, flags: readonly string[] = []) {
  const server = await serveHere(t, { flags })
  const made = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a', { text: 'hello there' }) })
  assert.equal(made.status, 201)
  return { server, made: made.json }
}

test('a record is found by its keys and by the name of its object, in a directory and in a snapshot', patient, async t => {
  const { server, made } = await withObject(t)
  const file = join(temporaryDirectory(t), 'snapshot')
  await keelsonHere('snapshot', 'save', file, '--data-dir', server.dataDir)
  const inUse = await keelson('inspect', 'cm/default/a', '--data-dir', server.dataDir)
  assert.equal(inUse.code, 1)
  assert.match(inUse.stderr, /process \d+ has the store in .* open: ask its server for a snapshot and read that/)
  await server.stop()
  for (const place of [
    ['--data-dir', server.dataDir],
    ['--snapshot', file],
  ])
    for (const key of ['/registry/configmaps/default/a', '/core/configmaps/default/a', 'cm/default/a', 'ConfigMap/default/a']) {
      const { code, stdout, stderr } = await keelsonHere('inspect', key, ...place)
      assert.equal(code, 0, stderr)
      assert.match(stdout, /^# key: +\/core\/configmaps\/default\/a\n# in etcd: +\/registry\/configmaps\/default\/a\n/)
      assert.match(stdout, new RegExp(`^# revision: +${made.metadata.resourceVersion}, when it was created$`, 'm'))
      assert.match(stdout, /^# checksum: +crc32 [0-9a-f]{8}, correct\n# encrypted: +no$/m)
      const { metadata, data } = parse(stdout)
      assert.deepEqual([metadata.uid, data], [made.metadata.uid, { text: 'hello there' }])
    }
  const json = JSON.parse((await keelsonHere('inspect', 'cm/default/a', '--data-dir', server.dataDir, '--output', 'json')).stdout)
  assert.deepEqual([json.encoding, json.object.metadata.name, String(json.modified)], ['json', 'a', made.metadata.resourceVersion])
  const raw = await keelsonHere('inspect', 'cm/default/a', '--data-dir', server.dataDir, '--output', 'raw')
  assert.deepEqual([raw.stdout.length, JSON.parse(raw.stdout).data], [json.bytes, { text: 'hello there' }])
})

test('a part of a key lists the keys below it, and a key that is not stored is named', patient, async t => {
  const { server } = await withObject(t)
  await server.stop()
  const at = ['--data-dir', server.dataDir]
  for (const part of ['configmaps', 'cm/default', '/registry/configmaps/', '/core/configmaps/']) {
    const { code, stdout } = await keelsonHere('inspect', part, ...at)
    assert.equal(code, 0)
    assert.match(stdout, /^KEY +REVISION +BYTES +STORED AS\n[\s\S]*^\/core\/configmaps\/default\/a +\d+ +\d+ +json$/m)
  }
  const all = await keelsonHere('inspect', ...at)
  assert.match(all.stdout, /^\/core\/configmaps\/ +\d+ +[\d.]+ (bytes|KiB)$/m)
  const events = await keelsonHere('inspect', 'node/none', ...at)
  assert.deepEqual([events.code, events.stderr], [1, 'keelson: there is no record /core/nodes/none\n'])
  assert.match((await keelsonHere('inspect', 'gizmo/x', ...at)).stderr, /there is no kind "gizmo"/)
  assert.match((await keelsonHere('inspect', 'a', '--snapshot', 'x', ...at)).stderr, /name two places/)
  damageData(server.dataDir, 'hello there')
  assert.match(
    (await keelsonHere('inspect', 'cm/default/a', ...at)).stdout,
    /^# checksum: +wrong$[\s\S]*^# unreadable: .*does not match its checksum$/m,
  )
})

testWith('etcd', 'a record of etcd is decoded from what kube-apiserver would write', patient, async (t, program) => {
  const cluster = await startEtcd({ program })
  t.after(() => cluster[Symbol.asyncDispose]())
  const servers = cluster.endpoints.join(',')
  const { made } = await withObject(t, ['--store', 'etcd', '--etcd-servers', servers])
  const { code, stdout, stderr } = await keelsonHere('inspect', '/registry/configmaps/default/a', '--etcd-servers', servers)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^# size: +\d+ bytes, protobuf$/m)
  assert.deepEqual([parse(stdout).metadata.uid, parse(stdout).data], [made.metadata.uid, { text: 'hello there' }])
})
