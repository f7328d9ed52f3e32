/** How an object is doing, in a word and a tone: from its phase and conditions, whatever its kind. */
import type { KubeObject } from './object.ts'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain'
export type Health = { readonly tone: Tone; readonly text: string; readonly detail?: string }

const GOOD =
  /^(Running|Active|Ready|Bound|Succeeded|Completed?|Available|Approved|Approved,Issued|True|Established|Healthy|ok|Normal|allocated.*)$/i
const BAD = /(Fail|Error|BackOff|Lost|Evicted|Denied|Invalid|NotReady|Unknown|OOMKilled|Refused|Warning)/i
const WAITING =
  /^(Pending|ContainerCreating|PodInitializing|Init:|Terminating|Released|Waiting|Progressing|Unschedulable|SchedulingDisabled|SchedulingGated|Suspended|pending)/

/** The tone of a word of status. */
export function toneOf(text: string): Tone {
  if (WAITING.test(text)) return 'warn'
  if (BAD.test(text)) return 'bad'
  if (GOOD.test(text)) return 'good'
  return 'plain'
}

export type Condition = {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
  lastUpdateTime?: string
  observedGeneration?: number
}

/** Conditions that are well when they are false. */
const NEGATIVE =
  /(Pressure|Failure|Failed|Unavailable|Degraded|Stalled|Dangling|NonStructural|Violat|Disrupt|Terminating|NamesNotAccepted|Deletion|Remaining|Limited|ScalingLimited)/

export function conditionTone({ type, status }: Condition): Tone {
  if (status === 'Unknown') return 'warn'
  const isTrue = status === 'True'
  if (NEGATIVE.test(type)) return isTrue ? 'bad' : 'good'
  return isTrue ? 'good' : 'warn'
}

const POSITIVE = ['Ready', 'Available', 'Established', 'Complete', 'Approved', 'Healthy', 'Synced']

export function healthOf(object: KubeObject): Health {
  const { metadata, spec = {}, status = {} } = object
  if (metadata.deletionTimestamp)
    return { tone: 'warn', text: 'Terminating', detail: metadata.finalizers?.length ? `waits for ${metadata.finalizers.join(', ')}` : '' }
  const conditions: Condition[] = Array.isArray(status.conditions) ? status.conditions : []
  if (Array.isArray(spec.containers) || Array.isArray(status.containerStatuses)) return podHealth(object, conditions)
  if (typeof spec.replicas === 'number' && (status.replicas !== undefined || status.observedGeneration !== undefined)) {
    const ready = status.readyReplicas ?? 0
    const isObserved = status.observedGeneration === undefined || status.observedGeneration >= (metadata.generation ?? 0)
    const failed =
      conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True') ??
      conditions.find(({ type, status }) => type === 'Progressing' && status === 'False')
    if (failed) return { tone: 'bad', text: failed.reason ?? failed.type, ...(failed.message ? { detail: failed.message } : {}) }
    if (!isObserved || ready < spec.replicas) return { tone: 'warn', text: `${ready} of ${spec.replicas} ready` }
    return { tone: 'good', text: `${ready} ready` }
  }
  if (typeof status.desiredNumberScheduled === 'number') {
    const { desiredNumberScheduled: wanted, numberReady: ready = 0 } = status
    return { tone: ready < wanted ? 'warn' : 'good', text: `${ready} of ${wanted} ready` }
  }
  const failed = conditions.find(({ type, status }) => /^(Failed|Failure|Denied|Degraded|Stalled)$/.test(type) && status === 'True')
  if (failed) return { tone: 'bad', text: failed.reason ?? failed.type, ...(failed.message ? { detail: failed.message } : {}) }
  for (const name of POSITIVE) {
    const condition = conditions.find(({ type }) => type === name)
    if (condition)
      return condition.status === 'True'
        ? { tone: 'good', text: name }
        : {
            tone: condition.status === 'Unknown' ? 'bad' : 'warn',
            text: `Not ${name.toLowerCase()}`,
            ...(condition.message ? { detail: condition.message } : {}),
          }
  }
  if (typeof status.phase === 'string') return { tone: toneOf(status.phase), text: status.phase }
  if (status.allocation) return { tone: 'good', text: 'Allocated' }
  return { tone: 'plain', text: '' }
}

type ContainerStatus = {
  name: string
  ready?: boolean
  restartCount?: number
  state?: Record<string, { reason?: string; message?: string; exitCode?: number }>
}

function podHealth({ status = {} }: KubeObject, conditions: readonly Condition[]): Health {
  const containers: ContainerStatus[] = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  for (const { state = {} } of containers) {
    const waiting = state['waiting']
    if (waiting?.reason && /BackOff|Err|Invalid|Failed/.test(waiting.reason))
      return { tone: 'bad', text: waiting.reason, ...(waiting.message ? { detail: waiting.message } : {}) }
    const ended = state['terminated']
    if (ended && (ended.exitCode ?? 0) !== 0 && status.phase !== 'Succeeded')
      return { tone: 'bad', text: ended.reason ?? 'Error', detail: `exit code ${ended.exitCode}` }
  }
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False')
    return { tone: 'bad', text: scheduled.reason ?? 'Unschedulable', ...(scheduled.message ? { detail: scheduled.message } : {}) }
  if (status.phase === 'Running') {
    const ready = containers.filter(({ ready }) => ready).length
    const isReady = conditions.find(({ type }) => type === 'Ready')?.status === 'True'
    return isReady ? { tone: 'good', text: 'Running' } : { tone: 'warn', text: `Running, ${ready} of ${containers.length} ready` }
  }
  const phase = status.phase ?? 'Pending'
  return { tone: toneOf(phase), text: status.reason ?? phase }
}
