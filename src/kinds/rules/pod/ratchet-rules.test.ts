import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conformed, container, podSpec, templateErrors } from '../../../../test/kits/kinds/pod-shapes.ts'
import { POD_OPTIONS, type PodOptions } from './options.ts'
import { gatedPodOptions, podOptionsFor } from './ratchet-rules.ts'
import { PodTemplateSpec } from './spec.ts'

const stored = (draft: object) => podOptionsFor(conformed<PodTemplateSpec>(PodTemplateSpec, draft))
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }
const selector = { matchExpressions: [{ key: 'a', operator: 'In', values: ['-'] }] }

const rows: readonly (readonly [option: keyof PodOptions, draft: { metadata?: object; spec: object }])[] = [
  ['allowInvalidDeletionCost', { metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': 'x' } }, spec: podSpec() }],
  [
    'allowInvalidAffinitySelectors',
    {
      spec: podSpec({
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'z', labelSelector: selector }] } },
      }),
    },
  ],
  [
    'allowInvalidNodeAffinityValues',
    {
      spec: podSpec({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [selector] } } } }),
    },
  ],
  ['allowInvalidSpreadSelectors', { spec: podSpec({ topologySpreadConstraints: [{ ...spread, labelSelector: selector }] }) }],
  [
    'allowIndivisibleHugePages',
    { spec: podSpec({ containers: [container({ resources: { limits: { cpu: '1', 'hugepages-2Mi': '3Mi' } } })] }) },
  ],
  [
    'allowNonLocalTokenPaths',
    { spec: podSpec({ volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: '/x' } }] } }] }) },
  ],
  ['allowHostSysctls', { spec: podSpec({ hostNetwork: true, securityContext: { sysctls: [{ name: 'net.x', value: '1' }] } }) }],
  [
    'allowRestartOnInitResize',
    {
      spec: podSpec({
        initContainers: [container({ name: 'i', resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] })],
      }),
    },
  ],
  [
    'allowVolumeDevicesInUserNamespaces',
    {
      spec: podSpec({
        hostUsers: false,
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
        containers: [container({ volumeDevices: [{ name: 'v', devicePath: '/v' }] })],
      }),
    },
  ],
  ['allowEmptyImageVolumes', { spec: podSpec({ volumes: [{ name: 'v', image: { pullPolicy: 'Always' } }] }) }],
  [
    'allowSysAdminWithoutEscalation',
    {
      spec: podSpec({
        containers: [container({ securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } } })],
      }),
    },
  ],
  ['numericTolerations', { spec: podSpec({ tolerations: [{ key: 'a', operator: 'Gt', value: '1' }] }) }],
  ['hostNetworkUserNamespaces', { spec: podSpec({ hostUsers: false, hostNetwork: true }) }],
]
for (const [option, draft] of rows)
  test(`stored invalid values may be kept on update: ${option}`, () => {
    assert.equal(POD_OPTIONS[option], false)
    assert.notDeepEqual(templateErrors(draft), [])
    const options = stored(draft)
    assert.equal(options[option], true)
    assert.deepEqual(templateErrors(draft, options), [])
  })

test('nothing is forgiven a pod that is right', () => assert.deepEqual(stored({ spec: podSpec() }), POD_OPTIONS))

test('a stored constraint that breaks one rule on keys is held to the other', () => {
  const draft = {
    spec: podSpec({ topologySpreadConstraints: [{ ...spread, matchLabelKeys: ['a'], labelSelector: { matchLabels: { a: 'b' } } }] }),
  }
  const template = conformed<PodTemplateSpec>(PodTemplateSpec, draft)
  assert.equal(podOptionsFor(template, { ...POD_OPTIONS, matchLabelKeysMerge: false }).allowOtherSpreadKeyRule, true)
  assert.equal(podOptionsFor(template).allowOtherSpreadKeyRule, false)
})

test('features that are off show in the options', () => {
  assert.deepEqual(
    gatedPodOptions(name => ON.has(name)),
    POD_OPTIONS,
  )
  const off = gatedPodOptions(() => false)
  assert.equal(off.restartRules, false)
  assert.equal(off.onlyRecursiveSELinuxChange, true)
  assert.equal(off.numericTolerations, false)
  assert.equal(gatedPodOptions(name => name === 'TaintTolerationComparisonOperators').numericTolerations, true)
})
const ON = new Set([
  'PodLevelResources',
  'InPlacePodLevelResourcesVerticalScaling',
  'ContainerRestartRules',
  'RestartAllContainersOnContainerExits',
  'EnvFiles',
  'SELinuxMount',
  'MatchLabelKeysInPodTopologySpread',
  'MatchLabelKeysInPodTopologySpreadSelectorMerge',
  'PodDeletionCost',
  'StrictIPCIDRValidation',
])

test('features that are off stay usable where they are used', () => {
  const off = gatedPodOptions(() => false)
  const draft = {
    spec: podSpec({
      containers: [
        container({
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }],
        }),
      ],
    }),
  }
  const options = podOptionsFor(conformed<PodTemplateSpec>(PodTemplateSpec, draft), off)
  assert.equal(options.restartRules && options.restartAllContainers, true)
  assert.deepEqual(templateErrors(draft, options), [])
})
