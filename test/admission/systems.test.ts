// Configurations of the breadth of well-known systems, applied with kubectl, with webhooks that really listen.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Finished, freshServer, patient, ROOT, run, temporaryDirectory } from '../kit.ts'
import { type Answer, pem, type Webhook, webhook } from '../kits/webhooks.ts'
import { testWith } from '../programs.ts'

/** A server, a kubectl for it, and one webhook server that answers by path. */
type Bench = {
  readonly hook: Webhook
  /** Applies a manifest of this folder. */
  readonly apply: (manifest: string) => Promise<void>
  readonly kubectl: (args: string[], input?: string) => Promise<string>
  /** Runs it and returns its errors. */
  readonly refused: (args: string[], input?: string) => Promise<string>
}

/** The response of the webhook to a request, by the path of the call. */
type Respond = (request: any) => object
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64')
const patched = (...operations: object[]) =>
  operations.length === 0 ? { allowed: true } : { allowed: true, patchType: 'JSONPatch', patch: base64(operations) }

async function open(t: TestContext, program: string, answers: Readonly<Record<string, Respond>>): Promise<Bench> {
  const server = await freshServer(t)
  const answer: Answer = (review, response, request) => {
    const path = (request.url ?? '').split('?')[0]!
    const respond = answers[path]
    if (!respond) return void response.writeHead(404).end()
    const { apiVersion, kind } = review
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ apiVersion, kind, response: { uid: review.request.uid, ...respond(review.request) } }))
  }
  const hook = await webhook(t, answer)
  const home = temporaryDirectory(t)
  writeFileSync(join(home, 'kubeconfig'), server.kubeconfig)
  const call = (args: string[], input = ''): Promise<Finished> =>
    run(program, ['--kubeconfig', join(home, 'kubeconfig'), '--cache-dir', join(home, 'cache'), ...args], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home },
      input,
    })
  const kubectl = async (args: string[], input = '') => {
    const { code, stdout, stderr } = await call(args, input)
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const refused = async (args: string[], input = '') => {
    const { code, stderr } = await call(args, input)
    assert.notEqual(code, 0, `kubectl ${args.join(' ')} was not refused`)
    return stderr
  }
  // Nobody listens at the port of the webhook that is down.
  const urls = { URL: `https://127.0.0.1:${hook.port}`, DEAD: 'https://127.0.0.1:1', CA: hook.clientConfig.caBundle }
  const apply = async (manifest: string) => {
    const text = readFileSync(join(ROOT, 'test/admission/manifests', manifest), 'utf8')
    await kubectl(
      ['apply', '-f', '-'],
      text.replace(/\$\{(\w+)\}/g, (_, name: keyof typeof urls) => urls[name]),
    )
  }
  return { hook, apply, kubectl, refused }
}

const configMap = (name: string, metadata: object = {}, data: object = {}) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data })
const namespace = (name: string, labels: object = {}) => JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
const pod = (name: string, labels: object = {}) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: { containers: [{ name: 'app', image: 'example.com/app' }] },
  })

testWith('kubectl', 'certificates: a conversion webhook, and webhooks whose CA is injected by patches', patient, async (t, program) => {
  const { apply, kubectl, refused, hook } = await open(t, program, {
    '/mutate': ({ object }) => patched(...(object.spec.duration ? [] : [{ op: 'add', path: '/spec/duration', value: '2160h' }])),
    '/validate': ({ object }) => ({
      allowed: object.spec.dnsNames?.length > 0,
      status: { code: 406, reason: 'NotAcceptable', message: 'spec.dnsNames: Required value' },
    }),
    '/convert': ({ uid, objects, desiredAPIVersion }) => ({
      uid,
      result: { status: 'Success' },
      convertedObjects: objects.map(({ spec, ...rest }: any) => {
        const { dnsNames, commonName, ...others } = spec
        const names = desiredAPIVersion.endsWith('v1alpha1') ? { commonName: dnsNames?.[0] } : { dnsNames: commonName ? [commonName] : [] }
        return { ...rest, apiVersion: desiredAPIVersion, spec: { ...others, ...names } }
      }),
    }),
  })
  await apply('certificates.yaml')
  await kubectl(['wait', '--for=condition=established', 'crd/certificates.certs.example.com'])
  const certificate = (version: string, spec: object) =>
    JSON.stringify({ apiVersion: `certs.example.com/${version}`, kind: 'Certificate', metadata: { name: 'web' }, spec })
  const good = certificate('v1', { secretName: 's', dnsNames: ['example.com'] })
  assert.match(
    await refused(['create', '-f', '-'], good),
    /failed calling webhook "webhook\.certs\.example\.com".*x509: certificate signed by unknown authority/,
  )
  const injected = JSON.stringify([{ op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: pem(hook.cert) }])
  for (const kind of ['mutatingwebhookconfiguration', 'validatingwebhookconfiguration'])
    await kubectl(['patch', kind, 'certs-webhook', '--type=json', '-p', injected])
  assert.match(
    await refused(['create', '-f', '-'], certificate('v1', { secretName: 's' })),
    /admission webhook "webhook\.certs\.example\.com" denied the request: spec\.dnsNames: Required value/,
  )
  await kubectl(['create', '-f', '-'], good)
  assert.equal(await kubectl(['get', 'cert', 'web', '-o', 'jsonpath={.spec.duration}']), '2160h')
  assert.equal(await kubectl(['get', 'certificates.v1alpha1.certs.example.com', 'web', '-o', 'jsonpath={.spec.commonName}']), 'example.com')
  // The webhooks are for v1, and are called in v1 about objects that are sent in v1alpha1.
  await kubectl(['replace', '-f', '-'], certificate('v1alpha1', { secretName: 's', duration: '1h', commonName: 'other.example' }))
  const last = hook.seen.filter(request => request.operation === 'UPDATE').at(-1)
  assert.deepEqual([last.requestKind.version, last.kind.version], ['v1alpha1', 'v1'])
  assert.equal(await kubectl(['get', 'cert', 'web', '-o', 'jsonpath={.spec.dnsNames}']), '["other.example"]')
  await kubectl(['delete', 'cert', 'web'])
})

testWith(
  'kubectl',
  'a policy engine: failure policies, conditions, selectors, and rules that follow its policies',
  patient,
  async (t, program) => {
    const { apply, kubectl, refused, hook } = await open(t, program, {
      '/validate/fail': ({ object, oldObject, operation }) => {
        const subject = object ?? oldObject
        const isBad = operation === 'DELETE' ? subject.metadata.labels?.keep === 'yes' : subject.data?.bad === 'yes'
        return { allowed: !isBad, status: { message: `resource ${subject.metadata.name} was blocked` }, warnings: ['policy checked'] }
      },
      '/mutate/fail': ({ object }) =>
        patched({
          op: 'add',
          path: '/metadata/annotations',
          value: { ...object.metadata.annotations, 'engine.example.com/patched': 'yes' },
        }),
    })
    await apply('policy-engine.yaml')
    await kubectl(['create', '-f', '-'], namespace('engine'))
    await kubectl(['create', '-f', '-'], configMap('good', { labels: { keep: 'yes' } }))
    assert.equal(await kubectl(['get', 'cm', 'good', '-o', 'jsonpath={.metadata.annotations.engine\\.example\\.com/patched}']), 'yes')
    const bad = (metadata: object = {}) => configMap('bad', metadata, { bad: 'yes' })
    assert.match(
      await refused(['create', '-f', '-'], bad()),
      /admission webhook "validate\.engine\.example\.com-fail" denied the request: resource bad was blocked/,
    )
    assert.match(await refused(['create', '--dry-run=server', '-f', '-'], bad()), /denied the request/)
    assert.match(await refused(['delete', 'cm', 'good']), /resource good was blocked/)
    // Left out by a label, by a namespace, and by the user.
    await kubectl(['create', '-f', '-'], bad({ labels: { 'engine.example.com/skip': '' } }))
    await kubectl(['create', '-n', 'engine', '-f', '-'], bad())
    await kubectl(['create', '-n', 'kube-system', '-f', '-'], bad())
    const asEngine = [
      '--as=system:serviceaccount:engine:controller',
      '--as-group=system:serviceaccounts:engine',
      '--as-group=system:masters',
    ]
    await kubectl(['create', ...asEngine, '-f', '-'], configMap('by-engine', {}, { bad: 'yes' }))
    // The webhook that is down may fail, until its failure policy changes.
    await kubectl(['create', 'secret', 'generic', 'a'])
    const rule = (resource: string) => ({ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource], scope: '*' })
    const patch = (operations: object[]) =>
      kubectl(['patch', 'validatingwebhookconfiguration', 'engine-resource-validating', '--type=json', '-p', JSON.stringify(operations)])
    await patch([{ op: 'replace', path: '/webhooks/1/failurePolicy', value: 'Fail' }])
    assert.match(
      await refused(['create', 'secret', 'generic', 'b']),
      /failed calling webhook "validate\.engine\.example\.com-ignore".*connection refused/,
    )
    // A new policy is about services: the engine changes its rules, and the next request meets them.
    hook.seen.length = 0
    await patch([
      { op: 'add', path: '/webhooks/0/rules/-', value: rule('services') },
      { op: 'remove', path: '/webhooks/1' },
    ])
    await kubectl(['create', 'service', 'clusterip', 's', '--tcp=80'])
    await kubectl(['create', 'secret', 'generic', 'b'])
    assert.deepEqual(
      hook.seen.map(({ resource }) => resource.resource),
      ['services'],
    )
    await kubectl(['label', 'cm', 'good', 'keep-'])
    assert.match(await kubectl(['delete', 'cm', 'good']), /deleted/)
  },
)

testWith(
  'kubectl',
  'constraints: kinds of their own as parameters, and namespaces that only some may leave out',
  patient,
  async (t, program) => {
    const { apply, kubectl, refused, hook } = await open(t, program, {
      '/v1/admit': ({ object }) => ({
        allowed: object.data?.forbidden !== 'yes',
        status: { code: 403, message: '[must-not] it is forbidden' },
      }),
      '/v1/admitlabel': ({ object }) => ({
        allowed: !object.metadata.labels?.['gate.example.com/ignore'],
        status: { code: 403, message: 'only exempt namespaces can have the gate.example.com/ignore label' },
      }),
    })
    await kubectl(['create', '-f', '-'], namespace('exempt', { 'gate.example.com/ignore': 'yes' }))
    await apply('constraints.yaml')
    await kubectl(['wait', '--for=condition=established', 'crd/requiredlabels.constraints.example.com'])
    assert.match(
      await refused(['create', '-f', '-'], namespace('sneaky', { 'gate.example.com/ignore': 'yes' })),
      /only exempt namespaces can have/,
    )
    assert.match(await refused(['label', 'namespace', 'default', 'gate.example.com/ignore=yes']), /only exempt namespaces can have/)
    const forbidden = configMap('x', {}, { forbidden: 'yes' })
    assert.match(
      await refused(['create', '-f', '-'], forbidden),
      /admission webhook "validation\.gate\.example\.com" denied the request: \[must-not\] it is forbidden/,
    )
    await kubectl(['create', '-n', 'exempt', '-f', '-'], forbidden)
    // Without a constraint the policy says nothing; each one that is created is another parameter.
    await kubectl(['create', '-f', '-'], configMap('unowned'))
    const constraint = (name: string, labels: string[], enforced: string) =>
      JSON.stringify({
        apiVersion: 'constraints.example.com/v1',
        kind: 'RequiredLabels',
        metadata: { name, labels: { enforced } },
        spec: { enforcementAction: 'deny', parameters: { labels } },
      })
    await kubectl(['create', '-f', '-'], constraint('owner', ['owner', 'team'], 'yes'))
    await kubectl(['create', '-f', '-'], constraint('later', ['cost-center'], 'no'))
    assert.match(
      await refused(['create', '-f', '-'], configMap('a', { labels: { team: 't' } })),
      /configmaps "a" is forbidden: ValidatingAdmissionPolicy 'gate-required-labels' with binding 'gate-must-have-owner' denied request: you must provide labels: owner/,
    )
    await kubectl(['create', '-f', '-'], configMap('a', { labels: { team: 't', owner: 'o' } }))
    await kubectl(['create', '-n', 'exempt', '-f', '-'], configMap('a'))
    await kubectl(['label', 'requiredlabels', 'later', 'enforced=yes', '--overwrite'])
    assert.match(await refused(['label', 'cm', 'a', 'x=y']), /you must provide labels: cost-center/)
    assert.match(await kubectl(['get', 'constraints']), /owner/)
    // The constraints themselves were checked, too.
    assert.ok(hook.seen.some(({ kind }) => kind.kind === 'RequiredLabels'))
    await kubectl(['delete', 'requiredlabels', '--all'])
    await kubectl(['label', 'cm', 'a', 'x=y'])
  },
)

testWith(
  'kubectl',
  'sidecars: revisions by namespace or pod, injected containers, and a validation that is switched on',
  patient,
  async (t, program) => {
    const inject = ({ object }: any) => {
      const { containers, initContainers, volumes } = object.spec
      if (containers.some(({ name }: any) => name === 'proxy')) return patched()
      const value = {
        name: 'proxy',
        image: 'example.com/proxy',
        ports: [{ containerPort: 15090 }],
        volumeMounts: [{ name: 'certs', mountPath: '/certs' }],
      }
      return patched(
        { op: 'add', path: '/spec/containers/-', value },
        { op: 'add', path: '/spec/initContainers', value: [{ name: 'init', image: 'example.com/init' }, ...(initContainers ?? [])] },
        { op: 'add', path: '/spec/volumes', value: [...(volumes ?? []), { name: 'certs', emptyDir: { medium: 'Memory' } }] },
        {
          op: 'add',
          path: '/metadata/annotations',
          value: { ...object.metadata.annotations, 'sidecar.mesh.example.com/status': 'injected' },
        },
      )
    }
    const { apply, kubectl, refused, hook } = await open(t, program, {
      '/inject/rev-namespace': inject,
      '/inject/rev-object': inject,
      '/inject/namespace': inject,
      // Runs after the injector, and changes what the injector has to see again.
      '/limits': ({ object }) =>
        patched(
          ...object.spec.containers.flatMap(({ resources }: any, i: number) =>
            resources?.limits ? [] : [{ op: 'add', path: `/spec/containers/${i}/resources`, value: { limits: { cpu: '100m' } } }],
          ),
        ),
    })
    await apply('sidecars.yaml')
    await kubectl(['create', '-f', '-'], namespace('revised', { 'mesh.example.com/rev': 'default' }))
    await kubectl(['create', '-f', '-'], namespace('enabled', { 'mesh-injection': 'enabled' }))
    await kubectl(['create', '-f', '-'], namespace('plain'))
    const containersOf = (name: string, where: string) =>
      kubectl(['get', 'pod', name, '-n', where, '-o', 'jsonpath={.spec.containers[*].name}'])
    const created = async (where: string, labels: object = {}) => {
      hook.seen.length = 0
      hook.calls.length = 0
      await kubectl(['create', '-n', where, '-f', '-'], pod('p', labels))
      const names = await containersOf('p', where)
      const asked = hook.calls.map(({ url }) => url.split('?')[0]!.replace('/inject/', ''))
      await kubectl(['delete', 'pod', 'p', '-n', where, '--grace-period=0', '--force'])
      return [names, asked.join(' ')]
    }
    assert.deepEqual(await created('plain'), ['app', '/limits'])
    assert.deepEqual(await created('revised'), ['app proxy', 'rev-namespace /limits rev-namespace'])
    assert.deepEqual(await created('enabled'), ['app proxy', 'namespace /limits namespace'])
    assert.deepEqual(await created('plain', { 'mesh.example.com/rev': 'default' }), ['app proxy', 'rev-object /limits rev-object'])
    assert.deepEqual(await created('revised', { 'sidecar.mesh.example.com/inject': 'false' }), ['app', '/limits'])
    await kubectl(['create', '-n', 'revised', '-f', '-'], pod('kept'))
    const kept = JSON.parse(await kubectl(['get', 'pod', 'kept', '-n', 'revised', '-o', 'json']))
    assert.deepEqual(
      [kept.spec.containers[1].resources, kept.spec.containers[1].imagePullPolicy, kept.spec.initContainers[0].terminationMessagePath],
      [{ limits: { cpu: '100m' }, requests: { cpu: '100m' } }, 'Always', '/dev/termination-log'],
    )
    assert.ok(kept.spec.volumes.some(({ name }: any) => name === 'certs'))
    // The validation is down and may fail; once it is switched on, it may not.
    const meshConfig = configMap('mesh', { labels: { 'mesh.example.com/rev': 'default' } })
    await kubectl(['create', '-f', '-'], meshConfig)
    await kubectl([
      'patch',
      'validatingwebhookconfiguration',
      'mesh-validator',
      '--type=json',
      '-p',
      '[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Fail"}]',
    ])
    assert.match(
      await refused(['label', 'cm', 'mesh', 'a=b']),
      /Internal error occurred: failed calling webhook "rev\.validation\.mesh\.example\.com"/,
    )
    await kubectl(['create', '-f', '-'], configMap('other'))
  },
)
