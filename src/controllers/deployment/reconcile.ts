/**
 * Plans the rollout of a Deployment: which ReplicaSets to create, scale or delete, and its status after that.
 * A rollout is many small steps; each pass decides about one, and the change that it makes brings the next:
 *
 *     new ReplicaSet with as many pods as the surge allows ─→ old ones scaled down as far as availability allows ─→ new one up …
 */

import type { Notice } from '../../client/event-recorder.ts'
import type { Deployment } from '../../kinds/apps/deployment.ts'
import type { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { type DeploymentStatus, progressing, stated, withCondition } from './conditions.ts'
import { isRolling, maxSurge, maxUnavailable } from './limits.ts'
import {
  annotatedFor,
  annotatedFrom,
  byCreation,
  byRevision,
  DESIRED_REPLICAS,
  findNewSet,
  integerIn,
  isActiveSet,
  lastingAvailable,
  lastRevision,
  MAX_REPLICAS,
  maxRevision,
  mostPods,
  newSetFor,
  REVISION,
  ROLLBACK_TO,
  revisionOf,
  sameTemplate,
  sizeAnnotations,
  withoutHash,
} from './replica-sets.ts'
import { countedStatus, hasDeadline, hasHistoryLimit, isComplete, msToDeadline, rolloutStatus } from './status.ts'

export type Scaling = { readonly name: string; readonly from: number; readonly to: number }

/** The writes, in this order. */
export type Plan = {
  /** The new ReplicaSet; nothing else is done when its name is taken or it cannot be created. */
  readonly create: ReplicaSet | undefined
  readonly update: readonly ReplicaSet[]
  /** The changes of size, for events. */
  readonly scaled: readonly Scaling[]
  readonly remove: readonly ReplicaSet[]
  /** The Deployment with its next status and revision; undefined when it has them. */
  readonly status: Deployment | undefined
  /** The Deployment as it goes back to an earlier revision, and the event about that. */
  readonly rollback: { readonly deployment: Deployment; readonly notice: Notice } | undefined
  /** In how many milliseconds to look again though nothing changes. */
  readonly after: number | undefined
}

export type Observed = {
  /** The ReplicaSets that it controls. */
  readonly sets: readonly ReplicaSet[]
  /** Whether a ReplicaSet has pods that have not ended. */
  readonly isRunning: (set: ReplicaSet) => boolean
  readonly now: Date
}

/** A pass under way, with the decisions so far. */
type Pass = {
  readonly deployment: Deployment
  readonly now: Date
  /** The ReplicaSet with the template of the Deployment. */
  current: ReplicaSet | undefined
  old: readonly ReplicaSet[]
  created: boolean
  readonly changed: Set<string>
  readonly scaled: Scaling[]
  remove: readonly ReplicaSet[]
  revision: string | undefined
  status: DeploymentStatus
  rollback: Plan['rollback']
}

export function planDeployment(deployment: Deployment, { sets, isRunning, now }: Observed): Plan {
  const current = findNewSet(deployment, sets)
  const pass: Pass = {
    deployment,
    now,
    current,
    old: sets.filter(set => set !== current).sort(byCreation),
    created: false,
    changed: new Set(),
    scaled: [],
    remove: [],
    revision: deployment.metadata.annotations?.[REVISION],
    status: deployment.status,
    rollback: undefined,
  }
  const isRollout = decide(pass, isRunning)
  return planOf(pass, isRollout)
}

/** Whether the pass was a step of a rollout, whose progress is watched. */
function decide(pass: Pass, isRunning: Observed['isRunning']): boolean {
  const { deployment } = pass
  const rollbackTo = integerIn(deployment.metadata.annotations?.[ROLLBACK_TO])
  if (!deployment.metadata.deletionTimestamp) notePause(pass)
  syncNewSet(pass)
  if (deployment.metadata.deletionTimestamp) return false
  if (deployment.spec.paused) {
    scaleProportionally(pass)
    if (rollbackTo === undefined) cleanUp(pass)
    return false
  }
  if (rollbackTo !== undefined) {
    createNewSet(pass)
    rollBack(pass, rollbackTo)
    return false
  }
  if (isScalingEvent(pass)) {
    scaleProportionally(pass)
    return false
  }
  if (isRolling(deployment)) rollOut(pass)
  else recreate(pass, isRunning)
  return true
}

function planOf(pass: Pass, isRollout: boolean): Plan {
  const { deployment, current, old, created, changed, scaled, remove, revision, rollback, now } = pass
  const statusOf = isRollout ? rolloutStatus : countedStatus
  // A rollback is written on its own; the next pass acts on it.
  const status = rollback ? pass.status : statusOf(deployment, pass.status, { current, old }, now)
  const annotations = { ...deployment.metadata.annotations, ...(revision !== undefined && { [REVISION]: revision }) }
  const isChanged = revision !== deployment.metadata.annotations?.[REVISION] || !deepEqual(status, deployment.status)
  return {
    create: created ? current : undefined,
    update: [...old, ...(current && !created ? [current] : [])].filter(({ metadata }) => changed.has(metadata.name!)),
    scaled,
    remove,
    status: isChanged ? { ...deployment, metadata: { ...deployment.metadata, annotations }, status } : undefined,
    rollback,
    after: isRollout && !isChanged ? msToDeadline(deployment, status, now) : undefined,
  }
}

const allSets = ({ current, old }: Pass): ReplicaSet[] => (current ? [...old, current] : [...old])
const sumOf = (sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number =>
  sets.reduce((total, set) => total + count(set), 0)
const sizeOf = (sets: readonly ReplicaSet[]): number => sumOf(sets, ({ spec }) => spec.replicas)

function say(pass: Pass, ...statement: Parameters<typeof progressing>): void {
  pass.status = withCondition(pass.status, stated(progressing(...statement), pass.now))
}

/** A Deployment that was paused for longer than its deadline has not failed when it is resumed. */
function notePause(pass: Pass): void {
  const { deployment, status } = pass
  const reason = conditionOf(status.conditions, 'Progressing')?.reason
  if (!hasDeadline(deployment) || reason === 'ProgressDeadlineExceeded') return
  const wasPaused = reason === 'DeploymentPaused'
  if (deployment.spec.paused && !wasPaused) say(pass, 'Unknown', 'DeploymentPaused', 'Deployment is paused')
  if (!deployment.spec.paused && wasPaused) say(pass, 'Unknown', 'DeploymentResumed', 'Deployment is resumed')
}

/** Brings the annotations of the new ReplicaSet up to date, if there is one, and the revision of the Deployment. */
function syncNewSet(pass: Pass): void {
  const { deployment, current } = pass
  if (!current) return
  const changed = annotatedFor(deployment, current, maxRevision(pass.old) + 1n)
  const annotations = changed ?? current.metadata.annotations ?? {}
  const minReadySeconds = deployment.spec.minReadySeconds ?? 0
  if (changed || minReadySeconds !== (current.spec.minReadySeconds ?? 0))
    replace(pass, { ...current, metadata: { ...current.metadata, annotations }, spec: { ...current.spec, minReadySeconds } })
  pass.revision = annotations[REVISION] ?? ''
  if (hasDeadline(deployment) && !conditionOf(pass.status.conditions, 'Progressing'))
    say(pass, 'True', 'FoundNewReplicaSet', `Found new replica set "${current.metadata.name}"`)
}

function createNewSet(pass: Pass): void {
  const { deployment } = pass
  if (pass.current) return
  const revision = maxRevision(pass.old) + 1n
  const set = newSetFor(deployment)
  const replicas = isRolling(deployment) ? grown(pass, set) : deployment.spec.replicas
  const annotations = { ...annotatedFor(deployment, set, revision), ...sizeAnnotations(deployment) }
  pass.current = { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } }
  pass.created = true
  if (replicas > 0) pass.scaled.push({ name: set.metadata.name!, from: 0, to: replicas })
  pass.revision = String(revision)
  if (hasDeadline(deployment)) say(pass, 'True', 'NewReplicaSetCreated', `Created new replica set "${set.metadata.name}"`)
}

function replace(pass: Pass, next: ReplicaSet): void {
  const { name = '' } = next.metadata
  if (pass.current?.metadata.name === name) pass.current = next
  else pass.old = pass.old.map(set => (set.metadata.name === name ? next : set))
  pass.changed.add(name)
}

/** Scales a ReplicaSet and notes for which size of the Deployment; `always` notes it though the size stays. Whether the size changes. */
function scale(pass: Pass, set: ReplicaSet, replicas: number, options: { readonly always?: true } = {}): boolean {
  const from = set.spec.replicas
  const annotations = { ...set.metadata.annotations, ...sizeAnnotations(pass.deployment) }
  if (from === replicas && (!options.always || deepEqual(annotations, set.metadata.annotations))) return false
  replace(pass, { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } })
  if (from === replicas) return false
  pass.scaled.push({ name: set.metadata.name!, from, to: replicas })
  return true
}

/** The size of the new ReplicaSet that the surge allows. */
function grown(pass: Pass, current: ReplicaSet): number {
  const { deployment } = pass
  const room = deployment.spec.replicas + maxSurge(deployment) - sumOf(pass.old, mostPods) - current.spec.replicas
  return room <= 0 ? current.spec.replicas : Math.min(current.spec.replicas + room, deployment.spec.replicas)
}

function rollOut(pass: Pass): void {
  createNewSet(pass)
  if (scaleNewSet(pass, pass.current!) || scaleOldSets(pass, pass.current!)) return
  if (isComplete(pass.deployment, pass.status)) cleanUp(pass)
}

function scaleNewSet(pass: Pass, current: ReplicaSet): boolean {
  const { replicas } = pass.deployment.spec
  return scale(pass, current, current.spec.replicas > replicas ? replicas : grown(pass, current))
}

/** Old pods go as far as enough pods stay available: first those that are not available themselves. */
function scaleOldSets(pass: Pass, current: ReplicaSet): boolean {
  const { deployment } = pass
  const names = pass.old.filter(isActiveSet).map(({ metadata }) => metadata.name)
  const active = () => pass.old.filter(({ metadata }) => names.includes(metadata.name))
  const minAvailable = deployment.spec.replicas - maxUnavailable(deployment)
  const missing = current.spec.replicas - lastingAvailable(current)
  let left = sizeOf(allSets(pass)) - minAvailable - missing
  if (names.length === 0 || left <= 0) return false
  const before = pass.scaled.length
  for (const set of active()) {
    const unhealthy = Math.min(left, set.spec.replicas - lastingAvailable(set))
    if (unhealthy <= 0) continue
    scale(pass, set, set.spec.replicas - unhealthy)
    left -= unhealthy
  }
  let spare = sumOf([...active(), current], lastingAvailable) - minAvailable
  for (const set of active()) {
    const count = Math.min(spare, set.spec.replicas)
    if (count <= 0) continue
    scale(pass, set, set.spec.replicas - count)
    spare -= count
  }
  return pass.scaled.length > before
}

/** All old pods end before there is a new one. */
function recreate(pass: Pass, isRunning: Observed['isRunning']): void {
  const { old } = pass
  let isScaled = false
  for (const set of old) if (scale(pass, set, 0)) isScaled = true
  if (isScaled || old.some(set => set.status.replicas > 0 || isRunning(set))) return
  createNewSet(pass)
  scale(pass, pass.current!, pass.deployment.spec.replicas)
  if (isComplete(pass.deployment, pass.status)) cleanUp(pass)
}

/** Whether the size of the Deployment is another than the one for which its ReplicaSets were scaled. */
const isScalingEvent = (pass: Pass): boolean =>
  allSets(pass)
    .filter(isActiveSet)
    .some(({ metadata }) => {
      const desired = sizeIn(metadata.annotations?.[DESIRED_REPLICAS])
      return desired !== undefined && desired !== pass.deployment.spec.replicas
    })

const sizeIn = (text: string | undefined): number | undefined => {
  const size = text !== undefined && /^[0-9]+$/.test(text) ? Number(text) : undefined
  return size !== undefined && size < 2 ** 31 ? size : undefined
}

/** In the middle of a rollout each ReplicaSet grows or shrinks by its part, so that scaling does not hasten the rollout. */
function scaleProportionally(pass: Pass): void {
  const { deployment, current } = pass
  const { replicas } = deployment.spec
  const active = allSets(pass).filter(isActiveSet)
  if (active.length <= 1) {
    const only = active[0] ?? current ?? pass.old.at(-1)
    if (only) scale(pass, only, replicas)
    return
  }
  if (isSaturated(deployment, current)) {
    for (const set of pass.old) scale(pass, set, 0)
    return
  }
  if (!isRolling(deployment)) return
  const wanted = (replicas > 0 ? replicas + maxSurge(deployment) : 0) - sizeOf(active)
  const sets = active.sort((a, b) => b.spec.replicas - a.spec.replicas || (wanted > 0 ? byCreation(b, a) : byCreation(a, b)))
  let added = 0
  const sizes = sets.map(set => {
    const part = partOf(set, deployment, wanted, added)
    added += part
    return set.spec.replicas + part
  })
  // The remainder of rounding goes to the largest one.
  sizes[0] = Math.max(0, sizes[0]! + wanted - added)
  for (const [i, set] of sets.entries()) scale(pass, set, sizes[i]!, { always: true })
}

/** Whether the new ReplicaSet has all the pods that the Deployment wants, all of them available. */
const isSaturated = ({ spec }: Deployment, set: ReplicaSet | undefined): boolean =>
  set !== undefined &&
  set.spec.replicas === spec.replicas &&
  integerIn(set.metadata.annotations?.[DESIRED_REPLICAS]) === BigInt(spec.replicas) &&
  (set.status.availableReplicas ?? 0) === spec.replicas

/** The share of a ReplicaSet in a change of size, given the total change and the part that others got. */
function partOf(set: ReplicaSet, deployment: Deployment, wanted: number, added: number): number {
  if (wanted === 0 || wanted === added) return 0
  const part = proportionOf(set, deployment)
  return wanted > 0 ? Math.min(part, wanted - added) : Math.max(part, wanted - added)
}

function proportionOf({ metadata, spec }: ReplicaSet, deployment: Deployment): number {
  if (deployment.spec.replicas === 0) return -spec.replicas
  const before = sizeIn(metadata.annotations?.[MAX_REPLICAS]) || deployment.status.replicas
  if (!before) return 0
  return Math.floor((spec.replicas * (deployment.spec.replicas + maxSurge(deployment))) / before + 0.5) - spec.replicas
}

/** Deletes old ReplicaSets but the latest; those that still have pods are left alone. */
function cleanUp(pass: Pass): void {
  const { deployment, old } = pass
  if (!hasHistoryLimit(deployment)) return
  const alive = old.filter(({ metadata }) => !metadata.deletionTimestamp).sort(byRevision)
  pass.remove = alive.slice(0, Math.max(0, alive.length - deployment.spec.revisionHistoryLimit)).filter(({ metadata, spec, status }) => {
    const isSeen = (metadata.generation ?? 0) <= (status.observedGeneration ?? 0)
    return spec.replicas === 0 && status.replicas === 0 && isSeen
  })
}

/** Goes back to the template of a revision, 0 for the last one, as the annotation of older clients asks; in any case that is removed. */
function rollBack(pass: Pass, requested: bigint): void {
  const { deployment } = pass
  const sets = allSets(pass)
  const revision = requested || lastRevision(sets)
  const set = revision === 0n ? undefined : sets.find(each => revisionOf(each) === revision)
  const { [ROLLBACK_TO]: _, ...annotations } = deployment.metadata.annotations ?? {}
  const cleared = { ...deployment, metadata: { ...deployment.metadata, annotations } }
  const warn = (reason: string, message: string) => {
    pass.rollback = { deployment: cleared, notice: { type: 'Warning', reason, message } }
  }
  const { name } = deployment.metadata
  if (revision === 0n) warn('DeploymentRollbackRevisionNotFound', 'Unable to find last revision.')
  else if (!set) warn('DeploymentRollbackRevisionNotFound', 'Unable to find the revision to rollback to.')
  else if (sameTemplate(set.spec.template, deployment.spec.template))
    warn('DeploymentRollbackTemplateUnchanged', `The rollback revision contains the same template as current deployment "${name}"`)
  else
    pass.rollback = {
      deployment: {
        ...cleared,
        metadata: { ...cleared.metadata, annotations: annotatedFrom(deployment, set) },
        spec: { ...deployment.spec, template: withoutHash(set.spec.template) },
      },
      notice: { type: 'Normal', reason: 'DeploymentRollback', message: `Rolled back deployment "${name}" to revision ${revision}` },
    }
}
