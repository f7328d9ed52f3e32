/** Reports in the status of DeviceTaintRules how far their evictions are, or which pods they would evict. */

import { namedBy } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { type DeviceName, isSelected, type TaintRule } from '../../devices/device-taints.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { DeviceTaintRule } from '../../kinds/resource/devicetaintrule.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import { conditionOf } from '../../schema/conditions.ts'
import type { DeviceUsers } from './device-users.ts'
import { evictionOf, type Progress, RULE_CONDITION, ruleCondition, type World } from './reconcile.ts'

/** How often the status of a rule is written while it evicts pods. */
export const STATUS_PERIOD_MS = 10_000

export type RuleReporterParts = {
  readonly client: Client
  /** The field manager of the status. */
  readonly manager: string
  readonly users: DeviceUsers
  readonly world: World
}

export class RuleReporter {
  readonly #rules: ResourceClient<DeviceTaintRule>
  readonly #pods: ResourceClient<Pod>
  readonly #parts: RuleReporterParts
  /** The number of pods that were evicted because of a rule, by uid of the rule. */
  readonly #evicted = new Map<string, number>()

  constructor(parts: RuleReporterParts) {
    this.#parts = parts
    this.#rules = parts.client.of(DeviceTaintRule)
    this.#pods = parts.client.of(Pod)
  }

  /** Counts an eviction; returns the names of the rules whose status changes by it. */
  countEviction(rules: ReadonlySet<string>): string[] {
    const names: string[] = []
    for (const { metadata } of this.#rules.list()) {
      const { uid = '', name = '' } = metadata
      if (!rules.has(uid)) continue
      this.#evicted.set(uid, (this.#evicted.get(uid) ?? 0) + 1)
      names.push(name)
    }
    return names
  }

  forget(uid: string): void {
    this.#evicted.delete(uid)
  }

  /** Writes the status of a rule; resolves to the milliseconds until that is due again. */
  async reconcile(name: string): Promise<number | undefined> {
    const { client, manager } = this.#parts
    const rule = this.#rules.get({ name })
    if (!rule) return undefined
    const before = conditionOf(rule.status.conditions, RULE_CONDITION)
    const now = client.now.getTime()
    const age = before ? now - millisecondsAt(before.lastTransitionTime) : STATUS_PERIOD_MS
    const isObserved = Number(before?.observedGeneration ?? -1) === Number(rule.metadata.generation ?? 0)
    if (isObserved && age < STATUS_PERIOD_MS) return STATUS_PERIOD_MS - age
    const condition = ruleCondition(rule, this.#progressOf(rule))
    if (before) {
      const { lastTransitionTime: _, ...stated } = before
      if (deepEqual(stated, condition)) return undefined
    }
    const status = { conditions: [{ ...condition, lastTransitionTime: timestampOf(now) }] }
    await this.#rules.apply({ metadata: { name, uid: rule.metadata.uid }, status }, { manager, subresource: 'status' })
    return undefined
  }

  #progressOf(rule: TaintRule): Progress {
    const { users, world } = this.#parts
    const { effect } = rule.spec.taint
    const uid = rule.metadata.uid ?? ''
    const none = { pods: 0, namespaces: 0, published: 0, allocated: 0, evicted: this.#evicted.get(uid) ?? 0 }
    if (effect !== 'NoExecute' && effect !== 'None') return none
    // A rule without an effect is judged as if its effect were NoExecute.
    const effective = { ...rule, spec: { ...rule.spec, taint: { ...rule.spec.taint, effect: 'NoExecute' } } }
    const assumed: World = effect === 'None' ? { ...world, rules: () => [effective] } : world
    const isConcerned = (device: DeviceName) => isSelected(rule, device)
    const evicted = [...new Set(users.ofDevices(isConcerned))].flatMap(key => {
      const pod = this.#pods.get(namedBy(key))
      return pod && !pod.metadata.deletionTimestamp && evictionOf(pod, assumed)?.rules.has(uid) ? [pod] : []
    })
    const counts = { ...none, pods: evicted.length, namespaces: new Set(evicted.map(({ metadata }) => metadata.namespace)).size }
    return effect === 'None' ? { ...counts, ...users.count(isConcerned) } : counts
  }
}
