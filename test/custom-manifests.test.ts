// Definitions of the breadth of public operators are accepted, and the objects of their kinds live as kubectl users know it.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { applyEachWay, objectsIn, openKubectl } from './applying.ts'
import { patient, ROOT } from './kit.ts'
import { testWith } from './programs.ts'

const DIRECTORY = join(ROOT, 'test/custom-manifests')
const SETS = readdirSync(DIRECTORY).flatMap(file => /^(.*)\.definitions\.yaml$/.exec(file)?.[1] ?? [])
const DEFINITIONS = SETS.map(set => join(DIRECTORY, `${set}.definitions.yaml`))
const OBJECTS = SETS.map(set => join(DIRECTORY, `${set}.objects.yaml`))
const named = (files: readonly string[]) => files.flatMap(file => ['-f', file])

// All sets at once: most of its processor time kubectl spends before the first object.
testWith('kubectl', `the kinds of ${SETS.join(', ')} are defined, used, read and deleted`, patient, async (t, program) => {
  const kubectl = await openKubectl(t, program)
  await applyEachWay(kubectl, ...DEFINITIONS)
  await kubectl('wait', '--for=condition=Established', ...named(DEFINITIONS), '--timeout=30s')
  await applyEachWay(kubectl, ...OBJECTS)

  for (const flags of [[], ['--server-side']]) assert.equal(await kubectl('diff', ...flags, ...named(OBJECTS)), '')
  for (const definition of DEFINITIONS.flatMap(objectsIn) as any[]) {
    const { group, names, versions } = definition.spec
    // Not by `PLURAL.GROUP`: kubectl 1.20 takes the group for a path of fields.
    const version = `--api-version=${group}/${versions[0].name}`
    assert.match(await kubectl('explain', names.plural, version, '--recursive'), /apiVersion\t<string>/)
    const [header = ''] = (await kubectl('get', `${names.plural}.${group}`, '-o', 'wide')).split('\n')
    assert.deepEqual(header.split(/ {2,}/), headerOf(definition))
  }

  await kubectl('patch', ...named(OBJECTS), '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
  await kubectl('delete', ...named(OBJECTS))
  await kubectl('delete', ...named(DEFINITIONS))
})

/** The header of kubectl's wide table; kinds without columns show the age. */
function headerOf({ spec }: any): string[] {
  const { additionalPrinterColumns: columns = [{ name: 'Age' }] } = spec.versions.find(({ storage }: any) => storage)
  return ['NAME', ...columns.map(({ name }: any) => name.toUpperCase())]
}
