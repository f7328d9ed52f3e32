// --admission-control-config-file: configuration of plugins, on real servers with real files.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { start } from '../src/index.ts'
import type { StartOptions } from '../src/public.d.ts'
import { ask, CONFIG_MAPS, configMap, eventually, patient, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { reviewWebhook } from './kits/access.ts'
import { allow, webhook } from './kits/webhooks.ts'

const PODS = '/api/v1/namespaces/default/pods'

/** The files of one folder; the first is the configuration. */
function files(t: TestContext, contents: Record<string, string>): string {
  const folder = temporaryDirectory(t)
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text)
  return join(folder, Object.keys(contents)[0]!)
}

const configuring = (plugin: string, configuration: object | string) =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: [{ name: plugin, ...(typeof configuration === 'string' ? { path: configuration } : { configuration }) }],
  })

const open = (t: TestContext, admissionControlConfigFile: string, options: StartOptions = {}) =>
  startInProcess(t, { disableAdmissionPlugins: ['ServiceAccount'], admissionControlConfigFile, ...options })

const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
})
const create = (server: Target, path: string, body: unknown) => ask(server, path, { method: 'POST', body })
const outcome = async (server: Target, path: string, body: unknown) => {
  const { status, json } = await create(server, path, body)
  return status === 201 ? 'created' : `${status} ${json.message}`
}

test('PodSecurity has the defaults and exemptions of the file', patient, async t => {
  const file = files(t, {
    'admission.yaml': configuring('PodSecurity', 'security.yaml'),
    'security.yaml': `apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: { enforce: baseline, enforce-version: v1.30, warn: restricted }
exemptions: { namespaces: [kube-system], usernames: [operator], runtimeClasses: [sandbox] }
`,
  })
  const server = await open(t, file, { disableAdmissionPlugins: ['ServiceAccount', 'RuntimeClass'] })
  assert.equal(
    await outcome(server, PODS, pod('network', { hostNetwork: true })),
    '403 pods "network" is forbidden: violates PodSecurity "baseline:v1.30": host namespaces (hostNetwork=true)',
  )
  const warned = await create(server, PODS, pod('plain'))
  assert.equal(warned.status, 201)
  assert.match(String(warned.headers['warning']), /would violate PodSecurity \\"restricted:latest\\"/)
  assert.equal(await outcome(server, '/api/v1/namespaces/kube-system/pods', pod('network', { hostNetwork: true })), 'created')
  assert.equal(await outcome(server, PODS, pod('box', { hostNetwork: true, runtimeClassName: 'sandbox' })), 'created')
  const asOperator = { 'impersonate-user': 'operator', 'impersonate-group': 'system:masters' }
  const exempt = await ask(server, PODS, { method: 'POST', body: pod('operated', { hostNetwork: true }), headers: asOperator })
  assert.equal(exempt.status, 201)
})

test('PodNodeSelector and PodTolerationRestriction have the values of the cluster', patient, async t => {
  const file = files(t, {
    'admission.yaml': `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodNodeSelector
  path: selectors.yaml
- name: PodTolerationRestriction
  configuration:
    apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
    kind: Configuration
    default: [{ key: shared, operator: Exists }]
    whitelist: [{ key: shared, operator: Exists }, { key: own, operator: Exists }]
`,
    'selectors.yaml': 'podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: "zone=a", default: "zone=a,disk=fast" }\n',
  })
  const server = await open(t, file, {
    enableAdmissionPlugins: ['PodNodeSelector', 'PodTolerationRestriction'],
    disableAdmissionPlugins: ['ServiceAccount', 'DefaultTolerationSeconds'],
  })
  const { json } = await create(server, PODS, pod('p', { nodeSelector: { disk: 'fast' } }))
  assert.deepEqual(json.spec.nodeSelector, { zone: 'a', disk: 'fast' })
  assert.deepEqual(json.spec.tolerations, [{ key: 'shared', operator: 'Exists' }])
  assert.equal(
    await outcome(server, PODS, pod('q', { nodeSelector: { size: 'xl' } })),
    '403 pods "q" is forbidden: pod node label selector labels conflict with its namespace whitelist',
  )
  assert.equal(
    await outcome(server, PODS, pod('r', { tolerations: [{ key: 'other', operator: 'Exists' }] })),
    '500 pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist',
  )
})

test('the configuration of PodNodeSelector may be the whole file, as it once was', patient, async t => {
  const file = files(t, { selectors: '{"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "zone=a"}}' })
  const server = await open(t, file, { enableAdmissionPlugins: ['PodNodeSelector'] })
  assert.deepEqual((await create(server, PODS, pod('p'))).json.spec.nodeSelector, { zone: 'a' })
})

test('resources that ResourceQuota limits can be used only where a quota covers them', patient, async t => {
  const limitedResources = [
    { resource: 'configmaps', matchContains: ['count/configmaps'] },
    { apiGroup: '', resource: 'pods', matchScopes: [{ scopeName: 'PriorityClass', operator: 'In', values: ['critical'] }] },
  ]
  const configuration = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'ResourceQuotaConfiguration', limitedResources }
  const server = await open(t, files(t, { file: configuring('ResourceQuota', configuration) }))
  const priorityClass = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'critical' }, value: 10 }
  await create(server, '/apis/scheduling.k8s.io/v1/priorityclasses', priorityClass)
  const quota = (name: string, spec: object) =>
    create(server, '/api/v1/namespaces/default/resourcequotas', {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name },
      spec,
    })
  const wait = (name: string) =>
    eventually(`${name} being in force`, async () => {
      const { json } = await ask(server, `/api/v1/namespaces/default/resourcequotas/${name}`)
      return json.status?.used ? true : undefined
    })
  assert.equal(
    await outcome(server, CONFIG_MAPS, configMap('a')),
    '403 configmaps "a" is forbidden: insufficient quota to consume: count/configmaps',
  )
  assert.equal(
    await outcome(server, PODS, pod('p', { priorityClassName: 'critical' })),
    '500 insufficient quota to match these scopes: [{PriorityClass In [critical]}]',
  )
  assert.equal(await outcome(server, PODS, pod('q')), 'created')
  await quota('maps', { hard: { 'count/configmaps': '3' } })
  await quota('critical', {
    hard: { pods: '1' },
    scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['critical'] }] },
  })
  await wait('maps')
  await wait('critical')
  assert.equal(await outcome(server, CONFIG_MAPS, configMap('a')), 'created')
  assert.equal(await outcome(server, PODS, pod('p', { priorityClassName: 'critical' })), 'created')
  assert.match(
    await outcome(server, PODS, pod('r', { priorityClassName: 'critical' })),
    /^403 .* exceeded quota: critical, requested: pods=1/,
  )
})

test('webhooks are sent the credentials that the kubeconfig has for their host, and no others', patient, async t => {
  const [named, other] = [await webhook(t, allow), await webhook(t, allow)]
  const kubeconfig = files(t, {
    kubeconfig: `apiVersion: v1
kind: Config
users:
- name: "127.0.0.1:${named.port}"
  user: { token: for-one-host }
- name: "*.example.com"
  user: { token: for-others }
`,
  })
  const settings = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'WebhookAdmissionConfiguration', kubeConfigFile: kubeconfig }
  const server = await open(t, files(t, { file: configuring('ValidatingAdmissionWebhook', settings) }))
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }]
  const each = { rules, sideEffects: 'None', admissionReviewVersions: ['v1'] }
  const { status, text } = await create(server, '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'both' },
    webhooks: [
      { ...each, name: 'named.example.com', clientConfig: named.clientConfig },
      { ...each, name: 'other.example.com', clientConfig: other.clientConfig },
    ],
  })
  assert.equal(status, 201, text)
  assert.equal(await outcome(server, CONFIG_MAPS, configMap('a')), 'created')
  assert.equal(named.calls[0]?.headers['authorization'], 'Bearer for-one-host')
  assert.equal(other.calls[0]?.headers['authorization'], undefined)
})

const EVENTS = '/api/v1/namespaces/default/events'
const event = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: 'default' },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
  source: { component: 'kubelet', host: 'n' },
  reason: 'r',
  message: 'm',
  type: 'Normal',
  ...more,
})

/** A configuration of EventRateLimit. */
const limiting = (...limits: object[]) =>
  configuring('EventRateLimit', { apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1', kind: 'Configuration', limits })

test('EventRateLimit rejects events beyond each of its limits', patient, async t => {
  const file = files(t, {
    file: limiting({ type: 'SourceAndObject', qps: 1, burst: 1, cacheSize: 1 }, { type: 'User', qps: 1, burst: 1000 }),
  })
  const server = await open(t, file, { enableAdmissionPlugins: ['EventRateLimit'], controllers: ['none'] })
  const inOneSecond = await Promise.all(Array.from({ length: 20 }, (_, i) => create(server, EVENTS, event(`e${i}`))))
  const refused = inOneSecond.filter(({ status }) => status !== 201)
  assert.ok(refused.length >= 1)
  const { status, json, headers } = refused[0]!
  assert.equal(status, 429)
  assert.deepEqual(json, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Too many requests: limit reached on type SourceAndObject for key kubeletnPoddefaultp',
    reason: 'TooManyRequests',
    code: 429,
  })
  assert.equal(headers['retry-after'], undefined)
  // Another object has a bucket of its own, and the only place in the cache: the first one begins anew.
  assert.equal(await outcome(server, EVENTS, event('other', { source: { component: 'scheduler' } })), 'created')
  assert.equal(await outcome(server, EVENTS, event('again')), 'created')
  // Dry runs, events of the other group and other kinds are not counted.
  const dry = await Promise.all(Array.from({ length: 5 }, (_, i) => outcome(server, `${EVENTS}?dryRun=All`, event(`d${i}`))))
  assert.deepEqual(new Set(dry), new Set(['created']))
  assert.equal(await outcome(server, CONFIG_MAPS, configMap('a')), 'created')
})

test('EventRateLimit names every limit that an event is beyond', patient, async t => {
  const limits = ['Server', 'Namespace', 'User'].map(type => ({ type, qps: 1, burst: 1 }))
  const server = await open(t, files(t, { file: limiting(...limits) }), {
    enableAdmissionPlugins: ['EventRateLimit'],
    controllers: ['none'],
  })
  const all = await Promise.all(Array.from({ length: 20 }, (_, i) => outcome(server, EVENTS, event(`e${i}`))))
  assert.ok(
    all.includes(
      '429 Too many requests: [limit reached on type Server for key , limit reached on type Namespace for key default, limit reached on type User for key kubernetes-admin]',
    ),
    all.join('\n'),
  )
})

const imagePolicy = (kubeConfigFile: string, more: object = {}) =>
  configuring('ImagePolicyWebhook', { imagePolicy: { kubeConfigFile, retryBackoff: 1, ...more } })

test('ImagePolicyWebhook asks about the images of pods and remembers the answers', patient, async t => {
  const review = await reviewWebhook(t, ({ containers }) =>
    containers.some(({ image }: { image: string }) => image === 'bad')
      ? { allowed: false, reason: 'not from our registry', auditAnnotations: { who: 'me' } }
      : containers.some(({ image }: { image: string }) => image === 'odd')
        ? { allowed: false }
        : { allowed: true },
  )
  const server = await open(t, files(t, { file: imagePolicy(review.kubeconfig) }), { enableAdmissionPlugins: ['ImagePolicyWebhook'] })
  const running = (name: string, image: string, more: object = {}) => pod(name, { containers: [{ name: 'c', image }], ...more })
  const annotated = running('a', 'good', { initContainers: [{ name: 'i', image: 'first' }] })
  const annotations = { 'x.image-policy.k8s.io/ticket': '7', other: 'value' }
  assert.equal(await outcome(server, PODS, { ...annotated, metadata: { name: 'a', annotations } }), 'created')
  assert.deepEqual(review.reviews, [
    {
      kind: 'ImageReview',
      apiVersion: 'imagepolicy.k8s.io/v1alpha1',
      metadata: {},
      spec: {
        containers: [{ image: 'good' }, { image: 'first' }],
        annotations: { 'x.image-policy.k8s.io/ticket': '7' },
        namespace: 'default',
      },
      status: { allowed: false },
    },
  ])
  const denial = '403 pods "b" is forbidden: image policy webhook backend denied one or more images: not from our registry'
  assert.equal(await outcome(server, PODS, running('b', 'bad')), denial)
  assert.equal(await outcome(server, PODS, running('b', 'bad')), denial)
  assert.equal(review.reviews.length, 2)
  assert.equal(
    await outcome(server, PODS, running('c', 'odd')),
    '403 pods "c" is forbidden: one or more images rejected by webhook backend',
  )
  const debugging = { spec: { ephemeralContainers: [{ name: 'd', image: 'bad' }] } }
  const { status } = await ask(server, `${PODS}/a/ephemeralcontainers`, {
    method: 'PATCH',
    body: debugging,
    headers: { 'content-type': 'application/strategic-merge-patch+json' },
  })
  assert.equal(status, 403)
  assert.deepEqual(review.reviews.at(-1)!.spec.containers, [{ image: 'bad' }])
})

test('while the image policy cannot be asked, pods are rejected, or marked where they are allowed by default', patient, async t => {
  const review = await reviewWebhook(t, () => 500)
  const options = { enableAdmissionPlugins: ['ImagePolicyWebhook'] }
  const strict = await open(t, files(t, { file: imagePolicy(review.kubeconfig) }), options)
  assert.equal(
    await outcome(strict, PODS, pod('p')),
    '403 pods "p" is forbidden: an error on the server ("broken") has prevented the request from succeeding',
  )
  assert.equal(review.reviews.length, 5)
  const lenient = await open(t, files(t, { file: imagePolicy(review.kubeconfig, { defaultAllow: true }) }), options)
  const { status, json } = await create(lenient, PODS, pod('p'))
  assert.equal(status, 201)
  assert.deepEqual(json.metadata.annotations, { 'alpha.image-policy.k8s.io/failed-open': 'true' })
})

test('a file that cannot be used ends the start and names file, plugin and field', patient, async t => {
  const started = (text: string, options: StartOptions = {}) => start({ admissionControlConfigFile: files(t, { file: text }), ...options })
  const security = { apiVersion: 'pod-security.admission.config.k8s.io/v1', kind: 'PodSecurityConfiguration' }
  const quota = { apiVersion: 'resourcequota.admission.k8s.io/v1beta1', kind: 'Configuration' }
  const webhooks = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'WebhookAdmissionConfiguration' }
  const cases: [text: string, wrong: RegExp][] = [
    ['[]', /^Error: admissionControlConfigFile: .*\/file: it is not a document with fields$/],
    ['plugins: []', /Object 'Kind' is missing$/],
    ['{"kind": "AdmissionConfiguration", "apiVersion": "v1"}', /no kind "AdmissionConfiguration" is registered for version "v1"/],
    [
      configuring('PodSecurity', { ...security, defaults: { enforced: 'x' } }),
      /"PodSecurity": strict decoding error: unknown field "defaults.enforced"$/,
    ],
    [configuring('PodSecurity', { ...security, kind: 'Other' }), /"PodSecurity": no kind "Other" is registered/],
    [
      configuring('PodSecurity', { ...security, defaults: { enforce: 'strict', 'warn-version': '1.30' } }),
      /"PodSecurity": \[defaults.enforce: Invalid value: "strict": must be one of privileged, baseline, restricted, defaults.warn-version: Invalid value: "1.30": must be "latest" or "v1.x"\]$/,
    ],
    [
      configuring('PodSecurity', { ...security, exemptions: { usernames: ['a', 'a', ''], namespaces: ['A'] } }),
      /exemptions.namespaces\[0\]: Invalid value: "A": .*, exemptions.usernames\[1\]: Duplicate value: "a", exemptions.usernames\[2\]: Invalid value: "": username must not be empty\]$/,
    ],
    [configuring('PodSecurity', 'nowhere.yaml'), /^Error: admissionControlConfigFile: cannot read .*\/nowhere.yaml: ENOENT/],
    [
      configuring('ResourceQuota', { ...quota, limitedResources: [{ matchContains: ['x'] }] }),
      /"ResourceQuota": limitedResources\[0\].resource: Required value$/,
    ],
    [
      configuring('MutatingAdmissionWebhook', { ...webhooks, kubeConfigFile: 'here' }),
      /"MutatingAdmissionWebhook": kubeConfigFile: Invalid value: "here": must be an absolute file path$/,
    ],
    [
      configuring('ValidatingAdmissionWebhook', { ...webhooks, staticManifestsDir: 'here' }),
      /"ValidatingAdmissionWebhook": staticManifestsDir: Invalid value: "here": must be an absolute file path$/,
    ],
    [
      configuring('ValidatingAdmissionWebhook', { ...webhooks, staticManifestsDir: '/nowhere' }),
      /staticManifestsDir: Invalid value: "\/nowhere": unable to read: ENOENT/,
    ],
    [
      configuring('ValidatingAdmissionWebhook', { ...webhooks, staticManifestsDir: process.execPath }),
      /staticManifestsDir: Invalid value: ".*": must be a directory$/,
    ],
  ]
  for (const [text, wrong] of cases) await assert.rejects(started(text), wrong, text)
  for (const plugin of ['EventRateLimit', 'ImagePolicyWebhook'])
    await assert.rejects(
      start({ enableAdmissionPlugins: [plugin] }),
      new RegExp(`couldn't init admission plugin "${plugin}": no config specified; admissionControlConfigFile`),
    )
  const enabled = { enableAdmissionPlugins: ['EventRateLimit', 'ImagePolicyWebhook'] }
  await assert.rejects(
    started(limiting({ type: 'Pod', cacheSize: -1 }), enabled),
    /"EventRateLimit": \[limits\[0\].type: Unsupported value: "Pod": supported values: "Namespace", "Server", "SourceAndObject", "User", limits\[0\].burst: Invalid value: 0: must be positive, limits\[0\].qps: Invalid value: 0: must be positive, limits\[0\].cacheSize: Invalid value: -1: must not be negative\]$/,
  )
  await assert.rejects(started(limiting(), enabled), /"EventRateLimit": limits: Invalid value: .*: must not be empty$/)
  await assert.rejects(
    started(imagePolicy('/nowhere', { allowTTL: 7200 }), enabled),
    /"ImagePolicyWebhook": imagePolicy.allowTTL: Invalid value: 7200: valid value is between 1s and 30m0s, got 2h0m0s$/,
  )
  await assert.rejects(started(imagePolicy('/nowhere'), enabled), /cannot read \/nowhere/)
  await assert.rejects(start({ admissionControlConfigFile: '/nowhere' }), /cannot read \/nowhere/)
  // The configuration of a disabled plugin is not checked.
  const server = await started(configuring('PodSecurity', 'nowhere.yaml'), { disableAdmissionPlugins: ['PodSecurity'] })
  await server.close()
})
