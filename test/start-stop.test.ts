// Many servers one after the other and side by side: none leaves a handle, a timer, a port or a file behind.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { start } from '../src/index.ts'
import { eventually, patient, type Scope, temporaryDirectory } from './kit.ts'

const CYCLES = Number(process.env['KEELSON_CYCLES'] ?? 24)

/** The handles and timers that keep this process alive, as sorted kinds. The caller may run in an immediate. */
const handles = () =>
  process
    .getActiveResourcesInfo()
    .filter(kind => kind !== 'Immediate')
    .sort()
    .join(' ')

test(`${CYCLES} servers come and go and leave nothing behind`, { timeout: 5 * patient.timeout }, async t => {
  const dataDir = temporaryDirectory(t)
  const temporary = folderForTemporaryFiles(t)
  const once = async (options: object) => {
    await using server = await start(options)
    await server.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
    const watch = await server.fetch('/api/v1/configmaps?watch=true')
    await watch.body!.cancel()
  }
  const kinds = [{ nodes: 0 }, { controllers: ['none'] }, { nodes: 1 }, { dataDir, nodes: 0 }]
  for (const options of kinds) await once(options)
  const [before, files] = [await settledHandles(), readdirSync(temporary)]
  for (let i = 0; i < CYCLES; i++) await once(kinds[i % kinds.length]!)
  assert.equal(await settledHandles(), before)
  assert.deepEqual(readdirSync(temporary), files)
})

/** The handles that remain when closed connections are gone: the same in every check. */
async function settledHandles(): Promise<string> {
  let last = handles()
  let same = 0
  return eventually('the handles', () => {
    const now = handles()
    same = now === last ? same + 1 : 0
    last = now
    return same === 20 ? now : undefined
  })
}

/** A folder for temporary files that these servers alone use. */
function folderForTemporaryFiles(t: Scope): string {
  const folder = temporaryDirectory(t)
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  t.after(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  })
  return folder
}

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
