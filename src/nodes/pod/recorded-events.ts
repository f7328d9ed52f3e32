/** Events that each look reports while they hold, and that are recorded once. */
import type { PodEvent } from './pod-draft.ts'

export class RecordedEvents {
  readonly #byPod = new Map<string, ReadonlySet<string>>()

  /** The events that were not recorded before. An event that no longer holds is recorded when it holds again. */
  news(pod: string, events: readonly PodEvent[]): readonly PodEvent[] {
    const recorded = this.#byPod.get(pod)
    if (events.length === 0 && !recorded) return events
    const lasting = events.filter(({ repeats }) => repeats)
    if (lasting.length > 0) this.#byPod.set(pod, new Set(lasting.map(textOf)))
    else this.#byPod.delete(pod)
    return events.filter(event => !event.repeats || !recorded?.has(textOf(event)))
  }

  forget(pod: string): void {
    this.#byPod.delete(pod)
  }
}

const textOf = ({ reason, message, fieldPath = '' }: PodEvent) => `${reason}\n${fieldPath}\n${message}`
