// `keelson check`: everything the API says about manifests, with file and line, as text, JSON and SARIF.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { keelson, patient, type Scope, temporaryDirectory } from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { WIDGETS } from './samples.ts'

function manifests(t: Scope, files: Readonly<Record<string, string>>): string {
  const folder = temporaryDirectory(t)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

const NAMESPACE = `apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: { pod-security.kubernetes.io/warn: restricted }
`
const DEPLOYMENT = `# the shop
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop }
spec:
  replicas: -1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containerz: []
      containers:
      - name: main
        image: ''
`
/** A kind whose version is deprecated, with a rule in CEL. */
const GADGETS = {
  ...WIDGETS,
  metadata: { name: 'gadgets.example.com' },
  spec: {
    ...WIDGETS.spec,
    names: { plural: 'gadgets', kind: 'Gadget' },
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        deprecated: true,
        deprecationWarning: 'v1beta1 Gadgets are old',
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { size: { type: 'integer' } },
                'x-kubernetes-validations': [{ rule: 'self.size < 3', message: 'gadgets are small' }],
              },
            },
          },
        },
      },
    ],
  },
}
const configMap = (name: string, more = '') => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n${more}`

test('every error has its file, line and field; unknown fields do not hide others', patient, async t => {
  const folder = manifests(t, { 'a.yaml': `${NAMESPACE}---\n${DEPLOYMENT}`, 'b.yaml': 'a: [\n', 'ignored.txt': 'no: manifest' })
  const { code, stdout, stderr } = await keelson('check', folder)
  assert.deepEqual([code, stderr], [3, ''])
  assert.deepEqual(stdout.replaceAll(folder, '').split('\n'), [
    '/a.yaml:12:3: error: Deployment shop/web: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    '/a.yaml:17:7: error: Deployment shop/web: spec.template.spec.containerz: unknown field',
    '/a.yaml:20:9: error: Deployment shop/web: spec.template.spec.containers[0].image: Required value',
    '/b.yaml:2:1: error: no YAML: deficient indentation',
    '2 objects: 4 errors, 0 warnings',
    '',
  ])
})

test('valid manifests are valid, warnings fail only on request, and the same object twice is an error', patient, async t => {
  const pod = `apiVersion: v1\nkind: Pod\nmetadata: { name: p, namespace: shop }\nspec: { containers: [{ name: a, image: b }] }\n`
  const folder = manifests(t, {
    'a.yaml': NAMESPACE,
    'b.json': JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }),
    'c.yaml': pod,
  })
  const warned = await keelsonHere('check', folder)
  assert.equal(warned.code, 0)
  assert.match(warned.stdout, /c\.yaml:1:1: warning: Pod shop\/p: would violate PodSecurity "restricted:latest"/)
  assert.match(warned.stdout, /\n2 objects: 0 errors, 1 warning\n$/)
  assert.equal((await keelsonHere('check', folder, '--fail-on', 'warning')).code, 3)
  const twice = manifests(t, { 'a.yaml': configMap('one'), 'b.yaml': configMap('one') })
  const { code, stdout } = await keelsonHere('check', join(twice, 'a.yaml'), join(twice, 'b.yaml'))
  assert.equal(code, 3)
  assert.match(stdout, /b\.yaml:3:13: error: ConfigMap one: metadata\.name: the same object is at \S+a\.yaml:1\n/)
})

test('policies, quotas and custom kinds come from other files', patient, async t => {
  const policies = manifests(t, {
    'crd.yaml': JSON.stringify(WIDGETS),
    'rules.yaml': JSON.stringify(GADGETS),
    'quota.yaml': 'apiVersion: v1\nkind: ResourceQuota\nmetadata: { name: q }\nspec: { hard: { count/configmaps: "1" } }\n',
    'policy.yaml': `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: no-secrets }
spec:
  matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [secrets] }] }
  validations: [{ expression: 'false', message: secrets are elsewhere }]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: no-secrets }
spec: { policyName: no-secrets, validationActions: [Deny] }
`,
  })
  const widget = 'apiVersion: example.com/v1\nkind: Widget\nmetadata: { name: w }\nspec: { size: 1 }\n'
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\n'
  const gadget = 'apiVersion: example.com/v1beta1\nkind: Gadget\nmetadata: { name: g }\nspec: { size: 3 }\n'
  const folder = manifests(t, { 'all.yaml': [widget, secret, configMap('a'), configMap('b'), gadget].join('---\n') })
  const { code, stdout } = await keelsonHere('check', folder, '--policies', policies, '--output', 'json')
  assert.equal(code, 3)
  const { objects, findings } = JSON.parse(stdout) as {
    objects: number
    findings: { line: number; rule: string; object: string; message: string }[]
  }
  assert.equal(objects, 5)
  assert.deepEqual(
    findings.map(({ line, rule, object }) => [line, rule, object]),
    [
      [6, 'Invalid', 'Secret s'],
      [14, 'Forbidden', 'ConfigMap b'],
      [18, 'Warning', 'Gadget g'],
      [21, 'Invalid', 'Gadget g'],
    ],
  )
  assert.match(findings[2]!.message, /v1beta1 Gadgets are old/)
  assert.match(findings[3]!.message, /gadgets are small/)
  assert.match(findings[0]!.message, /secrets are elsewhere/)
  assert.match(findings[1]!.message, /exceeded quota: q/)
  const unknown = await keelsonHere('check', folder, '--output', 'sarif')
  const { runs } = JSON.parse(unknown.stdout)
  assert.deepEqual(
    runs[0].results.map((result: any) => [result.ruleId, result.level, result.locations[0].physicalLocation.region]),
    [2, 19].map(startLine => ['UnknownKind', 'error', { startLine, startColumn: 1 }]),
  )
  assert.equal((await keelsonHere('check', folder, '--skip-unknown-kinds')).code, 0)
})

test('a path that does not exist, an empty folder and wrong flags are clear errors', patient, async t => {
  const refused = async (...args: string[]) => {
    const { code, stderr } = await keelsonHere('check', ...args)
    return [code, stderr.trim()]
  }
  assert.match(String(await refused('/nowhere.yaml')), /^1,keelson: \/nowhere\.yaml: ENOENT: no such file or directory/)
  const empty = temporaryDirectory(t)
  assert.deepEqual(await refused(empty), [1, `keelson: there are no manifests in ${empty}`])
  assert.match(String(await refused()), /which manifests\?/)
  assert.match(String(await refused(empty, '--fail-on', 'all')), /--fail-on takes error or warning, not "all"/)
})
