/**
 * Rules for the status of an eviction. Several programs write it, so each write must be a step that the controller of evictions could take:
 * responders have their turns in the order of their priorities, and only the one whose turn it is reports.
 */
import { compareText } from '../../lib/go-text.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { type FieldError, forbidden, invalid, pathOf, type Ref, required, withValue } from '../../schema/refs.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { type Condition, validateConditions } from '../rules/meta.ts'
import { type EvictionStatus, ResponderStatus, TargetResponder } from './responder-shapes.ts'

const MAX_RESPONDERS = 11
const HEARTBEAT_DEADLINE = 20 * 60_000
/** Tolerated difference of clocks. */
const SKEW = 30_000
const MAX_EXPECTATION = 10 * 365 * 24 * 3_600_000
/** Priorities below belong to responders of Kubernetes, of which there is one. */
const RESERVED_PRIORITIES = 1000
const KUBERNETES_RESPONDERS: Readonly<Record<string, number>> = { 'imperative-eviction.k8s.io/evictor': 100 }

export type StatusChange = { readonly status: EvictionStatus; readonly old: EvictionStatus; readonly now: number }
type Outcome = { readonly isFinal: boolean; readonly now: number }

export function* validateProgress({ status, old, now }: StatusChange, at: Ref<EvictionStatus>): Iterable<FieldError> {
  yield* validateConditions(status.conditions, at.conditions)
  const reverted = revertedConditions(status.conditions ?? [], old.conditions ?? [])
  for (const type of reverted)
    yield invalid(withValue(at.conditions, status.conditions ?? null), `${type} condition status cannot be reverted`)
  const isFinal = reverted.length > 0 || ['TargetEvicted', 'Failed'].some(type => isTrue(status.conditions ?? [], type))
  yield* validateTurns({ status, old, now }, at, { isFinal, now })
  yield* validateReports({ status, old, now }, at)
}

const isTrue = (conditions: readonly Condition[], wanted: string): boolean =>
  conditions.some(({ type, status }) => type === wanted && status === 'True')

/** Outcomes of which the status or the reason has changed. */
const revertedConditions = (conditions: readonly Condition[], old: readonly Condition[]): string[] =>
  old.flatMap(({ type, status, reason }) => {
    if ((type !== 'TargetEvicted' && type !== 'Failed') || status !== 'True') return []
    const now = conditionOf(conditions, type)
    return !now || now.status === 'False' || now.reason !== reason ? [type] : []
  })

/** The states of the responders. */
function* validateTurns({ status, old, now }: StatusChange, at: Ref<EvictionStatus>, outcome: Outcome): Iterable<FieldError> {
  const [responders, before] = [status.targetResponders ?? [], old.targetResponders ?? []]
  const here = at.targetResponders
  if (before.length > 0) {
    const names = new Set(responders.map(({ name }) => name))
    const whole = withValue(here, status.targetResponders ? responders.map(shownResponder) : null)
    if (responders.length !== before.length) return yield invalid(whole, 'must preserve the same length and the same keys')
    if (before.some(({ name }) => !names.has(name))) return yield invalid(whole, 'must preserve the same keys')
  }
  if (responders.length === 0 || responders.length > MAX_RESPONDERS || hasRepetition(responders)) return
  const reports = new Map((status.responders ?? []).map(report => [report.name, report]))
  const places = new Map(responders.map(({ name }, i) => [name, here[i]!]))
  for (const { responder, states, reason } of expectedStates(responders, before, outcome))
    yield* validateTurn(
      { responder, at: places.get(responder.name)!, report: reports.get(responder.name) },
      { states, reason, isFinal: outcome.isFinal, now },
    )
}

/** kube-apiserver shows these with the field names of its internal type. */
const shownResponder = (responder: TargetResponder) => internalRepresentation(TargetResponder, responder)
const shownReport = (report: ResponderStatus) => internalRepresentation(ResponderStatus, report)

const hasRepetition = (items: readonly { readonly name: string }[]): boolean => new Set(items.map(({ name }) => name)).size < items.length

type Expectation = { readonly responder: TargetResponder; readonly states: readonly string[]; readonly reason: string }

/** The states that each responder may be in now, in the order of their turns. */
function expectedStates(responders: readonly TargetResponder[], before: readonly TargetResponder[], { isFinal }: Outcome): Expectation[] {
  const [now, then] = [[...responders].sort(byTurn), [...before].sort(byTurn)]
  const active = then.findIndex(({ state }) => state === 'Active')
  const hasMoved = active !== -1 && now[active]?.state !== 'Active'
  const isOver = isFinal || ENDED.includes(then.at(-1)?.state ?? '')
  return now.map((responder, i) => {
    const expect = (states: readonly string[], reason: string): Expectation => ({ responder, states, reason })
    if (i < active || (then.length > 0 && active === -1 && isOver)) return expect([then[i]!.state], 'final state is immutable')
    if (i === active && hasMoved) return expect(ENDED, 'this responder must reach a final state')
    if (i === active)
      return isFinal
        ? expect(ENDED, 'the eviction request has finished processing')
        : expect(['Active'], 'the eviction request stays active')
    if ((i === 0 && then.length === 0) || (i === active + 1 && hasMoved))
      return isFinal
        ? expect(['Inactive'], 'the eviction request has finished processing')
        : expect(['Active'], 'this responder is next in line')
    return expect(['Inactive'], 'the previously active has not finished processing')
  })
}
const ENDED: readonly string[] = ['Canceled', 'Completed', 'Interrupted']

/** Higher priorities first; then by domain, its last label first, and by name. */
function byTurn(a: TargetResponder, b: TargetResponder): number {
  const [first, second] = [a.priority ?? undefined, b.priority ?? undefined]
  if (first !== second) {
    if (first === undefined) return 1
    if (second === undefined) return -1
    return second - first
  }
  const [labels, others] = [domainLabels(a.name), domainLabels(b.name)]
  for (const [i, label] of labels.entries()) {
    if (i >= others.length) return 1
    const order = compareText(label, others[i]!)
    if (order !== 0) return order
  }
  return others.length > labels.length ? -1 : compareText(keyOf(a.name), keyOf(b.name))
}
const domainLabels = (name: string): string[] => name.split('/', 1)[0]!.split('.').reverse()
const keyOf = (name: string): string => (name.includes('/') ? name.slice(name.indexOf('/') + 1) : '')

type Turn = { readonly responder: TargetResponder; readonly at: Ref<TargetResponder>; readonly report: ResponderStatus | undefined }
type TurnRules = Outcome & { readonly states: readonly string[]; readonly reason: string }

function* validateTurn({ responder, at, report }: Turn, { states, reason, isFinal, now }: TurnRules): Iterable<FieldError> {
  const { name, priority, state } = responder
  if (!report)
    return yield invalid(withValue(at, shownResponder(responder)), `${JSON.stringify(name)} has to be tracked in status.responders first`)
  if (priority !== undefined && priority !== null && priority >= 0) yield* validatePriority(name, priority, at.priority)
  if (!states.includes(state)) return yield invalid(at.state, `must be one of: ${states.join(', ')}, because ${reason}`)
  const { startTime, heartbeatTime, completionTime } = report
  if (state !== 'Active' && startTime && !completionTime && !isFinal) {
    const heartbeat = millisecondsAt(heartbeatTime ?? startTime)
    if (now < heartbeat + HEARTBEAT_DEADLINE - SKEW)
      yield forbidden(
        at.state,
        'must stay Active because the responder is in progress and it should report status.responders.heartbeatTime or status.responders.completionTime',
      )
  }
  if (state === 'Completed' && !completionTime)
    yield invalid(at.state, "cannot become Completed because the responder didn't report status.responders.completionTime")
}

function* validatePriority(name: string, priority: number, at: Ref<number>): Iterable<FieldError> {
  const fixed = Object.hasOwn(KUBERNETES_RESPONDERS, name) ? KUBERNETES_RESPONDERS[name] : undefined
  if (fixed !== undefined) {
    if (priority !== fixed) yield invalid(at, `core k8s responder is expected to have priority: ${fixed}`)
  } else if (priority < RESERVED_PRIORITIES) yield invalid(at, 'priorities 0-999 are reserved for responders with *.k8s.io suffix')
}

/** The reports of the responders. */
function* validateReports({ status, old, now }: StatusChange, at: Ref<EvictionStatus>): Iterable<FieldError> {
  const [reports, responders] = [status.responders ?? [], status.targetResponders ?? []]
  const whole = withValue(at.responders, status.responders ? reports.map(shownReport) : null)
  if (reports.length !== responders.length)
    return yield invalid(whole, 'must be the same length as status.targetResponders and contain the same keys')
  const names = new Set(reports.map(({ name }) => name))
  if (responders.some(({ name }) => !names.has(name))) return yield invalid(whole, 'must contain the same keys as status.targetResponders')
  if (reports.length > MAX_RESPONDERS || hasRepetition(reports)) return
  const states = new Map(responders.map(({ name, state }) => [name, state]))
  const before = new Map((old.responders ?? []).map(report => [report.name, report]))
  for (const [i, report] of reports.entries()) {
    const isActive = states.get(report.name) === 'Active'
    yield* validateReport({ report, old: before.get(report.name), at: at.responders[i]! }, { isActive, now })
  }
}

type Report = { readonly report: ResponderStatus; readonly old: ResponderStatus | undefined; readonly at: Ref<ResponderStatus> }
type ReportRules = { readonly isActive: boolean; readonly now: number }

function* validateReport({ report, old, at }: Report, { isActive, now }: ReportRules): Iterable<FieldError> {
  if (old && !isActive && !deepEqual(report, old)) return yield invalid(withValue(at, shownReport(report)), 'field is immutable')
  const { startTime, heartbeatTime, expectedCompletionTime: expected, completionTime } = report
  const isNear = (time: string): boolean => Math.abs(millisecondsAt(time) - now) < SKEW
  if (!old?.startTime || old.startTime === startTime) {
    if (!startTime) {
      if (isActive) yield required(at.startTime, 'is required for an active responder')
    } else if (old?.startTime !== startTime && !isNear(startTime)) yield invalid(at.startTime, PRESENT)
  }
  if (old?.heartbeatTime && !heartbeatTime) yield required(at.heartbeatTime, 'is required once set')
  if (heartbeatTime && heartbeatTime !== old?.heartbeatTime) {
    const here = at.heartbeatTime
    if (!startTime) yield tooEarly(here, at)
    else if (old?.heartbeatTime && isBefore(heartbeatTime, old.heartbeatTime)) yield invalid(here, 'cannot be decreased')
    else if (isBefore(heartbeatTime, startTime)) yield invalid(here, `must occur after ${pathOf(at.startTime)}`)
    else if (!isNear(heartbeatTime)) yield invalid(here, PRESENT)
  }
  if (expected && expected !== old?.expectedCompletionTime) {
    const here = at.expectedCompletionTime
    if (!startTime) yield tooEarly(here, at)
    else if (isBefore(expected, startTime)) yield invalid(here, `must occur after ${pathOf(at.startTime)}`)
    else if (millisecondsAt(expected) < now - SKEW) yield invalid(here, 'cannot be set to the past time')
    else if (millisecondsAt(expected) > now + MAX_EXPECTATION) yield invalid(here, 'must complete within 10 years')
  }
  if (completionTime && (!old?.completionTime || old.completionTime === completionTime)) {
    const here = at.completionTime
    if (!startTime) yield tooEarly(here, at)
    else if (isBefore(completionTime, startTime)) yield invalid(here, `must occur after ${pathOf(at.startTime)}`)
    else if (completionTime !== old?.completionTime && !isNear(completionTime)) yield invalid(here, PRESENT)
  }
}

const PRESENT = 'must be set to the present time'
const tooEarly = (here: Ref<string>, at: Ref<ResponderStatus>) => invalid(here, `cannot be set before ${pathOf(at.startTime)} is set`)
const isBefore = (time: string, other: string): boolean => millisecondsAt(time) < millisecondsAt(other)
