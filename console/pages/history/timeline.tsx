/** A slider over revisions: a tick for each, coloured by its writer, at the time of its write. */
import { useMemo } from 'preact/hooks'
import { colourOf } from '../../core/revisions.ts'
import { clock } from '../../core/time.ts'

export type Tick = { readonly id: string; readonly time: string; readonly writer: string; readonly title: string }

/** Ticks are in order, the oldest first; the chosen one is an index. */
export function Timeline({
  ticks,
  at,
  onChoose,
  label,
}: {
  ticks: readonly Tick[]
  at: number
  onChoose(index: number): void
  label: string
}) {
  const places = useMemo(() => placesOf(ticks), [ticks])
  const chosen = ticks[at]
  const writers = [...new Set(ticks.map(({ writer }) => writer))]
  return (
    <div class="timeline">
      <div class="timeline-track" aria-hidden="true">
        {ticks.map((tick, i) => (
          <span
            key={tick.id}
            class={`timeline-tick writer-${colourOf(tick.writer)}`}
            data-chosen={i === at}
            style={{ left: `${places[i]}%` }}
            title={`${tick.title}, ${tick.writer}, ${clock(tick.time)}`}
            onClick={() => onChoose(i)}
          />
        ))}
      </div>
      <input
        type="range"
        class="timeline-range"
        aria-label={label}
        aria-valuetext={chosen ? `${chosen.title}, ${chosen.writer}, ${clock(chosen.time)}` : ''}
        min={0}
        max={Math.max(0, ticks.length - 1)}
        value={at}
        onInput={event => onChoose(Number(event.currentTarget.value))}
      />
      <div class="row row-wrap small">
        {writers.slice(0, 8).map(writer => (
          <span class="row" key={writer}>
            <span class={`dot writer-${colourOf(writer)}`} aria-hidden="true" />
            {writer || 'unknown'}
          </span>
        ))}
      </div>
    </div>
  )
}

/** Half by time, half by order: writes of one second stay apart, and a long silence takes no more than half of the line. */
function placesOf(ticks: readonly Tick[]): number[] {
  // Ticks are in the order of writes, whatever their clocks say.
  let latest = 0
  const times = ticks.map(({ time }) => {
    latest = Math.max(latest, Date.parse(time) || 0)
    return latest
  })
  const [first, last] = [Math.min(...times.filter(Boolean)), Math.max(...times)]
  return ticks.map((_, i) => {
    const byOrder = ticks.length < 2 ? 1 : i / (ticks.length - 1)
    const byTime = last > first && times[i] ? (times[i]! - first) / (last - first) : byOrder
    return 1 + 98 * (byOrder / 2 + byTime / 2)
  })
}
