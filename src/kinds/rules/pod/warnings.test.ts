import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refTo } from '../../../schema/refs.ts'
import type { PodTemplateSpec } from './spec.ts'
import { warnAboutPod, warnAboutPodTemplate } from './warnings.ts'

const template = (spec: object, metadata: object = {}) => ({ metadata: { name: 'x', ...metadata }, spec }) as unknown as PodTemplateSpec
const warnings = (spec: object, metadata: object = {}) => [...warnAboutPod(template(spec, metadata))]
const one = (container: object, more: object = {}) => ({ containers: [{ name: 'c', ...container }], ...more })

test('an ordinary pod is not warned about', () => {
  assert.deepEqual(warnings(one({ image: 'a', env: [{ name: 'A' }, { name: 'B' }], ports: [{ containerPort: 1, protocol: 'TCP' }] })), [])
})

test('a name that is no host name', () => {
  assert.deepEqual(warnings(one({}), { name: 'a.b' }), [
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ])
})

test('labels of nodes that have other names now', () => {
  const zone = 'failure-domain.beta.kubernetes.io/zone'
  const advice = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
  assert.deepEqual(warnings(one({}, { nodeSelector: { [zone]: 'a' } })), [`spec.nodeSelector[${zone}]: ${advice}`])
  const term = { matchExpressions: [{ key: zone, operator: 'In', values: ['b d'] }] }
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: term }] }
  const path = 'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0]'
  const [key, value, ...rest] = warnings(one({}, { affinity: { nodeAffinity } }))
  assert.equal(key, `${path}.key: ${zone} is ${advice}`)
  assert.ok(value?.startsWith(`${path}.values[0]: b d is invalid, a valid label must be`))
  assert.deepEqual(rest, [])
})

test('selectors that select nothing', () => {
  const spread = { topologySpreadConstraints: [{ topologyKey: 'zone' }] }
  assert.deepEqual(warnings(one({}, spread)), [
    'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
  ])
  const podAntiAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'x' }, { topologyKey: 'x', labelSelector: {} }],
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'x' } }],
  }
  assert.deepEqual(warnings(one({}, { affinity: { podAntiAffinity } })), [
    'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod',
    'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod',
  ])
})

test('annotations that do nothing any more', () => {
  const key = 'scheduler.alpha.kubernetes.io/critical-pod'
  assert.deepEqual(warnings(one({}), { annotations: { [key]: '' } }), [
    `metadata.annotations[${key}]: non-functional in v1.16+; use the "priorityClassName" field instead`,
  ])
})

test('profiles of AppArmor by annotation', () => {
  const key = 'container.apparmor.security.beta.kubernetes.io/c'
  const advice = 'deprecated since v1.30; use the "appArmorProfile" field instead'
  const own = { securityContext: { appArmorProfile: { type: 'Unconfined' } } }
  assert.deepEqual(warnings(one({}), { annotations: { [key]: 'nonsense' } }), [`metadata.annotations[${key}]: ${advice}`])
  assert.deepEqual(warnings(one(own), { annotations: { [key]: 'unconfined' } }), [`metadata.annotations[${key}]: ${advice}`])
  assert.deepEqual(warnings(one({}, own), { annotations: { [key]: 'unconfined' } }), [])
  const inTemplate = template(one({}), { annotations: { [key]: 'runtime/default' } })
  assert.deepEqual(
    [...warnAboutPodTemplate(inTemplate, refTo({ spec: { template: inTemplate } }).spec.template)],
    [`spec.template.metadata.annotations[${key}]: ${advice}`],
  )
})

test('removed volume plugins', () => {
  assert.deepEqual(
    warnings(
      one(
        {},
        {
          volumes: [
            { name: 'a', gitRepo: {} },
            { name: 'b', storageos: {} },
          ],
        },
      ),
    ),
    [
      'spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
      'spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+',
    ],
  )
})

test('files with conflicting paths', () => {
  const items = [
    { key: 'a', path: 'dir/' },
    { key: 'b', path: 'dir/b' },
    { key: 'c', path: 'directory' },
  ]
  assert.deepEqual(warnings(one({}, { volumes: [{ name: 'v', configMap: { name: 'cm', items } }] })), [
    'volume "v" (ConfigMap "cm"): overlapping paths: "dir/b" with "dir"',
  ])
  const sources = [{ secret: { name: 's', items: [{ key: 'a', path: 'token' }] } }, { serviceAccountToken: { path: 'token' } }, {}]
  assert.deepEqual(warnings(one({}, { volumes: [{ name: 'v', projected: { sources } }] })), [
    'volume "v" (Projected) has no sources provided',
    'volume "v" (Projected): overlapping paths: "token" (ServiceAccountToken) with "token" (Secret "s")',
  ])
})

test('lists that name the same twice', () => {
  const hostAliases = [{ ip: '1.1.1.1' }, { ip: '1.1.1.1' }]
  assert.deepEqual(warnings(one({}, { hostAliases })), ['spec.hostAliases[1].ip: duplicate ip "1.1.1.1"'])
  assert.deepEqual(warnings(one({}, { imagePullSecrets: [{ name: 'a' }, { name: 'a' }, {}] })), [
    'spec.imagePullSecrets[1].name: duplicate name "a"',
    'spec.imagePullSecrets[2].name: invalid empty name ""',
  ])
})

test('parts of a byte', () => {
  const [first, ...rest] = warnings(one({ resources: { limits: { memory: '1500m' }, requests: { cpu: '1m', memory: '1' } } }))
  assert.equal(first, 'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer')
  assert.deepEqual(rest, [])
})

test('variables that replace others', () => {
  const env = [
    { name: 'A', value: '1' },
    { name: 'A', value: '$(A)2' },
    { name: 'A', value: '3' },
  ]
  assert.deepEqual(warnings(one({ env })), [
    'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
  ])
})

test('conflicting ports', () => {
  const port = (more: object) => ({ containerPort: 80, protocol: 'TCP', ...more })
  const ports = [port({ name: 'web' }), port({ name: 'web' }), port({ hostPort: 8080 })]
  const at = 'spec.containers[0].ports'
  assert.deepEqual(warnings(one({ ports })), [
    `${at}[1]: duplicate port definition with ${at}[0]`,
    `${at}[2]: overlapping port definition with ${at}[0]`,
    `${at}[2]: overlapping port definition with ${at}[1]`,
    `${at}[1]: duplicate port name "web" with ${at}[0], services and probes that select ports by name will use ${at}[0]`,
  ])
  assert.deepEqual(warnings(one({ ports: [port({ hostPort: 1 }), port({ hostPort: 1, hostIP: '10.0.0.1' })] })), [
    `${at}[1]: dangerously ambiguous port definition with ${at}[0]`,
  ])
  assert.deepEqual(warnings(one({ ports: [port({ hostIP: '10.0.0.1' })] })), [
    `${at}[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}`,
  ])
})

test('the work for many equal ports is bounded', () => {
  const ports = Array.from({ length: 5000 }, () => ({ containerPort: 80, protocol: 'TCP' }))
  assert.ok(warnings(one({ ports })).length <= 5000 * 20)
})

test('a negative grace period and addresses written in odd ways', () => {
  assert.deepEqual(warnings(one({}, { terminationGracePeriodSeconds: -1, dnsConfig: { nameservers: ['010.0.0.1'] } })), [
    'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    'spec.dnsConfig.nameservers[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
  ])
})
