/** Decides when pods are evicted because of taints on their devices, and the condition of a DeviceTaintRule. */

import { type DeviceName, isSelected, type TaintRule, tolerates } from '../../devices/device-taints.ts'
import { claimNameOf, type GroupClaims, isMadeForPod, isReservedForPod } from '../../devices/pod-claims.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { DeviceTaint } from '../../kinds/resource/device-taint.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { disruptionPatch } from '../pods/disruption-target.ts'

/** The objects that decide about evictions, from informers or from tests. */
export interface World extends GroupClaims {
  claim(namespace: string, name: string): ResourceClaim | undefined
  /** The taints that a slice puts on a device now. */
  taintsOf(device: DeviceName): readonly DeviceTaint[]
  rules(): Iterable<TaintRule>
}

/** When a pod has to go, and the rules because of which it has to. */
export type Eviction = { readonly at: number; readonly rules: ReadonlySet<string> }

/** Undefined when the pod may stay. */
export function evictionOf(pod: Pod, world: World): Eviction | undefined {
  if (!pod.spec.nodeName) return undefined
  let at: number | undefined
  const rules = new Set<string>()
  for (const entry of pod.spec.resourceClaims ?? []) {
    const named = claimNameOf(pod, entry)
    const claim = 'name' in named ? world.claim(pod.metadata.namespace ?? '', named.name) : undefined
    if (!claim?.status.allocation || !isReservedForPod(pod, claim, world)) continue
    if (named.type === 'made' && !isMadeForPod(pod, claim, world)) continue
    const found = claimEviction(claim, world)
    if (!found) continue
    at = Math.min(at ?? Number.POSITIVE_INFINITY, found.at)
    for (const rule of found.rules) rules.add(rule)
  }
  return at === undefined ? undefined : { at, rules }
}

/** When the users of a claim have to go: when the first taint on one of its devices is no longer tolerated. */
function claimEviction({ status }: ResourceClaim, world: World): Eviction | undefined {
  let at: number | undefined
  const rules = new Set<string>()
  for (const result of status.allocation?.devices.results ?? []) {
    const taints: { readonly taint: DeviceTaint; readonly rule?: string }[] = world.taintsOf(result).map(taint => ({ taint }))
    for (const rule of world.rules()) if (isSelected(rule, result)) taints.push({ taint: rule.spec.taint, rule: rule.metadata.uid ?? '' })
    for (const { taint, rule } of taints) {
      if (taint.effect !== 'NoExecute') continue
      const tolerations = (result.tolerations ?? []).filter(each => each.effect === 'NoExecute' && tolerates(each, taint))
      if (tolerations.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) continue
      const seconds = tolerations.map(({ tolerationSeconds }) => Math.max(0, Number(tolerationSeconds)))
      const added = millisecondsAt(taint.timeAdded)
      at = Math.min(at ?? Number.POSITIVE_INFINITY, added + (seconds.length > 0 ? Math.min(...seconds) * 1000 : 0))
      if (rule !== undefined) rules.add(rule)
    }
  }
  return at === undefined ? undefined : { at, rules }
}

export const evictionPatch = (pod: Pod, now: string): object =>
  disruptionPatch(pod, { reason: 'DeletionByDeviceTaintManager', message: 'Device Taint manager: deleting due to NoExecute taint' }, now)

export const RULE_CONDITION = 'EvictionInProgress'

/** The progress of a rule. */
export type Progress = {
  /** Pods that have to go, or would have to if it had the effect NoExecute, and the namespaces they are in. */
  readonly pods: number
  readonly namespaces: number
  /** Devices that it selects, published and allocated; only looked for while it has no effect. */
  readonly published: number
  readonly allocated: number
  /** Pods that have gone since the controller was started. */
  readonly evicted: number
}

/** The condition of a rule, without its time. */
export function ruleCondition({ metadata, spec }: TaintRule, { pods, namespaces, published, allocated, evicted }: Progress) {
  const { effect } = spec.taint
  const isPending = effect === 'NoExecute' && pods > 0
  const inNamespaces = namespaces === 1 ? '1 namespace' : `${namespaces} different namespaces`
  const texts: string[] = []
  let reason = 'OtherEffect'
  if (effect === 'NoExecute') {
    reason = isPending ? 'PodsPendingEviction' : evicted > 0 ? 'Completed' : 'NotStarted'
    if (isPending) texts.push(`${pods === 1 ? '1 pod needs' : `${pods} pods need`} to be evicted in ${inNamespaces}.`)
  } else if (effect === 'None') {
    reason = 'NoEffect'
    texts.push(
      `${devices(published, 'published')} selected. ${devices(allocated, 'allocated')} selected.`,
      `${pods === 1 ? '1 pod' : `${pods} pods`} would be evicted in ${inNamespaces} if the effect was NoExecute.`,
      'This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.',
    )
  } else texts.push('Eviction only happens for the NoExecute effect.')
  if (evicted > 0) texts.push(`${evicted === 1 ? '1 pod' : `${evicted} pods`} evicted since starting the controller.`)
  return {
    type: RULE_CONDITION,
    status: isPending ? 'True' : 'False',
    reason,
    message: texts.join(' '),
    observedGeneration: metadata.generation ?? 0,
  }
}

const devices = (count: number, what: string): string => (count === 1 ? `1 ${what} device` : `${count} ${what} devices`)
