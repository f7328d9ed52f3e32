/** Deletes pods that use devices whose taints their claims do not tolerate, at once or when their time is up; says in rules how far that is. */
import type { IndexDefinition } from '../../client/informer.ts'
import { namedBy, queueKey } from '../../client/object-revision.ts'
import { poolId } from '../../devices/device.ts'
import { type DeviceName, isSelected, type TaintRule } from '../../devices/device-taints.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { DeviceTaintRule } from '../../kinds/resource/devicetaintrule.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import { defineController, watch } from '../controller.ts'
import { evictionOf, evictionPatch, type Progress, RULE_CONDITION, ruleCondition, type World } from './reconcile.ts'

/** Claims by the pools that they have devices of; slices by their pool. */
const BY_POOL: IndexDefinition<ResourceClaim> = {
  name: 'allocated-pool',
  valuesOf: ({ object }) => [
    ...new Set((object?.status.allocation?.devices.results ?? []).map(({ driver, pool }) => poolId(driver, pool))),
  ],
}
const SLICES: IndexDefinition<ResourceSlice> = {
  name: 'device-pool',
  valuesOf: ({ fields }) => [poolId(fields['spec.driver'] ?? '', fields['spec.pool.name'] ?? '')],
}

const [POD, RULE] = ['pod:', 'rule:']
/** The status of a rule is written so often while pods are evicted. */
const STATUS_PERIOD_MS = 10_000
const NAME = 'device-taint-eviction-controller'

export type DeviceTaintParts = { readonly gate: (name: string) => boolean }

export const deviceTaintEvictionController = ({ gate }: DeviceTaintParts) =>
  defineController({
    name: NAME,
    identity: NAME,
    workers: 8,
    create({ client, recorder, enqueue }) {
      const [pods, claims] = [client.of(Pod), client.of(ResourceClaim)]
      const [slices, rules] = [client.of(ResourceSlice), client.of(DeviceTaintRule)]
      const hasRules = gate('DRADeviceTaintRules')
      /** Pods whose time is not up yet. */
      const scheduled = new Set<string>()
      /** By uid of a rule: pods that were evicted because of it. */
      const evicted = new Map<string, number>()
      const world: World = {
        claim: (namespace, name) => claims.get({ namespace, name }),
        taintsOf,
        rules: () => (hasRules ? rules.list() : []),
      }

      /** The slices of a pool that count: those of the highest generation. */
      function currentSlices(pool: string): ResourceSlice[] {
        const all = [...slices.byIndex(SLICES, pool)]
        const newest = all.reduce(
          (highest, { spec }) => (spec.pool.generation > highest ? spec.pool.generation : highest),
          0 as number | bigint,
        )
        return all.filter(({ spec }) => spec.pool.generation === newest)
      }

      function taintsOf({ driver, pool, device }: DeviceName) {
        for (const { spec } of currentSlices(poolId(driver, pool)))
          for (const each of spec.devices ?? []) if (each.name === device) return each.taints ?? []
        return []
      }

      /** The pods that use a claim. */
      const users = (claim: ResourceClaim | undefined): string[] =>
        (claim?.status.reservedFor ?? []).flatMap(({ apiGroup, resource, name }) =>
          !apiGroup && resource === 'pods' ? [POD + queueKey({ namespace: claim!.metadata.namespace ?? '', name })] : [],
        )

      function usersOfDevices(isMeant: (device: DeviceName) => boolean, candidates: Iterable<ResourceClaim>): string[] {
        const keys: string[] = []
        for (const claim of candidates) if (claim.status.allocation?.devices.results?.some(isMeant)) keys.push(...users(claim))
        return keys
      }

      async function syncPod(key: string): Promise<number | undefined> {
        const pod = pods.get(namedBy(key))
        const eviction = pod && evictionOf(pod, world)
        if (!pod || !eviction) {
          if (scheduled.delete(key) && pod) say(pod, 'Cancelling deletion')
          return undefined
        }
        const now = client.now.getTime()
        scheduled.add(key)
        if (eviction.at > now) return eviction.at - now
        scheduled.delete(key)
        if (pod.metadata.deletionTimestamp) return undefined
        say(pod, 'Marking for deletion')
        await pods.patch(pod.metadata, evictionPatch(pod, timestampOf(now)), { type: 'strategic', subresource: 'status' })
        if (!(await pods.delete(pod))) return undefined
        for (const rule of rules.list())
          if (eviction.rules.has(rule.metadata.uid ?? '')) {
            evicted.set(rule.metadata.uid ?? '', (evicted.get(rule.metadata.uid ?? '') ?? 0) + 1)
            enqueue(RULE + rule.metadata.name, STATUS_PERIOD_MS)
          }
        return undefined
      }

      const say = (pod: Pod, what: string) => recorder.event(pod, 'Normal', 'DeviceTaintManagerEviction', what)

      async function syncRule(name: string): Promise<number | undefined> {
        const rule = rules.get({ name })
        if (!rule) return undefined
        const before = rule.status.conditions?.find(({ type }) => type === RULE_CONDITION)
        const now = client.now.getTime()
        const age = before ? now - millisecondsAt(before.lastTransitionTime) : STATUS_PERIOD_MS
        const isObserved = Number(before?.observedGeneration ?? -1) === Number(rule.metadata.generation ?? 0)
        if (isObserved && age < STATUS_PERIOD_MS) return STATUS_PERIOD_MS - age
        const condition = ruleCondition(rule, progressOf(rule))
        if (before) {
          const { lastTransitionTime: _, ...known } = before
          if (deepEqual(known, condition)) return undefined
        }
        const status = { conditions: [{ ...condition, lastTransitionTime: timestampOf(now) }] }
        await rules.apply({ metadata: { name, uid: rule.metadata.uid }, status }, { manager: NAME, subresource: 'status' })
        return undefined
      }

      function progressOf(rule: TaintRule): Progress {
        const { effect } = rule.spec.taint
        const uid = rule.metadata.uid ?? ''
        const none = { pods: 0, namespaces: 0, published: 0, allocated: 0, evicted: evicted.get(uid) ?? 0 }
        if (effect !== 'NoExecute' && effect !== 'None') return none
        // What it would do is found out by pretending that it does.
        const pretended = { ...rule, spec: { ...rule.spec, taint: { ...rule.spec.taint, effect: 'NoExecute' } } }
        const assumed: World = effect === 'None' ? { ...world, rules: () => [pretended] } : world
        const isMeant = (device: DeviceName) => isSelected(rule, device)
        const affected = new Set(usersOfDevices(isMeant, claims.list()))
        const going = [...affected].flatMap(key => {
          const pod = pods.get(namedBy(key.slice(POD.length)))
          return pod && !pod.metadata.deletionTimestamp && evictionOf(pod, assumed)?.rules.has(uid) ? [pod] : []
        })
        const counts = { ...none, pods: going.length, namespaces: new Set(going.map(({ metadata }) => metadata.namespace)).size }
        return effect === 'None' ? { ...counts, ...devicesOf(isMeant) } : counts
      }

      function devicesOf(isMeant: (device: DeviceName) => boolean): Pick<Progress, 'published' | 'allocated'> {
        const pools = new Set([...slices.list()].map(({ spec }) => poolId(spec.driver, spec.pool.name)))
        const published = [...pools]
          .flatMap(currentSlices)
          .flatMap(({ spec }) =>
            (spec.devices ?? []).filter(({ name }) => isMeant({ driver: spec.driver, pool: spec.pool.name, device: name })),
          )
        const allocated = [...claims.list()].flatMap(({ status }) => (status.allocation?.devices.results ?? []).filter(isMeant))
        return { published: published.length, allocated: allocated.length }
      }

      return {
        watches: [
          watch(Pod, ({ type, current, previous }) => {
            const pod = current.object
            if (!pod?.spec.resourceClaims?.length) return undefined
            const isSame = type === 'updated' && pod.spec.nodeName === previous?.object?.spec.nodeName
            return isSame && deepEqual(pod.status.resourceClaimStatuses, previous?.object?.status.resourceClaimStatuses)
              ? undefined
              : POD + queueKey(current)
          }),
          watch(ResourceClaim, ({ current, previous }) => {
            const [after, before] = [current.object, previous?.object]
            if (deepEqual(after?.status, before?.status)) return undefined
            return new Set([...users(after), ...users(before)])
          }),
          watch(ResourceSlice, ({ type, current, previous }) => {
            const isSame = type === 'updated' && deepEqual(taintsIn(current.object), taintsIn(previous?.object))
            if (isSame || (type === 'added' && taintsIn(current.object).length === 0)) return undefined
            const [pool] = SLICES.valuesOf(current)
            return [...claims.byIndex(BY_POOL, pool!)].flatMap(users)
          }),
          ...(hasRules
            ? [
                watch(DeviceTaintRule, ({ type, current, previous }) => {
                  const [after, before] = [current.object, previous?.object]
                  if (type === 'deleted') evicted.delete(current.uid)
                  if (type === 'updated' && deepEqual(after?.spec, before?.spec)) return undefined
                  const isMeant = (device: DeviceName) => [after, before].some(rule => rule !== undefined && isSelected(rule, device))
                  // What a rule is about to do is said before it does it.
                  return [...(type === 'deleted' ? [] : [RULE + current.name]), ...usersOfDevices(isMeant, claims.list())]
                }),
              ]
            : []),
        ],
        reconcile: key => (key.startsWith(POD) ? syncPod(key.slice(POD.length)) : syncRule(key.slice(RULE.length))),
      }
    },
  })

/** The NoExecute taints in a slice, by device, and the generation they belong to. */
function taintsIn(slice: ResourceSlice | undefined): unknown[] {
  return (slice?.spec.devices ?? []).flatMap(({ name, taints }) => {
    const driving = (taints ?? []).filter(({ effect }) => effect === 'NoExecute')
    return driving.length > 0 ? [[slice!.spec.pool.generation, name, driving]] : []
  })
}
