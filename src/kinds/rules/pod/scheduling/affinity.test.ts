import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podSpec, type Rows, specErrors } from '../../../../../test/kits/kinds/pod-shapes.ts'

const OPERATOR = 'not a valid selector operator'
const NAME =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
const nodes = (...nodeSelectorTerms: object[]) => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
})
const near = (term: object) => ({ podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } })
const NODES = 'nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
const NEAR = 'podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]'

const rows: Rows<object> = [
  ['required nodes are described', nodes(), [`${NODES}: Required value: must have at least one node selector term`]],
  [
    'operators on labels of nodes have the values they need',
    nodes({
      matchExpressions: [
        { key: 'a', operator: 'In' },
        { key: 'a', operator: 'Exists', values: ['x'] },
        { key: 'a', operator: 'Gt', values: ['1', '2'] },
        { key: 'a b', operator: 'Like', values: ['-'] },
      ],
    }),
    [
      `${NODES}[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      `${NODES}[0].matchExpressions[1].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      `${NODES}[0].matchExpressions[2].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
      `${NODES}[0].matchExpressions[3].operator: Invalid value: "Like": ${OPERATOR}`,
      `${NODES}[0].matchExpressions[3].key: Invalid value: "a b": ${NAME}`,
      `${NODES}[0].matchExpressions[3].values[0]: Invalid value: "-": ${VALUE}`,
    ],
  ],
  [
    'nodes are chosen by one field, their name',
    nodes({
      matchFields: [
        { key: 'metadata.name', operator: 'In', values: ['a', 'b'] },
        { key: 'spec.x', operator: 'Exists' },
      ],
    }),
    [
      `${NODES}[0].matchFields[0].values: Required value: must be only one value when \`operator\` is 'In' or 'NotIn' for node field selector`,
      `${NODES}[0].matchFields[1].operator: Invalid value: "Exists": ${OPERATOR}`,
      `${NODES}[0].matchFields[1].key: Invalid value: "spec.x": not a valid field selector key`,
    ],
  ],
  [
    'preferences have a weight, and may have any value',
    {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 0, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['-'] }] } },
          { weight: 101, preference: {} },
        ],
      },
    },
    [
      'nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100',
      'nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].weight: Invalid value: 101: must be in the range 1-100',
    ],
  ],
  [
    'neighbours are near in some respect',
    near({ namespaces: ['a.b'], labelSelector: { matchLabels: { a: '-' } } }),
    [
      `${NEAR}.labelSelector.matchLabels: Invalid value: "-": ${VALUE}`,
      `${NEAR}.namespace: Invalid value: "a.b": must not contain dots`,
      `${NEAR}.topologyKey: Required value: can not be empty`,
      `${NEAR}.topologyKey: Invalid value: "": name part must be non-empty`,
      `${NEAR}.topologyKey: Invalid value: "": ${NAME}`,
    ],
  ],
  [
    'keys taken from the pod go into a selector',
    near({ topologyKey: 'zone', matchLabelKeys: ['a'], mismatchLabelKeys: ['a'] }),
    [
      `${NEAR}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
      `${NEAR}.mismatchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
      `${NEAR}.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys`,
    ],
  ],
  [
    'keys taken from the pod are not selected by the user too',
    near({
      topologyKey: 'zone',
      matchLabelKeys: ['b', 'a'],
      labelSelector: { matchLabels: { a: 'x' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['y'] }] },
    }),
    [`${NEAR}[1]: Invalid value: "a": exists in both matchLabelKeys and labelSelector`],
  ],
  [
    'neighbours that are preferred have a weight',
    { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: -1, podAffinityTerm: { topologyKey: 'zone' } }] } },
    ['podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: -1: must be in the range 1-100'],
  ],
]
for (const [name, affinity, expected] of rows)
  test(name, () =>
    assert.deepEqual(
      specErrors(podSpec({ affinity })),
      expected.map(text => `spec.affinity.${text}`),
    ),
  )

const tolerationRows: Rows<object> = [
  ['everything may be tolerated', { operator: 'Exists' }, []],
  [
    'without a key, a toleration needs the operator Exists',
    { value: 'x' },
    ['operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"'],
  ],
  ['a key is a label key', { key: 'a b', operator: 'Exists' }, [`key: Invalid value: "a b": ${NAME}`]],
  [
    'a time limits what is not evicted at once',
    { key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 1 },
    ['effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set'],
  ],
  ['a value is a label value', { key: 'a', operator: 'Equal', value: '-' }, [`operator: Invalid value: "-": ${VALUE}`]],
  [
    'what exists has any value',
    { key: 'a', operator: 'Exists', value: 'x' },
    ['operator: Invalid value: "x": value must be empty when `operator` is \'Exists\''],
  ],
  ['operators are known', { key: 'a', operator: 'Like' }, ['operator: Unsupported value: "Like": supported values: "Equal", "Exists"']],
  [
    'numbers are not compared without the feature',
    { key: 'a', operator: 'Gt', value: '1' },
    ['operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'],
  ],
  [
    'effects are known',
    { key: 'a', operator: 'Exists', effect: 'Odd' },
    ['effect: Unsupported value: "Odd": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'],
  ],
]
for (const [name, toleration, expected] of tolerationRows)
  test(name, () =>
    assert.deepEqual(
      specErrors(podSpec({ tolerations: [toleration] })),
      expected.map(text => `spec.tolerations[0].${text}`),
    ),
  )

test('with the feature, taints are compared as 64-bit integers', () => {
  const errors = (value: string) =>
    specErrors(podSpec({ tolerations: [{ key: 'a', operator: 'Lt', value }] }), { numericTolerations: true })
  assert.deepEqual(errors('-9223372036854775808'), [])
  assert.deepEqual(errors('9223372036854775808'), [
    'spec.tolerations[0].value: Invalid value: "9223372036854775808": strconv.ParseInt: parsing "9223372036854775808": value out of range',
  ])
  assert.deepEqual(errors('007'), ['spec.tolerations[0].value: Invalid value: "007": must be a valid decimal integer in canonical form'])
  assert.equal(errors('x').length, 2)
})

const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }
const spreadRows: Rows<object[]> = [
  ['a constraint that is complete is fine', [spread], []],
  [
    'a constraint is complete',
    [{}],
    [
      '[0].maxSkew: Invalid value: 0: must be greater than zero',
      '[0].topologyKey: Required value: can not be empty',
      '[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"',
    ],
  ],
  ['a constraint is given once', [spread, spread], ['[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"']],
  [
    'a least number of domains is required or nothing',
    [{ ...spread, whenUnsatisfiable: 'ScheduleAnyway', minDomains: 0 }],
    [
      '[0].minDomains: Invalid value: 0: must be greater than zero',
      '[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
    ],
  ],
  [
    'node inclusion policies are supported values',
    [{ ...spread, nodeAffinityPolicy: 'Odd', nodeTaintsPolicy: 'Odd' }],
    ['nodeAffinityPolicy', 'nodeTaintsPolicy'].map(field => `[0].${field}: Unsupported value: "Odd": supported values: "Honor", "Ignore"`),
  ],
  [
    'keys need a selector',
    [{ ...spread, matchLabelKeys: ['a'] }],
    ['[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set'],
  ],
  [
    'a selector is valid',
    [{ ...spread, labelSelector: { matchExpressions: [{ key: 'a', operator: 'Odd' }] } }],
    [`[0].labelSelector.matchExpressions[0].operator: Invalid value: "Odd": ${OPERATOR}`],
  ],
]
for (const [name, topologySpreadConstraints, expected] of spreadRows)
  test(name, () =>
    assert.deepEqual(
      specErrors(podSpec({ topologySpreadConstraints })),
      expected.map(text => `spec.topologySpreadConstraints${text}`),
    ),
  )

test('where keys are not merged into the selector, they must not be in it', () => {
  const topologySpreadConstraints = [{ ...spread, matchLabelKeys: ['a'], labelSelector: { matchLabels: { a: 'b' } } }]
  assert.deepEqual(specErrors(podSpec({ topologySpreadConstraints })), [])
  assert.deepEqual(specErrors(podSpec({ topologySpreadConstraints }), { matchLabelKeysMerge: false }), [
    'spec.topologySpreadConstraints[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector',
  ])
})
