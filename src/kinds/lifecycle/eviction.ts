/** Eviction is the process of evicting one pod: who requested it, and which responders work on it in turn. */

import { millisecondsAt } from '../../lib/time.ts'
import { age, type CellContext, since, until } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { message, type Static } from '../../schema/types.ts'
import { choice, maximum, maxLength, minimum, prefixedLabelKey } from '../rules/declared-formats.ts'
import { type Declared, validateDeclared } from '../rules/declared-rules.ts'
import {
  EVICTION,
  EVICTION_KIND,
  progressCell,
  progressRules,
  targetCell,
  targetMessage,
  targetRules,
  targetTypeCell,
  WITHDRAWN,
} from './eviction-shapes.ts'
import { validateProgress } from './responder-rules.ts'
import { EvictionStatus, type ResponderStatus, STATES, type TargetResponder } from './responder-shapes.ts'

const MAX_REQUESTERS = 100
const MAX_RESPONDERS = 11
const MAX_RESPONDER_PRIORITY = 100_000
const MAX_MESSAGE_LENGTH = 4000

const EvictionSpec = message('EvictionSpec', {
  target: [1, targetMessage('EvictionTarget', 'EvictionPodReference').orEmpty().expected(), 'The target of the eviction. Cannot change.'],
})
type EvictionSpec = Static<typeof EvictionSpec>

const specRules: Declared<EvictionSpec> = { fields: { target: targetRules } }

const name = { required: true, check: prefixedLabelKey } as const

const statusRules: Declared<EvictionStatus> = {
  fields: {
    ...progressRules,
    requesters: {
      maxItems: MAX_REQUESTERS,
      key: requester => requester.name,
      each: () => ({ fields: { name, intent: { required: true, check: choice(EVICTION, WITHDRAWN) } } }),
    },
    targetResponders: {
      maxItems: MAX_RESPONDERS,
      key: responder => responder.name,
      each: () => ({
        fields: {
          name,
          priority: {
            required: true,
            pointer: true,
            update: ['NoUnset', 'NoModify'],
            *check(priority, at) {
              yield* maximum(MAX_RESPONDER_PRIORITY)(priority, at)
              yield* minimum(0)(priority, at)
            },
          },
          state: { required: true, check: choice(...STATES) },
        },
      }),
    },
    responders: {
      maxItems: MAX_RESPONDERS,
      key: responder => responder.name,
      each: () => ({
        fields: {
          name,
          startTime: { update: ['NoUnset', 'NoModify'] },
          completionTime: { update: ['NoUnset', 'NoModify'] },
          message: { pointer: true, check: maxLength(MAX_MESSAGE_LENGTH) },
        },
      }),
    },
  },
}

export const Eviction = defineKind({
  ...EVICTION_KIND,
  kind: 'Eviction',
  names: { plural: 'evictions' },
  doc: 'The eviction of a pod.',
  spec: EvictionSpec.expected(),
  status: EvictionStatus,

  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* validateDeclared(specRules, { value: spec, at, old: old?.spec }, { isUpdate: old !== undefined, gate })
  },
  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status }, { status: at }, { old, gate, now }) {
        yield* validateProgress({ status, old: old?.status ?? {}, now: now.getTime() }, at)
        yield* validateDeclared(statusRules, { value: status, at, old: old?.status }, { isUpdate: true, gate })
      },
    },
  },

  columns: {
    Target: ['string', o => targetCell(o.spec.target), 'The target of the eviction'],
    'Target Type': ['string', o => targetTypeCell(o.spec.target), 'The kind of what is evicted'],
    Status: ['string', o => progressCell(o.status), 'How far the eviction is'],
    'Active Responder': ['string', o => turnCell(o.status), 'The responder that acts now'],
    'Responder Status': ['string', (o, ctx) => responderCell(o.status, ctx), 'How far the responder is'],
    'Responder Expected Finish': ['string', (o, ctx) => finishCell(o.status, ctx), 'When the responder expects to be done'],
    Requesters: ['string', o => requestersCell(o.status), 'The requesters of the eviction'],
    Age: age,
    'Responder Heartbeat': ['string', (o, ctx) => heartbeatCell(o.status, ctx), 'When the responder last reported', { wide: true }],
    'Responder Status Message': ['string', o => reportOf(o.status)?.message?.trim() || '<unset>', 'Details for people', { wide: true }],
  },
})

/** An object of the kind Eviction. */
export type Eviction = ObjectOf<typeof Eviction>

const PROCESSED: readonly string[] = ['Canceled', 'Interrupted', 'Completed']

/** The responder whose turn it is or, if all had theirs, was last. */
const currentOf = ({ targetResponders = [] }: EvictionStatus): TargetResponder | undefined =>
  targetResponders.findLast(({ state }) => state === 'Active') ?? targetResponders.findLast(({ state }) => PROCESSED.includes(state))

function reportOf(status: EvictionStatus): ResponderStatus | undefined {
  const current = currentOf(status)
  return current && status.responders?.find(responder => responder.name === current.name)
}

function turnCell(status: EvictionStatus): string {
  const { targetResponders = [] } = status
  const begun = targetResponders.filter(({ state }) => state === 'Active' || PROCESSED.includes(state)).length
  return `${currentOf(status)?.name ?? '<unset>'} (${begun}/${targetResponders.length})`
}

function responderCell(status: EvictionStatus, ctx: CellContext): string {
  const [state, report] = [currentOf(status)?.state, reportOf(status)]
  if (!report) return '<unset>'
  if (state === 'Active' && report.startTime) return `Started (${since(report.startTime, ctx)} ago)`
  if (state === 'Completed' && report.completionTime) return `${state} (${since(report.completionTime, ctx)} ago)`
  return state ?? '<unset>'
}

function finishCell(status: EvictionStatus, ctx: CellContext): string {
  const [state, report] = [currentOf(status)?.state, reportOf(status)]
  if (!report) return '<unknown>'
  if (state !== 'Active') return '-'
  const { startTime, expectedCompletionTime: end } = report
  if (!startTime || !end) return '<unknown>'
  return millisecondsAt(end) > ctx.now.getTime() ? `in ${until(end, ctx)}` : `${since(end, ctx)} ago`
}

function heartbeatCell(status: EvictionStatus, ctx: CellContext): string {
  const time = reportOf(status)?.heartbeatTime
  return time ? `${since(time, ctx)} ago` : '<unset>'
}

function requestersCell({ requesters = [] }: EvictionStatus): string {
  const [first, ...more] = requesters.flatMap(({ name, intent }) => (intent === WITHDRAWN ? [] : [name])).sort()
  if (first === undefined) return requesters.length > 0 ? '<withdrawn>' : '<none>'
  return more.length > 0 ? `${first} + ${more.length} more...` : first
}
