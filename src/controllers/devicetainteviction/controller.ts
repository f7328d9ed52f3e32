/** Evicts pods from devices whose taints their claims do not tolerate, at once or after the tolerated time, and reports that in rules. */

import { queueKey } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { type DeviceName, isSelected } from '../../devices/device-taints.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { DeviceTaintRule } from '../../kinds/resource/devicetaintrule.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { defineController, type Watch, watch } from '../controller.ts'
import { DeviceUsers } from './device-users.ts'
import { PodEvictor } from './pod-evictor.ts'
import type { World } from './reconcile.ts'
import { RuleReporter, STATUS_PERIOD_MS } from './rule-reporter.ts'

const [POD, RULE] = ['pod:', 'rule:']
const NAME = 'device-taint-eviction-controller'

export type DeviceTaintParts = { readonly gate: (name: string) => boolean }

export const deviceTaintEvictionController = ({ gate }: DeviceTaintParts) =>
  defineController({
    name: NAME,
    identity: NAME,
    workers: 8,
    create({ client, recorder, enqueue }) {
      const hasRules = gate('DRADeviceTaintRules')
      const hasGroupClaims = gate('DRAWorkloadResourceClaims')
      const users = new DeviceUsers(client, { hasGroupClaims })
      const world = { ...worldOf(client, users, hasRules), hasGroupClaims }
      const reporter = new RuleReporter({ client, manager: NAME, users, world })
      const evictor = new PodEvictor({
        client,
        recorder,
        world,
        onEvicted: rules => {
          for (const name of reporter.countEviction(rules)) enqueue(RULE + name, STATUS_PERIOD_MS)
        },
      })
      return {
        watches: [...usageWatches(users), ...(hasRules ? [ruleWatch(users, reporter)] : [])],
        reconcile: key => (key.startsWith(POD) ? evictor.reconcile(key.slice(POD.length)) : reporter.reconcile(key.slice(RULE.length))),
      }
    },
  })

function worldOf(client: Client, users: DeviceUsers, hasRules: boolean): Omit<World, 'hasGroupClaims'> {
  const rules = client.of(DeviceTaintRule)
  return {
    claim: (namespace, name) => users.claim(namespace, name),
    taintsOf: device => users.taintsOf(device),
    rules: () => (hasRules ? rules.list() : []),
  }
}

const podKeys = (keys: readonly string[]): string[] => keys.map(key => POD + key)

/** Pods whose claims, and claims and slices whose devices or taints have changed. */
const usageWatches = (users: DeviceUsers): Watch[] => [
  watch(Pod, ({ type, current, previous }) => {
    const pod = current.object
    if (!pod?.spec.resourceClaims?.length) return undefined
    const before = previous?.object
    const isSame =
      type === 'updated' &&
      pod.spec.nodeName === before?.spec.nodeName &&
      deepEqual(pod.status.resourceClaimStatuses, before?.status.resourceClaimStatuses)
    return isSame ? undefined : POD + queueKey(current)
  }),
  watch(ResourceClaim, ({ current, previous }) => {
    const [after, before] = [current.object, previous?.object]
    if (deepEqual(after?.status, before?.status)) return undefined
    return new Set(podKeys([...users.ofClaim(after), ...users.ofClaim(before)]))
  }),
  watch(ResourceSlice, ({ type, current, previous }) => {
    const isSame = type === 'updated' && deepEqual(evictingTaintsIn(current.object), evictingTaintsIn(previous?.object))
    if (isSame || (type === 'added' && evictingTaintsIn(current.object).length === 0)) return undefined
    return podKeys(users.ofPool(current))
  }),
]

const ruleWatch = (users: DeviceUsers, reporter: RuleReporter): Watch =>
  watch(DeviceTaintRule, ({ type, current, previous }) => {
    const [after, before] = [current.object, previous?.object]
    if (type === 'deleted') reporter.forget(current.uid)
    if (type === 'updated' && deepEqual(after?.spec, before?.spec)) return undefined
    const isConcerned = (device: DeviceName) => [after, before].some(rule => rule !== undefined && isSelected(rule, device))
    // The rule comes first: its status reports the evictions before they happen.
    return [...(type === 'deleted' ? [] : [RULE + current.name]), ...podKeys(users.ofDevices(isConcerned))]
  })

/** The NoExecute taints in a slice by device, and the generation that they belong to. */
const evictingTaintsIn = (slice: ResourceSlice | undefined): unknown[] =>
  (slice?.spec.devices ?? []).flatMap(({ name, taints }) => {
    const evicting = (taints ?? []).filter(({ effect }) => effect === 'NoExecute')
    return evicting.length > 0 ? [[slice!.spec.pool.generation, name, evicting]] : []
  })
