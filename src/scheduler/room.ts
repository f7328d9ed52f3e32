/** Resources of which a node has too little for a pod. */
import type { NodeInfo } from './node-info.ts'
import type { Rejection } from './plugin.ts'
import type { Resources } from './resources.ts'

/** The resources that every node has, and how messages call them. */
export const COMPUTE = [
  ['cpu', 'cpu'],
  ['memory', 'memory'],
  ['ephemeralStorage', 'ephemeral-storage'],
] as const

export type Counting = {
  /** Whether a resource beside those that every node has is compared, given how much of it there is. */
  readonly counts: (name: string, there: number) => boolean
  /** The share of the requests on the node that is the pod's own, if it is there already. */
  readonly own?: Resources | undefined
}

/** Collects reasons why a node does not do. */
export class Shortages {
  #reasons: string[] | undefined
  #isUnresolvable = false

  /** `isMoreThanThereIs`: a node without other pods would not do either. */
  add(reason: string, { isMoreThanThereIs }: { readonly isMoreThanThereIs: boolean }): void {
    ;(this.#reasons ??= []).push(reason)
    this.#isUnresolvable ||= isMoreThanThereIs
  }

  /** Adds the resources that are missing on a node. */
  addMissing(requests: Resources, { requested, allocatable }: NodeInfo, { counts, own }: Counting): void {
    for (const [name, label] of COMPUTE)
      if (requests[name] > 0 && more(requests[name], own?.[name]) > allocatable[name] - requested[name])
        this.add(`Insufficient ${label}`, { isMoreThanThereIs: requests[name] > allocatable[name] })
    for (const [name, amount] of requests.scalars) {
      const there = allocatable.scalars.get(name) ?? 0
      if (!counts(name, there)) continue
      if (amount > 0 && more(amount, own?.scalars.get(name)) > there - (requested.scalars.get(name) ?? 0))
        this.add(`Insufficient ${name}`, { isMoreThanThereIs: amount > there })
    }
  }

  /** Undefined when nothing is missing. */
  get rejection(): Rejection | undefined {
    return this.#reasons && { reasons: this.#reasons, isUnresolvable: this.#isUnresolvable }
  }
}

/** The amount beyond the pod's own share, at least zero: an overcommitted node has no room even for that. */
const more = (amount: number, own = 0): number => Math.max(0, amount - own)
