/** ResourceQuota: charges an object to the quotas of its namespace before it is stored, and gives it back when it is not. */
import { startTimer, stopTimer } from '../../../lib/environment.ts'
import { waitFor } from '../../../lib/step.ts'
import type { AnyObject } from '../../../schema/object-meta.ts'
import { internalError, StatusError } from '../../../schema/status-error.ts'
import type { Attributes } from '../../attributes.ts'
import type { Plugin } from '../../plugin.ts'
import type { Reader } from '../../reader.ts'
import { forbidden } from '../../refusal.ts'
import { checkWrite, type RunningQuota } from './check.ts'
import type { LimitedResource } from './configuration.ts'
import type { Evaluator } from './evaluator.ts'
import type { EvaluatorOf } from './evaluators.ts'
import type { Note, Reservation, Reservations } from './reservations.ts'
import { addLists, amountsOf, listOf, only, type ResourceList, subtractLists } from './resource-list.ts'

export type ResourceQuotaParts = {
  readonly reader: Reader
  readonly evaluatorOf: EvaluatorOf
  readonly reservations: Reservations
  /** From the configuration file: what needs a quota. */
  readonly limited?: readonly LimitedResource[] | undefined
  /** Writes the status of a quota; resolves with the conflict when the quota has changed since it was read. One that is gone is as good as written. */
  readonly writeStatus: (quota: AnyObject) => Promise<StatusError | undefined>
}

export function resourceQuota(parts: ResourceQuotaParts): Plugin {
  const { reader, evaluatorOf, limited = [] } = parts
  const admission = new QuotaAdmission(parts)
  return {
    name: 'ResourceQuota',
    validate(attributes) {
      const { operation, resource, namespace } = attributes
      if ((operation !== 'CREATE' && operation !== 'UPDATE') || namespace === '') return
      const evaluator = evaluatorOf(resource)
      if (!evaluator?.handles(attributes) || (limited.length === 0 && reader.list(QUOTAS, namespace).length === 0)) return
      return waitFor(admission.admit(attributes, evaluator))
    },
  }
}

const QUOTAS = { group: '', version: 'v1', plural: 'resourcequotas' }
/** How often quotas are read again after a concurrent change. */
const ATTEMPTS = 10
/** Servers over one store do not wait for each other. */
const SHARED_ATTEMPTS = 60
const WAIT_MS = 10_000

type Waiting = {
  readonly attributes: Attributes
  readonly evaluator: Evaluator
  /** The amounts written to the status of quotas for it so far. */
  readonly takes: Map<string, ResourceList>
  /** Whether it has been let through or rejected. */
  isDecided: boolean
  /** Nobody waits for it any more. */
  isLate: boolean
  readonly decide: (refusal?: unknown) => void
  /** Remove its notes for other servers. */
  readonly notes: (() => Promise<void>)[]
}

/** Decides on all writes that wait in a namespace at once, so that they do not contend for the status of its quotas. */
class QuotaAdmission {
  readonly #parts: ResourceQuotaParts
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(parts: ResourceQuotaParts) {
    this.#parts = parts
  }

  admit(attributes: Attributes, evaluator: Evaluator): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = startTimer(() => {
        waiting.isLate = true
        reject(internalError('resource quota evaluation timed out'))
      }, WAIT_MS)
      const decide = (refusal?: unknown) => {
        waiting.isDecided = true
        stopTimer(timer)
        if (refusal === undefined) resolve()
        else reject(refusal)
      }
      const waiting: Waiting = { attributes, evaluator, takes: new Map(), isDecided: false, isLate: false, decide, notes: [] }
      this.#enqueue(waiting)
    })
  }

  #enqueue(waiting: Waiting): void {
    const { namespace } = waiting.attributes
    const others = this.#waiting.get(namespace)
    if (others) {
      others.push(waiting)
      return
    }
    this.#waiting.set(namespace, [waiting])
    void this.#parts.reservations.exclusively(namespace, async () => {
      const all = this.#waiting.get(namespace)!
      this.#waiting.delete(namespace)
      try {
        await this.#decideAll(namespace, all)
      } catch (error) {
        for (const each of all) if (!each.isDecided) await this.#refuse(each, error)
      }
    })
  }

  async #decideAll(namespace: string, all: readonly Waiting[]): Promise<void> {
    let undecided = [...all]
    let names: ReadonlyMap<string, unknown> | undefined
    for (let attempt = 1; ; attempt++) {
      const quotas = this.#quotas(namespace, names)
      // Resources that need a quota were found to have one before only some of the quotas are looked at again.
      const admitted = await this.#check(quotas, undecided, names ? [] : (this.#parts.limited ?? []))
      await this.#note(namespace, admitted)
      const unwritten = await this.#write(quotas, admitted)
      undecided = []
      for (const { waiting, takes } of admitted) {
        for (const [name, taken] of takes) if (!unwritten.has(name)) waiting.takes.set(name, taken)
        if ([...takes.keys()].some(name => unwritten.has(name))) undecided.push(waiting)
        else await this.#settle(waiting)
      }
      if (undecided.length === 0) return
      const attempts = this.#parts.reservations.notes ? SHARED_ATTEMPTS : ATTEMPTS
      for (const { isConflict, error } of unwritten.values()) if (!isConflict || attempt === attempts) throw error
      // The others have been written and need no second look.
      names = unwritten
    }
  }

  #quotas(namespace: string, names: ReadonlyMap<string, unknown> | undefined): Map<string, RunningQuota> {
    const quotas = this.#parts.reader.list(QUOTAS, namespace).filter(({ metadata }) => !names || names.has(metadata.name!))
    return new Map(quotas.map(quota => [quota.metadata.name!, { quota, used: listOf(quota['status']?.used) }]))
  }

  /** Those that take something of quotas, which is added to the usage; all others are decided. */
  async #check(quotas: Map<string, RunningQuota>, all: readonly Waiting[], limited: readonly LimitedResource[]) {
    const admitted: Admitted[] = []
    for (const waiting of all) {
      const { attributes } = waiting
      const verdict = verdictOn(waiting, [...quotas.values()], limited)
      if (!verdict.ok) {
        await this.#refuse(waiting, verdict.refusal)
        continue
      }
      if (attributes.dryRun || verdict.takes.size === 0) {
        await this.#settle(waiting)
        continue
      }
      for (const [name, taken] of verdict.takes) {
        const running = quotas.get(name)!
        quotas.set(name, { ...running, used: addLists(running.used, taken) })
      }
      admitted.push({ waiting, takes: verdict.takes })
    }
    return admitted
  }

  /** Notes for other servers the use of objects that they cannot see yet. */
  async #note(namespace: string, admitted: readonly Admitted[]): Promise<void> {
    const { notes } = this.#parts.reservations
    if (!notes || admitted.length === 0) return
    const remove = await notes.write(namespace, admitted.map(noteOf))
    let left = admitted.length
    const done = async () => {
      if (--left === 0) await remove().catch(() => {})
    }
    for (const { waiting } of admitted) waiting.notes.push(done)
  }

  /** The quotas that could not be written, by name: because of a concurrent change, or for another reason. */
  async #write(quotas: ReadonlyMap<string, RunningQuota>, admitted: readonly { takes: ReadonlyMap<string, ResourceList> }[]) {
    const unwritten = new Map<string, { readonly isConflict: boolean; readonly error: unknown }>()
    for (const name of new Set(admitted.flatMap(({ takes }) => [...takes.keys()]))) {
      const { quota, used } = quotas.get(name)!
      try {
        const error = await this.#parts.writeStatus(withUsed(quota, used))
        if (error) unwritten.set(name, { isConflict: true, error })
      } catch (error) {
        unwritten.set(name, { isConflict: false, error })
      }
    }
    return unwritten
  }

  async #refuse(waiting: Waiting, refusal: unknown): Promise<void> {
    await this.#giveBack(waiting.attributes.namespace, waiting.takes)
    forget(waiting)
    waiting.decide(refusal)
  }

  /** Lets the write go on; its use is reserved until its object is stored. */
  async #settle(waiting: Waiting): Promise<void> {
    const { attributes, takes, isLate, decide } = waiting
    if (takes.size > 0 && isLate) await this.#giveBack(attributes.namespace, takes)
    if (takes.size > 0 && !isLate) this.#reserve(waiting)
    else forget(waiting)
    decide()
  }

  #reserve(waiting: Waiting): void {
    const { reservations } = this.#parts
    const { attributes, takes } = waiting
    const { namespace } = attributes
    const uid = attributes.object!.metadata.uid ?? ''
    const reservation: Reservation = { namespace, takes, isVisible: this.#visibility(attributes) }
    reservations.add(reservation, uid)
    attributes.onEnd(outcome => {
      // Others must find it as long as it may be stored: its notes stay until they expire.
      if (outcome === 'unknown' && reservations.notes) return void reservations.keep(reservation, uid)
      if (outcome !== 'not stored') {
        forget(waiting)
        reservations.remove(reservation, uid)
        return
      }
      const giveBack = async () => {
        await this.#giveBack(namespace, takes)
        reservations.remove(reservation, uid)
        // Not before: another server that counts must not take it for free twice.
        forget(waiting)
      }
      return waitFor(reservations.exclusively(namespace, giveBack))
    })
  }

  #visibility(attributes: Attributes): () => boolean {
    const written = writtenBy(attributes)
    return () => isVisible(written, attributes.namespace, this.#parts.reader)
  }

  /** Amounts that cannot be given back now are, when the objects are counted the next time. */
  async #giveBack(namespace: string, takes: ReadonlyMap<string, ResourceList>): Promise<void> {
    for (const [name, taken] of takes)
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const quota = this.#parts.reader.get(QUOTAS, name, namespace)
        if (!quota) break
        const used = listOf(quota['status']?.used)
        const left = only(subtractLists(used, taken), used.keys())
        if (!(await this.#parts.writeStatus(withUsed(quota, left)).catch(() => undefined))) break
      }
  }
}

type Admitted = { readonly waiting: Waiting; readonly takes: ReadonlyMap<string, ResourceList> }

function forget({ notes }: Waiting): void {
  for (const remove of notes.splice(0)) void remove()
}

function writtenBy({ resource, object, oldObject }: Attributes): Omit<Note, 'takes'> {
  const { group, version, plural } = resource
  const { name = '', uid = '' } = object!.metadata
  const replaced = oldObject?.metadata.resourceVersion
  return { resource: { group, version, plural }, name, uid, ...(replaced !== undefined && { replaced }) }
}

const noteOf = ({ waiting, takes }: Admitted): Note => ({
  ...writtenBy(waiting.attributes),
  takes: Object.fromEntries([...takes].map(([quota, taken]) => [quota, amountsOf(taken)])),
})

/** Whether a write can be read: a create by its uid, an update by the revision that it replaced. */
export function isVisible({ resource, name, uid, replaced }: Omit<Note, 'takes'>, namespace: string, reader: Reader): boolean {
  const current = reader.get(resource, name, namespace)?.metadata
  return replaced === undefined ? current?.uid === uid : current?.resourceVersion !== replaced
}

/** An object that cannot be measured is rejected alone, not with all others that wait. */
function verdictOn({ attributes, evaluator }: Waiting, quotas: readonly RunningQuota[], limited: readonly LimitedResource[]) {
  try {
    const verdict = checkWrite(quotas, attributes, { evaluator, limited })
    if (verdict.ok) return verdict
    return { ok: false as const, refusal: verdict.isPlain ? new StatusError(500, '', verdict.why) : forbidden(attributes, verdict.why) }
  } catch (refusal) {
    return { ok: false as const, refusal }
  }
}

const withUsed = (quota: AnyObject, used: ResourceList): AnyObject => ({
  ...quota,
  status: { ...quota['status'], used: amountsOf(used) },
})
