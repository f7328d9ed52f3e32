// Definitions of the breadth of public operators are accepted, and the objects of their kinds live as kubectl users know it.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { applyEachWay, objectsIn, openKubectl } from './applying.ts'
import { patient, ROOT } from './kit.ts'
import { testWith } from './programs.ts'

const DIRECTORY = join(ROOT, 'test/custom-manifests')
const SETS = readdirSync(DIRECTORY).flatMap(file => /^(.*)\.definitions\.yaml$/.exec(file)?.[1] ?? [])
const definitionsOf = (set: string) => join(DIRECTORY, `${set}.definitions.yaml`)
const objectsOf = (set: string) => join(DIRECTORY, `${set}.objects.yaml`)

for (const set of SETS)
  testWith('kubectl', `the kinds of ${set} are defined, used, read and deleted`, patient, async (t, program) => {
    const kubectl = await openKubectl(t, program)
    await applyEachWay(kubectl, definitionsOf(set))
    await kubectl('wait', '--for=condition=Established', '-f', definitionsOf(set), '--timeout=30s')
    await applyEachWay(kubectl, objectsOf(set))

    for (const flags of [[], ['--server-side']]) assert.equal(await kubectl('diff', ...flags, '-f', objectsOf(set)), '')
    for (const definition of objectsIn(definitionsOf(set)) as any[]) {
      const { group, names, versions } = definition.spec
      // Not by `PLURAL.GROUP`: kubectl 1.20 takes the group for a path of fields.
      const version = `--api-version=${group}/${versions[0].name}`
      assert.match(await kubectl('explain', names.plural, version, '--recursive'), /apiVersion\t<string>/)
      const [header = ''] = (await kubectl('get', `${names.plural}.${group}`, '-o', 'wide')).split('\n')
      assert.deepEqual(header.split(/ {2,}/), headerOf(definition))
    }

    await kubectl('patch', '-f', objectsOf(set), '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    await kubectl('delete', '-f', objectsOf(set))
    await kubectl('delete', '-f', definitionsOf(set))
  })

/** The header of kubectl's wide table; kinds without columns show the age. */
function headerOf({ spec }: any): string[] {
  const { additionalPrinterColumns: columns = [{ name: 'Age' }] } = spec.versions.find(({ storage }: any) => storage)
  return ['NAME', ...columns.map(({ name }: any) => name.toUpperCase())]
}
