// Objects in the library: read, written and watched by references instead of paths, as the admin and as others.
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { ApiError, start } from '../src/index.ts'
import { freshServer, patient, ROOT, run, temporaryDirectory } from './kit.ts'
import { WIDGETS } from './samples.ts'

const configMap = (name: string, data: Record<string, string> = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })
const widget = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec: { size: 1 } })

const errorOf = async (work: Promise<unknown>): Promise<ApiError> => {
  const error = await work.then(
    () => assert.fail('it was not refused'),
    error => error,
  )
  assert.ok(error instanceof ApiError, String(error))
  return error
}

test('an object is created, read, replaced, patched and deleted by its name', patient, async t => {
  const server = await freshServer(t)
  const made = await server.create(configMap('one', { a: '1' }))
  assert.equal(made.metadata.namespace, 'default')
  const read = await server.get<typeof made>('configmap/one')
  assert.deepEqual(read, made)
  assert.deepEqual(await server.get(configMap('one')), made)
  const replaced = await server.update({ ...read, data: { a: '2' } })
  assert.deepEqual(replaced['data'], { a: '2' })
  const conflict = await errorOf(server.update({ ...read, data: { a: '3' } }))
  assert.deepEqual([conflict.status, conflict.reason], [409, 'Conflict'])
  assert.match(conflict.message, /^PUT \/api\/v1\/namespaces\/default\/configmaps\/one: Operation cannot be fulfilled/)
  assert.deepEqual((await server.patch('cm/one', { data: { b: '4' } }))['data'], { a: '2', b: '4' })
  assert.deepEqual((await server.patch('cm/one', [{ op: 'remove', path: '/data/a' }], { type: 'json' }))['data'], { b: '4' })
  const applied = await server.patch('configmap/one', configMap('one', { b: '5' }), { type: 'apply', fieldManager: 'me', force: true })
  assert.deepEqual(applied['data'], { b: '5' })
  assert.ok(applied.metadata['managedFields'].some(({ manager }: { manager: string }) => manager === 'me'))
  await server.delete('configmap/one', { dryRun: true })
  await server.delete('configmap/one', { preconditions: { uid: made.metadata.uid } })
  const gone = await errorOf(server.get('configmap/one'))
  assert.deepEqual([gone.status, gone.reason, gone.body?.details?.name], [404, 'NotFound', 'one'])
})

test('a namespace comes from the object, the options or the default, and names can be made by the server', patient, async t => {
  const server = await freshServer(t)
  await server.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
  await server.create(configMap('a'), { namespace: 'other' })
  await server.create({ ...configMap('b'), metadata: { name: 'b', namespace: 'other' } })
  const { metadata } = await server.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'made-' } })
  assert.match(metadata.name, /^made-/)
  const names = async (options?: { namespace: string }) => (await server.list('configmaps', options)).map(each => each.metadata.name)
  assert.deepEqual(
    (await names({ namespace: 'other' })).filter(name => name.length === 1),
    ['a', 'b'],
  )
  assert.ok((await names()).includes(metadata.name))
  assert.equal((await server.list('namespaces'))[0]?.kind, 'Namespace')
  assert.equal((await errorOf(server.get('configmap/a'))).status, 404)
  await server.delete('configmap/a', { namespace: 'other' })
})

test('lists take selectors, custom kinds are found by their names, and unknown kinds are named', patient, async t => {
  const server = await freshServer(t)
  await server.apply(WIDGETS, widget('w'))
  await server.create({ ...configMap('red'), metadata: { name: 'red', labels: { colour: 'red' } } })
  assert.deepEqual(
    (await server.list('cm', { labelSelector: 'colour=red' })).map(({ metadata }) => metadata.name),
    ['red'],
  )
  assert.deepEqual((await server.list('cm', { fieldSelector: 'metadata.name=red' })).length, 1)
  assert.deepEqual(
    (await server.list('widgets.example.com')).map(({ kind, metadata }) => [kind, metadata.name]),
    [['Widget', 'w']],
  )
  await assert.rejects(server.list('configmpas'), /no kind configmpas is served.*configmaps/)
  await assert.rejects(server.get('nothing/x'), TypeError)
  await assert.rejects(server.get('x'), /write KIND\/NAME/)
  await assert.rejects(server.patch('cm/red', {}, { type: 'other' as 'merge' }), /type must be merge, strategic, json, apply/)
})

test('a watch yields present objects and changes, and ends with its loop, its signal or an error', patient, async t => {
  const server = await freshServer(t)
  await server.create(configMap('first'))
  const seen: string[] = []
  for await (const { type, object } of server.watch('configmaps', { namespace: 'default', fieldSelector: 'metadata.name=first' })) {
    seen.push(`${type} ${object.metadata.name}`)
    if (type === 'ADDED') await server.patch('cm/first', { data: { a: '1' } })
    if (type === 'MODIFIED') await server.delete('cm/first')
    if (type === 'DELETED') break
  }
  assert.deepEqual(seen, ['ADDED first', 'MODIFIED first', 'DELETED first'])
  const end = new AbortController()
  for await (const { type } of server.watch('namespaces', { signal: end.signal })) {
    assert.equal(type, 'ADDED')
    end.abort()
  }
  const future = async () => {
    for await (const _ of server.watch('configmaps', { resourceVersion: 'x' })) assert.fail('an event')
  }
  assert.equal((await errorOf(future())).status, 400)
})

test('other users have the same methods with their own rights', patient, async t => {
  const server = await freshServer(t)
  const jane = server.as('jane')
  const refused = await errorOf(jane.create(configMap('hers')))
  assert.deepEqual([refused.status, refused.reason], [403, 'Forbidden'])
  await server.apply({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'jane' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    subjects: [{ kind: 'User', name: 'jane' }],
  })
  await server.settled()
  assert.equal((await jane.create(configMap('hers'))).metadata.name, 'hers')
})

test('methods may be taken apart from the server', patient, async t => {
  const { create, get, list, kubeConfig } = await freshServer(t)
  await create(configMap('apart'))
  assert.equal((await get('cm/apart')).metadata.name, 'apart')
  assert.ok((await list('namespaces')).length > 0)
  const config = new KubeConfig()
  config.loadFromOptions(kubeConfig)
  const { items } = await config.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace: 'default' })
  assert.ok(items.some(({ metadata }) => metadata?.name === 'apart'))
})

test('the log of a pod', patient, async t => {
  const server = await freshServer(t, { controllers: ['*'], nodes: 1 })
  const [annotations, containers] = [{ 'sim.keelson.dev/logs': 'hello' }, [{ name: 'main', image: 'example.com/app' }]]
  await server.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', annotations }, spec: { containers } })
  await server.waitFor('pod/web', 'Ready')
  assert.equal(await server.logs('web', { container: 'main' }), await server.logs('pod/web'))
  assert.equal((await errorOf(server.logs('web', { container: 'other' }))).status, 400)
})

test('manifests of the start belong to the state for reset, and a wrong one stops the start', patient, async t => {
  const server = await start({ controllers: ['none'], apply: [configMap('base')] })
  t.after(() => server.close())
  await server.create(configMap('more'))
  await server.reset()
  assert.deepEqual(
    (await server.list('cm', { namespace: 'default' })).map(({ metadata }) => metadata.name),
    ['base'],
  )
  await assert.rejects(start({ apply: [{ apiVersion: 'v1', kind: 'Nothing', metadata: { name: 'x' } }] }), /no kind Nothing is served/)
  await assert.rejects(start({ apply: 'x' as never }), /apply must be a list of paths and objects, not "x"/)
})

test('a snapshot is a file that another server restores', patient, async t => {
  const file = join(temporaryDirectory(t), 'state.snapshot')
  const first = await freshServer(t)
  await first.create(configMap('kept'))
  await (await first.snapshot()).save(file)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  await first.delete('cm/kept')
  const second = await start({ controllers: ['none'] })
  t.after(() => second.close())
  await second.restore(file)
  assert.equal((await second.get('cm/kept')).metadata.name, 'kept')
  writeFileSync(file, readFileSync(file).subarray(0, 200))
  await second.create(configMap('later'))
  await assert.rejects(second.restore(file), error => error instanceof Error && error.message.startsWith(`${file} `))
  assert.equal((await second.get('cm/later')).metadata.name, 'later')
})

test('a process with a server in memory that nobody closes ends, unless the server keeps it alive', patient, async t => {
  const script = (options: string, rest: string) => {
    const file = join(temporaryDirectory(t), 'script.mjs')
    const from = JSON.stringify(new URL('../dist/keelson.js', import.meta.url).href)
    writeFileSync(file, `import { start } from ${from}\nconst server = await start(${options})\nawait server.list('namespaces')\n${rest}\n`)
    return run(process.execPath, [file])
  }
  const ended = await script('{}', "console.log('done')")
  assert.deepEqual([ended.code, ended.stdout], [0, 'done\n'], ended.stderr)
  const later = "setTimeout(() => { console.log('alive'); process.exit(0) }, 100).unref()"
  const kept = await script('{ keepAlive: true }', later)
  assert.deepEqual([kept.code, kept.stdout], [0, 'alive\n'], kept.stderr)
})

test('the types name every built-in kind', patient, async t => {
  const server = await freshServer(t)
  const types = readFileSync(join(ROOT, 'src/public.d.ts'), 'utf8')
  type Resources = { resources: { name: string; singularName: string }[] }
  const at = async <T>(path: string) => (await (await server.fetch(path)).json()) as T
  const { groups } = await at<{ groups: { versions: { groupVersion: string }[] }[] }>('/apis')
  const paths = ['/api/v1', ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `/apis/${groupVersion}`))]
  for (const path of paths)
    for (const { name, singularName } of (await at<Resources>(path)).resources)
      if (!name.includes('/')) assert.ok(types.includes(`  | '${singularName}'\n`), singularName)
})

test('older module resolution finds the types of every entry', () => {
  const { exports, typesVersions } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  type Entry = { readonly types?: string; readonly import?: { readonly types?: string } }
  const entries = Object.entries<Entry>(exports).flatMap(([path, entry]) => {
    const types = entry.types ?? entry.import?.types
    // The package itself has its types in `types`.
    return types && path !== '.' ? [[path.slice(2), [types]]] : []
  })
  assert.deepEqual(typesVersions['*'], Object.fromEntries(entries))
})
