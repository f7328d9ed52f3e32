/** EvictionRequest states that its requester wants a pod to be evicted, or no longer wants it. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { message, type Static, string } from '../../schema/types.ts'
import { choice, notReserved, prefixedLabelKey } from '../rules/declared-formats.ts'
import { type Declared, validateDeclared } from '../rules/declared-rules.ts'
import { validateConditions } from '../rules/meta.ts'
import {
  EVICTION,
  EVICTION_KIND,
  progressCell,
  progressFields,
  progressRules,
  targetCell,
  targetMessage,
  targetRules,
  targetTypeCell,
  WITHDRAWN,
} from './eviction-shapes.ts'

const EvictionRequestSpec = message('EvictionRequestSpec', {
  target: [
    1,
    targetMessage('EvictionRequestTarget', 'EvictionRequestPodReference').orEmpty().expected(),
    'The target of the eviction. Cannot change.',
  ],
  requester: [2, string.always(), 'The requester, as DOMAIN/NAME. Cannot change.'],
  intent: [3, string.always().listed(EVICTION, WITHDRAWN), 'Eviction, or Withdrawn.'],
})
type EvictionRequestSpec = Static<typeof EvictionRequestSpec>

const specRules: Declared<EvictionRequestSpec> = {
  fields: {
    target: targetRules,
    requester: {
      immutable: true,
      required: true,
      *check(requester, at) {
        yield* notReserved(requester, at)
        yield* prefixedLabelKey(requester, at)
      },
    },
    intent: { required: true, check: choice(EVICTION, WITHDRAWN) },
  },
}

export const EvictionRequest = defineKind({
  ...EVICTION_KIND,
  kind: 'EvictionRequest',
  names: { plural: 'evictionrequests' },
  doc: 'A request to evict a pod.',
  spec: EvictionRequestSpec.expected(),
  status: message('EvictionRequestStatus', progressFields),

  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* validateDeclared(specRules, { value: spec, at, old: old?.spec }, { isUpdate: old !== undefined, gate })
  },
  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status }, { status: at }, { old, gate }) {
        yield* validateConditions(status.conditions, at.conditions)
        yield* validateDeclared({ fields: progressRules }, { value: status, at, old: old?.status }, { isUpdate: true, gate })
      },
    },
  },

  columns: {
    Target: ['string', o => targetCell(o.spec.target), 'The target of the eviction'],
    'Target Type': ['string', o => targetTypeCell(o.spec.target), 'The kind of what to evict'],
    Status: ['string', o => progressCell(o.status), 'How far the eviction is'],
    Requester: ['string', o => o.spec.requester, 'The requester'],
    Intent: ['string', o => o.spec.intent, 'Eviction, or Withdrawn'],
    Age: age,
  },
})

/** An object of the kind EvictionRequest. */
export type EvictionRequest = ObjectOf<typeof EvictionRequest>
