/** A plot over time, by uPlot, which is loaded when the first one is shown. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { isDark } from '../core/theme.ts'

export type Series = { readonly title: string; readonly colour: string; readonly values: readonly (number | null)[] }

type PlotProps = {
  readonly title: string
  readonly times: readonly number[]
  readonly series: readonly Series[]
  format(value: number): string
}

const HEIGHT = 150

export function Plot({ title, times, series, format }: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const [library, setLibrary] = useState<{ make: typeof uPlot } | undefined>(undefined)
  useEffect(() => {
    void import('uplot').then(({ default: make }) => setLibrary({ make }))
  }, [])
  useEffect(() => {
    if (!library || !box.current) return
    const style = getComputedStyle(document.documentElement)
    const colour = (name: string) => style.getPropertyValue(name).trim()
    const axis = {
      stroke: colour('--faint'),
      grid: { stroke: colour('--border'), width: 1 },
      ticks: { show: false },
      font: `11px ${colour('--font')}`,
    }
    const made = new library.make(
      {
        width: box.current.clientWidth,
        height: HEIGHT,
        cursor: { points: { size: 6 } },
        legend: { show: false },
        scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.15, 0.001)] } },
        axes: [
          { ...axis, space: 70 },
          { ...axis, size: 56, values: (_, ticks) => ticks.map(format) },
        ],
        series: [
          {},
          ...series.map(({ title, colour: name }) => ({
            label: title,
            stroke: colour(name),
            width: 1.75,
            fill: `color-mix(in srgb, ${colour(name)} 10%, transparent)`,
            points: { show: false },
          })),
        ],
      },
      [times as number[], ...series.map(({ values }) => values as number[])],
      box.current,
    )
    plot.current = made
    const observer = new ResizeObserver(([entry]) => made.setSize({ width: entry!.contentRect.width, height: HEIGHT }))
    observer.observe(box.current)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [library, isDark.value])
  useEffect(() => {
    plot.current?.setData([times as number[], ...series.map(({ values }) => values as number[])])
  }, [times])
  const last = series.map(({ title, values }) => `${title} ${format(values.findLast(value => value !== null) ?? 0)}`).join(', ')
  return (
    <figure class="plot">
      <figcaption class="row row-wrap row-between">
        <span class="strong">{title}</span>
        <span class="row row-wrap small muted">
          {series.map(({ title, colour, values }) => (
            <span class="row" key={title}>
              <span class="dot" style={{ background: `var(${colour})` }} aria-hidden="true" />
              {title} <b>{format(values.findLast(value => value !== null) ?? 0)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={box} class="plot-box" role="img" aria-label={`${title}: ${last}`} />
    </figure>
  )
}
