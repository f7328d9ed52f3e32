// Many servers one after the other and side by side: none leaves a handle, a port, a file or memory behind.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { start } from '../src/index.ts'
import { patient, temporaryDirectory } from './kit.ts'

const CYCLES = Number(process.env['KEELSON_CYCLES'] ?? 40)

/** The handles that keep this process alive. */
const handles = () =>
  process.getActiveResourcesInfo().filter(kind => !['PipeWrap', 'TTYWrap', 'Immediate', 'Timeout'].includes(kind)).length

test(`${CYCLES} servers come and go and leave nothing behind`, { timeout: 5 * patient.timeout }, async t => {
  const dataDir = temporaryDirectory(t)
  const once = async (options: object) => {
    await using server = await start(options)
    await server.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
    const watch = await server.fetch('/api/v1/configmaps?watch=true')
    await watch.body!.cancel()
  }
  const kinds = [{ nodes: 0 }, { controllers: ['none'] }, { nodes: 1 }, { dataDir, nodes: 0 }]
  for (const options of kinds) await once(options)
  const [before, files] = [handles(), readdirSync(tmpdir()).length]
  for (let i = 0; i < CYCLES; i++) await once(kinds[i % kinds.length]!)
  await new Promise(resolve => setTimeout(resolve, 200))
  assert.ok(handles() <= before, `${handles()} handles are open, and there were ${before}: ${process.getActiveResourcesInfo()}`)
  assert.ok(readdirSync(tmpdir()).filter(name => name.startsWith('keelson-')).length <= files)
})

test('ten servers in one process share nothing', patient, async () => {
  const servers = await Promise.all(Array.from({ length: 10 }, () => start({ nodes: 0 })))
  await Promise.all(servers.map((server, i) => server.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `only-${i}` } })))
  for (const [i, server] of servers.entries()) {
    const { items } = (await (await server.fetch('/api/v1/namespaces/default/configmaps')).json()) as { items: any[] }
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name).filter(name => name.startsWith('only-')),
      [`only-${i}`],
    )
  }
  await Promise.all(servers.map(server => server.close()))
})
