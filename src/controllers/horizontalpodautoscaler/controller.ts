/** Scales what HorizontalPodAutoscalers name: reads the size of the target and the metrics now and then, and sets the size they ask for. */
import type { ApiAccess, DiscoveredResource } from '../../client/api-access.ts'
import { namedBy, queueKey } from '../../client/change.ts'
import { recordAll } from '../../client/event-recorder.ts'
import { HorizontalPodAutoscaler } from '../../kinds/autoscaling/horizontalpodautoscaler.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { deepEqual, isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import type { LabelTerms } from '../../schema/selectors.ts'
import { StatusError } from '../../schema/status-error.ts'
import { type Controller, type ControllerContext, defineController, watch } from '../controller.ts'
import { type Memory, NOTHING_REMEMBERED } from './behavior.ts'
import { measure } from './measure.ts'
import { decide, needsMetrics, type Question, type Settings, selectedPods, settle, type TargetScale, withoutScale } from './reconcile.ts'

export type AutoscalerParts = {
  readonly api: ApiAccess
  readonly gate: (name: string) => boolean
  readonly autoscaling: Settings & { readonly workers: number }
}

const CONFLICTS = 5

export const horizontalPodAutoscaling = (parts: AutoscalerParts): Controller =>
  defineController({
    name: 'horizontal-pod-autoscaler-controller',
    identity: 'horizontal-pod-autoscaler',
    component: 'horizontal-pod-autoscaler',
    workers: parts.autoscaling.workers,
    create(context) {
      const { client, signal } = context
      const autoscalers = client.of(HorizontalPodAutoscaler)
      const remembered = new Map<string, Known>()
      return {
        watches: [
          // Its own status is written at every look, which is nothing to look at again.
          watch(HorizontalPodAutoscaler, ({ type, current, previous }) => {
            const key = queueKey(current)
            if (type === 'deleted') remembered.delete(key)
            const isNew = type === 'added' || current.object?.metadata.generation !== previous?.object?.metadata.generation
            return isNew ? key : undefined
          }),
        ],
        async reconcile(key) {
          const hpa = autoscalers.get(namedBy(key))
          if (!hpa || hpa.metadata.deletionTimestamp) return undefined
          const known = remembered.get(key) ?? { memory: NOTHING_REMEMBERED, selector: undefined }
          remembered.set(key, known)
          try {
            await look({ key, hpa, known, remembered }, parts, context)
          } catch (error) {
            if (!signal.aborted) context.onError(error)
          }
          return parts.autoscaling.syncMs
        },
      }
    },
  })

/** The state of an autoscaler between two reconciles. */
type Known = { memory: Memory; selector: LabelTerms | undefined }

type Looking = {
  readonly key: string
  readonly hpa: HorizontalPodAutoscaler
  readonly known: Known
  readonly remembered: ReadonlyMap<string, Known>
}

async function look({ key, hpa, known, remembered }: Looking, parts: AutoscalerParts, context: ControllerContext): Promise<void> {
  const { client, recorder, groupDomain, signal } = context
  const { api, gate, autoscaling: settings } = parts
  const nowMs = client.now.getTime()
  const now = timestampOf(nowMs)
  const target = await targetOf(hpa, parts, context)
  if (typeof target === 'string') {
    const { status, notices } = withoutScale(hpa.status, target, now)
    recordAll(recorder, hpa, notices)
    return writeStatus(hpa, status, context)
  }
  const question: { -readonly [K in keyof Question]: Question[K] } = { hpa, scale: target.scale, memory: known.memory }
  if (needsMetrics(hpa, target.scale.replicas, gate)) {
    const { namespace = '' } = hpa.metadata
    const all = [...client.of(Pod).list({ namespace })] as Pod[]
    const others = new Map<string, LabelTerms>()
    for (const [other, { selector }] of remembered) if (selector && namedBy(other).namespace === namespace) others.set(other, selector)
    const selected = selectedPods(target.scale, { own: key, pods: all, others })
    if ('error' in selected) question.metrics = selected
    else {
      known.selector = selected.terms
      const scope = { namespace, pods: selected.terms }
      const specs = hpa.spec.metrics ?? []
      const measured = await Promise.all(specs.map(spec => measure(spec, scope, { api, identity: client.identity, groupDomain, signal })))
      const pods = [...client.of(Pod).list({ namespace, labels: selected.terms })] as Pod[]
      question.metrics = { pods, measured }
    }
  }
  const decision = decide(question, { settings, gate, nowMs, now })
  recordAll(recorder, hpa, decision.notices)
  const failed = decision.resize ? await resize(target, decision.resize.replicas, parts, context) : undefined
  const { status, memory, notices } = settle(question, decision, { failed, gate, now, nowMs })
  known.memory = memory
  recordAll(recorder, hpa, notices)
  await writeStatus(hpa, status, context)
}

async function writeStatus(hpa: HorizontalPodAutoscaler, status: object, { client, recorder }: ControllerContext): Promise<void> {
  const changed = status as HorizontalPodAutoscaler['status']
  if (deepEqual(withoutUndefined(hpa.status), withoutUndefined(changed))) return
  try {
    await client.of(HorizontalPodAutoscaler).updateStatus({ ...hpa, status: changed })
  } catch (error) {
    recorder.event(hpa, 'Warning', 'FailedUpdateStatus', (error as Error).message)
    throw error
  }
}
const withoutUndefined = (value: object): Json => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Json

/** A target's Scale, and where it is. */
type Target = { readonly path: string; readonly object: JsonObject; readonly scale: TargetScale }

/** A text is why there is none. */
async function targetOf(
  { metadata, spec }: HorizontalPodAutoscaler,
  { api }: AutoscalerParts,
  { client, signal }: ControllerContext,
): Promise<Target | string> {
  const { apiVersion = '', kind, name } = spec.scaleTargetRef
  if (apiVersion.split('/').length > 2) return `unexpected GroupVersion string: ${apiVersion}`
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : ''
  const resources = firstOfEach(api.resourcesOfKind(group, kind))
  if (resources.length === 0) return `no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`
  let first: string | undefined
  for (const resource of resources) {
    const path = scalePath(resource, metadata.namespace ?? '', name)
    try {
      const object = await api.send(client.identity, { method: 'GET', path }, signal)
      if (isObject(object)) return { path, object, scale: scaleIn(object) }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      first ??= error.message
    }
  }
  return first ?? 'unrecognized resource'
}

/** Resources once each, whatever versions there are. */
const firstOfEach = (resources: readonly DiscoveredResource[]): DiscoveredResource[] => [
  ...new Map(resources.toReversed().map(each => [each.plural, each])).values(),
]

function scalePath({ group, version, plural, namespaced }: DiscoveredResource, namespace: string, name: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${namespaced ? `/namespaces/${namespace}` : ''}/${plural}/${encodeURIComponent(name)}/scale`
}

function scaleIn({ spec, status }: JsonObject): TargetScale {
  const number = (value: Json | undefined) => (typeof value === 'number' ? value : 0)
  const [wanted, seen] = [isObject(spec) ? spec : {}, isObject(status) ? status : {}]
  const { selector } = seen
  return {
    replicas: number(wanted['replicas']),
    observed: number(seen['replicas']),
    selector: typeof selector === 'string' ? selector : '',
  }
}

/** Why it failed, if it did. A conflict is tried again with the Scale as it is then. */
async function resize(
  { path, object }: Target,
  replicas: number,
  { api }: AutoscalerParts,
  { client, signal }: ControllerContext,
): Promise<string | undefined> {
  let scale = object
  for (let i = 1; ; i++) {
    try {
      await api.send(
        client.identity,
        { method: 'PUT', path, body: { ...scale, spec: { ...(isObject(scale['spec']) && scale['spec']), replicas } } },
        signal,
      )
      return undefined
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      if (error.reason !== 'Conflict' || i >= CONFLICTS) return error.message
      const latest = await api.send(client.identity, { method: 'GET', path }, signal).catch(() => undefined)
      if (isObject(latest)) scale = latest
    }
  }
}
