/** A plot over time as SVG: lines with areas, a grid, and the values at the pointer. */
import { useEffect, useRef, useState } from 'preact/hooks'

export type Series = { readonly title: string; readonly colour: string; readonly values: readonly (number | null)[] }

type PlotProps = {
  readonly title: string
  /** Seconds since the epoch. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  format(value: number): string
}

const [HEIGHT, LEFT, BOTTOM, TOP] = [150, 56, 20, 6]
const GRID_LINES = 4
const TIME_PX = 90

export function Plot({ title, times, series, format }: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [pointed, setPointed] = useState<number | undefined>(undefined)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width))
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  const step = niceStep(Math.max(...series.flatMap(({ values }) => values.map(value => value ?? 0)), 0.001) / GRID_LINES)
  const top = step * GRID_LINES
  const [first = 0, last = 1] = [times[0], times.at(-1)]
  const x = (i: number) => LEFT + ((times[i]! - first) / (last - first || 1)) * Math.max(1, width - LEFT - 2)
  const y = (value: number) => TOP + (1 - value / top) * (HEIGHT - BOTTOM - TOP)
  const at = pointed !== undefined && pointed < times.length ? pointed : times.length - 1
  const valueAt = ({ values }: Series) => (pointed === undefined ? (values.findLast(value => value !== null) ?? 0) : (values[at] ?? 0))
  const labels = Math.max(1, Math.floor((width - LEFT) / TIME_PX))
  const point = (event: PointerEvent) => {
    const px = event.clientX - box.current!.getBoundingClientRect().left
    setPointed(times.reduce((nearest, _, i) => (Math.abs(x(i) - px) < Math.abs(x(nearest) - px) ? i : nearest), 0))
  }
  return (
    <figure class="plot">
      <figcaption class="row row-wrap row-between">
        <span class="strong">{title}</span>
        <span class="row row-wrap small muted">
          {pointed !== undefined && <span>{timeText(times[at]!)}</span>}
          {series.map(one => (
            <span class="row" key={one.title}>
              <span class="dot" style={{ background: `var(${one.colour})` }} aria-hidden="true" />
              {one.title} <b>{format(valueAt(one))}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div
        ref={box}
        class="plot-box"
        role="img"
        aria-label={`${title}: ${series.map(one => `${one.title} ${format(valueAt(one))}`).join(', ')}`}
        onPointerMove={point}
        onPointerLeave={() => setPointed(undefined)}
      >
        {width > 0 && (
          <svg width={width} height={HEIGHT} aria-hidden="true">
            {Array.from({ length: GRID_LINES + 1 }, (_, i) => (
              <g key={i}>
                <line class="plot-grid" x1={LEFT} x2={width} y1={y(i * step)} y2={y(i * step)} />
                <text x={LEFT - 6} y={y(i * step) + 4} text-anchor="end">
                  {format(i * step)}
                </text>
              </g>
            ))}
            {Array.from({ length: labels }, (_, i) => (
              <text key={`t${i}`} x={LEFT + i * TIME_PX} y={HEIGHT - 4}>
                {timeText(first + ((i * TIME_PX) / Math.max(1, width - LEFT - 2)) * (last - first))}
              </text>
            ))}
            {series.map(({ title, colour, values }) => {
              const line = lineOf(values, i => `${x(i).toFixed(1)},${y(values[i]!).toFixed(1)}`)
              return (
                <g key={title} style={{ color: `var(${colour})` }}>
                  {line.map(({ path, from, to }) => (
                    <g key={from}>
                      <path class="plot-area" d={`${path}L${x(to)},${y(0)}L${x(from)},${y(0)}Z`} />
                      <path class="plot-line" d={path} />
                    </g>
                  ))}
                </g>
              )
            })}
            {pointed !== undefined && <line class="plot-pointer" x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} />}
          </svg>
        )}
      </div>
    </figure>
  )
}

/** The parts of a line between missing values. */
function lineOf(values: readonly (number | null)[], pointAt: (i: number) => string): { path: string; from: number; to: number }[] {
  const parts: { path: string; from: number; to: number }[] = []
  values.forEach((value, i) => {
    if (value === null) return
    const part = parts.at(-1)
    if (part && part.to === i - 1) parts[parts.length - 1] = { ...part, path: `${part.path}L${pointAt(i)}`, to: i }
    else parts.push({ path: `M${pointAt(i)}`, from: i, to: i })
  })
  return parts
}

/** The next larger step of 1, 2, 2.5 or 5 times a power of ten. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 2.5, 5, 10].map(factor => factor * power).find(step => step >= least) ?? 10 * power
}

const timeText = (seconds: number): string => new Date(seconds * 1000).toLocaleTimeString()
