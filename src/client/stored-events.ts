/** Writes the events of the server's own components through the internal client. A server without the kind has no events. */
import { Event } from '../kinds/core/event.ts'
import { isNamespaceGoing } from '../schema/status-error.ts'
import type { Client } from './client.ts'
import type { EventWriter } from './event-recorder.ts'

export function storedEvents(client: Client): EventWriter {
  const { lowPriority } = client
  return {
    now: () => client.now,
    async create(event) {
      try {
        await lowPriority.find(Event)?.create(event)
      } catch (error) {
        // The events of a namespace are deleted with it.
        if (!isNamespaceGoing(error)) throw error
      }
    },
    patch: async (metadata, patch) => (await lowPriority.find(Event)?.patch(metadata, patch, { type: 'strategic' })) !== undefined,
  }
}
