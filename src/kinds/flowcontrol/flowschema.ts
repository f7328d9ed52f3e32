/** FlowSchema says which requests share a priority level, and how they are told apart there. */
import { deepEqual } from '../../lib/json-value.ts'
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { invalid, withValue } from '../../schema/refs.ts'
import { message } from '../../schema/types.ts'
import { internalForm } from '../shapes/internal-representation.ts'
import { looseConditions, validateLooseConditions } from './conditions.ts'
import { validateFlowSchemaSpec } from './flow-rules.ts'
import { FlowSchemaSpec } from './flow-shapes.ts'

const FlowSchemaStatus = message('FlowSchemaStatus', {
  conditions: [1, looseConditions('FlowSchemaCondition'), 'Latest observations.'],
})

export const FlowSchema = defineKind({
  group: 'flowcontrol.apiserver.{group_domain}',
  version: 'v1',
  kind: 'FlowSchema',
  scope: 'Cluster',
  names: { plural: 'flowschemas' },
  doc: 'Which requests share a priority level.',
  spec: FlowSchemaSpec.expected(),
  status: FlowSchemaStatus,
  generation: true,

  *validate({ metadata: { name = '' }, spec }, { spec: at }) {
    yield* validateFlowSchemaSpec(spec, at, name)
    const fixed = FIXED.get(name)
    if (fixed && !deepEqual(spec, fixed))
      yield invalid(withValue(at, internalForm(FlowSchemaSpec, spec)), `spec of '${name}' must equal the fixed value`)
  },

  subresources: {
    status: { keepsMetadata: true, validate: ({ status }, { status: at }) => validateLooseConditions(status.conditions, at.conditions) },
  },

  columns: {
    PriorityLevel: ['string', o => o.spec.priorityLevelConfiguration.name, 'The priority level of the requests.'],
    MatchingPrecedence: ['string', o => o.spec.matchingPrecedence, 'Schemas with a lower number are tried first.'],
    DistinguisherMethod: ['string', o => o.spec.distinguisherMethod?.type ?? '<none>', 'How requests are told apart.'],
    Age: age,
    MissingPL: [
      'string',
      o => o.status.conditions?.find(c => c.type === 'Dangling')?.status ?? '?',
      'references a broken or non-existent PriorityLevelConfiguration',
    ],
  },
})

const everythingBy = (...groups: string[]) => [
  {
    subjects: groups.map(name => ({ kind: 'Group', group: { name } })),
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  },
]

/** The first and the last schema: no server could work without them. */
const FIXED: ReadonlyMap<string, FlowSchemaSpec> = new Map([
  ['exempt', { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 1, rules: everythingBy('system:masters') }],
  [
    'catch-all',
    {
      priorityLevelConfiguration: { name: 'catch-all' },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
      rules: everythingBy('system:unauthenticated', 'system:authenticated'),
    },
  ],
])
