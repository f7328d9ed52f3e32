/** Locks that server processes take one after the other, each with a text that the last holder left for the next. */
import type { ToProcess } from '../../server/processes/messages.ts'

/** The part of a process that is used. */
type Holder = { send(message: ToProcess): void }
type Lock = { kept: string; holder: Holder | undefined; readonly waiting: Holder[] }

export class Locks {
  readonly #locks = new Map<string, Lock>()

  /** The process is told when it has the lock. */
  take(name: string, by: Holder): void {
    const lock = this.#locks.get(name) ?? { kept: '', holder: undefined, waiting: [] }
    this.#locks.set(name, lock)
    lock.waiting.push(by)
    grant(name, lock)
  }

  release(name: string, by: Holder, kept: string): void {
    const lock = this.#locks.get(name)
    if (lock?.holder !== by) return
    lock.kept = kept
    lock.holder = undefined
    grant(name, lock)
  }

  /** Releases all locks of a process that has ended. */
  gone(process: Holder): void {
    for (const [name, lock] of this.#locks) {
      const at = lock.waiting.indexOf(process)
      if (at >= 0) lock.waiting.splice(at, 1)
      this.release(name, process, lock.kept)
    }
  }
}

function grant(name: string, lock: Lock): void {
  if (lock.holder) return
  lock.holder = lock.waiting.shift()
  lock.holder?.send({ type: 'locked', name, kept: lock.kept })
}
