// Webhooks and policies from files that --admission-control-config-file names, on real servers with real files and webhooks.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { start } from '../src/index.ts'
import type { StartOptions } from '../src/public.d.ts'
import { ask, CONFIG_MAPS, configMap, eventually, patient, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { allow, type Webhook, webhook } from './kits/webhooks.ts'

const API = 'admissionregistration.k8s.io/v1'
const ADMISSION = `/apis/${API}`
const KIND = {
  ValidatingAdmissionWebhook: 'WebhookAdmissionConfiguration',
  MutatingAdmissionWebhook: 'WebhookAdmissionConfiguration',
  ValidatingAdmissionPolicy: 'ValidatingAdmissionPolicyConfiguration',
  MutatingAdmissionPolicy: 'MutatingAdmissionPolicyConfiguration',
}

/** A folder of manifests, and the options of a server whose plugin reads it. */
function folderOf(t: TestContext, plugin: keyof typeof KIND, manifests: Record<string, string>) {
  const root = temporaryDirectory(t)
  const folder = join(root, 'manifests')
  mkdirSync(folder)
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  for (const [name, text] of Object.entries(manifests)) write(name, text)
  const configuration = { apiVersion: 'apiserver.config.k8s.io/v1', kind: KIND[plugin], staticManifestsDir: folder }
  const file = join(root, 'admission.json')
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AdmissionConfiguration',
      plugins: [{ name: plugin, configuration }],
    }),
  )
  const options: StartOptions = { admissionControlConfigFile: file }
  return { folder, write, remove: (name: string) => rmSync(join(folder, name)), options }
}

const create = async (server: Target, path: string, body: object) => {
  const { status, json } = await ask(server, path, { method: 'POST', body })
  return status === 201 ? 'created' : `${status} ${json.message}`
}

const about = (group: string, plural: string) => ({
  resourceRules: [{ apiGroups: [group], apiVersions: ['*'], operations: ['CREATE'], resources: [plural] }],
})
const policy = (name: string, expression: string, matchConstraints: object = about('', 'configmaps')) => ({
  apiVersion: API,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name },
  spec: { matchConstraints, validations: [{ expression, message: 'no' }] },
})
const binding = (name: string, policyName: string) => ({
  apiVersion: API,
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name },
  spec: { policyName, validationActions: ['Deny'] },
})
const yaml = (...objects: object[]) => objects.map(object => JSON.stringify(object, null, 2)).join('\n--- # the next\n')
const DENIED =
  "422 configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p.static.k8s.io' with binding 'b.static.k8s.io' denied request: no"

test('policies of files are in force, are not objects, and hold for the kinds of policies themselves', patient, async t => {
  const everything = {
    resourceRules: [...about('', 'configmaps').resourceRules, ...about('*', 'validatingadmissionpolicies').resourceRules],
  }
  const { options } = folderOf(t, 'ValidatingAdmissionPolicy', {
    'all.yaml': yaml(
      policy('p.static.k8s.io', 'object.metadata.name.startsWith("good")', everything),
      binding('b.static.k8s.io', 'p.static.k8s.io'),
    ),
    'notes.txt': 'not read',
  })
  const server = await startInProcess(t, options)
  assert.equal(await create(server, CONFIG_MAPS, configMap('a', {})), DENIED)
  assert.equal(await create(server, CONFIG_MAPS, configMap('good', {})), 'created')
  const { json } = await ask(server, `${ADMISSION}/validatingadmissionpolicies`)
  assert.deepEqual(json.items, [])
  const made = await create(server, `${ADMISSION}/validatingadmissionpolicies`, policy('other', 'true'))
  assert.match(made, /^422 validatingadmissionpolicies.* "other" is forbidden: ValidatingAdmissionPolicy 'p.static.k8s.io'/)
  assert.equal(await create(server, `${ADMISSION}/validatingadmissionpolicies`, policy('good', 'true')), 'created')
})

test('files that change are read again; those that cannot be used change nothing', patient, async t => {
  const { options, write, remove } = folderOf(t, 'ValidatingAdmissionPolicy', {})
  const server = await startInProcess(t, options)
  const dry = async () => {
    const { status } = await ask(server, `${CONFIG_MAPS}?dryRun=All`, { method: 'POST', body: configMap('a', {}) })
    return status
  }
  assert.equal(await dry(), 201)
  write(
    'b.yml',
    yaml({ apiVersion: 'v1', kind: 'List', items: [policy('p.static.k8s.io', 'false'), binding('b.static.k8s.io', 'p.static.k8s.io')] }),
  )
  await eventually('the policy is in force', async () => (await dry()) === 422 || undefined)
  assert.equal(await create(server, CONFIG_MAPS, configMap('a', {})), DENIED)
  write('c.yaml', 'kind: [')
  const failed = /automatic_reloads_total\{[^}]*plugin="ValidatingAdmissionPolicy",status="failure"\} 1/
  await eventually('the failure is counted', async () => failed.test((await ask(server, '/metrics')).text) || undefined)
  assert.equal(await dry(), 422)
  remove('c.yaml')
  remove('b.yml')
  await eventually('no policy is in force', async () => (await dry()) === 201 || undefined)
})

test('webhooks of files are called before those of clients, and about what clients configure', patient, async t => {
  const called: string[] = []
  const listening = (name: string) =>
    webhook(t, (review, response, request) => {
      // The server has objects of its own.
      if (['a', 'c'].includes(review.request.name)) called.push(`${name} ${review.request.resource.resource}`)
      return allow(review, response, request)
    })
  const [ours, theirs] = [await listening('ours'), await listening('theirs')]
  const configuration = (name: string, { clientConfig }: Webhook) => ({
    apiVersion: API,
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: 'w.example.com',
        clientConfig,
        rules: [
          { apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE'], resources: ['configmaps', 'mutatingwebhookconfigurations'] },
        ],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  })
  const { options } = folderOf(t, 'MutatingAdmissionWebhook', { 'w.json': yaml(configuration('z.static.k8s.io', ours)) })
  const server = await startInProcess(t, options)
  assert.equal(await create(server, `${ADMISSION}/mutatingwebhookconfigurations`, configuration('a', theirs)), 'created')
  assert.deepEqual(called, ['ours mutatingwebhookconfigurations'])
  assert.match(
    await create(server, `${ADMISSION}/mutatingwebhookconfigurations`, configuration('b.static.k8s.io', theirs)),
    /^422 .*reserved/,
  )
  called.splice(0)
  assert.equal(await create(server, CONFIG_MAPS, configMap('c', {})), 'created')
  assert.deepEqual(called, ['ours configmaps', 'theirs configmaps'])
})

test('a start fails on manifests that cannot be in force, and says why', patient, async t => {
  const [p, b] = [policy('p.static.k8s.io', 'true'), binding('b.static.k8s.io', 'p.static.k8s.io')]
  const hook = (clientConfig: object) => ({
    apiVersion: API,
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'w.static.k8s.io' },
    webhooks: [{ name: 'w.example.com', clientConfig, sideEffects: 'None', admissionReviewVersions: ['v1'] }],
  })
  const cases: [plugin: keyof typeof KIND, text: string, wrong: RegExp][] = [
    [
      'ValidatingAdmissionPolicy',
      yaml(policy('p', 'true')),
      /failed to load static policy manifests from ".*": error loading .*m.yaml: "p" in file ".*" must have a name ending with ".static.k8s.io"/,
    ],
    ['ValidatingAdmissionPolicy', yaml(p, p), /duplicate name "p.static.k8s.io" found in file/],
    ['ValidatingAdmissionPolicy', yaml({ ...p, metadata: {} }), /must have a name$/],
    [
      'ValidatingAdmissionPolicy',
      yaml(b),
      /binding "b.static.k8s.io" references policy "p.static.k8s.io" which does not exist in the manifest directory/,
    ],
    ['ValidatingAdmissionPolicy', yaml(p, binding('b.static.k8s.io', 'p')), /spec.policyName "p" must end with ".static.k8s.io"/],
    [
      'ValidatingAdmissionPolicy',
      yaml({ ...p, spec: { ...p.spec, paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } } }),
      /spec.paramKind is not supported for static manifests/,
    ],
    [
      'ValidatingAdmissionPolicy',
      yaml({ ...b, spec: { ...b.spec, paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } } }),
      /spec.paramRef is not supported/,
    ],
    [
      'ValidatingAdmissionPolicy',
      yaml(policy('p.static.k8s.io', '1 +')),
      /error loading .*: .*spec.validations\[0\].expression: Invalid value/,
    ],
    ['ValidatingAdmissionPolicy', yaml({ ...p, spec: { ...p.spec, unknown: 1 } }), /strict decoding error: unknown field "spec.unknown"/],
    ['ValidatingAdmissionPolicy', yaml(configMap('a', {})), /unsupported resource type ConfigMap of v1/],
    [
      'ValidatingAdmissionWebhook',
      yaml(hook({ service: { namespace: 'a', name: 'b' } })),
      /clientConfig.service is not supported for static manifests; use clientConfig.url instead/,
    ],
  ]
  for (const [plugin, text, wrong] of cases) await assert.rejects(start(folderOf(t, plugin, { 'm.yaml': text }).options), wrong, text)
  const off = { featureGates: 'ManifestBasedAdmissionControlConfig=false' }
  await assert.rejects(
    start({ ...folderOf(t, 'ValidatingAdmissionPolicy', {}).options, ...off }),
    /staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled/,
  )
})
