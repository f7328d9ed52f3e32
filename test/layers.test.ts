// Which folder may import which, and why. Imports point down; what is not listed is not allowed, and what is listed is in use.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path/posix'
import test from 'node:test'

/** `from`, `to`, and the reason. Files at the top of src are their own unit. */
const MAY_IMPORT: readonly (readonly [from: string, to: string, why: string])[] = [
  ['schema', 'lib', 'names, quantities, times and JSON values have no domain'],
  ['storage', 'lib', 'limits and encodings; values are bytes to a store'],
  ['codec', 'lib', 'numbers, base64 and JSON values'],
  ['codec', 'schema', 'types say how fields are written'],
  ['cel', 'lib', 'regular expressions, addresses, quantities, times'],
  ['structural', 'lib', 'JSON values, names, formats'],
  ['structural', 'schema', 'errors are field errors'],
  ['structural', 'cel', 'validation rules of schemas are CEL'],
  ['kinds', 'lib', 'rules are about names, addresses, quantities and certificates'],
  ['kinds', 'schema', 'declarations are made of types, references and errors'],
  ['kinds', 'codec', 'values inside of texts: annotations with JSON, keys of Secrets'],
  ['kinds', 'cel', 'policies and device selectors hold expressions'],
  ['kinds', 'structural', 'CustomResourceDefinition holds a schema'],
  ['patch', 'lib', 'JSON values and printing'],
  ['patch', 'schema', 'types say how lists and maps are merged'],
  ['patch', 'codec', 'fieldsV1 is JSON with an order'],
  ['cache', 'lib', 'cancellation'],
  ['cache', 'schema', 'resources, selectors and keys'],
  ['cache', 'codec', 'stored bytes become an object revision'],
  ['cache', 'storage', 'the cache follows a store'],
  ['etcd-format', 'lib', 'JSON values and texts of Go'],
  ['etcd-format', 'schema', 'types and defaults of kinds say what records hold; kinds are handed in'],
  ['etcd-format', 'codec', 'records are protobuf and JSON'],
  ['etcd-format', 'storage', 'implements the format that the store over etcd is handed'],
  ['authn', 'lib', 'certificates, tokens, time'],
  ['authn', 'schema', 'User and token claims; readers are handed in'],
  ['authn', 'cel', 'claim mappings and rules of authentication configurations'],
  ['authz', 'lib', 'JSON values'],
  ['authz', 'schema', 'Attributes and Decision; readers are handed in'],
  ['authz', 'kinds', 'roles and bindings are kinds'],
  ['authz', 'cel', 'match conditions of webhook authorizers'],
  ['admission', 'lib', 'names and quantities'],
  ['admission', 'schema', 'objects, resources and errors; readers are handed in'],
  ['admission', 'kinds', 'a plugin is about certain kinds'],
  ['admission', 'codec', 'reviews of webhooks are JSON'],
  ['admission', 'cel', 'expressions of policies and match conditions'],
  ['admission', 'patch', 'patches of webhooks and mutating policies'],
  ['registry', 'lib', 'JSON values, yielding'],
  ['registry', 'schema', 'resources and their declarations'],
  ['registry', 'codec', 'bodies are decoded, objects are stored as bytes'],
  ['registry', 'patch', 'patches, apply and ownership'],
  ['registry', 'cache', 'reads and watches come from the cache'],
  ['registry', 'storage', 'writes are swaps in a store'],
  ['registry', 'admission', 'admission is a step of a write'],
  ['registry', 'kinds', 'Scale, the one kind that the registry handles itself'],
  ['client', 'lib', 'times and JSON values'],
  ['client', 'schema', 'resources and objects'],
  ['client', 'codec', 'objects are sent and answered as JSON'],
  ['client', 'kinds', 'Event, which the recorder writes'],
  ['allocation', 'lib', 'addresses'],
  ['allocation', 'schema', 'what kinds say about allocation'],
  ['allocation', 'kinds', 'IPAddress, ServiceCIDR and Service'],
  ['allocation', 'storage', 'allocated ports are stored'],
  ['allocation', 'registry', 'allocations are a step of a write'],
  ['allocation', 'client', 'allocated addresses are objects'],
  ['custom', 'lib', 'JSON values, names'],
  ['custom', 'schema', 'a custom kind compiles to a Resource'],
  ['custom', 'codec', 'stored bytes of older versions'],
  ['custom', 'structural', 'the schema of a custom kind'],
  ['custom', 'kinds', 'CustomResourceDefinition'],
  ['custom', 'cache', 'the objects of a custom kind are read in when it is defined'],
  ['custom', 'client', 'reads and writes definitions'],
  ['custom', 'controllers', 'definitions are reconciled by controllers'],
  ['custom', 'registry', 'resources come and go in the catalog'],
  ['http', 'lib', 'limits, URLs, times'],
  ['http', 'schema', 'resources, errors and types'],
  ['http', 'codec', 'responses are encoded'],
  ['http', 'cache', 'watch events and stored bytes are sent as they are'],
  ['http', 'registry', 'a request becomes a call of the registry'],
  ['http', 'authn', 'who sends a request'],
  ['http', 'authz', 'whether they may'],
  ['http', 'kinds', 'Scale has a schema in OpenAPI documents'],
  ['faults', 'lib', 'limits'],
  ['faults', 'schema', 'errors as Kubernetes words them'],
  ['faults', 'cache', 'events of watches are dropped or delayed'],
  ['faults', 'registry', 'reads and watches are disturbed'],
  ['faults', 'http', 'requests are disturbed, and faults are added over HTTP'],
  ['faults', 'public.d.ts', 'faults are written as the library has them'],
  ['server', 'faults', 'they strike its requests, and restart it'],
  ['controllers', 'lib', 'times and JSON values'],
  ['controllers', 'schema', 'objects and keys'],
  ['controllers', 'kinds', 'a controller is about certain kinds'],
  ['controllers', 'devices', 'claims of pods, taints of devices'],
  ['controllers', 'client', 'informers, work queues and writes'],
  ['controllers', 'admission', 'quotas are counted as they are admitted'],
  ['devices', 'lib', 'quantities, versions and limits'],
  ['devices', 'schema', 'objects'],
  ['devices', 'kinds', 'slices, claims, classes and taint rules'],
  ['devices', 'cel', 'selectors and derived attributes'],
  ['scheduler', 'lib', 'quantities, times and yielding'],
  ['scheduler', 'schema', 'objects and label selectors'],
  ['scheduler', 'kinds', 'pods, nodes, and what decides where pods can be'],
  ['scheduler', 'client', 'informers, bindings and events'],
  ['scheduler', 'devices', 'which devices a claim gets'],
  ['scheduler', 'controllers', 'runs as a controller does'],
  ['server', 'scheduler', 'starts the scheduler'],
  ['nodes', 'lib', 'times, addresses and quantities'],
  ['nodes', 'schema', 'objects and keys'],
  ['nodes', 'kinds', 'nodes, their leases and the pods on them'],
  ['nodes', 'devices', 'pods that may not use their claims are not started'],
  ['nodes', 'codec', 'events that tell of resources tell them as JSON'],
  ['nodes', 'client', 'informers, identities and writes'],
  ['nodes', 'registry', 'requests that nodes answer come from the registry'],
  ['nodes', 'controllers', 'simulated nodes are run by controllers'],
  ['aggregation', 'lib', 'addresses, limits and connections that trust a bundle'],
  ['aggregation', 'schema', 'users and objects'],
  ['aggregation', 'kinds', 'APIServices, their Services and the endpoints of those'],
  ['aggregation', 'codec', 'documents of other servers are JSON'],
  ['aggregation', 'client', 'informers and conditions'],
  ['aggregation', 'controllers', 'other servers are looked after by controllers'],
  ['aggregation', 'http', 'requests are passed on, and documents are merged'],
  ['server', 'aggregation', 'starts it'],
  ['server', 'lib', 'limits, certificates'],
  ['server', 'schema', 'resources'],
  ['server', 'storage', 'opens the store'],
  ['server', 'cache', 'opens the caches'],
  ['server', 'etcd-format', 'the store on etcd is handed the format of kube-apiserver'],
  ['server', 'kinds', 'lists all kinds'],
  ['server', 'codec', 'worker threads that read bodies'],
  ['server', 'registry', 'makes the registry'],
  ['server', 'allocation', 'makes the allocators'],
  ['server', 'custom', 'starts custom kinds'],
  ['server', 'admission', 'lists the plugins'],
  ['server', 'authn', 'makes the authenticators'],
  ['server', 'authz', 'makes the authorizers'],
  ['server', 'http', 'listens'],
  ['server', 'client', 'makes the clients of its components'],
  ['server', 'controllers', 'starts the controllers'],
  ['server', 'nodes', 'starts the simulated nodes'],
  ['server', 'public.d.ts', 'its settings are the options of the library, with their defaults'],
  ['server', 'version.ts', 'says which version runs'],
  ['flags', 'lib', 'durations'],
  ['flags', 'server', 'flags become its configuration'],
  ['cli.ts', 'commands', 'runs commands'],
  ['cli.ts', 'flags', 'errors of the command line have their own exit'],
  ['cli.ts', 'lib', 'names the command that was meant'],
  ['cli.ts', 'server', 'errors of the configuration have their own exit'],
  ['cli.ts', 'storage', 'errors of the store have their own exit'],
  ['cli.ts', 'version.ts', 'keelson version'],
  ['commands', 'flags', 'what their arguments say'],
  ['commands', 'server', 'they start servers'],
  ['commands', 'library', 'manifests are applied'],
  ['commands', 'lib', 'certificates, differences of texts'],
  ['commands', 'schema', 'objects that are shown'],
  ['commands', 'codec', 'kubeconfigs and what is printed are YAML'],
  ['commands', 'version.ts', 'a folder for each version'],
  ['library', 'lib', 'JSON values'],
  ['library', 'schema', 'objects'],
  ['library', 'codec', 'manifests are YAML'],
  ['library', 'kinds', 'namespaces and definitions of kinds come first'],
  ['library', 'client', 'reads and writes objects'],
  ['library', 'storage', 'all that is stored is kept and put back'],
  ['library', 'http', 'requests are recorded'],
  ['library', 'faults', 'what a test wants to go wrong'],
  ['library', 'server', 'a server is what it gives to tests'],
  ['library', 'public.d.ts', 'implements the contract of the library'],
  ['index.ts', 'public.d.ts', 'is the implementation of this contract'],
  ['index.ts', 'server', 'starts a server'],
  ['index.ts', 'library', 'what tests want of a server'],
  ['index.ts', 'start-options.ts', 'checks what callers ask for'],
  ['index.ts', 'storage', 'errors that callers catch'],
  ['index.ts', 'version.ts', 'is exported'],
  ['start-options.ts', 'lib', 'names the option that was meant'],
  ['start-options.ts', 'public.d.ts', 'says which options there are'],
  ['start-options.ts', 'server', 'options become its configuration'],
]

/** The same inside of the server, the composition root: its folders, and the files at its top. */
const MAY_IMPORT_IN_SERVER: typeof MAY_IMPORT = [
  ['config.ts', 'controller-table.ts', 'which controllers can be named'],
  ['context.ts', 'config.ts', 'components know the configuration'],
  ['context.ts', 'destinations.ts', 'components connect to where they may'],
  ['destinations.ts', 'config.ts', 'which networks are open'],
  ['files', 'config.ts', 'it names the files; mistakes in them are errors of the configuration'],
  ['credentials', 'config.ts', 'which authorities sign; a kubeconfig that cannot be written is an error of the configuration'],
  ['credentials', 'files', 'authorities that are read from files, and read again'],
  ['data', 'config.ts', 'which store, and for how long its history is kept'],
  ['data', 'files', 'certificates for etcd, keys of encryption'],
  ['data', 'credentials', 'a migration copies the keys by which a cluster is known'],
  ['network', 'config.ts', 'ranges of addresses'],
  ['network', 'context.ts', 'runs beside requests'],
  ['access', 'config.ts', 'which authenticators and authorizers'],
  ['access', 'context.ts', 'roles are followed beside requests'],
  ['access', 'files', 'tokens, keys, and configurations that are read again'],
  ['access', 'credentials', 'the key that signs tokens'],
  ['extensions', 'config.ts', 'whether other servers may serve groups'],
  ['extensions', 'context.ts', 'runs beside requests'],
  ['admission', 'config.ts', 'which plugins'],
  ['admission', 'context.ts', 'policies and webhooks are followed beside requests'],
  ['admission', 'files', 'configurations of plugins, and manifests that are read again'],
  ['admission', 'access', 'plugins and expressions ask what users may do'],
  ['admission', 'destinations.ts', 'where webhooks are called'],
  ['own-objects', 'config.ts', 'which proxies are published as trusted'],
  ['own-objects', 'files', 'authorities that are published as trusted'],
  ['own-objects', 'credentials', 'the authority of the server is published as trusted'],
  ['controllers', 'config.ts', 'which run, with which settings'],
  ['controllers', 'context.ts', 'runs beside requests'],
  ['controllers', 'controller-table.ts', 'which there are'],
  ['controllers', 'files', 'certificates for kubelets'],
  ['controllers', 'credentials', 'what signs certificates'],
  ['controllers', 'access', 'what signs tokens of service accounts'],
  ['validation', 'feature-gates.ts', 'rules depend on them; a worker reads them itself'],
  ['port', 'config.ts', 'address and limits'],
  ['port', 'context.ts', 'priority levels are followed beside requests'],
  ['port', 'start-hooks.ts', 'their health is told'],
  ['port', 'feature-gates.ts', 'metrics tell which gates are on'],
  ['port', 'files', 'certificates, which are read again'],
  ['port', 'credentials', 'certificates are renewed, and so is the kubeconfig that has them'],
  ['port', 'data', 'its health and metrics are told'],
  ['port', 'access', 'who sends a request'],
  ...[
    ...['access', 'admission', 'clients', 'controllers', 'credentials', 'data', 'extensions', 'files', 'network', 'own-objects', 'port'],
    ...['validation', 'config.ts', 'context.ts', 'destinations.ts', 'feature-gates.ts', 'start-hooks.ts'],
  ].map(to => ['start.ts', to, 'puts all parts together'] as const),
]

/** Imports that are gone when the program runs. */
const TYPE_IMPORT = /^(?:import|export) type [^'"]*from ['"][^'"]+['"]/gm
const IMPORT = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)/g

/** Folders and files are the units of a table; `bottom` are those that import none of the others. */
const TABLES = [
  { folder: 'src', rows: MAY_IMPORT, bottom: ['lib', 'public.d.ts', 'version.ts'] },
  { folder: 'src/server', rows: MAY_IMPORT_IN_SERVER, bottom: ['clients', 'controller-table.ts', 'feature-gates.ts', 'start-hooks.ts'] },
]

for (const { folder, rows, bottom } of TABLES) {
  const permitted = new Set(rows.map(lineOf))
  const used = importsBetweenUnits(folder)

  test(`imports between the folders of ${folder} point down`, () => {
    const upward = used.filter(({ line }) => !permitted.has(line))
    assert.deepEqual(
      upward.map(({ file, path }) => `${file} → ${path}`),
      [],
    )
    assert.deepEqual(inCycles(rows), [])
  })

  test(`every permitted import between the folders of ${folder} is in use`, () => {
    const lines = new Set(used.map(({ line }) => line))
    assert.deepEqual(
      [...permitted].filter(line => !lines.has(line)),
      [],
    )
  })

  test(`every folder of ${folder} has its lines`, () => {
    const listed = new Set([...bottom, ...rows.map(([from]) => from)])
    assert.deepEqual(
      readdirSync(folder).filter(unit => !unit.endsWith('.test.ts') && !listed.has(unit)),
      [],
    )
  })
}

test('no file imports itself through others, types aside', () => {
  const rows: Row[] = []
  for (const file of sourcesIn('src'))
    for (const [, path] of readFileSync(file, 'utf8').replace(TYPE_IMPORT, '').matchAll(IMPORT))
      rows.push([file, join(dirname(file), path!)])
  assert.deepEqual(inCycles(rows), [])
})

test('shared code never names a kind', () => {
  const shared = ['schema', 'codec', 'etcd-format', 'patch', 'cache', 'registry', 'http', 'storage']
  const naming = importsBetweenUnits('src').filter(({ row: [from, to], path }) => {
    // The Scale of the scale subresource is the one kind the registry handles itself.
    return shared.includes(from) && to === 'kinds' && !path.endsWith('/autoscaling/scale.ts')
  })
  assert.deepEqual(
    naming.map(({ file, path }) => `${file} → ${path}`),
    [],
  )
})

type Row = readonly [from: string, to: string, ...unknown[]]
type Import = { readonly file: string; readonly path: string; readonly row: Row; readonly line: string }

/** What is imported across the units of a folder, tests aside: these may use everything. */
function importsBetweenUnits(folder: string): Import[] {
  const found: Import[] = []
  for (const file of sourcesIn(folder))
    for (const [, path] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const imported = join(dirname(file), path!)
      const isOfTableAbove = imported.startsWith('src/') && !imported.startsWith(`${folder}/`)
      const row: Row = [unitOf(relative(folder, file)), unitOf(relative(folder, imported))]
      if (row[0] !== row[1] && !isOfTableAbove) found.push({ file, path: path!, row, line: lineOf(row) })
    }
  return found
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(file => join(folder, file))
    .filter(file => /(?<!\.test)\.ts$/.test(file))
}

/** The folder or file of a table that a file belongs to. */
function unitOf(path: string): string {
  return path.split('/')[0]!
}

function lineOf([from, to]: Row): string {
  return `${from} → ${to}`
}

/** The units that are in a cycle of imports, or import one that is. */
function inCycles(rows: readonly Row[]): string[] {
  let left = rows
  for (let before = -1; before !== left.length; ) {
    before = left.length
    const importing = new Set(left.map(([from]) => from))
    left = left.filter(([, to]) => importing.has(to))
  }
  return [...new Set(left.map(([from]) => from))]
}
