/**
 * Which mutating webhooks or policies are asked once more. When something changed the object after one of them had seen it, those
 * that want to are asked a second time, once.
 *
 *     round 0:  a changes → b changes → c        a and c want to know: a must be asked again
 *     round 1:  a
 */
import { copyJson, deepEqual } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'

/** The two rounds of one request through the webhooks, or through the policies. */
export class Rounds {
  #isSecond = false
  #lastOutput: AnyObject | undefined
  // Made when the first is asked: most requests match none.
  #invoked: Set<string> | undefined
  #again: Set<string> | undefined

  get round(): 0 | 1 {
    return this.#isSecond ? 1 : 0
  }

  /** From here on only those are asked that have to be asked again. */
  startSecond(): void {
    this.#isSecond = true
  }

  begin(object: AnyObject | undefined): void {
    if (this.#isSecond && !deepEqual(this.#lastOutput, object)) this.changed()
  }

  skips(id: string): boolean {
    return this.#isSecond && !this.#again?.has(id)
  }

  /** Notes one that was asked and wants to be asked again if the object changes after it. */
  invoked(id: string): void {
    this.#invoked ??= new Set()
    this.#invoked.add(id)
  }

  /** Notes that the object was changed. */
  changed(): void {
    if (!this.#invoked) return
    this.#again ??= new Set()
    for (const id of this.#invoked) this.#again.add(id)
    this.#invoked = undefined
  }

  end(object: AnyObject | undefined): void {
    // Nobody wants to know whether it is changed after this.
    if (!this.#invoked && !this.#again) return
    this.#lastOutput = object && copyJson(object)
  }
}

/** The memory of policies and webhooks about one request. */
export class Reinvocation {
  readonly policies = new Rounds()
  readonly webhooks = new Rounds()
  #isWanted = false

  /** Has all mutating plugins run once more, after one of these changed the object. */
  request(): void {
    this.#isWanted = true
  }

  /** Whether a second round is wanted, which begins then; there is never a third. */
  startSecond(): boolean {
    if (!this.#isWanted || this.webhooks.round === 1) return false
    this.policies.startSecond()
    this.webhooks.startSecond()
    return true
  }
}
