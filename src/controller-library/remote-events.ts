/** Writes the events of a controller that reaches the server by HTTP. */
import type { EventDraft, EventWriter } from '../client/event-recorder.ts'
import { ApiError } from '../library/api-error.ts'
import type { Api } from './public.d.ts'

export function remoteEvents(api: Api): EventWriter {
  const events = api.of<EventDraft>({ apiVersion: 'v1', kind: 'Event', plural: 'events' })
  return {
    now: () => new Date(),
    async create(event) {
      try {
        await events.create(event)
      } catch (error) {
        if (!isNamespaceGoing(error)) throw error
      }
    },
    patch: async (metadata, patch) => (await events.patch(metadata, patch, { type: 'strategic' })) !== undefined,
  }
}

/** Whether the namespace of an event is being deleted or has been deleted, and its events with it. */
function isNamespaceGoing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  const { causes = [], kind } = error.body?.details ?? {}
  return causes.some(({ reason }) => reason === 'NamespaceTerminating') || (error.status === 404 && kind === 'namespaces')
}
