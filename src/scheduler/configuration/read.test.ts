// Reading of scheduler configurations: the defaults, the profiles that they make, and the messages about mistakes, which are kube-scheduler's.
import assert from 'node:assert/strict'
import test from 'node:test'
import { DEFAULT_PROFILE, defaultProfile, type Profile } from '../profile.ts'
import { DEFAULT_SETTINGS } from '../settings.ts'
import { readSchedulerConfiguration } from './read.ts'

const HEAD = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n'
const OFF = new Set(['GenericWorkload', 'TopologyAwareWorkloadScheduling', 'InPlacePodVerticalScalingSchedulerPreemption'])
const gate = (name: string) => !OFF.has(name)

const read = (fields: object | string = '', gates = gate) =>
  readSchedulerConfiguration(HEAD + (typeof fields === 'string' ? fields : yamlOf(fields)), gates)
/** JSON is YAML, line by line for the fields at the top. */
const yamlOf = (fields: object) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('')
const messageOf = (fields: object | string, gates = gate): string => {
  try {
    read(fields, gates)
  } catch (error) {
    return (error as Error).message
  }
  return 'no error'
}
const profileOf = (profile: object, gates = gate): Profile => read({ profiles: [profile] }, gates).profiles[0]!

/** The plugins at each point, by name; scorers with their weights. */
const shown = ({ gates, filters, scorers, postFilters, reservers, preemption, percentageOfNodesToScore }: Profile) => ({
  gates: gates.map(({ name }) => name),
  filters: filters.map(({ name }) => name),
  scorers: scorers.map(({ plugin, weight }) => `${plugin.name} ${weight}`),
  postFilters: postFilters.map(({ name }) => name),
  reservers: reservers.map(({ name }) => name),
  preemption,
  percentageOfNodesToScore,
})

test('an empty configuration is that of a scheduler without one', () => {
  const { profiles, backOff } = read()
  assert.deepEqual(profiles.map(shown), [shown(defaultProfile(gate))])
  assert.deepEqual([profiles[0]!.schedulerName, backOff], ['default-scheduler', DEFAULT_SETTINGS.backOff])
  const without = (name: string) => gate(name) && name !== 'NodeDeclaredFeatures'
  assert.deepEqual(read('', without).profiles.map(shown), [shown(defaultProfile(without))])
  const withResizes = (name: string) => gate(name) || name === 'InPlacePodVerticalScalingSchedulerPreemption'
  assert.deepEqual(read('', withResizes).profiles.map(shown), [shown(DEFAULT_PROFILE)])
})

test('profiles have names, shares of nodes and arguments of their own', () => {
  const { profiles, backOff } = read({
    percentageOfNodesToScore: 30,
    podInitialBackoffSeconds: 2,
    podMaxBackoffSeconds: 60,
    profiles: [
      { schedulerName: 'a' },
      {
        schedulerName: 'b',
        percentageOfNodesToScore: 70,
        pluginConfig: [{ name: 'DefaultPreemption', args: { minCandidateNodesPercentage: 20 } }],
      },
    ],
  })
  assert.deepEqual(
    profiles.map(({ schedulerName, percentageOfNodesToScore, preemption }) => [schedulerName, percentageOfNodesToScore, preemption]),
    [
      ['a', 30, { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 }],
      ['b', 70, { minCandidateNodesPercentage: 20, minCandidateNodesAbsolute: 100 }],
    ],
  )
  assert.deepEqual(backOff, { firstMs: 2000, mostMs: 60_000 })
})

test('plugins are disabled at one point or everywhere, and enabled again in another order and with another weight', () => {
  const { scorers, filters } = shown(
    profileOf({
      plugins: {
        score: { disabled: [{ name: '*' }], enabled: [{ name: 'ImageLocality', weight: 7 }, { name: 'NodeResourcesFit' }] },
        filter: { disabled: [{ name: 'NodePorts' }], enabled: [{ name: 'NodeUnschedulable' }] },
      },
    }),
  )
  assert.deepEqual(scorers, ['ImageLocality 7', 'NodeResourcesFit 1'])
  assert.deepEqual(filters.slice(0, 2), ['NodeUnschedulable', 'NodeName'])
  // It still prepares: only its test of nodes is gone.
  assert.equal(filters.at(-1), 'NodePorts')

  const everywhere = shown(
    profileOf({
      plugins: {
        multiPoint: {
          disabled: [{ name: 'DefaultPreemption' }, { name: 'VolumeBinding' }],
          enabled: [{ name: 'NodeAffinity', weight: 9 }],
        },
      },
    }),
  )
  assert.equal(everywhere.preemption, undefined)
  assert.deepEqual(everywhere.reservers, ['DynamicResources'])
  assert.ok(!everywhere.filters.includes('VolumeBinding'))
  assert.deepEqual(everywhere.scorers.slice(0, 2), ['TaintToleration 3', 'NodeAffinity 9'])

  const few = shown(
    profileOf({
      plugins: {
        multiPoint: {
          disabled: [{ name: '*' }],
          enabled: ['DefaultBinder', 'PrioritySort', 'NodeResourcesFit', 'NodeName'].map(name => ({ name })),
        },
      },
    }),
  )
  assert.deepEqual([few.filters, few.scorers, few.gates], [['NodeResourcesFit', 'NodeName'], ['NodeResourcesFit 1'], []])
})

test('gates decide about plugins', () => {
  const names = (gates: (name: string) => boolean) => shown(profileOf({}, gates)).filters
  assert.ok(names(gate).includes('NodeDeclaredFeatures'))
  assert.ok(!names(name => gate(name) && name !== 'NodeDeclaredFeatures').includes('NodeDeclaredFeatures'))
})

const where = 'initializing profiles: creating profile for scheduler name default-scheduler:'

const CASES: readonly (readonly [what: string, fields: object | string, message: string])[] = [
  [
    'a field twice',
    'parallelism: 1\nparallelism: 2\nnope: 1\n',
    'strict decoding error: yaml: unmarshal errors:\n  line 4: key "parallelism" already set in map, unknown field "nope"',
  ],
  [
    'a value of another type',
    'parallelism: many\n',
    'json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32',
  ],
  ['an unknown field', 'nope: 1\n', 'strict decoding error: unknown field "nope"'],
  [
    'unknown fields further in, also of arguments',
    { profiles: [{ pluginConfig: [{ name: 'NodeResourcesFit', args: { nope: 1 } }], what: 1 }] },
    'strict decoding error: unknown field "profiles[0].what", decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin NodeResourcesFit: strict decoding error: unknown field "nope"',
  ],
  [
    'arguments of another plugin',
    {
      profiles: [
        { pluginConfig: [{ name: 'NodeAffinity', args: { kind: 'NodeResourcesFitArgs', apiVersion: 'kubescheduler.config.k8s.io/v1' } }] },
      ],
    },
    'decoding .profiles[0].pluginConfig[0]: args for plugin NodeAffinity were not of type NodeAffinityArgs.kubescheduler.config.k8s.io, got NodeResourcesFitArgs.kubescheduler.config.k8s.io',
  ],
  [
    'several profiles without names',
    { profiles: [{}, {}] },
    '[profiles[0].schedulerName: Required value, profiles[1].schedulerName: Required value, profiles[1].schedulerName: Duplicate value: {}]',
  ],
  [
    'numbers out of range',
    {
      parallelism: 0,
      percentageOfNodesToScore: 101,
      podInitialBackoffSeconds: 0,
      podMaxBackoffSeconds: -1,
      clientConnection: { burst: -1 },
    },
    '[clientConnection.burst: Invalid value: -1: must be non-negative, parallelism: Invalid value: 0: should be an integer value greater than zero, percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100], podInitialBackoffSeconds: Invalid value: 0: must be greater than 0, podMaxBackoffSeconds: Invalid value: -1: must be greater than or equal to PodInitialBackoffSeconds]',
  ],
  [
    'a leader election that cannot work',
    { leaderElection: { leaderElect: true, leaseDuration: '5s', resourceLock: 'endpoints' } },
    '[leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`, leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"]',
  ],
  [
    'a plugin that is gone',
    { profiles: [{ plugins: { filter: { enabled: [{ name: 'EBSLimits' }] } } }] },
    'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
  ],
  [
    'an unknown plugin',
    { profiles: [{ plugins: { filter: { enabled: [{ name: 'Mine' }] } } }] },
    `${where} FilterPlugin "Mine" does not exist`,
  ],
  [
    'an unknown plugin for all points',
    { profiles: [{ plugins: { multiPoint: { enabled: [{ name: 'Mine' }] } } }] },
    `${where} PreFilterPlugin "Mine" does not exist`,
  ],
  [
    'a plugin where it cannot take part',
    { profiles: [{ plugins: { filter: { enabled: [{ name: 'ImageLocality' }] } } }] },
    `${where} plugin "ImageLocality" does not extend FilterPlugin plugin`,
  ],
  [
    'a plugin twice',
    { profiles: [{ plugins: { score: { enabled: [{ name: 'ImageLocality' }, { name: 'ImageLocality' }] } } }] },
    `${where} plugin "ImageLocality" already registered as "ScorePlugin"`,
  ],
  [
    'no binder',
    { profiles: [{ plugins: { bind: { disabled: [{ name: '*' }] } } }] },
    `${where} at least one bind plugin is needed for profile with scheduler name "default-scheduler"`,
  ],
  [
    'no order',
    { profiles: [{ plugins: { queueSort: { disabled: [{ name: '*' }] } } }] },
    `${where} only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0`,
  ],
  [
    'resources that nobody ignores',
    {
      profiles: [{ plugins: { multiPoint: { disabled: [{ name: 'NodeResourcesFit' }] } } }],
      extenders: [{ urlPrefix: 'http://x', filterVerb: 'f', managedResources: [{ name: 'example.com/r', ignoredByScheduler: true }] }],
    },
    "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config",
  ],
  [
    'arguments twice',
    {
      profiles: [
        {
          pluginConfig: [
            { name: 'NodeAffinity', args: {} },
            { name: 'NodeAffinity', args: {} },
          ],
        },
      ],
    },
    'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"',
  ],
  [
    'a strategy that does not exist',
    {
      profiles: [
        {
          pluginConfig: [
            { name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'Best', resources: [{ name: 'cpu', weight: 101 }] } } },
          ],
        },
      ],
    },
    `${where} initializing plugin "NodeResourcesFit": [scoringStrategy.type: Unsupported value: "Best": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]]`,
  ],
  [
    'a shape that is not sorted',
    {
      profiles: [
        {
          pluginConfig: [
            {
              name: 'NodeResourcesFit',
              args: {
                scoringStrategy: {
                  type: 'RequestedToCapacityRatio',
                  requestedToCapacityRatio: {
                    shape: [
                      { utilization: 50, score: 11 },
                      { utilization: 20, score: 1 },
                    ],
                  },
                },
              },
            },
          ],
        },
      ],
    },
    `${where} initializing plugin "NodeResourcesFit": [scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 20: values must be sorted in increasing order, scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in valid range [0, 10]]`,
  ],
  [
    'arguments of the other plugins',
    {
      profiles: [
        {
          pluginConfig: [
            { name: 'DefaultPreemption', args: { minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 } },
            { name: 'InterPodAffinity', args: { hardPodAffinityWeight: 101 } },
            { name: 'NodeResourcesBalancedAllocation', args: { resources: [{ name: 'cpu', weight: 2 }] } },
            { name: 'VolumeBinding', args: { bindTimeoutSeconds: -1 } },
            { name: 'DynamicResources', args: { bindingTimeout: '1ms' } },
          ],
        },
      ],
    },
    '[profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute, profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage, profiles[0].pluginConfig[1].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100], profiles[0].pluginConfig[2].args.resources[0].weight: Invalid value: 2: must be 1, profiles[0].pluginConfig[3].args.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value, profiles[0].pluginConfig[4].args.bindingTimeout: Invalid value: "1ms": must be at least 1 second]',
  ],
  [
    'default constraints',
    {
      profiles: [
        {
          pluginConfig: [
            {
              name: 'PodTopologySpread',
              args: {
                defaultConstraints: [
                  { maxSkew: 0, topologyKey: '', whenUnsatisfiable: 'Never' },
                  { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
                  { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' },
                ],
              },
            },
          ],
        },
      ],
    },
    '[profiles[0].pluginConfig[0].args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty, profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), profiles[0].pluginConfig[0].args.defaultConstraints[0].topologyKey: Required value: can not be empty, profiles[0].pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway", profiles[0].pluginConfig[0].args.defaultConstraints[1].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod, profiles[0].pluginConfig[0].args.defaultConstraints[2]: Duplicate value: "{zone, DoNotSchedule}"]',
  ],
  [
    'an added affinity',
    {
      profiles: [
        {
          pluginConfig: [
            {
              name: 'NodeAffinity',
              args: {
                addedAffinity: {
                  requiredDuringSchedulingIgnoredDuringExecution: {
                    nodeSelectorTerms: [
                      {
                        matchExpressions: [
                          { key: 'a', operator: 'Like', values: ['x'] },
                          { key: 'b', operator: 'In' },
                        ],
                      },
                      { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['x', 'y'] }] },
                    ],
                  },
                },
              },
            },
          ],
        },
      ],
    },
    '[profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Like": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Invalid value: null: for \'in\', \'notin\' operators, values set can\'t be empty, profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchFields[0].values: Invalid value: ["x","y"]: must have one element]',
  ],
  [
    'extenders',
    {
      extenders: [
        { urlPrefix: 'http://x', prioritizeVerb: 'p', bindVerb: 'b', managedResources: [{ name: 'cpu' }, { name: 'example.com/a' }] },
        { urlPrefix: 'http://y', bindVerb: 'b', managedResources: [{ name: 'example.com/a' }] },
      ],
    },
    '[extenders[0].weight: Invalid value: 0: must have a positive weight applied to it, extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name, extenders[1].managedResources[0].name: Invalid value: "example.com/a": duplicate extender managed resource name, extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind]',
  ],
]

for (const [what, fields, message] of CASES)
  test(`${what}: the message is that of kube-scheduler`, () => assert.equal(messageOf(fields), message))

test('a document of another kind: the message is that of kube-scheduler', () => {
  const told = (text: string) => {
    try {
      readSchedulerConfiguration(text, gate)
    } catch (error) {
      return (error as Error).message
    }
    return 'no error'
  }
  const version = 'kubescheduler.config.k8s.io/v1'
  const scheme = 'in scheme "pkg/scheduler/apis/config/scheme/scheme.go:29"'
  assert.equal(told(`apiVersion: ${version}\n`), `Object 'Kind' is missing in 'apiVersion: ${version}\n'`)
  assert.equal(told('kind: Foo\n'), "Object 'apiVersion' is missing in 'kind: Foo\n'")
  assert.equal(told(''), "Object 'Kind' is missing in ''")
  assert.equal(told(`apiVersion: ${version}\nkind: Foo\n`), `no kind "Foo" is registered for version "${version}" ${scheme}`)
  assert.equal(
    told('apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n'),
    `no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3" ${scheme}`,
  )
  assert.equal(
    told(`apiVersion: ${version}\nkind: NodeAffinityArgs\n`),
    `couldn't decode as KubeSchedulerConfiguration, got ${version}, Kind=NodeAffinityArgs: `,
  )
})

test('fields that need a gate are refused without it', () => {
  const without = (off: string) => (name: string) => gate(name) && name !== off
  const args = (name: string, given: object) => ({ profiles: [{ pluginConfig: [{ name, args: given }] }] })
  const at = 'profiles[0].pluginConfig[0].args'
  const shape = [{ utilization: 0, score: 10 }]
  assert.equal(
    messageOf(args('VolumeBinding', { shape }), without('StorageCapacityScoring')),
    `${at}.shape: Invalid value: [{"Utilization":0,"Score":10}]: unexpected field \`shape\`, remove it or turn on the feature gate StorageCapacityScoring`,
  )
  assert.equal(
    messageOf(args('DynamicResources', { filterTimeout: '1s' }), without('DRASchedulerFilterTimeout')),
    `${at}.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled`,
  )
})
