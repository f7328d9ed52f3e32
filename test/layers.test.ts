// Imports point down the strata of the source, and some that point down must never be.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path/posix'
import test from 'node:test'

/**
 * The strata of a folder, from the bottom up. A folder or file imports from the strata below its own, and inside of its stratum from
 * those that stand before it.
 */
type Stratum = { readonly name: string; readonly units: readonly string[] }

const STRATA: readonly Stratum[] = [
  { name: 'values, which have no domain', units: ['lib', 'version.ts', 'public.d.ts'] },
  { name: 'languages, formats and stores', units: ['transport', 'cel', 'schema', 'codec', 'storage', 'encryption'] },
  { name: 'the model of objects', units: ['structural', 'patch', 'kinds'] },
  { name: 'state', units: ['cache', 'etcd-format'] },
  { name: 'access and admission', units: ['authn', 'authz', 'audit', 'admission'] },
  { name: 'requests', units: ['registry', 'http', 'faults'] },
  { name: 'components', units: ['client', 'devices', 'allocation', 'controllers', 'custom', 'scheduler', 'nodes', 'aggregation', 'peers'] },
  {
    name: 'programs',
    units: [
      'server',
      'flags',
      'library',
      'controller-library',
      'workspaces',
      'start-options.ts',
      'flag-values.ts',
      'index.ts',
      'commands',
      'cli.ts',
    ],
  },
]

/** The same inside of the server, the composition root. */
const STRATA_OF_SERVER: readonly Stratum[] = [
  {
    name: 'settings',
    units: [
      'clients',
      'controller-table.ts',
      'feature-gates.ts',
      'former-gates.ts',
      'runtime-config.ts',
      'releases.ts',
      'served-kinds.ts',
      'start-hooks.ts',
      'audit-config.ts',
      'config.ts',
    ],
  },
  { name: 'the ground of all parts', units: ['processes', 'egress.ts', 'destinations.ts', 'context.ts', 'files', 'credentials'] },
  {
    name: 'parts',
    units: [
      'data',
      'doctor',
      'network',
      'audit',
      'tracing',
      'access',
      'extensions',
      'admission',
      'bootstrap-objects',
      'controllers',
      'validation',
      'port',
    ],
  },
  { name: 'the composition', units: ['start-parts.ts', 'read-configuration.ts', 'running-server.ts', 'start.ts'] },
]

/** Imports that point down and still must never be, with the reason. */
const NEVER: readonly { readonly from: readonly string[]; readonly to: readonly string[]; readonly why: string }[] = [
  {
    from: ['cel', 'transport', 'storage'],
    to: allBut('lib', 'transport'),
    why: 'they know nothing of objects; to a store, values are bytes',
  },
  { from: ['schema', 'structural'], to: ['codec', 'storage', 'transport'], why: 'declarations and rules do not depend on encodings' },
  { from: ['schema', 'codec', 'patch', 'cache', 'etcd-format', 'registry', 'http'], to: ['kinds'], why: 'shared code never names a kind' },
  { from: ['kinds'], to: ['patch', 'storage', 'transport'], why: 'a kind declares; it does not act' },
  { from: ['authn', 'authz', 'admission'], to: ['cache', 'storage', 'etcd-format'], why: 'readers are handed in' },
  { from: ['registry'], to: ['authn', 'authz', 'cel'], why: 'requests are let in before they come here' },
  { from: ['http'], to: ['storage', 'patch', 'admission', 'etcd-format'], why: 'a request becomes a call of the registry' },
  {
    from: ['client', 'devices', 'controllers', 'scheduler'],
    to: ['storage', 'cache', 'registry', 'http', 'authn', 'authz', 'etcd-format'],
    why: 'components are clients: they could run elsewhere',
  },
  {
    from: ['flags', 'commands', 'cli.ts'],
    to: ['registry', 'cache', 'kinds', 'admission', 'controllers', 'nodes'],
    why: 'commands use the server',
  },
]

/** The one kind that shared code handles itself: the object of the scale subresource. */
const SCALE = '/autoscaling/scale.ts'

function allBut(...units: readonly string[]): string[] {
  return STRATA.flatMap(stratum => stratum.units).filter(unit => !units.includes(unit))
}

/** Imports that are gone when the program runs. */
const TYPE_IMPORT = /^(?:import|export) type [^'"]*from ['"][^'"]+['"]/gm
const IMPORT = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)/g

for (const { folder, strata } of [
  { folder: 'src', strata: STRATA },
  { folder: 'src/server', strata: STRATA_OF_SERVER },
]) {
  const order = strata.flatMap(({ units }) => units)

  test(`imports between the folders of ${folder} point down`, () => {
    const upward = importsBetweenUnits(folder).filter(({ from, to }) => order.indexOf(to) >= order.indexOf(from))
    assert.deepEqual(upward.map(lineOf), [])
  })

  test(`every folder and file of ${folder} has its stratum`, () => {
    const units = readdirSync(folder).filter(unit => !unit.endsWith('.test.ts'))
    assert.deepEqual([...order].sort(), units.sort())
  })
}

for (const { from, to, why } of NEVER)
  test(`${from.join(', ')}: ${why}`, () => {
    const units = STRATA.flatMap(stratum => stratum.units)
    assert.deepEqual(
      [...from, ...to].filter(unit => !units.includes(unit)),
      [],
    )
    const found = importsBetweenUnits('src').filter(used => from.includes(used.from) && to.includes(used.to) && !used.path.endsWith(SCALE))
    assert.deepEqual(found.map(lineOf), [])
  })

/**
 * The folders that have promise-or-value results, as decision 012 says: those that answer a GET without a promise, the stores and what they
 * ask, and programs. All others wait in steps.
 */
const MAYBE_PROMISE = [
  'lib',
  'storage',
  'encryption',
  'cache',
  'authn',
  'authz',
  'audit',
  'http',
  'faults',
  'server',
  'library',
  'workspaces',
]
/** The interface between the registry and http/. */
const MAYBE_PROMISE_FILES = ['src/registry/api.ts']

test('promise-or-value results stay at the edges: everybody else waits in steps', () => {
  const found = sourcesIn('src')
    .filter(file => !MAYBE_PROMISE.includes(file.split('/')[1]!) && !MAYBE_PROMISE_FILES.includes(file))
    .filter(file => /\/maybe-promise\.ts'|\binstanceof Promise\b/.test(readFileSync(file, 'utf8')))
  assert.deepEqual(found, [])
})

test('the source imports no package but its dependencies and those that the build bundles', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly dependencies: object }
  const known = [...Object.keys(dependencies), ...BUNDLED]
  const isKnown = (name: string) => name.startsWith('node:') || known.some(each => name === each || name.startsWith(`${each}/`))
  const found = sourcesIn('src')
    .filter(file => !file.endsWith('.d.ts'))
    .flatMap(file => Array.from(readFileSync(file, 'utf8').matchAll(PACKAGE), ([, name]) => ({ file, name: name! })))
  assert.ok(known.every(each => found.some(({ name }) => name === each || name.startsWith(`${each}/`))))
  assert.deepEqual(
    found.filter(({ name }) => !isKnown(name)),
    [],
  )
})
const BUNDLED = ['jose', 'js-yaml', 're2js', 'yaml', '@noble/ciphers']
const PACKAGE = /(?:^(?:import|export|\}) [^'"\n]*from |^[^`\n]*\bimport\()'([^.'][^']*)'/gm

test('no source file is generated', () => {
  const marked = sourcesIn('src').filter(file => /@generated|do not edit/i.test(readFileSync(file, 'utf8')))
  assert.deepEqual(marked, [])
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: object }
  assert.deepEqual(
    Object.keys(scripts).filter(name => /generate|codegen/.test(name)),
    [],
  )
})

test('no file imports itself through others, types aside', () => {
  const imports: (readonly [from: string, to: string])[] = []
  for (const file of ['src', 'test', 'bench'].flatMap(sourcesIn))
    for (const [, path] of readFileSync(file, 'utf8').replace(TYPE_IMPORT, '').matchAll(IMPORT))
      imports.push([file, join(dirname(file), path!)])
  assert.deepEqual(inCycles(imports), [])
})

type Import = { readonly file: string; readonly path: string; readonly from: string; readonly to: string }

/** The imports across the units of a folder, those of tests aside: tests may use everything. */
function importsBetweenUnits(folder: string): Import[] {
  const found: Import[] = []
  for (const file of sourcesIn(folder))
    for (const [, path] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const imported = join(dirname(file), path!)
      const isOutside = imported.startsWith('src/') && !imported.startsWith(`${folder}/`)
      const [from, to] = [unitOf(relative(folder, file)), unitOf(relative(folder, imported))]
      if (from !== to && !isOutside) found.push({ file, path: path!, from, to })
    }
  return found
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(file => join(folder, file))
    .filter(file => /(?<!\.test)\.ts$/.test(file) && !file.includes('node_modules'))
}

/** The folder or file at the top that a file belongs to. */
function unitOf(path: string): string {
  return path.split('/')[0]!
}

function lineOf({ file, path }: Import): string {
  return `${file} → ${path}`
}

/** The files that are in a cycle of imports, or import one that is. */
function inCycles(imports: readonly (readonly [from: string, to: string])[]): string[] {
  let left = imports
  for (let before = -1; before !== left.length; ) {
    before = left.length
    const importing = new Set(left.map(([from]) => from))
    left = left.filter(([, to]) => importing.has(to))
  }
  return [...new Set(left.map(([from]) => from))]
}
