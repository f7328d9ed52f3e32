/** Whether a list or object follows the server, or is behind. */
import { duration } from '../core/duration.ts'
import type { LiveState } from '../core/live.ts'
import { now } from '../core/time.ts'

export function LiveMark({ state }: { state: LiveState | { phase: 'deleted' } }) {
  if (state.phase === 'live')
    return (
      <span class="badge" title="Changes show as they happen">
        <span class="dot dot-good dot-live" aria-hidden="true" /> Live
      </span>
    )
  if (state.phase === 'behind')
    return (
      <span class="badge badge-warn" role="status" title="The connection was lost. It is opened again by itself.">
        <span class="dot dot-warn" aria-hidden="true" /> Behind by {duration(Math.max(0, now.value - state.since))}, reconnecting
      </span>
    )
  if (state.phase === 'deleted')
    return (
      <span class="badge badge-bad">
        <span class="dot dot-bad" aria-hidden="true" /> Deleted
      </span>
    )
  return null
}
