/** A watch with lost or late events, or an early end. */
import type { WatchEvent, WatchSink, WatchStream } from '../cache/watch-stream.ts'
import type { FaultEffect } from '../public.d.ts'
import { expired, type StatusError } from '../schema/status-error.ts'
import type { Pauses } from './pauses.ts'

type Step = () => void | Promise<void>

/** A late event delays all later ones: order is kept. */
export function disturbedStream(stream: WatchStream, strike: () => FaultEffect['events'] | undefined, pauses: Pauses): WatchStream {
  const closed = new AbortController()
  return {
    close() {
      closed.abort()
      stream.close()
    },
    open(sink) {
      let isHeld = false
      let isOver = false
      const waiting: Step[] = []
      const over = (error?: StatusError) => {
        isOver = true
        stream.close()
        sink.end(error)
      }
      const deliver = (event: WatchEvent): void | Promise<void> => {
        const events = event.type === 'BOOKMARK' ? undefined : strike()
        if (events === undefined) return sink.event(event)
        if (events === 'drop') return
        if (events === 'gone') return over(expired('The resourceVersion for the provided watch is too old.'))
        if (events === 'end') return over()
        return pauses.wait(events.delayMs, closed.signal).then(() => {
          if (!closed.signal.aborted) sink.event(event)
        })
      }
      const take = (step: Step) => {
        const late = step()
        if (!late) return
        isHeld = true
        void late.then(goOn)
      }
      const goOn = () => {
        isHeld = false
        while (!isHeld && !isOver && !closed.signal.aborted && waiting.length > 0) take(waiting.shift()!)
      }
      /** Now, or when delayed events have been delivered. */
      const inTurn = (step: Step) => {
        if (isOver || closed.signal.aborted) return
        if (isHeld) waiting.push(step)
        else take(step)
      }
      const disturbed: WatchSink = {
        event: event => inTurn(() => deliver(event)),
        end: error => inTurn(() => sink.end(error)),
        get backlog() {
          return sink.backlog
        },
        onDrain: resume => sink.onDrain(resume),
      }
      stream.open(disturbed)
    },
  }
}
