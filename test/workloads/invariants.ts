/** The invariants of workloads at every revision, and when they have settled. */
import type { Step } from './history.ts'

type Objects = Map<string, any>
const keyOf = ({ metadata: { namespace, name } }: any): string => `${namespace ?? ''}/${name}`
const controllerOf = (object: any): any => object.metadata.ownerReferences?.find((owner: any) => owner.controller)
const isActive = ({ metadata, status }: any): boolean => !metadata.deletionTimestamp && !['Succeeded', 'Failed'].includes(status?.phase)
const isReady = ({ status }: any): boolean => status?.conditions?.some((c: any) => c.type === 'Ready' && c.status === 'True') ?? false

/** A controller's decision may be based on the state of some revisions before: so many of an object, so many of all. */
const RECENT = 3
const MOMENT = 50
type Recent = Map<string, number[]>
const note = (recent: Recent, key: string, value: number) => recent.set(key, [...(recent.get(key) ?? []), value].slice(-RECENT))
const mostOf = (recent: Recent, key: string) => Math.max(...(recent.get(key) ?? [0]))
const leastOf = (recent: Recent, key: string) => Math.min(...(recent.get(key) ?? [0]))

const amount = (value: number | string, total: number, round: (x: number) => number): number =>
  typeof value === 'number' ? value : round((Number.parseInt(value, 10) * total) / 100)

/** Checks a history from its beginning; returns the violations, by revision. */
export function brokenIn(steps: readonly Step[]): string[] {
  const broken: string[] = []
  const now: Record<string, Objects> = {}
  const of = (resource: string): Objects => (now[resource] ??= new Map())
  const sizes: Recent = new Map()
  const limits: Recent = new Map()
  /** The number of pods of a Deployment that must be available. */
  const needs: Recent = new Map()
  /** The reported number of available pods of a ReplicaSet. */
  const available: Recent = new Map()
  /** The revision at which a pod that was ready became unready, or was deleted. */
  const readyUntil = new Map<string, number>()
  const podsOf = (uid: string) => [...of('pods').values()].filter(pod => controllerOf(pod)?.uid === uid)

  for (const { revision, resource, type, object } of steps) {
    const fail = (what: string) => broken.push(`revision ${revision}: ${resource} ${keyOf(object)} ${what}`)
    const objects = of(resource)
    const before = objects.get(keyOf(object))
    const { uid } = object.metadata
    if (resource === 'pods' && before && isReady(before)) readyUntil.set(keyOf(object), revision)
    if (type === 'deleted') {
      objects.delete(keyOf(object))
      continue
    }
    if (resource === 'replicasets') {
      const owner = controllerOf(object)
      const deployment = owner && [...of('deployments').values()].find(each => each.metadata.uid === owner.uid)
      const grown = object.spec.replicas - (before?.spec.replicas ?? 0)
      if (deployment && grown > 0 && deployment.spec.strategy.type === 'RollingUpdate') {
        const others = [...objects.values()].filter(each => controllerOf(each)?.uid === owner.uid && each.metadata.uid !== uid)
        const total = others.reduce((sum, each) => sum + each.spec.replicas, object.spec.replicas)
        if (total > mostOf(limits, owner.uid)) fail(`makes ${total} pods of a Deployment that may have ${mostOf(limits, owner.uid)}`)
      }
      if (deployment && grown < 0 && deployment.spec.strategy.type === 'RollingUpdate') {
        const siblings = [...objects.values()].filter(each => controllerOf(each)?.uid === owner.uid)
        const counted = siblings.reduce((sum, each) => sum + mostOf(available, each.metadata.uid), 0)
        // Unavailable pods are deleted first.
        const spare = (before?.spec.replicas ?? 0) - leastOf(available, uid)
        const left = counted - Math.max(0, -grown - spare)
        const need = leastOf(needs, owner.uid)
        if (left < need && -grown > spare) fail(`leaves ${left} available pods of a Deployment that needs ${need}`)
      }
      note(sizes, uid, object.spec.replicas)
      note(available, uid, object.status?.availableReplicas ?? 0)
    }
    if (resource === 'deployments') {
      const { replicas, strategy } = object.spec
      const surge = strategy.rollingUpdate ? amount(strategy.rollingUpdate.maxSurge, replicas, Math.ceil) : 0
      note(limits, uid, replicas + surge)
      const unavailable = strategy.rollingUpdate ? amount(strategy.rollingUpdate.maxUnavailable, replicas, Math.floor) : replicas
      note(needs, uid, replicas - unavailable)
    }
    if (resource === 'poddisruptionbudgets' && before) {
      const granted = Object.keys(object.status?.disruptedPods ?? {}).filter(name => !(name in (before.status?.disruptedPods ?? {})))
      if (granted.length > 0 && (before.status?.disruptionsAllowed ?? 0) < granted.length)
        fail(`let ${granted} go although ${before.status?.disruptionsAllowed} were allowed`)
      if ((object.status?.disruptionsAllowed ?? 0) < 0) fail('allows a negative number of disruptions')
    }
    if (resource === 'pods' && !before) {
      const owner = controllerOf(object)
      const siblings = owner ? podsOf(owner.uid).filter(isActive) : []
      if (owner?.kind === 'ReplicaSet' && siblings.length + 1 > mostOf(sizes, owner.uid))
        fail(`is pod ${siblings.length + 1} of a ReplicaSet of ${mostOf(sizes, owner.uid)}`)
      if (owner?.kind === 'StatefulSet') {
        const set = [...of('statefulsets').values()].find(each => each.metadata.uid === owner.uid)
        const ordinal = Number(object.metadata.name.split('-').pop())
        if (set?.spec.podManagementPolicy === 'OrderedReady')
          for (let lower = set.spec.ordinals?.start ?? 0; lower < ordinal; lower++) {
            const name = `${object.metadata.namespace}/${owner.name}-${lower}`
            const pod = of('pods').get(name)
            // A pod that was ready a moment ago may have been so when the controller read it.
            const wasReady = revision - (readyUntil.get(name) ?? Number.NEGATIVE_INFINITY) <= MOMENT
            if (!(pod && isReady(pod)) && !wasReady) fail(`was made before ${name} was ready`)
          }
      }
      if (owner?.kind === 'DaemonSet') {
        const nodeOf = (pod: any) =>
          pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms?.[0]?.matchFields?.[0]
            ?.values?.[0]
        const set = [...of('daemonsets').values()].find(each => each.metadata.uid === owner.uid)
        const surge = set?.spec.updateStrategy.rollingUpdate?.maxSurge ?? 0
        if (surge === 0 && siblings.some(pod => nodeOf(pod) === nodeOf(object))) fail('is a second one of its DaemonSet on its node')
      }
      const index = object.metadata.annotations?.['batch.kubernetes.io/job-completion-index']
      if (owner?.kind === 'Job' && index !== undefined)
        if (siblings.some(pod => pod.metadata.annotations?.['batch.kubernetes.io/job-completion-index'] === index))
          fail(`is a second one of index ${index}`)
    }
    if (resource === 'pods') {
      const [was, is] = [before?.status?.phase, object.status?.phase]
      if (before?.metadata.uid === uid && ['Succeeded', 'Failed'].includes(was) && was !== is) fail(`was ${was} and is ${is}`)
    }
    objects.set(keyOf(object), object)
  }
  return broken
}

/** The remaining problems once nothing changes any more. */
export function unsettledIn(current: Readonly<Record<string, readonly any[]>>): string[] {
  const unsettled: string[] = []
  const uids = new Set(Object.values(current).flatMap(objects => objects.map(({ metadata }) => metadata.uid)))
  const kinds = new Map(Object.entries(current).flatMap(([kind, objects]) => objects.map(object => [object, kind] as const)))
  const say = (object: any, what: string) => unsettled.push(`${kinds.get(object)} ${keyOf(object)} ${what}`)
  const pods = current['pods'] ?? []
  const owned = (object: any) => pods.filter(pod => controllerOf(pod)?.uid === object.metadata.uid)
  for (const pod of pods) {
    const owner = controllerOf(pod)
    if (owner && !uids.has(owner.uid)) say(pod, `has an owner that is gone: ${owner.kind} ${owner.name}`)
    if (pod.metadata.deletionTimestamp) say(pod, 'is still being deleted')
  }
  for (const kind of ['deployments', 'replicasets', 'statefulsets'] as const)
    for (const object of current[kind] ?? []) {
      const { status = {}, spec, metadata } = object
      const pods =
        kind === 'deployments'
          ? (current['replicasets'] ?? []).filter(set => controllerOf(set)?.uid === metadata.uid).flatMap(owned)
          : owned(object)
      const active = pods.filter(isActive)
      if (status.observedGeneration !== metadata.generation) say(object, 'has not been observed')
      if (active.length !== spec.replicas) say(object, `has ${active.length} pods of ${spec.replicas}`)
      if ((status.replicas ?? 0) !== active.length) say(object, `says that it has ${status.replicas} pods and has ${active.length}`)
      const ready = active.filter(isReady).length
      if ((status.readyReplicas ?? 0) !== ready) say(object, `says that ${status.readyReplicas} are ready, and ${ready} are`)
    }
  for (const object of current['daemonsets'] ?? []) {
    const { status, metadata } = object
    const active = owned(object).filter(isActive)
    if (status.observedGeneration !== metadata.generation) say(object, 'has not been observed')
    if (status.desiredNumberScheduled !== active.length) say(object, `has ${active.length} pods of ${status.desiredNumberScheduled}`)
    if (status.numberReady !== active.filter(isReady).length) say(object, `says that ${status.numberReady} are ready`)
    if ((status.updatedNumberScheduled ?? 0) !== status.desiredNumberScheduled) say(object, 'is not up to date everywhere')
  }
  for (const object of current['jobs'] ?? []) {
    const { status, spec } = object
    const isOver = status.conditions?.some((c: any) => ['Complete', 'Failed'].includes(c.type) && c.status === 'True')
    if (!isOver) say(object, 'has not ended')
    else if (status.succeeded !== spec.completions) say(object, `counts ${status.succeeded} of ${spec.completions} completions`)
    if ((status.active ?? 0) > 0 || (status.terminating ?? 0) > 0) say(object, 'has pods left')
  }
  return unsettled
}
